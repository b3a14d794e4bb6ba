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

XMC_FN XMC_GLOBAL xmc_u64 *xmc_chunk_link(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  return (XMC_GLOBAL xmc_u64 *)xmc_page_address(heap, page);
}

/* Is there a chunk of the region with this tag? `page` may be any number. */
XMC_FN int xmc_chunk_is_of(XMC_GLOBAL xmcHeap *heap, xmc_u32 tag, xmc_u32 page) {
  return page < xmc_heap_pages(heap) - 1u &&
         xmc_load_relaxed64(xmc_page_entry(heap, page)) == XMC_MAP(XMC_CLASS_CHUNK, 0, 0, 0) &&
         xmc_room_tag(xmc_load_acquire64(xmc_room_of(heap, page))) == tag;
}

/* A run of pages that is nobody else's, as long as this; XMC_NONE: there is none */
XMC_FN xmc_u32 xmc_chunk_run(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 pages) {
  xmc_u32 at = 0;
  xmc_u64 mask = 0;
  xmc_search search = 0;
  if (pages > xmc_heap_present(heap))
    return XMC_NONE;
  XMC_ROLLED
  do
    at = xmc_run_take(heap, me, pages, 1u, 1u, XMC_NONE, &search, &mask);
  while (!mask && search != XMC_SEARCH_FAILED);
  if (!mask)
    return XMC_NONE;
  return xmc_run_is_shared(pages, 1u) ? at * XMC_SPAN_PAGES + xmc_lowest64(mask) : at;
}

/* A new chunk of `pages` pages, or of `least` if there is no such run, two or more, or of three for two; XMC_NONE: there is none.
 * Nobody knows it yet, and its link and room are the caller's to set. */
XMC_COLD_FN xmc_u32 xmc_chunk_take(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 pages,
                                   xmc_u32 least) {
  xmc_u32 page, i;
  XMC_ROLLED
  for (;;) {
    page = xmc_chunk_run(heap, me, pages);
    if (page == XMC_NONE) {
      if (pages <= least)
        return XMC_NONE;
      pages = least;
    } else if (pages > 2u || !(page & 1u)) {
      break;
    } else { /* its room word needs an even page and the next one */
      xmc_run_release(heap, page, pages);
      least = ++pages;
    }
  }
  XMC_ROLLED
  for (i = 1; i < pages; i++)
    xmc_store_relaxed64(xmc_page_entry(heap, page + i), XMC_MAP(XMC_CLASS_BODY, 0, 0, 0));
  xmc_store_relaxed64(xmc_room_of(heap, page), 0);
  xmc_store_relaxed64(xmc_word_of(heap, xmc_superblock_id(page, 0)), xmc_word_chunk(cls, pages));
  xmc_store_relaxed64(xmc_page_entry(heap, page), XMC_MAP(cls, 0, 0, 0));
  return page;
}

/* Gives a chunk's pages back. Whoever retires its state word owns them. */
XMC_COLD_FN void xmc_chunk_give(XMC_GLOBAL xmcHeap *heap, xmc_u32 page, xmc_u32 cls) {
  XMC_GLOBAL xmc_u64 *word = xmc_word_of(heap, xmc_superblock_id(page, 0));
  xmc_u64 w = xmc_load_relaxed64(word);
  if (xmc_word_class(w) == cls && xmc_cas_acq_rel64(word, w, XMC_WORD_RETIRED) == w)
    xmc_run_release(heap, page, xmc_word_pages(w));
}

/* Pages of a chunk that stands in a ring or list */
XMC_FN xmc_u32 xmc_chunk_pages(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  return xmc_word_pages(xmc_load_relaxed64(xmc_word_of(heap, xmc_superblock_id(page, 0))));
}

/* ---- the room ---- */

/* n units of a chunk: the first one's number in it, counted from its head, which is 0; or 0. *first: did it fit all requests
 * before this one? */
#if !XMC_DEBUG
XMC_FN xmc_u32 xmc_room_take(XMC_GLOBAL xmc_u64 *room, xmc_u32 tag, xmc_u32 n, xmc_u32 *first) {
  xmc_u64 old = xmc_add_hint64(room, 0u - (xmc_u64)n);
  xmc_u32 units = (xmc_u32)old - XMC_ROOM_BASE;
  *first = (xmc_u32)old > XMC_ROOM_BASE;
  return xmc_room_tag(old) == tag && *first && units > n ? units - n : 0;
}
#else
/* Debug builds find the blocks of a chunk from its room word, which here never falls below what was handed out. */
XMC_FN xmc_u32 xmc_room_take(XMC_GLOBAL xmc_u64 *room, xmc_u32 tag, xmc_u32 n, xmc_u32 *first) {
  xmc_u64 old = xmc_load_relaxed64(room), seen;
  xmc_u32 units;
  *first = 1;
  for (;;) {
    units = xmc_room_units(old);
    if (xmc_room_tag(old) != tag || units <= n)
      return 0;
    seen = xmc_cas_acq_rel64(room, old, old - n);
    if (seen == old)
      return units - n;
    old = seen;
  }
}
#endif

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

/* Gives back the chunks of a ring or list, from the place in a slot's word on. An exchange of each link says who owns the
 * chunk, so it ends where a ring closes, too. What the region does not own is left alone. */
XMC_COLD_FN void xmc_chain_release(XMC_GLOBAL xmcHeap *heap, xmc_u32 tag, xmc_u64 link) {
  xmc_u32 page;
  XMC_ROLLED
  while (xmc_link_is_of(link, tag)) {
    page = (xmc_u32)link - 1u;
    if (!xmc_chunk_is_of(heap, tag, page))
      return;
    link = xmc_exchange_acq_rel64(xmc_chunk_link(heap, page), 0);
    if (!xmc_link_is_of(link, tag))
      return;
    XMC_REGION_FORGET(heap, page, xmc_exchange_acq_rel64(xmc_room_of(heap, page), 0),
                      xmc_chunk_units(xmc_chunk_pages(heap, page)));
    xmc_chunk_give(heap, page, XMC_CLASS_CHUNK);
  }
}
#endif
