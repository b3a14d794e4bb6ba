/* SPDX-License-Identifier: MIT */
/* Makes an empty heap: brings every table from garbage to its first state. The host writes the header (layout.c).
 *
 * Work-item i of n fills every n-th entry. A second launch then aligns the data and writes the magic word. */
#ifndef XMC_INIT_CL
#define XMC_INIT_CL
#include "fifo.cl"
#include "../pages/memoryblock.cl"
#if XMC_TRACE
#include "../layout/ring.h"
#endif

/* Returns a mask of the pages of a span that are present. */
XMC_FN xmc_u64 xmc_span_pages(XMC_GLOBAL xmcHeap *heap, xmc_u32 span) {
  xmc_u32 first = span * XMC_SPAN_PAGES;
  return first >= heap->present ? 0 : xmc_run_mask(0, heap->present - first);
}

/* Returns word w of a level of the span index in an empty heap: every present span, except perhaps the last, has runs of all lengths. */
XMC_FN xmc_u64 xmc_index_init_word(XMC_GLOBAL xmcHeap *heap, xmc_u32 level, xmc_u32 w) {
  xmc_u64 word = 0;
  xmc_u32 i;
  for (i = 0; i < 8u; i++) {
    xmc_u64 span = (xmc_u64)(w * 8u + i) << (3u * level); /* the byte's first one */
    if (span < heap->present_spans)
      word |= (xmc_u64)xmc_run_orders(xmc_span_pages(heap, (xmc_u32)span)) << (8u * i);
  }
  return word;
}

/* Fills a bitmap, all levels: the bits of the first `set` items are set, all others clear. */
XMC_FN void xmc_init_bitmap(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 set, xmc_u32 i, xmc_u32 n) {
  xmc_u32 items = xmc_bitmap_items(heap, map), level, w;
  for (level = 0; level < XMC_BITMAP_LEVELS; level++) {
    for (w = i; 64u * w < items; w += n)
      xmc_at64(heap, xmc_heap_bitmap(heap, map, level))[w] =
          64u * w < set ? xmc_run_mask(0, set - 64u * w) : 0;
    items = (items + 63u) >> 6; /* of the next level */
    set = (set + 63u) >> 6;
  }
}

/* Fills all state words, which are most of the tables. */
XMC_FN void xmc_init_words(XMC_GLOBAL xmcHeap *heap, xmc_u32 i, xmc_u32 n) {
  xmc_u32 slabs = XMC_SLAB_WORDS - 1u + heap->pages, words = slabs + heap->spans * XMC_SPAN_WORDS, w;
  for (w = i; w < words; w += n)
    *xmc_word_of(heap, w - slabs) = XMC_WORD_RETIRED;
}

/* Fills all other tables. */
XMC_FN void xmc_init_tables(XMC_GLOBAL xmcHeap *heap, xmc_u32 i, xmc_u32 n) {
  XMC_GLOBAL xmc_fifo *fifos = (XMC_GLOBAL xmc_fifo *)heap;
  xmc_u32 c, k, w;
  for (c = 0; c < XMC_ALL_CLASSES; c++)
    for (w = i; w < xmc_fifos_count(heap->fifo_table[c]); w += n)
      xmc_fifo_init(fifos + xmc_fifos_first(heap->fifo_table[c]) + w, heap->fifo_start);
  for (w = i; w < XMC_OWN_ROWS * heap->own; w += n)
    xmc_own_table(heap)[w] = 0;
  xmc_init_bitmap(heap, XMC_BUSY, 0, i, n);
  xmc_init_bitmap(heap, XMC_PARKED, 0, i, n);
  xmc_init_bitmap(heap, XMC_WHOLE, heap->present, i, n); /* nothing is watched yet */
  for (k = 0; k < XMC_INDEX_LEVELS; k++)
    for (w = i; w < (heap->spans + (8u << 3u * k) - 1u) >> (3u * k + 3u); w += n)
      xmc_at64(heap, heap->index[k])[w] = xmc_index_init_word(heap, k, w);
  for (w = i; w < heap->spans; w += n)
    *xmc_span_word(heap, w) = xmc_span_pages(heap, w);
  for (w = i; w < heap->pages; w += n)
    *xmc_page_entry(heap, w) = XMC_MAP_NONE;
  for (w = i; w < heap->pages; w += n)
    *xmc_next_hint(heap, w) = 0;
  for (w = i; w < (heap->pages + 1u) / 2u; w += n)
    *xmc_room_of(heap, 2u * w) = 0;
#if XMC_TRACE
  if (heap->trace_records && i == 0) {
    xmc_trace_ring_of(heap)->taken = 0;
    xmc_trace_ring_of(heap)->clock = XMC_CLOCK_UNIT;
  }
  for (w = i; w < heap->trace_records; w += n) /* no event was recorded */
    xmc_trace_record_of(heap, w)->state = 0;
#endif
}

XMC_FN void xmc_init_part(XMC_GLOBAL xmcHeap *heap, xmc_u32 i, xmc_u32 n) {
  xmc_init_tables(heap, i, n);
  xmc_init_words(heap, i, n);
}

/* Moves page 0 to a multiple of a page in this device's addresses, for which the layout leaves room, and writes the magic word. If
 * XMC_DATA_STAYS was added to the offset, page 0 stays where it is, because programs for one geometry were built for that place. */
XMC_FN void xmc_init_open(XMC_GLOBAL xmcHeap *heap) {
  size_t address = (size_t)heap + (size_t)heap->data;
  if (heap->data & XMC_DATA_STAYS)
    heap->data -= XMC_DATA_STAYS;
  else
    heap->data += (XMC_PAGE_BYTES - (address & (XMC_PAGE_BYTES - 1u))) & (XMC_PAGE_BYTES - 1u);
  heap->geometry = xmc_geometry_number(heap);
  heap->magic = XMC_MAGIC;
}
#endif
