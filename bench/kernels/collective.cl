/* SPDX-License-Identifier: MIT */
/* pair, alloc and free through the collective calls: every work-item of the group calls. The heap counts the NULLs. Nothing is
 * kept over a call but the block: what is costs CPU devices an array of the work-group's. */
#include "xmalloc.cl"

/* The plain calls in a kernel that does the same: pair.cl's asks first which lanes work. */
__kernel void pair_plain(__global xmcHeap *heap, uint size) {
  __global uint *p = (__global uint *)xmcMalloc(heap, size);
  if (p != 0)
    *p = (uint)get_global_id(0);
  xmcFree(heap, p);
}

__kernel void pair_workgroup(__global xmcHeap *heap, uint size) {
  __local xmcGroupScratch scratch;
  __global uint *p = (__global uint *)xmcMallocWorkGroup(heap, size, &scratch);
  if (p != 0)
    *p = (uint)get_global_id(0);
  xmcFreeWorkGroup(heap, p, &scratch);
}

__kernel void alloc_workgroup(__global xmcHeap *heap, __global ulong *refs, uint size) {
  __local xmcGroupScratch scratch;
  __global uint *p = (__global uint *)xmcMallocWorkGroup(heap, size, &scratch);
  if (p != 0)
    *p = (uint)get_global_id(0);
  refs[get_global_id(0)] = xmcToRef(heap, p);
}

__kernel void release_workgroup(__global xmcHeap *heap, __global const ulong *refs) {
  __local xmcGroupScratch scratch;
  xmcFreeWorkGroup(heap, xmcFromRef(heap, refs[get_global_id(0)]), &scratch);
}

#if XMC_HAS_SUBGROUPS
__kernel void pair_subgroup(__global xmcHeap *heap, uint size) {
  __global uint *p = (__global uint *)xmcMallocSubGroup(heap, size);
  if (p != 0)
    *p = (uint)get_global_id(0);
  xmcFreeSubGroup(heap, p);
}

__kernel void alloc_subgroup(__global xmcHeap *heap, __global ulong *refs, uint size) {
  __global uint *p = (__global uint *)xmcMallocSubGroup(heap, size);
  if (p != 0)
    *p = (uint)get_global_id(0);
  refs[get_global_id(0)] = xmcToRef(heap, p);
}

__kernel void release_subgroup(__global xmcHeap *heap, __global const ulong *refs) {
  xmcFreeSubGroup(heap, xmcFromRef(heap, refs[get_global_id(0)]));
}
#endif
