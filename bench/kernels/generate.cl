/* SPDX-License-Identifier: MIT */
/* Each work-item wants a buffer of a size that it draws, and writes its id to the first and the last word of it.
 *
 *   make, drop                 xmcMalloc and xmcFree
 *   make_group, drop_group     the work-group calls
 *   region_…                   requests of one region, which is reset afterwards
 *   count, scan, fill          two passes: sizes are counted and summed up, then everything is filled
 *   bump, bump_group           one atomic on a pointer for each work-item; for each work-group, which sums up its sizes
 *
 * The last two are what a program without an allocator does. Their buffers start at multiples of 16 bytes, too.
 * refs gets references, or offsets from `base`. failures: NULLs, mismatches.
 */
#include "xmalloc.cl"
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

#define GROUP BENCH_LOCAL_SIZE

/* Launches are of whole work-groups: the work-items from `items` on want nothing. */
static uint wanted(uint id, uint items, uint seed, uint low, uint high) {
  return id < items ? bench_wanted(id, seed, low, high) : 0;
}
static uint padded(uint bytes) { return (bytes + 15u) & ~15u; }

static void mark(__global uint *p, uint id, uint bytes) {
  if (bytes) {
    p[0] = id;
    p[bytes / 4u - 1u] = id;
  }
}

/* Marks a block that may be NULL. */
static xmcRef mark_block(__global xmcHeap *heap, __global uint *p, uint id, uint bytes,
                         __global uint *failures) {
  if (p != 0)
    mark(p, id, bytes);
  else if (bytes)
    atomic_inc(failures);
  return xmcToRef(heap, p);
}

__kernel void make(__global xmcHeap *heap, __global ulong *refs, uint items, uint seed, uint low, uint high,
                   __global uint *failures) {
  uint id = (uint)get_global_id(0), bytes = wanted(id, items, seed, low, high);
  refs[id] = bytes ? mark_block(heap, (__global uint *)xmcMalloc(heap, bytes), id, bytes, failures) : 0;
}

__kernel void drop(__global xmcHeap *heap, __global const ulong *refs) {
  xmcFree(heap, xmcFromRef(heap, refs[get_global_id(0)]));
}

/* Nothing but the block is kept over the call: what is kept costs CPU devices an array of the work-group's. */
__kernel void make_group(__global xmcHeap *heap, __global ulong *refs, uint items, uint seed, uint low,
                         uint high, __global uint *failures) {
  __local xmcGroupScratch scratch;
  __global uint *p = (__global uint *)xmcMallocWorkGroup(
      heap, wanted((uint)get_global_id(0), items, seed, low, high), &scratch);
  uint id = (uint)get_global_id(0);
  refs[id] = mark_block(heap, p, id, wanted(id, items, seed, low, high), failures);
}

__kernel void drop_group(__global xmcHeap *heap, __global const ulong *refs) {
  __local xmcGroupScratch scratch;
  xmcFreeWorkGroup(heap, xmcFromRef(heap, refs[get_global_id(0)]), &scratch);
}

/* ---- one region, which *region names ---- */

__kernel void region_create(__global xmcHeap *heap, __global ulong *region, __global uint *failures) {
  *region = xmcRegionCreate(heap);
  if (*region == 0)
    atomic_inc(failures);
}

__kernel void region_make(__global xmcHeap *heap, __global const ulong *region, __global ulong *refs,
                          uint items, uint seed, uint low, uint high, __global uint *failures) {
  uint id = (uint)get_global_id(0), bytes = wanted(id, items, seed, low, high);
  refs[id] =
      bytes ? mark_block(heap, (__global uint *)xmcRegionMalloc(heap, *region, bytes), id, bytes, failures)
            : 0;
}

__kernel void region_make_group(__global xmcHeap *heap, __global const ulong *region, __global ulong *refs,
                                uint items, uint seed, uint low, uint high, __global uint *failures) {
  __local xmcRegionScratch scratch;
  __global uint *p;
  uint id;
  xmcRegionOpenWorkGroup(&scratch);
  p = (__global uint *)xmcRegionMallocWorkGroup(
      heap, *region, wanted((uint)get_global_id(0), items, seed, low, high), &scratch);
  id = (uint)get_global_id(0);
  refs[id] = mark_block(heap, p, id, wanted(id, items, seed, low, high), failures);
}

/* By one work-group */
__kernel void region_reset(__global xmcHeap *heap, __global const ulong *region) {
  __local xmcRegionScratch scratch;
  xmcRegionResetWorkGroup(heap, *region, &scratch);
}
/* By one work-item */
__kernel void region_free(__global xmcHeap *heap, __global const ulong *region) {
  xmcRegionFree(heap, *region);
}

/* ---- without an allocator ---- */

/* The sum of `mine` over the work-items before this one; *total gets the sum over all. If `next` is not NULL one
 * work-item adds the sum to it, and *start gets what was there. Where work-items run side by side that takes log2 steps
 * with a barrier each, in two halves of `sums` in turn. On CPU devices the first work-item adds up alone, since there
 * a barrier costs a loop over all of them. */
static uint sum_before(uint mine, __local uint *sums, uint *total, __global ulong *next,
                       __local ulong *start) {
  uint me = (uint)get_local_id(0), size = (uint)get_local_size(0), before;
#if XMC_SIMT
  uint step, from = 0;
  sums[me] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (step = 1; step < size; step *= 2u, from ^= GROUP) {
    sums[(from ^ GROUP) + me] = sums[from + me] + (me >= step ? sums[from + me - step] : 0u);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  before = sums[from + me] - mine;
  *total = sums[from + size - 1u];
  if (next != 0) {
    if (me == 0)
      *start = atom_add(next, (ulong)*total);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#else
  uint i, sum = 0;
  sums[me] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (me == 0) {
    for (i = 0; i < size; i++) {
      uint size_here = sums[i];
      sums[i] = sum;
      sum += size_here;
    }
    sums[GROUP] = sum;
    if (next != 0)
      *start = atom_add(next, (ulong)sum);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  before = sums[me];
  *total = sums[GROUP];
#endif
  return before;
}

/* First pass: 256 work-items count the sizes of 1,024, four each, and sum them up. offsets: from the start of the
 * group's share; shares: of each group. A group that is the only one needs no second scan. */
__kernel void count(__global uint *offsets, __global ulong *shares, __global ulong *total, uint items,
                    uint seed, uint low, uint high) {
  __local uint sums[2u * GROUP];
  uint at = (uint)get_global_id(0) * 4u, all, before, i;
  uint size[4];
  for (i = 0; i < 4u; i++)
    size[i] = padded(wanted(at + i, items, seed, low, high));
  before = sum_before(size[0] + size[1] + size[2] + size[3], sums, &all, 0, 0);
  vstore4((uint4)(before, before + size[0], before + size[0] + size[1], before + size[0] + size[1] + size[2]),
          0, offsets + at);
  if (get_local_id(0) == 0) {
    int alone = get_num_groups(0) == 1;
    shares[get_group_id(0)] = alone ? 0 : all;
    if (alone)
      *total = all;
  }
}

/* Where each group's share starts, by one work-group. The shares are in 16 bytes, so that sums fit 32 bits. */
__kernel void scan(__global ulong *shares, __global ulong *total, uint groups) {
  __local uint sums[2u * GROUP];
  uint each = (groups + GROUP - 1u) / GROUP, first = (uint)get_local_id(0) * each;
  uint end = min(first + each, groups), i, mine = 0, all, before;
  for (i = first; i < end; i++)
    mine += (uint)(shares[i] >> 4);
  before = sum_before(mine, sums, &all, 0, 0);
  for (i = first; i < end; i++) {
    uint share = (uint)(shares[i] >> 4);
    shares[i] = (ulong)before << 4;
    before += share;
  }
  if (get_local_id(0) == 0)
    *total = (ulong)all << 4;
}

/* Second pass. */
__kernel void fill(__global const uint *offsets, __global const ulong *shares, __global uchar *base,
                   __global ulong *refs, uint items, uint seed, uint low, uint high) {
  uint id = (uint)get_global_id(0), bytes = wanted(id, items, seed, low, high);
  ulong at = shares[id / (4u * GROUP)] + offsets[id];
  mark((__global uint *)(base + at), id, bytes);
  refs[id] = at;
}

/* What does not fit gets ~0. */
static ulong mark_bump(__global uchar *base, ulong room, ulong at, uint id, uint bytes,
                       __global uint *failures) {
  if (at + bytes > room) {
    atomic_inc(failures);
    return ~(ulong)0;
  }
  mark((__global uint *)(base + at), id, bytes);
  return at;
}

__kernel void bump(__global ulong *next, __global uchar *base, ulong room, __global ulong *refs, uint items,
                   uint seed, uint low, uint high, __global uint *failures) {
  uint id = (uint)get_global_id(0), bytes = wanted(id, items, seed, low, high);
  if (bytes == 0)
    return;
  refs[id] = mark_bump(base, room, atom_add(next, (ulong)padded(bytes)), id, bytes, failures);
}

__kernel void bump_group(__global ulong *next, __global uchar *base, ulong room, __global ulong *refs,
                         uint items, uint seed, uint low, uint high, __global uint *failures) {
  __local uint sums[2u * GROUP];
  __local ulong start;
  uint id = (uint)get_global_id(0), all;
  uint before = sum_before(padded(wanted(id, items, seed, low, high)), sums, &all, next, &start);
  refs[id] = mark_bump(base, room, start + before, id, wanted(id, items, seed, low, high), failures);
}

/* ---- checks, not timed ---- */

/* blocks: 1 if refs are references to blocks of the heap, 0 if they are offsets from base. */
static __global uint *block_of(__global xmcHeap *heap, __global uchar *base, uint blocks, ulong ref) {
  if (blocks)
    return (__global uint *)xmcFromRef(heap, ref);
  return ref == ~(ulong)0 ? 0 : (__global uint *)(base + ref);
}

/* Looks at the marks, then fills the whole buffer with the complement of the id: two buffers that overlap show when
 * check_whole reads them. */
__kernel void check_marks(__global xmcHeap *heap, __global uchar *base, uint blocks,
                          __global const ulong *refs, uint items, uint seed, uint low, uint high,
                          __global uint *failures) {
  uint id = (uint)get_global_id(0), bytes = wanted(id, items, seed, low, high), i;
  __global uint *p = block_of(heap, base, blocks, refs[id]);
  if (p == 0 || bytes == 0)
    return;
  if (p[0] != id || p[bytes / 4u - 1u] != id || refs[id] % 16u != 0)
    atomic_inc(&failures[1]);
  for (i = 0; i < bytes / 4u; i++)
    p[i] = ~id;
}

__kernel void check_whole(__global xmcHeap *heap, __global uchar *base, uint blocks,
                          __global const ulong *refs, uint items, uint seed, uint low, uint high,
                          __global uint *failures) {
  uint id = (uint)get_global_id(0), words = wanted(id, items, seed, low, high) / 4u, i, wrong = 0;
  __global uint *p = block_of(heap, base, blocks, refs[id]);
  for (i = 0; p != 0 && i < words; i++)
    wrong |= p[i] != ~id;
  if (wrong)
    atomic_inc(&failures[1]);
}
