/* SPDX-License-Identifier: MIT */
/* free by a work-group: its first work-item releases the blocks of all (group.cl). */
#ifndef XMC_GROUP_FREE_CL
#define XMC_GROUP_FREE_CL
#include "group.cl"

#if !XMC_COLLECTIVE_EACH
/* 1 if the next n pointers are those of neighbouring blocks, in order */
XMC_FN int xmc_group_is_row(const __local xmc_u64 *of, xmc_u32 bytes, xmc_u32 n) {
  xmc_u64 first = of[0], other = 0;
  xmc_u32 k;
  if (n == 32u) { /* most often: here the compiler may compare several at once */
    for (k = 0; k < 32u; k++)
      other |= of[k] ^ (first + k * bytes);
    return !other;
  }
  for (k = 1; k < n; k++)
    other |= of[k] ^ (first + k * bytes);
  return !other;
}

/* Retired memory that the caller owns and gives back together: places of one slab, and pages of one span */
typedef struct xmc_group_room {
  xmc_u32 cls;    /* of the Superblocks whose places they are */
  xmc_u32 page;   /* the slab's */
  xmc_u32 places; /* a mask */
  xmc_u32 pages_cls, span;
  xmc_u64 pages; /* a mask */
} xmc_group_room;

/* Gives back the pages in *room by one fetch-or; before that its runs become the top of the slot's stack of hints. */
XMC_FN void xmc_group_give_pages(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_group_room *room) {
  xmc_u32 cls = room->pages_cls, order = xmc_class_order(cls), fifo = xmc_group_pages_fifo(heap, me, cls),
          page;
  xmc_u32 old;
  xmc_u64 runs = xmc_aligned_runs(room->pages, order);
  XMC_GLOBAL xmc_u32 *hint;
  if (!room->pages)
    return;
  if (fifo != XMC_NONE &&
      runs) { /* a Superblock shorter than its class's full length has no run of that length */
    hint = &xmc_fifo_number(heap, fifo)->hint;
    old = xmc_load_relaxed32(hint);
    for (; runs; runs &= runs - 1u) {
      page = room->span * XMC_SPAN_PAGES + xmc_lowest64(runs);
      xmc_store_relaxed32(hint, XMC_HINT(page, order));
      hint = xmc_next_hint(heap, page);
    }
    xmc_store_relaxed32(hint, old);
  }
  xmc_span_give(heap, room->span, room->pages, 0);
  room->pages = 0;
}

/* Adds a run of 2^order pages to *room. If *room has pages of another span or class it gives those back first. */
XMC_FN void xmc_group_add_pages(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_group_room *room, xmc_u32 cls,
                                xmc_u32 page, xmc_u32 order) {
  if (room->span != page >> XMC_SPAN_SHIFT || room->pages_cls != cls) {
    xmc_group_give_pages(heap, me, room);
    room->span = page >> XMC_SPAN_SHIFT;
    room->pages_cls = cls;
  }
  room->pages |= xmc_run_mask(page & (XMC_SPAN_PAGES - 1u), 1u << order);
}

/* Gives back the places in *room by one fetch-or; or, if they are all places of a slab that is not listed, retires the slab and adds
 * its page. */
XMC_FN void xmc_group_give_places(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_group_room *room) {
  xmc_u32 places = room->places, cls, id;
  xmc_u64 w;
  if (!places)
    return;
  room->places = 0;
  cls = xmc_slab_class(room->cls);
  id = xmc_slab_id(room->page);
  w = xmc_word_make(cls, (xmc_slab_blocks(room->cls) + 31u) >> 5, 0);
  if (places == xmc_full_mask(xmc_word_count(w)) &&
      xmc_cas_acq_rel64(xmc_word_at(heap, words, id), w, XMC_WORD_RETIRED) == w) {
    xmc_group_add_pages(heap, me, room, room->cls, room->page, 0);
    return;
  }
  w = xmc_superblock_release(xmc_word_at(heap, words, id), places);
  if (xmc_slab_got(heap, me, words, cls, id, XMC_WORD_LISTED | places, w) != XMC_NONE)
    xmc_settle(heap, me, words, cls, id, w | XMC_WORD_LISTED | places);
}

/* Retires a Superblock all of whose blocks are released at once, if it is not listed and the slot's seat has another one, and adds its
 * memory to *room. Returns 1; or 0, and then the caller must release the blocks. */
XMC_FN int xmc_group_retire(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls, xmc_u32 id,
                            xmc_u32 count, xmc_group_room *room) {
  xmc_u32 fifo = xmc_fifo_of(heap, me, cls);
  xmc_u64 used = xmc_word_make(cls, count, 0);
  if (fifo == XMC_NONE ||
      xmc_active_id(xmc_load_relaxed64(&xmc_fifo_number(heap, fifo)->active)) == XMC_NONE ||
      xmc_cas_acq_rel64(xmc_word_at(heap, words, id), used, XMC_WORD_RETIRED) != used)
    return 0;
  if (!xmc_class_is_small(cls)) {
    xmc_group_add_pages(heap, me, room, cls, xmc_id_page(id), xmc_run_order(id));
    return 1;
  }
  if (room->page != xmc_id_page(id) || room->cls != cls) {
    xmc_group_give_places(heap, me, words, room);
    room->page = xmc_id_page(id);
    room->cls = cls;
  }
  room->places |= 1u << xmc_id_row(id);
  return 1;
}

/* Blocks of one Superblock that go back together */
typedef struct xmc_group_part {
  xmc_u32 id;    /* the Superblock's */
  xmc_u32 count; /* how many it has, or 0 if its word is not of the class */
  xmc_u32 bits;  /* its blocks that go back, a mask */
} xmc_group_part;

XMC_FN void xmc_group_release(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls,
                              xmc_group_part *part, xmc_group_room *room) {
  if (part->bits != xmc_count_mask(part->count) ||
      !xmc_group_retire(heap, me, words, cls, part->id, part->count, room))
    xmc_blocks_release(heap, me, words, cls, part->id, part->bits, xmc_popcount32(part->bits));
}

/* Frees the pointers in the scratch, whose address is `at`. Blocks of one Superblock are released together: for each class the blocks
 * of one Superblock at a time are collected, because blocks that were handed out together come in that order, with those of other
 * classes in between. If the pointers of all blocks of a Superblock follow each other in order, only the first is looked up in the page
 * map. */
XMC_GROUP_FN void xmc_group_free(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u64 at, xmc_u32 items) {
  __local xmcGroupScratch *scratch = (__local xmcGroupScratch *)(size_t)at;
  xmc_u32 i, used = 0; /* used: classes that have a part, a mask */
  xmc_group_part parts[XMC_CLASSES], *part;
  xmc_group_room room;
  xmc_u64 w;
  xmc_map_view view;
  xmc_place place;
  if (!xmc_heap_is_ours(heap))
    return;
  room.cls = room.page = room.places = room.pages_cls = room.span = 0;
  room.pages = 0;
  xmc_map_view_read(heap, &view);
  for (i = 0; i < items; i++) {
    XMC_GLOBAL void *ptr = (XMC_GLOBAL void *)(size_t)scratch->of[i];
    if (!ptr)
      continue;
    if (!xmc_find(heap, view, ptr, &place, 1)) {
      if (xmc_other_freed(heap, me, ptr, &place))
        xmc_blocks_release(heap, me, view.words, place.cls, place.id, 1u << place.bit, 1u);
      continue;
    }
    part = &parts[place.cls];
    /* A block that the part has already is freed twice: in a part of its own, so that the report names it. */
    if (!(used >> place.cls & 1u) || place.id != part->id || (part->bits >> place.bit & 1u)) {
      if (used >> place.cls & 1u)
        xmc_group_release(heap, me, view.words, place.cls, part, &room);
      used |= 1u << place.cls;
      w = xmc_load_relaxed64(xmc_word_at(heap, view.words, place.id));
      part->id = place.id;
      part->count = xmc_word_class(w) == place.cls ? xmc_word_count(w) : 0;
      part->bits = 0;
      if (place.bit == 0 && part->count > 0 && i + part->count <= items &&
          xmc_group_is_row(&scratch->of[i], xmc_class_bytes(place.cls), part->count)) {
        part->bits = xmc_count_mask(part->count);
        i += part->count - 1u;
        continue;
      }
    }
    part->bits |= 1u << place.bit;
  }
  for (; used; used &= used - 1u)
    xmc_group_release(heap, me, view.words, xmc_lowest32(used), &parts[xmc_lowest32(used)], &room);
  xmc_group_give_places(heap, me, view.words, &room);
  xmc_group_give_pages(heap, me, &room);
}
#endif
#endif
