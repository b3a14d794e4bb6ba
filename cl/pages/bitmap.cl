/* SPDX-License-Identifier: MIT */
/* Bitmaps of four levels that say where to look.
 *
 *   level 3   [ 64 bits: 64^3 items each ]     searched one after another
 *   …
 *   level 1   [ 64 bits:   64 items each ]     bit i: word i of level 0 may be non-zero
 *   level 0   [ 64 bits:    1 item  each ]     bit i: item i may have what is looked for
 *
 * A bit is a hint with one promise: if an item has what is looked for, and no call is in progress, the item's bits are set on all
 * levels. A work-item that gives an item the thing sets the bit afterwards, by a read-modify-write. A work-item that finds a set bit
 * wrong clears it, then looks at the item once more (the callers of xmc_bitmap_clear do), and sets the bit again if the item has the
 * thing now. The read-modify-writes on the word order the two: either the work-item that clears the bit sees the item's new state in
 * its second look, or the bit is set after it was cleared. (If XMC_USED_IS_DONE is 1, a plain load that finds the bit set may replace
 * the read-modify-write: the item's new state is visible by then, so a work-item that clears the bit later sees it in the second look.)
 * Each level relates to the words of the level below as level 0 relates to the items. */
#ifndef XMC_BITMAP_CL
#define XMC_BITMAP_CL
#include "../layout/arena.h"
#include "../platform/platform.h"

/* Returns the address of the word that has bit i of a level. */
XMC_FN XMC_GLOBAL xmc_u64 *xmc_bitmap_word(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 level, xmc_u32 i) {
  return xmc_at64(heap, xmc_heap_bitmap(heap, map, level)) + (i >> 6);
}

/* Sets bit i of a level. Returns 1 if its word was empty before: then the caller must set the word's bit on the level above. */
XMC_FN int xmc_bitmap_fill(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 level, xmc_u32 i) {
  return xmc_or_hint64(xmc_bitmap_word(heap, map, level, i), (xmc_u64)1 << (i & 63u)) == 0;
}
XMC_HOT_FN void xmc_bitmap_set(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 item) {
  xmc_u32 level = 0;
  /* goes up a level as long as the word was empty */
  XMC_ROLLED
  while (xmc_bitmap_fill(heap, map, level, item) && ++level < XMC_BITMAP_LEVELS)
    item >>= 6;
}

XMC_FN int xmc_bitmap_has(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 item) {
  return (int)(xmc_load_relaxed64(xmc_bitmap_word(heap, map, 0, item)) >> (item & 63u) & 1u);
}

/* Does what xmc_bitmap_set does, where the bit is most often set already. The caller must have given the item the thing by a
 * read-modify-write and used its value: then a plain load that finds the bit set is enough if XMC_USED_IS_DONE is 1. */
XMC_FN void xmc_bitmap_ensure(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 item) {
  if (!XMC_USED_IS_DONE || !xmc_bitmap_has(heap, map, item))
    xmc_bitmap_set(heap, map, item);
}

/* Clears the bit of an item. The caller must look at the item once more afterwards, as the promise above says. */
XMC_HOT_FN void xmc_bitmap_clear(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 item) {
  xmc_u32 level, up;
  xmc_u64 bit;
  XMC_ROLLED
  for (level = 0; level < XMC_BITMAP_LEVELS; level++) { /* goes up while words become empty */
    bit = (xmc_u64)1 << (item >> 6u * level & 63u);
    if (xmc_and_hint64(xmc_bitmap_word(heap, map, level, item >> 6u * level), ~bit) != bit)
      break;
  }
  XMC_ROLLED
  while (level-- > 0) { /* if a word got a bit meanwhile, the bits above it are set again */
    if (xmc_load_relaxed64(xmc_bitmap_word(heap, map, level, item >> 6u * level)) == 0)
      continue;
    XMC_ROLLED
    for (up = level + 1u; up < XMC_BITMAP_LEVELS; up++)
      if (!xmc_bitmap_fill(heap, map, up, item >> 6u * up))
        break;
  }
}

/* Returns the lowest item in [low, high) whose bit is set, or XMC_NONE. */
XMC_HOT_FN xmc_u32 xmc_bitmap_find(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 low, xmc_u32 high) {
  xmc_u32 level = 0, i;
  xmc_u64 bits;
  XMC_ROLLED
  while (low < high) { /* goes down where a bit is set, else up at the word's end */
    i = low >> (6u * level);
    bits = xmc_load_relaxed64(xmc_bitmap_word(heap, map, level, i)) >> (i & 63u) << (i & 63u);
    i = (i & ~63u) + (bits ? xmc_lowest64(bits) : 64u);
    if (i << (6u * level) > low)
      low = i << (6u * level);
    if (!bits)
      level += level + 1u < XMC_BITMAP_LEVELS;
    else if (level-- == 0)
      return low < high ? low : XMC_NONE;
  }
  return XMC_NONE;
}

/* Returns an item in [low, high) whose bit is set, or XMC_NONE. It searches from `start` upwards, then from `low`, so that callers with
 * different starts find different items. `start` must not be below `low`; it may be `high` or more. */
XMC_FN xmc_u32 xmc_bitmap_find_from(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 low, xmc_u32 high,
                                    xmc_u32 start) {
  xmc_u32 item, end = high;
  XMC_ROLLED
  for (;;) { /* first [start, high), then [low, start) */
    item = xmc_bitmap_find(heap, map, start, end);
    if (item != XMC_NONE || start == low)
      return item;
    end = start < high ? start : high;
    start = low;
  }
}
#endif
