/* Two-level bitmaps that say where to look.
 *
 *   root   bit l: leaf word l may be non-zero          1 word for 4,096 items
 *   leaf   bit i: item i may have what is looked for   1 word for 64 items
 *
 * A bit is a hint with one promise: if an item has the thing and nobody is in the middle of a call, its
 * bit is set. Whoever gives an item the thing sets the bit afterwards, always by a read-modify-write.
 * Whoever finds a set bit wrong clears it and then looks at the item once more (xmc_bitmap_clear's
 * callers), setting it again if need be. The read-modify-writes on the leaf word order the two: either
 * the clearing one sees the item's new state, or the bit is set after it was cleared. The root is to the
 * leaf words what the leaf is to the items.
 */
#ifndef XMC_BITMAP_CL
#define XMC_BITMAP_CL
#include "arena.h"
#include "platform.h"

XMC_FN void xmc_bitmap_set(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL const xmc_bitmap *map, xmc_u32 item) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_u64 *leaf = xmc_at64(heap, map->leaf) + (item >> 6);
  XMC_GLOBAL xmc_u64 *root = xmc_at64(heap, map->root) + (item >> 12);
  xmc_u64 bit = (xmc_u64)1 << ((item >> 6) & 63u);
  if (xmc_or_hint64(leaf, (xmc_u64)1 << (item & 63u)) == 0) /* who fills an empty word answers for the root */
    xmc_or_hint64(root, bit);
}

XMC_FN void xmc_bitmap_clear(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL const xmc_bitmap *map, xmc_u32 item) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_u64 *leaf = xmc_at64(heap, map->leaf) + (item >> 6);
  XMC_GLOBAL xmc_u64 *root = xmc_at64(heap, map->root) + (item >> 12);
  xmc_u64 bit = (xmc_u64)1 << ((item >> 6) & 63u);
  xmc_u64 old = xmc_and_hint64(leaf, ~((xmc_u64)1 << (item & 63u)));
  if (old == (xmc_u64)1 << (item & 63u)) {
    xmc_and_hint64(root, ~bit);
    if (xmc_load_relaxed64(leaf) != 0)
      xmc_or_hint64(root, bit);
  }
}

/* The lowest set item in [low, high), or XMC_NONE. Reads one leaf word, then one root word for each
 * 4,096 items,
 * then one leaf word for each root bit that is stale for a moment. */
XMC_FN xmc_u32 xmc_bitmap_find(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL const xmc_bitmap *map, xmc_u32 low,
                               xmc_u32 high) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_u64 *leaf = xmc_at64(heap, map->leaf);
  XMC_GLOBAL xmc_u64 *root = xmc_at64(heap, map->root);
  xmc_u32 l, w;
  xmc_u64 bits, words;
  if (low >= high)
    return XMC_NONE;
  bits = xmc_load_relaxed64(leaf + (low >> 6)) >> (low & 63u);
  if (bits) {
    low += xmc_lowest64(bits);
    return low < high ? low : XMC_NONE;
  }
  XMC_ROLLED
  for (l = (low >> 6) + 1u; l <= (high - 1u) >> 6; l = (l | 63u) + 1u) {
    words = xmc_load_relaxed64(root + (l >> 6)) >> (l & 63u) << (l & 63u);
    XMC_ROLLED
    while (words) {
      w = (l & ~63u) + xmc_lowest64(words);
      if (w > (high - 1u) >> 6)
        return XMC_NONE;
      bits = xmc_load_relaxed64(leaf + w);
      if (bits) {
        low = (w << 6) + xmc_lowest64(bits);
        return low < high ? low : XMC_NONE;
      }
      words &= words - 1u;
    }
  }
  return XMC_NONE;
}

/* From start upwards, then from low: so that callers with different starts find different items. Nothing is
 * found outside [low, high), wherever start lies. */
XMC_FN xmc_u32 xmc_bitmap_find_from(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL const xmc_bitmap *map, xmc_u32 low,
                                    xmc_u32 high, xmc_u32 start) {
  XMC_AFRESH64(heap);
  xmc_u32 item = xmc_bitmap_find(heap, map, start, high);
  return item != XMC_NONE ? item : xmc_bitmap_find(heap, map, low, start < high ? start : high);
}
#endif
