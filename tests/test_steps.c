/* SPDX-License-Identifier: MIT */
/* How many accesses to memory follow each other in a request, counted: 192 sub-groups as user-level threads, whose lanes
 * take one step at a time (support/simt.h), in work-groups of eight that end together. The device has room for 256, and
 * the heaps are as much smaller than those of a GPU with 8,448: 248 MiB stand for 8 GiB, where each has a FIFO, 31 MiB for
 * 1 GiB, where all have one of 16 to 64 B and 18 share one of 1 KiB, 16 MiB for 512, where two slots share a slab of their own. No time, but what
 * time goes by, without a GPU (bench/experiments.md); a bound that is passed is a longer chain, or sub-groups that meet.
 * Prints every figure.
 */
#include "support/simt.h"
#define XMC_COALESCING 2
#define XMC_SIMT 1
#define XMC_MANY_PAGES 6951u /* as 3.5 GiB */
#define XMC_USED_IS_DONE 1
#define XMC_HOST_LANES "support/simt_lanes.h"
#define XMC_HOST_STEP() simt_step()
#define XMC_HOST_THREAD() (simt_number() + 1u)
#define SIMT_SLOT(group) ((group) / 48u * 64u + (group) % 48u) /* registers leave 48 of 64 places in use */
#define CORE_OWN_STEPS
#define CORE_SLOTS_DEFAULT 256u
#include "support/core.h"
#include "support/named.h"

enum { GROUPS = 192, GROUPS_TOGETHER = 8, ITEMS = GROUPS * SIMT_LANES, MOST_ROUNDS = 8, KERNELS = 4 };

typedef struct kernel {
  xmcHeap *heap;
  uint32_t bytes, rounds, refused;
  uint32_t kernel; /* its number, from which mixed sizes are drawn */
  int pairs, mixed;
  char *blocks[MOST_ROUNDS][ITEMS];
  uint32_t ended[MOST_ROUNDS][GROUPS / GROUPS_TOGETHER]; /* work-items of a work-group */
  uint64_t tick[GROUPS];                                 /* at which each sub-group ended */
} kernel;

/* The next work-group takes the place of one when all its sub-groups have ended. */
static void end_round(kernel *k, uint32_t number, uint32_t round) {
  uint32_t *ended = &k->ended[round][number / (GROUPS_TOGETHER * SIMT_LANES)];
  simt_or(0xffffffffu, 0);
  ++*ended;
  while (*ended < GROUPS_TOGETHER * SIMT_LANES)
    simt_step();
  k->tick[number / SIMT_LANES] = simt_now();
}

static void allocate(uint32_t number, void *data) {
  kernel *k = data;
  uint32_t round;
  for (round = 0; round < k->rounds; round++) {
    uint64_t seed = number + (uint64_t)(k->kernel * MOST_ROUNDS + round) * ITEMS;
    char *block = xmcMalloc(k->heap, k->mixed ? 4u + core_random(&seed) % (k->bytes - 3u) : k->bytes);
    simt_step(); /* the user's write */
    k->refused += block == NULL;
    if (k->pairs)
      xmcFree(k->heap, block);
    else
      k->blocks[round][number] = block;
    end_round(k, number, round);
  }
}

static void release(uint32_t number, void *data) {
  kernel *k = data;
  uint32_t round;
  for (round = 0; round < k->rounds; round++) {
    xmcFree(k->heap, k->blocks[round][number]);
    end_round(k, number, round);
  }
}

static int by_value(const void *a, const void *b) {
  return *(const uint64_t *)a < *(const uint64_t *)b ? -1 : *(const uint64_t *)a > *(const uint64_t *)b;
}

/* Steps a request, when all but two of the sub-groups have ended */
static double steps(kernel *k, void (*run)(uint32_t, void *), uint64_t seed) {
  simt s;
  memset(&s, 0, sizeof s);
  s.groups = GROUPS;
  s.seed = seed;
  memset(k->ended, 0, sizeof k->ended);
  simt_run(&s, run, k);
  assert_int_equal(s.hung, 0);
  qsort(k->tick, GROUPS, sizeof *k->tick, by_value);
  return (double)k->tick[GROUPS - 3] / k->rounds;
}

/* Kernels that allocate and free by turns; the first one, for which nothing was carved yet, does not count. Of `bytes` each or, if
 * `mixed`, each work-item another size from 4 B to `bytes`. */
static void bounded(uint32_t mib, xmc_u32 fifos, uint32_t bytes, int mixed, uint32_t rounds,
                    double alloc_most, double free_most) {
  kernel *k = calloc(1, sizeof *k);
  double alloc = 0, gone = 0;
  uint32_t i;
  assert_non_null(k);
  assert_true(rounds <= MOST_ROUNDS);
  k->heap = core_heap((size_t)mib << 20, fifos, 0, XMC_COALESCING);
  k->bytes = bytes;
  k->mixed = mixed;
  k->rounds = rounds;
  k->pairs = free_most == 0;
  for (i = 0; i < KERNELS; i++) {
    double a, f;
    k->kernel = i;
    a = steps(k, allocate, 100u + i);
    f = k->pairs ? 0 : steps(k, release, 200u + i);
    alloc += i ? a / (KERNELS - 1) : 0;
    gone += i ? f / (KERNELS - 1) : 0;
  }
  assert_int_equal(k->refused, 0);
  assert_int_equal(k->heap->failed_requests + k->heap->double_frees + k->heap->invalid_frees, 0);
  printf("%3u MiB, %3u FIFOs, %s%4u B: %s %.1f (at most %.1f), free %.1f (%.1f)\n", mib,
         xmc_fifos_count(k->heap->fifo_table[0]), mixed ? "4 to " : "", bytes, k->pairs ? "pair " : "alloc",
         alloc, alloc_most, gone, free_most);
  assert_true(alloc <= alloc_most && gone <= free_most);
  core_heap_free(k->heap);
  free(k);
}

/* (31 MiB, 256 B: that a free tells the slot's own place of its slab costs 0.4 steps, and pages that the caches know are worth
 * more; samples of the pages in use cost 0.7: bench/experiments.md.) */
static void bounds(void **state) {
  static const struct {
    uint32_t mib, bytes, rounds;
    double alloc, free; /* 0: pairs of both */
  } cases[] = {
      {248, 16, 5, 12.5, 8.5}, {248, 256, 5, 14.2, 10.5}, {248, 1024, 5, 16, 11}, {248, 4096, 5, 23, 11.5},
      {248, 16, 8, 15.5, 0},   {248, 1024, 8, 15.5, 0},   {31, 16, 5, 13.5, 9},   {31, 64, 5, 13.5, 9},
      {31, 256, 5, 19.4, 11},  {31, 16, 8, 23, 0},        {31, 256, 8, 27.5, 0},  {31, 1024, 8, 26, 0},
      {16, 1024, 8, 26, 0},
  };
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++)
    bounded(cases[i].mib, CORE_SLOTS_DEFAULT, cases[i].bytes, 0, cases[i].rounds, cases[i].alloc,
            cases[i].free);
  bounded(248, CORE_SLOTS_DEFAULT, 64, 1, 5, 14.5, 7);
  bounded(248, CORE_SLOTS_DEFAULT, 256, 1, 5, 12, 4.5);
}

/* The first requests of a kernel, of which each sub-group makes one for each of four classes: those whose slots share a FIFO of slabs find it empty
 * at the same time, and share the slab of the first one all the same. */
static void four_sizes(uint32_t number, void *data) {
  kernel *k = data;
  k->blocks[0][number] = xmcMalloc(k->heap, 16u + number % 4u * 16u);
  k->refused += k->blocks[0][number] == NULL;
  end_round(k, number, 0);
}
static void slabs_shared(void **state) {
  kernel *k = calloc(1, sizeof *k);
  uint32_t pages;
  (void)state;
  assert_non_null(k);
  k->heap = core_heap((size_t)31 << 20, CORE_SLOTS_DEFAULT, 0, XMC_COALESCING);
  k->rounds = 1;
  assert_true(xmc_fifos_count(k->heap->fifo_table[3]) >= GROUPS);
  assert_true(xmc_fifos_count(k->heap->fifo_table[XMC_CLASSES + 3]) < GROUPS / 4);
  steps(k, four_sizes, 1);
  pages = k->heap->pages - core_free_pages(k->heap);
  printf("%u pages for %u Superblocks of four classes (at most 100)\n", pages, 4 * GROUPS);
  assert_true(pages <= 100);
  assert_int_equal(k->refused, 0);
  steps(k, release, 2);
  assert_int_equal(k->heap->double_frees + k->heap->invalid_frees, 0);
  core_heap_free(k->heap);
  free(k);
}

/* In a heap without FIFOs each request searches: for a parked Superblock, in one page, then for new memory. */
static void unbuffered(void **state) {
  (void)state;
  bounded(248, 0, 16, 0, 5, 41, 11);
  bounded(248, 0, 1024, 0, 5, 21.5, 9.5);
  bounded(248, 0, 16, 0, 5, 62, 0);
  bounded(248, 0, 256, 0, 5, 47, 0);
  bounded(248, 0, 1024, 0, 5, 30, 0);
}

/* Sub-groups of few multiprocessors, eight each, look for Memoryblocks all over the heap. */
static void homes(void **state) {
  static const uint32_t lanes[] = {1, 64, 100, 128, 192, 256};
  xmcHeap *heap = core_heap((size_t)128 << 20, CORE_SLOTS_DEFAULT, 0, XMC_COALESCING);
  uint32_t first, second, i, j, seen[8];
  (void)state;
  assert_true(xmc_heap_spans(heap) > 100);
  for (first = 0; first < 3; first++)
    for (second = first + 1; second < 4; second++) {
      memset(seen, 0, sizeof seen);
      for (i = 0; i < 16; i++)
        seen[xmc_memoryblock_home(heap, (i < 8 ? first : second) * 64u + i % 8u) * 8u /
             xmc_heap_spans(heap)]++;
      for (i = 0; i < 8; i++)
        if (seen[i] < 1 || seen[i] > 3)
          fail_msg("multiprocessors %u and %u: %u of 16 homes in an eighth of the heap", first, second,
                   seen[i]);
    }
  for (i = 0; i < sizeof lanes / sizeof *lanes; i++)
    for (heap->lanes = lanes[i], j = 0; j < lanes[i]; j++)
      assert_true(xmc_memoryblock_home(heap, j) < xmc_heap_spans(heap));
  core_heap_free(heap);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bounds), cmocka_unit_test(slabs_shared),
                                     cmocka_unit_test(unbuffered), cmocka_unit_test(homes)};
  return run_named(tests, argc, argv);
}
