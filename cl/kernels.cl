/* SPDX-License-Identifier: MIT */
/* Kernels that the host library runs to make a heap empty: first xmc_init, then xmc_init_done. */
#include "xmalloc.cl"
#include "superblocks/init.cl"

__kernel void xmc_init(__global xmcHeap *heap) {
  xmc_init_part(heap, (xmc_u32)get_global_id(0), (xmc_u32)get_global_size(0));
}

__kernel void xmc_init_done(__global xmcHeap *heap) { xmc_init_open(heap); }
