/* SPDX-License-Identifier: MIT */
/* Joined blocks: adjacent Basicblocks of one Superblock, or of adjacent places of a slab, handed out as one block.
 *
 * When the sizes that a program asks for grow, blocks of smaller classes that stay keep Superblocks from larger classes although most of
 * their Basicblocks are free. Then a request that the last resort could not serve takes free Basicblocks in a row of a smaller class,
 * if there are as many as it needs:
 *
 *   Basicblock        11 10  9  8  7  6  5  4  3  2  1  0
 *   state word         1  1  0  1  0  0  0  0  1  1  0  1    0: in use
 *   joined word        1  1  1  1  0  0  0  1  1  1  1  1    0: it continues the block that the Basicblock before it is part of
 *
 * Here Basicblocks 1 and 9 are blocks of their own, 4 to 7 are one joined block. The joined word of a Superblock is a state word of the
 * same page, 16 rows before or behind its own (XMC_JOINED_ROW), which no other Superblock of this page uses. While no Basicblock continues
 * another, it is XMC_WORD_RETIRED, as all words are that nothing uses. Pages that have joined blocks, or had some since their run began,
 * have entries with 0 blocks in the page map, so that xmc_find finds no Basicblock there, and frees look here.
 *
 * A block may go on in the next places of a slab, if it has all of the place before: then bit 0 of the next joined word is 0, too.
 *
 * Whoever owns the Basicblocks of a joined block owns their bits of the joined words. A request clears these bits after its CAS on the
 * state word took the Basicblocks, and before it hands the block out; a free sets them before it releases the Basicblocks, the last place
 * first. */
#ifndef XMC_JOINED_CL
#define XMC_JOINED_CL
#include "allocate.cl"

#define XMC_JOINED_ROW 16u

/* Returns 1 if this entry of the page map is of a page with joined blocks, or of one that had some. */
XMC_FN int xmc_entry_is_joined(xmc_u64 entry) {
  return xmc_map_class(entry) - 1u < XMC_CLASSES - 1u && !xmc_map_blocks(entry);
}

/* The joined word of a Superblock that is not of class 0 */
XMC_HOT_FN XMC_GLOBAL xmc_u64 *xmc_joined_word(XMC_GLOBAL xmcHeap *heap, xmc_u32 id) {
  return xmc_word_of(heap, xmc_superblock_id(xmc_id_page(id), xmc_id_row(id) ^ XMC_JOINED_ROW));
}

/* Returns how many Basicblocks of one Superblock the block has that begins with Basicblock `bit`; 0 if that continues another block, or if
 * `joined` is no joined word: where an old entry of the page map leads, another Superblock may have its state word by now. */
XMC_FN xmc_u32 xmc_joined_count(xmc_u64 joined, xmc_u32 bit) {
  if (xmc_word_class(joined) != XMC_CLASS_NONE || !(joined >> bit & 1u))
    return 0;
  return 1u + xmc_lowest32(~(~(xmc_u32)joined >> 1 >> bit));
}

/* Return the id of the Superblock in the next row of a slab, and in the one before. (CPU devices do not rotate the rows of slabs:
 * xmc_superblock_id.) */
XMC_FN xmc_u32 xmc_joined_next(xmc_u32 id) { return id + xmc_superblock_id(0, 1u); }
XMC_FN xmc_u32 xmc_joined_before(xmc_u32 id) { return id - xmc_superblock_id(0, 1u); }

/* Returns how many Basicblocks of Superblock `id`, of a class `cls`, continue the block that ends with the row before. */
XMC_HOT_FN xmc_u32 xmc_joined_further(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 id) {
  xmc_u64 word;
  if (!xmc_class_is_small(cls) || xmc_id_row(id) >= XMC_JOINED_ROW)
    return 0;
  word = xmc_load_relaxed64(xmc_joined_word(heap, id));
  if (xmc_word_class(word) != XMC_CLASS_NONE)
    return 0;
  return (xmc_u32)word ? xmc_lowest32((xmc_u32)word) : 32u;
}

/* Returns how many Basicblocks the block has that begins with Basicblock `bit` of Superblock `id`, in all places; or 0. */
XMC_HOT_FN xmc_u32 xmc_joined_length(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 id, xmc_u32 bit) {
  xmc_u32 count = xmc_joined_count(xmc_load_relaxed64(xmc_joined_word(heap, id)), bit), more = count;
  while (more && ((bit + count) & 31u) == 0) {
    id = xmc_joined_next(id);
    more = xmc_joined_further(heap, cls, id);
    count += more;
  }
  return count;
}

/* *place is what xmc_find, which returned 0, says of a pointer. If a block begins there, in a page with joined blocks, returns the number of
 * its Basicblocks, 1 for a Basicblock by itself, also a free one, and gives *place its class; else returns 0, and changes nothing. */
XMC_COLD_FN xmc_u32 xmc_joined_find(XMC_GLOBAL xmcHeap *heap, xmc_place *place) {
  xmc_u32 cls = place->cls - XMC_CLASS_JOINED, count;
  xmc_u64 word;
  if (cls - 1u >= XMC_CLASSES - 1u || place->rest)
    return 0;
  word = xmc_load_relaxed64(xmc_word_of(heap, place->id));
  if (xmc_word_class(word) != cls || place->bit >= xmc_word_count(word))
    return 0;
  count = xmc_joined_length(heap, cls, place->id, place->bit);
  place->cls = count ? cls : place->cls;
  return count;
}

/* The same, and takes the bits of the joined word: returns the bits of the block's Basicblocks, which the caller must release, all at once.
 * Those in further places are released here. Of several frees of one block, one takes them; for the others the block has one Basicblock,
 * whose release counts a double free. */
XMC_COLD_FN xmc_u32 xmc_joined_free(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_place *place) {
  XMC_GLOBAL xmc_u64 *joined = xmc_joined_word(heap, place->id);
  xmc_u64 word;
  xmc_u32 count, bits, more, id = place->id;
  if (!xmc_joined_find(heap, place))
    return 0;
  do { /* again only if a free or request in the same Superblock changed the word meanwhile */
    word = xmc_load_relaxed64(joined);
    count = xmc_joined_count(word, place->bit);
    bits = count ? xmc_count_mask(count) << place->bit : 0;
    if (count < 2u) /* LLVM makes a count of bits of a test of `bits`, which Oclgrind lacks */
      return bits;
  } while (xmc_cas_acq_rel64(joined, word, word | bits) != word);
  /* The block's end is found before anything is released, and what lies last is released first: behind a place that was released, another
   * block may begin there and go on. */
  count = 32u; /* Basicblocks in the last place */
  while (bits >> 31 && count == 32u) {
    more = xmc_joined_further(heap, place->cls, xmc_joined_next(id));
    if (!more)
      break;
    id = xmc_joined_next(id);
    count = more;
  }
  for (; id != place->id; id = xmc_joined_before(id), count = 32u) {
    xmc_or_hint64(xmc_joined_word(heap, id), xmc_count_mask(count));
    xmc_blocks_release(heap, me, xmc_words(heap), place->cls, id, xmc_count_mask(count), count);
  }
  return bits;
}

/* Enters into the page map that the run or slab in which Superblock `id` lies, of which the caller claimed a part, has joined blocks. */
XMC_HOT_FN void xmc_joined_enter(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 id) {
  xmc_u32 page = xmc_id_page(id), pages = xmc_class_is_small(cls) ? 1u : 1u << xmc_run_order(id), i;
  xmc_u64 entry;
  for (i = 0; i < pages; i++) { /* each: another request may be on its way from the first to the last */
    entry = xmc_load_relaxed64(xmc_page_entry(heap, page + i));
    if (xmc_map_blocks(entry) && xmc_class_is_small(cls))
      xmc_runs_forget(heap, page); /* entries behind this page may lead to the rows of joined words */
    if (xmc_map_blocks(entry))
      xmc_store_relaxed64(xmc_page_entry(heap, page + i), xmc_map_joined(entry));
  }
}

/* Makes a block of adjacent Basicblocks, which the caller claimed: `take` of Superblock `id`. Returns it. The Superblock's run stays in use
 * meanwhile, because these Basicblocks do. */
XMC_FN XMC_GLOBAL char *xmc_join(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 id, xmc_u32 take) {
  xmc_joined_enter(heap, cls, id);
  xmc_and_hint64(xmc_joined_word(heap, id), ~(xmc_u64)(take & (take - 1u)));
  return xmc_block_address(heap, cls, id, xmc_lowest32(take));
}

/* Claims `count` adjacent Basicblocks, or places, of those in `mask` of a parked Superblock, or slab. Returns their bits, or 0. */
XMC_HOT_FN xmc_u32 xmc_adjacent_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 id, xmc_u32 mask,
                                      xmc_u32 count) {
  xmc_u64 w = xmc_load_relaxed64(xmc_word_of(heap, id)), old;
  xmc_u32 take;
  while (xmc_word_class(w) == cls && (w & XMC_WORD_PARKED)) { /* again only if others changed the word */
    take = (xmc_u32)xmc_run_starts(xmc_word_available(w, cls) & mask, count);
    if (!take)
      break;
    take = xmc_count_mask(count) << xmc_lowest32(take);
    /* It stays parked, even if it is exhausted now. */
    old = xmc_cas_acquire64(xmc_word_of(heap, id), w, w & ~(xmc_u64)take);
    if (old == w)
      return take;
    w = old;
  }
  return 0;
}

/* Claims `count` adjacent Basicblocks of a parked Superblock of the class that begins in this page, and makes them a block. Returns it,
 * or 0. */
XMC_FN XMC_GLOBAL char *xmc_page_join(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 page, xmc_u32 count) {
  xmc_u64 entry = xmc_load_relaxed64(xmc_page_entry(heap, page));
  xmc_u32 rows, id, take;
  if (xmc_map_class(entry) != cls || xmc_map_back(entry))
    return 0; /* the page has another class by now, or is inside a run */
  rows = 1u << xmc_map_place(entry);
  if (xmc_class_is_small(cls))
    rows = ~(xmc_u32)xmc_load_relaxed64(xmc_word_of(heap, xmc_slab_id(page))) &
           xmc_full_mask((xmc_slab_blocks(cls) + 31u) >> 5);
  for (; rows; rows &= rows - 1u) {
    id = xmc_superblock_id(page, xmc_lowest32(rows));
    take = xmc_adjacent_claim(heap, cls, id, 0xffffffffu, count);
    if (take)
      return xmc_join(heap, cls, id, take);
  }
  return 0;
}

/* The same by as many adjacent free places of a parked slab as hold `count` Basicblocks. Each becomes a Superblock; what the block does not
 * need of the last one is parked, where the next search finds it. */
XMC_FN XMC_GLOBAL char *xmc_places_join(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 page, xmc_u32 count) {
  xmc_u32 row = xmc_adjacent_claim(heap, xmc_slab_class(cls), xmc_slab_id(page),
                                   xmc_count_mask(xmc_slab_blocks(cls) >> 5), (count + 31u) >> 5);
  xmc_u32 first, id, take, joined;
  xmc_seat seat;
  if (!row)
    return 0;
  id = first = xmc_superblock_id(page, xmc_lowest32(row));
  if (count > 1u)
    xmc_joined_enter(heap, cls, first);
  xmc_seat_none(&seat);
  seat.fifo = XMC_SEAT_PARKS;
  for (; count; count -= xmc_popcount32(take), id = xmc_joined_next(id)) {
    take = xmc_count_mask(count < 32u ? count : 32u);
    joined = id == first ? take & ~1u : take;
    xmc_and_hint64(xmc_joined_word(heap, id), ~(xmc_u64)joined);
    xmc_superblock_start(heap, xmc_words(heap), cls, id, 32u, take, seat, xmc_scarce_near(heap));
  }
  return xmc_block_address(heap, cls, first, 0);
}

/* Looks for `count` adjacent Basicblocks of the class in parked Superblocks or, if `where` is the class of its slabs, in free places of
 * parked slabs. Returns them as a block, or 0. It looks at up to XMC_JOINED_LOOKS pages, from one on that the number of the search chooses;
 * at half as many each time that four searches in a row found nothing, but at four. joins: the header's field. */
#define XMC_JOINED_LOOKS 512u
#define XMC_JOINED_MISSES 28u /* so many are remembered */
XMC_HOT_FN XMC_GLOBAL char *xmc_joined_search(XMC_GLOBAL xmcHeap *heap, xmc_u32 where, xmc_u32 cls,
                                              xmc_u32 count, xmc_u32 joins) {
  xmc_u32 pages = xmc_heap_spans(heap) * XMC_SPAN_PAGES, first = XMC_NONE, looks;
  xmc_u32 at = where * pages + xmc_any_below((joins >> 5) + 1u, pages);
  XMC_GLOBAL char *block = 0;
  for (looks = XMC_JOINED_LOOKS >> (joins & 31u) / 4u; looks && !block; looks--) {
    at = xmc_bitmap_find_from(heap, XMC_PARKED, where * pages, where * pages + pages, at);
    if (at == XMC_NONE || at == first) /* the search is round */
      break;
    first = first == XMC_NONE ? at : first;
    block = where == cls ? xmc_page_join(heap, cls, at - where * pages, count)
                         : xmc_places_join(heap, cls, at - where * pages, count);
    at++;
  }
  return block;
}

/* Returns a block for a request that the last resort could not serve, or 0: adjacent Basicblocks of a smaller class, which are longer than
 * the request by at most three quarters of it and shorter than a page, as no Memoryblock is; or one of a larger class (xmc_search_end),
 * in a free place of its slabs.
 * Heaps that a GPU uses, of which host calls may allocate, heaps that may have compartments, and unbuffered ones get none. */
XMC_COLD_FN XMC_GLOBAL char *xmc_joined_malloc(XMC_GLOBAL xmcHeap *heap, size_t size) {
  xmc_u32 pages = xmc_heap_spans(heap) * XMC_SPAN_PAGES, cls = XMC_CLASSES, n = (xmc_u32)size, joins, bytes,
          count, at, end;
  XMC_GLOBAL char *block = 0;
  if (size >= XMC_PAGE_BYTES || !xmc_fifos_count(xmc_heap_fifos(heap, XMC_ALL_CLASSES - 1u)) ||
      heap->coalescing == XMC_COALESCE_COMPARTMENT)
    return 0;
  joins = xmc_load_relaxed32(&heap->joins); /* its lower 5 bits: how many searches in a row found nothing */
  if (joins == XMC_JOINS_NEVER)
    return 0;
  if (size <= XMC_MAX_CLASS_BYTES)
    cls = xmc_class_of(n);
  /* Most full heaps have nothing parked of any smaller class, and no parked slab. */
  if ((cls < 2u || xmc_bitmap_find(heap, XMC_PARKED, pages, cls * pages) == XMC_NONE) &&
      xmc_bitmap_find(heap, XMC_PARKED, xmc_slab_class(1u) * pages,
                      xmc_slab_class(XMC_SMALL_CLASSES) * pages) == XMC_NONE)
    return 0;
  end = xmc_search_end(cls, XMC_SEARCH_LAST);
  for (at = cls + 1u; !block && at < end && xmc_class_is_small(at); at++)
    block = xmc_joined_search(heap, xmc_slab_class(at), at, 1u, joins);
  while (!block && cls > 1u) { /* class 0 has no joined words */
    cls--;
    bytes = xmc_class_bytes(cls);
    count = (n + bytes - 1u) / bytes;
    if (count * bytes - n > n - n / 4u || count * bytes >= XMC_PAGE_BYTES)
      continue; /* it would waste too much, or be as long as a Memoryblock */
    if (count <= xmc_class_count(cls))
      block = xmc_joined_search(heap, cls, cls, count, joins);
    if (!block && xmc_class_is_small(cls))
      block = xmc_joined_search(heap, xmc_slab_class(cls), cls, count, joins);
  }
  count = block ? 0 : (joins & 31u) + 1u;
  /* Searches at the same time may count as one. */
  xmc_store_relaxed32(&heap->joins,
                      ((joins >> 5) + 1u) << 5 | (count < XMC_JOINED_MISSES ? count : XMC_JOINED_MISSES));
  return block;
}
#endif
