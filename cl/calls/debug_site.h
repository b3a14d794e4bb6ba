/* SPDX-License-Identifier: MIT */
/* Level 3 of debug.cl: the public calls become macros, which pass the site of the call on. This file is included last, so that the
 * library's own functions keep their names.
 */
#ifndef XMC_DEBUG_SITE_H
#define XMC_DEBUG_SITE_H

#if XMC_DEBUG >= 3
#define XMC_SITE xmc_debug_site(__FILE__, __LINE__)
#define xmcMalloc(heap, size) xmc_debug_malloc(heap, size, XMC_SITE)
#define xmcCalloc(heap, count, size) xmc_debug_calloc(heap, count, size, XMC_SITE)
#define xmcRealloc(heap, ptr, size) xmc_debug_realloc(heap, ptr, size, XMC_SITE)
#define xmcAlignedAlloc(heap, alignment, size) xmc_debug_aligned(heap, alignment, size, XMC_SITE)
#define xmcRegionMalloc(heap, region, size) xmc_debug_region_malloc(heap, region, size, XMC_SITE)
#if XMC_OPENCL
#define xmcMallocWorkGroup(heap, size, scratch) ((void)(scratch), xmc_debug_malloc(heap, size, XMC_SITE))
#define xmcRegionMallocWorkGroup(heap, region, size, scratch) \
  ((void)(scratch), xmc_debug_region_malloc(heap, region, size, XMC_SITE))
#if XMC_HAS_SUBGROUPS
#define xmcMallocSubGroup(heap, size) xmc_debug_malloc(heap, size, XMC_SITE)
#endif
#endif
#endif
#endif
