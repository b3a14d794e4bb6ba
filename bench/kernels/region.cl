/* SPDX-License-Identifier: MIT */
/* One region, which the last element of `refs` names. As alloc.cl: ids are written, and read again by its `check`. */
#include "xmalloc.cl"

__kernel void region_create(__global xmcHeap *heap, __global ulong *refs, uint count,
                            __global uint *failures) {
  refs[count] = xmcRegionCreate(heap);
  if (refs[count] == 0)
    atomic_inc(failures);
}

__kernel void region_alloc(__global xmcHeap *heap, __global ulong *refs, uint count, uint size,
                           __global uint *failures) {
  uint id = (uint)get_global_id(0);
  __global uint *p = (__global uint *)xmcRegionMalloc(heap, refs[count], size);
  if (p == 0)
    atomic_inc(failures);
  else
    *p = id;
  refs[id] = xmcToRef(heap, p);
}

__kernel void region_alloc_group(__global xmcHeap *heap, __global ulong *refs, uint count, uint size,
                                 __global uint *failures) {
  __local xmcRegionScratch scratch;
  uint id = (uint)get_global_id(0);
  __global uint *p;
  xmcRegionOpenWorkGroup(&scratch);
  p = (__global uint *)xmcRegionMallocWorkGroup(heap, refs[count], size, &scratch);
  if (p == 0)
    atomic_inc(failures);
  else
    *p = id;
  refs[id] = xmcToRef(heap, p);
}

/* By one work-group */
__kernel void region_reset(__global xmcHeap *heap, __global const ulong *refs, uint count) {
  __local xmcRegionScratch scratch;
  xmcRegionResetWorkGroup(heap, refs[count], &scratch);
}

/* By one work-item */
__kernel void region_free(__global xmcHeap *heap, __global const ulong *refs, uint count) {
  xmcRegionFree(heap, refs[count]);
}

/* By one work-group */
__kernel void region_free_group(__global xmcHeap *heap, __global const ulong *refs, uint count) {
  __local xmcRegionScratch scratch;
  xmcRegionFreeWorkGroup(heap, refs[count], &scratch);
}
