/* The last resort: before a request fails, what is parked, what other slots hold, what any class can spare.
 *
 * Only FIFOs whose bit stands in the busy bitmap are looked at, and every one found empty or exhausted is
 * cleaned up on the way, so a million requests that meet a full heap share the work: the first ones empty
 * the bitmap, the others read a few root words. Each lane comes here for itself.
 */
#ifndef XMC_RECLAIM_CL
#define XMC_RECLAIM_CL
#include "supply.cl"

/* Claims a block of a parked Superblock in one span and takes it out of its parking place. */
XMC_FN xmc_claim xmc_span_unpark(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 span) {
  xmc_u32 base = cls < XMC_CLASSES ? cls : cls - XMC_CLASSES, page = span * XMC_SPAN_PAGES, i, j;
  XMC_ROLLED
  for (i = 0; i < XMC_SPAN_PAGES && page < heap->pages; i++, page++) {
    xmc_u32 entry = xmc_load_relaxed32(xmc_page_entry(heap, page));
    xmc_u32 n = cls < XMC_SMALL_CLASSES ? ((entry >> 16) + 31u) >> 5 : 1u;
    if ((entry & 0xffffu) != base) /* another class, or not the first page of a run */
      continue;
    XMC_ROLLED
    for (j = 0; j < n; j++) {
      xmc_u32 id = cls < XMC_CLASSES ? page * 32u + j : xmc_slab_id(heap, page), take;
      xmc_u64 w = xmc_load_relaxed64(xmc_word_of(heap, id));
      if (!(w & XMC_WORD_PARKED))
        continue;
      take = xmc_superblock_claim(heap, id, cls, 1, XMC_WORD_PARKED, &w);
      if (take) { /* with the parked bit it took the duty, unless the Superblock is exhausted */
        w &= ~XMC_WORD_PARKED & ~(xmc_u64)take;
        if (xmc_word_available(w, cls) || !xmc_superblock_unlist(heap, id, cls))
          xmc_settle(heap, cls, id, w);
        return xmc_claim_make(id, take);
      }
    }
  }
  return 0;
}

/* Claims a block of a parked Superblock of a class in [cls, end). */
XMC_SLOW xmc_claim xmc_unpark(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 end) {
  xmc_u32 low = cls * heap->spans, high = end * heap->spans, item;
  XMC_ROLLED
  while ((item = xmc_bitmap_find_from(heap, &heap->parked, low, high, low + xmc_slot_hint(heap->spans))) !=
         XMC_NONE) {
    xmc_u32 c = item / heap->spans, turn;
    XMC_ROLLED
    for (turn = 0; turn < 2u; turn++) { /* before and after the bit is cleared */
      xmc_claim claim = xmc_span_unpark(heap, c, item - c * heap->spans);
      if (claim) {
        if (turn)
          xmc_bitmap_set(heap, &heap->parked, item);
        return claim;
      }
      if (!turn)
        xmc_bitmap_clear(heap, &heap->parked, item);
    }
  }
  return 0;
}

/* The FIFO looked empty: take its busy bit away unless something came in meanwhile. */
XMC_FN void xmc_fifo_mark_idle(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot) {
  XMC_GLOBAL xmc_fifo *fifo = xmc_fifo_at(heap, cls, slot);
  xmc_bitmap_clear(heap, &heap->busy, cls * heap->slots + slot);
  if (xmc_load_relaxed64(&fifo->active) != XMC_NONE || !xmc_fifo_is_empty(fifo))
    xmc_fifo_mark_busy(heap, cls, slot);
}

/* Claims a block from any FIFO of the classes [cls, end). A FIFO that has none is empty afterwards. */
XMC_SLOW xmc_claim xmc_steal(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 end) {
  xmc_u32 item = cls * heap->slots, high = end * heap->slots;
  XMC_ROLLED
  while ((item = xmc_bitmap_find(heap, &heap->busy, item, high)) != XMC_NONE) {
    xmc_claim claim;
    cls = item / heap->slots;
    claim = xmc_fifo_claim(heap, cls, item - cls * heap->slots, 1);
    if (claim)
      return claim;
    xmc_fifo_mark_idle(heap, cls, item - cls * heap->slots);
    item++;
  }
  return 0;
}

/* Retires wholly free Superblocks of one FIFO and drops exhausted ones. Returns how many were retired. */
XMC_FN xmc_u32 xmc_fifo_reclaim(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot) {
  XMC_GLOBAL xmc_fifo *fifo = xmc_fifo_at(heap, cls, slot);
  xmc_u32 retired = 0, kept = 0, turn;
  XMC_ROLLED
  for (turn = 0; turn <= XMC_FIFO_SIZE; turn++) {
    xmc_u32 id = turn ? xmc_fifo_dequeue(fifo) : (xmc_u32)xmc_load_relaxed64(&fifo->active);
    xmc_u64 whole;
    int gone;
    if (id == XMC_NONE)
      continue;
    whole = xmc_superblock_retire(heap, id, cls, xmc_load_relaxed64(xmc_word_of(heap, id)));
    gone = whole || xmc_superblock_unlist(heap, id, cls);
    if (!turn && gone)
      xmc_cas_relaxed64(&fifo->active, id, XMC_NONE);
    if (turn && !gone)
      xmc_put(heap, cls, slot, id);
    kept += !gone;
    if (whole) {
      retired++;
      id = xmc_give_back(heap, cls, id, whole);
      if (id != XMC_NONE)
        xmc_settle(heap, xmc_slab_class(cls), id, xmc_load_relaxed64(xmc_word_of(heap, id)));
    }
  }
  if (!kept)
    xmc_fifo_mark_idle(heap, cls, slot);
  return retired;
}

/* Retires wholly free Superblocks and slabs in the FIFOs of every class, small classes before their
 * slabs. Stops after `enough`. Returns how many. */
XMC_SLOW xmc_u32 xmc_reclaim(XMC_GLOBAL xmcHeap *heap, xmc_u32 enough) {
  xmc_u32 high = XMC_ALL_CLASSES * heap->slots, item = 0, retired = 0;
  XMC_ROLLED
  while (retired < enough && (item = xmc_bitmap_find(heap, &heap->busy, item, high)) != XMC_NONE) {
    xmc_u32 cls = item / heap->slots;
    retired += xmc_fifo_reclaim(heap, cls, item - cls * heap->slots);
    item++;
  }
  return retired;
}

/* One block of a class, whatever it takes; of a larger class when there is nothing else. *got is the
 * class. 0: no room is left. */
XMC_SLOW xmc_claim xmc_last_resort(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 *got) {
  *got = cls;
  XMC_ROLLED
  for (;;) { /* again only when something was retired */
    xmc_u32 slab_class;
    xmc_claim claim;
    heap = xmc_afresh(heap);
    cls = xmc_afresh32(cls);
    slab_class = xmc_slab_class(cls);
    claim = xmc_unpark(heap, cls, cls + 1u);
    if (!claim)
      claim = xmc_steal(heap, cls, cls + 1u);
    if (!claim && xmc_class_is_small(cls)) {
      claim = xmc_unpark(heap, slab_class, slab_class + 1u);
      if (!claim)
        claim = xmc_steal(heap, slab_class, slab_class + 1u);
      if (claim)
        claim = xmc_slab_start(heap, cls, 1, claim);
    }
    if (!claim && !xmc_reclaim(heap, 1u) && !xmc_orders_sweep(heap, 0))
      break;
    if (!claim)
      claim = xmc_carve(heap, cls, 1);
    if (claim)
      return claim;
  }
  {
    xmc_claim claim = xmc_steal(heap, cls + 1u, XMC_CLASSES);
    if (!claim)
      claim = xmc_unpark(heap, cls + 1u, XMC_CLASSES);
    if (claim) {
      xmc_u32 id = xmc_claim_id(claim);
      *got = xmc_load_relaxed32(xmc_page_entry(heap, id >> 5)) & 0xffu;
    }
    return claim;
  }
}
#endif
