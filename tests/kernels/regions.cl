/* SPDX-License-Identifier: MIT */
/* Regions, by work-items of many groups. Every word of a block is a mix of its number and its place. */
#include "xmalloc.cl"

static ulong word_of(ulong tag, uint i) { return (tag + 1) * 0x9e3779b97f4a7c15UL + i; }
static void stamp(__global ulong *block, ulong tag, uint words) {
  for (uint i = 0; i < words; i++)
    block[i] = word_of(tag, i);
}
static uint wrong_words(__global const ulong *block, ulong tag, uint words) {
  uint wrong = 0;
  for (uint i = 0; i < words; i++)
    wrong += block[i] != word_of(tag, i);
  return wrong;
}
/* Bytes of block `tag`: most of them small, some larger than what a region's slot serves */
static uint bytes_of(uint tag, uint largest) {
  uint h = tag * 2654435761u;
  h ^= h >> 15;
  return 8u + h % (h >> 24 < 4u ? largest : largest < 256u ? largest : 256u);
}

__kernel void region_create(__global xmcHeap *heap, __global ulong *regions, uint count, uint sub_groups) {
  uint i = (uint)get_global_id(0);
  if (i < count)
    regions[i] = sub_groups ? xmcRegionCreateFor(heap, sub_groups) : xmcRegionCreate(heap);
}

/* Work-item i makes block i + k * count, k < turns, in region i % region_count; results: how many were refused */
__kernel void region_fill(__global xmcHeap *heap, __global const ulong *regions, uint region_count,
                          __global ulong *refs, uint count, uint turns, uint largest,
                          __global uint *refused) {
  uint i = (uint)get_global_id(0);
  if (i >= count)
    return;
  for (uint k = 0; k < turns; k++) {
    uint tag = i + k * count, bytes = bytes_of(tag, largest);
    __global ulong *block = xmcRegionMalloc(heap, regions[i % region_count], bytes);
    __global void *other = k == 1 ? xmcMalloc(heap, bytes) : 0; /* ordinary churn beside it */
    refs[tag] = xmcToRef(heap, block);
    if (block)
      stamp(block, tag, bytes / 8);
    else
      atomic_inc(refused);
    xmcFree(heap, other);
  }
}

__kernel void region_check(__global xmcHeap *heap, __global const ulong *refs, uint count, uint largest,
                           __global uint *wrong) {
  uint i = (uint)get_global_id(0);
  if (i < count && refs[i] &&
      (refs[i] % 16 || wrong_words(xmcFromRef(heap, refs[i]), i, bytes_of(i, largest) / 8)))
    atomic_inc(wrong);
}

/* what: 0 frees, 1 resets, 2 asks for bytes, which go to `sum`, 3 requests, of which none may succeed */
__kernel void region_use(__global xmcHeap *heap, __global const ulong *regions, uint count, uint what,
                         __global ulong *sum) {
  uint i = (uint)get_global_id(0);
  if (i >= count)
    return;
  if (what == 0)
    xmcRegionFree(heap, regions[i]);
  else if (what == 1)
    xmcRegionReset(heap, regions[i]);
  else if (what == 2)
    sum[i] = xmcRegionBytes(heap, regions[i]);
  else
    sum[i] = (xmcRegionMalloc(heap, regions[i], 16) != 0) + (xmcRegionMalloc(heap, regions[i], 100000) != 0);
}

/* Each work-item's own region: made, filled, checked, freed */
__kernel void region_life(__global xmcHeap *heap, uint turns, uint largest, __global uint *wrong) {
  uint i = (uint)get_global_id(0);
  for (uint k = 0; k < turns; k++) {
    ulong region = xmcRegionCreateFor(heap, 1);
    ulong last = 0;
    uint made = 0;
    for (uint n = 0; n < 5 && region; n++) {
      uint tag = (i * turns + k) * 5 + n, bytes = 16 + bytes_of(tag, largest);
      __global ulong *block = xmcRegionMalloc(heap, region, bytes);
      if (!block)
        continue;
      block[0] = last;
      block[1] = tag;
      stamp(block + 2, tag, (bytes - 16) / 8);
      last = xmcToRef(heap, block);
      made++;
    }
    while (last) {
      __global ulong *block = xmcFromRef(heap, last);
      if (wrong_words(block + 2, block[1], bytes_of((uint)block[1], largest) / 8))
        atomic_inc(wrong);
      last = block[0];
      made--;
    }
    if (made)
      atomic_inc(wrong);
    xmcRegionFree(heap, region);
  }
}

/* The work-group calls, several in a row: each group's own region, or one for all; `mode` 1 frees it */
__kernel void region_group(__global xmcHeap *heap, __global const ulong *regions, uint region_count,
                           __global ulong *refs, uint turns, uint largest) {
  __local xmcRegionScratch scratch;
  uint i = (uint)get_global_id(0), count = (uint)get_global_size(0);
  xmcRegionOpenWorkGroup(&scratch);
  for (uint k = 0; k < turns; k++) {
    uint tag = i + k * count, bytes = tag % 11 ? bytes_of(tag, largest) : 0;
    __global ulong *block =
        xmcRegionMallocWorkGroup(heap, regions[get_group_id(0) % region_count], bytes, &scratch);
    refs[tag] = xmcToRef(heap, block);
    if (block)
      stamp(block, tag, bytes / 8);
  }
}
__kernel void region_group_free(__global xmcHeap *heap, __global const ulong *regions, uint count) {
  __local xmcRegionScratch scratch;
  uint group = (uint)get_group_id(0);
  if (group < count)
    xmcRegionFreeWorkGroup(heap, regions[group], &scratch);
}

/* By one work-group: the bytes that the region has before a reset, and after it */
__kernel void region_group_reset(__global xmcHeap *heap, __global const ulong *regions, __global ulong *sum) {
  __local xmcRegionScratch scratch;
  if (get_local_id(0) == 0)
    sum[0] = xmcRegionBytes(heap, regions[0]);
  xmcRegionResetWorkGroup(heap, regions[0], &scratch);
  if (get_local_id(0) == 0)
    sum[1] = xmcRegionBytes(heap, regions[0]);
  xmcRegionResetWorkGroup(heap, 0, &scratch);              /* a no-op */
  xmcRegionResetWorkGroup(heap, regions[0] + 1, &scratch); /* counted once */
}

/* The group's calls after its region was freed: none may succeed; results: how many did */
__kernel void region_group_stale(__global xmcHeap *heap, __global uint *wrong) {
  __local xmcRegionScratch scratch;
  __local ulong region;
  if (get_local_id(0) == 0)
    region = xmcRegionCreateFor(heap, 1);
  xmcRegionOpenWorkGroup(&scratch);
  if (!xmcRegionMallocWorkGroup(heap, region, 16, &scratch))
    atomic_inc(wrong);
  xmcRegionFreeWorkGroup(heap, region, &scratch);
  if (xmcRegionMallocWorkGroup(heap, region, 16, &scratch))
    atomic_inc(wrong);
}

/* Writes beside a block */
__kernel void region_overrun(__global xmcHeap *heap, __global const ulong *regions, __global ulong *refs,
                             uint count, uint bytes) {
  uint i = (uint)get_global_id(0);
  if (i < count) {
    __global char *block = xmcRegionMalloc(heap, regions[0], bytes);
    if (block) {
      refs[i] = xmcToRef(heap, block);
      block[bytes] = 1;
    }
  }
}

/* Ordinary calls with a region's blocks; results: those that returned something */
__kernel void region_as_blocks(__global xmcHeap *heap, __global const ulong *refs, uint count,
                               __global uint *wrong) {
  uint i = (uint)get_global_id(0);
  if (i < count) {
    __global void *block = xmcFromRef(heap, refs[i]);
    if (xmcUsableSize(heap, block) || xmcRealloc(heap, block, 32))
      atomic_inc(wrong);
    xmcFree(heap, block);
  }
}

/* Work-item `tag` of a group asks for a block, and by itself for another one if `alone`: how many are refused or have other words */
static uint wrong_blocks(__global xmcHeap *heap, ulong region, __global ulong *block, ulong tag, uint bytes,
                         uint alone) {
  if (!block)
    return 1;
  stamp(block, tag, bytes / 8);
  return (alone && !xmcRegionMalloc(heap, region, 16)) + (wrong_words(block, tag, bytes / 8) != 0);
}

/* A region of each work-group, filled, reset, filled again and freed, with no barrier of the kernel's own in between */
__kernel void region_group_life(__global xmcHeap *heap, uint bytes, uint alone, __global uint *wrong) {
  __local xmcRegionScratch scratch;
  __local ulong region;
  ulong tag = get_global_id(0);
  __global ulong *block;
  if (get_local_id(0) == 0)
    region = xmcRegionCreateFor(heap, 1);
  xmcRegionOpenWorkGroup(&scratch);
  block = xmcRegionMallocWorkGroup(heap, region, bytes, &scratch);
  atomic_add(wrong, wrong_blocks(heap, region, block, tag, bytes, alone));
  xmcRegionResetWorkGroup(heap, region, &scratch);
  xmcRegionOpenWorkGroup(&scratch);
  block = xmcRegionMallocWorkGroup(heap, region, bytes, &scratch);
  atomic_add(wrong, wrong_blocks(heap, region, block, tag, bytes, alone));
  xmcRegionFreeWorkGroup(heap, region, &scratch);
}
