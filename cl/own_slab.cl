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
#include "arena.h"
#include "platform.h"
#include "superblock.cl"

/* `own`: how many slots the table has */
XMC_FN XMC_GLOBAL xmc_u32 *xmc_own_slab(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 own) {
  XMC_AFRESH64(heap);
  return xmc_own_slabs(heap) + (cls * own + xmc_slot_hint(me, own));
}

/* Is this slab, which became wholly free, the caller's own? Then it stays, as long as room was never scarce: who allocates and
 * frees by turns would start a new one each time. */
XMC_FN int xmc_is_own_here(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 id) {
  xmc_u32 own = XMC_SIMT ? xmc_heap_own(heap) : 0;
  return own && !xmc_slab_is_parked(cls) &&
         xmc_load_relaxed32(xmc_own_slab(heap, me, cls - XMC_CLASSES, own)) == id + 1u &&
         !xmc_load_relaxed64(&heap->scarce);
}
#endif
