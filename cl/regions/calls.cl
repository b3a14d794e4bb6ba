/* SPDX-License-Identifier: MIT */
/* Regions: the public calls. The handle of a region (xmcRegion) is a number that may be stored, and passed between kernels and between host
 * and device. It stays valid when the heap is saved and loaded again. 0 is no region.
 *
 * Any work-item may call from any control flow (convergence: any lanes), except the work-group calls (work_group.cl). No call waits
 * for another work-item. Requests are ordered as xmcMalloc is (xmalloc.cl), and xmcRegionFree and xmcRegionReset release, at device scope.
 *
 * A call with a handle that is no region's, whose region was freed, or which belongs to another heap changes nothing and is counted in
 * invalid_frees of the statistics. A region's block must not be passed to xmcFree, xmcRealloc or xmcUsableSize: these do not accept it, and
 * the first two count a bad free.
 */
#ifndef XMC_REGION_CALLS_CL
#define XMC_REGION_CALLS_CL
#include "end.cl"

/* Creates a region in which up to `sub_groups` sub-groups (on CPU devices: work-items) allocate at the same time; 1 is right for the
 * region of one work-group. Only speed and memory depend on this number. The region takes 32 KiB at once, and 32 KiB or more (64 KiB or
 * more on GPUs) for each slot that is used; it has a slot for each CPU work-item, or for every 64 sub-groups of a GPU, rounded up to a
 * power of two, at most 512. On GPUs, for more than 64 sub-groups, each slot gets up to 256 KiB at once, but all together at most a 64th
 * of the heap. Returns 0, and counts a failed request, if there is no room. */
XMC_LARGE_API xmcRegion xmcRegionCreateFor(XMC_GLOBAL xmcHeap *heap, xmc_u32 sub_groups) {
  xmcRegion region;
  XMC_OWN(heap);
  if (!xmc_heap_is_ours(heap))
    return 0;
  region = xmc_region_create(heap, xmc_caller(), sub_groups);
  if (!region)
    xmc_count_failure(heap, XMC_REGION_PAGES * XMC_PAGE_BYTES);
  return region;
}

/* Creates a region for as many sub-groups as the device runs at a time. */
XMC_API xmcRegion xmcRegionCreate(XMC_GLOBAL xmcHeap *heap) {
  return xmcRegionCreateFor(heap, xmc_heap_is_ours(heap) ? xmc_heap_lanes(heap) : 0);
}

#if XMC_DEBUG
/* Takes a block with header and red zone for one work-item. Returns the unit at which the header begins, or what xmc_region_alone returns
 * if it gets no units. */
XMC_DEBUG_FN xmc_unit xmc_debug_region_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmcRegion region,
                                             size_t size, xmc_u32 site) {
  xmc_u64 bytes = xmc_debug_units(size) * XMC_UNIT_BYTES;
  xmc_unit place = XMC_REGION_NO_ROOM;
  XMC_GLOBAL char *block;
  if (size <= xmc_data_bytes(heap) && xmc_region_units(bytes))
    place = xmc_region_alone(heap, me, region, xmc_region_units(bytes), 0, XMC_REGION_AGAIN);
  if (place >= XMC_REGION_AGAIN)
    return place;
  block = xmc_unit_address(heap, place);
  xmc_debug_write(heap, (xmc_debug_at)block, XMC_DEBUG_REGION, site,
                  xmc_debug_extent(size, XMC_DEBUG_HEADER_BYTES));
  block += XMC_DEBUG_HEADER_BYTES;
  xmc_debug_fill(block, size, XMC_DEBUG_NEW_BYTE);
  xmc_debug_fill(block + size, bytes - XMC_DEBUG_HEADER_BYTES - size, XMC_DEBUG_RED_BYTE);
  return place;
}
XMC_FN XMC_GLOBAL void *xmc_debug_region_malloc(XMC_GLOBAL xmcHeap *heap, xmcRegion region, size_t size,
                                                xmc_u32 site) {
  XMC_GLOBAL char *block;
  XMC_OWN(heap);
  if (size == 0 || !xmc_heap_is_ours(heap))
    return 0;
  block =
      xmc_region_result(heap, region, size, xmc_debug_region_claim(heap, xmc_caller(), region, size, site));
  return block ? block + XMC_DEBUG_HEADER_BYTES : 0;
}
#endif

/* Allocates `size` bytes in the region, aligned to 16 bytes, which live until the region is freed or reset. Returns NULL if size is 0.
 * Returns NULL and counts a failed request if no room is left, or an invalid free if the handle is bad. Lanes of a sub-group that ask one
 * region at the same time share one atomic, whatever their sizes. A request for up to 32 KiB less 16 bytes comes from a chunk of the
 * region, most often by one atomic; a larger one, of one work-item or of a sub-group's lanes together, gets a run of pages of its own. */
XMC_LARGE_API XMC_GLOBAL void *xmcRegionMalloc(XMC_GLOBAL xmcHeap *heap, xmcRegion region, size_t size) {
#if XMC_DEBUG
  return xmc_debug_region_malloc(heap, region, size, 0);
#else
  xmc_u32 units, first = 0;
  xmc_unit place = XMC_REGION_AGAIN;
  XMC_GLOBAL char *block;
  XMC_OWN(heap);
  if (xmc_region_full(heap, xmc_caller(), region, size, &block, &first, &place)) /* on GPUs most often */
    return block;
  if (!heap || size == 0)
    return 0;
  units = xmc_region_units(size);
  place = units ? xmc_region_lanes(heap, xmc_caller(), region, units, first, place) : XMC_REGION_NO_ROOM;
  return xmc_region_result(heap, region, size, place);
#endif
}

/* Frees all blocks of the region and the region itself. 0 is a no-op. The cost grows with the number of chunks, not of blocks. If several
 * work-items free one region, one call frees it and the others are counted as invalid frees. A request at the same time gets NULL, or a
 * block that is freed with the others; a later request gets NULL. */
XMC_LARGE_API void xmcRegionFree(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  XMC_OWN(heap);
  if (region && xmc_heap_is_ours(heap))
    xmc_region_free(heap, region);
}

/* Frees all blocks of the region, which keeps its chunks for further requests; chunks of requests over 32 KiB less 16 bytes go back to
 * the heap. 0 is a no-op. No other work-item may use the region meanwhile: the block of a request at the same time may be handed out again.
 * The cost grows with the number of chunks. */
XMC_LARGE_API void xmcRegionReset(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  XMC_OWN(heap);
  if (region && xmc_heap_is_ours(heap))
    xmc_region_reset(heap, region);
}

/* Returns the bytes that the region has from the heap, which xmcRegionFree would give back; 0, not counted, if the handle is bad. Walks
 * through the region's chunks. The result is exact if no other work-item uses the region meanwhile. */
XMC_API size_t xmcRegionBytes(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  XMC_OWN(heap);
  return region && xmc_heap_is_ours(heap) ? xmc_region_bytes(heap, region) : 0;
}
#endif
