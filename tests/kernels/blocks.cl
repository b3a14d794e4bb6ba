/* SPDX-License-Identifier: MIT */
/* Blocks with owners: allocate and stamp, check, free in another order.
 *
 * Every block is filled over its whole usable size with a pattern made of its owner's tag, so that any
 * two blocks that share a byte, and any byte the allocator writes into a block, are found.
 */
#include "xmalloc.cl"

/* Work-item i allocates sizes[i] bytes. Blocks of at most fill_limit bytes are filled here. */
__kernel void blocks_malloc(__global xmcHeap *heap, __global const ulong *sizes, __global test_block *blocks,
                            uint count, uint tag, ulong fill_limit) {
  uint i = (uint)get_global_id(0);
  if (i < count) {
    test_block b;
    __global char *p = (__global char *)xmcMalloc(heap, (size_t)sizes[i]);
    b.size = sizes[i];
    b.tag = tag + i;
    b.errors = 0;
    b.address = (ulong)p;
    b.offset = p ? (ulong)(p - (__global char *)heap) : 0;
    b.ref = xmcToRef(heap, p);
    b.usable = xmcUsableSize(heap, p);
    if (p && b.usable <= fill_limit)
      pattern_fill(p, b.usable, b.tag, 0, 1);
    blocks[i] = b;
  }
}

/* A work-group a block, for those larger than fill_limit */
__kernel void blocks_fill_large(__global xmcHeap *heap, __global const test_block *blocks, uint count,
                                ulong fill_limit) {
  uint i = (uint)get_group_id(0);
  if (i < count && blocks[i].ref && blocks[i].usable > fill_limit)
    pattern_fill((__global char *)xmcFromRef(heap, blocks[i].ref), blocks[i].usable, blocks[i].tag,
                 (uint)get_local_id(0), (uint)get_local_size(0));
}

/* Counts wrong words in blocks[i].errors. The block is found by its reference. */
__kernel void blocks_check(__global xmcHeap *heap, __global test_block *blocks, uint count,
                           ulong fill_limit) {
  uint i = (uint)get_global_id(0);
  if (i < count && blocks[i].ref && blocks[i].usable <= fill_limit)
    blocks[i].errors += pattern_errors((__global char *)xmcFromRef(heap, blocks[i].ref), blocks[i].usable,
                                       blocks[i].tag, 0, 1);
}

__kernel void blocks_check_large(__global xmcHeap *heap, __global test_block *blocks, uint count,
                                 ulong fill_limit) {
  uint i = (uint)get_group_id(0);
  if (i < count && blocks[i].ref && blocks[i].usable > fill_limit) {
    uint errors = pattern_errors((__global char *)xmcFromRef(heap, blocks[i].ref), blocks[i].usable,
                                 blocks[i].tag, (uint)get_local_id(0), (uint)get_local_size(0));
    if (errors)
      atomic_add(&blocks[i].errors, errors);
  }
}

/* Work-item i frees block (mul i + add) mod count, if keep does not spare it: blocks with index % keep == 0
 * stay; keep 0 frees all. */
__kernel void blocks_free(__global xmcHeap *heap, __global test_block *blocks, uint count, uint mul, uint add,
                          uint keep) {
  uint i = (uint)get_global_id(0);
  if (i < count) {
    uint j = (uint)(((ulong)i * mul + add) % count);
    if (keep == 0 || j % keep != 0) {
      xmcFree(heap, xmcFromRef(heap, blocks[j].ref));
      blocks[j].ref = 0;
      blocks[j].offset = 0;
    }
  }
}
