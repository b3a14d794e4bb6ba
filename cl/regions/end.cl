/* SPDX-License-Identifier: MIT */
/* Regions: free, reset, size.
 *
 * xmcRegionFree takes the owner word first. From then on requests are refused, and those that are under way find slots, links
 * and room words closed one by one: each gets its block before its chunk is closed, or NULL. A request that just then brings a new
 * chunk finds the word to which it would attach it closed, and gives it back.
 */
#ifndef XMC_REGION_END_CL
#define XMC_REGION_END_CL
#include "region.cl"

/* ---- free ---- */

/* Is the region the caller's to free? One caller gets 1; all others, and those with a bad region, are counted. */
XMC_FN int xmc_region_close(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  xmc_u64 owner = region ^ XMC_REGION_KEY;
  if (xmc_region_is_there(heap, region) &&
      xmc_cas_acq_rel64(xmc_region_owner(heap, xmc_region_page(region)), owner, 0) == owner)
    return 1;
  xmc_region_count_bad(heap, region);
  return 0;
}

/* Gives back all chunks of a slot of a region that the caller closed. */
XMC_FN void xmc_region_empty_slot(XMC_GLOBAL xmcHeap *heap, xmcRegion region, xmc_u32 i) {
  XMC_GLOBAL xmc_region_slot *slot = xmc_region_slots(heap, region) + i;
  xmc_u64 ring = xmc_exchange_acq_rel64(&slot->current, 0), list = xmc_exchange_acq_rel64(&slot->large, 0);
  xmc_chain_release(heap, region, ring);
  xmc_chain_release(heap, region, list);
}

/* Ends the header chunk of a region whose slots are closed. Its pages, so many from its first one on, are the caller's then. */
XMC_FN xmc_u32 xmc_region_end(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  xmc_u32 page = xmc_region_page(region);
  xmc_u64 room = xmc_exchange_acq_rel64(xmc_room_of(heap, page), 0);
  xmc_u64 word = xmc_load_relaxed64(xmc_word_of(heap, xmc_superblock_id(page, 0)));
  XMC_REGION_FORGET(heap, page, room, xmc_word_pages(word), 1u << xmc_region_log(region));
  return xmc_chunk_end(heap, page, XMC_CLASS_REGION, word);
}

XMC_COLD_FN void xmc_region_free(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  XMC_AFRESH64(heap);
  xmc_u32 i;
  if (!xmc_region_close(heap, region))
    return;
  XMC_ROLLED
  for (i = 0; i < 1u << xmc_region_log(region); i++)
    xmc_region_empty_slot(heap, region, i);
  xmc_run_release(heap, xmc_region_page(region), xmc_region_end(heap, region));
}

/* ---- reset and size ---- */

/* A chunk's room is all of it again. `slots`: 0, but for a header chunk */
XMC_FN void xmc_room_renew(XMC_GLOBAL xmcHeap *heap, xmc_u32 tag, xmc_u32 page, xmc_u32 slots) {
  xmc_u32 pages = xmc_chunk_pages(heap, page);
  XMC_GLOBAL xmc_u64 *room = xmc_room_of(heap, page);
  xmc_u64 old = xmc_load_relaxed64(room), seen;
  if (xmc_room_tag(old) == tag)
    XMC_REGION_FORGET(heap, page, old, pages, slots);
  XMC_ROLLED
  while (xmc_room_tag(old) == tag) {
    seen = xmc_cas_acq_rel64(room, old, xmc_room_make(tag, xmc_chunk_units(pages) - slots));
    if (seen == old)
      return;
    old = seen;
  }
}

/* Goes through a ring or list; returns its pages. renew: gives each chunk its room again */
XMC_COLD_FN xmc_u32 xmc_chain_walk(XMC_GLOBAL xmcHeap *heap, xmcRegion region, xmc_u64 link, int renew) {
  xmc_u32 tag = xmc_region_tag(region), sum = 0, page;
  xmc_u64 begin = link;
  XMC_ROLLED
  while (xmc_link_is_of(link, region) && sum < xmc_heap_pages(heap)) {
    page = xmc_link_page1(link) - 1u;
    if (!xmc_chunk_is_of(heap, tag, page))
      break;
    if (renew)
      xmc_room_renew(heap, tag, page, 0);
    sum += xmc_chunk_pages(heap, page);
    link = xmc_load_acquire64(xmc_chunk_link(heap, page));
    if (link == begin)
      break;
  }
  return sum;
}

XMC_COLD_FN void xmc_region_reset(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_region_slot *slots;
  xmc_u32 i;
  xmc_u64 list;
  if (!xmc_region_is_live(heap, region)) {
    xmc_region_count_bad(heap, region);
    return;
  }
  slots = xmc_region_slots(heap, region);
  XMC_ROLLED
  for (i = 0; i < 1u << xmc_region_log(region); i++) {
    xmc_chain_walk(heap, region, xmc_load_acquire64(&slots[i].current), 1);
    list = xmc_load_acquire64(&slots[i].large);
    if (xmc_link_is_of(list, region) &&
        xmc_cas_acq_rel64(&slots[i].large, list, xmc_link_make(region, 0)) == list)
      xmc_chain_release(heap, region, list);
  }
  xmc_room_renew(heap, xmc_region_tag(region), xmc_region_page(region), 1u << xmc_region_log(region));
}

XMC_COLD_FN size_t xmc_region_bytes(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  XMC_GLOBAL xmc_region_slot *slots;
  xmc_u32 i;
  xmc_u64 pages;
  if (!xmc_region_is_live(heap, region))
    return 0;
  slots = xmc_region_slots(heap, region);
  pages = xmc_chunk_pages(heap, xmc_region_page(region));
  XMC_ROLLED
  for (i = 0; i < 1u << xmc_region_log(region); i++)
    pages += xmc_chain_walk(heap, region, xmc_load_acquire64(&slots[i].current), 0) +
             xmc_chain_walk(heap, region, xmc_load_acquire64(&slots[i].large), 0);
  return (size_t)(pages << XMC_PAGE_SHIFT);
}
#endif
