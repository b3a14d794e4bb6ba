/* SPDX-License-Identifier: MIT */
/* A full heap changes from large blocks to small ones: 64 MiB full of blocks of 8 KiB; each is freed in turn and 16 B
 * are asked for. The memory that is freed must serve the small blocks, and no small block may take a large one's: it is refused until a
 * Superblock of 32 large ones is wholly free. */
#include "yardstick.h"

enum { MOST_BLOCKS = 20000, SUPERBLOCK = 32, LARGE = 8192, SMALL = 16 };

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
  yardstick_most("each freed and 16 B asked for: bytes that the small blocks hold", usable, count * SMALL);
  yardstick_most("  requests refused", refused, SUPERBLOCK - 1);
  while (xmcMalloc(heap, SMALL))
    again++;
  yardstick_least("  then all that is left, in blocks of 16 B: percent of what was freed",
                  (again * SMALL + usable) * 100 / ((uint64_t)count * LARGE), 97);
  yardstick_end(heap);
  return yardstick_failed;
}
