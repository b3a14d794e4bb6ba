/* Collective calls: a whole work-group or sub-group asks at once.
 *
 * Convergence: collective. Every work-item of the group calls, the same number of times, none returned
 * earlier; one that wants nothing passes size 0 or ptr NULL. Blocks may be freed by any of the free calls.
 *
 * Where work-items run in lock step these are xmcMalloc and xmcFree, which coalesce by themselves. On
 * other devices a work-group runs as one thread between barriers, so its first work-item serves all:
 *
 *   size[i], or pointer[i]  |  barrier  |  item 0: 32 blocks of a class by one CAS  |  barrier  |  pointer[i]
 *
 * Groups of more than XMC_GROUP_MAX work-items are served one by one, as are all in debug builds.
 */
#ifndef XMC_COLLECTIVE_CL
#define XMC_COLLECTIVE_CL
#include "coalesce.cl"

#ifndef XMC_GROUP_MAX
#define XMC_GROUP_MAX 1024u
#endif

/* Is each work-item served by itself? */
#if XMC_SIMT || XMC_DEBUG
#define XMC_COLLECTIVE_EACH 1
#else
#define XMC_COLLECTIVE_EACH 0
#endif

/* Local memory for the work-group calls, one for each work-group: __local xmcGroupScratch scratch; */
typedef struct xmcGroupScratch {
#if XMC_COLLECTIVE_EACH
  xmc_u32 unused;
#else
  xmc_u64 of[XMC_GROUP_MAX];             /* each work-item's size, or pointer */
  uchar cls[XMC_GROUP_MAX];              /* its class, or XMC_GROUP_… */
#endif
} xmcGroupScratch;

/* Functions that take local memory must be inlined: PoCL 3.1 turns a kernel's __local variables into
 * arguments and misses the uses that the compiler moved into called functions. */
#define XMC_LOCAL_FN __attribute__((always_inline)) XMC_FN

#if !XMC_COLLECTIVE_EACH
XMC_FN xmc_u32 xmc_group_size(void) {
  return (xmc_u32)(get_local_size(0) * get_local_size(1) * get_local_size(2));
}

#define XMC_GROUP_ALONE 0xfdu  /* served by xmcMalloc */
#define XMC_GROUP_SERVED 0xfeu /* has its block */

/* Claims n blocks of a class and hands them to the work-items that want it. Those for whom there is none are
 * not marked as served. */
XMC_LOCAL_FN void xmc_group_serve(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, __local xmcGroupScratch *scratch,
                                  xmc_u32 cls, xmc_u32 n) {
  xmc_u32 i = 0;
  while (n > 0) {
    xmc_claim claim = xmc_blocks_claim_first(heap, me, cls, n < 32u ? n : 32u);
    xmc_u32 take = xmc_claim_mask(claim);
    xmc_u64 first = (xmc_u64)(size_t)xmc_block_address(heap, cls, xmc_claim_id(claim), 0);
    if (!take)
      return;
    n -= xmc_popcount32(take);
    for (; take; take &= take - 1u, i++) {
      while (scratch->cls[i] != cls)
        i++;
      scratch->of[i] = first + xmc_lowest32(take) * xmc_class_bytes(cls);
      scratch->cls[i] = XMC_GROUP_SERVED;
    }
  }
}

/* Whole Superblocks of a small class for n work-items or fewer: all their places in the slab that the slot used last by
 * one CAS. Returns how many work-items were served, from `i` on; 0 while room is scarce (xmc_carve says what is done then). */
XMC_LOCAL_FN xmc_u32 xmc_group_take_places(XMC_GLOBAL xmcHeap *heap, xmc_u32 me,
                                           __local xmcGroupScratch *scratch, xmc_u32 cls, xmc_u32 i,
                                           xmc_u32 n) {
  xmc_u32 fifo = xmc_fifo_of(heap, me, cls), slab, take, id, k, served = 0, bytes = xmc_class_bytes(cls);
  xmc_u32 scarce, own;
  xmc_u64 w, first;
  if (fifo == XMC_NONE || !xmc_class_is_small(cls) || xmc_scarce_near(heap))
    return 0;
  own = xmc_own_slots(heap, cls);
  slab =
      xmc_load_relaxed32(own ? xmc_own_entry(heap, me, cls, own) : &xmc_fifo_number(heap, fifo)->hint) - 1u;
  if (slab == XMC_NONE)
    return 0;
  w = xmc_load_relaxed64(xmc_word_of(heap, slab));
  take = xmc_word_available(w, xmc_slab_class(cls)); /* but for a last place that is smaller */
  if (xmc_slab_blocks(cls) & 31u)
    take &= ~(1u << (xmc_slab_blocks(cls) >> 5));
  take = xmc_lowest_bits(take, n / 32u);
  if (!take || xmc_cas_acquire64(xmc_word_of(heap, slab), w, w & ~(xmc_u64)take) != w)
    return 0;
  scarce = xmc_scarce_near(heap); /* it may have become so */
  for (; take; take &= take - 1u, served += 32u) {
    id = xmc_superblock_id(xmc_slab_page(slab), xmc_lowest32(take));
    xmc_store_relaxed64(xmc_word_of(heap, id), xmc_word_make(cls, 32u, 0));
    xmc_superblock_show(heap, id, scarce);
    first = (xmc_u64)(size_t)xmc_block_address(heap, cls, id, 0);
    for (k = 0; k < 32u; k++)
      scratch->of[i + served + k] = first + k * bytes;
  }
  return served;
}

/* The same when all n work-items want this class. Returns how many, the first ones, were served. */
XMC_LOCAL_FN xmc_u32 xmc_group_serve_all(XMC_GLOBAL xmcHeap *heap, xmc_u32 me,
                                         __local xmcGroupScratch *scratch, xmc_u32 cls, xmc_u32 n) {
  xmc_u32 i = 0, bytes = xmc_class_bytes(cls), k;
  while (i < n) {
    xmc_claim claim;
    xmc_u32 take = i > 0 && n - i >= 64u ? xmc_group_take_places(heap, me, scratch, cls, i, n - i) : 0;
    xmc_u64 first;
    if (take) {
      i += take;
      continue;
    }
    claim = xmc_blocks_claim_first(heap, me, cls, n - i < 32u ? n - i : 32u);
    take = xmc_claim_mask(claim);
    first = (xmc_u64)(size_t)xmc_block_address(heap, cls, xmc_claim_id(claim), 0);
    if (!take)
      break;
    if (take == 0xffffffffu) {
      for (k = 0; k < 32u; k++)
        scratch->of[i + k] = first + k * bytes;
      i += 32u;
    } else {
      for (; take; take &= take - 1u, i++)
        scratch->of[i] = first + xmc_lowest32(take) * bytes;
    }
  }
  return i;
}

/* Sizes become blocks. */
XMC_LOCAL_FN void xmc_group_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, __local xmcGroupScratch *scratch,
                                   xmc_u32 items) {
  xmc_u64 size = scratch->of[0], other = 0;
  xmc_u32 i, c, served = 0;
  for (i = 0; i < items; i++)
    other |= scratch->of[i] ^ size;
  if (!xmc_heap_is_ours(heap)) {
    other = 0; /* NULL for all */
  } else if (!other) {
    if (size - 1u < XMC_MAX_CLASS_BYTES)
      served = xmc_group_serve_all(heap, me, scratch, xmc_class_of((xmc_u32)size), items);
  } else {
    ushort wanted[XMC_CLASSES];
    for (c = 0; c < XMC_CLASSES; c++)
      wanted[c] = 0;
    for (i = 0; i < items; i++) {
      size = scratch->of[i];
      c = size - 1u < XMC_MAX_CLASS_BYTES ? xmc_class_of((xmc_u32)size) : XMC_GROUP_ALONE;
      scratch->cls[i] = (uchar)c;
      if (c < XMC_CLASSES)
        wanted[c]++;
    }
    for (c = 0; c < XMC_CLASSES; c++)
      xmc_group_serve(heap, me, scratch, c, wanted[c]);
  }
  for (i = served; i < items; i++)
    if (!other || scratch->cls[i] != XMC_GROUP_SERVED)
      scratch->of[i] = (xmc_u64)(size_t)xmcMalloc(heap, (size_t)scratch->of[i]);
}

/* Are the next 32 pointers those of neighbours? */
XMC_LOCAL_FN int xmc_group_is_row(const __local xmc_u64 *of, xmc_u32 bytes) {
  xmc_u64 first = of[0], other = 0;
  xmc_u32 k;
  for (k = 0; k < 32u; k++)
    other |= of[k] ^ (first + k * bytes);
  return !other;
}

/* Places of a slab whose Superblocks were retired go back together. `slab`: the slab's page, `places`: a mask */
XMC_LOCAL_FN void xmc_group_give_places(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls,
                                        xmc_u32 slab, xmc_u32 places) {
  xmc_u64 w;
  if (!places)
    return;
  cls = xmc_slab_class(cls);
  slab = xmc_slab_id(slab);
  w = xmc_superblock_release(xmc_word_at(heap, words, slab), places);
  if (xmc_slab_got(heap, me, words, cls, slab, XMC_WORD_LISTED | places, w) != XMC_NONE)
    xmc_settle(heap, me, words, cls, slab, w | XMC_WORD_LISTED | places);
}

/* All blocks of a Superblock of a small class at once: retired, if nobody answers for it and the slot has another one. */
XMC_LOCAL_FN int xmc_group_retire(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls,
                                  xmc_u32 id) {
  xmc_u32 fifo = xmc_fifo_of(heap, me, cls);
  xmc_u64 used = xmc_word_make(cls, 32u, 0);
  return fifo != XMC_NONE && xmc_class_is_small(cls) &&
         xmc_active_id(xmc_load_relaxed64(&xmc_fifo_number(heap, fifo)->active)) != XMC_NONE &&
         xmc_cas_acq_rel64(xmc_word_at(heap, words, id), used, XMC_WORD_RETIRED) == used;
}

/* Runs of blocks of one Superblock are one release. Blocks handed out together are neighbours: `next` is where the
 * block after the last one begins, `left` how many of the Superblock follow. */
XMC_LOCAL_FN void xmc_group_free(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, __local xmcGroupScratch *scratch,
                                 xmc_u32 items) {
  xmc_u32 i, bits = 0, lanes = 0, id = XMC_NONE, cls = 0, bit = 0, left = 0, bytes = 0;
  xmc_u32 slab = XMC_NONE, slab_cls = 0, places = 0; /* whose places go back */
  xmc_u64 next = 0, w;
  xmc_map_view view;
  xmc_place place;
  if (!xmc_heap_is_ours(heap)) {
    for (i = 0; i < items; i++)
      xmcFree(heap, (XMC_GLOBAL void *)(size_t)scratch->of[i]);
    return;
  }
  xmc_map_view_read(heap, &view);
  for (i = 0; i < items; i++) {
    XMC_GLOBAL void *ptr = (XMC_GLOBAL void *)(size_t)scratch->of[i];
    if ((xmc_u64)(size_t)ptr == next && left > 0) {
      left--;
      bit++;
    } else {
      if (!ptr)
        continue;
      if (!xmc_find(heap, view, ptr, &place)) {
        xmcFree(heap, ptr); /* a Memoryblock, a compartment or a bad pointer */
        continue;
      }
      if (place.id != id) {
        if (lanes)
          xmc_blocks_release(heap, me, view.words, cls, id, bits, lanes);
        id = place.id;
        cls = place.cls;
        bits = lanes = 0;
        bytes = xmc_class_bytes(cls);
      }
      bit = place.bit;
      w = xmc_load_relaxed64(xmc_word_at(heap, view.words, id));
      left = xmc_word_class(w) == cls && bit + 1u < xmc_word_count(w) ? xmc_word_count(w) - bit - 1u : 0;
      next = (xmc_u64)(size_t)ptr;
      if (left == 31u && i + left < items && xmc_group_is_row(&scratch->of[i], bytes)) {
        left = 0;
        i += 31u;
        if (lanes == 0 && xmc_group_retire(heap, me, view.words, cls, id)) { /* a whole Superblock */
          if (slab != xmc_id_page(id) || slab_cls != cls) {
            xmc_group_give_places(heap, me, view.words, slab_cls, slab, places);
            slab = xmc_id_page(id);
            slab_cls = cls;
            places = 0;
          }
          places |= 1u << xmc_id_row(id);
          id = XMC_NONE;
          continue;
        }
        bits = 0xffffffffu;
        lanes += 32u;
        continue;
      }
    }
    next += bytes;
    bits |= 1u << bit;
    lanes++;
  }
  if (lanes)
    xmc_blocks_release(heap, me, view.words, cls, id, bits, lanes);
  xmc_group_give_places(heap, me, view.words, slab_cls, slab, places);
}
#endif

/* As xmcMalloc, for all work-items of the work-group together. A failure is counted as the first work-item's. */
XMC_LOCAL_FN XMC_GLOBAL void *xmcMallocWorkGroup(XMC_GLOBAL xmcHeap *heap, size_t size,
                                                 __local xmcGroupScratch *scratch) {
#if XMC_COLLECTIVE_EACH
  (void)scratch;
  return xmcMalloc(heap, size);
#else
  xmc_u32 items = xmc_group_size();      /* (an id that is kept over a barrier costs PoCL an array) */
  int together = items <= XMC_GROUP_MAX; /* (no return before a barrier, and nothing else that differs) */
  if (together)
    scratch->of[xmc_local_id()] = size;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (xmc_local_id() == 0 && together)
    xmc_group_malloc(heap, xmc_caller(), scratch, items);
  barrier(CLK_LOCAL_MEM_FENCE);
  return together ? (XMC_GLOBAL void *)(size_t)scratch->of[xmc_local_id()] : xmcMalloc(heap, size);
#endif
}

/* As xmcFree, for all work-items of the work-group together. */
XMC_LOCAL_FN void xmcFreeWorkGroup(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr,
                                   __local xmcGroupScratch *scratch) {
#if XMC_COLLECTIVE_EACH
  (void)scratch;
  xmcFree(heap, ptr);
#else
  xmc_u32 items = xmc_group_size(); /* (an id that is kept over a barrier costs PoCL an array) */
  int together = items <= XMC_GROUP_MAX;
  if (together)
    scratch->of[xmc_local_id()] = (xmc_u64)(size_t)ptr;
  else
    xmcFree(heap, ptr);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (xmc_local_id() == 0 && together)
    xmc_group_free(heap, xmc_caller(), scratch, items);
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
