/* SPDX-License-Identifier: MIT */
/* The chunks of regions: from runs of pages of the heap to room for blocks, and back (regions/region.h has the words).
 *
 *   xmc_chunk_take  ->  in a ring or list  ->  xmc_chain_release
 *
 * Who took a run owns it until it stands in a ring or list. Who exchanges a chunk's link owns it again, and gives it back. A
 * work-item that stops in between keeps that one chunk.
 */
#ifndef XMC_REGION_CHUNK_CL
#define XMC_REGION_CHUNK_CL
#include "region.h"

/* What a request comes to: the number of its first unit, counted from page 0, or one of these. 64 bits, for there are 2^34 units
 * in the largest heap. */
typedef xmc_u64 xmc_unit;
#define XMC_REGION_NO_ROOM (~(xmc_unit)0)
#define XMC_REGION_BAD (~(xmc_unit)1)   /* no region, or no longer */
#define XMC_REGION_AGAIN (~(xmc_unit)2) /* not by the first subtraction */

XMC_FN XMC_GLOBAL xmc_u64 *xmc_chunk_link(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  return (XMC_GLOBAL xmc_u64 *)xmc_page_address(heap, page);
}

/* Is there a chunk of the region with this tag? `page` may be any number. */
XMC_FN int xmc_chunk_is_of(XMC_GLOBAL xmcHeap *heap, xmc_u32 tag, xmc_u32 page) {
  return page < xmc_heap_pages(heap) - 1u &&
         xmc_load_relaxed64(xmc_page_entry(heap, page)) == XMC_MAP(XMC_CLASS_CHUNK, 0, 0, 0) &&
         xmc_room_tag(xmc_load_acquire64(xmc_room_of(heap, page))) == tag;
}

/* A chunk begins here. Its further pages' entries are there. */
XMC_FN void xmc_chunk_start(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 page, xmc_u32 pages) {
  xmc_store_relaxed64(xmc_room_of(heap, page), 0);
  xmc_store_relaxed64(xmc_word_of(heap, xmc_superblock_id(page, 0)), xmc_word_chunk(cls, pages));
  xmc_store_relaxed64(xmc_page_entry(heap, page), XMC_MAP(cls, 0, 0, 0));
}

/* A new chunk of `pages` pages, two or more; or of two if there is no such run, and `any`. XMC_NONE: there is none. Nobody knows it
 * yet, and its link and room are the caller's to set. */
XMC_COLD_FN xmc_u32 xmc_chunk_take(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 pages,
                                   int any) {
  xmc_u32 page = 0;
  xmc_u64 mask = 0;
  xmc_search search = 0;
  XMC_ROLLED
  for (;;) {
    if (pages > xmc_heap_present(heap))
      search = XMC_SEARCH_FAILED;
    else
      page = xmc_run_take(heap, me, pages, 1u, 1u, XMC_NONE, &search, &mask);
    if (mask)
      break;
    if (search != XMC_SEARCH_FAILED)
      continue;
    if (!any || pages == XMC_REGION_PAGES)
      return XMC_NONE;
    pages = XMC_REGION_PAGES;
    search = 0;
  }
  if (xmc_run_is_shared(pages, 1u))
    page = page * XMC_SPAN_PAGES + xmc_lowest64(mask);
  xmc_body_enter(heap, page + 1u, page + pages);
  xmc_chunk_start(heap, cls, page, pages);
  return page;
}

/* Gives back the pages of a chunk whose state word is w. Whoever retires it owns them. By hints, for one who waited for what was written
 * there; but in debug builds a free writes to what it frees. */
XMC_COLD_FN void xmc_chunk_give(XMC_GLOBAL xmcHeap *heap, xmc_u32 page, xmc_u32 cls, xmc_u64 w) {
  XMC_GLOBAL xmc_u64 *word = xmc_word_of(heap, xmc_superblock_id(page, 0));
  xmc_u32 pages = xmc_word_pages(w);
  if (xmc_word_class(w) != cls || xmc_cas_hint64(word, w, XMC_WORD_RETIRED) != w)
    return;
  if (!XMC_DEBUG && pages <= XMC_CHUNK_MOST_PAGES && xmc_popcount32(pages) == 1u && !(page & (pages - 1u)))
    xmc_run_gave(heap, page, pages);
  else
    xmc_run_release(heap, page, pages);
}

/* Pages of a chunk that stands in a ring or list */
XMC_FN xmc_u32 xmc_chunk_pages(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  return xmc_word_pages(xmc_load_relaxed64(xmc_word_of(heap, xmc_superblock_id(page, 0))));
}

/* ---- the room ---- */

/* Takes n units of a chunk. Returns its room word before. */
#if !XMC_DEBUG
XMC_FN xmc_u64 xmc_room_take(XMC_GLOBAL xmc_u64 *room, xmc_u32 tag, xmc_u32 n) {
  (void)tag;
  return xmc_add_hint64(room, 0u - (xmc_u64)n);
}
#else
/* Debug builds find the blocks of a chunk from its room word, which here never falls below what was handed out. */
XMC_FN xmc_u64 xmc_room_take(XMC_GLOBAL xmc_u64 *room, xmc_u32 tag, xmc_u32 n) {
  xmc_u64 old = xmc_load_relaxed64(room), seen;
  while (xmc_room_tag(old) == tag && xmc_room_units(old) > n) {
    seen = xmc_cas_acq_rel64(room, old, old - n);
    if (seen == old)
      break;
    old = seen;
  }
  return old;
}
#endif

XMC_FN xmc_unit xmc_page_unit(xmc_u32 page) { return (xmc_unit)page * XMC_PAGE_UNITS; }
XMC_FN XMC_GLOBAL char *xmc_unit_address(XMC_GLOBAL xmcHeap *heap, xmc_unit place) {
  return xmc_page_address(heap, 0) + place * XMC_UNIT_BYTES;
}

/* What xmc_room_take returned means: the place of the first of n units, counted from page 0; or XMC_REGION_AGAIN, they did not fit. What
 * lies in pages and tables may say anything, so the result is kept inside the heap, which has so many pages (xmc_heap_present). */
XMC_FN xmc_unit xmc_room_place(xmc_u64 old, xmc_u32 tag, xmc_u32 present, xmc_u32 page, xmc_u32 n) {
  xmc_u32 left = (xmc_u32)old - XMC_ROOM_BASE - n;
  xmc_unit place = xmc_page_unit(page) + left, last = xmc_page_unit(present) - n;
  int fits = (xmc_room_tag(old) == tag) & (left - 1u < XMC_ROOM_MOST) & (place <= last);
  return fits ? place : XMC_REGION_AGAIN;
}
/* … that all requests before this one fitted. */
XMC_FN int xmc_room_had(xmc_u64 old) { return (xmc_u32)old > XMC_ROOM_BASE; }
/* … for one that fitted: that this was the one to leave no more than XMC_ROOM_AHEAD_UNITS. */
XMC_FN int xmc_room_passed(xmc_u64 old, xmc_u32 n) {
  return (xmc_u32)old - XMC_ROOM_BASE - XMC_ROOM_AHEAD_UNITS - 1u < n;
}

/* Does a chunk of the region seem to have room for n units? `page` may be any number; a chunk has two pages or more. */
XMC_FN int xmc_room_fits(XMC_GLOBAL xmcHeap *heap, xmc_u32 tag, xmc_u32 page, xmc_u32 n) {
  xmc_u64 room;
  if (page >= xmc_heap_pages(heap) - 1u)
    return 0;
  room = xmc_load_relaxed64(xmc_room_of(heap, page));
  return xmc_room_tag(room) == tag && xmc_room_units(room) > n;
}

/* After a request that did not fit: keeps the number away from 0, where it would take from the tag. Between two calls of
 * this on one chunk there are at most as many requests as run at the same time, less than 2^20 of up to 2^11 units. */
XMC_FN void xmc_room_lift(XMC_GLOBAL xmc_u64 *room, xmc_u32 tag) {
  xmc_u64 old = xmc_load_relaxed64(room);
  if (xmc_room_tag(old) == tag && (xmc_u32)old < XMC_ROOM_LOW)
    xmc_cas_relaxed64(room, old, xmc_room_make(tag, 0));
}

/* Gives back the chunks of a ring or list, from the link in a slot on, which the caller acquired. An exchange of each link says who
 * owns the chunk. What the region does not own is left alone. The walk ends where a ring closes: the chunk there was given back first. A
 * request may have taken its pages for a new chunk since, which it puts into the ring of another slot that is still open. */
XMC_COLD_FN void xmc_chain_release(XMC_GLOBAL xmcHeap *heap, xmcRegion region, xmc_u64 link) {
  xmc_u32 page;
  xmc_u64 begin = link, entry, room, word;
  XMC_ROLLED
  while (xmc_link_is_of(link, region)) {
    page = xmc_link_page1(link) - 1u;
    if (page >= xmc_heap_pages(heap) - 1u)
      return;
    entry = xmc_load_relaxed64(xmc_page_entry(heap, page)); /* three loads at once */
    room = xmc_load_relaxed64(xmc_room_of(heap, page));
    word = xmc_load_relaxed64(xmc_word_of(heap, xmc_superblock_id(page, 0)));
    if (entry != XMC_MAP(XMC_CLASS_CHUNK, 0, 0, 0) || xmc_room_tag(room) != xmc_region_tag(region))
      return;
    link = xmc_exchange_hint64(xmc_chunk_link(heap, page), 0);
    room = xmc_exchange_hint64(xmc_room_of(heap, page), 0);
    if (!xmc_link_is_of(link, region))
      return;
    XMC_REGION_FORGET(heap, page, room, xmc_word_pages(word), 0);
    xmc_chunk_give(heap, page, XMC_CLASS_CHUNK, word);
    if (link == begin)
      return;
  }
}
#endif
