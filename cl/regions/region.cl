/* SPDX-License-Identifier: MIT */
/* Regions: blocks that are freed all at once. regions/region.h draws what they consist of.
 *
 *   a request    slot of the caller -> chunk -> room word            one subtraction, most often
 *                chunk used up      -> the next one of the ring that has room, else a new one behind it
 *                over 32 KiB        -> a chunk of its own in the slot's list
 *
 * On GPUs the lanes of a sub-group that ask one region at the same time ask together, whatever their sizes, and a slot belongs
 * to a multiprocessor, whose first cache then holds what leads to the chunk. While one of its sub-groups fetches a new chunk
 * the others look into other slots, a few times, and then fetch one, too. Nobody waits: every loop goes round again only
 * because somebody else took room, put a chunk into a ring, or moved a slot on.
 */
#ifndef XMC_REGION_CL
#define XMC_REGION_CL
#include "chunk.cl"

/* What a request may come to, other than the number of its first unit, counted from page 0 */
#define XMC_REGION_NO_ROOM XMC_NONE
#define XMC_REGION_BAD (XMC_NONE - 1u)   /* no region, or no longer */
#define XMC_REGION_AGAIN (XMC_NONE - 2u) /* not by the first subtraction */

#define XMC_REGION_LOOKS 8u /* other slots to look into while somebody fetches a chunk */

XMC_FN XMC_GLOBAL xmc_u64 *xmc_region_owner(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  return xmc_chunk_link(heap, page) + 1;
}
XMC_FN XMC_GLOBAL xmc_region_slot *xmc_region_slots(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  return (XMC_GLOBAL xmc_region_slot *)xmc_page_address(heap, xmc_region_page(region) + XMC_REGION_PAGES) -
         ((size_t)1 << xmc_region_log(region));
}

/* Could it be a region of this heap, by what the page map says? Only then its words may be read or changed. */
XMC_FN int xmc_region_is_there(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  xmc_u32 page = xmc_region_page(region);
  return page < xmc_heap_pages(heap) && xmc_region_log(region) <= XMC_REGION_MOST_LOG &&
         xmc_load_relaxed64(xmc_page_entry(heap, page)) == XMC_MAP(XMC_CLASS_REGION, 0, 0, 0);
}
XMC_FN int xmc_region_is_live(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  return xmc_region_is_there(heap, region) &&
         xmc_load_acquire64(xmc_region_owner(heap, xmc_region_page(region))) == (region ^ XMC_REGION_KEY);
}

/* Counted as an invalid free of where its header would be */
XMC_COLD_FN void xmc_region_count_bad(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  xmc_count_invalid_free(heap, xmc_page_address(heap, xmc_region_page(region)));
}

/* ---- create ---- */

/* log2 of the slots of a region in which so many sub-groups allocate at the same time. On GPUs a slot is for the sub-groups
 * of a multiprocessor, up to 64. */
XMC_FN xmc_u32 xmc_region_log_for(xmc_u32 groups) {
  xmc_u32 log = 0, slots = XMC_SIMT ? (groups + 63u) >> 6 : groups;
  while (log < XMC_REGION_MOST_LOG && 1u << log < slots)
    log++;
  return log;
}

XMC_COLD_FN xmcRegion xmc_region_create(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 log) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_region_slot *slots;
  xmc_u32 page = xmc_chunk_take(heap, me, XMC_CLASS_REGION, XMC_REGION_PAGES, XMC_REGION_PAGES), tag, i;
  xmcRegion region;
  if (page == XMC_NONE)
    return 0;
  tag = xmc_region_tag_of(xmc_add_relaxed64(&heap->regions, 1));
  region = xmc_region_make(tag, log, page);
  slots = xmc_region_slots(heap, region);
  XMC_ROLLED
  for (i = 0; i < 1u << log; i++) {
    xmc_store_relaxed64(&slots[i].current, xmc_link_make(tag, 0));
    xmc_store_relaxed64(&slots[i].large, xmc_link_make(tag, 0));
  }
  xmc_store_relaxed64(xmc_chunk_link(heap, page), 0);
  xmc_store_release64(xmc_room_of(heap, page), xmc_room_make(tag, xmc_header_units(log)));
  xmc_store_release64(xmc_region_owner(heap, page), region ^ XMC_REGION_KEY);
  return region;
}

/* ---- more room ---- */

/* n units of a chunk, from page 0; or XMC_REGION_AGAIN. What lies in pages may say anything, so the result is kept
 * inside the heap, which has so many pages (xmc_heap_present). */
XMC_FN xmc_u32 xmc_chunk_serve(XMC_GLOBAL xmc_u64 *room, xmc_u32 present, xmc_u32 tag, xmc_u32 page,
                               xmc_u32 n, xmc_u32 *first) {
  xmc_u32 unit = xmc_room_take(room, tag, n, first), place = page * XMC_PAGE_UNITS + unit;
  return unit && place + n <= present * XMC_PAGE_UNITS ? place : XMC_REGION_AGAIN;
}

/* The same where it seems to fit */
XMC_FN xmc_u32 xmc_chunk_serve_if(XMC_GLOBAL xmcHeap *heap, xmc_u32 tag, xmc_u32 page, xmc_u32 n) {
  xmc_u32 first;
  if (!xmc_room_fits(heap, tag, page, n))
    return XMC_REGION_AGAIN;
  return xmc_chunk_serve(xmc_room_of(heap, page), xmc_heap_present(heap), tag, page, n, &first);
}

/* The chunk in a slot's word; XMC_NONE: none, or one that is on its way */
XMC_FN xmc_u32 xmc_slot_page(xmc_u64 word) {
  return (xmc_u32)word == XMC_REGION_FETCHING ? XMC_NONE : (xmc_u32)word - 1u;
}

/* Units from the chunks of up to `looks` other slots */
XMC_FN xmc_u32 xmc_region_elsewhere(XMC_GLOBAL xmcHeap *heap, xmcRegion region, xmc_u32 slot, xmc_u32 n,
                                    xmc_u32 looks) {
  XMC_GLOBAL xmc_region_slot *slots = xmc_region_slots(heap, region);
  xmc_u32 mask = (1u << xmc_region_log(region)) - 1u, tag = xmc_region_tag(region), i, place;
  xmc_u64 word;
  looks = looks < mask ? looks : mask;
  XMC_ROLLED
  for (i = 1; i <= looks; i++) {
    word = xmc_load_acquire64(&slots[(slot + i) & mask].current);
    place =
        xmc_link_is_of(word, tag) ? xmc_chunk_serve_if(heap, tag, xmc_slot_page(word), n) : XMC_REGION_AGAIN;
    if (place != XMC_REGION_AGAIN)
      return place;
  }
  return XMC_REGION_AGAIN;
}

/* Puts a new chunk into the ring of a slot, behind the current one, and makes it the current one. 0: the region is closed. */
XMC_FN int xmc_ring_insert(XMC_GLOBAL xmcHeap *heap, xmc_u32 tag, XMC_GLOBAL xmc_u64 *slot, xmc_u32 page) {
  xmc_u64 mine = xmc_link_make(tag, page + 1u), word, link;
  xmc_u32 current;
  XMC_ROLLED
  for (;;) {
    word = xmc_load_acquire64(slot);
    current = xmc_slot_page(word);
    if (!xmc_link_is_of(word, tag))
      return 0;
    if (current == XMC_NONE) { /* a ring of one */
      xmc_store_relaxed64(xmc_chunk_link(heap, page), mine);
      if (xmc_cas_acq_rel64(slot, word, mine) == word)
        return 1;
      continue;
    }
    if (!xmc_chunk_is_of(heap, tag, current))
      return 0;
    link = xmc_load_acquire64(xmc_chunk_link(heap, current));
    if (!xmc_link_is_of(link, tag))
      return 0;
    xmc_store_relaxed64(xmc_chunk_link(heap, page), link);
    if (xmc_cas_acq_rel64(xmc_chunk_link(heap, current), link, mine) == link) {
      xmc_cas_acq_rel64(slot, word, mine); /* else somebody moved it on */
      return 1;
    }
  }
}

/* Puts a chunk in front of a slot's list. 0: the region is closed. */
XMC_FN int xmc_list_push(XMC_GLOBAL xmcHeap *heap, xmc_u32 tag, XMC_GLOBAL xmc_u64 *list, xmc_u32 page) {
  xmc_u64 word;
  XMC_ROLLED
  for (;;) {
    word = xmc_load_acquire64(list);
    if (!xmc_link_is_of(word, tag))
      return 0;
    xmc_store_relaxed64(xmc_chunk_link(heap, page), word);
    if (xmc_cas_acq_rel64(list, word, xmc_link_make(tag, page + 1u)) == word)
      return 1;
  }
}

/* A new chunk for a slot, its last n units for the caller: for its ring, where `pages` says how many the current one has, or 0; or,
 * where n is more than such chunks are for, one of the request's own for its list. */
XMC_COLD_FN xmc_u32 xmc_region_grow(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmcRegion region, xmc_u32 at,
                                    xmc_u32 pages, xmc_u32 n) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_region_slot *slot = xmc_region_slots(heap, region) + at;
  xmc_u32 tag = xmc_region_tag(region), large = n > XMC_REGION_MOST_UNITS, page, unit;
  pages = pages ? 2u * pages : XMC_SIMT ? 4u : 2u;
  pages = pages < XMC_CHUNK_MOST_PAGES ? pages : XMC_CHUNK_MOST_PAGES;
  if (large) /* one unit or more is the head */
    pages = n / XMC_PAGE_UNITS + XMC_CHUNK_HEAD_UNITS;
  else if (xmc_scarce_near(heap))
    pages = 2u;
  page = xmc_chunk_take(heap, me, XMC_CLASS_CHUNK, pages, large ? pages : 2u);
  if (page == XMC_NONE) {
    page = large ? XMC_REGION_AGAIN : xmc_region_elsewhere(heap, region, at, n, XMC_NONE);
    return page == XMC_REGION_AGAIN ? XMC_REGION_NO_ROOM : page;
  }
  unit = xmc_chunk_units(xmc_chunk_pages(heap, page)) - n;
  xmc_store_release64(xmc_room_of(heap, page), xmc_room_make(tag, unit));
  if (large ? xmc_list_push(heap, tag, &slot->large, page) : xmc_ring_insert(heap, tag, &slot->current, page))
    return page * XMC_PAGE_UNITS + unit;
  xmc_store_relaxed64(xmc_room_of(heap, page), 0);
  xmc_chunk_give(heap, page, XMC_CLASS_CHUNK);
  return XMC_REGION_BAD;
}

/* n units for one request, by every way there is. `first`: it was the first one that did not fit the slot's chunk, so that it
 * is the one to fetch the next chunk. */
XMC_COLD_FN xmc_u32 xmc_region_more(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmcRegion region, xmc_u32 n,
                                    xmc_u32 first) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_region_slot *slots;
  xmc_u32 tag = xmc_region_tag(region), log = xmc_region_log(region), slot = 0, current, next, place,
          is_first;
  xmc_u64 word, link;
  if (!xmc_region_is_live(heap, region))
    return XMC_REGION_BAD;
  slots = xmc_region_slots(heap, region);
  slot = xmc_near_slot(me, 1u << log);
  current = XMC_NONE;
  XMC_ROLLED
  while (n <= XMC_REGION_MOST_UNITS) {
    word = xmc_load_acquire64(&slots[slot].current);
    if (!xmc_link_is_of(word, tag))
      return XMC_REGION_BAD;
    current = xmc_slot_page(word);
    if (current == XMC_NONE) {
      place = !XMC_SIMT || log == 0 ? xmc_chunk_serve_if(heap, tag, xmc_region_page(region), n)
                                    : XMC_REGION_AGAIN;
      if (place != XMC_REGION_AGAIN)
        return place;
      first =
          !XMC_SIMT || (!(xmc_u32)word && xmc_cas_relaxed64(&slots[slot].current, word,
                                                            xmc_link_make(tag, XMC_REGION_FETCHING)) == word);
      break;
    }
    if (!xmc_chunk_is_of(heap, tag, current))
      return XMC_REGION_BAD;
    place = xmc_chunk_serve(xmc_room_of(heap, current), xmc_heap_present(heap), tag, current, n, &is_first);
    if (place != XMC_REGION_AGAIN)
      return place;
    first |= is_first;
    xmc_room_lift(xmc_room_of(heap, current), tag);
    link = xmc_load_acquire64(xmc_chunk_link(heap, current));
    next = (xmc_u32)link - 1u;
    if (!xmc_link_is_of(link, tag) || next == current || !xmc_room_fits(heap, tag, next, n))
      break;
    xmc_cas_acq_rel64(&slots[slot].current, word, link);
  }
  if (XMC_SIMT && !first && n <= XMC_REGION_MOST_UNITS) {
    place = xmc_region_elsewhere(heap, region, slot, n, XMC_REGION_LOOKS);
    if (place != XMC_REGION_AGAIN)
      return place;
  }
  return xmc_region_grow(heap, me, region, slot, current == XMC_NONE ? 0 : xmc_chunk_pages(heap, current), n);
}

/* ---- requests ---- */

/* n units by one subtraction from the chunk of the caller's slot; or XMC_REGION_AGAIN, *first as above. All that it reads before
 * may be old: the room word's tag says whether it was right. */
XMC_FN xmc_u32 xmc_region_try(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_map_view view, xmcRegion region,
                              xmc_u32 n, xmc_u32 *first) {
  xmc_u32 page = xmc_region_page(region), pages = (xmc_u32)(view.map >> 32), present = xmc_heap_present(heap),
          slots = 1u << xmc_region_log(region);
  xmc_u32 tag = xmc_region_tag(region), current;
  XMC_GLOBAL char *header = (XMC_GLOBAL char *)heap + view.data + ((xmc_u64)page << XMC_PAGE_SHIFT);
  xmc_u64 owner, word;
  *first = 0;
  if (!view.ours || page >= present - 1u || slots > 1u << XMC_REGION_MOST_LOG || n > XMC_REGION_MOST_UNITS)
    return XMC_REGION_AGAIN;
  owner = xmc_load_near64((XMC_GLOBAL xmc_u64 *)header + 1);
  word = xmc_load_near64(&((XMC_GLOBAL xmc_region_slot *)(header + XMC_REGION_PAGES * XMC_PAGE_BYTES) -
                           slots + xmc_near_slot(me, slots))
                              ->current);
  current = (xmc_u32)word - 1u;
  if (owner != (region ^ XMC_REGION_KEY) || !xmc_link_is_of(word, tag) ||
      current >= pages - 1u) /* a chunk has two pages or more */
    return XMC_REGION_AGAIN;
  return xmc_chunk_serve(xmc_room_at(heap, (xmc_u32)view.map, pages, current), present, tag, current, n,
                         first);
}

/* n units for one work-item; XMC_REGION_NO_ROOM or XMC_REGION_BAD */
XMC_COLD_FN xmc_u32 xmc_region_alone(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmcRegion region, xmc_u32 n) {
  xmc_map_view view;
  xmc_u32 first, place;
  xmc_map_view_read(heap, &view);
  place = xmc_region_try(heap, me, view, region, n, &first);
  return place != XMC_REGION_AGAIN ? place : xmc_region_more(heap, me, region, n, first);
}

#if XMC_SIMT && !XMC_DEBUG
/* Where the lane's units begin among those of the group, in lanes' order; *total: of all */
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

/* n units for each lane that asks now. Those of one region ask together, then each that got nothing by itself. */
XMC_FN xmc_u32 xmc_region_lanes(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmcRegion region, xmc_u32 n) {
  xmc_lanes alone = (xmc_lanes)1 << xmc_lane(), group = alone;
  xmc_u32 before = 0, total = n, place, unused = 0;
  if (n <= XMC_REGION_LANE_UNITS) {
    group = xmc_lanes_matching(region);
    group &= xmc_lanes_matching((xmc_u64)(size_t)heap);
    before = xmc_region_before(group, n, &total);
  }
  XMC_ROLLED
  for (;;) {
    place = XMC_REGION_NO_ROOM;
    if (xmc_lanes_below(group) == 0)
      place = xmc_region_alone(heap, me, region, total);
    xmc_lanes_share(group, xmc_lanes_first(group), &place, &unused);
    if (place < XMC_REGION_AGAIN)
      return place + before;
    if (place == XMC_REGION_BAD || total == n)
      return place;
    group = alone;
    before = 0;
    total = n;
  }
}
#else
XMC_FN xmc_u32 xmc_region_lanes(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmcRegion region, xmc_u32 n) {
  return xmc_region_alone(heap, me, region, n);
}
#endif

/* The address of a request's first unit; NULL, counted, for what is none. Nothing below asks for a work-item's id, as in
 * xmalloc.cl. `bytes`: what was asked for */
XMC_FN XMC_GLOBAL char *xmc_region_result(XMC_GLOBAL xmcHeap *heap, xmcRegion region, size_t bytes,
                                          xmc_u32 place) {
  if (place < XMC_REGION_AGAIN)
    return xmc_page_address(heap, 0) + (xmc_u64)place * XMC_UNIT_BYTES;
  if (!xmc_heap_is_ours(heap))
    return 0;
  if (place == XMC_REGION_BAD)
    xmc_region_count_bad(heap, region);
  else
    xmc_count_failure(heap, bytes);
  return 0;
}

/* Units for a request; 0 if it is larger than any heap */
XMC_FN xmc_u32 xmc_region_units(xmc_u64 bytes) {
  return bytes <= XMC_MAX_PAGES * (xmc_u64)XMC_PAGE_BYTES
             ? (xmc_u32)((bytes + XMC_UNIT_BYTES - 1u) / XMC_UNIT_BYTES)
             : 0;
}
#endif
