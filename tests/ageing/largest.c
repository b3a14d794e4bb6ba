/* SPDX-License-Identifier: MIT */
/* What xmc_heap_stats says can be had, against what is granted: 8 threads take turns with blocks of one size, and all of
 * them but few are freed; then one block is asked for that is as large as can be. */
#include "yardstick.h"

enum { BLOCKS = 1 << 20, HEAP = 64 << 20 };
static char *block[BLOCKS];

/* `stays`: how many blocks, at random places, are not freed */
static void said_and_granted(size_t size, uint32_t stays) {
  xmcHeap *heap = yardstick_heap(HEAP);
  uint64_t granted = (uint64_t)heap->pages << XMC_PAGE_SHIFT, chance = 12345;
  uint32_t blocks = HEAP / 2 / (uint32_t)size < BLOCKS ? HEAP / 2 / (uint32_t)size : BLOCKS, i;
  xmc_heap_stats before;
  void *largest;
  for (i = 0; i < blocks; i++) {
    yardstick_thread = 1 + i / 64 % 8;
    assert_non_null(block[i] = xmcMalloc(heap, size));
  }
  for (i = 0; i < stays; i++) {
    chance = chance * 6364136223846793005u + 1442695040888963407u;
    block[(chance >> 33) % blocks] = NULL;
  }
  for (i = 0; i < blocks; i++)
    xmcFree(heap, block[i]);
  xmc_stats_meta(heap, &before);
  while (granted && !(largest = xmcMalloc(heap, granted)))
    granted -= XMC_PAGE_BYTES;
  printf("blocks of %zu B, %u stay:\n", size, stays);
  if (!stays)
    yardstick_least("  all freed: share of the pages granted in one block, %",
                    100 * granted / ((uint64_t)heap->pages << XMC_PAGE_SHIFT), 100);
  yardstick_most("  largest_free_bytes said more than is granted, KiB",
                 (before.largest_free_bytes -
                  (granted < before.largest_free_bytes ? granted : before.largest_free_bytes)) >>
                     10,
                 0);
  yardstick_most(
      "  granted is more than largest_free_bytes said, KiB",
      (granted - (granted < before.largest_free_bytes ? granted : before.largest_free_bytes)) >> 10, 0);
  yardstick_end(heap);
}

/* Accesses of the last request that is granted while a heap of 1 GiB fills with blocks of `mib` MiB. It writes an entry for each of
 * its pages and claims each 64 of them by a CAS; the rest is the search, which must not pass the blocks before it. */
static void search_is_short(size_t mib, uint64_t most) {
  xmcHeap *heap = yardstick_heap((size_t)1 << 30);
  uint32_t blocks = 0;
  uint64_t accesses = 0;
  char name[96];
  void *last = NULL, *one;
  do {
    uint64_t before = yardstick_steps;
    one = xmcMalloc(heap, mib << 20);
    if (one) {
      last = one;
      accesses = yardstick_steps - before;
      blocks++;
    }
  } while (one);
  assert_non_null(last);
  snprintf(name, sizeof name, "%u blocks of %zu MiB in 1 GiB: accesses of the last request", blocks, mib);
  yardstick_most(name, accesses, most);
  yardstick_end(heap);
}

int main(void) {
  static const size_t sizes[] = {16, 200, 1000, 8192, 40000};
  size_t s;
  for (s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    said_and_granted(sizes[s], 0);
    said_and_granted(sizes[s], 3);
    said_and_granted(sizes[s], 40);
  }
  search_is_short(2, 160);
  search_is_short(32, 2140);
  return yardstick_failed;
}
