/* SPDX-License-Identifier: MIT */
/* Joined blocks: adjacent Basicblocks of one Superblock, handed out as one block.
 *
 * When the sizes that a program asks for grow, blocks of smaller classes that stay keep Superblocks from larger classes although most of
 * their Basicblocks are free. Then a request that the last resort could not serve takes free Basicblocks in a row of a smaller class,
 * if there are as many as it needs:
 *
 *   Basicblock        11 10  9  8  7  6  5  4  3  2  1  0
 *   state word         1  1  0  1  0  0  0  0  1  1  0  1    0: in use
 *   joined word        1  1  1  1  0  0  0  1  1  1  1  1    0: it continues the block that the Basicblock before it is part of
 *
 * Here Basicblocks 1 and 9 are blocks of their own, 4 to 7 are one joined block. The joined word of a Superblock is the word that its
 * page has in the row XMC_JOINED_ROW further on, or back, which no other Superblock of this page uses. While no Basicblock continues another, it is
 * XMC_WORD_RETIRED, as all words that are not in use. Pages that have joined blocks, or had some since their run began, have entries
 * with 0 blocks in the page map, so that xmc_find finds no Basicblock there, and frees look here.
 *
 * Who owns all Basicblocks of a joined block owns their bits of the joined word. They are cleared after a CAS on the state word took the
 * Basicblocks, before the block is handed out, and set before the Basicblocks become free. Both words are changed by atomics. */
#ifndef XMC_JOINED_CL
#define XMC_JOINED_CL
#include "allocate.cl"

/* 1 in programs that make and free joined blocks: those for CPU devices. Programs for GPUs have no code for them, because their frees are
 * too large as it is; a file with joined blocks cannot be loaded for a GPU (host/inspect/believe.c). */
#define XMC_JOINS (!XMC_SIMT && !XMC_DEBUG)
#define XMC_JOINED_ROW 16u

/* The joined word of a Superblock that is not of class 0 */
XMC_FN XMC_GLOBAL xmc_u64 *xmc_joined_word(XMC_GLOBAL xmcHeap *heap, xmc_u32 id) {
  return xmc_word_of(heap, xmc_superblock_id(xmc_id_page(id), xmc_id_row(id) ^ XMC_JOINED_ROW));
}

/* Returns how many Basicblocks the block has that begins with Basicblock `bit`; 0 if that continues another block. joined: the lower half
 * of the joined word */
XMC_FN xmc_u32 xmc_joined_count(xmc_u32 joined, xmc_u32 bit) {
  return joined >> bit & 1u ? 1u + xmc_lowest32(~(~joined >> 1 >> bit)) : 0;
}

/* Looks up which block begins at ptr, in a page with joined blocks. Returns the number of its Basicblocks, the first of which is *place
 * then; or 0. */
XMC_COLD_FN xmc_u32 xmc_joined_find(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL const void *ptr, xmc_place *place) {
  xmc_u64 offset = xmc_arena_offset(heap, ptr) - xmc_heap_data(heap), page = offset >> XMC_PAGE_SHIFT, entry,
          n;
  xmc_u32 back, block;
  if (page >= xmc_heap_pages(heap))
    return 0;
  entry = xmc_load_relaxed64(xmc_page_entry(heap, (xmc_u32)page));
  place->cls = xmc_map_class(entry);
  if (place->cls - 1u >= XMC_CLASSES - 1u || xmc_map_blocks(entry))
    return 0;
  back = xmc_map_back(entry);
  n = xmc_class_divide(((xmc_u32)offset & (XMC_PAGE_BYTES - 1u)) + (back << XMC_PAGE_SHIFT),
                       xmc_map_inverse(entry));
  block = (xmc_u32)(n >> 32);
  if ((xmc_u32)n >= xmc_map_inverse(entry) ||
      block >= xmc_class_blocks(place->cls,
                                1u << ((xmc_map_place(entry) - XMC_RUN_PLACE) & 7u))) /* a slab: 1 page */
    return 0;
  place->id = xmc_superblock_id((xmc_u32)page - back, (xmc_map_place(entry) + (block >> 5)) & 31u);
  place->bit = block & 31u;
  place->rest = 0;
  return xmc_joined_count((xmc_u32)xmc_load_relaxed64(xmc_joined_word(heap, place->id)), place->bit);
}

/* If a block begins at ptr, in a page with joined blocks, releases all of its Basicblocks but the first, which the caller must release
 * then. Returns 1, and *place names the first; or 0. Of several frees of one block, one takes the bits of the joined word; for the
 * others the block has one Basicblock, whose release counts a double free. */
XMC_COLD_FN int xmc_joined_free(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL const void *ptr, xmc_place *place) {
  xmc_u64 word, old;
  xmc_u32 bits;
  if (!xmc_joined_find(heap, ptr, place))
    return 0;
  word = xmc_load_relaxed64(xmc_joined_word(heap, place->id));
  XMC_ROLLED
  for (;;) { /* again only if a free or request in the same Superblock changed the word meanwhile */
    bits = xmc_joined_count((xmc_u32)word, place->bit);
    if (!bits)
      return 0;
    bits = (xmc_count_mask(bits) & ~1u) << place->bit;
    if (!bits)
      return 1;
    old = xmc_cas_acq_rel64(xmc_joined_word(heap, place->id), word, word | bits);
    if (old == word)
      break;
    word = old;
  }
  /* Without `listed`: the release of the first Basicblock sets it, and finds out what else is to be done. */
  xmc_or_release64(xmc_word_of(heap, place->id), bits);
  return 1;
}

/* Claims `count` adjacent Basicblocks of a parked Superblock of the class that begins in this page, and makes them a block. Returns it,
 * or 0. */
XMC_FN XMC_GLOBAL char *xmc_page_join(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 page, xmc_u32 count) {
  xmc_u64 entry = xmc_load_relaxed64(xmc_page_entry(heap, page)), w, old;
  xmc_u32 rows, id, take, i, pages;
  int small = xmc_class_is_small(cls);
  if (xmc_map_class(entry) != cls || xmc_map_back(entry))
    return 0; /* the page has another class by now, or is inside a run */
  rows = 1u << xmc_map_place(entry);
  if (small)
    rows = ~(xmc_u32)xmc_load_relaxed64(xmc_word_of(heap, xmc_slab_id(page))) &
           xmc_full_mask((xmc_slab_blocks(cls) + 31u) >> 5);
  for (; rows; rows &= rows - 1u) {
    id = xmc_superblock_id(page, xmc_lowest32(rows));
    pages = small ? 1u : 1u << xmc_run_order(id);
    w = xmc_load_relaxed64(xmc_word_of(heap, id));
    while (xmc_word_class(w) == cls && (w & XMC_WORD_PARKED)) { /* again only if others changed the word */
      take = (xmc_u32)xmc_run_starts(xmc_word_available(w, cls), count);
      if (!take)
        break;
      take = xmc_count_mask(count) << xmc_lowest32(take);
      old = xmc_cas_acquire64(xmc_word_of(heap, id), w,
                              w & ~(xmc_u64)take); /* parked, even if it is exhausted now */
      if (old != w) {
        w = old;
        continue;
      }
      /* The run stays in use, because these Basicblocks do. Before, it may have been another one of the same class. */
      entry = xmc_load_relaxed64(xmc_page_entry(heap, page));
      if (small && xmc_map_blocks(entry))
        xmc_runs_forget(heap, page); /* entries behind this page may lead to the rows of joined words */
      for (i = 0; xmc_map_blocks(entry) && i < pages; i++)
        xmc_store_relaxed64(xmc_page_entry(heap, page + i), xmc_map_joined(entry) + XMC_MAP(0, i, 0, 0));
      xmc_and_hint64(xmc_joined_word(heap, id), ~(xmc_u64)(take & (take - 1u)));
      return xmc_block_address(heap, cls, id, xmc_lowest32(take));
    }
  }
  return 0;
}

/* Returns a block of adjacent Basicblocks of a smaller class for a request that the last resort could not serve, or 0. It wastes at most
 * half of the request's size, and is shorter than a page, as no Memoryblock is. Of each class it looks at XMC_JOINED_LOOKS pages with parked
 * Superblocks, from a page on that the number of the search chooses. GPUs' heaps, which host calls may use, have no joined blocks. */
#define XMC_JOINED_LOOKS 32u
XMC_COLD_FN XMC_GLOBAL char *xmc_joined_malloc(XMC_GLOBAL xmcHeap *heap, size_t size) {
  xmc_u32 pages = xmc_heap_spans(heap) * XMC_SPAN_PAGES, cls = XMC_CLASSES, any, at, count, bytes, looks,
          waste;
  XMC_GLOBAL char *block = 0;
  if (size >= XMC_PAGE_BYTES || !xmc_fifos_count(xmc_heap_fifos(heap, XMC_ALL_CLASSES - 1u)))
    return 0;
  if (size <= XMC_MAX_CLASS_BYTES)
    cls = xmc_class_of((xmc_u32)size);
  any = xmc_load_relaxed32(&heap->joins) + 1u; /* searches of other work-items may get the same number */
  xmc_store_relaxed32(&heap->joins, any);
  while (!block && --cls > 0 && cls < XMC_CLASSES) {
    bytes = xmc_class_bytes(cls);
    count = ((xmc_u32)size + bytes - 1u) / bytes;
    waste = count * bytes - (xmc_u32)size;
    if (count > xmc_class_count(cls))
      break;
    at = cls * pages + xmc_any_below(any, pages);
    for (looks = 0;
         looks < XMC_JOINED_LOOKS && count > 1u && waste <= size / 2u && count * bytes < XMC_PAGE_BYTES;
         looks++) {
      at = xmc_bitmap_find_from(heap, XMC_PARKED, cls * pages, cls * pages + pages, at);
      if (at == XMC_NONE)
        break;
      block = xmc_page_join(heap, cls, at - cls * pages, count);
      if (block)
        break;
      at++;
    }
  }
  return block;
}
#endif
