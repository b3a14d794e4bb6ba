/* SPDX-License-Identifier: MIT */
/* The first kernel on a small heap, on a GPU: 192 sub-groups in lock step, as many as run at the same time with 40 registers, allocate 4 B to
 * 1 KiB by each lane five times, so that 16.3 MiB are live. All slots take memory at the same time. With arguments: ageing_burst MIB
 * ROUNDS, with a line a kernel. */
#include "yardstick_lanes.h"

enum { GROUPS = 192, ITEMS = GROUPS * SIMT_LANES, BLOCKS = 5, MOST_BYTES = 1024 };

typedef struct burst {
  xmcHeap *heap;
  uint64_t refused;
  char *block[BLOCKS][ITEMS];
} burst;

static void take(uint32_t i, void *data) {
  burst *b = data;
  for (uint32_t n = 0; n < BLOCKS; n++) {
    uint64_t seed = (uint64_t)n * ITEMS + i + 1;
    b->block[n][i] = xmcMalloc(b->heap, 4u + (uint32_t)((core_random(&seed) >> 32) % (MOST_BYTES - 3)));
    b->refused += !b->block[n][i];
  }
}
static void give(uint32_t i, void *data) {
  burst *b = data;
  for (uint32_t n = 0; n < BLOCKS; n++)
    xmcFree(b->heap, b->block[n][i]);
}

/* The kernels one after the other on one heap, after each of which all blocks are freed. Returns how many requests of the first one were
 * refused, and in *later how many of the others. */
static uint64_t kernels(uint32_t mib, uint32_t rounds, uint64_t *later, int tells) {
  static burst b;
  uint64_t first = 0, before, ticks;
  uint32_t round;
  xmc_heap_stats s;
  memset(&b, 0, sizeof b);
  b.heap = core_heap((size_t)mib << 20, CORE_SLOTS_DEFAULT, 0, XMC_COALESCING);
  for (round = 0; round < rounds; round++) {
    before = b.refused;
    ticks = yardstick_lanes(GROUPS, take, &b, 2 * round + 1);
    xmc_stats_meta(b.heap, &s);
    first = round ? first : b.refused;
    if (tells)
      printf("  kernel %u: %.2f MiB live, %.2f free in Superblocks, %u pages free, %llu of %u refused, %llu "
             "ticks\n",
             round, (double)s.live_bytes / 1048576, (double)s.free_block_bytes / 1048576,
             core_free_pages(b.heap), (unsigned long long)(b.refused - before), ITEMS * BLOCKS,
             (unsigned long long)ticks);
    yardstick_lanes(GROUPS, give, &b, 2 * round + 2);
  }
  *later = b.refused - first;
  yardstick_end(b.heap);
  return first;
}

int main(int argc, char **argv) {
  uint64_t later;
  if (argc > 2) {
    kernels((uint32_t)atoi(argv[1]), (uint32_t)atoi(argv[2]), &later, 1);
    return yardstick_failed;
  }
  yardstick_most("refused of 30,720 requests of the first kernel on 31 MiB", kernels(31, 2, &later, 0), 0);
  yardstick_most("of the second", later, 0);
  yardstick_most("of the first on 39 MiB", kernels(39, 2, &later, 0), 0);
  yardstick_most("of the second", later, 0);
  return yardstick_failed;
}
