/* SPDX-License-Identifier: MIT */
/* Addresses of blocks, Memoryblocks, and releases: from a claimed bit or run of pages to its address, and from a pointer back to them.
 *
 *   pointer -> page -> page map: class, first page -> Superblock, bit      one load, then arithmetic
 *
 * Everything that a release reads is outside the users' blocks, so a user who writes beyond a block damages users' data only.
 */
#ifndef XMC_ALLOCATE_CL
#define XMC_ALLOCATE_CL
#include "../pages/long_run.cl"
#include "../pressure/reclaim.cl"

/* The address of block `bit` of Superblock `id`. `data`: that field of the view (xmc_view). */
XMC_FN XMC_GLOBAL char *xmc_block_at(XMC_GLOBAL xmcHeap *heap, xmc_u32 data, xmc_u32 cls, xmc_u32 id,
                                     xmc_u32 bit) {
  return (XMC_GLOBAL char *)heap + ((xmc_u64)data << 4) + ((xmc_u64)xmc_id_page(id) << XMC_PAGE_SHIFT) +
         ((xmc_class_is_small(cls) ? xmc_id_row(id) : 0) * 32u + bit) * xmc_class_bytes(cls);
}
XMC_HOT_FN XMC_GLOBAL char *xmc_block_address(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 id,
                                              xmc_u32 bit) {
  return xmc_block_at(heap, (xmc_u32)(xmc_heap_data(heap) >> 4), cls, id, bit);
}

/* Makes a run of pages, which the caller claimed, a Memoryblock: writes its entries of the page map and its state word. */
XMC_FN void xmc_memoryblock_start(XMC_GLOBAL xmcHeap *heap, xmc_u32 page, xmc_u32 pages) {
  if (XMC_DEBUG)
    xmc_debug_remember(heap, page, pages, XMC_CLASS_MEMORYBLOCK, XMC_MAP(XMC_CLASS_MEMORYBLOCK, 0, 0, 0));
  xmc_body_enter(heap, page, 1u, pages);
  xmc_store_relaxed64(xmc_word_of(heap, xmc_superblock_id(page, 0)), xmc_word_memoryblock(pages));
  xmc_store_relaxed64(xmc_page_entry(heap, page), XMC_MAP(XMC_CLASS_MEMORYBLOCK, 0, 0, 0));
}

/* Claims a run of pages for one block whose address is a multiple of `align` pages (a power of two), provided that the address of page
 * 0 is a multiple of a page. Returns the first page, or XMC_NONE. `anywhere` as for xmc_run_claim. It claims align - 1 pages more and
 * returns the ends. Meanwhile it counts itself in flux if room was ever scarce, because no other search can see the ends until they are
 * returned. */
XMC_FN xmc_u32 xmc_memoryblock_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 pages, xmc_u32 align,
                                     xmc_u32 anywhere) {
  xmc_u32 want = pages + align - 1u, page = XMC_NONE, first = XMC_NONE, span = 0;
  int counts = align > 1u && xmc_scarce_look(heap);
  xmc_u64 mask;
  if (counts)
    xmc_flux_begin(heap);
  if (want > XMC_SPAN_PAGES) {
    page = xmc_run_claim_long(heap, me, want);
  } else {
    mask = xmc_run_claim(heap, me, want, 1, anywhere, XMC_NONE, &span);
    if (mask)
      page = span * XMC_SPAN_PAGES + xmc_lowest64(mask);
  }
  if (page != XMC_NONE) {
    first = (xmc_u32)((xmc_u64)(size_t)xmc_page_address(heap, page) >> XMC_PAGE_SHIFT);
    first = page + ((0u - first) & (align - 1u));
    if (first > page) /* the ends are returned */
      xmc_run_release(heap, page, first - page);
    if (page + want > first + pages)
      xmc_run_release(heap, first + pages, page + want - (first + pages));
  }
  if (counts)
    xmc_flux_end(heap, first != XMC_NONE);
  return first;
}

/* 1 in programs that make and free joined blocks (joined.cl): those for CPU devices, except of debug heaps. Programs for GPUs have no code
 * for them, because their frees are too large as it is; a file with joined blocks cannot be loaded for a GPU (host/file/save.c). */
#define XMC_JOINS (!XMC_SIMT && !XMC_DEBUG)

/* What the page map says of a pointer (xmc_find) */
typedef struct xmc_place {
  xmc_u32 cls;  /* a size class, XMC_CLASS_MEMORYBLOCK, or another one: no block begins there */
  xmc_u32 id;   /* of the Superblock; of row 0 for a Memoryblock */
  xmc_u32 bit;  /* of the Basicblock */
  xmc_u32 rest; /* bytes from the start of the block */
} xmc_place;

/* The fields of the header that a release needs, read at once. (Functions fill structures by pointer, because where they return them
 * LLVM makes instructions that Oclgrind lacks.) */
typedef struct xmc_map_view {
  int ours;
  xmc_u64 data;
  xmc_u32 words; /* where the state words begin, in 8 bytes from the arena's start */
  xmc_u64 map;   /* page_map, and pages above it */
} xmc_map_view;
XMC_FN void xmc_map_view_read(XMC_GLOBAL xmcHeap *heap, xmc_map_view *view) {
#if XMC_GEOMETRY
  view->ours = xmc_load_fixed64(&heap->geometry) == XMC_GEOMETRY;
  view->data = xmc_heap_data(heap);
  view->words = xmc_words(heap);
  view->map = xmc_fixed_map(heap);
#else
  xmc_u64 magic, words;
  xmc_load_four_if(heap != 0, &heap->magic, &magic, &view->data, &words, &view->map);
  view->ours = magic == XMC_MAGIC;
  view->words = (xmc_u32)(words >> 3);
#endif
}

/* Computes from the entry of the page at `page` (`low`, its lower half, and `inverse`), which Basicblock a pointer with this offset from page
 * 0 leads to, wherever in it: all of *place but that `rest` counts from the run's start. Returns that offset in the run divided by the bytes
 * of a Basicblock, as xmc_class_divide does. */
XMC_PART_FN xmc_u64 xmc_place_compute(xmc_u64 offset, xmc_u64 page, xmc_u32 low, xmc_u32 back,
                                      xmc_u32 inverse, xmc_place *place) {
  xmc_u32 block;
  xmc_u64 n;
  place->rest = ((xmc_u32)offset & (XMC_PAGE_BYTES - 1u)) + (back << XMC_PAGE_SHIFT);
  n = xmc_class_divide(place->rest, inverse);
  block = (xmc_u32)(n >> 32);
  place->cls = xmc_map_class(low);
  place->id = xmc_superblock_id((xmc_u32)page - back, (xmc_map_place(low) + (block >> 5)) & 31u);
  place->bit = block & 31u;
  return n;
}

/* Looks up which block begins at ptr. Returns 1 if a Basicblock does, and *place names it; whether it is free is not looked at. Else
 * returns 0: a Memoryblock begins there if *place has its class and rest 0; in a Basicblock `rest` says how far behind its start ptr
 * is, and in a page with joined blocks the class is XMC_CLASS_JOINED and its own. `frees` is 1 if the caller frees the block: then the fence of
 * its release is here (xmc_fence_ahead). */
XMC_FN int xmc_find(XMC_GLOBAL xmcHeap *heap, xmc_map_view view, XMC_GLOBAL const void *ptr, xmc_place *place,
                    int frees) {
  xmc_u64 offset = (xmc_u64)((XMC_GLOBAL const char *)ptr - (XMC_GLOBAL char *)heap) - view.data;
  xmc_u64 page = offset >> XMC_PAGE_SHIFT;
  int inside = (XMC_LOOKS_FIRST || view.ours) & (page < view.map >> 32);
  xmc_u64 at = (view.map & 0xffffffffu) + 8u * page;
  /* On GPUs there is no branch before the access: if there is no entry, the header's first word is read in its place. On CPUs there is
   * a branch, which they predict, so that the access need not wait for the header. */
  xmc_u64 entry =
      XMC_SIMT || inside
          ? xmc_load_relaxed64_fast((XMC_GLOBAL xmc_u64 *)((XMC_GLOBAL char *)heap + (inside ? at : 0)))
          : 0;
  if (frees)
    xmc_fence_ahead();
  entry = XMC_HIDDEN(entry);
  xmc_u64 n;
  xmc_u32 low = (XMC_LOOKS_FIRST ? inside & view.ours : inside) ? (xmc_u32)entry : XMC_MAP_NONE;
  xmc_u32 back = xmc_map_back(low), block;
  xmc_u32 inverse = xmc_map_inverse(entry);
  XMC_AFRESH(inverse); /* without this it is multiplied in 64 bits */
  n = xmc_place_compute(offset, page, low, back, inverse, place);
  block = (xmc_u32)(n >> 32);
  if (block < xmc_map_blocks(low) && (xmc_u32)n < inverse) {
    place->rest = 0;
    return 1;
  }
  if (place->cls < XMC_CLASSES) {
    place->rest -= block * xmc_class_bytes(place->cls);
    if (block >= xmc_map_blocks(low))
      place->cls = XMC_JOINS && !xmc_map_blocks(low) ? XMC_CLASS_JOINED | place->cls : XMC_CLASS_NONE;
  }
  return 0;
}

XMC_FN int xmc_find_block(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL const void *ptr, xmc_place *place) {
  xmc_map_view view;
  xmc_map_view_read(heap, &view);
  return xmc_find(heap, view, ptr, place, 0);
}

/* The first page of the Memoryblock that begins at `place`, or XMC_NONE */
XMC_FN xmc_u32 xmc_memoryblock_page(xmc_place place) {
  return place.rest == 0 && place.cls == XMC_CLASS_MEMORYBLOCK ? xmc_id_page(place.id) : XMC_NONE;
}

XMC_FN xmc_u64 xmc_arena_offset(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL const void *ptr) {
  return (xmc_u64)((XMC_GLOBAL const char *)ptr - (XMC_GLOBAL char *)heap);
}

/* Bad frees and failed requests are counted by kind, and the first one of each kind is recorded; nothing else changes. */
XMC_COLD_FN void xmc_count_double_free(XMC_GLOBAL xmcHeap *heap, xmc_u64 offset, xmc_u32 times) {
  xmc_add_relaxed64(&heap->double_frees, times);
  xmc_cas_relaxed64(&heap->first_double_free, 0, offset + 1u);
}
XMC_FN void xmc_count_invalid_free(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL const void *ptr) {
  xmc_add_relaxed64(&heap->invalid_frees, 1);
  xmc_cas_relaxed64(&heap->first_invalid_free, 0, xmc_arena_offset(heap, ptr) + 1u);
}
XMC_COLD_FN void xmc_count_failure_of(XMC_GLOBAL xmcHeap *heap, size_t size, xmc_u64 id) {
  xmc_add_relaxed64(&heap->failed_requests, 1);
  /* No heap has room for more, and a sum with such sizes would say nothing. */
  if (size <= (xmc_u64)XMC_MAX_PAGES << XMC_PAGE_SHIFT)
    xmc_add_relaxed64(&heap->failed_bytes, (xmc_u64)size);
  if (xmc_cas_relaxed64(&heap->first_failure_size, 0, (xmc_u64)size) == 0)
    xmc_store_relaxed64(&heap->first_failure_id, id);
}
XMC_FN void xmc_count_failure(XMC_GLOBAL xmcHeap *heap, size_t size) {
  xmc_count_failure_of(heap, size, xmc_work_item());
}

/* Retires a listed Superblock if it is still wholly free, and gives its memory back; w is its word as last seen. Returns XMC_NONE, or
 * the id of the slab whose listed duty the caller has now. */
XMC_COLD_FN xmc_u32 xmc_retire_listed(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls,
                                      xmc_u32 id, xmc_u64 w) {
  w = xmc_superblock_retire(xmc_word_at(heap, words, id), cls, w);
  return w ? xmc_give_back(heap, me, words, cls, id) : XMC_NONE;
}

/* True if the release of `bits` is complete: the word was listed and not watched, none of `bits` was free before or freed twice, and
 * the Superblock need not be returned now: one that was used up and becomes wholly free by this release stays, as in a loop of malloc and
 * free. old: the word before the release. On GPUs the release of a parked one is never complete, because to look at more of it here costs
 * registers. */
#define XMC_RELEASE_BITS (XMC_WORD_LISTED | XMC_WORD_WATCHED | (XMC_SIMT ? XMC_WORD_PARKED : 0))
XMC_FN int xmc_release_is_all(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 bits, xmc_u32 lanes,
                              xmc_u64 old) {
  int parked = !XMC_SIMT && (old & XMC_WORD_PARKED);
  return (old & XMC_RELEASE_BITS) == XMC_WORD_LISTED && !(bits & xmc_word_free(old)) &&
         ((!XMC_SIMT && lanes == 1u) || xmc_popcount32(bits) == lanes) &&
         ((!parked && xmc_class_stays(cls)) || !xmc_word_is_whole(old | bits) ||
          (!parked && (!xmc_word_free(old) || xmc_stays_whole(heap, cls, old))));
}

/* Does the rest of a release that xmc_release_is_all did not find complete; *word is the Superblock's word before the release. It
 * counts double frees, tells searches if a watched Superblock is wholly free now, and retires a listed one that must be returned.
 * Returns XMC_NONE if nothing is left to settle. Else the caller has a listed duty: without XMC_NO_YIELDS the Superblock or slab is
 * settled here; with it the function returns the id, and the caller must settle that, of the class *which_cls with the word *word. */
XMC_FN xmc_u32 xmc_blocks_released(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 *which_cls,
                                   xmc_u32 id, xmc_u32 bits, xmc_u32 lanes, xmc_u64 *word) {
  xmc_u32 cls = *which_cls;
  xmc_u64 old = *word, now = old | XMC_WORD_LISTED | bits;
  xmc_u32 bad = lanes - xmc_popcount32(bits & ~xmc_word_free(old));
  if (bad) {
    xmc_u32 which = xmc_word_free(old) & bits ? xmc_word_free(old) & bits : bits;
    xmc_count_double_free(heap, xmc_arena_offset(heap, xmc_block_address(heap, cls, id, xmc_lowest32(which))),
                          bad);
  }
  xmc_say_whole(heap, words, cls, id, now);
  if (old & XMC_WORD_LISTED) {
    /* It was listed, so the caller has no duty. If it is wholly free now it is retired if it is parked, or if xmc_stays_whole does not
     * keep it and it is not the active one of the caller's FIFO. */
    if (xmc_word_class(old) != cls || !xmc_word_free(old) || !xmc_word_is_whole(now) ||
        !(bits & ~xmc_word_free(old)) || /* a bad free changes nothing */
        (!(old & XMC_WORD_PARKED) &&
         (xmc_stays_whole(heap, cls, old) || xmc_is_active_here(heap, me, cls, id))))
      return XMC_NONE;
    id = xmc_retire_listed(heap, me, words, cls, id, now);
    if (id == XMC_NONE)
      return XMC_NONE;
    *which_cls = xmc_slab_class(cls);
    now = xmc_load_relaxed64(xmc_word_at(heap, words, id));
  }
  *word = now;
  return xmc_settle_due(heap, me, words, *which_cls, id, now);
}
/* The same, and settles what is left to settle in all programs. */
XMC_CALL_FN void xmc_blocks_settled(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls,
                                    xmc_u32 id, xmc_u32 bits, xmc_u32 lanes, xmc_u64 old) {
  id = xmc_blocks_released(heap, me, words, &cls, id, bits, lanes, &old);
  if (id != XMC_NONE) /* only with XMC_NO_YIELDS */
    xmc_settle(heap, me, words, cls, id, old);
}

/* Releases `bits` of one Superblock on behalf of `lanes` frees, and does all that follows from it. `words`: the header's field. */
XMC_FN void xmc_blocks_release(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls, xmc_u32 id,
                               xmc_u32 bits, xmc_u32 lanes) {
  xmc_u64 old = xmc_superblock_release(xmc_word_at(heap, words, id), bits);
  if (!xmc_release_is_all(heap, cls, bits, lanes, old))
    xmc_blocks_settled(heap, me, words, cls, id, bits, lanes, old);
}

/* Makes a live Memoryblock of `had` pages one of `pages` pages without moving it: claims the pages behind it, or returns its end.
 * Returns 1; or 0, and changes nothing, if not all pages behind it are free, or if another work-item freed the block meanwhile.
 *
 * Only its state word says how long the block is. The word changes by CAS, so a bad free at the same time finds one length or the
 * other, and the work-item whose CAS succeeds owns the pages. Entries of pages that are added are written before the word
 * changes; what they said before leads to state words that are not in use. Entries of pages that are returned stay as they are, and no
 * block begins there. The last step returns the pages that the block gives up, or those that were claimed for it in vain. */
XMC_COLD_FN int xmc_memoryblock_resize(XMC_GLOBAL xmcHeap *heap, xmc_u32 page, xmc_u32 had, xmc_u32 pages) {
  xmc_u64 word = xmc_word_memoryblock(had);
  int done;
  if (pages > had && (pages > XMC_MAX_BLOCK_PAGES || pages > xmc_heap_present(heap) - page ||
                      !xmc_pages_behind(heap, page + had, pages - had)))
    return 0;
  xmc_body_enter(heap, page, had, pages);
  done = xmc_cas_acq_rel64(xmc_word_of(heap, xmc_superblock_id(page, 0)), word,
                           xmc_word_memoryblock(pages)) == word;
  if (done == (pages < had)) /* what it gives up, or was not to get */
    xmc_run_release(heap, page + (done ? pages : had), done ? had - pages : pages - had);
  return done;
}

/* Releases the Memoryblock that begins at `page`, or counts a double free. The work-item whose CAS retires the word owns the pages.
 * The CAS acquires only for the stores of a resize at the same time, which only a wrong program has. On NVIDIA it does not: there those are
 * done once the word that the resize wrote is seen, and to acquire would empty the cache in which the header is. */
XMC_HOT_FN void xmc_memoryblock_release(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  XMC_GLOBAL xmc_u64 *word = xmc_word_of(heap, xmc_superblock_id(page, 0));
  xmc_u64 w = xmc_load_relaxed64(word);
  if (xmc_word_class(w) == XMC_CLASS_MEMORYBLOCK && xmc_cas_behind64(word, w, XMC_WORD_RETIRED) == w)
    xmc_run_give(heap, page, xmc_word_pages(w), 1);
  else
    xmc_count_double_free(heap, xmc_arena_offset(heap, xmc_page_address(heap, page)), 1);
}
#endif
