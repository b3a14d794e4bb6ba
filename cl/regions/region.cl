/* SPDX-License-Identifier: MIT */
/* Regions: blocks that are freed all at once. regions/region.h draws their parts.
 *
 *   a request    slot of the caller -> chunk -> room word            one subtraction, most often
 *                chunk used up      -> the next chunk of the ring if it has room, else a new chunk behind the current one
 *                over 32,752 bytes  -> a chunk of its own in the slot's list
 *
 * On GPUs the lanes of a sub-group that ask one region at the same time ask together, whatever their sizes. On NVIDIA a slot belongs
 * to half a multiprocessor, so that its first-level cache holds the words that lead to the chunk. While one sub-group fetches a new chunk
 * for the slot, the slot's other sub-groups look into a few other slots, and then fetch a chunk, too. No work-item waits for another:
 * a loop repeats only because another work-item took room, put a chunk into a ring, or moved a slot on.
 */
#ifndef XMC_REGION_CL
#define XMC_REGION_CL
#include "chunk.cl"

#define XMC_REGION_LOOKS 8u /* other slots to look into while another work-item fetches a chunk */

XMC_FN XMC_GLOBAL xmc_u64 *xmc_region_owner(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  return xmc_chunk_link(heap, page) + 1;
}
XMC_FN XMC_GLOBAL xmc_region_slot *xmc_region_slots(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  return (XMC_GLOBAL xmc_region_slot *)(xmc_page_address(heap, xmc_region_page(region)) +
                                        XMC_CHUNK_HEAD_UNITS * XMC_UNIT_BYTES);
}

/* True if the page map says that a region begins at the handle's page. `region` may be any number. The region's words must be read or
 * changed only after this test. It does not tell whether the handle is that of the region which lives there now. */
XMC_FN int xmc_region_is_there(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  xmc_u32 page = xmc_region_page(region);
  return page < xmc_heap_pages(heap) && xmc_region_log(region) <= XMC_REGION_MOST_LOG &&
         xmc_load_relaxed64(xmc_page_entry(heap, page)) == XMC_MAP(XMC_CLASS_REGION, 0, 0, 0);
}
/* True if the region lives. Acquires what its creator wrote. */
XMC_FN int xmc_region_is_live(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  return xmc_region_is_there(heap, region) &&
         xmc_load_acquire64(xmc_region_owner(heap, xmc_region_page(region))) == (region ^ XMC_REGION_KEY);
}

/* Counts a bad handle as an invalid free of the address at which its header chunk would begin. */
XMC_COLD_FN void xmc_region_count_bad(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  xmc_count_invalid_free(heap, xmc_page_address(heap, xmc_region_page(region)));
}

/* ---- create ---- */

/* Returns log2 of the number of slots for a region in which `groups` sub-groups allocate at the same time. On GPUs a slot serves
 * the sub-groups of a multiprocessor, up to 64. */
XMC_FN xmc_u32 xmc_region_log_for(xmc_u32 groups) {
  xmc_u32 log = 0, slots = XMC_SIMT ? (groups + 63u) >> 6 : groups;
  while (log < XMC_REGION_MOST_LOG && 1u << log < slots)
    log++;
  return log;
}

/* Returns the pages of the chunk that each slot gets when the region is created, or 0 if a slot gets its first chunk when it is used. On
 * GPUs all sub-groups of a multiprocessor ask at the same time, and each would fetch a chunk if there was none. All these chunks together
 * take at most a 64th of the heap. */
XMC_FN xmc_u32 xmc_region_start_pages(XMC_GLOBAL xmcHeap *heap, xmc_u32 log) {
  xmc_u32 most = xmc_heap_present(heap) >> 6 >> log, pages = XMC_CHUNK_MOST_PAGES;
  while (pages > most)
    pages /= 2u;
  return XMC_SIMT && log > 0 && pages > 1u ? pages : 0;
}

/* Gives each slot a chunk of `pages` pages, by cutting one run; does nothing if there is no such run. Relaxed stores suffice, because no
 * other work-item knows the region yet. */
XMC_FN void xmc_region_start(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmcRegion region, xmc_u32 pages) {
  XMC_GLOBAL xmc_region_slot *slots = xmc_region_slots(heap, region);
  xmc_u32 log = xmc_region_log(region), i;
  xmc_u32 page = xmc_chunk_take(heap, me, XMC_CLASS_CHUNK, pages << log, 0);
  XMC_ROLLED
  for (i = 0; page != XMC_NONE && i < 1u << log; i++, page += pages) {
    xmc_chunk_start(heap, XMC_CLASS_CHUNK, page, pages);
    xmc_store_relaxed64(xmc_room_of(heap, page),
                        xmc_room_make(xmc_region_tag(region), xmc_chunk_units(pages)));
    xmc_store_relaxed64(xmc_chunk_link(heap, page), xmc_link_make(region, page + 1u));
    xmc_store_relaxed64(&slots[i].current, xmc_link_make(region, page + 1u));
  }
}

/* Creates a region for `sub_groups` sub-groups. Returns its handle, or 0 if the heap has no run for the header chunk. Any lanes.
 * This function is called, not inlined, because of its loops: PoCL 7.1 puts barriers of its own into loops that stand in a branch of a
 * kernel, and in a work-group of one it runs the code before a barrier in a branch twice (include/README.md, troubleshooting). */
XMC_COLD_FN xmcRegion xmc_region_create(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 sub_groups) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_region_slot *slots;
  xmc_u32 page = xmc_chunk_take(heap, me, XMC_CLASS_REGION, XMC_REGION_PAGES, 0), tag, i;
  xmc_u32 log = xmc_region_log_for(sub_groups);
  xmcRegion region;
  if (page == XMC_NONE)
    return 0;
  tag = xmc_region_tag_of(xmc_add_relaxed64(&heap->regions, 1));
  region = xmc_region_make(tag, log, page);
  slots = xmc_region_slots(heap, region);
  XMC_ROLLED
  for (i = 0; i < 1u << log; i++) {
    xmc_store_relaxed64(&slots[i].current, xmc_link_make(region, 0));
    xmc_store_relaxed64(&slots[i].large, xmc_link_make(region, 0));
  }
  xmc_store_relaxed64(xmc_chunk_link(heap, page), 0);
  i = xmc_region_start_pages(heap, log);
  if (i)
    xmc_region_start(heap, me, region, i);
  xmc_store_release64(xmc_room_of(heap, page),
                      xmc_room_make(tag, xmc_chunk_units(xmc_chunk_pages(heap, page)) - (1u << log)));
  xmc_store_release64(xmc_region_owner(heap, page), region ^ XMC_REGION_KEY);
  return region;
}

/* ---- more room ---- */

/* Takes n units of a chunk. Returns their place, or XMC_REGION_AGAIN if they do not fit. *first gets 1 if all requests before fitted. */
XMC_FN xmc_unit xmc_chunk_serve(XMC_GLOBAL xmcHeap *heap, xmc_u32 tag, xmc_u32 page, xmc_u32 n,
                                xmc_u32 *first) {
  xmc_u64 old = xmc_room_take(xmc_room_of(heap, page), tag, n);
  *first = (xmc_u32)xmc_room_had(old);
  return xmc_room_place(old, tag, xmc_heap_present(heap), page, n);
}

/* The same, but subtracts only if a plain look at the room word says that n units fit. */
XMC_FN xmc_unit xmc_chunk_serve_if(XMC_GLOBAL xmcHeap *heap, xmc_u32 tag, xmc_u32 page, xmc_u32 n) {
  xmc_u32 first;
  return xmc_room_fits(heap, tag, page, n) ? xmc_chunk_serve(heap, tag, page, n, &first) : XMC_REGION_AGAIN;
}

/* The same for the header chunk, whose units begin behind the slots. */
XMC_FN xmc_unit xmc_header_serve(XMC_GLOBAL xmcHeap *heap, xmcRegion region, xmc_u32 n) {
  xmc_unit place = xmc_chunk_serve_if(heap, xmc_region_tag(region), xmc_region_page(region), n);
  return place == XMC_REGION_AGAIN ? place : place + (1u << xmc_region_log(region));
}

/* Returns the page of the chunk that a slot's word names, or XMC_NONE if the slot has no chunk or its first one is being fetched. One
 * comparison tests for both, because LLVM turns two into a switch over 28 bits, which Oclgrind executes wrongly. */
XMC_FN xmc_u32 xmc_slot_page(xmc_u64 word) {
  xmc_u32 page1 = xmc_link_page1(word);
  return ((page1 + 1u) & XMC_REGION_FETCHING) < 2u ? XMC_NONE : page1 - 1u;
}

/* Takes n units from the current chunk of one of up to `looks` other slots. Returns the place, or XMC_REGION_AGAIN if none has room. */
XMC_FN xmc_unit xmc_region_elsewhere(XMC_GLOBAL xmcHeap *heap, xmcRegion region, xmc_u32 slot, xmc_u32 n,
                                     xmc_u32 looks) {
  XMC_GLOBAL xmc_region_slot *slots = xmc_region_slots(heap, region);
  xmc_u32 mask = (1u << xmc_region_log(region)) - 1u, tag = xmc_region_tag(region), i;
  xmc_unit place;
  xmc_u64 word;
  looks = looks < mask ? looks : mask;
  XMC_ROLLED
  for (i = 1; i <= looks; i++) {
    word = xmc_load_acquire64(&slots[(slot + i) & mask].current);
    place = xmc_link_is_of(word, region) ? xmc_chunk_serve_if(heap, tag, xmc_slot_page(word), n)
                                         : XMC_REGION_AGAIN;
    if (place != XMC_REGION_AGAIN)
      return place;
  }
  return XMC_REGION_AGAIN;
}

/* Puts a new chunk, whose room word the caller has set, into the ring of a slot, behind the current chunk, and makes it the current one.
 * Returns 1, or 0 if the region is closed; then the caller still owns the chunk. */
XMC_FN int xmc_ring_insert(XMC_GLOBAL xmcHeap *heap, xmcRegion region, XMC_GLOBAL xmc_u64 *slot,
                           xmc_u32 page) {
  xmc_u64 mine = xmc_link_make(region, page + 1u), word, link;
  xmc_u32 current;
  XMC_ROLLED
  for (;;) {
    word = xmc_load_acquire64(slot);
    current = xmc_slot_page(word);
    if (!xmc_link_is_of(word, region))
      return 0;
    if (current == XMC_NONE) { /* a ring of one */
      xmc_store_relaxed64(xmc_chunk_link(heap, page), mine);
      if (xmc_cas_acq_rel64(slot, word, mine) == word)
        return 1;
      continue;
    }
    if (!xmc_chunk_is_of(heap, xmc_region_tag(region), current))
      return 0;
    link = xmc_load_acquire64(xmc_chunk_link(heap, current));
    if (!xmc_link_is_of(link, region))
      return 0;
    xmc_store_relaxed64(xmc_chunk_link(heap, page), link);
    if (xmc_cas_acq_rel64(xmc_chunk_link(heap, current), link, mine) == link) {
      xmc_cas_acq_rel64(slot, word, mine); /* if it fails, another work-item moved the slot on */
      return 1;
    }
  }
}

/* Puts a chunk in front of a slot's list. Returns 1, or 0 if the region is closed; then the caller still owns the chunk. */
XMC_FN int xmc_list_push(XMC_GLOBAL xmcHeap *heap, xmcRegion region, XMC_GLOBAL xmc_u64 *list, xmc_u32 page) {
  xmc_u64 word;
  XMC_ROLLED
  for (;;) {
    word = xmc_load_acquire64(list);
    if (!xmc_link_is_of(word, region))
      return 0;
    xmc_store_relaxed64(xmc_chunk_link(heap, page), word);
    if (xmc_cas_acq_rel64(list, word, xmc_link_make(region, page + 1u)) == word)
      return 1;
  }
}

/* Takes a new chunk from the heap and gives it to the caller's slot: to its ring, with twice the `pages` pages of the current chunk (0 if
 * there is none); or, if n is more than XMC_REGION_MOST_UNITS, to its list, as the request's own chunk. If `place` is XMC_REGION_AGAIN, the
 * caller gets the last n units of the new chunk; otherwise it has the units at `place` already. If no run of pages is free, all other
 * slots are tried. Returns the place of the caller's units, XMC_REGION_NO_ROOM, or XMC_REGION_BAD if the region was closed meanwhile. */
XMC_COLD_FN xmc_unit xmc_region_grow(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmcRegion region, xmc_u32 pages,
                                     xmc_u32 n, xmc_unit place) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_region_slot *slot;
  xmc_u32 page, unit;
  pages = pages ? 2u * pages : XMC_SIMT ? 4u : 2u;
  pages = pages < XMC_CHUNK_MOST_PAGES ? pages : XMC_CHUNK_MOST_PAGES;
  if (n > XMC_REGION_MOST_UNITS) /* one unit or more is the head */
    pages = n / XMC_PAGE_UNITS + XMC_CHUNK_HEAD_UNITS;
  else if (xmc_scarce_near(heap))
    pages = 2u;
  page = xmc_chunk_take(heap, me, XMC_CLASS_CHUNK, pages, n <= XMC_REGION_MOST_UNITS);
  XMC_AFRESH64(heap);
  XMC_AFRESH64(region);
  XMC_AFRESH(n);
  unit = xmc_near_slot(me, 1u << xmc_region_log(region));
  if (page == XMC_NONE && place == XMC_REGION_AGAIN && n <= XMC_REGION_MOST_UNITS)
    place = xmc_region_elsewhere(heap, region, unit, n, XMC_NONE);
  if (page == XMC_NONE)
    return place == XMC_REGION_AGAIN ? XMC_REGION_NO_ROOM : place;
  slot = xmc_region_slots(heap, region) + unit;
  unit = xmc_chunk_units(xmc_chunk_pages(heap, page)) - (place == XMC_REGION_AGAIN ? n : 0);
  xmc_store_release64(xmc_room_of(heap, page), xmc_room_make(xmc_region_tag(region), unit));
  if (n > XMC_REGION_MOST_UNITS ? xmc_list_push(heap, region, &slot->large, page)
                                : xmc_ring_insert(heap, region, &slot->current, page))
    return place == XMC_REGION_AGAIN ? xmc_page_unit(page) + unit : place;
  xmc_store_relaxed64(xmc_room_of(heap, page), 0);
  xmc_chunk_give(heap, page, XMC_CLASS_CHUNK, xmc_word_chunk(XMC_CLASS_CHUNK, xmc_chunk_pages(heap, page)));
  return XMC_REGION_BAD;
}

/* Returns 1 if the chunk behind a slot's current one is another one and seems to have room for n units. *link gets the link to it. */
XMC_FN int xmc_ring_next(XMC_GLOBAL xmcHeap *heap, xmcRegion region, xmc_u32 current, xmc_u32 n,
                         xmc_u64 *link) {
  *link = xmc_load_acquire64(xmc_chunk_link(heap, current));
  return xmc_link_is_of(*link, region) && xmc_link_page1(*link) - 1u != current &&
         xmc_room_fits(heap, xmc_region_tag(region), xmc_link_page1(*link) - 1u, n);
}

/* Serves one request for n units by all the steps above. Returns the place, XMC_REGION_NO_ROOM, or XMC_REGION_BAD if the region does not
 * live. `first` is 1 if this request was the first that did not fit the slot's chunk; this one then fetches the next chunk. `place` is
 * XMC_REGION_AGAIN, or the units that the request got from the slot's chunk and by which it left that chunk nearly used up. In the
 * second case this call only moves the slot on, to a new chunk if the ring has none with room, while other requests take the rest. */
XMC_COLD_FN xmc_unit xmc_region_more(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmcRegion region, xmc_u32 n,
                                     xmc_u32 first, xmc_unit place) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_region_slot *slots;
  xmc_u32 tag = xmc_region_tag(region), log = xmc_region_log(region), slot = 0, current, is_first;
  xmc_u64 word, link;
  if (place != XMC_REGION_AGAIN && log == 0)
    return place; /* in a region of one slot few work-items allocate: a chunk ahead of need costs more than it saves */
  if (!xmc_region_is_live(heap, region))
    return XMC_REGION_BAD;
  slots = xmc_region_slots(heap, region);
  slot = xmc_near_slot(me, 1u << log);
  current = XMC_NONE;
  XMC_ROLLED
  while (n <= XMC_REGION_MOST_UNITS) {
    word = xmc_load_acquire64(&slots[slot].current);
    if (!xmc_link_is_of(word, region))
      return XMC_REGION_BAD;
    current = xmc_slot_page(word);
    if (current == XMC_NONE) {
      first = !XMC_SIMT || log == 0 ||
              (!xmc_link_page1(word) &&
               xmc_cas_relaxed64(&slots[slot].current, word, word | XMC_REGION_FETCHING) == word);
      if (!XMC_SIMT || log == 0)
        place = xmc_header_serve(heap, region, n);
      if (place != XMC_REGION_AGAIN)
        return place;
      break;
    }
    if (!xmc_chunk_is_of(heap, tag, current))
      return XMC_REGION_BAD;
    if (place == XMC_REGION_AGAIN) {
      place = xmc_chunk_serve(heap, tag, current, n, &is_first);
      if (place != XMC_REGION_AGAIN)
        return place;
      first |= is_first;
      xmc_room_lift(xmc_room_of(heap, current), tag);
    }
    if (!xmc_ring_next(heap, region, current, place == XMC_REGION_AGAIN ? n : n + XMC_ROOM_AHEAD_UNITS,
                       &link))
      break;
    xmc_cas_acq_rel64(&slots[slot].current, word, link);
    if (place != XMC_REGION_AGAIN)
      return place;
  }
  if (XMC_SIMT && !first && n <= XMC_REGION_MOST_UNITS) {
    place = xmc_region_elsewhere(heap, region, slot, n, XMC_REGION_LOOKS);
    if (place != XMC_REGION_AGAIN)
      return place;
  }
  return xmc_region_grow(heap, me, region, current == XMC_NONE ? 0 : xmc_chunk_pages(heap, current), n,
                         place);
}
#endif
