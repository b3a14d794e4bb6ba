/* SPDX-License-Identifier: MIT */
/* One size alone: of a heap of 32 MiB, how much can blocks of each size class have, and of Memoryblocks of one, two and four pages? First in
 * a fresh heap, then after blocks of other sizes filled it and were freed in no order. */
#include "yardstick.h"

enum { HEAP_MIB = 32, MOST_BLOCKS = HEAP_MIB << 16, OTHERS = 6 };

static char *block[MOST_BLOCKS];

static void drop(xmcHeap *heap, uint32_t count, uint64_t *seed) {
  while (count) {
    uint32_t i = (uint32_t)(core_random(seed) % count);
    xmcFree(heap, block[i]);
    block[i] = block[--count];
  }
}

/* Returns the bytes of `count` blocks of this size in hundredths of a percent of the heap. */
static uint64_t share(uint32_t count, uint32_t size) {
  return (uint64_t)count * size * 10000u / ((uint64_t)HEAP_MIB << 20);
}

int main(void) {
  static const uint32_t others[OTHERS] = {16, 96, 320, 1280, 6144, 40000};
  uint64_t seed = 88172645463325252u, fresh, used, least_fresh = 10000, least_used = 10000;
  uint32_t c, i, count, size;
  for (c = 0; c < XMC_CLASSES + 3u; c++) {
    xmcHeap *heap = yardstick_heap((size_t)HEAP_MIB << 20);
    size = c < XMC_CLASSES ? xmc_class_bytes(c) : XMC_PAGE_BYTES << (c - XMC_CLASSES);
    count = yardstick_fill(heap, size, block, MOST_BLOCKS);
    fresh = share(count, size);
    drop(heap, count, &seed);
    for (i = 0; i < OTHERS; i++)
      drop(heap, yardstick_fill(heap, others[(c + i) % OTHERS], block, MOST_BLOCKS), &seed);
    count = yardstick_fill(heap, size, block, MOST_BLOCKS);
    used = share(count, size);
    printf("  %5u B: %5.2f %% of a fresh heap, %5.2f of a used one\n", size, (double)fresh / 100,
           (double)used / 100);
    least_fresh = fresh < least_fresh ? fresh : least_fresh;
    least_used = used < least_used ? used : least_used;
    drop(heap, count, &seed);
    yardstick_end(heap);
  }
  yardstick_least("least share of any size in a fresh heap, hundredths of a percent", least_fresh, 9550);
  yardstick_least("the same in a used heap", least_used, 9550);
  return yardstick_failed;
}
