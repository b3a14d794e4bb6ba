/* SPDX-License-Identifier: MIT */
/* Own places, on GPUs only. If a heap is too small for a FIFO of each class for each sub-group that can run at the same time, several
 * sub-groups share a FIFO (host/heap/layout.c says of which classes). They would contend for the state word of one slab, or all follow
 * one hint to the same pages. So each slot has a slab of its own for whole Superblocks of each small class, and for runs of each length
 * a place where it looks first.
 *
 *   own   1 page       | slot 0 | slot 1 | …  | slot 3 n - 1   the run that the slot returned last, or took last
 *         2 pages                                              (XMC_HINT)
 *         …
 *         16 pages
 *         class 0      | slot 0 | slot 1 | …  | slot n - 1     id + 1 of the slab that the slot used last, or 0
 *         …
 *         class 14
 *
 * If that slab has no place left, a slab that came back is taken out of the FIFO of slabs, or a new one is made (xmc_slab_next). An own
 * slab is parked from then on, so that only the last resort finds it, until its last place is taken. The CAS that takes the last place
 * clears `listed`, and a work-item that gives a place back has the listed duty as for any other slab (supply.cl). The table only says
 * where to look: a work-item owns a place by the slab's word, and pages by the bits of their span. A work-item that gives back a run,
 * or the first place of an exhausted slab of few places, enters it in the table (supply.cl, give_back.cl), because a slot that always
 * went on would come to pages that are not in the caches.
 *
 * As many slots have places as sub-groups can run, but for slabs at most n slots, so that the own slabs of a class take at most an
 * eighth of the heap; for runs, for which no memory is held, at most 3 n. */
#ifndef XMC_OWN_CL
#define XMC_OWN_CL
#include "../layout/size_class.cl"
#include "superblock.cl"

/* 0 in programs for heaps with a FIFO for each sub-group, as their options say. Such a program works with other heaps, too, and uses
 * their FIFOs. */
#ifndef XMC_OWN_PLACES
#define XMC_OWN_PLACES XMC_SIMT
#endif
XMC_FN xmc_u32 xmc_fifos_own(xmc_u64 entry) { return XMC_OWN_PLACES ? (xmc_u32)(entry >> 53) << 6 : 0; }
XMC_FN xmc_u32 xmc_own_slots(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls) {
  return xmc_fifos_own(xmc_heap_fifos(heap, cls));
}

/* Returns the caller's own place for the class. own: how many slots have one (xmc_own_slots), not 0. */
XMC_FN XMC_GLOBAL xmc_u32 *xmc_own_entry(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 own) {
  xmc_u32 row = xmc_class_is_small(cls) ? XMC_OWN_RUNS + cls : xmc_class_order(cls);
  return (XMC_GLOBAL xmc_u32 *)heap +
         (xmc_u32)(XMC_HEADER_BYTES / sizeof(xmc_u32) + row * own + xmc_slot_hint(me, own)); /* in 32 bits */
}

/* Returns 1 if this slab, which became wholly free, is the caller's own and room was never scarce. Then it stays: a slot that
 * alternates between malloc and free would otherwise start a new slab each time. 0 for slabs of few places. */
XMC_FN int xmc_is_own_here(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 id) {
  xmc_u32 own = xmc_own_slots(heap, cls - XMC_CLASSES);
  return own && !xmc_slab_is_parked(cls) &&
         xmc_load_relaxed32(xmc_own_entry(heap, me, cls - XMC_CLASSES, own)) == id + 1u &&
         !(xmc_load_relaxed64(&heap->scarce) & ~XMC_ROOM_BITS);
}
#endif
