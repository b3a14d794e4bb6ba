/* SPDX-License-Identifier: MIT */
/* References: what programs store instead of pointers. */
#ifndef XMC_REFS_CL
#define XMC_REFS_CL
#include "allocate.cl"

/* References: offsets in the arena, which are the same on host and device and in every process; 0 is NULL. Pointers are not checked. */
typedef xmc_u64 xmcRef;
XMC_API xmcRef xmcToRef(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr) {
  return ptr ? xmc_arena_offset(heap, ptr) : 0;
}
XMC_API XMC_GLOBAL void *xmcFromRef(XMC_GLOBAL xmcHeap *heap, xmcRef ref) {
  return ref ? (XMC_GLOBAL char *)heap + ref : 0;
}

/* References in 32 bits, for data that holds many of them. A block starts at a multiple of 16 bytes, so 32 bits
 * reach 64 GiB. A pointer that has no such reference, because it is no multiple of 16 or lies beyond 64 GiB, gives
 * 0: a reference is never cut. Before a program relies on them, its host asks xmcCheckRef32 whether they reach all
 * blocks of the heap. */
typedef xmc_u32 xmcRef32;
#define XMC_REF32_BYTES ((xmc_u64)16 << 32) /* 64 GiB */
XMC_FN xmcRef32 xmc_ref32(xmcRef ref) {
  return ref % 16u || ref >= XMC_REF32_BYTES ? 0 : (xmcRef32)(ref >> 4);
}
XMC_API xmcRef32 xmcToRef32(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr) {
  return xmc_ref32(xmcToRef(heap, ptr));
}
XMC_API XMC_GLOBAL void *xmcFromRef32(XMC_GLOBAL xmcHeap *heap, xmcRef32 ref) {
  return xmcFromRef(heap, (xmcRef)ref << 4);
}

/* References that work-items hand to each other while they run. `place` is in global memory, aligned to 8 bytes, in the heap or not.
 * All three calls are atomic at device scope. The load acquires, the two others acquire and release: a work-item that gets a reference
 * here sees what was written to its block before the reference was put there. */
XMC_API xmcRef xmcLoadRef(volatile XMC_GLOBAL const xmcRef *place) {
  return xmc_load_acquire64((XMC_GLOBAL const xmc_u64 *)place);
}
/* Puts `ref` there and returns what was there before. */
XMC_API xmcRef xmcExchangeRef(volatile XMC_GLOBAL xmcRef *place, xmcRef ref) {
  return xmc_exchange_acq_rel64((XMC_GLOBAL xmc_u64 *)place, ref);
}
/* Puts `desired` there if `expected` is there. Returns what was there before, so it succeeded if it returns `expected`. */
XMC_API xmcRef xmcCompareExchangeRef(volatile XMC_GLOBAL xmcRef *place, xmcRef expected, xmcRef desired) {
  return xmc_cas_acq_rel64((XMC_GLOBAL xmc_u64 *)place, expected, desired);
}
#endif
