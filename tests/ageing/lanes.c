/* SPDX-License-Identifier: MIT */
/* Sizes that drift, on a GPU: the lanes of 62 sub-groups run in lock step (support/simt.h), each work-item keeps up to 8 KiB live, blocks live
 * for random times, and the sizes asked for go from at most 316 B to at most 1.2 KB. The device has room for 256 sub-groups, and
 * the heap is as much smaller than one of 1.25 GiB on a GPU with room for 8,448. More phases than these two, whose sizes are up to 4 KB, and other heaps
 * with arguments: ageing_lanes MIB PHASES. With these a line a phase says what the memory is used for.
 */
#include "yardstick_lanes.h"

enum { GROUPS = 62, ITEMS = GROUPS * SIMT_LANES, MOST_BLOCKS = 128, ROUNDS = 512 };

typedef struct life {
  xmcHeap *heap;
  uint32_t phase;
  uint64_t refused;
  uint32_t seed[ITEMS], count[ITEMS], live[ITEMS];
  char *block[ITEMS][MOST_BLOCKS];
  uint32_t size[ITEMS][MOST_BLOCKS];
} life;

static void run(uint32_t i, void *data) {
  static const uint32_t base[] = {16, 200, 1500, 64}, spread[] = {300, 1000, 2500, 4000};
  life *l = data;
  uint32_t s = l->seed[i], b = base[l->phase % 4], more = spread[l->phase % 4], r, k, j;
  for (r = 0; r < ROUNDS; r++) {
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    k = b + (s >> 8) % (s & 1u ? more : 64u);
    if (l->count[i] && (l->live[i] + k > 8192u || l->count[i] >= MOST_BLOCKS || (s & 6u) == 0)) {
      j = (s >> 4) % l->count[i];
      xmcFree(l->heap, l->block[i][j]);
      l->live[i] -= l->size[i][j];
      l->block[i][j] = l->block[i][--l->count[i]];
      l->size[i][j] = l->size[i][l->count[i]];
    } else {
      char *block = xmcMalloc(l->heap, k);
      if (!block) {
        l->refused++;
      } else {
        l->block[i][l->count[i]] = block;
        l->size[i][l->count[i]++] = k;
        l->live[i] += k;
      }
    }
  }
  l->seed[i] = s;
}

static void release(uint32_t i, void *data) {
  life *l = data;
  while (l->count[i])
    xmcFree(l->heap, l->block[i][--l->count[i]]);
}

/* Words of Superblocks and places of slabs that hold no live block, by where they are */
static void tell(life *l, double live, uint64_t refused, uint64_t ticks) {
  double parked = 0, places = 0;
  uint32_t page, i, places_free;
  xmc_heap_stats s;
  for (page = 0; page < l->heap->pages; page++) {
    xmc_run run = xmc_walk_run(l->heap, page);
    if (run.kind != XMC_RUN_SLAB)
      continue;
    places_free = xmc_word_free(run.word) & xmc_full_mask(xmc_word_count(run.word));
    places += xmc_popcount32(places_free) * 32.0 * xmc_class_bytes(run.cls);
    for (i = 0; i < xmc_word_count(run.word); i++) {
      xmc_u64 w = *xmc_word_of(l->heap, xmc_superblock_id(page, i));
      if (!(places_free >> i & 1u) && (w & XMC_WORD_PARKED))
        parked += xmc_popcount32(xmc_word_available(w, run.cls)) * (double)xmc_class_bytes(run.cls);
    }
  }
  xmc_stats_meta(l->heap, &s);
  printf("  phase %u: %.2f MiB live in blocks of %.2f, %.2f free in Superblocks (%.2f in parked ones of "
         "slabs, %.2f in places of "
         "slabs), %llu refused, %llu ticks\n",
         l->phase, live / 1048576, (double)s.live_bytes / 1048576, (double)s.free_block_bytes / 1048576,
         parked / 1048576, places / 1048576, (unsigned long long)refused, (unsigned long long)ticks);
}

int main(int argc, char **argv) {
  static life l;
  uint32_t mib = argc > 2 ? (uint32_t)atoi(argv[1]) : 39, phases = argc > 2 ? (uint32_t)atoi(argv[2]) : 2, i;
  xmc_heap_stats s;
  l.heap = core_heap((size_t)mib << 20, CORE_SLOTS_DEFAULT, 0, XMC_COALESCING);
  for (i = 0; i < ITEMS; i++)
    l.seed[i] = i * 2654435761u + 12345u;
  for (l.phase = 0; l.phase < phases; l.phase++) {
    uint64_t refused = l.refused;
    uint64_t ticks = yardstick_lanes(GROUPS, run, &l, l.phase + 1);
    double live = 0;
    for (i = 0; i < ITEMS; i++)
      live += l.live[i];
    tell(&l, live, l.refused - refused, ticks);
    xmc_stats_meta(l.heap, &s);
    if (argc <= 2 && l.phase == 0)
      yardstick_most("KiB free in Superblocks while 15.1 MiB of 39 are live", s.free_block_bytes >> 10, 8000);
  }
  if (argc <= 2)
    yardstick_most("refused of 2 million operations, while the sizes change once", l.refused, 1000);
  yardstick_lanes(GROUPS, release, &l, l.phase + 1);
  yardstick_end(l.heap);
  return yardstick_failed;
}
