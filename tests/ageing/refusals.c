/* SPDX-License-Identifier: MIT */
/* Requests that a full heap refuses: how many accesses to shared words one takes, by the heap's size. It should be about
 * as many in a large heap as in a small one. */
#include "yardstick.h"

enum { REQUESTS = 64, HEAPS = 4, SIZES = 3 };
static const size_t heaps[HEAPS] = {(size_t)128 << 10, (size_t)1 << 20, (size_t)16 << 20, (size_t)256 << 20};
static const uint32_t sizes[SIZES] = {16, 700, 20000};
static const uint64_t most[HEAPS][SIZES] = {{58, 50, 28}, {58, 50, 28}, {87, 78, 43}, {152, 137, 98}};

int main(void) {
  char name[128];
  uint32_t h, s, i;
  for (h = 0; h < HEAPS; h++)
    for (s = 0; s < SIZES; s++) {
      xmcHeap *heap = yardstick_heap(heaps[h]);
      while (xmcMalloc(heap, sizes[s]))
        ;
      yardstick_steps = 0;
      for (i = 0; i < REQUESTS; i++)
        assert_null(xmcMalloc(heap, sizes[s]));
      snprintf(name, sizeof name, "%zu KiB full of blocks of %u B: accesses of a refused request",
               heaps[h] >> 10, sizes[s]);
      yardstick_most(name, yardstick_steps / REQUESTS, most[h][s]);
      yardstick_end(heap);
    }
  return yardstick_failed;
}
