/* SPDX-License-Identifier: MIT */
/* Callers in every shape: ND-ranges of 1 to 3 dimensions with offsets, divergent branches, loops of
 * different lengths, after an early return, one lane alone. */
#include "xmalloc.cl"

static inline uint linear_id(void) {
  size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1);
  size_t z = get_global_id(2) - get_global_offset(2);
  return (uint)((z * get_global_size(1) + y) * get_global_size(0) + x);
}

static inline void stamp(__global xmcHeap *heap, __global test_block *block, __global char *p, ulong size,
                         uint tag) {
  test_block b;
  b.size = size;
  b.tag = tag;
  b.errors = 0;
  b.address = (ulong)p;
  b.offset = p ? (ulong)(p - (__global char *)heap) : 0;
  b.ref = xmcToRef(heap, p);
  b.usable = xmcUsableSize(heap, p);
  pattern_fill(p, b.usable, tag, 0, 1);
  *block = b;
}

/* Everybody; sizes differ from item to item if vary is not 0. */
__kernel void shape_all(__global xmcHeap *heap, __global test_block *blocks, uint count, ulong size,
                        uint vary, uint tag) {
  uint id = linear_id();
  ulong mine = vary ? 1u + id * 7919u % (uint)size : size;
  if (id < count)
    stamp(heap, &blocks[id], (__global char *)xmcMalloc(heap, mine), mine, tag + id);
}

/* One lane in `every`, and those of the last group that return early are among the others */
__kernel void shape_sparse(__global xmcHeap *heap, __global test_block *blocks, uint count, uint every,
                           uint tag) {
  uint id = linear_id();
  if (id >= count || id % every != every / 2u)
    return;
  stamp(heap, &blocks[id], (__global char *)xmcMalloc(heap, 8u + id % 200u), 8u + id % 200u, tag + id);
}

/* Each item in one of seven situations, neighbours in different ones. blocks[id] held a block of an earlier
 * launch in some of them: those are freed here, while others allocate. */
__kernel void shape_divergent(__global xmcHeap *heap, __global test_block *blocks, uint count, uint tag,
                              __global uint *errors) {
  uint id = linear_id(), way = id % 7u, i, size = 0;
  __global char *p = 0;
  if (id >= count || way == 2u)
    return; /* early return of some lanes of nearly every sub-group */
  if (blocks[id].ref) {
    p = (__global char *)xmcFromRef(heap, blocks[id].ref);
    i = pattern_errors(p, blocks[id].usable, blocks[id].tag, 0, 1);
    if (i)
      atomic_add(errors, i);
    xmcFree(heap, p);
    blocks[id].ref = 0;
    blocks[id].offset = 0;
    p = 0;
  } else if (way == 0u) {
    size = 24u;
    p = (__global char *)xmcMalloc(heap, size);
  } else if (way == 1u) { /* a loop with its own number of turns; the last block stays */
    for (i = 0; i <= id % 13u; i++) {
      xmcFree(heap, p);
      size = 16u + 16u * i;
      p = (__global char *)xmcMalloc(heap, size);
      if (p)
        pattern_fill(p, size, id, 0, 1);
    }
  } else if (way < 5u) { /* nested branches */
    if (id & 8u) {
      size = id & 16u ? 40u : 4000u;
      p = (__global char *)xmcMalloc(heap, size);
    }
  } else { /* different sizes at one place, reached by different ways */
    size = way == 5u ? 100u : 1u + id % 700u;
    p = (__global char *)xmcMalloc(heap, size);
  }
  if (p)
    stamp(heap, &blocks[id], p, size, tag + id);
}

/* Each item frees the block of its place, if there is one. */
__kernel void shape_free(__global xmcHeap *heap, __global const ulong *refs, uint count) {
  uint id = linear_id();
  if (id < count && refs[id])
    xmcFree(heap, xmcFromRef(heap, refs[id]));
}
