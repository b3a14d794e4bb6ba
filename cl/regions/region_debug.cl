/* SPDX-License-Identifier: MIT */
/* Regions in debug builds: their blocks have headers and red zones, as debug.cl describes them for other blocks.
 *
 *   | header 16 | user's bytes | red zone, 8 to 23 bytes |     the next block of the chunk
 *
 * The header's tag is of a kind of its own, so that xmcFree and xmcRealloc do not accept a region's block. The blocks of a chunk lie
 * one behind the other from its room to its end, and the size in a block's header leads to the next block. So a free or reset
 * of the region visits each block, checks its red zone (from level 2 on) and fills it.
 */
#ifndef XMC_REGION_DEBUG_CL
#define XMC_REGION_DEBUG_CL
#include "region.h"

#if XMC_DEBUG
#define XMC_DEBUG_REGION 0x5245474eu

/* Returns the units of a region's block in a debug heap for `size` bytes of the user. */
XMC_FN xmc_u64 xmc_debug_units(xmc_u64 size) {
  return (size + XMC_DEBUG_HEADER_BYTES + XMC_DEBUG_MIN_RED_ZONE + XMC_UNIT_BYTES - 1u) / XMC_UNIT_BYTES;
}

/* Checks and fills all blocks of a chunk that the caller is about to free. `room`: its room word; `slots`: 0, but for a header chunk */
XMC_COLD_FN void xmc_region_forget(XMC_GLOBAL xmcHeap *heap, xmc_u32 page, xmc_u64 room, xmc_u32 pages,
                                   xmc_u32 slots) {
  xmc_u32 at = xmc_room_units(room), end = xmc_chunk_units(pages) - slots;
  XMC_GLOBAL char *user;
  xmc_debug_at header;
  xmc_u64 size, units;
  while (at > 0 && at < end) {
    header = (xmc_debug_at)(xmc_page_address(heap, page) + ((xmc_u64)slots + at) * XMC_UNIT_BYTES);
    user = (XMC_GLOBAL char *)(header + 1);
    size = xmc_debug_size(xmc_debug_extent_at(header));
    units = xmc_debug_units(size);
    if (!xmc_debug_says(heap, XMC_DEBUG_REGION, header) || units > end - at) {
      xmc_count_red_zone(heap, user); /* its size is lost, and with it the place of the next block */
      return;
    }
#if XMC_DEBUG >= 2
    if (!xmc_debug_is_filled(user + size, units * XMC_UNIT_BYTES - XMC_DEBUG_HEADER_BYTES - size,
                             XMC_DEBUG_RED_BYTE))
      xmc_count_red_zone(heap, user);
#endif
    xmc_store_relaxed32(&header->tag, 0);
    xmc_debug_fill(user, size, XMC_DEBUG_FREED_BYTE);
    at += (xmc_u32)units;
  }
}
#define XMC_REGION_FORGET(heap, page, room, pages, slots) xmc_region_forget(heap, page, room, pages, slots)
#else
#define XMC_REGION_FORGET(heap, page, room, pages, slots) ((void)(room), (void)(pages), (void)(slots))
#endif
#endif
