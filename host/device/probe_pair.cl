/* SPDX-License-Identifier: MIT */
/* What the host library runs once on each device to see whether malloc and free work there. It follows cl/kernels.cl, which makes
 * the heap. */
#include "kernels.cl"

/* Counts in *right the work-items whose block was still theirs when every other one of the work-group had one, too. */
__kernel void xmc_probe_pair(__global xmcHeap *heap, __global uint *right) {
  uint id = (uint)get_global_id(0);
  __global uint *block = (__global uint *)xmcMalloc(heap, 16u + id % 3u * 40u);
  if (block)
    block[0] = block[3] = id + 1u;
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (block && block[0] == id + 1u && block[3] == id + 1u)
    atomic_inc(right);
  xmcFree(heap, block);
}
