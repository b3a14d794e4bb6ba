/* SPDX-License-Identifier: MIT */
/* The supply of Superblocks: where those in use come from and go back to, which is FIFOs, slabs and pages.
 *
 *        claim                                              settle (by the work-item with the listed duty)
 *          |                                                   |
 *   FIFO of my slot and class:  active  <-- FIFO ring  <-------+  active is empty: becomes the active one
 *          | exhausted: unlist, next                           |  wholly free: retired, goes back to
 *   slab of my class (small classes): claim one of its         |  its slab or the pages
 *          | none                                   Superblocks |  else into the ring
 *   free pages: a new Superblock or slab (carve.cl)            +  ring full: parked
 *          | none
 *   last resort: other slots' FIFOs, parked ones (steal.cl), wholly free ones of every class (reclaim.cl)
 *
 * (On GPUs slabs of four and fewer places are always parked, and so are slots' own slabs: own.cl.)
 *
 * `active` is the head of the queue, from which claims are served without dequeuing. As long as it has free blocks, a claim costs one
 * load of it and one CAS on its word; a release costs one fetch-or. An exhausted active Superblock keeps its listed bit until the next
 * claim looks at it, so malloc, free, malloc on one FIFO change no word of the FIFO. */
#ifndef XMC_SUPPLY_CL
#define XMC_SUPPLY_CL
#include "../pages/room.cl"
#include "fifo.cl"
#include "own.cl"

/* Fields of the geometry. If they are no constants, the loads are issued where they stand. */
XMC_FN xmc_u64 xmc_fixed_words(XMC_GLOBAL xmcHeap *heap) {
  return XMC_GEOMETRY ? xmc_heap_words(heap) : xmc_load_fixed64(&heap->words);
}
XMC_FN xmc_u64 xmc_fixed_fifos(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls) {
  return XMC_GEOMETRY_FIFOS ? xmc_heap_fifos(heap, cls) : xmc_load_fixed64(&heap->fifo_table[cls]);
}
/* Returns the byte offset of the page map, and in the upper half the number of pages. */
XMC_FN xmc_u64 xmc_fixed_map(XMC_GLOBAL xmcHeap *heap) {
  return XMC_GEOMETRY ? (xmc_u64)xmc_heap_pages(heap) << 32 | xmc_heap_map(heap)
                      : xmc_load_fixed64((XMC_GLOBAL const xmc_u64 *)&heap->page_map);
}
/* Returns the header's field `lanes`. */
XMC_FN xmc_u32 xmc_fixed_lanes(XMC_GLOBAL xmcHeap *heap) {
  return XMC_GEOMETRY ? xmc_heap_lanes(heap) : xmc_load_fixed32(&heap->lanes);
}

/* 1 on GPUs in programs for one geometry: they read tables first, and at the same time the number that tells whose heap it is
 * (geometry.h). */
#define XMC_LOOKS_FIRST (XMC_SIMT && XMC_GEOMETRY_FIFOS > 0)

XMC_FN xmc_u32 xmc_slab_class(xmc_u32 cls) { return cls + XMC_CLASSES; }

XMC_FN XMC_GLOBAL xmc_fifo *xmc_fifo_at(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot) {
  return (XMC_GLOBAL xmc_fifo *)heap + (xmc_fifos_first(xmc_heap_fifos(heap, cls)) + slot);
}
/* The fields of the header that a request needs, read at once: after each acquire (on NVIDIA a claim of a block is none) a GPU's caches
 * start anew, so fields that are read one after the other would take as many accesses, each waiting for the one before. */
typedef struct xmc_view {
  xmc_u32 data, words;  /* where they begin, in units of 16 and 8 bytes from the arena's start */
  xmc_u32 first, count; /* the class's FIFOs; count is 0 if the heap is not ours, unless XMC_LOOKS_FIRST */
  xmc_u32 own;          /* xmc_own_slots */
  int ours;
} xmc_view;
XMC_FN void xmc_view_read(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_view *view) {
#if XMC_GEOMETRY
  xmc_u64 number = xmc_load_fixed64(&heap->geometry), fifos = xmc_heap_fifos(heap, cls);
  view->data = (xmc_u32)(xmc_heap_data(heap) >> 4);
  view->words = xmc_words(heap);
  view->ours = number == XMC_GEOMETRY;
  view->count = XMC_LOOKS_FIRST || view->ours ? xmc_fifos_count(fifos) : 0;
#else
  xmc_u64 magic, data, words, map, fifos = heap->fifo_table[cls];
  xmc_load_four(&heap->magic, &magic, &data, &words, &map);
  view->data = (xmc_u32)(data >> 4);
  view->words = (xmc_u32)(words >> 3);
  /* It tests the upper half of `words`, too, so that this field is read whole, together with the rest. */
  view->ours = magic == XMC_MAGIC && words >> 40 == 0;
  view->count = view->ours ? xmc_fifos_count(fifos) : 0;
#endif
  view->own = xmc_fifos_own(fifos);
  view->first = xmc_fifos_first(fifos);
}

/* Returns the caller's FIFO of this class, counted as in fifo_table, or XMC_NONE in an unbuffered heap. xmc_fifo_of does the same
 * without a view; xmc_fifo_slot returns the FIFO's slot. */
XMC_FN xmc_u32 xmc_view_fifo(xmc_view view, xmc_u32 me) {
  return view.count ? view.first + xmc_slot_hint(me, view.count) : XMC_NONE;
}
XMC_HOT_FN xmc_u32 xmc_fifo_slot(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls) {
  xmc_u32 count = xmc_fifos_count(xmc_heap_fifos(heap, cls));
  return count ? xmc_slot_hint(me, count) : XMC_NONE;
}
XMC_FN xmc_u32 xmc_fifo_of(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls) {
  xmc_u64 fifos = xmc_heap_fifos(heap, cls);
  xmc_u32 count = xmc_fifos_count(fifos);
  return count ? xmc_fifos_first(fifos) + xmc_slot_hint(me, count) : XMC_NONE;
}
XMC_FN XMC_GLOBAL xmc_fifo *xmc_fifo_number(XMC_GLOBAL xmcHeap *heap, xmc_u32 number) {
  return (XMC_GLOBAL xmc_fifo *)heap + number;
}
XMC_HOT_FN void xmc_fifo_mark_busy(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot) {
  xmc_bitmap_set(heap, XMC_BUSY, cls * xmc_heap_slots(heap) + slot);
}

/* A hint at pages is 0, or has a page + 1 in bits 0..24, and in bits 25..27 log2 of the pages of a run there (0 with XMC_HINT_ONWARD on
 * GPUs). */
#define XMC_HINT_PAGE_BITS 25
#define XMC_HINT_PAGE_MASK ((1u << XMC_HINT_PAGE_BITS) - 1u)
#define XMC_HINT(page, order) ((page) + 1u + ((order) << XMC_HINT_PAGE_BITS))
#define XMC_HINT_ONWARD 0x80000000u /* the run taken last: a slot goes on from it (xmc_hint_target) */
#define XMC_HINT_ALONE 0x40000000u  /* a run that is no stack: none lies under it */
#define XMC_HINT_FROM(page, order) (XMC_HINT_ONWARD | XMC_HINT(page, XMC_SIMT ? 0u : (order)))
XMC_FN xmc_u32 xmc_hint_page(xmc_u32 hint) { return (hint & XMC_HINT_PAGE_MASK) - 1u; }
XMC_FN xmc_u32 xmc_hint_order(xmc_u32 hint) { return hint >> XMC_HINT_PAGE_BITS & 7u; }
XMC_FN int xmc_hint_is_run(xmc_u32 hint) { return (hint & XMC_HINT_PAGE_MASK) && !(hint & XMC_HINT_ONWARD); }
XMC_FN int xmc_hint_is_stack(xmc_u32 hint) { return xmc_hint_is_run(hint) && !(hint & XMC_HINT_ALONE); }

/* Returns the page to which a hint leads a slot that wants a run of 2^order pages: that of the hint's run; or, if the hint is the run that
 * was taken last, the page that lies a step as wide as all slots behind it. For single pages a step leads past the homes of all classes
 * that take single pages, so that slots do not meet (xmc_class_home). On CPU devices it leads to the next run in the span. lanes:
 * xmc_fixed_lanes, which only GPUs use. Returns XMC_NONE if the hint is 0, and on CPU devices at the span's end: then the slot looks at its
 * home and, if the home's span has no such run, in the lowest span that has one (xmc_run_search). The page may lie behind the heap's end,
 * and need not be a multiple of 2^order: the caller sees to both.
 *
 * The step is computed here and not when the hint is stored, because a GPU would then have to read the header once more, after the claim
 * made its caches start anew. */
XMC_FN xmc_u32 xmc_hint_target(xmc_u32 hint, xmc_u32 order, xmc_u32 lanes) {
  xmc_u32 page = xmc_hint_page(hint);
  if (!(hint & XMC_HINT_ONWARD))
    return page;
  if (XMC_SIMT)
    return page + (order > 0 ? 1u << order : XMC_PAGE_CLASSES) * lanes;
  page += 1u << xmc_hint_order(hint);
  return page & (XMC_SPAN_PAGES - 1u) ? page : XMC_NONE;
}

/* Returns where a slot has its hint for a class: its own place, if `own`, the number of slots that have one, is not 0; else the FIFO's
 * field. */
XMC_FN XMC_GLOBAL xmc_u32 *xmc_hint_place(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 own,
                                          xmc_u32 fifo) {
  return own ? xmc_own_entry(heap, me, cls, own) : &xmc_fifo_number(heap, fifo)->hint;
}

/* Makes a run that was given back the next one that the slot takes (xmc_pages_take): stores it at the slot's own place, or puts it on
 * the FIFO's stack, whose top was `hint`. */
XMC_FN void xmc_hint_push(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 page, xmc_u32 order,
                          xmc_u32 fifo, xmc_u32 hint, xmc_u32 own) {
  if (own)
    xmc_store_relaxed32(xmc_own_entry(heap, me, cls, own), XMC_HINT_ALONE | XMC_HINT(page, order));
  else if (fifo != XMC_NONE && hint != XMC_HINT(page, order)) {
    xmc_store_relaxed32(xmc_next_hint(heap, page), hint);
    xmc_store_relaxed32(&xmc_fifo_number(heap, fifo)->hint, XMC_HINT(page, order));
  }
}

/* Returns the pages of a retired Superblock or slab to their span. Their entries of the page map still lead to the retired word, so a
 * bad free there changes nothing. */
XMC_FN void xmc_pages_return(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 id) {
  XMC_AFRESH64(heap);
  xmc_u32 page = xmc_any_page(id), order = cls < XMC_CLASSES ? xmc_run_order(id) : 0,
          fifo = xmc_fifo_of(heap, me, cls);
  if (fifo != XMC_NONE)
    xmc_hint_push(heap, me, cls, page, order, fifo, xmc_load_relaxed32(&xmc_fifo_number(heap, fifo)->hint),
                  cls < XMC_CLASSES ? xmc_own_slots(heap, cls) : 0);
  xmc_span_give(heap, page >> XMC_SPAN_SHIFT, xmc_run_mask(page & (XMC_SPAN_PAGES - 1u), 1u << order), 0);
}

/* Sets a page's bit of the whole bitmap: searches for wholly free Superblocks look at the page from now on (reclaim.cl). */
XMC_HOT_FN void xmc_whole_add(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  XMC_AFRESH64(heap);
  xmc_bitmap_set(heap, XMC_WHOLE, page);
}

/* Parks a listed Superblock or slab, for which the caller has the listed duty: sets the parked bit, then the bit in the parked bitmap,
 * and if it is wholly free that of the whole bitmap. If a release makes it wholly free later, that release retires it. */
XMC_FN void xmc_park(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 id) {
  XMC_GLOBAL xmc_u64 *word = xmc_word_of(heap, id);
  xmc_u64 w = xmc_load_relaxed64(word), old;
  XMC_ROLLED
  while (xmc_word_class(w) == cls && (w & XMC_WORD_LISTED)) { /* else another work-item ended the duty */
    old = xmc_cas_release64(word, w, w | XMC_WORD_PARKED);
    if (old == w) {
      xmc_bitmap_set(heap, XMC_PARKED, cls * xmc_heap_spans(heap) * XMC_SPAN_PAGES + xmc_any_page(id));
      if (xmc_word_is_whole(w))
        xmc_whole_add(heap, xmc_any_page(id));
      return;
    }
    w = old;
  }
}

/* Returns 1 if a parked Superblock of the class stays so while blocks are left in it. */
XMC_FN int xmc_stays_parked(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls) {
  return !xmc_fifos_count(xmc_heap_fifos(heap, cls)) || xmc_is_scarce(heap);
}

/* Puts a listed Superblock, for which the caller has the listed duty, into the ring of the slot; parks it if the ring is full or `slot`
 * is XMC_NONE. The FIFO is marked busy each time, even if the ring held others: these may have been taken meanwhile, and the bit
 * cleared. */
XMC_FN void xmc_put(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot, xmc_u32 id) {
  if (slot != XMC_NONE && xmc_fifo_enqueue(xmc_fifo_at(heap, cls, slot), id)) {
    xmc_fifo_mark_busy(heap, cls, slot);
    return;
  }
  xmc_park(heap, cls, id);
}

/* Returns 1 if a Superblock that is wholly free, with the word w, stays where it is listed. `pages` are those of a Superblock of full
 * size of its class (xmc_class_order), even if this one has fewer:
 *
 *  pages         CPU device                     GPU, heap of XMC_MANY_PAGES or more              GPU, smaller heap
 *  less than 1   stays                          stays                                            stays
 *  1             stays                          stays unless room is short                       stays unless room is short
 *  2             stays if seated (*)            stays unless room is short                       does not stay
 *  4 or more     stays if seated (*)            up to 4 KiB a block: stays if seated (*)         does not stay
 *
 * (*) and if room is neither short nor scarce now. Otherwise the rings and seats of a large GPU together would keep most of the heap.
 * What this finds may be as old as the caller's last acquire. If it is wrong, memory goes back later or earlier than it should, and
 * xmc_reclaim finds what stayed. */
XMC_FN int xmc_stays_whole(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u64 w) {
  xmc_u32 room;
  if (xmc_class_stays(cls))
    return 1;
  if (XMC_SIMT &&
      (xmc_class_is_largest(cls) || (xmc_class_is_long(cls) && xmc_heap_present(heap) < XMC_MANY_PAGES)))
    return 0;
  room = xmc_room_near(heap);
  if (XMC_SIMT && !xmc_class_is_wide(cls))
    return !(room & XMC_ROOM_SHORT);
  return (w & XMC_WORD_SEATED) && !(room & (XMC_SCARCE_NOW | XMC_ROOM_SHORT));
}

/* Returns 1 if this is the active Superblock of the caller's FIFO, as far as a relaxed load can tell. Then it stays although it is
 * wholly free. */
XMC_FN int xmc_is_active_here(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 id) {
  xmc_u32 slot = xmc_fifo_slot(heap, me, cls);
  return slot != XMC_NONE && xmc_active_id(xmc_load_relaxed64(&xmc_fifo_at(heap, cls, slot)->active)) == id;
}

/* Called with the word w of a Superblock or slab after a release. If it is watched and wholly free, a search must look at its page:
 * sets the bit of the whole bitmap, after it cleared the watched bit, so that other work-items that free here need not do this again.
 * If the word changed meanwhile, nothing is left to do: it is not wholly free any more, another work-item did this, or xmc_park did. */
XMC_FN void xmc_say_whole(XMC_GLOBAL xmcHeap *heap, xmc_u32 words, xmc_u32 cls, xmc_u32 id, xmc_u64 w) {
  if (xmc_word_class(w) == cls && (w & XMC_WORD_WATCHED) && xmc_word_is_whole(w) &&
      xmc_cas_relaxed64(xmc_word_at(heap, words, id), w, w & ~XMC_WORD_WATCHED) == w)
    xmc_whole_add(heap, xmc_any_page(id));
}

/* Returns how many places a slab of this class, which stays parked, has: 4 for blocks of 128 and 160 B, 3 for 192 and 224 B, 2 from 256
 * B on. */
XMC_FN xmc_u32 xmc_parked_places(xmc_u32 cls) {
  return cls < XMC_CLASSES + 9u ? 4u : cls < XMC_CLASSES + 11u ? 3u : 2u;
}

/* Called after a place of a slab was given back: `set` was added to the slab's word, which was w before. Retires the slab if it is
 * listed and wholly free and the caller's slot does not use it. Returns XMC_NONE, or the slab's id if the caller has its listed duty
 * now. */
XMC_FN xmc_u32 xmc_slab_got(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls, xmc_u32 id,
                            xmc_u64 set, xmc_u64 w) {
  XMC_AFRESH64(heap);
  xmc_u64 now = w | set;
  xmc_u32 item;
  xmc_say_whole(heap, words, cls, id, now);
  if (now & ~w & XMC_WORD_PARKED) {
    item = cls * xmc_heap_spans(heap) * XMC_SPAN_PAGES + xmc_any_page(id);
    xmc_bitmap_ensure(heap, XMC_PARKED, item);
  } else if (!(w & XMC_WORD_LISTED))
    return id;
  /* The slab is listed, so the caller has no duty. If it is wholly free and not the caller's active or own one, it is retired. */
  if (xmc_word_is_whole(now) &&
      !((now & XMC_WORD_PARKED) ? xmc_is_own_here(heap, me, cls, id)
                                : xmc_is_active_here(heap, me, cls, id)) &&
      xmc_superblock_retire(xmc_word_at(heap, words, id), cls, now)) {
    xmc_pages_return(heap, me, cls, id);
  }
  return XMC_NONE;
}

/* Gives the memory of a retired Superblock or slab back: its pages to their span, or its place to the slab. Returns XMC_NONE, or the
 * slab's id if the caller has the slab's listed duty now. */
XMC_FN xmc_u32 xmc_give_back(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls, xmc_u32 id) {
  xmc_u32 bit = 1u << xmc_id_row(id);
  if (!xmc_class_is_small(cls)) {
    xmc_pages_return(heap, me, cls, id);
    return XMC_NONE;
  }
  cls = xmc_slab_class(cls);
  id = xmc_slab_id(xmc_id_page(id));
  return xmc_slab_got(heap, me, words, cls, id, XMC_WORD_LISTED | bit,
                      xmc_superblock_release(xmc_word_at(heap, words, id), bit));
}

/* Ends the caller's listed duty for a Superblock or slab; w is its word as last seen, `words` the header's field. It tries, in this
 * order: the seat of the caller's FIFO, if that is empty or has this id already; to retire it, if it is wholly free (then its memory
 * goes back, and its slab is settled in the same way if the caller has that duty now); the ring, or the parked bitmap if the ring is
 * full or room is scarce now. */
XMC_SETTLE_FN void xmc_settle(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls, xmc_u32 id,
                              xmc_u64 w) {
  XMC_GLOBAL xmc_fifo *fifo;
  xmc_u64 active;
  xmc_u32 slot;
  if (XMC_NO_YIELDS) {
    XMC_AFRESH64(heap);
    XMC_AFRESH(words);
    XMC_AFRESH(cls);
  }
  XMC_ROLLED
  for (;;) { /* once, and once more for the slab */
    slot = xmc_fifo_slot(heap, me, cls);
    if (slot != XMC_NONE) {
      fifo = xmc_fifo_at(heap, cls, slot);
      active = xmc_load_relaxed64(&fifo->active);
      if ((xmc_active_id(active) == XMC_NONE || xmc_active_id(active) == id) &&
          xmc_cas_hint64(&fifo->active, active, xmc_active_next(active, id)) == active) {
        xmc_fifo_mark_busy(heap, cls, slot);
        return;
      }
    }
    w = xmc_superblock_retire(xmc_word_at(heap, words, id), cls, w);
    if (!w) {
      xmc_put(heap, cls, xmc_is_scarce(heap) ? XMC_NONE : slot, id);
      return;
    }
    id = xmc_give_back(heap, me, words, cls, id);
    if (id == XMC_NONE)
      return;
    cls = xmc_slab_class(cls);
    w = xmc_load_relaxed64(xmc_word_at(heap, words, id));
  }
}

/* Settles what a free has the listed duty for, if `id` is not XMC_NONE, and returns XMC_NONE. With XMC_NO_YIELDS it only returns `id`,
 * and the end of the free settles it by the only copy of xmc_settle: lanes part at a call, and a function that is called in several
 * places is not inlined. */
XMC_FN xmc_u32 xmc_settle_due(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls, xmc_u32 id,
                              xmc_u64 w) {
  if (XMC_NO_YIELDS)
    return id;
  if (id != XMC_NONE)
    xmc_settle(heap, me, words, cls, id, w);
  return XMC_NONE;
}
#endif
