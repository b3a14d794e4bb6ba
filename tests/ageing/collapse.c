/* SPDX-License-Identifier: MIT */
/* A full heap changes from large blocks to small ones: 64 MiB full of blocks of 8 KiB; each is freed in turn and 16 B
 * are asked for. The memory that is freed must serve the small blocks, and no small block should take a large one's. */
#include "yardstick.h"

enum { MOST_BLOCKS = 20000, LARGE = 8192, SMALL = 16 };

int main(void) {
  static char *block[MOST_BLOCKS];
  xmcHeap *heap = yardstick_heap((size_t)64 << 20);
  uint64_t usable = 0, refused = 0, again = 0;
  uint32_t count = 0, i;
  while (count < MOST_BLOCKS && (block[count] = xmcMalloc(heap, LARGE)))
    count++;
  for (i = 0; i < count; i++) {
    xmcFree(heap, block[i]);
    block[i] = xmcMalloc(heap, SMALL);
    refused += !block[i];
    usable += block[i] ? xmcUsableSize(heap, block[i]) : 0;
  }
  yardstick_least("blocks of 8 KiB in 64 MiB", count, 8032);
  yardstick_most("each freed and 16 B asked for: bytes that the small blocks hold", usable, 65798144);
  yardstick_most("  requests refused", refused, 0);
  for (i = 0; i < count && xmcMalloc(heap, SMALL); i++)
    again++;
  yardstick_least("  then as many again are asked for: given", again, 0);
  yardstick_end(heap);
  return yardstick_failed;
}
