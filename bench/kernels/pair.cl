/* SPDX-License-Identifier: MIT */
/* Each work-item: p = malloc(size), write the id to p, free(p).
 *
 * Of every 32 neighbours the first `lanes` work, so that sub-groups come with 1 to 32 active lanes. The
 * floor writes to an address that takes no allocator.
 * failures: NULLs, mismatches.
 */
#include "xmalloc.cl"

__kernel void pair(__global xmcHeap *heap, uint size, uint lanes, __global uint *failures) {
  uint id = (uint)get_global_id(0);
  __global uint *p;
  if ((id & 31u) >= lanes)
    return;
  p = (__global uint *)xmcMalloc(heap, size);
  if (p == 0) {
    atomic_inc(failures);
  } else {
    *p = id;
    xmcFree(heap, p);
  }
}

/* The same with both ends of the block written and read again: not timed. */
__kernel void pair_check(__global xmcHeap *heap, uint size, uint lanes, __global uint *failures) {
  uint id = (uint)get_global_id(0), last = size / 4u - 1u, round;
  volatile __global uint *p;
  if ((id & 31u) >= lanes)
    return;
  p = (volatile __global uint *)xmcMalloc(heap, size);
  if (p == 0) {
    atomic_inc(failures);
    return;
  }
  for (round = 0; round < 4u; round++) {
    p[0] = id + round;
    p[last] = id + round;
    if (p[0] != id + round || p[last] != id + round)
      atomic_inc(&failures[1]);
  }
  xmcFree(heap, (__global void *)p);
}

/* Workers share `mask` + 1 blocks in turn, as they would with an allocator; 1 << shift neighbours have one. */
__kernel void pair_floor(__global char *base, uint stride, uint lanes, uint shift, uint mask) {
  uint id = (uint)get_global_id(0), worker;
  if ((id & 31u) >= lanes)
    return;
  worker = (id >> 5) * lanes + (id & 31u);
  *(volatile __global uint *)(base + (size_t)(worker >> shift & mask) * stride) = id;
}

/* `rounds` pairs one after the other in each work-item. */
__kernel void pair_loop(__global xmcHeap *heap, uint size, uint rounds, __global uint *failures) {
  uint id = (uint)get_global_id(0), i;
  for (i = 0; i < rounds; i++) {
    __global uint *p = (__global uint *)xmcMalloc(heap, size);
    if (p == 0) {
      atomic_inc(failures);
    } else {
      *p = id;
      xmcFree(heap, p);
    }
  }
}

__kernel void pair_loop_floor(__global char *base, uint size, uint rounds, uint mask) {
  uint id = (uint)get_global_id(0), i;
  for (i = 0; i < rounds; i++)
    *(volatile __global uint *)(base + (size_t)(id & mask) * size) = id;
}

/* One work-item's mallocs in one kernel, its frees in another. */
__kernel void latency_malloc(__global xmcHeap *heap, __global ulong *refs, uint size, uint count,
                             __global uint *failures) {
  uint i;
  for (i = 0; i < count; i++) {
    __global uchar *p = (__global uchar *)xmcMalloc(heap, size);
    if (p == 0)
      atomic_inc(failures);
    else
      *p = (uchar)i;
    refs[i] = xmcToRef(heap, p);
  }
}

__kernel void latency_free(__global xmcHeap *heap, __global ulong *refs, uint count) {
  uint i;
  for (i = 0; i < count; i++)
    xmcFree(heap, xmcFromRef(heap, refs[i]));
}

__kernel void latency_malloc_floor(__global uchar *base, __global ulong *refs, uint size, uint count) {
  uint i;
  for (i = 0; i < count; i++) {
    base[(size_t)i * size] = (uchar)i;
    refs[i] = (ulong)i * size;
  }
}

__kernel void latency_free_floor(__global ulong *refs, uint count, __global uint *failures) {
  uint i;
  for (i = 0; i < count; i++)
    if (refs[i] == ~(ulong)0)
      atomic_inc(failures);
}
