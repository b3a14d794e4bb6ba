/* SPDX-License-Identifier: MIT */
/* Collective calls: every work-item calls in every round; what each wants depends on `mode`.
 *
 *   mode 0  all `base` bytes            mode 2  sizes of many classes, some above 8 KiB
 *   mode 1  every third wants nothing   mode 3  one item alone wants something
 *
 * Blocks of all rounds but the last are checked and freed in their round: collectively, one by one, or
 * the even items' collectively and the odd ones' by xmcFree (free_mode 0, 1, 2).
 */
#include "xmalloc.cl"

static inline ulong collective_size(uint mode, ulong base, uint id, uint round) {
  uint h = (id * 2654435769u + round) * 0x85ebca6bu;
  if (mode == 0u)
    return base;
  if (mode == 1u)
    return (id + round) % 3u == 0 ? 0 : base;
  if (mode == 2u)
    return h % 61u == 0 ? 9000u + h % 30000u : 1u + (h >> 8) % (16u << h % 8u);
  return id % 37u == round % 37u ? base : 0;
}

static inline void collective_record(__global xmcHeap *heap, __global test_block *block, __global char *p,
                                     ulong size, uint tag, uint errors) {
  test_block b;
  b.size = size;
  b.tag = tag;
  b.errors = errors;
  b.address = (ulong)p;
  b.offset = p ? (ulong)(p - (__global char *)heap) : 0;
  b.ref = xmcToRef(heap, p);
  b.usable = size;
  *block = b;
}

#define COLLECTIVE(name, scratch, malloc_call, free_call) \
  __kernel void name(__global xmcHeap *heap, __global test_block *blocks, uint mode, ulong base, \
                     uint rounds, uint free_mode, uint tag) { \
    uint id = (uint)get_global_id(0), round, errors = 0; \
    scratch; \
    for (round = 0; round < rounds; round++) { \
      ulong size = collective_size(mode, base, id, round); \
      __global char *p = (__global char *)malloc_call; \
      if (p) \
        pattern_fill(p, size, tag + id, 0, 1); \
      errors += (p != 0) != (size != 0); \
      if (round + 1u == rounds) { \
        collective_record(heap, &blocks[id], p, size, tag + id, errors); \
      } else { \
        __global char *mine = free_mode == 0 || (free_mode == 2u && id % 2u == 0) ? p : 0; \
        if (p) \
          errors += pattern_errors(p, size, tag + id, 0, 1); \
        if (p && !mine) \
          xmcFree(heap, p); \
        free_call; \
      } \
    } \
  }

COLLECTIVE(collective_group, __local xmcGroupScratch scratch,
           xmcMallocWorkGroup(heap, (size_t)size, &scratch), xmcFreeWorkGroup(heap, mine, &scratch))

#if XMC_HAS_SUBGROUPS
COLLECTIVE(collective_sub_group, (void)0, xmcMallocSubGroup(heap, (size_t)size), xmcFreeSubGroup(heap, mine))
#endif

/* One work-group: blocks for all, then one free call with pointers of which some are bad.
 *   what 0  each its own, twice          2  all the first one's
 *        1  every other one's inside     3  each the address where the next block would begin
 *                                        4  every other one's by two of them
 *                                        5  the sixth one's once more, by the seventh one; *twice refers to it
 *                                        6  the same by the 33rd one
 *
 * size 0: of five classes in turn, so that neighbours lie in different Superblocks.
 */
__kernel void collective_bad(__global xmcHeap *heap, ulong size, uint what, __global ulong *twice) {
  __local xmcGroupScratch scratch;
  __local ulong all[256]; /* those of the test are no larger */
  uint item = (uint)get_local_id(0);
  __global char *p = (__global char *)xmcMallocWorkGroup(heap, (size_t)(size ? size : 16u << item % 5u),
                                                         &scratch),
                *bad = p;
  all[item] = (ulong)p;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (what == 1u && item % 2u)
    bad = p + 8;
  if (what == 2u)
    bad = (__global char *)all[0];
  if (what == 3u)
    bad = p + xmcUsableSize(heap, p);
  if (what == 4u)
    bad = (__global char *)all[item & ~1u];
  if ((what == 5u && item == 6u) || (what == 6u && item == 32u)) {
    bad = (__global char *)all[5];
    *twice = xmcToRef(heap, bad);
  }
  barrier(CLK_LOCAL_MEM_FENCE); /* all have seen their blocks alive */
  xmcFreeWorkGroup(heap, bad, &scratch);
  if (what == 0)
    xmcFreeWorkGroup(heap, bad, &scratch);
}

/* One group, by linear number, wants more than the heap has. */
__kernel void collective_failure(__global xmcHeap *heap, ulong size, uint which) {
  __local xmcGroupScratch scratch;
  size_t group =
      (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0);
  xmcFreeWorkGroup(heap, xmcMallocWorkGroup(heap, group == which ? (size_t)size : 16, &scratch), &scratch);
}

/* Each call twice, and with the same scratch: of a region's calls, and of those without one. errors: blocks that were not the caller's
 * own */
__kernel void collective_twice(__global xmcHeap *heap, __global uint *errors) {
  __local xmcGroupScratch scratch;
  __local xmcRegionScratch of_region;
  __local xmcRegion region;
  uint item = (uint)get_global_id(0), i, wrong = 0;
  __global uint *p[4];
  if (get_local_id(0) == 0)
    region = xmcRegionCreate(heap);
  xmcRegionOpenWorkGroup(&of_region);
  p[0] = (__global uint *)xmcMallocWorkGroup(heap, 48, &scratch);
  p[1] = (__global uint *)xmcMallocWorkGroup(heap, 48, &scratch);
  p[2] = (__global uint *)xmcRegionMallocWorkGroup(heap, region, 48, &of_region);
  p[3] = (__global uint *)xmcRegionMallocWorkGroup(heap, region, 48, &of_region);
  for (i = 0; i < 4u; i++)
    if (p[i])
      p[i][0] = p[i][11] = 4u * item + i;
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (i = 0; i < 4u; i++)
    wrong += !p[i] || p[i][0] != 4u * item + i || p[i][11] != 4u * item + i;
  barrier(CLK_GLOBAL_MEM_FENCE); /* all have seen their blocks alive */
  errors[item] = wrong;
  xmcFreeWorkGroup(heap, p[0], &scratch);
  xmcFreeWorkGroup(heap, p[1], &scratch);
  xmcRegionResetWorkGroup(heap, region, &of_region);
  xmcRegionResetWorkGroup(heap, region, &of_region);
  xmcRegionFreeWorkGroup(heap, region, &of_region);
  xmcRegionFreeWorkGroup(heap, region, &of_region); /* a bad one: the group's first work-item counts it */
}
