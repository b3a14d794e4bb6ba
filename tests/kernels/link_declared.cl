/* SPDX-License-Identifier: MIT */
/* An object that knows nothing of the library but these lines */
struct xmcHeap;
__global void *xmcMalloc(__global struct xmcHeap *heap, size_t size);
void xmcFree(__global struct xmcHeap *heap, __global void *ptr);

/* Work-item i: a block of n words, all of them i; its address is at[i]. */
__kernel void take(__global struct xmcHeap *heap, __global ulong *at) {
  uint id = (uint)get_global_id(0), n = 1u + id % 200u, i;
  __global uint *p = (__global uint *)xmcMalloc(heap, n * sizeof(uint));
  for (i = 0; p && i < n; i++)
    p[i] = id;
  at[id] = (ulong)p;
}

/* *right: work-items whose block is still theirs alone */
__kernel void give(__global struct xmcHeap *heap, __global const ulong *at, __global uint *right) {
  uint id = (uint)get_global_id(0), n = 1u + id % 200u, same = 0, i;
  __global uint *p = (__global uint *)(size_t)at[id];
  for (i = 0; p && i < n; i++)
    same += p[i] == id;
  if (same == n)
    atomic_inc(right);
  xmcFree(heap, p);
}
