/* SPDX-License-Identifier: MIT */
/* One kernel allocates, writes ids and stores references; another frees. Between them `check` reads the
 * ids again: a block that two work-items got shows another's. failures: NULLs, mismatches.
 */
#include "xmalloc.cl"

__kernel void alloc(__global xmcHeap *heap, __global ulong *refs, uint first, uint size,
                    __global uint *failures) {
  uint id = (uint)get_global_id(0) + first;
  __global uint *p = (__global uint *)xmcMalloc(heap, size);
  if (p == 0)
    atomic_inc(failures);
  else
    *p = id;
  refs[id] = xmcToRef(heap, p);
}

/* Sizes drawn from low to high; `seed` makes another draw. */
__kernel void alloc_mixed(__global xmcHeap *heap, __global ulong *refs, uint first, uint low, uint high,
                          uint seed, __global uint *failures) {
  uint id = (uint)get_global_id(0) + first;
  __global uint *p = (__global uint *)xmcMalloc(heap, bench_size(id + seed, low, high));
  if (p == 0)
    atomic_inc(failures);
  else
    *p = id;
  refs[id] = xmcToRef(heap, p);
}

__kernel void check(__global xmcHeap *heap, __global const ulong *refs, __global uint *failures) {
  uint id = (uint)get_global_id(0);
  __global uint *p = (__global uint *)xmcFromRef(heap, refs[id]);
  if (p != 0 && *p != id)
    atomic_inc(&failures[1]);
}

__kernel void release(__global xmcHeap *heap, __global const ulong *refs) {
  xmcFree(heap, xmcFromRef(heap, refs[get_global_id(0)]));
}

__kernel void alloc_floor(__global char *base, __global ulong *refs, uint size) {
  uint id = (uint)get_global_id(0);
  ulong at = (ulong)id * size;
  *(__global uint *)(base + at) = id;
  refs[id] = at;
}

/* The sizes are drawn here too; blocks lie `stride` apart, the mean size. */
__kernel void alloc_mixed_floor(__global char *base, __global ulong *refs, uint stride, uint low, uint high) {
  uint id = (uint)get_global_id(0);
  ulong at = (ulong)id * stride;
  *(__global uint *)(base + at) = id;
  refs[id] = at + bench_size(id, low, high);
}

__kernel void release_floor(__global const ulong *refs, __global uint *failures) {
  if (refs[get_global_id(0)] == ~(ulong)0)
    atomic_inc(failures);
}

/* 24 bytes, all of them written. */
__kernel void overlap_alloc(__global xmcHeap *heap, __global ulong *refs, __global uint *failures) {
  uint id = (uint)get_global_id(0), i;
  __global uint *p = (__global uint *)xmcMalloc(heap, BENCH_OVERLAP_WORDS * 4u);
  if (p == 0)
    atomic_inc(failures);
  else
    for (i = 0; i < BENCH_OVERLAP_WORDS; i++)
      p[i] = id;
  refs[id] = xmcToRef(heap, p);
}

__kernel void overlap_check(__global xmcHeap *heap, __global const ulong *refs, __global uint *failures) {
  uint id = (uint)get_global_id(0), i, wrong = 0;
  __global uint *p = (__global uint *)xmcFromRef(heap, refs[id]);
  if (p == 0)
    return;
  for (i = 0; i < BENCH_OVERLAP_WORDS; i++)
    wrong |= p[i] != id;
  if (wrong)
    atomic_inc(&failures[1]);
}

__kernel void overlap_floor(__global char *base, __global ulong *refs) {
  uint id = (uint)get_global_id(0), i;
  ulong at = (ulong)id * BENCH_OVERLAP_WORDS * 4u;
  __global uint *p = (__global uint *)(base + at);
  for (i = 0; i < BENCH_OVERLAP_WORDS; i++)
    p[i] = id;
  refs[id] = at;
}
