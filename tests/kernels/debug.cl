/* SPDX-License-Identifier: MIT */
/* Debug heaps: every kernel is one work-item's; bytes are seen past the end of a block on purpose. */
#include "xmalloc.cl"

#line 100
__kernel void debug_malloc(__global xmcHeap *heap, ulong size, __global ulong *ref) {
  *ref = xmcToRef(heap, xmcMalloc(heap, (size_t)size));
}

__kernel void debug_more(__global xmcHeap *heap, ulong size, ulong alignment, __global ulong *ref) {
  ref[0] = xmcToRef(heap, xmcCalloc(heap, (size_t)size, 1));
#line 200
  ref[1] = xmcToRef(heap, xmcAlignedAlloc(heap, (size_t)alignment, (size_t)size));
  ref[2] = xmcToRef(heap, xmcRealloc(heap, xmcMalloc(heap, 40), (size_t)size));
}

__kernel void debug_usable(__global xmcHeap *heap, ulong ref, __global ulong *usable) {
  *usable = xmcUsableSize(heap, xmcFromRef(heap, ref));
}

__kernel void debug_free(__global xmcHeap *heap, ulong ref) { xmcFree(heap, xmcFromRef(heap, ref)); }

__kernel void debug_realloc(__global xmcHeap *heap, ulong size, __global ulong *ref) {
  *ref = xmcToRef(heap, xmcRealloc(heap, xmcFromRef(heap, *ref), (size_t)size));
}

__kernel void debug_poke(__global xmcHeap *heap, ulong at, uint byte) {
  ((__global uchar *)heap)[at] = (uchar)byte;
}

/* Many at once, in groups: each writes all of its block and checks it. */
__kernel void debug_churn(__global xmcHeap *heap, uint rounds, __global uint *errors) {
  uint i = (uint)get_global_id(0), r, k;
  __local xmcGroupScratch scratch;
  for (r = 0; r < rounds; r++) {
    size_t size = 1u + (i * 37u + r * 101u) % 3000u;
    __global uchar *p = (__global uchar *)xmcMallocWorkGroup(heap, size, &scratch);
    if (p) {
      for (k = 0; k < size; k++)
        p[k] = (uchar)(i + k);
      p = (__global uchar *)xmcRealloc(heap, p, size + r % 200u);
    }
    for (k = 0; p && k < size; k++)
      if (p[k] != (uchar)(i + k))
        atomic_inc(errors);
    xmcFreeWorkGroup(heap, p, &scratch);
  }
}

/* One block each, until the heap is full; and all of them back. */
__kernel void debug_fill(__global xmcHeap *heap, ulong size, __global ulong *refs) {
  refs[get_global_id(0)] = xmcToRef(heap, xmcMalloc(heap, (size_t)size));
}

__kernel void debug_empty(__global xmcHeap *heap, __global ulong *refs) {
  xmcFree(heap, xmcFromRef(heap, refs[get_global_id(0)]));
}
