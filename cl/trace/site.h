/* SPDX-License-Identifier: MIT */
/* In traced programs, makes macros of the public calls that record each call and its place in the source; calls/debug_site.h is not
 * included then. This file comes last of all, so that the library's own functions keep their names.
 */
#ifndef XMC_TRACE_SITE_H
#define XMC_TRACE_SITE_H

#ifndef XMC_SITE
#define XMC_SITE xmc_debug_site(__FILE__, __LINE__)
#endif
#define xmcMalloc(heap, size) xmc_trace_malloc(heap, size, XMC_SITE)
#define xmcFree(heap, ptr) xmc_trace_free(heap, ptr, XMC_SITE)
#define xmcCalloc(heap, count, size) xmc_trace_calloc(heap, count, size, XMC_SITE)
#define xmcRealloc(heap, ptr, size) xmc_trace_realloc(heap, ptr, size, XMC_SITE)
#define xmcAlignedAlloc(heap, alignment, size) xmc_trace_aligned_alloc(heap, alignment, size, XMC_SITE)
#define xmcRegionCreate(heap) xmc_trace_region_create(heap, XMC_SITE)
#define xmcRegionCreateFor(heap, sub_groups) xmc_trace_region_create_for(heap, sub_groups, XMC_SITE)
#define xmcRegionMalloc(heap, region, size) xmc_trace_region_malloc(heap, region, size, XMC_SITE)
#define xmcRegionFree(heap, region) xmc_trace_region_free(heap, region, XMC_SITE)
#define xmcRegionReset(heap, region) xmc_trace_region_reset(heap, region, XMC_SITE)
#if XMC_OPENCL
#define xmcMallocWorkGroup(heap, size, scratch) xmc_trace_malloc_group(heap, size, scratch, XMC_SITE)
#define xmcFreeWorkGroup(heap, ptr, scratch) xmc_trace_free_group(heap, ptr, scratch, XMC_SITE)
#define xmcRegionMallocWorkGroup(heap, region, size, scratch) \
  xmc_trace_region_malloc_group(heap, region, size, scratch, XMC_SITE)
#define xmcRegionFreeWorkGroup(heap, region, scratch) \
  xmc_trace_region_free_group(heap, region, scratch, XMC_SITE)
#define xmcRegionResetWorkGroup(heap, region, scratch) \
  xmc_trace_region_reset_group(heap, region, scratch, XMC_SITE)
#if XMC_HAS_SUBGROUPS
#define xmcMallocSubGroup(heap, size) xmc_trace_malloc(heap, size, XMC_SITE)
#define xmcFreeSubGroup(heap, ptr) xmc_trace_free(heap, ptr, XMC_SITE)
#endif
#endif
#endif
