/* SPDX-License-Identifier: MIT */
/* Collective calls: a whole work-group or sub-group asks at once.
 *
 * Convergence: collective. Every work-item of the group calls, the same number of times, none returned
 * earlier; one that wants nothing passes size 0 or ptr NULL. Blocks may be freed by any of the free calls.
 *
 * For sub-groups these are xmcMalloc and xmcFree, and for work-groups, too, where work-items run in lock step: they coalesce by
 * themselves. On other devices a work-group runs as one thread between barriers, so its first work-item serves all:
 *
 *   size[i], or pointer[i]  |  barrier  |  item 0: all of them (group.cl)  |  barrier  |  pointer[i]
 *
 * What PoCL's compiler keeps over a barrier costs an array of the work-group's, and accesses by its values instead of one
 * after the other. So no id is asked for where another one, behind the next barrier, could stand for it: not before
 * `together` is known, and the first work-item's own id is computed from the group's.
 *
 * Groups of more than XMC_GROUP_MAX work-items are served one by one, as are all in debug builds.
 */
#ifndef XMC_COLLECTIVE_CL
#define XMC_COLLECTIVE_CL
#include "group_free.cl"

/* As xmcMalloc, for all work-items of the work-group together. On CPU devices the call has barriers for local memory, and a failure is counted
 * as the first work-item's; elsewhere, in debug builds and in groups of more than XMC_GROUP_MAX, as the one's own. */
XMC_API XMC_IN_KERNEL XMC_GLOBAL void *xmcMallocWorkGroup(XMC_GLOBAL xmcHeap *heap, size_t size,
                                                          __local xmcGroupScratch *scratch) {
#if XMC_COLLECTIVE_EACH
  (void)scratch;
  return xmcMalloc(heap, size);
#else
  xmc_u32 items = xmc_group_size();
  int together = items <= XMC_GROUP_MAX; /* (no return before a barrier, and nothing else that differs) */
  if (together)
    scratch->of[xmc_local_id()] = size;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (together && xmc_local_id() == 0) {
    volatile xmc_u64 at = (xmc_u64)(size_t)scratch;
    xmc_group_malloc(heap, xmc_caller(), xmc_group_work_item(), at, items);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return together ? (XMC_GLOBAL void *)(size_t)scratch->of[xmc_local_id()] : xmcMalloc(heap, size);
#endif
}

/* As xmcFree, for all work-items of the work-group together. */
XMC_API XMC_IN_KERNEL void xmcFreeWorkGroup(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr,
                                            __local xmcGroupScratch *scratch) {
#if XMC_COLLECTIVE_EACH
  (void)scratch;
  xmcFree(heap, ptr);
#else
  xmc_u32 items = xmc_group_size();
  int together = items <= XMC_GROUP_MAX;
  if (together)
    scratch->of[xmc_local_id()] = (xmc_u64)(size_t)ptr;
  else
    xmcFree(heap, ptr);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (together && xmc_local_id() == 0) {
    volatile xmc_u64 at = (xmc_u64)(size_t)scratch;
    xmc_group_free(heap, xmc_caller(), at, items);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
}

#if XMC_HAS_SUBGROUPS
/* As xmcMalloc and xmcFree, for all work-items of the sub-group together. Where sub-groups are not in lock step each of their
 * functions is a barrier of the whole work-group, and one for each claim costs more than it saves (bench/experiments.md). */
XMC_API XMC_GLOBAL void *xmcMallocSubGroup(XMC_GLOBAL xmcHeap *heap, size_t size) {
  return xmcMalloc(heap, size);
}
XMC_API void xmcFreeSubGroup(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr) { xmcFree(heap, ptr); }
#endif
#endif
