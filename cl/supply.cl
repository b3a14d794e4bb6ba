/* The supply of Superblocks: FIFOs of those in use, slabs, pages; where they come from and go back to.
 *
 *        claim                                              settle (who set `listed` answers for it)
 *          |                                                   |
 *   FIFO of my slot and class:  active  <-- FIFO ring  <-------+  active is empty: becomes the active one
 *          | exhausted: unlist, next                           |  wholly free: retired, goes back to
 *   slab of my class (small classes): claim one of its         |  its slab or the pages
 *          | none                                   Superblocks |  else into the ring
 *   free pages: a new Superblock or slab                       +  ring full: parked
 *          | none
 *   last resort (reclaim.cl): parked ones, other slots' FIFOs, wholly free ones of every class
 *
 * `active` is the head of the queue, looked at without dequeuing. As long as it has blocks a claim costs
 * one load of it and one CAS on its word; a release costs one fetch-or. An exhausted active Superblock
 * keeps its listed bit until the next visitor, so malloc, free, malloc on one FIFO touch no FIFO word.
 */
#ifndef XMC_SUPPLY_CL
#define XMC_SUPPLY_CL
#include "arena.h"
#include "bitmap.cl"
#include "fifo.cl"
#include "memoryblock.cl"
#include "platform.h"
#include "size_class.cl"
#include "superblock.cl"

XMC_FN xmc_u32 xmc_slab_class(xmc_u32 cls) { return cls + XMC_CLASSES; }
XMC_FN xmc_u32 xmc_slab_id(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) { return heap->pages * 32u + page; }
XMC_FN int xmc_id_is_slab(XMC_GLOBAL xmcHeap *heap, xmc_u32 id) { return id >= heap->pages * 32u; }
XMC_FN xmc_u32 xmc_id_page(XMC_GLOBAL xmcHeap *heap, xmc_u32 id) {
  return xmc_id_is_slab(heap, id) ? id - heap->pages * 32u : id >> 5;
}

XMC_FN XMC_GLOBAL xmc_fifo *xmc_fifo_at(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot) {
  return (XMC_GLOBAL xmc_fifo *)heap + (xmc_fifos_first(heap->fifo_table[cls]) + slot);
}
/* What a request needs of the header, read at once: after each acquire the caches of a GPU start anew, and one
 * field after the other would wait for as many accesses. */
typedef struct xmc_view {
  xmc_u64 data, words;
  xmc_u32 first, count; /* the class's FIFOs; none of a heap that is not ours */
} xmc_view;
XMC_FN void xmc_view_read(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_view *view) {
  xmc_u64 magic, map, fifos = heap->fifo_table[cls];
  xmc_load_four(&heap->magic, &magic, &view->data, &view->words, &map);
  view->first = xmc_fifos_first(fifos);
  view->count = magic == XMC_MAGIC ? xmc_fifos_count(fifos) : 0;
}

/* The caller's slot in this class, or XMC_NONE in an unbuffered heap */
XMC_FN xmc_u32 xmc_view_slot(xmc_view view, xmc_u32 me) {
  return view.count ? xmc_slot_hint(me, view.count) : XMC_NONE;
}
XMC_FN xmc_u32 xmc_fifo_slot(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls) {
  xmc_u32 count = xmc_fifos_count(heap->fifo_table[cls]);
  return count ? xmc_slot_hint(me, count) : XMC_NONE;
}
XMC_FN void xmc_fifo_mark_busy(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot) {
  XMC_AFRESH64(heap);
  xmc_bitmap_set(heap, &heap->busy, cls * heap->slots + slot);
}

/* Pages of a Superblock that is not in a slab, from its count of Basicblocks */
XMC_FN xmc_u32 xmc_superblock_pages(xmc_u32 cls, xmc_u32 count) {
  if (cls >= XMC_CLASSES)
    return 1;
  return (count * xmc_class_bytes(cls) + XMC_PAGE_BYTES - 1u) >> XMC_PAGE_SHIFT;
}

/* The page where the caller's slot takes a new Superblock of this class or its slab first: the lowest of those it
 * returned, or the one after the last that it took. XMC_NONE: not known. */
XMC_FN xmc_u32 xmc_hint(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls) {
  XMC_AFRESH64(heap);
  xmc_u32 slot = xmc_fifo_slot(heap, me, cls);
  return slot == XMC_NONE ? XMC_NONE : xmc_load_relaxed32(&xmc_fifo_at(heap, cls, slot)->hint) - 1u;
}
XMC_FN void xmc_set_hint(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 page) {
  XMC_AFRESH64(heap);
  xmc_u32 slot = xmc_fifo_slot(heap, me, cls);
  if (slot != XMC_NONE)
    xmc_store_relaxed32(&xmc_fifo_at(heap, cls, slot)->hint, page + 1u);
}

/* Returns the pages of a retired Superblock or slab. The first one's entry leads to the retired word, whoever
 * frees there again; the others', which led there too, must not once that page is something else. */
XMC_FN void xmc_pages_return(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 id, xmc_u32 count) {
  XMC_AFRESH64(heap);
  xmc_u32 page = xmc_id_page(heap, id), pages = xmc_superblock_pages(cls, count), i;
  XMC_ROLLED
  for (i = 1; i < pages; i++)
    xmc_store_relaxed32(xmc_page_entry(heap, page + i), XMC_MAP(XMC_CLASS_OLD | cls, i, 0));
  if (cls >= XMC_CLASSES)
    cls -= XMC_CLASSES;
  if (xmc_hint(heap, me, cls) > page)
    xmc_set_hint(heap, me, cls, page);
  xmc_span_give(heap, page >> XMC_SPAN_SHIFT, xmc_run_mask(page & (XMC_SPAN_PAGES - 1u), pages));
}

/* Parks a listed Superblock that no FIFO has room for. Released blocks may make it wholly free later: then
 * the release retires it. */
XMC_FN void xmc_park(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 id) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_u64 *word = xmc_word_of(heap, id);
  xmc_u64 w = xmc_load_relaxed64(word), old;
  XMC_ROLLED
  while (xmc_word_class(w) == cls && (w & XMC_WORD_LISTED)) { /* else another one took the duty away */
    old = xmc_cas_release64(word, w, w | XMC_WORD_PARKED);
    if (old == w) {
      xmc_bitmap_set(heap, &heap->parked, cls * heap->spans + (xmc_id_page(heap, id) >> XMC_SPAN_SHIFT));
      return;
    }
    w = old;
  }
}

/* Puts a listed Superblock into the ring of the slot, or parks it. */
XMC_FN void xmc_put(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot, xmc_u32 id) {
  XMC_AFRESH64(heap);
  xmc_u32 used = slot == XMC_NONE ? XMC_NONE : xmc_fifo_enqueue(xmc_fifo_at(heap, cls, slot), id);
  if (used == XMC_NONE)
    xmc_park(heap, cls, id);
  else if (used == 0)
    xmc_fifo_mark_busy(heap, cls, slot);
}

/* Is this the active Superblock of the caller's FIFO, or might that be? Then it stays when it is free. */
XMC_FN int xmc_is_active_here(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 id) {
  xmc_u32 slot = xmc_fifo_slot(heap, me, cls);
  return slot != XMC_NONE && xmc_active_id(xmc_load_relaxed64(&xmc_fifo_at(heap, cls, slot)->active)) == id;
}

/* Gives the memory of a retired Superblock (or slab) back: its pages to the spans, or its place in the slab
 * to the slab. Returns XMC_NONE, or the slab's id if the caller must answer for the slab now. */
XMC_FN xmc_u32 xmc_give_back(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 id, xmc_u64 retired) {
  XMC_AFRESH64(heap);
  xmc_u32 bit = 1u << (id & 31u);
  xmc_u64 w;
  if (!xmc_class_is_small(cls)) {
    xmc_pages_return(heap, me, cls, id, xmc_word_count(retired));
    return XMC_NONE;
  }
  cls = xmc_slab_class(cls);
  id = xmc_slab_id(heap, id >> 5);
  w = xmc_superblock_release(xmc_word_of(heap, id), bit);
  if (!(w & XMC_WORD_LISTED))
    return id;
  /* Somebody answers for the slab. If it is wholly free and another one is in use here, it goes. */
  bit |= xmc_word_free(w);
  if (bit == xmc_full_mask(xmc_word_count(w)) && ((w & XMC_WORD_PARKED) || !xmc_is_active_here(heap, me, cls, id)) &&
      xmc_superblock_retire(heap, id, cls, w | bit)) {
    xmc_pages_return(heap, me, cls, id, 1);
  }
  return XMC_NONE;
}

/* The caller answers for a Superblock or slab whose listed bit it set; w is the word as last seen. */
XMC_COLD_FN void xmc_settle(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 id, xmc_u64 w) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_fifo *fifo;
  xmc_u64 active;
  xmc_u32 slot;
  XMC_ROLLED
  for (;;) { /* once, and once more for the slab */
    slot = xmc_fifo_slot(heap, me, cls);
    if (slot != XMC_NONE) {
      fifo = xmc_fifo_at(heap, cls, slot);
      active = xmc_load_relaxed64(&fifo->active);
      if (xmc_active_id(active) == XMC_NONE &&
          xmc_cas_release64(&fifo->active, active, xmc_active_next(active, id)) == active) {
        xmc_fifo_mark_busy(heap, cls, slot);
        return;
      }
    }
    w = xmc_superblock_retire(heap, id, cls, w);
    if (!w) {
      xmc_put(heap, cls, slot, id);
      return;
    }
    id = xmc_give_back(heap, me, cls, id, w);
    if (id == XMC_NONE)
      return;
    cls = xmc_slab_class(cls);
    w = xmc_load_relaxed64(xmc_word_of(heap, id));
  }
}

/* A claim: the Superblock's id and the mask of the claimed Basicblocks. 0: nothing was claimed. */
typedef xmc_u64 xmc_claim;
XMC_FN xmc_claim xmc_claim_make(xmc_u32 id, xmc_u32 mask) { return mask ? (xmc_u64)id << 32 | mask : 0; }
XMC_FN xmc_u32 xmc_claim_id(xmc_claim claim) { return (xmc_u32)(claim >> 32); }
XMC_FN xmc_u32 xmc_claim_mask(xmc_claim claim) { return (xmc_u32)claim; }

/* Moves a FIFO, whose active Superblock is exhausted with the word w, on to the next. 0: there is none; then the
 * exhausted one is dropped or (`keep`) left for the new one that the caller may put into its seat. */
XMC_COLD_FN int xmc_fifo_advance(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL xmc_fifo *fifo, xmc_u32 cls, xmc_u32 slot,
                                 xmc_u64 active, xmc_u64 w, int keep) {
  XMC_AFRESH64(heap);
  xmc_u32 id = xmc_active_id(active), next = XMC_NONE;
  int moved, empty = xmc_fifo_looks_empty(fifo);
  if (id != XMC_NONE && !xmc_superblock_unlist(heap, id, cls, w))
    return 1; /* it has blocks again */
  if (!empty)
    next = xmc_fifo_dequeue(fifo);
  if (next == XMC_NONE && (keep || id == XMC_NONE))
    return 0;
  moved = xmc_cas_release64(&fifo->active, active, xmc_active_next(active, next)) == active;
  if (next == XMC_NONE)
    return !moved; /* somebody else moved it on */
  if (!moved)
    xmc_put(heap, cls, slot, next);
  else if (id == XMC_NONE)
    xmc_fifo_mark_busy(heap, cls, slot);
  if (xmc_load_relaxed64(&heap->scarce)) /* it was in nobody's sight for a moment */
    xmc_add_acq_rel64(&heap->flux, XMC_FLUX_MOVED);
  return 1;
}

/* The FIFO of a slot as a claim that found nothing left it: a new Superblock may take the seat of `active`, which
 * is exhausted or none. */
typedef struct xmc_seat {
  xmc_u32 slot; /* XMC_NONE: unbuffered, or unknown */
  xmc_u64 active;
} xmc_seat;

/* Claims up to `want` blocks from the FIFO of one slot, or finds the seat for a new Superblock. */
XMC_FN xmc_claim xmc_fifo_claim(XMC_GLOBAL xmcHeap *heap, xmc_view view, xmc_u32 cls, xmc_u32 slot, xmc_u32 want,
                                xmc_seat *seat) {
  XMC_GLOBAL xmc_fifo *fifo = (XMC_GLOBAL xmc_fifo *)heap + (view.first + slot);
  XMC_GLOBAL xmc_u64 *word;
  xmc_u64 active, w = 0;
  xmc_u32 id, take;
  seat->slot = slot;
  seat->active = XMC_NONE;
  if (slot == XMC_NONE)
    return 0;
  do { /* again only for a next Superblock, or when somebody else moved the FIFO on */
    active = xmc_load_relaxed64(&fifo->active);
    id = xmc_active_id(active);
    if (id != XMC_NONE) {
      word = xmc_at64(heap, view.words) + id;
      /* Blocks that come and go leave the active Superblock wholly free: guess that. Slabs: look. */
      w = cls < XMC_CLASSES ? xmc_word_make(cls, xmc_class_count(cls), xmc_full_mask(xmc_class_count(cls))) |
                                  XMC_WORD_LISTED
                            : xmc_load_relaxed64(word);
      take = xmc_superblock_claim(word, cls, want, 0, &w);
      if (take)
        return xmc_claim_make(id, take);
    }
  } while (xmc_fifo_advance(heap, fifo, cls, slot, active, w, 1));
  seat->active = active;
  return 0;
}

/* Once room is scarce, who takes more of it than it will keep says so before and after: a search that finds
 * nothing meanwhile is not the last. */
XMC_FN void xmc_flux_begin(XMC_GLOBAL xmcHeap *heap) { xmc_add_acq_rel64(&heap->flux, 1); }
XMC_FN void xmc_flux_end(XMC_GLOBAL xmcHeap *heap, int moved) {
  xmc_add_acq_rel64(&heap->flux, moved ? XMC_FLUX_MOVED - 1u : ~(xmc_u64)0);
}

/* Puts a new Superblock into use: `take` of its blocks are the caller's; for the rest it takes the seat or, if
 * somebody else did, is settled. */
XMC_FN void xmc_superblock_start(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 id, xmc_u32 count,
                                 xmc_u32 take, xmc_seat seat) {
  XMC_AFRESH64(heap);
  xmc_u64 w = xmc_word_make(cls, count, xmc_full_mask(count) & ~take);
  if (!xmc_word_free(w)) {
    xmc_store_relaxed64(xmc_word_of(heap, id), w);
    if (xmc_active_id(seat.active) != XMC_NONE)
      xmc_cas_relaxed64(&xmc_fifo_at(heap, cls, seat.slot)->active, seat.active,
                        xmc_active_next(seat.active, XMC_NONE));
    return;
  }
  w |= XMC_WORD_LISTED;
  xmc_store_release64(xmc_word_of(heap, id), w);
  if (seat.slot != XMC_NONE &&
      xmc_cas_release64(&xmc_fifo_at(heap, cls, seat.slot)->active, seat.active, xmc_active_next(seat.active, id)) ==
          seat.active) {
    if (xmc_active_id(seat.active) == XMC_NONE) /* else it is marked already */
      xmc_fifo_mark_busy(heap, cls, seat.slot);
    return;
  }
  xmc_settle(heap, me, cls, id, w);
}

/* A new run of 2^order pages for a Superblock of this class, or one page for a slab. Returns its first page
 * or XMC_NONE. */
XMC_FN xmc_u32 xmc_pages_take(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 order) {
  XMC_AFRESH64(heap);
  xmc_u32 page = xmc_hint(heap, me, cls), i;
  if (page == XMC_NONE)
    page = xmc_run_home(heap, me, order, xmc_class_is_small(cls) ? cls : cls & 3u);
  page = xmc_run_take(heap, me, order, page);
  XMC_AFRESH(order);
  XMC_AFRESH(cls);
  if (page != XMC_NONE)
    xmc_set_hint(heap, me, cls, page + (heap->lanes << order));
  XMC_ROLLED
  for (i = 0; page != XMC_NONE && i < 1u << order; i++)
    xmc_store_relaxed32(xmc_page_entry(heap, page + i), XMC_MAP(cls, i, xmc_class_blocks(cls, 1u << order)));
  return page;
}

/* Starts a Superblock of a small class in the place that `slab` stands for. */
XMC_FN xmc_claim xmc_slab_start(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 want, xmc_claim slab,
                                xmc_seat seat) {
  xmc_u32 place = xmc_lowest32(xmc_claim_mask(slab)), left = xmc_class_blocks(cls, 1) - 32u * place;
  xmc_u32 count = left < 32u ? left : 32u, take = xmc_full_mask(want < count ? want : count);
  xmc_u32 id = xmc_id_page(heap, xmc_claim_id(slab)) * 32u + place;
  xmc_superblock_start(heap, me, cls, id, count, take, seat);
  return xmc_claim_make(id, take);
}

/* Carves a new Superblock out of 2^order free pages. */
XMC_FN xmc_claim xmc_superblock_carve(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 want, xmc_u32 order,
                                      xmc_seat seat) {
  xmc_u32 page = xmc_pages_take(heap, me, cls, order), count, take;
  if (page == XMC_NONE)
    return 0;
  count = xmc_class_blocks(cls, 1u << order);
  take = xmc_full_mask(want < count ? want : count);
  xmc_superblock_start(heap, me, cls, page * 32u, count, take, seat);
  return xmc_claim_make(page * 32u, take);
}

/* Carves a new slab out of a free page: a claim of its first place. */
XMC_FN xmc_claim xmc_slab_carve(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_seat seat) {
  xmc_u32 page = xmc_pages_take(heap, me, cls, 0), id;
  if (page == XMC_NONE)
    return 0;
  id = xmc_slab_id(heap, page);
  xmc_superblock_start(heap, me, xmc_slab_class(cls), id, (xmc_class_blocks(cls, 1) + 31u) >> 5, 1u, seat);
  return xmc_claim_make(id, 1u);
}

/* log2 of the pages of a new Superblock for `want` blocks. On GPUs as many slots take Superblocks as sub-groups
 * run: where few lanes want a class, they take few pages each. */
XMC_FN xmc_u32 xmc_carve_order(xmc_u32 cls, xmc_u32 want) {
  xmc_u32 order = xmc_class_order(cls);
#if XMC_CARVE_TO_FIT
  XMC_ROLLED
  while (order > 0 && xmc_class_blocks(cls, 1u << (order - 1u)) >= 2u * want)
    order--;
#else
  (void)want;
#endif
  return order;
}

/* Carves a new Superblock out of a slab or free pages. */
XMC_COLD_FN xmc_claim xmc_carve(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 want, xmc_seat seat) {
  XMC_AFRESH64(heap);
  int small = xmc_class_is_small(cls);
  xmc_seat slab_seat;
  xmc_view view;
  xmc_u64 scarce;
  xmc_claim claim;
  xmc_view_read(heap, small ? xmc_slab_class(cls) : cls, &view);
  scarce = xmc_load_relaxed64(&heap->scarce);
  if (scarce)
    xmc_flux_begin(heap);
  if (small) {
    claim = xmc_fifo_claim(heap, view, xmc_slab_class(cls), xmc_view_slot(view, me), 1, &slab_seat);
    if (!claim)
      claim = xmc_slab_carve(heap, me, cls, slab_seat);
    if (claim)
      claim = xmc_slab_start(heap, me, cls, want, claim, seat);
  } else {
    claim = xmc_superblock_carve(heap, me, cls, want, xmc_carve_order(cls, want), seat);
  }
  if (scarce)
    xmc_flux_end(heap, claim != 0);
  return claim;
}

/* Claims 1 to `want` Basicblocks of one Superblock, from the FIFO of a slot or new. 0: the last resort. The view
 * is read anew rather than kept in registers while a Superblock is carved. */
XMC_FN xmc_claim xmc_blocks_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_view *view, xmc_u32 cls, xmc_u32 want) {
  xmc_seat seat;
  xmc_claim claim = xmc_fifo_claim(heap, *view, cls, xmc_view_slot(*view, me), want, &seat);
  if (!claim) {
    XMC_AFRESH(cls);
    claim = xmc_carve(heap, me, cls, want, seat);
    xmc_view_read(heap, cls, view);
  }
  return claim;
}
#endif
