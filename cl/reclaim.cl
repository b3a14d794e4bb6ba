/* Before a request fails: what other slots hold, and what any class can spare.
 *
 * Only FIFOs whose bit stands in the busy bitmap are looked at, and every one found empty or exhausted is
 * cleaned up on the way, so a million requests that meet a full heap share the work: the first ones empty
 * the bitmap, the others read a few root words.
 */
#ifndef XMC_RECLAIM_CL
#define XMC_RECLAIM_CL
#include "supply.cl"

/* The FIFO looked empty: take its busy bit away unless something came in meanwhile. */
XMC_FN void xmc_fifo_mark_idle(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot) {
  XMC_GLOBAL xmc_fifo *fifo = xmc_fifo_at(heap, cls, slot);
  xmc_bitmap_clear(heap, &heap->busy, cls * heap->slots + slot);
  if (xmc_load_relaxed64(&fifo->active) != XMC_NONE || !xmc_fifo_is_empty(fifo))
    xmc_fifo_mark_busy(heap, cls, slot);
}

/* Claims blocks from any FIFO of the class. A FIFO that has none is empty afterwards. */
XMC_FN xmc_u32 xmc_steal(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 want, xmc_u32 *id) {
  xmc_u32 low = cls * heap->slots, high = low + heap->slots, item = low;
  while ((item = xmc_bitmap_find(heap, &heap->busy, item, high)) != XMC_NONE) {
    xmc_u32 take = xmc_fifo_claim(heap, cls, item - low, want, id);
    if (take)
      return take;
    xmc_fifo_mark_idle(heap, cls, item - low);
    item++;
  }
  return 0;
}

/* Retires wholly free Superblocks of one FIFO and drops exhausted ones. Returns how many were retired. */
XMC_FN xmc_u32 xmc_fifo_reclaim(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot) {
  XMC_GLOBAL xmc_fifo *fifo = xmc_fifo_at(heap, cls, slot);
  xmc_u32 retired = 0, kept = 0, turn;
  for (turn = 0; turn <= XMC_FIFO_SIZE; turn++) {
    xmc_u32 id = turn ? xmc_fifo_dequeue(fifo) : (xmc_u32)xmc_load_relaxed64(&fifo->active);
    xmc_u64 w, whole;
    int gone;
    if (id == XMC_NONE)
      continue;
    w = xmc_load_relaxed64(xmc_word_of(heap, id));
    whole = xmc_superblock_retire(heap, id, cls, w);
    gone = whole || xmc_superblock_unlist(heap, id, cls);
    if (!turn && gone)
      xmc_cas_relaxed64(&fifo->active, id, XMC_NONE);
    if (turn && !gone)
      xmc_settle(heap, cls, id, w);
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
XMC_FN xmc_u32 xmc_reclaim(XMC_GLOBAL xmcHeap *heap, xmc_u32 enough) {
  xmc_u32 high = XMC_ALL_CLASSES * heap->slots, item = 0, retired = 0;
  while (retired < enough && (item = xmc_bitmap_find(heap, &heap->busy, item, high)) != XMC_NONE) {
    retired += xmc_fifo_reclaim(heap, item / heap->slots, item % heap->slots);
    item++;
  }
  return retired;
}
#endif
