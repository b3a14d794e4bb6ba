/* SPDX-License-Identifier: MIT */
/* What the places of blocks cost who writes to them, and how much room they span. alloc.cl allocates, checks and frees. */
#include "xmalloc.cl"

/* The bytes that each block takes: its size class. */
__kernel void usable(__global xmcHeap *heap, __global const ulong *refs, __global uint *bytes) {
  uint id = (uint)get_global_id(0);
  bytes[id] = (uint)xmcUsableSize(heap, xmcFromRef(heap, refs[id]));
}

/* One word through each reference. */
__kernel void write_blocks(__global xmcHeap *heap, __global const ulong *refs) {
  uint id = (uint)get_global_id(0);
  __global uint *p = (__global uint *)xmcFromRef(heap, refs[id]);
  if (p != 0)
    *p = id;
}

/* The same where buffers of the same sizes lie end to end, at `places`. */
__kernel void write_packed(__global uchar *base, __global const ulong *places) {
  uint id = (uint)get_global_id(0);
  if (places[id] != ~(ulong)0)
    *(__global uint *)(base + places[id]) = id;
}

__kernel void check_packed(__global uchar *base, __global const ulong *places, __global uint *failures) {
  uint id = (uint)get_global_id(0);
  if (*(__global uint *)(base + places[id]) != id)
    atomic_inc(&failures[1]);
}
