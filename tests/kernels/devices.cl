/* SPDX-License-Identifier: MIT */
/* What each device, or part of one, does on a heap */
#include "xmalloc.cl"

/* Work-item i takes a block that says so, and leaves its reference at refs[i]. */
__kernel void take(__global xmcHeap *heap, __global ulong *refs) {
  uint i = (uint)get_global_id(0);
  __global uint *block = (__global uint *)xmcMalloc(heap, 4u + i % 200u * 4u);
  if (block)
    *block = i;
  refs[i] = xmcToRef(heap, block);
}

/* … and gives it back; wrong[0] counts those that are missing or say something else. */
__kernel void give(__global xmcHeap *heap, __global ulong *refs, __global uint *wrong) {
  uint i = (uint)get_global_id(0);
  __global uint *block = (__global uint *)xmcFromRef(heap, refs[i]);
  if (!block || *block != i)
    atomic_inc(wrong);
  xmcFree(heap, block);
}

/* Takes and gives back, again and again; `who` tells the writers apart. */
__kernel void churn(__global xmcHeap *heap, uint who, uint rounds, __global uint *wrong) {
  uint i = (uint)get_global_id(0), round, mark;
  for (round = 0; round < rounds; round++) {
    uint words = 1u + (i * 7u + round) % 100u;
    __global uint *block = (__global uint *)xmcMalloc(heap, words * 4u);
    mark = who << 24 ^ i << 8 ^ round;
    if (block) {
      block[0] = mark;
      block[words - 1u] = mark;
    }
    if (!block || block[0] != mark || block[words - 1u] != mark)
      atomic_inc(wrong);
    xmcFree(heap, block);
  }
}
