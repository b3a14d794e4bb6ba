/* SPDX-License-Identifier: MIT */
/* Regions: blocks that are freed all at once. regions/region.h draws what they consist of.
 *
 *   a request    slot of the caller -> chunk -> room word            one subtraction, most often
 *                chunk used up      -> the next one of the ring that has room, else a new one behind it
 *                over 32,752 bytes  -> a chunk of its own in the slot's list
 *
 * On GPUs the lanes of a sub-group that ask one region at the same time ask together, whatever their sizes, and on NVIDIA a slot
 * belongs to half a multiprocessor, whose first cache then holds what leads to the chunk. While one of its sub-groups fetches a new chunk
 * the others look into other slots, a few times, and then fetch one, too. Nobody waits: every loop goes round again only
 * because somebody else took room, put a chunk into a ring, or moved a slot on.
 */
#ifndef XMC_REGION_CL
#define XMC_REGION_CL
#include "chunk.cl"

#define XMC_REGION_LOOKS 8u /* other slots to look into while somebody fetches a chunk */

XMC_FN XMC_GLOBAL xmc_u64 *xmc_region_owner(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  return xmc_chunk_link(heap, page) + 1;
}
XMC_FN XMC_GLOBAL xmc_region_slot *xmc_region_slots(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  return (XMC_GLOBAL xmc_region_slot *)(xmc_page_address(heap, xmc_region_page(region)) +
                                        XMC_CHUNK_HEAD_UNITS * XMC_UNIT_BYTES);
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

/* Pages of the chunk that each slot has from the start. On GPUs all sub-groups of a multiprocessor ask at the same time, and each would fetch
 * a chunk if there was none; but no region takes more than a 64th of the heap for that. 0: a slot gets its first chunk when it is used. */
XMC_FN xmc_u32 xmc_region_start_pages(XMC_GLOBAL xmcHeap *heap, xmc_u32 log) {
  xmc_u32 most = xmc_heap_present(heap) >> 6 >> log, pages = XMC_CHUNK_MOST_PAGES;
  while (pages > most)
    pages /= 2u;
  return XMC_SIMT && log > 0 && pages > 1u ? pages : 0;
}

/* Chunks of `pages` pages for all slots, by cutting one run. Nobody knows the region yet. */
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

/* Called, with the loops that it needs: in a work-group of one, PoCL 7.1 runs what stands before a barrier that only some paths
 * reach twice, and makes such barriers itself, in loops that a kernel has in one of its branches (include/README.md, troubleshooting). */
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

/* n units of a chunk. *first: did it fit all requests before this one? */
XMC_FN xmc_unit xmc_chunk_serve(XMC_GLOBAL xmcHeap *heap, xmc_u32 tag, xmc_u32 page, xmc_u32 n,
                                xmc_u32 *first) {
  xmc_u64 old = xmc_room_take(xmc_room_of(heap, page), tag, n);
  *first = (xmc_u32)xmc_room_had(old);
  return xmc_room_place(old, tag, xmc_heap_present(heap), page, n);
}

/* The same where it seems to fit */
XMC_FN xmc_unit xmc_chunk_serve_if(XMC_GLOBAL xmcHeap *heap, xmc_u32 tag, xmc_u32 page, xmc_u32 n) {
  xmc_u32 first;
  return xmc_room_fits(heap, tag, page, n) ? xmc_chunk_serve(heap, tag, page, n, &first) : XMC_REGION_AGAIN;
}

/* The same of the header chunk */
XMC_FN xmc_unit xmc_header_serve(XMC_GLOBAL xmcHeap *heap, xmcRegion region, xmc_u32 n) {
  xmc_unit place = xmc_chunk_serve_if(heap, xmc_region_tag(region), xmc_region_page(region), n);
  return place == XMC_REGION_AGAIN ? place : place + (1u << xmc_region_log(region));
}

/* The chunk in a slot's word; XMC_NONE: none, or one that is on its way. By one comparison: of two of the same 28 bits LLVM makes a switch
 * over 28 bits, which Oclgrind takes for another one. */
XMC_FN xmc_u32 xmc_slot_page(xmc_u64 word) {
  xmc_u32 page1 = xmc_link_page1(word);
  return ((page1 + 1u) & XMC_REGION_FETCHING) < 2u ? XMC_NONE : page1 - 1u;
}

/* Units from the chunks of up to `looks` other slots */
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

/* Puts a new chunk into the ring of a slot, behind the current one, and makes it the current one. 0: the region is closed. */
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
      xmc_cas_acq_rel64(slot, word, mine); /* else somebody moved it on */
      return 1;
    }
  }
}

/* Puts a chunk in front of a slot's list. 0: the region is closed. */
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

/* A new chunk for the caller's slot: for its ring, where `pages` says how many the current one has, or 0; or, where n is more than such
 * chunks are for, one of the request's own for its list. Its last n units are the caller's. `place`: as xmc_region_more has it */
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

/* The chunk behind a slot's current one, if it has room for n units; 0: not so. In *link what leads there */
XMC_FN int xmc_ring_next(XMC_GLOBAL xmcHeap *heap, xmcRegion region, xmc_u32 current, xmc_u32 n,
                         xmc_u64 *link) {
  *link = xmc_load_acquire64(xmc_chunk_link(heap, current));
  return xmc_link_is_of(*link, region) && xmc_link_page1(*link) - 1u != current &&
         xmc_room_fits(heap, xmc_region_tag(region), xmc_link_page1(*link) - 1u, n);
}

/* n units for one request, by every way there is. `first`: it was the first one that did not fit the slot's chunk, so that it
 * is the one to fetch the next chunk. `place`: XMC_REGION_AGAIN; or what the request got from the slot's chunk, which it left nearly used
 * up. Then it moves the slot on, to a new chunk if the ring has none, while others take what is left. */
XMC_COLD_FN xmc_unit xmc_region_more(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmcRegion region, xmc_u32 n,
                                     xmc_u32 first, xmc_unit place) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_region_slot *slots;
  xmc_u32 tag = xmc_region_tag(region), log = xmc_region_log(region), slot = 0, current, is_first;
  xmc_u64 word, link;
  if (place != XMC_REGION_AGAIN && log == 0)
    return place; /* where only few allocate, a chunk too many is not worth it */
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
