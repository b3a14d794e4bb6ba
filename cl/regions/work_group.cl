/* SPDX-License-Identifier: MIT */
/* Regions: the work-group calls (convergence: collective, as for those of collective.cl).
 *
 * A work-group keeps a piece of the region in local memory, from which its calls take their bytes without an access to global
 * memory:
 *
 *   each work-item    adds its units to a sum in local memory, and gets the sum before it                    |  barrier
 *   the first one     takes the sum from the piece; if that is too small, from a new piece of 8 KiB or more  |  barrier
 *   each work-item    computes its address
 *
 * The rest of a piece stays unused, when the work-group ends or begins another piece, until the region is reset or freed.
 */
#ifndef XMC_REGION_WORK_GROUP_CL
#define XMC_REGION_WORK_GROUP_CL
#include "calls.cl"

#define XMC_REGION_PIECE_UNITS 512u /* 8 KiB */

/* Local memory for these calls, one for each work-group: __local xmcRegionScratch scratch; */
typedef struct xmcRegionScratch {
  xmcRegion region;     /* the region that the piece belongs to; 0: there is no piece */
  xmc_unit place;       /* the first unit of the piece that is not used yet */
  xmc_unit mine;        /* the first unit of this call, or XMC_REGION_NO_ROOM */
  xmc_u32 room;         /* units that are left in the piece, from `place` on */
  volatile xmc_u32 sum; /* units that the work-items of this call ask for */
} xmcRegionScratch;

/* Forgets the piece. Call it before the first use of this scratch, after a reset of the region, and before using another heap's region. */
XMC_API XMC_IN_KERNEL void xmcRegionOpenWorkGroup(__local xmcRegionScratch *scratch) {
  if (xmc_local_id() == 0) {
    scratch->region = 0;
    scratch->room = scratch->sum = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

/* Adds n to the sum and returns the sum before. On GPUs the lanes that call at the same time add together. */
#if XMC_SIMT && !XMC_DEBUG
XMC_FN xmc_u32 xmc_region_add(__local xmcRegionScratch *scratch, xmc_u32 n) {
  xmc_lanes group = xmc_lanes_matching(1u);
  xmc_u32 total, before = xmc_region_before(group, n, &total), first = 0, unused = 0;
  if (xmc_lanes_below(group) == 0)
    first = atomic_add(&scratch->sum, total);
  xmc_lanes_share(group, xmc_lanes_first(group), &first, &unused);
  return first + before;
}
#else
XMC_FN XMC_IN_KERNEL xmc_u32 xmc_region_add(__local xmcRegionScratch *scratch, xmc_u32 n) {
  return atomic_add(&scratch->sum, n);
}
#endif

/* Takes the sum from the piece, or from a new one if the piece is too small or not the region's, and sets scratch->mine. First work-item
 * only, between barriers. */
XMC_FN XMC_IN_KERNEL void xmc_region_piece(XMC_GLOBAL xmcHeap *heap, xmcRegion region,
                                           __local xmcRegionScratch *scratch) {
  xmc_u32 sum = scratch->sum, most = sum > XMC_REGION_PIECE_UNITS ? sum : XMC_REGION_PIECE_UNITS;
  xmc_unit place;
  scratch->sum = 0;
  scratch->mine = XMC_REGION_NO_ROOM;
  if (sum == 0 || !heap)
    return;
  if (scratch->region != region || scratch->room < sum || !xmc_heap_is_ours(heap) ||
      !xmc_region_is_live(heap, region)) {
    place = xmc_region_alone(heap, xmc_caller(), region, most, 0, XMC_REGION_AGAIN);
    if (place >= XMC_REGION_AGAIN)
      return;
    scratch->region = region;
    scratch->place = place;
    scratch->room = most;
  }
  scratch->mine = scratch->place;
  scratch->place += sum;
  scratch->room -= sum;
}

/* As xmcRegionMalloc, for all work-items of the work-group together. A request over 16 KiB is served by itself, and so is each request
 * if the region has no room for all of them together. */
XMC_API XMC_IN_KERNEL XMC_GLOBAL void *xmcRegionMallocWorkGroup(XMC_GLOBAL xmcHeap *heap, xmcRegion region,
                                                                size_t size,
                                                                __local xmcRegionScratch *scratch) {
#if XMC_DEBUG
  (void)scratch;
  return xmcRegionMalloc(heap, region, size);
#else
  xmc_u32 units = size <= XMC_REGION_LANE_UNITS * XMC_UNIT_BYTES
                      ? (xmc_u32)((size + XMC_UNIT_BYTES - 1u) / XMC_UNIT_BYTES)
                      : 0;
  xmc_u32 before = xmc_region_add(scratch, units);
  xmc_unit mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (xmc_local_id() == 0)
    xmc_region_piece(heap, region, scratch);
  barrier(CLK_LOCAL_MEM_FENCE);
  mine = scratch->mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (!units || mine == XMC_REGION_NO_ROOM)
    return xmcRegionMalloc(heap, region, size);
  return xmc_unit_address(heap, mine + before);
#endif
}

/* As xmcRegionFree, by all work-items of the work-group together: each work-item gives back the chunks of some slots. */
XMC_API XMC_IN_KERNEL void xmcRegionFreeWorkGroup(XMC_GLOBAL xmcHeap *heap, xmcRegion region,
                                                  __local xmcRegionScratch *scratch) {
  xmc_u32 items = (xmc_u32)(get_local_size(0) * get_local_size(1) * get_local_size(2)), i;
  XMC_OWN(heap);
  /* xmcRegionMallocWorkGroup may serve requests one by one after its last barrier: other work-items may still be in one. */
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (xmc_local_id() == 0)
    scratch->mine = region && xmc_heap_is_ours(heap) && xmc_region_close(heap, region);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (scratch->mine)
    for (i = xmc_local_id(); i < 1u << xmc_region_log(region); i += items)
      xmc_region_empty_slot(heap, region, i);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (scratch->mine && xmc_local_id() == 0)
    xmc_region_end(heap, region);
  barrier(CLK_LOCAL_MEM_FENCE);
}

/* As xmcRegionReset, by all work-items together. Call xmcRegionOpenWorkGroup before the next request with this scratch. */
XMC_API XMC_IN_KERNEL void xmcRegionResetWorkGroup(XMC_GLOBAL xmcHeap *heap, xmcRegion region,
                                                   __local xmcRegionScratch *scratch) {
  xmc_u32 items = (xmc_u32)(get_local_size(0) * get_local_size(1) * get_local_size(2)), i;
  XMC_OWN(heap);
  /* xmcRegionMallocWorkGroup may serve requests one by one after its last barrier: other work-items may still be in one. */
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (xmc_local_id() == 0)
    scratch->mine = region && xmc_heap_is_ours(heap) && xmc_region_renews(heap, region);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (scratch->mine)
    for (i = xmc_local_id(); i < 1u << xmc_region_log(region); i += items)
      xmc_region_reset_slot(heap, region, i);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (scratch->mine && xmc_local_id() == 0)
    xmc_region_reset_header(heap, region);
  barrier(CLK_LOCAL_MEM_FENCE);
}
#endif
