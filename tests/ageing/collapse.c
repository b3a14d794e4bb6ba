/* SPDX-License-Identifier: MIT */
/* A full heap changes from large blocks to small ones: each is freed in turn and 16 B are asked for. The memory that is freed must
 * serve the small blocks, and no small block may take one of more than twice its size: it is refused until so many large ones are free
 * that a page is, or a Superblock of 32 where that is larger. 64 MiB full of blocks of 8 KiB, and 8 MiB of blocks of 80 B, whose class is
 * the fourth above that of 16 B.
 */
#include "yardstick.h"

enum { MOST_BLOCKS = 120000, SMALL = 16 };

static void change(size_t bytes, uint32_t large, uint32_t blocks, uint32_t together) {
  static char *block[MOST_BLOCKS];
  xmcHeap *heap = yardstick_heap(bytes);
  uint64_t usable = 0, refused = 0, again = 0;
  uint32_t count = 0, i;
  while (count < MOST_BLOCKS && (block[count] = xmcMalloc(heap, large)))
    count++;
  for (i = 0; i < count; i++) {
    xmcFree(heap, block[i]);
    block[i] = xmcMalloc(heap, SMALL);
    refused += !block[i];
    usable += block[i] ? xmcUsableSize(heap, block[i]) : 0;
  }
  printf("%u MiB full of blocks of %u B\n", (unsigned)(bytes >> 20), (unsigned)large);
  yardstick_least("blocks", count, blocks);
  yardstick_most("each freed and 16 B asked for: bytes that the small blocks hold", usable,
                 (uint64_t)count * SMALL);
  yardstick_most("  requests refused", refused, together - 1u);
  while (xmcMalloc(heap, SMALL))
    again++;
  yardstick_least("  then all that is left, in blocks of 16 B: percent of what was freed",
                  (again * SMALL + usable) * 100 / ((uint64_t)count * large), 97);
  yardstick_end(heap);
}

int main(void) {
  change((size_t)64 << 20, 8192, 8030, 32);
  change((size_t)8 << 20, 80, 100000, 204); /* a page of them */
  return yardstick_failed;
}
