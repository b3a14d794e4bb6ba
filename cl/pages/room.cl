/* SPDX-License-Identifier: MIT */
/* Decides whether room is short. While it is, GPUs look for used memory before they take new memory (calls/claim.cl, calls/turns.cl).
 * The answer is a guess from samples, because a count of all pages in use would be one word on which all work-items contend. */
#ifndef XMC_ROOM_CL
#define XMC_ROOM_CL
#include "bitmap.cl"
#include "memoryblock.cl"

/* Takes a sample: looks at one span, which `any` chooses, and adds the number of its pages in use to a running mean, which is stored
 * times XMC_ROOM_SCALE. Samples of several work-items at the same time may get lost.
 *
 * Sets XMC_ROOM_SHORT while more than XMC_ROOM_USED eighths of the pages are in use, and fewer than XMC_ROOM_PAGES pages are free for
 * each sub-group that the device can run, because the memory that slots hold does not grow with the heap; else clears it. It sets the
 * bit only if the parked bitmap names a Superblock: else there is no used memory that a search could find. */
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

/* From this number of pages on (3.5 GiB) a GPU's heap is large: there slots may hold more memory (xmc_stays_whole, xmc_carve_order). */
#ifndef XMC_MANY_PAGES
#define XMC_MANY_PAGES 0x38000u
#endif

/* Returns 1 if a sample is due; `one` is a number that differs from request to request. One request in 16 takes a sample. In heaps of
 * at least XMC_MANY_PAGES one in 64 does, because one in 16 makes kernels of mixed sizes 6 % slower there, while in small heaps the
 * mean of so few samples would follow too late (bench/experiments.md). If `one` is 0, no sample is due. */
XMC_FN int xmc_room_is_due(XMC_GLOBAL xmcHeap *heap, xmc_u32 one) {
  return one - 1u < (1u << 28) - 1u &&
         (xmc_heap_present_spans(heap) < XMC_MANY_PAGES / XMC_SPAN_PAGES || one < 1u << 26);
}

/* Takes a sample if one is due; `any` chooses the span. Whether it is due depends on another product of `any` than the choice of the
 * span, because otherwise only few spans would ever be looked at. If `any` is 0, which xmc_carve passes if it got nothing, no sample is
 * taken: 0 would choose the first span each time. A free must not call this, because a sample there makes some kernels a fifth slower. */
XMC_FN void xmc_room_sample(XMC_GLOBAL xmcHeap *heap, xmc_u32 any) {
  if (XMC_SIMT && xmc_room_is_due(heap, any * 0x85ebca6bu))
    xmc_room_look(heap, any);
}
#endif
