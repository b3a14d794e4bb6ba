/* SPDX-License-Identifier: MIT */
/* The other calls: calloc, realloc, aligned allocation, usable size, references, requests that fail. */
#include "xmalloc.cl"

static inline test_block describe(__global xmcHeap *heap, __global char *p, ulong size, uint tag) {
  test_block b;
  b.size = size;
  b.tag = tag;
  b.errors = 0;
  b.address = (ulong)p;
  b.offset = p ? (ulong)(p - (__global char *)heap) : 0;
  b.ref = xmcToRef(heap, p);
  b.usable = xmcUsableSize(heap, p);
  return b;
}

/* errors counts the bytes that are not zero. */
__kernel void calls_calloc(__global xmcHeap *heap, __global const ulong *counts, __global const ulong *sizes,
                           __global test_block *blocks, uint count, uint tag) {
  uint i = (uint)get_global_id(0);
  if (i < count) {
    __global char *p = (__global char *)xmcCalloc(heap, (size_t)counts[i], (size_t)sizes[i]);
    test_block b = describe(heap, p, counts[i] * sizes[i], tag + i);
    ulong k;
    if (p) {
      for (k = 0; k < b.size; k++)
        b.errors += p[k] != 0;
      pattern_fill(p, b.usable, b.tag, 0, 1);
    }
    blocks[i] = b;
  }
}

/* Blocks change their size; errors counts the bytes of the old contents that are gone. A request that fails
 * must leave the old block and its contents: got[i] tells whether it did succeed. */
__kernel void calls_realloc(__global xmcHeap *heap, __global test_block *blocks, __global const ulong *sizes,
                            __global uint *got, uint count, uint tag) {
  uint i = (uint)get_global_id(0);
  if (i < count) {
    test_block old = blocks[i], b;
    __global char *p = (__global char *)xmcFromRef(heap, old.ref);
    __global char *q = (__global char *)xmcRealloc(heap, p, (size_t)sizes[i]);
    ulong kept = old.size < sizes[i] ? old.size : sizes[i];
    got[i] = q != 0;
    if (q) {
      b = describe(heap, q, sizes[i], tag + i);
      b.errors = old.ref ? pattern_errors(q, kept & ~(ulong)3, old.tag, 0, 1) : 0;
      pattern_fill(q, b.usable, b.tag, 0, 1);
    } else {
      b = old;
      if (p)
        b.errors = pattern_errors(p, old.usable, old.tag, 0, 1);
    }
    blocks[i] = b;
  }
}

/* address in the record is taken relative to the alignment by the host */
__kernel void calls_aligned(__global xmcHeap *heap, __global const ulong *alignments,
                            __global const ulong *sizes, __global test_block *blocks, uint count, uint tag) {
  uint i = (uint)get_global_id(0);
  if (i < count) {
    __global char *p = (__global char *)xmcAlignedAlloc(heap, (size_t)alignments[i], (size_t)sizes[i]);
    test_block b = describe(heap, p, sizes[i], tag + i);
    if (p)
      pattern_fill(p, b.usable, b.tag, 0, 1);
    blocks[i] = b;
  }
}

/* There and back: 0 where reference and pointer agree. */
__kernel void calls_references(__global xmcHeap *heap, __global const test_block *blocks,
                               __global uint *errors, uint count) {
  uint i = (uint)get_global_id(0);
  if (i < count) {
    __global char *p = (__global char *)heap + blocks[i].offset;
    if (xmcFromRef(heap, blocks[i].ref) != p || xmcToRef(heap, p) != blocks[i].ref ||
        (ulong)p != blocks[i].address || xmcUsableSize(heap, p) != blocks[i].usable)
      atomic_inc(errors);
    if (i == 0 && (xmcToRef(heap, 0) != 0 || xmcFromRef(heap, 0) != 0 || xmcUsableSize(heap, 0) != 0))
      atomic_inc(errors);
  }
}
