/* SPDX-License-Identifier: MIT */
/* Traced calls of whole work-groups (convergence: collective, as for those of calls/collective.cl and regions/work_group.cl). Each
 * work-item records its own part. */
#ifndef XMC_TRACE_GROUPS_CL
#define XMC_TRACE_GROUPS_CL
#include "../calls/collective.cl"
#include "../regions/work_group.cl"
#include "trace.cl"

XMC_FN XMC_IN_KERNEL XMC_GLOBAL void *xmc_trace_malloc_group(XMC_GLOBAL xmcHeap *heap, size_t size,
                                                             __local xmcGroupScratch *scratch, xmc_u32 site) {
#if XMC_DEBUG
  XMC_GLOBAL void *block = xmc_debug_malloc(heap, size, site);
  (void)scratch;
#else
  XMC_GLOBAL void *block = xmcMallocWorkGroup(heap, size, scratch);
#endif
  XMC_OWN(heap);
  xmc_trace_got(heap, xmc_caller(), block, size, site, xmc_work_item());
  return block;
}

/* All work-items write their records before the barrier in xmcFreeWorkGroup, and so before any of the blocks is free. */
XMC_FN XMC_IN_KERNEL void xmc_trace_free_group(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr,
                                               __local xmcGroupScratch *scratch, xmc_u32 site) {
  XMC_OWN(heap);
  xmc_trace_freed(heap, xmc_caller(), ptr, site, xmc_work_item());
  xmcFreeWorkGroup(heap, ptr, scratch);
}

XMC_FN XMC_IN_KERNEL XMC_GLOBAL void *xmc_trace_region_malloc_group(XMC_GLOBAL xmcHeap *heap,
                                                                    xmcRegion region, size_t size,
                                                                    __local xmcRegionScratch *scratch,
                                                                    xmc_u32 site) {
#if XMC_DEBUG
  XMC_GLOBAL void *block = xmc_debug_region_malloc(heap, region, size, site);
  (void)scratch;
#else
  XMC_GLOBAL void *block = xmcRegionMallocWorkGroup(heap, region, size, scratch);
#endif
  XMC_OWN(heap);
  xmc_trace_region_got(heap, xmc_caller(), region, block, size, site, xmc_work_item());
  return block;
}

XMC_FN XMC_IN_KERNEL void xmc_trace_region_free_group(XMC_GLOBAL xmcHeap *heap, xmcRegion region,
                                                      __local xmcRegionScratch *scratch, xmc_u32 site) {
  XMC_OWN(heap);
  if (xmc_local_id() == 0)
    xmc_trace_region(heap, xmc_caller(), XMC_TRACE_REGION_FREE, region, site, xmc_work_item());
  xmcRegionFreeWorkGroup(heap, region, scratch);
}

XMC_FN XMC_IN_KERNEL void xmc_trace_region_reset_group(XMC_GLOBAL xmcHeap *heap, xmcRegion region,
                                                       __local xmcRegionScratch *scratch, xmc_u32 site) {
  XMC_OWN(heap);
  if (xmc_local_id() == 0)
    xmc_trace_region(heap, xmc_caller(), XMC_TRACE_REGION_RESET, region, site, xmc_work_item());
  xmcRegionResetWorkGroup(heap, region, scratch);
}
#endif
