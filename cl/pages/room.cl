/* SPDX-License-Identifier: MIT */
/* Decides on GPUs whether room is short, and whether used memory is looked for before new memory is taken (calls/claim.cl,
 * calls/turns.cl). The answers are guesses from samples, because a count of all pages in use would be one word on which all work-items
 * contend. */
#ifndef XMC_ROOM_CL
#define XMC_ROOM_CL
#include "bitmap.cl"
#include "memoryblock.cl"

/* The word `scarce`. xmc_room_near returns all its bits. xmc_scarce_near and xmc_scarce_look return a value other than 0 once a turn of
 * the last resort has ever found nothing (XMC_SCARCE_ONCE). xmc_is_scarce returns 1 if that happened since a Superblock or slab was
 * last started (XMC_SCARCE_NOW): then a Superblock that does not get the caller's seat is better parked, where all searches find it,
 * than in the ring. xmc_room_is_short returns 1 if XMC_ROOM_SHORT is set. "Near": as old as the caller's last acquire, or newer. On NVIDIA
 * claims of blocks do not acquire, so it may be old for long where a caller only claims blocks. */
XMC_FN xmc_u32 xmc_room_near(XMC_GLOBAL xmcHeap *heap) {
  return xmc_load_near32((XMC_GLOBAL const xmc_u32 *)&heap->scarce);
}
XMC_FN xmc_u32 xmc_scarce_near(XMC_GLOBAL xmcHeap *heap) {
  return xmc_room_near(heap) & ~(xmc_u32)XMC_ROOM_BITS;
}
XMC_FN xmc_u32 xmc_scarce_look(XMC_GLOBAL xmcHeap *heap) {
  return xmc_load_relaxed32((XMC_GLOBAL const xmc_u32 *)&heap->scarce) & ~(xmc_u32)XMC_ROOM_BITS;
}
XMC_FN int xmc_is_scarce(XMC_GLOBAL xmcHeap *heap) {
  return (xmc_load_relaxed64(&heap->scarce) & XMC_SCARCE_NOW) != 0;
}
XMC_FN int xmc_room_is_short(XMC_GLOBAL xmcHeap *heap) { return (xmc_room_near(heap) & XMC_ROOM_SHORT) != 0; }

/* The header's word room_used has, in its lower half, the running mean of a span's pages in use, times XMC_ROOM_SCALE; in its upper half
 * the tries: how many more searches for used memory may find nothing before requests take new memory at once. Changes by several
 * work-items at the same time may get lost. */
#define XMC_ROOM_SCALE 32u
#define XMC_ROOM_MEAN(used) (0xffffu & (used))
#define XMC_ROOM_TRIES(used) ((used) >> 16)
#define XMC_ROOM_WORD(mean, tries) ((mean) | (tries) << 16)

/* Takes a sample: looks at one span, which `any` chooses, and adds the number of its pages in use to the mean.
 *
 * Room is short (XMC_ROOM_SHORT) while more than XMC_ROOM_USED eighths of the pages are in use, and fewer than XMC_ROOM_PAGES pages are
 * free for each sub-group that the device can run, because the memory that slots hold does not grow with the heap. Then Superblocks of a
 * page or more that become wholly free go back (xmc_stays_whole, xmc_superblock_released), unless they were used up before.
 *
 * While room is short and tries are left, used memory is looked for first (XMC_USED_FIRST). A search that finds some makes the tries
 * XMC_ROOM_MOST_TRIES, if fewer than half as many are left (xmc_room_found); one that finds none (`missed`) takes one away. Without tries
 * requests take new memory at once, and each further sample gives XMC_ROOM_FEW_TRIES, if the parked bitmap names a Superblock: else there
 * is no used memory to find. */
#define XMC_ROOM_USED 3u
#define XMC_ROOM_PAGES 12u
#define XMC_ROOM_MOST_TRIES 64u
#define XMC_ROOM_FEW_TRIES 4u
XMC_COLD_FN void xmc_room_look(XMC_GLOBAL xmcHeap *heap, xmc_u32 any, int missed) {
  xmc_u32 spans = xmc_heap_present_spans(heap), used = xmc_load_relaxed32(&heap->room_used);
  xmc_u32 mean = XMC_ROOM_MEAN(used), tries = XMC_ROOM_TRIES(used);
  xmc_u64 word = xmc_load_relaxed64(xmc_span_word(heap, xmc_any_below(any, spans))), bits = 0;
  int is_short;
  mean += XMC_SPAN_PAGES - xmc_popcount32((xmc_u32)word) - xmc_popcount32((xmc_u32)(word >> 32)) -
          mean / XMC_ROOM_SCALE;
  is_short = mean > XMC_ROOM_SCALE * XMC_SPAN_PAGES / 8u * XMC_ROOM_USED &&
             (XMC_SPAN_PAGES - mean / XMC_ROOM_SCALE) * spans < XMC_ROOM_PAGES * xmc_heap_lanes(heap);
  if (missed)
    tries -= tries > 0;
  else if (is_short && !tries &&
           xmc_bitmap_find(heap, XMC_PARKED, 0, XMC_CLASSES * xmc_heap_spans(heap) * XMC_SPAN_PAGES) !=
               XMC_NONE)
    tries = XMC_ROOM_FEW_TRIES;
  xmc_store_relaxed32(&heap->room_used, XMC_ROOM_WORD(mean, tries));
  word = xmc_load_relaxed64(&heap->scarce);
  if (is_short)
    bits = tries ? XMC_ROOM_BITS : XMC_ROOM_SHORT;
  if (bits & ~word)
    xmc_or_hint64(&heap->scarce, bits);
  if (word & XMC_ROOM_BITS & ~bits)
    xmc_and_hint64(&heap->scarce, ~(XMC_ROOM_BITS & ~bits));
}

/* Called after a search for used memory found some. It stores only if more than half of the tries are gone, because a store costs time. */
XMC_FN void xmc_room_found(XMC_GLOBAL xmcHeap *heap) {
  xmc_u32 used = xmc_load_relaxed32(&heap->room_used);
  if (XMC_ROOM_TRIES(used) < XMC_ROOM_MOST_TRIES / 2u)
    xmc_store_relaxed32(&heap->room_used, XMC_ROOM_WORD(XMC_ROOM_MEAN(used), XMC_ROOM_MOST_TRIES));
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
    xmc_room_look(heap, any, 0);
}
#endif
