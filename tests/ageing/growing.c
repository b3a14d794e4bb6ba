/* SPDX-License-Identifier: MIT */
/* Blocks that grow and shrink: what xmcRealloc copies, and whether a block of pages grows into free pages behind it and
 * gives pages back when it shrinks. */
#include "yardstick.h"

#define MIB ((size_t)1 << 20)

/* An array to which `count` times 8 bytes are appended, one at a time: how often it moves, how much is copied */
static void append(uint32_t count, uint64_t most_moves, uint64_t most_copied) {
  xmcHeap *heap = yardstick_heap(256 * MIB);
  uint64_t moves = 0, copied = 0, *array = xmcMalloc(heap, 8);
  char name[128];
  uint32_t i;
  assert_non_null(array);
  array[0] = 0;
  for (i = 1; i < count; i++) {
    uint64_t *grown = xmcRealloc(heap, array, 8u * ((size_t)i + 1));
    assert_non_null(grown);
    moves += grown != array;
    copied += grown != array ? 8u * (uint64_t)i : 0;
    array = grown;
    array[i] = i;
  }
  for (i = 0; i < count; i++)
    assert_int_equal(array[i], i);
  snprintf(name, sizeof name, "%u times 8 B appended: times the array moved", count);
  yardstick_most(name, moves, most_moves);
  yardstick_most("  bytes copied", copied, most_copied);
  xmcFree(heap, array);
  yardstick_end(heap);
}

int main(void) {
  xmcHeap *heap = yardstick_heap(64 * MIB);
  char *block = xmcMalloc(heap, 33 * MIB), *grown;
  assert_non_null(block);
  grown = xmcRealloc(heap, block, 34 * MIB);
  yardstick_least("33 MiB of 64 grow to 34 (1: yes)", grown != NULL, 1);
  yardstick_least("  in their place", grown == block, 1);
  block = xmcRealloc(heap, grown ? grown : block, 17 * MIB);
  assert_non_null(block);
  yardstick_most("shrunk to 17 MiB: usable MiB", xmcUsableSize(heap, block) / MIB, 17);
  grown = xmcMalloc(heap, 40 * MIB);
  yardstick_least("  then 40 MiB beside it (1: yes)", grown != NULL, 1);
  xmcFree(heap, grown);
  xmcFree(heap, block);
  yardstick_end(heap);
  append(250000, 32, 52992);
  return yardstick_failed;
}
