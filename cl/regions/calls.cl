/* SPDX-License-Identifier: MIT */
/* Regions: the calls. A region is a value (xmcRegion) that may be stored, passed between kernels and between host and device, and
 * that stays the same when the heap is saved and read again. 0 is no region.
 *
 * Any work-item may call from any control flow (convergence: any lanes), except the work-group calls (work_group.cl). No call waits
 * for another work-item. Requests acquire, and xmcRegionFree and xmcRegionReset release, at device scope.
 *
 * A region that is none, was freed, or belongs to another heap changes nothing, and is counted in invalid_frees of the statistics.
 * A region's blocks are no blocks for xmcFree, xmcRealloc and xmcUsableSize: they count them as bad frees.
 */
#ifndef XMC_REGION_CALLS_CL
#define XMC_REGION_CALLS_CL
#include "end.cl"

/* A region in which up to `sub_groups` sub-groups (on CPU devices: work-items) allocate at the same time; 1 is right for the
 * region of one work-group. Only speed and memory depend on it: the region takes 32 KiB, and 32 KiB or more (64 on GPUs) for each
 * slot that is used, of which there are as many as CPU threads or multiprocessors need; on GPUs, for more than 64, up to 256 KiB for
 * each slot from the start, but no more than a 64th of the heap. 0, counted, if there is no room. */
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

/* The same for as many sub-groups as the device runs at a time. */
XMC_API xmcRegion xmcRegionCreate(XMC_GLOBAL xmcHeap *heap) {
  return xmcRegionCreateFor(heap, xmc_heap_is_ours(heap) ? xmc_heap_lanes(heap) : 0);
}

#if XMC_DEBUG
/* A dressed block: where its header begins, in units; or as xmc_region_alone */
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

/* Allocates `size` bytes in the region, aligned to 16, which live until the region is freed or reset. NULL for size 0; NULL, counted,
 * when no room is left or the region is a bad one. Lanes of a sub-group that ask one region at the same time share one
 * atomic, whatever their sizes. Up to 32 KiB less 16 bytes come from a chunk of the region, most often by one atomic; more, and as much for a
 * sub-group together, is a run of pages of its own. */
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

/* Frees all blocks of the region and the region itself. 0 is a no-op. The work grows with the number of chunks, not of
 * blocks. Of several calls one frees it, and the others are counted. A request beside it gets NULL, or a block that is freed with the
 * others; a request after it NULL. */
XMC_LARGE_API void xmcRegionFree(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  XMC_OWN(heap);
  if (region && xmc_heap_is_ours(heap))
    xmc_region_free(heap, region);
}

/* Frees all blocks of the region, which keeps its chunks for further requests; those of requests over 32 KiB less 16 bytes go back to the
 * heap. 0 is a no-op. Nobody else may use the region meanwhile: a block of a request beside it may be handed out again. */
XMC_LARGE_API void xmcRegionReset(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  XMC_OWN(heap);
  if (region && xmc_heap_is_ours(heap))
    xmc_region_reset(heap, region);
}

/* Bytes that the region has from the heap: what xmcRegionFree would give back. 0 if it is no region; that is not counted. Walks
 * through its chunks; exact while nobody else uses the region. */
XMC_API size_t xmcRegionBytes(XMC_GLOBAL xmcHeap *heap, xmcRegion region) {
  XMC_OWN(heap);
  return region && xmc_heap_is_ours(heap) ? xmc_region_bytes(heap, region) : 0;
}
#endif
