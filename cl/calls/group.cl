/* SPDX-License-Identifier: MIT */
/* A work-group's requests, served by its first work-item: the coalesced path where work-items do not run in lock step. The sizes, or
 * pointers, of all its work-items are in local memory (collective.cl).
 *
 *   requests of one size   32 blocks of the slot's active Superblock                                  one CAS
 *                          places of the slab that the slot used last                                 one CAS
 *                          runs of pages in one span: whole slabs, and Superblocks of other classes   one CAS
 *   of different sizes     class by class, in the same way, but without runs of pages
 *
 * The first step looks for parked Superblocks if the active one is exhausted (xmc_carve). The second passes those by for the places of
 * one slab at most; the third passes them by for new memory, which groups with many classes would take for each of them.
 *
 *   pointers               of a Superblock, one of each class at a time, are released together        one fetch-or
 *                          all blocks of a Superblock that is not listed: it is retired               one CAS
 *                             its place goes back, with others of that slab                           one fetch-or
 *                             if these are all places of the slab, it is retired                      one CAS
 *                             its pages go back, with others of that span                             one fetch-or
 *
 * The work-item that retired the Superblocks or slabs in some pages owns those until the fetch-or that gives them back, as for a single
 * one (give_back.cl). If it stops in between, the heap loses what it has in hand: at most what its group asked for or freed.
 */
#ifndef XMC_GROUP_CL
#define XMC_GROUP_CL
#include "coalesce.cl"

#define XMC_GROUP_MAX 1024u /* work-items whose calls are served together */

/* 1 if the work-group calls serve each work-item alone */
#define XMC_COLLECTIVE_EACH (XMC_SIMT || XMC_DEBUG)

/* Local memory for the work-group calls, one for each work-group: __local xmcGroupScratch scratch; */
typedef struct xmcGroupScratch {
#if XMC_COLLECTIVE_EACH
  xmc_u32 unused;
#else
  xmc_u64 of[XMC_GROUP_MAX]; /* each work-item's size or pointer, and then the address of its block */
  uchar cls[XMC_GROUP_MAX];  /* its class, or XMC_GROUP_ALONE */
#endif
} xmcGroupScratch;

#if !XMC_COLLECTIVE_EACH
/* These functions are called, not inlined, because otherwise PoCL's loops over the work-items keep nothing in registers. The scratch is
 * passed as a number, by way of a volatile variable, because PoCL 3.1 turns a kernel's __local variables into arguments, and misses
 * uses that the compiler moved into called functions. Nothing in these functions may ask for ids, because PoCL inlines what does. */
#define XMC_GROUP_FN static __attribute__((noinline, unused))

XMC_FN xmc_u32 xmc_group_size(void) {
  return (xmc_u32)(get_local_size(0) * get_local_size(1) * get_local_size(2));
}

#define XMC_GROUP_ALONE 0xfdu /* in place of a class: to be served by xmc_malloc_alone */

/* Hands n blocks of `bytes` bytes, which lie side by side from `first` on, to n work-items: those that `who` names from its i-th on, or,
 * without such a list, the i-th and those that follow. */
XMC_FN void xmc_group_hand(__local xmcGroupScratch *scratch, const ushort *who, xmc_u32 i, xmc_u64 first,
                           xmc_u32 bytes, xmc_u32 n) {
  xmc_u32 k;
  for (k = 0; !who && k < n; k++)
    scratch->of[i + k] = first + k * bytes;
  for (k = 0; who && k < n; k++)
    scratch->of[who[i + k]] = first + k * bytes;
}

/* The FIFO whose hint leads to pages for the class: if the class is small, that of its slabs */
XMC_FN xmc_u32 xmc_group_pages_fifo(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls) {
  return xmc_fifo_of(heap, me, xmc_class_is_small(cls) ? xmc_slab_class(cls) : cls);
}

/* Takes whole Superblocks of 32 blocks of a small class for the work-items from `i` on (xmc_group_hand), at most n: claims all their
 * places by one CAS, in the slab that the slot used last. Returns how many work-items it served; 0 once room was scarce, because then
 * xmc_carve has to serve them. */
XMC_FN xmc_u32 xmc_group_take_places(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, __local xmcGroupScratch *scratch,
                                     xmc_u32 cls, const ushort *who, xmc_u32 i, xmc_u32 n) {
  xmc_u32 fifo = xmc_fifo_of(heap, me, cls), slab, take, id, served = 0, scarce;
  xmc_u64 w;
  if (fifo == XMC_NONE || !xmc_class_is_small(cls) || xmc_scarce_near(heap))
    return 0;
  slab = xmc_load_relaxed32(&xmc_fifo_number(heap, fifo)->hint) - 1u;
  if (slab == XMC_NONE)
    return 0;
  w = xmc_load_relaxed64(xmc_word_of(heap, slab));
  take = xmc_word_available(w, xmc_slab_class(cls)); /* without a last place of fewer blocks */
  if (xmc_slab_blocks(cls) & 31u)
    take &= ~(1u << (xmc_slab_blocks(cls) >> 5));
  take = xmc_lowest_bits(take, n / 32u);
  if (!take || xmc_cas_acquire64(xmc_word_of(heap, slab), w, w & ~(xmc_u64)take) != w)
    return 0;
  scarce = xmc_scarce_near(heap); /* it may have become scarce */
  for (; take; take &= take - 1u, served += 32u) {
    id = xmc_superblock_id(xmc_slab_page(slab), xmc_lowest32(take));
    xmc_store_relaxed64(xmc_word_of(heap, id), xmc_word_make(cls, 32u, 0));
    xmc_superblock_show(heap, id, scarce);
    xmc_group_hand(scratch, who, i + served, (xmc_u64)(size_t)xmc_block_address(heap, cls, id, 0),
                   xmc_class_bytes(cls), 32u);
  }
  return served;
}

/* Starts a slab and all its Superblocks in a page that is the caller's. No place and no block of them is free: all are the caller's. */
XMC_FN void xmc_group_start_slab(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 page) {
  xmc_u32 words = xmc_words(heap), left = xmc_slab_blocks(cls), places = (left + 31u) >> 5, place;
  xmc_store_relaxed64(xmc_word_at(heap, words, xmc_slab_id(page)),
                      xmc_word_make(xmc_slab_class(cls), places, 0));
  for (place = 0; place < places; place++, left -= 32u)
    xmc_store_relaxed64(xmc_word_at(heap, words, xmc_superblock_id(page, place)),
                        xmc_word_make(cls, left < 32u ? left : 32u, 0));
}

/* Claims runs of pages by one CAS, all of whose blocks go to the work-items from `i` on, at most n. It takes the runs that the slot
 * returned last, as far as they lie in one span; or, if it returned none, free runs in the span where it goes on. Returns how many
 * work-items it served; 0 once room was scarce. */
XMC_FN xmc_u32 xmc_group_take_pages(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, __local xmcGroupScratch *scratch,
                                    xmc_u32 cls, xmc_u32 i, xmc_u32 n) {
  xmc_u32 fifo = xmc_group_pages_fifo(heap, me, cls), order = xmc_class_order(cls), served = 0, scarce;
  xmc_u32 blocks = xmc_class_blocks(cls, 1u << order), want = n / blocks, hint, page, span, at;
  XMC_GLOBAL xmc_u64 *word;
  xmc_u64 w, runs, take = 0;
  if (fifo == XMC_NONE || !want || xmc_scarce_near(heap))
    return 0;
  hint = xmc_load_relaxed32(&xmc_fifo_number(heap, fifo)->hint);
  page = xmc_hint_target(hint, order, xmc_heap_lanes(heap));
  if (page >= xmc_heap_pages(heap))
    return 0;
  span = page >> XMC_SPAN_SHIFT;
  word = xmc_span_word(heap, span);
  w = xmc_load_relaxed64(word);
  runs = xmc_aligned_runs(w, order);
  if (xmc_hint_is_run(hint)) { /* the stack of returned runs, from the top */
    for (; want > 0 && xmc_hint_is_run(hint); want--) {
      at = xmc_hint_page(hint) & (XMC_SPAN_PAGES - 1u);
      if (xmc_hint_page(hint) >> XMC_SPAN_SHIFT != span || xmc_hint_order(hint) != order ||
          !(runs >> at & 1u))
        break;
      runs &= ~((xmc_u64)1 << at);
      take |= (xmc_u64)1 << at;
      hint = xmc_hint_is_stack(hint) ? xmc_load_relaxed32(xmc_next_hint(heap, xmc_hint_page(hint))) : 0;
    }
  } else {
    at = page & (XMC_SPAN_PAGES - 1u);
    take = xmc_lowest_bits64(runs >> at << at, want);
    hint = 0;
  }
  if (!take || xmc_cas_acquire64(word, w, w & ~(take * xmc_run_mask(0, 1u << order))) != w)
    return 0;
  scarce = xmc_scarce_near(heap);
  for (; take; take &= take - 1u, served += blocks) {
    page = span * XMC_SPAN_PAGES + xmc_lowest64(take);
    xmc_pages_enter(heap, xmc_heap_map(heap), page, order, cls);
    if (xmc_class_is_small(cls))
      xmc_group_start_slab(heap, cls, page);
    else
      xmc_store_relaxed64(xmc_word_of(heap, xmc_run_id(page, order)), xmc_word_make(cls, blocks, 0));
    xmc_superblock_show(heap, xmc_slab_id(page), scarce);
    xmc_group_hand(scratch, 0, i + served, (xmc_u64)(size_t)xmc_page_address(heap, page),
                   xmc_class_bytes(cls), blocks);
  }
  xmc_store_relaxed32(&xmc_fifo_number(heap, fifo)->hint, hint ? hint : XMC_HINT_FROM(page, order));
  return served;
}

/* Serves the work-items from `from` on (xmc_group_hand), n of them, which all want this class. Returns how many of them, the first ones,
 * it served. */
XMC_FN xmc_u32 xmc_group_serve(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, __local xmcGroupScratch *scratch,
                               xmc_u32 cls, const ushort *who, xmc_u32 from, xmc_u32 n) {
  xmc_u32 i = from, end = from + n, bytes = xmc_class_bytes(cls), take;
  xmc_claim claim;
  xmc_u64 first;
  while (i < end) {
    take = 0;
    if (i > from && end - i >= 32u)
      take = xmc_group_take_places(heap, me, scratch, cls, who, i, end - i);
    if (!who && i > from && !take)
      take = xmc_group_take_pages(heap, me, scratch, cls, i, end - i);
    i += take;
    if (take)
      continue;
    claim = xmc_blocks_claim_first(heap, me, cls, end - i < 32u ? end - i : 32u);
    take = xmc_claim_mask(claim);
    if (!take)
      break;
    first = (xmc_u64)(size_t)xmc_block_address(heap, cls, xmc_claim_id(claim), 0);
    if (take == 0xffffffffu) {
      xmc_group_hand(scratch, who, i, first, bytes, 32u);
      i += 32u;
    } else {
      for (; take; take &= take - 1u, i++)
        xmc_group_hand(scratch, who, i, first + xmc_lowest32(take) * bytes, 0, 1u);
    }
  }
  return i - from;
}

/* Serves the work-items from the i-th up to the end-th of those that `who` names, or of all without such a list, one by one. */
XMC_FN void xmc_group_serve_rest(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u64 id,
                                 __local xmcGroupScratch *scratch, const ushort *who, xmc_u32 i,
                                 xmc_u32 end) {
  for (; i < end; i++) {
    xmc_u32 item = who ? who[i] : i;
    scratch->of[item] = (xmc_u64)(size_t)xmc_malloc_alone(heap, me, id, (size_t)scratch->of[item]);
  }
}

/* Lists in `who` the work-items by the class of what they want, then those that are served alone; wanted[c]: how many want class c */
XMC_FN void xmc_group_sort(__local xmcGroupScratch *scratch, xmc_u32 items, ushort *who, ushort *wanted) {
  ushort end[XMC_CLASSES]; /* where each class ends in the list */
  xmc_u32 i, c, first = 0;
  xmc_u64 size;
  for (c = 0; c < XMC_CLASSES; c++)
    wanted[c] = 0;
  for (i = 0; i < items; i++) {
    size = scratch->of[i];
    c = size - 1u < XMC_MAX_CLASS_BYTES ? xmc_class_of((xmc_u32)size) : XMC_GROUP_ALONE;
    scratch->cls[i] = (uchar)c;
    /* (With an element for the others instead of the branch, PoCL 3.1 lost counts; why is not known.) */
    if (c < XMC_CLASSES)
      wanted[c]++;
  }
  for (c = 0; c < XMC_CLASSES; c++) {
    end[c] = (ushort)first;
    first += wanted[c];
  }
  for (i = 0; i < items; i++)
    if (scratch->cls[i] < XMC_CLASSES)
      who[end[scratch->cls[i]]++] = (ushort)i;
  for (i = 0; first < items && i < items; i++)
    if (scratch->cls[i] == XMC_GROUP_ALONE)
      who[first++] = (ushort)i;
}

/* Replaces each size in the scratch by the address of a block, or 0. `at`: the address of the scratch; `id`: the work-item for which
 * failures are reported */
XMC_GROUP_FN void xmc_group_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u64 id, xmc_u64 at,
                                   xmc_u32 items) {
  __local xmcGroupScratch *scratch = (__local xmcGroupScratch *)(size_t)at;
  xmc_u64 size = scratch->of[0], other = 0;
  xmc_u32 i, n, first = 0, c = 1u, last = 0; /* c > last: no class, as if all want one size that has none */
  ushort who[XMC_GROUP_MAX], wanted[XMC_CLASSES];
  if (!xmc_heap_is_ours(heap)) {
    for (i = 0; i < items; i++)
      scratch->of[i] = 0;
    return;
  }
  for (i = 0; i < items; i++)
    other |= scratch->of[i] ^ size;
  if (!other) {
    if (size - 1u < XMC_MAX_CLASS_BYTES) {
      c = last = xmc_class_of((xmc_u32)size);
      wanted[c] = (ushort)items;
    }
  } else {
    xmc_group_sort(scratch, items, who, wanted);
    c = 0;
    last = XMC_CLASSES - 1u;
  }
  for (; c <= last; first += wanted[c++]) {
    n = xmc_group_serve(heap, me, scratch, c, other ? who : 0, first, wanted[c]);
    xmc_group_serve_rest(heap, me, id, scratch, other ? who : 0, first + n, first + wanted[c]);
  }
  xmc_group_serve_rest(heap, me, id, scratch, other ? who : 0, first, items);
}
#endif
#endif
