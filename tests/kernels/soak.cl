/* SPDX-License-Identifier: MIT */
/* Soak: each work-item works on a row of blocks, another row in each launch; some blocks change hands within a
 * launch by way of an exchange table. In most rounds the work-items of a sub-group (32 of them, wherever sub-groups are
 * of another size) throw the same dice: the same place, size and bad free; in one of OWN each throws its own. What they
 * do may still differ, as their rows do. ROW: places in a row.
 *
 *   a block      [ tag: its reference, mixed | … | tag ]     a size below 16 has the first alone, in 8 bytes
 *   a table's    reference << 24 | size in units of 8 bytes
 *   counters     0 operations, 1 refused, 2 mismatches, 3 bad frees made, 4 blocks of regions, 5 of these found again
 *
 * Beside that each work-item asks for some blocks of one region, tagged in the same way, and keeps them in a list through their second
 * words. When there are enough, and all lists were looked through, a new region takes the region's place, and the old one is freed by a work-item
 * in the midst of the next launch.
 *   regions      0 the region, 1 the old one, from 2 on a list for each work-item
 */
#include "xmalloc.cl"

#define OWN 32u

uint soak_random(uint *state) {
  uint x = *state;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  *state = x;
  return x * 0x9e3779b1u >> 4;
}

ulong soak_tag(ulong ref) { return ref * 0x9e3779b97f4a7c15ul ^ 0x5bd1e995u; }

void soak_stamp(__global xmcHeap *heap, ulong entry) {
  __global ulong *p = (__global ulong *)xmcFromRef(heap, entry >> 24);
  uint words = (uint)entry & 0xffffffu;
  p[0] = soak_tag(entry >> 24);
  p[words - 1u] = soak_tag(entry >> 24);
}

uint soak_is_wrong(__global xmcHeap *heap, ulong entry) {
  __global const ulong *p = (__global const ulong *)xmcFromRef(heap, entry >> 24);
  uint words = (uint)entry & 0xffffffu;
  return p[0] != soak_tag(entry >> 24) || p[words - 1u] != soak_tag(entry >> 24);
}

/* A block of the region, for a list */
uint soak_region_block(__global xmcHeap *heap, xmcRegion region, __global ulong *list, uint size) {
  uint words = 3u + size % 8u + (size >> 8 & 1023u ? 0 : 600u);
  __global ulong *p = xmcRegionMalloc(heap, region, words * 8u);
  ulong entry = xmcToRef(heap, p) << 24 | words;
  if (!p)
    return 0;
  soak_stamp(heap, entry);
  p[1] = *list;
  *list = entry;
  return 1;
}

/* Looks through the lists, and empties them. */
__kernel void soak_region_check(__global xmcHeap *heap, __global ulong *regions, __global ulong *counters,
                                uint items) {
  uint i = (uint)get_global_id(0), wrong = 0, found = 0;
  ulong entry;
  if (i >= items)
    return;
  for (entry = regions[2 + i]; entry; found++) {
    wrong += soak_is_wrong(heap, entry);
    entry = wrong ? 0 : ((__global ulong *)xmcFromRef(heap, entry >> 24))[1];
  }
  regions[2 + i] = 0;
  xmc_add_relaxed64(counters + 5, found);
  if (wrong)
    xmc_add_relaxed64(counters + 2, wrong);
}

/* Another region. last: none, and both are freed, the old one by this launch */
__kernel void soak_region_next(__global xmcHeap *heap, __global ulong *regions, __global ulong *counters,
                               uint last) {
  if (get_global_id(0) != 0)
    return;
  xmcRegionFree(heap, regions[1]);
  regions[1] = regions[0];
  regions[0] = last ? 0 : xmcRegionCreate(heap);
  if (last) {
    xmcRegionFree(heap, regions[1]);
    regions[1] = 0;
  } else if (!regions[0]) {
    xmc_add_relaxed64(counters + 1, 1);
  }
}

__kernel void soak_churn(__global xmcHeap *heap, __global ulong *rows, __global ulong *exchange,
                         uint exchanges, __global ulong *counters, uint items, uint launch, uint rounds,
                         uint mean, __global ulong *regions, uint blocks) {
  uint i = (uint)get_global_id(0), own, shared, round, what, size, k, words, operations = 0, refused = 0,
       wrong = 0, bad = 0, made = 0;
  __global ulong *row;
  ulong entry, old;
  __global void *p;
  if (i >= items)
    return;
  own = (i + 1u) * 2654435761u ^ launch * 40503u;
  own = own ? own : 1u;
  shared = (i / 32u + 1u) * 2246822519u ^ launch * 3266489917u;
  shared = shared ? shared : 1u;
  row = rows + (size_t)((i + launch * 7919u) % items) * ROW; /* items may be anything: a rotation */
  for (round = 0; round < rounds; round++) {
#if XMC_SIMT
    barrier(CLK_LOCAL_MEM_FENCE); /* lanes that parted go on together */
#endif
    what = soak_random(&shared);
    size = soak_random(&shared);
    if (what % OWN == 0) {
      what = soak_random(&own);
      size = soak_random(&own);
    }
    if (made < blocks && regions[0]) {
      if (soak_region_block(heap, regions[0], regions + 2 + i, size))
        made++;
      else
        refused++;
      operations++;
    }
    if (i == items / 2u && round == rounds / 2u && regions[1]) {
      xmcRegionFree(heap, regions[1]);
      regions[1] = 0;
      operations++;
    }
    k = (what >> 5) % ROW;
    entry = row[k];
    if (entry && (what >> 11) % 64u == 0) { /* bad frees: inside a block, or of the heap's tables */
      p = xmcFromRef(heap, entry >> 24);
      xmcFree(heap, ((uint)entry & 0xffffffu) > 1u ? (__global char *)p + 8 : (__global char *)heap + 24);
      bad++;
      operations++;
    }
    if (entry && (what >> 17) % 16u == 0) { /* hand it over */
      __global ulong *place = exchange + soak_random(&own) % exchanges;
      old = xmc_load_acquire64(place);
      if (xmc_cas_acq_rel64(place, old, entry) == old)
        row[k] = entry = old;
    }
    if (entry && (what >> 21) % 3u) {
      wrong += soak_is_wrong(heap, entry);
      xmcFree(heap, xmcFromRef(heap, entry >> 24));
      row[k] = 0;
      operations++;
    } else if (!entry) {
      words = 1u + (size >> 8) % (mean / 4u); /* of 8 bytes: up to twice the mean */
      if (size % 256u == 0)
        words *= 8u;
      p = xmcMalloc(heap, (size_t)words * 8u);
      operations++;
      if (p) {
        entry = xmcToRef(heap, p) << 24 | words;
        soak_stamp(heap, entry);
        row[k] = entry;
      } else {
        refused++;
      }
    }
  }
  xmc_add_relaxed64(counters, operations);
  if (refused)
    xmc_add_relaxed64(counters + 1, refused);
  if (wrong)
    xmc_add_relaxed64(counters + 2, wrong);
  if (bad)
    xmc_add_relaxed64(counters + 3, bad);
  if (made)
    xmc_add_relaxed64(counters + 4, made);
}

/* Frees what is left in a table. */
__kernel void soak_free(__global xmcHeap *heap, __global ulong *table, uint count, __global ulong *counters) {
  uint i = (uint)get_global_id(0);
  if (i < count && table[i]) {
    if (soak_is_wrong(heap, table[i]))
      xmc_add_relaxed64(counters + 2, 1);
    xmcFree(heap, xmcFromRef(heap, table[i] >> 24));
    table[i] = 0;
    xmc_add_relaxed64(counters, 1);
  }
}

/* All of the heap in one block, and back */
__kernel void soak_whole(__global xmcHeap *heap, ulong bytes) {
  if (get_global_id(0) == 0)
    xmcFree(heap, xmcMalloc(heap, (size_t)bytes));
}
