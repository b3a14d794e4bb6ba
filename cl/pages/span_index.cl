/* SPDX-License-Identifier: MIT */
/* The span index: where free runs of pages are.
 *
 * It has five levels of words. On level 0 each span has a byte, whose bit k is set if the span has 2^k free pages that begin at a
 * multiple of 2^k (k = 0 … 6). A byte of each other level is the union of the eight bytes of a word of the level below:
 *
 *   level 4   [ 8 bytes: 4,096 spans each ]     1 word for 32,768 spans (32 GiB); searched one after another
 *   …
 *   level 1   [ 8 bytes:     8 spans each ]     1 word for 64 spans
 *   level 0   [ 8 bytes:     1 span  each ]     1 word for 8 spans (8 MiB)
 *
 * So a span that gains a run of any length costs one fetch-or, and a search for which there is no run anywhere costs a few loads. A bit
 * is a hint with the promise of bitmap.cl: a work-item that adds a run sets its bits afterwards, on all levels; a work-item that finds
 * a bit wrong clears it, then looks at the span once more. */
#ifndef XMC_SPAN_INDEX_CL
#define XMC_SPAN_INDEX_CL
#include "../layout/arena.h"
#include "../platform/platform.h"

/* Returns the places where runs of n pages lie side by side from the start of a span: the multiples of n. */
XMC_FN xmc_u64 xmc_run_places(xmc_u32 n) {
  xmc_u64 places = 1;
  XMC_ROLLED
  for (; n < 64u; n <<= 1)
    places |= places << n;
  return places;
}

/* Returns the bits of x at which runs of 2^order set bits begin at multiples of 2^order, for the orders of classes, which are at most 4. */
XMC_FN xmc_u64 xmc_class_runs(xmc_u64 x, xmc_u32 order) {
  if (order > 0)
    x &= x >> 1 & 0x5555555555555555u; /* each step keeps the starts of runs twice as long */
  if (order > 1u)
    x &= x >> 2 & 0x1111111111111111u;
  if (order > 2u)
    x &= x >> 4 & 0x0101010101010101u;
  if (order > 3u)
    x &= x >> 8 & 0x0001000100010001u;
  return x;
}

/* The same for all orders */
XMC_FN xmc_u64 xmc_aligned_runs(xmc_u64 x, xmc_u32 order) {
  x = xmc_class_runs(x, order);
  if (order > 4u)
    x &= x >> 16 & 0x0000000100000001u;
  return order > 5u ? x & x >> 32 & 1u : x;
}

/* Returns a mask of the k for which x has 2^k set bits at a multiple of 2^k. */
XMC_FN xmc_u32 xmc_run_orders(xmc_u64 x) {
  xmc_u32 orders = x != 0;
  x &= x >> 1 & 0x5555555555555555u;
  orders |= (xmc_u32)(x != 0) << 1;
  x &= x >> 2 & 0x1111111111111111u;
  orders |= (xmc_u32)(x != 0) << 2;
  x &= x >> 4 & 0x0101010101010101u;
  orders |= (xmc_u32)(x != 0) << 3;
  x &= x >> 8 & 0x0001000100010001u;
  orders |= (xmc_u32)(x != 0) << 4;
  x &= x >> 16 & 0x0000000100000001u;
  orders |= (xmc_u32)(x != 0) << 5;
  x &= x >> 32 & 1u;
  return orders | (xmc_u32)x << 6;
}

/* Returns the orders that `now` has and `old` has not, computed one after the other: less code and fewer registers. */
XMC_FN xmc_u32 xmc_orders_gained(xmc_u64 now, xmc_u64 old) {
  xmc_u32 orders = 0, n;
  xmc_u64 places;
  XMC_ROLLED
  for (n = 1; n <= XMC_SPAN_PAGES; n <<= 1) {
    now &= now >> (n >> 1); /* where runs of n begin, at any place */
    old &= old >> (n >> 1);
    places = xmc_run_places(n);
    if ((now & places) && !(old & places))
      orders |= n;
  }
  return orders;
}

/* Returns 1 if all bits of some byte of x are set. */
XMC_FN int xmc_has_whole_byte(xmc_u32 x) {
  return (((x & 0x7f7f7f7fu) + 0x01010101u) & x & 0x80808080u) != 0;
}

/* Returns 1 if a quick look shows that x has `pages` set bits, a power of two, at a multiple of that. 0 does not mean that it has none. */
XMC_FN int xmc_run_is_there(xmc_u64 x, xmc_u32 pages) {
  if (pages == 1u)
    return x != 0;
  return pages <= 8u && (xmc_has_whole_byte((xmc_u32)x) | xmc_has_whole_byte((xmc_u32)(x >> 32)));
}

/* The union of a word's eight bytes */
XMC_FN xmc_u32 xmc_index_union(xmc_u64 word) {
  xmc_u32 x = (xmc_u32)(word >> 32) | (xmc_u32)word;
  x |= x >> 16;
  return (x | x >> 8) & 0xffu;
}

XMC_FN XMC_GLOBAL xmc_u64 *xmc_index_word(XMC_GLOBAL xmcHeap *heap, xmc_u32 level, xmc_u32 i) {
  return xmc_at64(heap, xmc_heap_index(heap, level)) + (i >> 3);
}

/* Returns 1 if the index names runs of all lengths in this span. */
XMC_FN int xmc_index_has_all(XMC_GLOBAL xmcHeap *heap, xmc_u32 span) {
  return !(~(xmc_u32)(xmc_load_relaxed64(xmc_index_word(heap, 0, span)) >> 8u * (span & 7u)) &
           ((1u << XMC_ORDERS) - 1u));
}

/* Adds `orders` to byte i of a level, and to the levels above those orders that no byte of the word had before. */
XMC_FN void xmc_index_add(XMC_GLOBAL xmcHeap *heap, xmc_u32 level, xmc_u32 i, xmc_u32 orders) {
  xmc_u64 old;
  XMC_ROLLED
  for (; level < XMC_INDEX_LEVELS && orders; level++, i >>= 3) {
    if (XMC_USED_IS_DONE) { /* most often all are set already (bitmap.cl) */
      old = xmc_load_relaxed64(xmc_index_word(heap, level, i)) >> (8u * (i & 7u));
      if (!(orders & ~(xmc_u32)old))
        return;
    }
    old = xmc_or_hint64(xmc_index_word(heap, level, i), (xmc_u64)orders << (8u * (i & 7u)));
    orders &= ~xmc_index_union(old); /* what is new to the word is added above it, too */
  }
}

/* The same for callers that few requests and frees reach. CPU devices call this function, so that PoCL compiles it once (platform.h). */
XMC_HOT_FN void xmc_index_add_called(XMC_GLOBAL xmcHeap *heap, xmc_u32 level, xmc_u32 i, xmc_u32 orders) {
  xmc_index_add(heap, level, i, orders);
}

/* Removes `orders` from up to eight spans from `span` on, whose bytes must lie in one word, and from the levels above where no byte of
 * the word has them any more. The caller must look at the spans once more afterwards, unless it owns them (xmc_run_claim_long). What
 * comes back meanwhile is added upwards as far as the first word that had it, because another such call may have emptied the words
 * above. */
XMC_FN void xmc_index_remove(XMC_GLOBAL xmcHeap *heap, xmc_u32 span, xmc_u32 spans, xmc_u32 orders) {
  xmc_u32 level, up, left = orders;
  xmc_u64 bits = orders * ((xmc_u64)0x0101010101010101u >> (64u - 8u * spans));
  XMC_ROLLED
  for (level = 0; level < XMC_INDEX_LEVELS && left; level++) {
    bits <<= 8u * (span >> (3u * level) & 7u);
    left &=
        ~xmc_index_union(xmc_and_hint64(xmc_index_word(heap, level, span >> (3u * level)), ~bits) & ~bits);
    bits = left;
  }
  XMC_ROLLED
  for (up = 1; up < level; up++) { /* did the word below get one meanwhile? */
    XMC_AFRESH(orders);            /* saves two registers where lanes want different sizes */
    span >>= 3;
    left = orders & xmc_index_union(xmc_load_relaxed64(xmc_index_word(heap, up - 1u, span << 3)));
    if (left)
      xmc_index_add_called(heap, up, span, left);
  }
}

/* Returns the orders of the runs that the index names, a bit for each, by its top words alone. A bit may be set although no such run is
 * left. */
XMC_FN xmc_u32 xmc_index_orders(XMC_GLOBAL xmcHeap *heap) {
  xmc_u32 level = XMC_INDEX_LEVELS - 1u, i, orders = 0;
  XMC_ROLLED
  for (i = 0; i << (3u * level) < xmc_heap_present_spans(heap); i += 8u)
    orders |= xmc_index_union(xmc_load_relaxed64(xmc_index_word(heap, level, i)));
  return orders;
}

/* Returns the first span from `span` on in which the index names a run of 2^order pages, or XMC_NONE. */
XMC_HOT_FN xmc_u32 xmc_index_next(XMC_GLOBAL xmcHeap *heap, xmc_u32 order, xmc_u32 span) {
  xmc_u32 level = 0, i;
  xmc_u64 bits;
  XMC_ROLLED
  while (span < xmc_heap_present_spans(heap)) { /* goes down where a bit is set, else up at the word's end */
    i = span >> (3u * level);                   /* the byte's number */
    bits = xmc_load_relaxed64(xmc_index_word(heap, level, i)) & (xmc_u64)0x0101010101010101u << order &
           ~(xmc_u64)0 << (8u * (i & 7u));
    i = (i & ~7u) + (bits ? xmc_lowest64(bits) >> 3 : 8u);
    if (i << (3u * level) > span)
      span = i << (3u * level);
    if (!bits)
      level += level + 1u < XMC_INDEX_LEVELS;
    else if (level-- == 0)
      return span;
  }
  return XMC_NONE;
}

/* Returns a span in which the index names a run of 2^order pages, or XMC_NONE. Different numbers `any` choose different spans, so that
 * searches do not follow each other; 0 chooses the lowest. */
XMC_HOT_FN xmc_u32 xmc_index_find(XMC_GLOBAL xmcHeap *heap, xmc_u32 order, xmc_u32 any) {
  xmc_u32 start = xmc_any_below(any, xmc_heap_present_spans(heap)), span = start;
  XMC_ROLLED
  for (;;) { /* from `start` on, then from the first span on */
    span = xmc_index_next(heap, order, span);
    if (span != XMC_NONE || start == 0)
      return span;
    span = start = 0;
  }
}
#endif
