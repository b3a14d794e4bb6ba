/* SPDX-License-Identifier: MIT */
/* The chunks of regions: from runs of pages of the heap to room for blocks, and back (regions/region.h has the words).
 *
 *   xmc_chunk_take  ->  in a ring or list  ->  xmc_chain_release
 *
 * The work-item that took a run owns it until the chunk is in a ring or list. The work-item whose exchange of a chunk's link returns a link
 * of the region owns the chunk from then on and gives it back. A work-item that stops while it owns a chunk costs the heap that chunk.
 */
#ifndef XMC_REGION_CHUNK_CL
#define XMC_REGION_CHUNK_CL
#include "region.h"

/* The result of a request: its place, which is the number of its first unit, counted from page 0, or one of the values below. It has 64
 * bits because the largest heap has 2^34 units. */
typedef xmc_u64 xmc_unit;
#define XMC_REGION_NO_ROOM (~(xmc_unit)0)
#define XMC_REGION_BAD (~(xmc_unit)1)   /* the handle is no region's, or the region was freed */
#define XMC_REGION_AGAIN (~(xmc_unit)2) /* this try gave no units; another step may */

XMC_FN XMC_GLOBAL xmc_u64 *xmc_chunk_link(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  return (XMC_GLOBAL xmc_u64 *)xmc_page_address(heap, page);
}

/* True if a chunk of the region with this tag begins at the page. `page` may be any number. Acquires. */
XMC_FN int xmc_chunk_is_of(XMC_GLOBAL xmcHeap *heap, xmc_u32 tag, xmc_u32 page) {
  return page < xmc_heap_pages(heap) - 1u &&
         xmc_load_relaxed64(xmc_page_entry(heap, page)) == XMC_MAP(XMC_CLASS_CHUNK, 0, 0, 0) &&
         xmc_room_tag(xmc_load_acquire64(xmc_room_of(heap, page))) == tag;
}

/* Makes a run of pages, which the caller claimed, a chunk: writes the entries of its further pages, room word 0, state word, and the entry of
 * its first page. */
XMC_FN void xmc_chunk_start(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 page, xmc_u32 pages) {
  xmc_body_enter(heap, page, 1u, pages);
  xmc_store_relaxed64(xmc_room_of(heap, page), 0);
  xmc_store_relaxed64(xmc_word_of(heap, xmc_superblock_id(page, 0)), xmc_word_chunk(cls, pages));
  xmc_store_relaxed64(xmc_page_entry(heap, page), XMC_MAP(cls, 0, 0, 0));
}

/* Takes a run of `pages` pages, two or more, from the heap as a chunk; if there is no such run and `any` is not 0, a run of two pages.
 * Returns its first page, or XMC_NONE. The caller owns the chunk, which no other work-item knows, and sets its link and its room word. */
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
  xmc_chunk_start(heap, cls, page, pages);
  return page;
}

/* Gives back the pages of a chunk whose state word is w. Does nothing if the word is another one by now, because only the work-item that
 * retires it owns the pages. Hints suffice, because the caller has ordered all writes to the blocks before this call; in debug builds,
 * where the free itself writes to the blocks, xmc_run_release releases. */
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

/* Returns the number of pages of a chunk. */
XMC_FN xmc_u32 xmc_chunk_pages(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  return xmc_word_pages(xmc_load_relaxed64(xmc_word_of(heap, xmc_superblock_id(page, 0))));
}

/* ---- the room ---- */

/* Takes n units of a chunk. Returns the room word before, which xmc_room_place reads. */
#if !XMC_DEBUG
XMC_FN xmc_u64 xmc_room_take(XMC_GLOBAL xmc_u64 *room, xmc_u32 tag, xmc_u32 n) {
  (void)tag;
  return xmc_add_hint64(room, 0u - (xmc_u64)n);
}
#else
/* Debug builds find the blocks of a chunk from its room word, so here a request that does not fit must not change the word. */
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

/* As xmc_room_take; but on GPUs, except in debug builds, it takes units only if `ask` is not 0, and returns 0 otherwise. */
#if XMC_SIMT && !XMC_DEBUG
XMC_FN xmc_u64 xmc_room_take_if(int ask, XMC_GLOBAL xmc_u64 *room, xmc_u32 tag, xmc_u32 n) {
  (void)tag;
  return xmc_add_hint64_if(ask, room, 0u - (xmc_u64)n);
}
#else
XMC_FN xmc_u64 xmc_room_take_if(int ask, XMC_GLOBAL xmc_u64 *room, xmc_u32 tag, xmc_u32 n) {
  (void)ask;
  return xmc_room_take(room, tag, n);
}
#endif

XMC_FN xmc_unit xmc_page_unit(xmc_u32 page) { return (xmc_unit)page * XMC_PAGE_UNITS; }
XMC_FN XMC_GLOBAL char *xmc_unit_address(XMC_GLOBAL xmcHeap *heap, xmc_unit place) {
  return xmc_page_address(heap, 0) + place * XMC_UNIT_BYTES;
}

/* Returns the place of the first of n units, given the room word that xmc_room_take returned; or XMC_REGION_AGAIN if they did not fit or
 * the chunk is not the region's. Pages and tables may hold any value, so a place outside of the heap's `present` pages is refused. */
XMC_FN xmc_unit xmc_room_place(xmc_u64 old, xmc_u32 tag, xmc_u32 present, xmc_u32 page, xmc_u32 n) {
  xmc_u32 left = (xmc_u32)old - XMC_ROOM_BASE - n;
  xmc_unit place = xmc_page_unit(page) + left, last = xmc_page_unit(present) - n;
  int fits = (xmc_room_tag(old) == tag) & (left - 1u < XMC_ROOM_MOST) & (place <= last);
  return fits ? place : XMC_REGION_AGAIN;
}
/* True if all requests before this one fitted, given the room word that xmc_room_take returned. */
XMC_FN int xmc_room_had(xmc_u64 old) { return (xmc_u32)old > XMC_ROOM_BASE; }
/* True if a request that fitted is the one by which the room fell to XMC_ROOM_AHEAD_UNITS or less. */
XMC_FN int xmc_room_passed(xmc_u64 old, xmc_u32 n) {
  return (xmc_u32)old - XMC_ROOM_BASE - XMC_ROOM_AHEAD_UNITS - 1u < n;
}

/* True if a chunk of the region seems to have room for n units. `page` may be any number; a chunk has two pages or more. */
XMC_FN int xmc_room_fits(XMC_GLOBAL xmcHeap *heap, xmc_u32 tag, xmc_u32 page, xmc_u32 n) {
  xmc_u64 room;
  if (page >= xmc_heap_pages(heap) - 1u)
    return 0;
  room = xmc_load_relaxed64(xmc_room_of(heap, page));
  return xmc_room_tag(room) == tag && xmc_room_units(room) > n;
}

/* Called after a request that did not fit: keeps the number in the room word away from 0, below which a subtraction would borrow from the
 * tag. Between two calls on one chunk there are at most as many requests as run at the same time: less than 2^20, of up to 2^11 units. */
XMC_FN void xmc_room_lift(XMC_GLOBAL xmc_u64 *room, xmc_u32 tag) {
  xmc_u64 old = xmc_load_relaxed64(room);
  if (xmc_room_tag(old) == tag && (xmc_u32)old < XMC_ROOM_LOW)
    xmc_cas_relaxed64(room, old, xmc_room_make(tag, 0));
}

/* Gives back the chunks of a ring or list, beginning with `link`, which the caller took from a slot with acquire. The exchange of a chunk's
 * link decides which work-item owns the chunk. A chunk that is not the region's is left alone. The walk ends where the ring closes and does
 * not visit its first chunk again: that one was given back first, and a request may have taken its pages since for a new chunk in the
 * ring of another slot of the region that is still open. */
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
