/* SPDX-License-Identifier: MIT */
/* A few blocks that stay: 64 MiB are filled with blocks of 64 B, of which one in 1,000, 100, 50 or 10 stays and the
 * others are freed. How much of the heap can blocks of each size then have? */
#include "yardstick.h"

enum { MOST_BLOCKS = 1100000, SIZES = 8, KEPT = 4 };
static const uint32_t sizes[SIZES] = {64, 48, 80, 128, 256, 1024, 4096, 16384};
static const uint32_t one_in[KEPT] = {1000, 100, 50, 10};

/* Of 64 MiB, in KiB */
static const uint64_t least[KEPT][SIZES] = {{64000, 51500, 57200, 62000, 63500, 62700, 59700, 47500},
                                            {63500, 46800, 38800, 62100, 59800, 52700, 35500, 0},
                                            {62900, 46700, 38000, 60700, 57700, 42900, 0, 0},
                                            {57800, 43300, 31200, 49900, 46800, 0, 0, 0}};

int main(void) {
  static char *kept[MOST_BLOCKS], *block[MOST_BLOCKS];
  char name[128];
  uint32_t k, s, i, count;
  for (k = 0; k < KEPT; k++) {
    xmcHeap *heap = yardstick_heap((size_t)64 << 20);
    count = yardstick_fill(heap, 64, kept, MOST_BLOCKS);
    for (i = 0; i < count; i++)
      if (i % one_in[k])
        xmcFree(heap, kept[i]);
    for (s = 0; s < SIZES; s++) {
      count = yardstick_fill(heap, sizes[s], block, MOST_BLOCKS);
      snprintf(name, sizeof name, "one in %u of 64 B stays: KiB that blocks of %u B can have", one_in[k],
               sizes[s]);
      yardstick_least(name, (uint64_t)count * sizes[s] >> 10, least[k][s]);
      for (i = 0; i < count; i++)
        xmcFree(heap, block[i]);
    }
    yardstick_end(heap);
  }
  return yardstick_failed;
}
