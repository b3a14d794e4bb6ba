/* SPDX-License-Identifier: MIT */
/* malloc where each work-item is served alone: CPU devices, the host, and programs without coalescing. */
#ifndef XMC_MALLOC_ALONE_CL
#define XMC_MALLOC_ALONE_CL
#include "claim.cl"
#include "turns.cl"

#if !XMC_SIMT || XMC_COALESCING == XMC_COALESCE_NONE
/* xmc_block_ahead returns `block`, which is block `bit` of a Superblock, and prefetches the block XMC_BLOCKS_AHEAD further on, because
 * the next atomic has to wait for the user's write to this block. If there is none that far on it prefetches this one, because CPUs
 * cannot predict a branch on the bit if requests of several classes alternate. xmc_blocks_ahead prefetches, if this is the Superblock's
 * first block, all blocks up to there. */
#define XMC_BLOCKS_AHEAD 16u
XMC_FN XMC_GLOBAL char *xmc_block_ahead(XMC_GLOBAL char *block, xmc_u32 cls, xmc_u32 bit) {
  xmc_prefetch(block + (bit < 32u - XMC_BLOCKS_AHEAD ? XMC_BLOCKS_AHEAD : 0u) * xmc_class_bytes(cls));
  return block;
}
XMC_FN XMC_GLOBAL char *xmc_blocks_ahead(XMC_GLOBAL char *block, xmc_u32 cls, xmc_u32 bit) {
  xmc_u32 i;
  for (i = 1; bit == 0 && i <= XMC_BLOCKS_AHEAD; i++)
    xmc_prefetch(block + i * xmc_class_bytes(cls));
  return block;
}

/* Claims one block of the active Superblock `id`. Returns 0 if there is none, with the word as last seen in *w. On CPUs a CAS with a
 * wrong guess is expensive, and so is a load right behind another atomic on the same word: the FIFO's `partly` remembers which to use. */
XMC_FN XMC_GLOBAL char *xmc_active_malloc(XMC_GLOBAL xmcHeap *heap, xmc_view view, xmc_u32 cls, xmc_u32 fifo,
                                          xmc_u32 id, xmc_u64 *w) {
  XMC_GLOBAL xmc_u64 *word = xmc_word_at(heap, view.words, id);
  XMC_GLOBAL xmc_u32 *partly = &xmc_fifo_number(heap, fifo)->partly;
  xmc_u64 whole = xmc_word_guess(cls, id) | XMC_WORD_SEATED;
  xmc_u32 take, bit;
  *w = 0;
  if (id == XMC_NONE)
    return 0;
  if (!xmc_load_relaxed32(partly)) {
    *w = xmc_cas_claim64(word, whole, whole & ~(xmc_u64)1);
    if (*w == whole)
      return xmc_block_at(heap, view.data, cls, id, 0);
    xmc_store_relaxed32(partly, 1u);
  } else {
    *w = xmc_load_relaxed64(word);
    if (*w == whole)
      xmc_store_relaxed32(partly, 0);
  }
  take = xmc_superblock_claim(word, cls, 1u, w, 0);
  bit = take ? xmc_lowest32(take) : 0;
  return take ? xmc_block_ahead(xmc_block_at(heap, view.data, cls, id, bit), cls, bit) : 0;
}

/* Allocates a block of the class out of the active Superblock of the caller's FIFO. Returns 0 if that fails. */
XMC_FN XMC_GLOBAL char *xmc_seat_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls) {
  xmc_view view;
  xmc_u32 fifo;
  xmc_u64 w;
  xmc_view_read(heap, cls, &view);
  if (!view.count)
    return 0;
  fifo = xmc_view_fifo(view, me);
  return xmc_active_malloc(heap, view, cls, fifo,
                           xmc_active_id(xmc_load_relaxed64(&xmc_fifo_number(heap, fifo)->active)), &w);
}

/* Allocates a block of the class. Returns 0 if the caller's FIFO, its slab and the pages have none. view.count must not be 0. */
XMC_FN XMC_GLOBAL char *xmc_class_malloc_try(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_view view,
                                             xmc_u32 cls) {
  XMC_GLOBAL char *block;
  xmc_u32 bit;
  xmc_u64 w;
  xmc_claim claim;
  xmc_seat seat;
  seat.fifo = xmc_view_fifo(view, me);
  xmc_seat_read_for(heap, view.own, me, cls, 1u, &seat);
  if (XMC_LOOKS_FIRST && !view.ours)
    return 0;
  if (XMC_SIMT) {
    block = xmc_active_malloc(heap, view, cls, seat.fifo, xmc_active_id(seat.active), &w);
    if (block)
      return block;
  } else { /* most callers have tried it (xmc_seat_malloc) */
    w = xmc_seat_word(heap, view.words, seat.active);
  }
  for (;;) { /* again only if another work-item moved the FIFO on */
    claim = xmc_blocks_claim(heap, me, view.words, cls, 1, w, seat);
    if (claim != XMC_CLAIM_AGAIN)
      break;
    xmc_seat_read_for(heap, view.own, me, cls, 1u, &seat);
    w = xmc_seat_word(heap, view.words, seat.active);
  }
  if (!claim)
    return 0;
  bit = xmc_lowest32(xmc_claim_mask(claim));
  return xmc_blocks_ahead(xmc_block_at(heap, view.data, cls, xmc_claim_id(claim), bit), cls, bit);
}

/* Allocates a block of the class by the last resort, or a larger one if there is no other. Returns 0 if there is neither. */
XMC_COLD_FN XMC_GLOBAL char *xmc_class_malloc_last(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls) {
  XMC_AFRESH64(heap);
  xmc_search search = xmc_search_start(heap);
  xmc_claim claim;
  XMC_ROLLED
  do {
    claim = xmc_last_turn(heap, me, cls, 1u, &search);
    if (!claim && search == XMC_SEARCH_FAILED)
      return 0;
  } while (!claim);
  return xmc_last_block(heap, xmc_claim_id(claim), xmc_lowest32(xmc_claim_mask(claim)));
}

/* Allocates a run of pages as one Memoryblock, whose address is a multiple of `align` pages. Returns its first page, or XMC_NONE. */
XMC_HOT_FN xmc_u32 xmc_memoryblock_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 pages,
                                          xmc_u32 align) {
  XMC_AFRESH64(heap);
  xmc_u32 at = 0;
  xmc_u64 mask = 0;
  xmc_search search = 0;
  XMC_ROLLED
  do
    at = xmc_run_take(heap, me, pages, align, 1, XMC_NONE, &search, &mask);
  while (!mask && search != XMC_SEARCH_FAILED);
  if (!mask)
    return XMC_NONE;
  if (xmc_run_is_shared(pages, align))
    at = at * XMC_SPAN_PAGES + xmc_lowest64(mask);
  xmc_memoryblock_start(heap, at, pages);
  return at;
}
#endif
#endif
