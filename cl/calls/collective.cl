/* SPDX-License-Identifier: MIT */
/* Collective calls: a whole work-group or sub-group asks at once.
 *
 * Convergence: collective. Every work-item of the group must make the call, the same number of times, and none may have returned
 * from the kernel before. A work-item that wants nothing passes size 0 or ptr NULL. Any of the free calls may free the blocks.
 *
 * The sub-group calls are xmcMalloc and xmcFree. So are the work-group calls where work-items run in lock step, because those
 * coalesce by themselves there. On other devices a work-group runs as one thread between barriers, so its first work-item serves all:
 *
 *   size[i], or pointer[i]  |  barrier  |  item 0: all of them (group.cl)  |  barrier  |  pointer[i]
 *
 * PoCL's compiler keeps each value that is used behind a barrier in an array, one element a work-item, and accesses by such values are
 * not seen as consecutive. So no id is read where the compiler could keep it for a use behind the next barrier: ids are read only
 * where `together` is known, and the first work-item's own id is computed from the group's.
 *
 * In groups of more than XMC_GROUP_MAX work-items, and in debug builds, each work-item is served alone.
 */
#ifndef XMC_COLLECTIVE_CL
#define XMC_COLLECTIVE_CL
#include "group_free.cl"

/* As xmcMalloc, for all work-items of the work-group together. On CPU devices the call has barriers for local memory, and a failure is
 * reported for the first work-item; elsewhere, in debug builds and in groups of more than XMC_GROUP_MAX, for the one whose request
 * failed. */
XMC_API XMC_IN_KERNEL XMC_GLOBAL void *xmcMallocWorkGroup(XMC_GLOBAL xmcHeap *heap, size_t size,
                                                          __local xmcGroupScratch *scratch) {
#if XMC_COLLECTIVE_EACH
  (void)scratch;
  return xmcMalloc(heap, size);
#else
  xmc_u32 items = xmc_group_size();
  int together = items <= XMC_GROUP_MAX; /* (none may return before a barrier, which all must reach) */
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
/* As xmcMalloc and xmcFree, for all work-items of the sub-group together. Where sub-groups are not in lock step they do not coalesce:
 * there each OpenCL function for sub-groups is a barrier of the whole work-group, and one for each claim costs more than it saves
 * (bench/experiments.md). */
XMC_API XMC_GLOBAL void *xmcMallocSubGroup(XMC_GLOBAL xmcHeap *heap, size_t size) {
  return xmcMalloc(heap, size);
}
XMC_API void xmcFreeSubGroup(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr) { xmcFree(heap, ptr); }
#endif
#endif
