/* SPDX-License-Identifier: MIT */
/* Is room short? On GPUs used memory is looked for then before new memory is taken (calls/claim.cl, calls/turns.cl). The answer is a guess by
 * samples: a count of all pages in use would be one word where all work-items meet. */
#ifndef XMC_ROOM_CL
#define XMC_ROOM_CL
#include "bitmap.cl"
#include "memoryblock.cl"

/* A sample: one span, which `any` chooses. Its pages in use are added to a running mean, times XMC_ROOM_SCALE. What others add
 * at the same time may get lost.
 *
 * Room is short while over XMC_ROOM_USED eighths of the pages are in use, and fewer than XMC_ROOM_PAGES for each sub-group that may
 * run are free, for what slots keep for themselves does not grow with the heap. It becomes short only while the parked bitmap names
 * a Superblock: else there is no used memory that a look could find. */
#define XMC_ROOM_SCALE 32u
#define XMC_ROOM_USED 3u
#define XMC_ROOM_PAGES 12u
XMC_COLD_FN void xmc_room_look(XMC_GLOBAL xmcHeap *heap, xmc_u32 any) {
  xmc_u32 spans = xmc_heap_present_spans(heap), mean = xmc_load_relaxed32(&heap->room_used);
  xmc_u64 word = xmc_load_relaxed64(xmc_span_word(heap, xmc_any_below(any, spans)));
  mean += XMC_SPAN_PAGES - xmc_popcount32((xmc_u32)word) - xmc_popcount32((xmc_u32)(word >> 32)) -
          mean / XMC_ROOM_SCALE;
  xmc_store_relaxed32(&heap->room_used, mean);
  word = xmc_load_relaxed64(&heap->scarce);
  if (mean > XMC_ROOM_SCALE * XMC_SPAN_PAGES / 8u * XMC_ROOM_USED &&
      (XMC_SPAN_PAGES - mean / XMC_ROOM_SCALE) * spans < XMC_ROOM_PAGES * xmc_heap_lanes(heap)) {
    if (!(word & XMC_ROOM_SHORT) &&
        xmc_bitmap_find(heap, XMC_PARKED, 0, XMC_CLASSES * xmc_heap_spans(heap) * XMC_SPAN_PAGES) != XMC_NONE)
      xmc_or_hint64(&heap->scarce, XMC_ROOM_SHORT);
  } else if (word & XMC_ROOM_SHORT) {
    xmc_and_hint64(&heap->scarce, ~XMC_ROOM_SHORT);
  }
}

/* From so many pages on, 3.5 GiB, a GPU's heap is large: slots may keep more for themselves (xmc_stays_whole, xmc_carve_order). */
#ifndef XMC_MANY_PAGES
#define XMC_MANY_PAGES 0x38000u
#endif

/* Is a sample due? `one` differs from request to request. One in 16 is; in heaps of at least XMC_MANY_PAGES one in 64, for there one in 16
 * makes kernels of mixed sizes 6 % slower, while in small heaps the mean of so few samples would follow too late (bench/experiments.md).
 * If `one` is 0 no sample is due. */
XMC_FN int xmc_room_is_due(XMC_GLOBAL xmcHeap *heap, xmc_u32 one) {
  return one - 1u < (1u << 28) - 1u &&
         (xmc_heap_present_spans(heap) < XMC_MANY_PAGES / XMC_SPAN_PAGES || one < 1u << 26);
}

/* A sample where one is due: `any` says where, by another product than that which chooses the span, or few spans would ever be looked at.
 * 0 is what xmc_carve has when it got nothing: it would choose the first span each time. Not for the path of a free: a look there makes
 * some kernels a fifth slower. */
XMC_FN void xmc_room_sample(XMC_GLOBAL xmcHeap *heap, xmc_u32 any) {
  if (XMC_SIMT && xmc_room_is_due(heap, any * 0x85ebca6bu))
    xmc_room_look(heap, any);
}
#endif
