/* SPDX-License-Identifier: MIT */
/* What xmc_heap_stats says can be had, against what is granted: 8 threads take turns with 2^20 blocks of 16 B and free all of
 * them; then one block is asked for that is as large as can be. */
#include "yardstick.h"

enum { BLOCKS = 1 << 20 };

int main(void) {
  static char *block[BLOCKS];
  xmcHeap *heap = yardstick_heap((size_t)64 << 20);
  xmc_heap_stats before;
  uint64_t granted = (uint64_t)heap->pages << XMC_PAGE_SHIFT;
  uint32_t i;
  void *largest;
  for (i = 0; i < BLOCKS; i++) {
    yardstick_thread = 1 + i / 64 % 8;
    assert_non_null(block[i] = xmcMalloc(heap, 16));
  }
  for (i = 0; i < BLOCKS; i++)
    xmcFree(heap, block[i]);
  xmc_stats_meta(heap, &before);
  yardstick_most("all freed: live blocks", before.live_blocks, 0);
  while (!(largest = xmcMalloc(heap, granted)))
    granted -= XMC_PAGE_BYTES;
  xmcFree(heap, largest);
  yardstick_least("largest block granted: KiB", granted >> 10, (uint64_t)heap->pages << XMC_PAGE_SHIFT >> 10);
  yardstick_most("  more than largest_free_bytes said: KiB",
                 (granted > before.largest_free_bytes ? granted - before.largest_free_bytes : 0) >> 10,
                 16384);
  yardstick_end(heap);
  return yardstick_failed;
}
