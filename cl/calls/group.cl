/* SPDX-License-Identifier: MIT */
/* A work-group's requests, served by its first work-item: the coalesced path where work-items do not run in lock step. What
 * everybody wants is in local memory (collective.cl).
 *
 *   sizes of one class     32 blocks of the slot's active Superblock                                  one CAS
 *                          places of the slab that the slot used last                                 one CAS
 *                          runs of pages in one span: whole slabs, and Superblocks of other classes   one CAS
 *   of several classes     class by class, 32 blocks of the active Superblock                         one CAS
 *
 *   pointers               of a Superblock, one of each class at a time, are released together        one fetch-or
 *                          all blocks of a Superblock that nobody answers for: it is retired          one CAS
 *                             its place goes back, with others of that slab                           one fetch-or
 *                             if that are all places of it the slab is retired                        one CAS
 *                             pages go back, with others of that span                                 one fetch-or
 *
 * Who retired what is in pages owns them until the fetch-or that gives them back, as for a single one (give_back.cl). So a
 * work-item that stops in between keeps what it has in hand, at most what its group asks for or frees.
 */
#ifndef XMC_GROUP_CL
#define XMC_GROUP_CL
#include "coalesce.cl"

#define XMC_GROUP_MAX 1024u /* work-items whose calls are served together */

/* Is each work-item served by itself? */
#define XMC_COLLECTIVE_EACH (XMC_SIMT || XMC_DEBUG)

/* Local memory for the work-group calls, one for each work-group: __local xmcGroupScratch scratch; */
typedef struct xmcGroupScratch {
#if XMC_COLLECTIVE_EACH
  xmc_u32 unused;
#else
  xmc_u64 of[XMC_GROUP_MAX]; /* each work-item's size, or pointer */
  uchar cls[XMC_GROUP_MAX];  /* its class, or XMC_GROUP_… */
#endif
} xmcGroupScratch;

#if !XMC_COLLECTIVE_EACH
/* Called, not inlined: else PoCL's loops over the work-items keep nothing in registers. The scratch goes there as a number, and
 * by way of a volatile variable: PoCL 3.1 turns a kernel's __local variables into arguments, and misses uses that the compiler
 * moved into called functions. Nothing in there may ask for ids, for PoCL inlines what does. */
#define XMC_GROUP_FN static __attribute__((noinline, unused))

XMC_FN xmc_u32 xmc_group_size(void) {
  return (xmc_u32)(get_local_size(0) * get_local_size(1) * get_local_size(2));
}

#define XMC_GROUP_ALONE 0xfdu  /* served by xmcMalloc */
#define XMC_GROUP_SERVED 0xfeu /* has its block */

/* Claims n blocks of a class and hands them to the work-items that want it, which `who` names. Those for whom there is none are
 * not marked as served. */
XMC_FN void xmc_group_serve(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, __local xmcGroupScratch *scratch,
                            xmc_u32 cls, const ushort *who, xmc_u32 n) {
  while (n > 0) {
    xmc_claim claim = xmc_blocks_claim_first(heap, me, cls, n < 32u ? n : 32u);
    xmc_u32 take = xmc_claim_mask(claim);
    xmc_u64 first = (xmc_u64)(size_t)xmc_block_address(heap, cls, xmc_claim_id(claim), 0);
    if (!take)
      return;
    n -= xmc_popcount32(take);
    for (; take; take &= take - 1u, who++) {
      scratch->of[*who] = first + xmc_lowest32(take) * xmc_class_bytes(cls);
      scratch->cls[*who] = XMC_GROUP_SERVED;
    }
  }
}

/* n blocks that lie side by side, for the work-items from `i` on */
XMC_FN void xmc_group_hand(__local xmcGroupScratch *scratch, xmc_u32 i, xmc_u64 first, xmc_u32 bytes,
                           xmc_u32 n) {
  xmc_u32 k;
  for (k = 0; k < n; k++)
    scratch->of[i + k] = first + k * bytes;
}

/* The FIFO whose hint leads to pages for the class: of its slabs, if it is small */
XMC_FN xmc_u32 xmc_group_pages_fifo(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls) {
  return xmc_fifo_of(heap, me, xmc_class_is_small(cls) ? xmc_slab_class(cls) : cls);
}

/* Superblocks of a small class for n work-items or fewer, whole ones of 32: all their places in the slab that the slot used
 * last by one CAS. Returns how many work-items were served, from `i` on; 0 while room is scarce (xmc_carve says what is done
 * then). */
XMC_FN xmc_u32 xmc_group_take_places(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, __local xmcGroupScratch *scratch,
                                     xmc_u32 cls, xmc_u32 i, xmc_u32 n) {
  xmc_u32 fifo = xmc_fifo_of(heap, me, cls), slab, take, id, served = 0, scarce;
  xmc_u64 w;
  if (fifo == XMC_NONE || !xmc_class_is_small(cls) || xmc_scarce_near(heap))
    return 0;
  slab = xmc_load_relaxed32(&xmc_fifo_number(heap, fifo)->hint) - 1u;
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
    xmc_group_hand(scratch, i + served, (xmc_u64)(size_t)xmc_block_address(heap, cls, id, 0),
                   xmc_class_bytes(cls), 32u);
  }
  return served;
}

/* Starts a slab of which no place is free, and Superblocks of which no block is, in a page that is the caller's. */
XMC_FN void xmc_group_start_slab(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 page) {
  xmc_u32 words = xmc_words(heap), left = xmc_slab_blocks(cls), places = (left + 31u) >> 5, place;
  xmc_store_relaxed64(xmc_word_at(heap, words, xmc_slab_id(page)),
                      xmc_word_make(xmc_slab_class(cls), places, 0));
  for (place = 0; place < places; place++, left -= 32u)
    xmc_store_relaxed64(xmc_word_at(heap, words, xmc_superblock_id(page, place)),
                        xmc_word_make(cls, left < 32u ? left : 32u, 0));
}

/* Runs of pages all whose blocks n work-items or fewer take, by one CAS: those which the slot returned last, as far as they lie in
 * one span; or what is free in the span where it goes on. Returns how many work-items were served, from `i` on. */
XMC_FN xmc_u32 xmc_group_take_pages(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, __local xmcGroupScratch *scratch,
                                    xmc_u32 cls, xmc_u32 i, xmc_u32 n) {
  xmc_u32 fifo = xmc_group_pages_fifo(heap, me, cls), order = xmc_class_order(cls), served = 0, scarce;
  xmc_u32 blocks = xmc_class_blocks(cls, 1u << order), want = n / blocks, hint, page, span, at;
  XMC_GLOBAL xmc_u64 *word;
  xmc_u64 w, runs, take = 0;
  if (fifo == XMC_NONE || !want || xmc_scarce_near(heap))
    return 0;
  hint = xmc_load_relaxed32(&xmc_fifo_number(heap, fifo)->hint);
  page = xmc_hint_page(hint);
  if (page >= xmc_heap_pages(heap))
    return 0;
  span = page >> XMC_SPAN_SHIFT;
  word = xmc_span_word(heap, span);
  w = xmc_load_relaxed64(word);
  runs = xmc_aligned_runs(w, order);
  if (xmc_hint_is_run(hint)) { /* the stack, from the top */
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
    xmc_group_hand(scratch, i + served, (xmc_u64)(size_t)xmc_page_address(heap, page), xmc_class_bytes(cls),
                   blocks);
  }
  xmc_store_relaxed32(&xmc_fifo_number(heap, fifo)->hint, hint ? hint : xmc_hint_onward(heap, page, order));
  return served;
}

/* All n work-items want this class. Returns how many, the first ones, were served. */
XMC_FN xmc_u32 xmc_group_serve_all(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, __local xmcGroupScratch *scratch,
                                   xmc_u32 cls, xmc_u32 n) {
  xmc_u32 i = 0, bytes = xmc_class_bytes(cls), take;
  xmc_claim claim;
  xmc_u64 first;
  while (i < n) {
    take = 0;
    if (i > 0 && n - i >= 64u)
      take = xmc_group_take_places(heap, me, scratch, cls, i, n - i);
    if (i > 0 && !take)
      take = xmc_group_take_pages(heap, me, scratch, cls, i, n - i);
    i += take;
    if (take)
      continue;
    claim = xmc_blocks_claim_first(heap, me, cls, n - i < 32u ? n - i : 32u);
    take = xmc_claim_mask(claim);
    if (!take)
      break;
    first = (xmc_u64)(size_t)xmc_block_address(heap, cls, xmc_claim_id(claim), 0);
    if (take == 0xffffffffu) {
      xmc_group_hand(scratch, i, first, bytes, 32u);
      i += 32u;
    } else {
      for (; take; take &= take - 1u, i++)
        scratch->of[i] = first + xmc_lowest32(take) * bytes;
    }
  }
  return i;
}

/* Sizes become blocks. `at`: the scratch; `id`: the work-item that reports failures */
XMC_GROUP_FN void xmc_group_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u64 id, xmc_u64 at,
                                   xmc_u32 items) {
  __local xmcGroupScratch *scratch = (__local xmcGroupScratch *)(size_t)at;
  xmc_u64 size = scratch->of[0], other = 0;
  xmc_u32 i, c, served = 0, first = 0;
  ushort wanted[XMC_CLASSES], end[XMC_CLASSES],
      who[XMC_GROUP_MAX]; /* work-items by class, and where each class ends */
  if (!xmc_heap_is_ours(heap)) {
    for (i = 0; i < items; i++)
      scratch->of[i] = 0;
    return;
  }
  for (i = 0; i < items; i++)
    other |= scratch->of[i] ^ size;
  if (!other) {
    if (size - 1u < XMC_MAX_CLASS_BYTES)
      served = xmc_group_serve_all(heap, me, scratch, xmc_class_of((xmc_u32)size), items);
  } else {
    for (c = 0; c < XMC_CLASSES; c++)
      wanted[c] = 0;
    for (i = 0; i < items; i++) {
      size = scratch->of[i];
      c = size - 1u < XMC_MAX_CLASS_BYTES ? xmc_class_of((xmc_u32)size) : XMC_GROUP_ALONE;
      scratch->cls[i] = (uchar)c;
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
    for (c = 0; c < XMC_CLASSES; c++)
      xmc_group_serve(heap, me, scratch, c, &who[end[c] - wanted[c]], wanted[c]);
  }
  for (i = served; i < items; i++)
    if (!other || scratch->cls[i] != XMC_GROUP_SERVED)
      scratch->of[i] = (xmc_u64)(size_t)xmc_malloc_alone(heap, me, id, (size_t)scratch->of[i]);
}
#endif
#endif
