/* SPDX-License-Identifier: MIT */
/* Frees of pointers by their offsets from the heap, whatever they are; requests of sizes by a list. */
#include "xmalloc.cl"

__kernel void bad_malloc(__global xmcHeap *heap, __global const ulong *sizes, __global ulong *refs,
                         uint count) {
  uint i = (uint)get_global_id(0);
  if (i < count)
    refs[i] = xmcToRef(heap, xmcMalloc(heap, (size_t)sizes[i]));
}

/* `times` work-items free each: those of offset i are i, i + count, … */
__kernel void bad_free(__global xmcHeap *heap, __global const ulong *offsets, uint count, uint times) {
  uint i = (uint)get_global_id(0);
  if (i < count * times)
    xmcFree(heap, (__global char *)heap + offsets[i % count]);
}

/* Blocks of another heap */
__kernel void bad_free_of_other(__global xmcHeap *heap, __global xmcHeap *other, __global const ulong *refs,
                                uint count) {
  uint i = (uint)get_global_id(0);
  if (i < count)
    xmcFree(heap, xmcFromRef(other, refs[i]));
}

/* The work-group calls, each item with a size and with a pointer by its offset */
__kernel void bad_group(__global xmcHeap *heap, __global const ulong *sizes, __global const ulong *offsets,
                        __global ulong *refs) {
  __local xmcGroupScratch scratch;
  uint i = (uint)get_global_id(0);
  refs[i] = xmcToRef(heap, xmcMallocWorkGroup(heap, (size_t)sizes[i], &scratch));
  xmcFreeWorkGroup(heap, (__global char *)heap + offsets[i], &scratch);
}

/* Bad calls of every kind; results: how many returned what they should not */
__kernel void bad_calls(__global xmcHeap *heap, __global const ulong *offsets, uint count,
                        __global uint *wrong) {
  uint i = (uint)get_global_id(0);
  size_t huge = ~(size_t)0;
  if (i < count) {
    __global char *p = (__global char *)heap + offsets[i];
    if (xmcUsableSize(heap, p) != 0 || xmcRealloc(heap, p, 64) != 0)
      atomic_inc(wrong);
    if (xmcMalloc(heap, huge - i) || xmcCalloc(heap, huge / 2u, 3u) || xmcCalloc(heap, 3u, huge / 2u) ||
        xmcAlignedAlloc(heap, 48u, 8u) || xmcAlignedAlloc(heap, huge / 2u + 1u, 8u) ||
        xmcAlignedAlloc(heap, 0, 8u) || xmcMalloc(heap, 0) || xmcCalloc(heap, 0, 5u))
      atomic_inc(wrong);
  }
}
