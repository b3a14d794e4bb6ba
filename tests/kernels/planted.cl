/* SPDX-License-Identifier: MIT */
/* A mistake for the tools to find: work-item 0 writes beyond the end of the arena. */
#include "xmalloc.cl"

__kernel void planted(__global xmcHeap *heap, ulong bytes) {
  __global uint *p = (__global uint *)xmcMalloc(heap, 64);
  if (p && get_global_id(0) == 0)
    p[bytes / 4] = 1; /* p lies inside the arena: this does not */
  xmcFree(heap, p);
}
