/* SPDX-License-Identifier: MIT */
/* Regions: requests. Most requests, of one work-item or of the lanes of a sub-group that ask at the same time, are served from the chunk of
 * the caller's slot. For the others region.cl looks for room.
 */
#ifndef XMC_REGION_REQUEST_CL
#define XMC_REGION_REQUEST_CL
#include "region.cl"

/* Takes n units, at most XMC_REGION_MOST_UNITS, by one subtraction from the chunk of the caller's slot. Returns their place, or
 * XMC_REGION_AGAIN. The words that lead to the room word may come from a cache and be old: the tag in the room word that the subtraction
 * returns tells whether the chunk is the region's. `present`: the heap's number of pages. On GPUs nothing is subtracted if `ask` is 0.
 * *first gets 1 if this request did not fit and all before it did; or, on GPUs, if it fitted and the caller must move the slot on. */
XMC_FN xmc_unit xmc_region_try(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_map_view view, xmc_u32 present,
                               xmcRegion region, xmc_u32 n, int ask, xmc_u32 *first) {
  xmc_u32 page = xmc_region_page(region), log = xmc_region_log(region);
  xmc_u32 tag = xmc_region_tag(region), current;
  xmc_unit slot, place;
  XMC_GLOBAL xmc_u64 *room;
  xmc_u64 word;
  *first = 0;
  if (!view.ours || page >= present - 1u || log > XMC_REGION_MOST_LOG)
    return XMC_REGION_AGAIN;
  slot = xmc_page_unit(page) + xmc_near_slot(me, 1u << log);
  word = xmc_load_near64((XMC_GLOBAL xmc_u64 *)((XMC_GLOBAL char *)heap + view.data + slot * XMC_UNIT_BYTES) +
                         XMC_CHUNK_HEAD_UNITS * XMC_UNIT_BYTES / 8u);
  current = xmc_link_page1(word) - 1u;
  if (!xmc_link_is_of(word, region) || current >= present - 1u) /* a chunk has two pages or more */
    return XMC_REGION_AGAIN;
  room = xmc_room_at(heap, (xmc_u32)view.map, (xmc_u32)(view.map >> 32), current);
  word = xmc_room_take_if(ask, room, tag, n);
  place = xmc_room_place(word, tag, present, current, n);
  *first = place == XMC_REGION_AGAIN ? (xmc_u32)xmc_room_had(word)
           : XMC_SIMT                ? (xmc_u32)xmc_room_passed(word, n)
                                     : 0u;
  return place;
}

/* Takes n units for one work-item. Returns their place, XMC_REGION_NO_ROOM or XMC_REGION_BAD. `first` and `place` are what an earlier
 * xmc_region_try for this request gave (xmc_region_more says what they mean), or 0 and XMC_REGION_AGAIN if there was none. Any lanes. */
XMC_HOT_FN xmc_unit xmc_region_alone(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmcRegion region, xmc_u32 n,
                                     xmc_u32 first, xmc_unit place) {
  xmc_map_view view;
  if (!first && n <= XMC_REGION_MOST_UNITS) {
    xmc_map_view_read(heap, &view);
    place = xmc_region_try(heap, me, view, xmc_heap_present(heap), region, n, 1, &first);
    if (place != XMC_REGION_AGAIN && !first)
      return place;
  }
  return xmc_region_more(heap, me, region, n, first, place);
}

#if XMC_SIMT && !XMC_DEBUG
/* Returns the number of units that the lanes of the group before this one ask for; *total gets the units of all its lanes. */
XMC_FN xmc_u32 xmc_region_before(xmc_lanes group, xmc_u32 n, xmc_u32 *total) {
  xmc_u32 other = n ^ xmc_shuffle32(group, n, xmc_lanes_first(group)), before = 0, bit, all;
  xmc_lanes have;
  if (!xmc_lanes_or32(group, other)) {
    *total = n * xmc_lanes_count(group);
    return n * xmc_lanes_below(group);
  }
  all = xmc_lanes_or32(group, n);
  *total = 0;
  XMC_ROLLED
  for (bit = 1; bit <= all; bit += bit) {
    have = xmc_lanes_ballot(group, (n & bit) != 0);
    *total += bit * xmc_lanes_count(have);
    before += bit * xmc_lanes_below(have);
  }
  return before;
}

/* Takes n units for each lane that calls now. The lanes that ask one region of one heap ask together; if they do not get units for all,
 * each of them then asks alone. Returns the place of the lane's units, XMC_REGION_NO_ROOM or XMC_REGION_BAD. `first` and `place` are
 * what xmc_region_full gave to the lane, or 0 and XMC_REGION_AGAIN. Any lanes. */
XMC_FN xmc_unit xmc_region_lanes(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmcRegion region, xmc_u32 n,
                                 xmc_u32 first, xmc_unit place) {
  xmc_lanes alone = (xmc_lanes)1 << xmc_lane(), group = alone;
  xmc_u32 total = n, low, high;
  if (n <= XMC_REGION_LANE_UNITS && place == XMC_REGION_AGAIN) {
    group = xmc_lanes_matching(region);
    group &= xmc_lanes_matching((xmc_u64)(size_t)heap);
    xmc_region_before(group, n, &total);
  }
  XMC_ROLLED
  for (;;) {
    if (xmc_lanes_below(group) == 0)
      place = xmc_region_alone(heap, me, region, total, first, place);
    XMC_AFRESH(group);
    low = (xmc_u32)place;
    high = (xmc_u32)(place >> 32);
    xmc_lanes_share(group, xmc_lanes_first(group), &low, &high);
    place = (xmc_u64)high << 32 | low;
    if (place < XMC_REGION_AGAIN)
      return place + (group == alone ? 0 : xmc_region_before(group, n, &low));
    if (place == XMC_REGION_BAD || total == n)
      return place;
    place = XMC_REGION_AGAIN;
    group = alone;
    first = 0;
    total = n;
  }
}

/* xmc_region_before for a sub-group of 32 lanes that are all in the group */
XMC_FN xmc_u32 xmc_region_full_before(xmc_u32 lane, xmc_u32 n, xmc_u32 *total) {
  xmc_u32 sum = n, step, other;
  for (step = 1; step < 32u; step += step) {
    other = xmc_shuffle32((xmc_lanes)0xffffffffu, sum, (lane - step) & 31u);
    sum += lane >= step ? other : 0;
  }
  *total = xmc_shuffle32((xmc_lanes)0xffffffffu, sum, 31u);
  return sum - n;
}

/* Serves a sub-group of 32 lanes that all ask the same region, for up to XMC_REGION_FULL_BYTES each, by one subtraction of the first lane.
 * Returns 1 if *block is the lane's block. Returns 0 if the lanes ask differently, no units were got, or the slot must be moved on; the
 * caller then passes *first and *place, which it has set to 0 and XMC_REGION_AGAIN before this call, to xmc_region_lanes. */
XMC_FN int xmc_region_full(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmcRegion region, xmc_u64 size,
                           XMC_GLOBAL char **block, xmc_u32 *first, xmc_unit *place) {
  xmc_map_view view;
  xmc_u32 n = ((xmc_u32)size + XMC_UNIT_BYTES - 1u) / XMC_UNIT_BYTES, present, before, total, lane, high;
  int all_n;
  if (!heap || size - 1u >= XMC_REGION_FULL_BYTES)
    return 0;
  xmc_map_view_read(heap, &view);
  present = xmc_heap_present(heap);
  if (!xmc_full_same(region, (xmc_u64)(size_t)heap, n, &all_n))
    return 0;
  lane = xmc_lane();
  before = n * lane;
  total = n * 32u;
  if (!all_n)
    before = xmc_region_full_before(lane, n, &total);
  *place = xmc_region_try(heap, me, view, present, region, total, lane == 0, first);
  high = xmc_full_shuffle32((xmc_lanes)0xffffffffu, (xmc_u32)(*place >> 32), 0);
  *place = (xmc_u64)high << 32 | xmc_full_shuffle32((xmc_lanes)0xffffffffu, (xmc_u32)*place, 0);
  if (*place >= XMC_REGION_AGAIN)
    return 0;
  *place += before;
  *block = (XMC_GLOBAL char *)heap + view.data + *place * XMC_UNIT_BYTES;
  return !*first;
}
#else
XMC_FN xmc_unit xmc_region_lanes(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmcRegion region, xmc_u32 n,
                                 xmc_u32 first, xmc_unit place) {
  return xmc_region_alone(heap, me, region, n, first, place);
}
XMC_FN int xmc_region_full(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmcRegion region, xmc_u64 size,
                           XMC_GLOBAL char **block, xmc_u32 *first, xmc_unit *place) {
  (void)heap, (void)me, (void)region, (void)size, (void)block, (void)first, (void)place;
  return 0;
}
#endif

/* Returns the address of a request's first unit. If `place` is XMC_REGION_BAD or XMC_REGION_NO_ROOM, returns NULL and counts a bad
 * handle or a failed request for `bytes` bytes. As in xmalloc.cl, no function below this one asks for a work-item's id. */
XMC_FN XMC_GLOBAL char *xmc_region_result(XMC_GLOBAL xmcHeap *heap, xmcRegion region, size_t bytes,
                                          xmc_unit place) {
  if (place < XMC_REGION_AGAIN)
    return xmc_unit_address(heap, place);
  if (!xmc_heap_is_ours(heap))
    return 0;
  if (place == XMC_REGION_BAD)
    xmc_region_count_bad(heap, region);
  else
    xmc_count_failure(heap, bytes);
  return 0;
}

/* Returns the units that a request needs, or 0 if it is too large even for a chunk of its own, whose first unit is the head. */
XMC_FN xmc_u32 xmc_region_units(xmc_u64 bytes) {
  return bytes <= XMC_MAX_BLOCK_PAGES * (xmc_u64)XMC_PAGE_BYTES - XMC_UNIT_BYTES
             ? (xmc_u32)((bytes + XMC_UNIT_BYTES - 1u) / XMC_UNIT_BYTES)
             : 0;
}
#endif
