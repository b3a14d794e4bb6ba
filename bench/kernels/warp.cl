/* SPDX-License-Identifier: MIT */
/* One work-item of 32 neighbours allocates, as where a sub-group shares a buffer. alloc.cl checks. */
#include "xmalloc.cl"

__kernel void warp_alloc(__global xmcHeap *heap, __global ulong *refs, uint size, __global uint *failures) {
  uint id = (uint)get_global_id(0) / 32u;
  __global uint *p;
  if (get_global_id(0) % 32u != 0)
    return;
  p = (__global uint *)xmcMalloc(heap, size);
  if (p == 0)
    atomic_inc(failures);
  else
    *p = id;
  refs[id] = xmcToRef(heap, p);
}

__kernel void warp_release(__global xmcHeap *heap, __global const ulong *refs) {
  if (get_global_id(0) % 32u == 0)
    xmcFree(heap, xmcFromRef(heap, refs[get_global_id(0) / 32u]));
}
