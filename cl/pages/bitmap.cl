/* SPDX-License-Identifier: MIT */
/* Bitmaps of four levels that say where to look.
 *
 *   level 3   [ 64 bits: 64^3 items each ]     searched one after another
 *   …
 *   level 1   [ 64 bits:   64 items each ]     bit i: word i of level 0 may be non-zero
 *   level 0   [ 64 bits:    1 item  each ]     bit i: item i may have what is looked for
 *
 * A bit is a hint with one promise: if an item has the thing and nobody is in the middle of a call, its
 * bits are set on all levels. Whoever gives an item the thing sets the bit afterwards, always by a
 * read-modify-write. Whoever finds a set bit wrong clears it and then looks at the item once more
 * (xmc_bitmap_clear's callers), setting it again if need be. The read-modify-writes on the word order the
 * two: either the clearing one sees the item's new state, or the bit is set after it was cleared. (Where
 * XMC_USED_IS_DONE is 1 a plain load that finds the bit set may replace the read-modify-write: the item's new state is visible by then, so
 * whoever clears the bit later sees it in the second look.) Each level is to the words below what level 0 is to the items.
 */
#ifndef XMC_BITMAP_CL
#define XMC_BITMAP_CL
#include "../layout/arena.h"
#include "../platform/platform.h"

/* The word of a level where the bit number i is */
XMC_FN XMC_GLOBAL xmc_u64 *xmc_bitmap_word(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 level, xmc_u32 i) {
  return xmc_at64(heap, xmc_heap_bitmap(heap, map, level)) + (i >> 6);
}

/* Sets the bit number i of a level. 1 if its word was empty: then the caller answers for the level above. */
XMC_FN int xmc_bitmap_fill(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 level, xmc_u32 i) {
  return xmc_or_hint64(xmc_bitmap_word(heap, map, level, i), (xmc_u64)1 << (i & 63u)) == 0;
}
XMC_HOT_FN void xmc_bitmap_set(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 item) {
  xmc_u32 level = 0;
  /* up while words were empty */
  XMC_ROLLED
  while (xmc_bitmap_fill(heap, map, level, item) && ++level < XMC_BITMAP_LEVELS)
    item >>= 6;
}

XMC_FN int xmc_bitmap_has(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 item) {
  return (int)(xmc_load_relaxed64(xmc_bitmap_word(heap, map, 0, item)) >> (item & 63u) & 1u);
}

/* xmc_bitmap_set where the bit is most often set already, for a caller who gave the item the thing by a read-modify-write and
 * used its value. */
XMC_FN void xmc_bitmap_ensure(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 item) {
  if (!XMC_USED_IS_DONE || !xmc_bitmap_has(heap, map, item))
    xmc_bitmap_set(heap, map, item);
}

XMC_HOT_FN void xmc_bitmap_clear(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 item) {
  xmc_u32 level, up;
  xmc_u64 bit;
  XMC_ROLLED
  for (level = 0; level < XMC_BITMAP_LEVELS; level++) { /* up while words become empty */
    bit = (xmc_u64)1 << (item >> 6u * level & 63u);
    if (xmc_and_hint64(xmc_bitmap_word(heap, map, level, item >> 6u * level), ~bit) != bit)
      break;
  }
  XMC_ROLLED
  while (level-- > 0) { /* did a word that became empty get a bit meanwhile? */
    if (xmc_load_relaxed64(xmc_bitmap_word(heap, map, level, item >> 6u * level)) == 0)
      continue;
    XMC_ROLLED
    for (up = level + 1u; up < XMC_BITMAP_LEVELS; up++)
      if (!xmc_bitmap_fill(heap, map, up, item >> 6u * up))
        break;
  }
}

/* The lowest set item in [low, high), or XMC_NONE */
XMC_HOT_FN xmc_u32 xmc_bitmap_find(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 low, xmc_u32 high) {
  xmc_u32 level = 0, i;
  xmc_u64 bits;
  XMC_ROLLED
  while (low < high) { /* down where there is one, else up at the word's end */
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

/* From start upwards, then from low: so that callers with different starts find different items. Nothing is
 * found outside [low, high), wherever start lies. */
XMC_FN xmc_u32 xmc_bitmap_find_from(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 low, xmc_u32 high,
                                    xmc_u32 start) {
  xmc_u32 item, end = high;
  XMC_ROLLED
  for (;;) { /* once from there on, once from the first one on */
    item = xmc_bitmap_find(heap, map, start, end);
    if (item != XMC_NONE || start == low)
      return item;
    end = start < high ? start : high;
    start = low;
  }
}
#endif
