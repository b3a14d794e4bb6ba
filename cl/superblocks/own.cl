/* SPDX-License-Identifier: MIT */
/* Own places. In a heap that is too small for a FIFO of each class for each sub-group that can run at the same time, several sub-groups share a
 * FIFO (host/heap/layout.c says of which classes). They would contend for the state word of one slab; or they would all follow one hint to the same pages. So
 * each slot has a slab of its own for whole Superblocks of each small class, and a place to look first for runs of each
 * length. GPUs only.
 *
 *   own   1 page       | slot 0 | slot 1 | …  | slot 3 n - 1   the run that the slot returned last, or where to go on
 *         2 pages                                              (XMC_HINT)
 *         …
 *         16 pages
 *         class 0      | slot 0 | slot 1 | …  | slot n - 1     page + 1 of the slab that the slot used last, or 0
 *         …
 *         class 14
 *
 * When that slab has no place left, one that came back is taken out of the FIFO of slabs, or a new one is made (xmc_slab_next). An own
 * slab is parked from then on: in sight of the last resort, and of nobody else, until its last place is taken. The CAS that takes
 * that clears `listed`, and who gives a place back answers for the slab as for any other (supply.cl). The table says where
 * to look, no more: whoever takes a place owns it by the slab's word, and pages by the bits of their span. Who gives back a run, or
 * the first place of a slab that was used up and has few, enters that (supply.cl, give_back.cl): a slot that only went on would come
 * to pages that are new to the caches each time.
 *
 * There are places for as many slots as sub-groups can run, but of slabs for at most n, so many that they are an eighth of
 * the heap a class; of runs, which hold nothing aside, for at most 3 n.
 */
#ifndef XMC_OWN_CL
#define XMC_OWN_CL
#include "../layout/size_class.cl"
#include "superblock.cl"

/* 0: in a program that is built for heaps with a FIFO for each sub-group, as their options say. It serves others, too, and uses
 * their FIFOs. */
#ifndef XMC_OWN_PLACES
#define XMC_OWN_PLACES XMC_SIMT
#endif
XMC_FN xmc_u32 xmc_fifos_own(xmc_u64 entry) { return XMC_OWN_PLACES ? (xmc_u32)(entry >> 53) << 6 : 0; }
XMC_FN xmc_u32 xmc_own_slots(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls) {
  return xmc_fifos_own(xmc_heap_fifos(heap, cls));
}

/* `own`: how many slots have a place for the class */
XMC_FN XMC_GLOBAL xmc_u32 *xmc_own_entry(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 own) {
  xmc_u32 row = xmc_class_is_small(cls) ? XMC_OWN_RUNS + cls : xmc_class_order(cls);
  return (XMC_GLOBAL xmc_u32 *)heap +
         (xmc_u32)(XMC_HEADER_BYTES / sizeof(xmc_u32) + row * own + xmc_slot_hint(me, own)); /* in 32 bits */
}

/* Is this slab, which became wholly free, the caller's own? Then it stays, as long as room was never scarce: a slot that
 * alternates between malloc and free would start a new one each time. */
XMC_FN int xmc_is_own_here(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 id) {
  xmc_u32 own = xmc_own_slots(heap, cls - XMC_CLASSES);
  return own && !xmc_slab_is_parked(cls) &&
         xmc_load_relaxed32(xmc_own_entry(heap, me, cls - XMC_CLASSES, own)) == id + 1u &&
         !(xmc_load_relaxed64(&heap->scarce) & ~XMC_ROOM_SHORT);
}
#endif
