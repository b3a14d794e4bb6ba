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
  xmc_chain_release(heap, xmc_region_tag(region), xmc_exchange_acq_rel64(&slot->current, 0));
  xmc_chain_release(heap, xmc_region_tag(region), xmc_exchange_acq_rel64(&slot->large, 0));
}

/* Gives back the header of a region whose slots are closed. */
XMC_FN void xmc_region_end(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  XMC_REGION_FORGET(heap, xmc_region_page(region),
                    xmc_exchange_acq_rel64(xmc_room_of(heap, xmc_region_page(region)), 0),
                    xmc_header_units(xmc_region_log(region)));
  xmc_chunk_give(heap, xmc_region_page(region), XMC_CLASS_REGION);
}

XMC_COLD_FN void xmc_region_free(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  XMC_AFRESH64(heap);
  xmc_u32 i;
  if (!xmc_region_close(heap, region))
    return;
  XMC_ROLLED
  for (i = 0; i < 1u << xmc_region_log(region); i++)
    xmc_region_empty_slot(heap, region, i);
  xmc_region_end(heap, region);
}

/* ---- reset and size ---- */

/* A chunk's room is all of it again. */
XMC_FN void xmc_room_renew(XMC_GLOBAL xmcHeap *heap, xmc_u32 tag, xmc_u32 page, xmc_u32 units) {
  XMC_GLOBAL xmc_u64 *room = xmc_room_of(heap, page);
  xmc_u64 old = xmc_load_relaxed64(room), seen;
  if (xmc_room_tag(old) == tag)
    XMC_REGION_FORGET(heap, page, old, units);
  XMC_ROLLED
  while (xmc_room_tag(old) == tag) {
    seen = xmc_cas_acq_rel64(room, old, xmc_room_make(tag, units));
    if (seen == old)
      return;
    old = seen;
  }
}

/* Goes through a ring or list; returns its pages. renew: gives each chunk its room again */
XMC_COLD_FN xmc_u32 xmc_chain_walk(XMC_GLOBAL xmcHeap *heap, xmc_u32 tag, xmc_u64 link, int renew) {
  xmc_u32 begin = (xmc_u32)link, sum = 0, page, pages;
  XMC_ROLLED
  while (xmc_link_is_of(link, tag) && sum < xmc_heap_pages(heap)) {
    page = (xmc_u32)link - 1u;
    if (!xmc_chunk_is_of(heap, tag, page))
      break;
    pages = xmc_chunk_pages(heap, page);
    if (renew)
      xmc_room_renew(heap, tag, page, xmc_chunk_units(pages));
    sum += pages;
    link = xmc_load_acquire64(xmc_chunk_link(heap, page));
    if ((xmc_u32)link == begin)
      break;
  }
  return sum;
}

XMC_COLD_FN void xmc_region_reset(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_region_slot *slots;
  xmc_u32 tag = xmc_region_tag(region), i;
  xmc_u64 list;
  if (!xmc_region_is_live(heap, region)) {
    xmc_region_count_bad(heap, region);
    return;
  }
  slots = xmc_region_slots(heap, region);
  XMC_ROLLED
  for (i = 0; i < 1u << xmc_region_log(region); i++) {
    xmc_chain_walk(heap, tag, xmc_load_acquire64(&slots[i].current), 1);
    list = xmc_load_acquire64(&slots[i].large);
    if (xmc_link_is_of(list, tag) && xmc_cas_acq_rel64(&slots[i].large, list, xmc_link_make(tag, 0)) == list)
      xmc_chain_release(heap, tag, list);
  }
  xmc_room_renew(heap, tag, xmc_region_page(region), xmc_header_units(xmc_region_log(region)));
}

XMC_COLD_FN size_t xmc_region_bytes(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  XMC_GLOBAL xmc_region_slot *slots;
  xmc_u32 tag = xmc_region_tag(region), i;
  xmc_u64 pages;
  if (!xmc_region_is_live(heap, region))
    return 0;
  slots = xmc_region_slots(heap, region);
  pages = xmc_chunk_pages(heap, xmc_region_page(region));
  XMC_ROLLED
  for (i = 0; i < 1u << xmc_region_log(region); i++)
    pages += xmc_chain_walk(heap, tag, xmc_load_acquire64(&slots[i].current), 0) +
             xmc_chain_walk(heap, tag, xmc_load_acquire64(&slots[i].large), 0);
  return (size_t)(pages << XMC_PAGE_SHIFT);
}
#endif
