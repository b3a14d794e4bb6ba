/* Own slabs: in a heap that has fewer FIFOs than sub-groups run at the same time, those of one FIFO would take the places of
 * one slab, meet in its word, and all come for a new one when it is used up. So whoever takes whole Superblocks of a small
 * class has a slab of its own. GPUs only.
 *
 *   own_slabs   class 0     | slot 0 | slot 1 | …             page + 1 of the slab that the slot used last, or 0
 *               class 1     | slot 0 | slot 1 | …
 *               …
 *
 *   a place of that slab                                      one CAS
 *      | it has none
 *   one that came back, out of the FIFO of slabs              it is parked from now on
 *      | none
 *   a free page at a place of the slot's own (carve.cl)       it is parked at once
 *
 * An own slab is parked: in sight of the last resort, and of nobody else, until its last place is taken. The CAS that takes
 * that clears `listed`, and who gives a place back answers for the slab as for any other (supply.cl). The table says where
 * to look, no more: whoever takes a place owns it by the slab's word.
 *
 * own_slabs has as many slots as sub-groups can run, but at most so many that their slabs are a seventh of the heap a class.
 */
#ifndef XMC_OWN_SLAB_CL
#define XMC_OWN_SLAB_CL
#include "supply.cl"

/* `own`: how many slots the table has */
XMC_FN XMC_GLOBAL xmc_u32 *xmc_own_slab(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 own) {
  XMC_AFRESH64(heap);
  return (XMC_GLOBAL xmc_u32 *)heap +
         (XMC_HEADER_BYTES / sizeof(xmc_u32) + cls * own + xmc_slot_hint(me, own));
}

/* Takes a slab that came back out of the FIFO and claims a place of it; cls: the slab's. One try: 0 also where another one
 * was faster. */
XMC_FN xmc_claim xmc_slab_adopt(XMC_GLOBAL xmcHeap *heap, xmc_u32 words, xmc_u32 cls, xmc_u32 number) {
  XMC_GLOBAL xmc_fifo *fifo = xmc_fifo_number(heap, number);
  XMC_GLOBAL xmc_u64 *word;
  xmc_u64 w = xmc_load_relaxed64(&fifo->active), next, old;
  xmc_u32 id = xmc_active_id(w), take = 0;
  if (id == XMC_NONE)
    id = xmc_fifo_dequeue(fifo);
  else if (xmc_cas_hint64(&fifo->active, w, xmc_active_next(w, XMC_NONE)) != w)
    return 0;
  if (id == XMC_NONE)
    return 0;
  word = xmc_word_at(heap, words, id);
  w = xmc_load_relaxed64(word);
  XMC_ROLLED
  while (xmc_word_class(w) == cls && (w & XMC_WORD_LISTED)) { /* again only when another one changed it */
    take = xmc_lowest_bits(xmc_word_available(w, cls), 1u);
    next = w & ~(xmc_u64)take;
    next = xmc_word_available(next, cls) ? next | XMC_WORD_PARKED : next & ~XMC_WORD_WHERE;
    old = xmc_cas_acquire64(word, w, next);
    if (old == w) {
      if (next & XMC_WORD_PARKED)
        xmc_bitmap_ensure(heap, XMC_PARKED, cls * xmc_heap_spans(heap) * XMC_SPAN_PAGES + xmc_slab_page(id));
      break;
    }
    w = old;
    take = 0;
  }
  if (xmc_scarce_near(heap)) /* it was in nobody's sight for a moment */
    xmc_add_acq_rel64(&heap->flux, XMC_FLUX_MOVED);
  return xmc_claim_make(id, take);
}
#endif
