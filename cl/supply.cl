/* The supply of Superblocks: FIFOs of those in use, slabs, pages; where they come from and go back to.
 *
 *        claim                                              settle (who set `listed` answers for it)
 *          |                                                   |
 *   FIFO of my slot and class:  active  <-- FIFO ring  <-------+  active is empty: becomes the active one
 *          | exhausted: unlist, next                           |  wholly free: retired, goes back to
 *   parked Superblocks of my class  <--------------------------+  its slab or the pages
 *          | none                                              |  else into the ring; ring full: parked
 *   slab of my class (small classes): claim one of its Superblocks
 *          | none
 *   free pages: a new Superblock or slab
 *          | none
 *   last resort (reclaim.cl): other slots' FIFOs, wholly free ones of every class
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
  return (XMC_GLOBAL xmc_fifo *)((XMC_GLOBAL char *)heap + heap->fifos) + heap->fifo_table[cls].first + slot;
}
/* The caller's slot in this class, or XMC_NONE in an unbuffered heap */
XMC_FN xmc_u32 xmc_fifo_slot(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls) {
  xmc_u32 count = heap->fifo_table[cls].count;
  return count ? xmc_slot_hint(count) : XMC_NONE;
}
XMC_FN void xmc_fifo_mark_busy(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot) {
  xmc_bitmap_set(heap, &heap->busy, cls * heap->slots + slot);
}

/* Pages of a Superblock that is not in a slab, from its count of Basicblocks */
XMC_FN xmc_u32 xmc_superblock_pages(xmc_u32 cls, xmc_u32 count) {
  if (cls >= XMC_CLASSES)
    return 1;
  return (count * xmc_class_bytes(cls) + XMC_PAGE_BYTES - 1u) >> XMC_PAGE_SHIFT;
}

/* Returns the pages of a retired Superblock or slab. Entries that point back go first. */
XMC_FN void xmc_pages_return(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 id, xmc_u32 count) {
  xmc_u32 page = xmc_id_page(heap, id), pages = xmc_superblock_pages(cls, count), i;
  for (i = 1; i < pages; i++)
    xmc_store_relaxed32(xmc_page_entry(heap, page + i), XMC_MAP_NONE);
  xmc_span_release(heap, page >> XMC_SPAN_SHIFT, xmc_run_mask(page & (XMC_SPAN_PAGES - 1u), pages));
}

/* Sets the parked bit of a Superblock that no FIFO has room for. 0: it is wholly free, retire it. */
XMC_FN int xmc_park(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 id) {
  XMC_GLOBAL xmc_u64 *word = xmc_word_of(heap, id);
  xmc_u64 w = xmc_load_relaxed64(word), old;
  while (xmc_word_class(w) == cls && !xmc_word_is_whole(w)) {
    old = xmc_cas_release64(word, w, w | XMC_WORD_PARKED);
    if (old == w) { /* from here on whoever makes it wholly free retires it */
      xmc_bitmap_set(heap, &heap->parked, cls * heap->spans + (xmc_id_page(heap, id) >> XMC_SPAN_SHIFT));
      return 1;
    }
    w = old;
  }
  return xmc_word_class(w) != cls; /* retired through an old id: nothing to answer for */
}

/* Gives the memory of a retired Superblock (or slab) back: its pages to the spans, or its place in the slab
 * to the slab. Returns XMC_NONE, or the slab's id if the caller must answer for the slab now. */
XMC_FN xmc_u32 xmc_give_back(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 id, xmc_u64 retired) {
  xmc_u32 bit = 1u << (id & 31u);
  xmc_u64 w;
  if (!xmc_class_is_small(cls)) {
    xmc_pages_return(heap, cls, id, xmc_word_count(retired));
    return XMC_NONE;
  }
  cls = xmc_slab_class(cls);
  id = xmc_slab_id(heap, id >> 5);
  w = xmc_superblock_release(heap, id, bit);
  if (!(w & XMC_WORD_LISTED))
    return id;
  /* Somebody answers for the slab; a parked one that is wholly free goes. */
  if ((w & XMC_WORD_PARKED) && xmc_superblock_retire(heap, id, cls, w | bit))
    xmc_pages_return(heap, cls, id, 1);
  return XMC_NONE;
}

/* The caller answers for a Superblock or slab whose listed bit it set; w is the word as last seen. */
XMC_FN void xmc_settle(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 id, xmc_u64 w) {
  for (;;) { /* at most twice for each of Superblock and slab, unless others changed the word */
    xmc_u32 slot = xmc_fifo_slot(heap, cls), used;
    XMC_GLOBAL xmc_fifo *fifo = xmc_fifo_at(heap, cls, slot);
    if (slot != XMC_NONE && xmc_load_relaxed64(&fifo->active) == XMC_NONE &&
        xmc_cas_release64(&fifo->active, XMC_NONE, id) == XMC_NONE) {
      xmc_fifo_mark_busy(heap, cls, slot);
      return;
    }
    w = xmc_superblock_retire(heap, id, cls, w);
    if (w) {
      id = xmc_give_back(heap, cls, id, w);
      if (id == XMC_NONE)
        return;
      cls = xmc_slab_class(cls);
    } else {
      used = slot == XMC_NONE ? XMC_NONE : xmc_fifo_enqueue(fifo, id);
      if (used == 0)
        xmc_fifo_mark_busy(heap, cls, slot);
      if (used != XMC_NONE || xmc_park(heap, cls, id))
        return;
    }
    w = xmc_load_relaxed64(xmc_word_of(heap, id));
  }
}

/* Claims up to `want` blocks from the FIFO of one slot. Returns their mask and the Superblock in *id. */
XMC_FN xmc_u32 xmc_fifo_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot, xmc_u32 want, xmc_u32 *id) {
  XMC_GLOBAL xmc_fifo *fifo = xmc_fifo_at(heap, cls, slot);
  xmc_u32 active;
  if (slot == XMC_NONE)
    return 0;
  active = (xmc_u32)xmc_load_relaxed64(&fifo->active);
  for (;;) { /* again only for a next Superblock or when somebody else moved the FIFO on */
    xmc_u32 next, seen;
    if (active != XMC_NONE) {
      xmc_u64 w;
      xmc_u32 take = xmc_superblock_claim(heap, active, cls, want, 0, &w);
      *id = active;
      if (take)
        return take;
      if (!xmc_superblock_unlist(heap, active, cls))
        continue;
    }
    next = xmc_fifo_dequeue(fifo);
    if (next == XMC_NONE && active == XMC_NONE)
      return 0;
    seen = (xmc_u32)xmc_cas_release64(&fifo->active, active, next);
    if (seen == active) {
      if (next == XMC_NONE)
        return 0;
      if (active == XMC_NONE) /* it was in nobody's sight for a moment */
        xmc_fifo_mark_busy(heap, cls, slot);
      active = next;
    } else {
      if (next != XMC_NONE)
        xmc_settle(heap, cls, next, xmc_load_relaxed64(xmc_word_of(heap, next)));
      active = seen;
    }
  }
}

/* Claims blocks of a parked Superblock in one span and takes it out of its parking place. */
XMC_FN xmc_u32 xmc_span_unpark(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 span, xmc_u32 want, xmc_u32 *id,
                               xmc_u64 *w) {
  xmc_u32 base = cls < XMC_CLASSES ? cls : cls - XMC_CLASSES, page = span * XMC_SPAN_PAGES, i, j;
  for (i = 0; i < XMC_SPAN_PAGES && page + i < heap->pages; i++) {
    xmc_u32 entry = xmc_load_relaxed32(xmc_page_entry(heap, page + i));
    xmc_u32 n = cls < XMC_SMALL_CLASSES ? ((entry >> 16) + 31u) >> 5 : 1u;
    if ((entry & 0xffffu) != base) /* another class, or not the first page of a run */
      continue;
    for (j = 0; j < n; j++) {
      xmc_u32 take;
      *id = cls < XMC_CLASSES ? (page + i) * 32u + j : xmc_slab_id(heap, page + i);
      if (!(xmc_load_relaxed64(xmc_word_of(heap, *id)) & XMC_WORD_PARKED))
        continue;
      take = xmc_superblock_claim(heap, *id, cls, want, XMC_WORD_PARKED, w);
      if (take)
        return take;
    }
  }
  return 0;
}

/* Claims blocks of a parked Superblock of this class; looks at no more than one span for each bit. */
XMC_FN xmc_u32 xmc_unpark(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 want, xmc_u32 *id) {
  xmc_u32 low = cls * heap->spans, item;
  while ((item = xmc_bitmap_find(heap, &heap->parked, low, low + heap->spans)) != XMC_NONE) {
    xmc_u64 w;
    xmc_u32 take = xmc_span_unpark(heap, cls, item - low, want, id, &w);
    if (!take) {
      xmc_bitmap_clear(heap, &heap->parked, item);
      take = xmc_span_unpark(heap, cls, item - low, want, id, &w);
      if (take)
        xmc_bitmap_set(heap, &heap->parked, item);
    }
    if (take) {
      /* The claim took the duty with the parked bit, unless the Superblock was listed elsewhere too. */
      w = (w & ~XMC_WORD_PARKED) & ~(xmc_u64)take;
      if (xmc_word_available(w, cls) || !xmc_superblock_unlist(heap, *id, cls))
        xmc_settle(heap, cls, *id, w);
      return take;
    }
  }
  return 0;
}

/* Puts a new Superblock into use: `take` of its blocks are the caller's, the rest is settled. */
XMC_FN void xmc_superblock_start(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 id, xmc_u32 count, xmc_u32 take) {
  xmc_u64 w = xmc_word_make(cls, count, xmc_full_mask(count) & ~take);
  if (!xmc_word_free(w)) {
    xmc_store_relaxed64(xmc_word_of(heap, id), w);
    return;
  }
  w |= XMC_WORD_LISTED;
  xmc_store_release64(xmc_word_of(heap, id), w);
  xmc_settle(heap, cls, id, w);
}

/* A new run of pages for a Superblock of this class (2^order pages or, when there is no such run, fewer)
 * or for a slab. Returns its first page or XMC_NONE; *blocks is the number of Basicblocks. */
XMC_FN xmc_u32 xmc_pages_take(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot, xmc_u32 *blocks) {
  xmc_u32 pages, page, hint, i;
  XMC_GLOBAL xmc_fifo *fifo = xmc_fifo_at(heap, cls, slot);
  if (slot != XMC_NONE) {
    hint = xmc_load_relaxed32(&fifo->hint);
  } else {
    hint = xmc_slot_hint(heap->spans);
  }
  i = hint;
  page = xmc_run_claim_short(heap, 1u << xmc_class_order(cls), 0, &hint, &pages);
  if (slot != XMC_NONE && hint != i)
    xmc_store_relaxed32(&fifo->hint, hint);
  if (page == XMC_NONE)
    return XMC_NONE;
  *blocks = xmc_class_blocks(cls, pages);
  for (i = 0; i < pages; i++)
    xmc_store_relaxed32(xmc_page_entry(heap, page + i), XMC_MAP(cls, i, *blocks));
  return page;
}
#endif
