/* SPDX-License-Identifier: MIT */
/* Sizes that drift: about as much is live all the time, blocks live for random times, and the sizes asked for drift: a phase of
 * small blocks, of middle ones, of up to 9.5 KB, of up to 40 KB, and again. Memory that one phase frees must serve the
 * next one. */
#include "yardstick.h"

enum { MOST_BLOCKS = 400000, PHASES = 10 };

typedef struct life {
  xmcHeap *heap;
  uint64_t seed;
  uint64_t live, target; /* bytes, as asked for */
  uint64_t refused;
  uint32_t count;
  char *block[MOST_BLOCKS];
  uint32_t size[MOST_BLOCKS];
} life;

static uint32_t some_size(life *l, uint32_t phase) {
  static const uint32_t base[] = {64, 16, 200, 1500}, spread[] = {40000, 300, 1000, 8000};
  uint32_t size = base[phase % 4] + (uint32_t)(core_random(&l->seed) % spread[phase % 4]);
  return core_random(&l->seed) % 2 ? base[phase % 4] + (uint32_t)(core_random(&l->seed) % 64) : size;
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
static life *age(uint32_t heap_mib, uint32_t live_mib, uint32_t operations, int talk, uint64_t *most_steps) {
  static life l;
  uint32_t i, phase;
  memset(&l, 0, sizeof l);
  l.heap = yardstick_heap((size_t)heap_mib << 20);
  l.target = (uint64_t)live_mib << 20;
  l.seed = 88172645463325252u;
  *most_steps = 0;
  for (phase = 1; phase <= PHASES; phase++) {
    uint64_t before = l.refused;
    yardstick_steps = 0;
    for (i = 0; i < operations / PHASES; i++)
      step(&l, phase);
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

static void measure(uint32_t heap_mib, uint32_t live_mib, uint32_t operations, uint64_t most_refused,
                    uint64_t most_steps) {
  uint64_t steps;
  char name[128];
  life *l = age(heap_mib, live_mib, operations, 1, &steps);
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
    life *l = age(mib += 4, live_mib, operations, 0, &steps);
    refused = l->refused;
    end(l);
  } while (refused);
  snprintf(name, sizeof name, "%u MiB live: the smallest heap in which nothing is refused, MiB", live_mib);
  yardstick_most(name, mib, most_mib);
}

int main(void) {
  measure(64, 32, 10000000, 375000, 40);
  measure(72, 32, 30000000, 0, 20);
  least_heap(16, 3000000, 48);
  return yardstick_failed;
}
