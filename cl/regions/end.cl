/* SPDX-License-Identifier: MIT */
/* Regions: free, reset, size.
 *
 * xmcRegionFree first sets the owner word to 0. New requests are refused from then on. It then closes the slots, links and room words
 * one by one, by setting them to 0: a request that is under way gets its block before its chunk is closed, or NULL. A request that has
 * just fetched a new chunk finds the word to which it would attach the chunk closed, and gives the chunk back.
 */
#ifndef XMC_REGION_END_CL
#define XMC_REGION_END_CL
#include "request.cl"

/* ---- free ---- */

/* Closes a region for new requests. Returns 1 to one caller, which must then empty the slots and end the region; 0 to all others and
 * for a bad handle, counting an invalid free. The CAS acquires what the region's creator released. */
XMC_FN int xmc_region_close(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  xmc_u64 owner = region ^ XMC_REGION_KEY;
  if (xmc_region_is_there(heap, region) &&
      xmc_cas_acq_rel64(xmc_region_owner(heap, xmc_region_page(region)), owner, 0) == owner)
    return 1;
  xmc_region_count_bad(heap, region);
  return 0;
}

/* Gives back all chunks of slot i of a region that the caller closed. The first exchange orders all writes to the blocks before. */
XMC_FN void xmc_region_empty_slot(XMC_GLOBAL xmcHeap *heap, xmcRegion region, xmc_u32 i) {
  XMC_GLOBAL xmc_region_slot *slot = xmc_region_slots(heap, region) + i;
  xmc_u64 ring = xmc_exchange_acq_rel64(&slot->current, 0), list = xmc_exchange_hint64(&slot->large, 0);
  xmc_chain_release(heap, region, ring);
  xmc_chain_release(heap, region, list);
}

/* Gives back the header chunk of a region that the caller closed and whose slots are empty. */
XMC_FN void xmc_region_end(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  xmc_u32 page = xmc_region_page(region);
  xmc_u64 word = xmc_load_relaxed64(xmc_word_of(heap, xmc_superblock_id(page, 0)));
  xmc_u64 room = xmc_exchange_hint64(xmc_room_of(heap, page), 0);
  XMC_REGION_FORGET(heap, page, room, xmc_word_pages(word), 1u << xmc_region_log(region));
  xmc_chunk_give(heap, page, XMC_CLASS_REGION, word);
}

/* Frees a region: one work-item does all the work. Any lanes. */
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

/* Walks through a ring or list, up to the first chunk that is not the region's, and returns the number of its pages. If `renew` is not 0,
 * it gives each chunk all its room again; then no other work-item may use the region. */
XMC_COLD_FN xmc_u32 xmc_chain_walk(XMC_GLOBAL xmcHeap *heap, xmcRegion region, xmc_u64 link, int renew) {
  xmc_u32 sum = 0, page;
  xmc_u64 begin = link, entry, room, word;
  XMC_ROLLED
  while (xmc_link_is_of(link, region) && sum < xmc_heap_pages(heap)) {
    page = xmc_link_page1(link) - 1u;
    if (page >= xmc_heap_present(heap) - 1u)
      break;
    entry = xmc_load_relaxed64(xmc_page_entry(heap, page)); /* four loads at once */
    room = xmc_load_relaxed64(xmc_room_of(heap, page));
    word = xmc_load_relaxed64(xmc_word_of(heap, xmc_superblock_id(page, 0)));
    link = xmc_load_relaxed64(xmc_chunk_link(heap, page));
    if (entry != XMC_MAP(XMC_CLASS_CHUNK, 0, 0, 0) || xmc_room_tag(room) != xmc_region_tag(region))
      break;
    if (renew) { /* no other work-item uses the region */
      XMC_REGION_FORGET(heap, page, room, xmc_word_pages(word), 0);
      xmc_store_relaxed64(xmc_room_of(heap, page),
                          xmc_room_make(xmc_region_tag(region), xmc_chunk_units(xmc_word_pages(word))));
    }
    sum += xmc_word_pages(word);
    if (link == begin)
      break;
  }
  return sum;
}

/* Gives the chunks of a slot's ring all their room again, and the chunks of its list back to the heap. */
XMC_FN void xmc_region_reset_slot(XMC_GLOBAL xmcHeap *heap, xmcRegion region, xmc_u32 i) {
  XMC_GLOBAL xmc_region_slot *slot = xmc_region_slots(heap, region) + i;
  xmc_u64 list = xmc_load_acquire64(&slot->large);
  xmc_chain_walk(heap, region, xmc_load_acquire64(&slot->current), 1);
  if (xmc_link_is_of(list, region) && xmc_link_page1(list) &&
      xmc_cas_acq_rel64(&slot->large, list, xmc_link_make(region, 0)) == list)
    xmc_chain_release(heap, region, list);
}

/* Gives the header chunk all its room again. The caller has reset the slots before. Releases. */
XMC_FN void xmc_region_reset_header(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  xmc_u32 page = xmc_region_page(region), slots = 1u << xmc_region_log(region);
  xmc_u64 room = xmc_load_relaxed64(xmc_room_of(heap, page));
  XMC_REGION_FORGET(heap, page, room, xmc_chunk_pages(heap, page), slots);
  xmc_store_release64(
      xmc_room_of(heap, page),
      xmc_room_make(xmc_region_tag(region), xmc_chunk_units(xmc_chunk_pages(heap, page)) - slots));
}

/* True if the region lives, so that it can be reset; else counts a bad handle. */
XMC_FN int xmc_region_renews(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  int live = xmc_region_is_live(heap, region);
  if (!live)
    xmc_region_count_bad(heap, region);
  return live;
}

XMC_COLD_FN void xmc_region_reset(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  XMC_AFRESH64(heap);
  xmc_u32 i;
  if (!xmc_region_renews(heap, region))
    return;
  XMC_ROLLED
  for (i = 0; i < 1u << xmc_region_log(region); i++)
    xmc_region_reset_slot(heap, region, i);
  xmc_region_reset_header(heap, region);
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
