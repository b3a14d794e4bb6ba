/* Collective calls: a whole work-group or sub-group asks at once.
 *
 * Convergence: collective. Every work-item of the group calls, the same number of times, none returned
 * earlier; one that wants nothing passes size 0 or ptr NULL. Blocks may be freed by any of the free calls.
 *
 * Where work-items run in lock step these are xmcMalloc and xmcFree, which coalesce by themselves. On
 * other devices a work-group runs as one thread between barriers, so its first work-item serves all:
 *
 *   size[i], or pointer[i]  |  barrier  |  item 0: all of them (group.cl)  |  barrier  |  pointer[i]
 *
 * What PoCL's compiler keeps over a barrier costs an array of the work-group's, and accesses by its values instead of one
 * after the other. So no id is asked for where another one, behind the next barrier, could stand for it: not before
 * `together` is known, and the first work-item's own id is reckoned from the group's.
 *
 * Groups of more than XMC_GROUP_MAX work-items are served one by one, as are all in debug builds.
 */
#ifndef XMC_COLLECTIVE_CL
#define XMC_COLLECTIVE_CL
#include "group.cl"

/* As xmcMalloc, for all work-items of the work-group together. A failure is counted as the first work-item's. */
XMC_FN XMC_GLOBAL void *xmcMallocWorkGroup(XMC_GLOBAL xmcHeap *heap, size_t size,
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
XMC_FN void xmcFreeWorkGroup(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr,
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
#if !XMC_COLLECTIVE_EACH
/* The requests that `mine` stands for: their number, and how many of them are below me. Ballot is right
 * up to 128 lanes; larger sub-groups scan. */
XMC_FN xmc_u32 xmc_sub_group_rank(int mine, xmc_u32 *count) {
  if (get_max_sub_group_size() <= 128u) {
    uint4 b = sub_group_ballot(mine);
    xmc_u32 lane = get_sub_group_local_id(), word = lane >> 5, below = (1u << (lane & 31u)) - 1u;
    *count = popcount(b.x) + popcount(b.y) + popcount(b.z) + popcount(b.w);
    return popcount(b.x & (word > 0u ? ~0u : below)) +
           popcount(b.y & (word > 1u    ? ~0u
                           : word == 1u ? below
                                        : 0u)) +
           popcount(b.z & (word > 2u    ? ~0u
                           : word == 2u ? below
                                        : 0u)) +
           popcount(b.w & (word == 3u ? below : 0u));
  }
  *count = sub_group_reduce_add((xmc_u32)(mine != 0));
  return sub_group_scan_exclusive_add((xmc_u32)(mine != 0));
}
#endif

/* As xmcMalloc, for all work-items of the sub-group together. */
XMC_FN XMC_GLOBAL void *xmcMallocSubGroup(XMC_GLOBAL xmcHeap *heap, size_t size) {
#if XMC_COLLECTIVE_EACH
  return xmcMalloc(heap, size);
#else
  XMC_GLOBAL void *block = 0;
  xmc_u32 me = xmc_caller(), c, next = 0, rank, want, served, got, id, take, cls = XMC_CLASS_NONE;
  xmc_claim claim;
  if (xmc_heap_is_ours(heap) && size > 0 && size <= XMC_MAX_CLASS_BYTES)
    cls = xmc_class_of((xmc_u32)size);
  for (;;) { /* a turn for each class that somebody wants */
    c = sub_group_reduce_min(cls >= next ? cls : XMC_CLASS_NONE);
    if (c == XMC_CLASS_NONE)
      break;
    next = c + 1u;
    rank = xmc_sub_group_rank(cls == c, &want);
    for (served = 0; served < want; served += got) {
      claim = 0;
      if (get_sub_group_local_id() == 0)
        claim = xmc_blocks_claim_first(heap, me, c, want - served < 32u ? want - served : 32u);
      take = sub_group_broadcast(xmc_claim_mask(claim), 0);
      id = sub_group_broadcast(xmc_claim_id(claim), 0);
      got = xmc_popcount32(take);
      if (cls == c && rank - served < got)
        block = xmc_block_address(heap, cls, id, xmc_nth_bit(take, rank - served));
      if (!got)
        break; /* the last resort is each work-item's own */
    }
  }
  return block ? block : xmcMalloc(heap, size);
#endif
}

/* As xmcFree, for all work-items of the sub-group together. */
XMC_FN void xmcFreeSubGroup(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr) {
#if XMC_COLLECTIVE_EACH
  xmcFree(heap, ptr);
#else
  xmc_u32 me = xmc_caller(), size = get_sub_group_size(), lane, bits = 0, lanes = 0, id = XMC_NONE;
  xmc_u32 cls = XMC_CLASS_NONE;
  xmc_place place;
  place.cls = XMC_CLASS_NONE;
  place.id = place.bit = place.rest = 0;
  if (ptr && xmc_heap_is_ours(heap) && !xmc_find_block(heap, ptr, &place)) {
    xmcFree(heap, ptr); /* a Memoryblock, a compartment or a bad pointer */
    place.cls = XMC_CLASS_NONE;
  }
  for (lane = 0; lane <= size; lane++) { /* runs of one Superblock are one release, by the first lane */
    xmc_u32 last = lane == size, from = last ? 0 : lane;
    xmc_u32 its_cls = sub_group_broadcast(place.cls, from), its_id = sub_group_broadcast(place.id, from);
    xmc_u32 its_bit = sub_group_broadcast(place.bit, from);
    if (last || its_cls == XMC_CLASS_NONE || its_id != id) {
      if (lanes && get_sub_group_local_id() == 0)
        xmc_blocks_release(heap, me, xmc_words(heap), cls, id, bits, lanes);
      bits = lanes = 0;
      id = its_cls == XMC_CLASS_NONE ? XMC_NONE : its_id;
      cls = its_cls;
    }
    if (!last && its_cls != XMC_CLASS_NONE) {
      bits |= 1u << its_bit;
      lanes++;
    }
  }
#endif
}
#endif
#endif
