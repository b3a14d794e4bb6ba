/* SPDX-License-Identifier: MIT */
/* Sizes that drift: about as much is live all the time, blocks live for random times, and the sizes asked for drift: a phase of
 * small blocks, of middle ones, of up to 9.5 KB, of up to 40 KB, and again. Memory that one phase frees must serve the
 * next one. Three further patterns have blocks of up to 60 KB. With arguments all patterns run at another size, with a line a phase:
 * ageing_drift HEAP_MIB LIVE_MIB OPERATIONS. */
#include "yardstick.h"

enum { MOST_BLOCKS = 400000, PHASES = 10 };

/* Sizes of four phases: half of a phase's blocks have 64 sizes from `base` on, the others up to `spread` more. With several threads
 * each operation is the next one's, and each thread is a phase ahead of the one before. */
typedef struct pattern {
  const char *name;
  uint32_t base[4], spread[4], threads;
} pattern;

static const pattern patterns[] = {
    {"small, middle, up to 9.5 KB, 40 KB", {64, 16, 200, 1500}, {40000, 300, 1000, 8000}, 1},
    {"small ones alternating with up to 60 KB", {16, 20000, 48, 30000}, {48, 40000, 200, 30000}, 1},
    {"each phase larger by a magnitude", {16, 128, 1024, 8192}, {112, 896, 7168, 52000}, 1},
    {"8 threads, each in another phase", {1500, 16, 4000, 200}, {58000, 240, 8000, 3000}, 8},
};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

/* The most MiB that each pattern may touch of a heap of 512 MiB with 32 live. When slots went on to new memory at a span's end these were
 * 95, 76, 110 and 70. */
static const uint32_t touched_mib[PATTERNS] = {88, 78, 97, 60};

/* Seeds of the random numbers. With each of other_seeds an earlier core refused 1 to 8 requests of the third pattern. */
static const uint64_t other_seeds[] = {21235486187u, 50434279558u, 53088715319u, 90250815973u, 31337};
static uint64_t first_seed = 88172645463325252u;

typedef struct life {
  const pattern *pattern;
  xmcHeap *heap;
  uint64_t seed;
  uint64_t live, target; /* bytes, as asked for */
  uint64_t refused;
  uint32_t count;
  char *block[MOST_BLOCKS];
  uint32_t size[MOST_BLOCKS];
} life;

static uint32_t some_size(life *l, uint32_t phase) {
  uint32_t base = l->pattern->base[phase % 4], spread = l->pattern->spread[phase % 4];
  uint32_t size = base + (uint32_t)(core_random(&l->seed) % spread);
  return core_random(&l->seed) % 2 ? base + (uint32_t)(core_random(&l->seed) % 64) : size;
}

static void step(life *l, uint32_t phase) {
  if (l->count && (l->live > l->target || l->count == MOST_BLOCKS || core_random(&l->seed) % 4 == 0)) {
    uint32_t i = (uint32_t)(core_random(&l->seed) % l->count);
    xmcFree(l->heap, l->block[i]);
    l->live -= l->size[i];
    l->block[i] = l->block[--l->count];
    l->size[i] = l->size[l->count];
  } else {
    uint32_t size = some_size(l, phase);
    char *block = xmcMalloc(l->heap, size);
    if (!block) {
      l->refused++;
      return;
    }
    l->block[l->count] = block;
    l->size[l->count++] = size;
    l->live += size;
  }
}

static void tell(life *l, uint32_t phase, double accesses, uint64_t refused) {
  xmc_heap_stats s;
  xmc_stats_meta(l->heap, &s);
  printf("  phase %2u: %5.1f MiB live in blocks of %5.1f, %5.1f free in Superblocks, %.1f accesses an "
         "operation, "
         "%llu refused\n",
         phase, (double)l->live / 1048576, (double)s.live_bytes / 1048576,
         (double)s.free_block_bytes / 1048576, accesses, (unsigned long long)refused);
}

/* Lives for so many operations in a heap of which `live_mib` MiB are live. */
static life *age(const pattern *p, uint32_t heap_mib, uint32_t live_mib, uint32_t operations, int talk,
                 uint64_t *most_steps) {
  static life l;
  uint32_t i, phase;
  memset(&l, 0, sizeof l);
  l.pattern = p;
  l.heap = yardstick_heap((size_t)heap_mib << 20);
  l.target = (uint64_t)live_mib << 20;
  l.seed = first_seed;
  *most_steps = 0;
  for (phase = 1; phase <= PHASES; phase++) {
    uint64_t before = l.refused;
    yardstick_steps = 0;
    for (i = 0; i < operations / PHASES; i++) {
      uint32_t thread = i % p->threads;
      yardstick_thread = 1 + thread;
      step(&l, phase + thread);
    }
    if (yardstick_steps > *most_steps)
      *most_steps = yardstick_steps;
    if (talk)
      tell(&l, phase, (double)yardstick_steps / (operations / PHASES), l.refused - before);
  }
  *most_steps /= operations / PHASES;
  return &l;
}

/* All is freed: the heap must be whole again. */
static void end(life *l) {
  size_t all = (size_t)l->heap->pages << XMC_PAGE_SHIFT;
  while (l->count)
    xmcFree(l->heap, l->block[--l->count]);
  if (!xmcMalloc(l->heap, all))
    yardstick_most("all freed, and one block of all the heap is refused: bytes", all, 0);
  yardstick_end(l->heap);
}

static void measure(const pattern *p, uint32_t heap_mib, uint32_t live_mib, uint32_t operations,
                    uint64_t most_refused, uint64_t most_steps) {
  uint64_t steps;
  char name[128];
  life *l = age(p, heap_mib, live_mib, operations, 1, &steps);
  printf("%s:\n", p->name);
  snprintf(name, sizeof name, "%u MiB live of %u, %u operations: refused", live_mib, heap_mib, operations);
  yardstick_most(name, l->refused, most_refused);
  yardstick_most("  accesses of an operation in the worst phase", steps, most_steps);
  end(l);
}

/* The smallest heap in which nothing is refused */
static void least_heap(uint32_t live_mib, uint32_t operations, uint32_t most_mib) {
  uint32_t mib = live_mib + 4;
  uint64_t steps, refused;
  char name[128];
  do {
    life *l = age(patterns, mib += 4, live_mib, operations, 0, &steps);
    refused = l->refused;
    end(l);
  } while (refused);
  snprintf(name, sizeof name, "%u MiB live: the smallest heap in which nothing is refused, MiB", live_mib);
  yardstick_most(name, mib, most_mib);
}

/* In a heap that is far larger than what is live, freed memory serves again before new memory is touched. */
static void touched(const pattern *p, uint32_t heap_mib, uint32_t live_mib, uint32_t operations,
                    uint32_t most_mib) {
  uint64_t steps;
  xmc_heap_stats s;
  life *l = age(p, heap_mib, live_mib, operations, 0, &steps);
  xmc_stats_meta(l->heap, &s);
  printf("%s, %u MiB live of %u:\n", p->name, live_mib, heap_mib);
  yardstick_most("  MiB that were ever used", s.high_water_bytes >> 20, most_mib);
  end(l);
}

int main(int argc, char **argv) {
  const uint64_t usual_seed = first_seed;
  uint32_t i;
  if (argc == 4) {
    for (i = 0; i < PATTERNS; i++)
      measure(&patterns[i], (uint32_t)atoi(argv[1]), (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]), 0,
              ~0u);
    return yardstick_failed;
  }
  measure(patterns, 64, 32, 30000000, 20000, 40);
  measure(patterns, 72, 32, 30000000, 0, 20);
  for (i = 1; i < PATTERNS; i++)
    measure(&patterns[i], 80, 32, 8000000, 0, 40);
  for (i = 0; i < sizeof other_seeds / sizeof *other_seeds; i++) {
    first_seed = other_seeds[i];
    measure(&patterns[2], 80, 32, 8000000, 0, 40);
  }
  first_seed = usual_seed;
  /* In a heap of so few pages the blocks that stay of the phase before are too many when larger ones come. */
  for (i = 1; i < PATTERNS; i++)
    measure(&patterns[i], 20, 8, 2000000, i == 2 ? 60 : 0, 40);
  least_heap(16, 3000000, 44);
  for (i = 0; i < PATTERNS; i++)
    touched(&patterns[i], 512, 32, 8000000, touched_mib[i]);
  return yardstick_failed;
}
