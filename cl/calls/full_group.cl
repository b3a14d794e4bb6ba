/* SPDX-License-Identifier: MIT */
/* A whole Superblock for a whole sub-group: 32 lanes that want the same class get the 32 blocks of one Superblock, the n-th lane the
 * n-th block. In most kernels most requests are such ones, so they have a path of their own in front of the general one
 * (malloc_lanes.cl). It looks at the same places in the same order,
 *
 *   active Superblock, wholly free      one CAS takes all of it
 *      | exhausted, and the ring is empty: unlisted
 *   the slab used last                  one CAS takes a place               (small classes)
 *      | it was retired, or has no place left
 *   the page for the next slab          one fetch-and; a new slab, parked   (slots' own, and those of few places)
 *   the run of pages of the hint        one fetch-and                       (other classes)
 *
 * and does nothing else: it tries no CAS twice, does not search, takes no Superblock of fewer blocks, and once room was scarce tries
 * the active Superblock only. If a step fails, the general path begins anew, and finds the heap in a state that any other call may
 * leave, too. The state word of a new Superblock is written by a store: none of its blocks is free, so no claim can change it.
 */
#ifndef XMC_FULL_GROUP_CL
#define XMC_FULL_GROUP_CL
#include "../superblocks/carve.cl"

/* The key of lanes that may share an operation: those with the same heap and the same `key`, which must be below 128 */
XMC_FN xmc_u64 xmc_lane_key(XMC_GLOBAL xmcHeap *heap, xmc_u32 key) {
  return (xmc_u64)(size_t)heap + key; /* heaps are aligned to 128 bytes */
}

#if XMC_SIMT

/* 1 if Superblocks of this class have 32 blocks. (The last one of a slab may have fewer.) */
XMC_FN int xmc_class_is_full(xmc_u32 cls) { return xmc_class_is_small(cls) || (cls & 3u) == 3u; }

/* Where the Superblock's blocks begin, in units of 512 bytes from page 0: the smallest Superblock of 32 blocks has 512 bytes. */
#define XMC_FULL_SHIFT 9u
XMC_FN xmc_u32 xmc_full_place(xmc_u32 cls, xmc_u32 id) {
  xmc_u32 place = xmc_id_page(id) << (XMC_PAGE_SHIFT - XMC_FULL_SHIFT);
  return xmc_class_is_small(cls) ? place + xmc_id_row(id) * (xmc_class_bytes(cls) >> 4) : place;
}

/* Takes a place of the slab, whose word was w as last seen, and starts a Superblock there whose 32 blocks are the callers'. Returns its
 * id, or XMC_NONE. It leaves the last place, which has fewer than 32 blocks, unless a block's bytes are a power of two.
 *
 * If a search watches the slab (reclaim.cl), the page's bit of the whole bitmap is set, so that the next search looks there. If none
 * does yet, the search that will watch the slab looks at the places after that, and finds the Superblock in use, or its place taken. */
#define XMC_EVEN_SLABS (1u << 0 | 1u << 1 | 1u << 3 | 1u << 7 | 1u << 11) /* 16, 32, 64, 128, 256 B */
XMC_FN xmc_u32 xmc_full_of_slab(XMC_GLOBAL xmcHeap *heap, xmc_u32 words, xmc_u32 cls, xmc_u32 slab,
                                xmc_u64 w) {
  xmc_u32 places = xmc_full_mask(xmc_word_count(w)), left = xmc_word_available(w, xmc_slab_class(cls));
  xmc_u32 take = left & -left, id;
  if ((take & ~(places >> 1) && !(XMC_EVEN_SLABS >> cls & 1u)) ||
      !xmc_place_try_as(xmc_word_at(heap, words, slab), xmc_slab_class(cls), &w, 0))
    return XMC_NONE;
  id = xmc_superblock_id(xmc_slab_page(slab), xmc_lowest32(take));
  xmc_store_relaxed64(xmc_word_at(heap, words, id), xmc_word_make(cls, 32u, 0));
  /* A search watches the slab, so room was scarce once, and the page's bit is needed. XMC_SCARCE_NOW stays as it is. */
  if (w & XMC_WORD_WATCHED)
    xmc_superblock_show(heap, id, XMC_SCARCE_ONCE);
  return id;
}

/* 1 if an entry that is right already shows that its page needs no work. Debug heaps remember more than the entry (xmc_debug_remember). */
#define XMC_TRUSTS_ENTRIES (XMC_USED_IS_DONE && !XMC_DEBUG)

/* Makes a new slab, parked, whose first Superblock is the callers', all of it. It lies where the last one was if that was retired (its
 * word is w), else onward (xmc_slab_near). Returns the Superblock's id, or XMC_NONE if the page is not free.
 *
 * At the same place the page's entry of the page map is most often right already. Then it need not be written, no run that others may
 * remember has begun there since (xmc_runs_forget), and most often the parked bit is still set. */
XMC_FN xmc_u32 xmc_full_of_page(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls,
                                const xmc_seat *seat, xmc_u64 w, xmc_u64 map, xmc_u32 lanes) {
  xmc_u32 page = xmc_hint_target(xmc_slab_near(seat->hint - 1u, w), 0, lanes);
  xmc_u32 pages = (xmc_u32)(map >> 32), slab, scarce, item;
  xmc_u32 places = (xmc_slab_blocks(cls) + 31u) >> 5;
  xmc_u64 first = (xmc_u64)xmc_class_inverse(cls) << 32 | XMC_MAP(cls, 0, 0, xmc_slab_blocks(cls)), seen;
  XMC_GLOBAL xmc_u64 *parked;
  xmc_seat parks;
  if (page >= pages)
    page %= pages;
  if (!xmc_run_claim_at(heap, (xmc_u32)map, 1u, page, &seen))
    return XMC_NONE;
  slab = xmc_slab_id(page);
  if (XMC_TRUSTS_ENTRIES && w == XMC_WORD_RETIRED &&
      xmc_load_relaxed64(xmc_map_entry(heap, (xmc_u32)map, page)) == first) {
    item = xmc_slab_class(cls) * xmc_heap_spans(heap) * XMC_SPAN_PAGES + page;
    parked = xmc_bitmap_word(heap, XMC_PARKED, 0, item);
    w = xmc_word_make(xmc_slab_class(cls), places, xmc_count_mask(places) & ~1u) | XMC_WORD_LISTED |
        XMC_WORD_PARKED;
    if (xmc_cas_hint64(xmc_word_at(heap, words, slab), XMC_WORD_RETIRED, w) != XMC_WORD_RETIRED)
      return XMC_NONE; /* only in a damaged arena */
    seen = xmc_load_relaxed64(parked);
    scarce = xmc_scarce_near(heap);
    if (!(seen >> (item & 63u) & 1u)) /* as xmc_bitmap_ensure */
      xmc_bitmap_set(heap, XMC_PARKED, item);
    xmc_superblock_show(heap, slab, scarce);
  } else {
    /* As xmc_pages_start, but with the fields of the header that were read before: reading them anew takes 2 us of 33 (64 B, 2^20
     * work-items, H200). */
    xmc_pages_enter(heap, (xmc_u32)map, page, 0, cls);
    xmc_store_relaxed32(xmc_hint_place(heap, me, cls, xmc_seat_own(seat), seat->fifo), slab + 1u);
    xmc_seat_none(&parks);
    parks.fifo = XMC_SEAT_PARKS;
    scarce = xmc_scarce_near(heap);
    xmc_superblock_start(heap, words, xmc_slab_class(cls), slab, places, 1u, parks, scarce);
  }
  xmc_store_relaxed64(xmc_word_at(heap, words, xmc_superblock_id(page, 0)), xmc_word_make(cls, 32u, 0));
  return xmc_superblock_id(page, 0);
}

/* Claims the run of pages that the hint names, and starts a Superblock there whose 32 blocks are the callers'. Returns its id, or
 * XMC_NONE. */
XMC_FN xmc_u32 xmc_full_of_run(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls,
                               const xmc_seat *seat, xmc_u64 map, xmc_u32 lanes) {
  xmc_u32 order = xmc_class_order(cls), page = xmc_hint_target(seat->hint, order, lanes) >> order << order;
  xmc_u32 pages = (xmc_u32)(map >> 32), next = 0, scarce, id;
  xmc_u64 seen;
  if (page >= pages || (1u << order) > pages - page) {
    if (!(pages >> order))
      return XMC_NONE;
    page = (page >> order) % (pages >> order) << order;
  }
  if (order < XMC_LONG_ORDER && !xmc_seat_own(seat) && xmc_hint_is_stack(seat->hint))
    next = xmc_load_relaxed32(xmc_map_hint(heap, (xmc_u32)map, pages, page));
  if (!xmc_run_claim_at(heap, (xmc_u32)map, xmc_class_run(order), page, &seen))
    return XMC_NONE;
  XMC_AFRESH(cls); /* so that what is computed from it below takes no registers during the claim */
  order = xmc_class_order(cls);
  scarce = xmc_scarce_near(heap);
  id = xmc_run_id(page, order);
  /* The hint is stored first, so that it need not be kept while the entries are written. The entries are written before the state word,
   * because a bad free that finds an older entry must find the word retired. */
  xmc_store_relaxed32(xmc_hint_place(heap, me, cls, xmc_seat_own(seat), seat->fifo),
                      next ? next : XMC_HINT_FROM(page, order));
  xmc_pages_enter(heap, (xmc_u32)map, page, order, cls);
  xmc_store_relaxed64(xmc_word_at(heap, words, id), xmc_word_make(cls, 32u, 0));
  xmc_superblock_show(heap, id, scarce);
  return id;
}

/* Claims 32 blocks of one Superblock for a group that is a whole sub-group of 32 lanes; the first lane calls it. Returns where the
 * blocks begin (xmc_full_place), or XMC_NONE: then the general path must begin anew. */
XMC_FN xmc_u32 xmc_full_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls,
                              xmc_seat seat) {
  xmc_u32 id = xmc_active_id(seat.active), lanes;
  xmc_u64 used = xmc_word_make(cls, 32u, 0) | XMC_WORD_LISTED | XMC_WORD_SEATED, w, map;
  if (id != XMC_NONE) {
    XMC_AFRESH(id); /* without this the word's address is computed in 64 bits */
    w = xmc_cas_claim64_fast(xmc_word_at(heap, words, id), used | 0xffffffffu, used);
    if (w == (used | 0xffffffffu))
      return xmc_full_place(cls, id);
    if (w != used || xmc_seat_used(&seat) ||
        xmc_cas_relaxed64(xmc_word_at(heap, words, id), used, used & ~XMC_WORD_WHERE) != used)
      return XMC_NONE;
  }
  if (xmc_seat_used(&seat) || !seat.hint)
    return XMC_NONE;
  w = 0;
  if (xmc_class_is_small(cls))
    w = xmc_load_relaxed64_fast(xmc_word_at(heap, words, seat.hint - 1u));
  map = xmc_fixed_map(heap);
  lanes = xmc_fixed_lanes(heap);
  if (xmc_scarce_near(heap))
    return XMC_NONE;
  if (xmc_class_is_small(cls)) {
    id = xmc_full_of_slab(heap, words, cls, seat.hint - 1u, w);
    if (id == XMC_NONE &&
        (xmc_slab_is_parked(xmc_slab_class(cls)) || (xmc_seat_own(&seat) && w == XMC_WORD_RETIRED)))
      id = xmc_full_of_page(heap, me, words, cls, &seat, w, map, lanes);
  } else {
    id = xmc_full_of_run(heap, me, words, cls, &seat, map, lanes);
  }
  if (id == XMC_NONE)
    return XMC_NONE;
  if (xmc_active_id(seat.active) != XMC_NONE)
    xmc_cas_relaxed64(&xmc_fifo_number(heap, seat.fifo)->active, seat.active,
                      xmc_active_next(seat.active, XMC_NONE));
  return xmc_full_place(cls, id);
}

/* Claims a run of `pages` pages, a power of two up to a span, for each of the 32 lanes of the group, all of which call it. The first
 * four lanes look at a span each, `near` and those below it, and each takes by one CAS as many runs as are still missing. If lanes of the
 * group have none then, the four look at four other spans, a third of the heap further on; at most three times in all. Returns the
 * lane's first page, or XMC_NONE.
 *
 *   lane      0         1         2         3
 *   span      near      near - 1  near - 2  near - 3
 *   runs      14        9         12        16
 *   takes     14        9         9         0           lanes 0..13, 14..22, 23..31
 */
#define XMC_FULL_SPANS 4u
XMC_FN xmc_u32 xmc_full_runs(XMC_GLOBAL xmcHeap *heap, xmc_u32 pages, xmc_u32 near, xmc_lanes group) {
  XMC_AFRESH64(heap);
  xmc_u32 lane = xmc_lanes_below(group), at = XMC_NONE, turn, want, rank, runs, before, end, from, first, i;
  xmc_lanes same;
  xmc_u64 seen, mask;
  XMC_ROLLED
  for (turn = 0; turn < 3u; turn++) {
    same = xmc_lanes_matching(xmc_lane_key(heap, at == XMC_NONE));
    rank = xmc_lanes_below(same); /* its number among the lanes that have no run yet */
    want = at == XMC_NONE ? xmc_lanes_count(same) : 32u - xmc_lanes_count(same);
    if (!want)
      break;
    mask = seen = 0;
    if (lane < XMC_FULL_SPANS && lane <= near) {
      seen = xmc_load_relaxed64(xmc_span_word(heap, near - lane));
      mask = xmc_aligned_runs(seen, xmc_lowest32(pages));
    }
    runs = xmc_popcount32((xmc_u32)mask) + xmc_popcount32((xmc_u32)(mask >> 32));
    /* before: the lower lanes' runs; from: the lane whose run it gets; first: that lane's first run */
    before = end = from = first = 0;
    XMC_ROLLED
    for (i = 0; i < XMC_FULL_SPANS; i++) {
      before = i == lane ? end : before;
      end += xmc_full_shuffle32(group, runs, i);
      if (end <= rank) {
        from = i + 1u;
        first = end;
      }
    }
    if (runs && before < want) {
      mask = xmc_lowest_bits64(mask, want - before);
      if (xmc_cas_claim64(xmc_span_word(heap, near - lane), seen, seen & ~(mask * xmc_run_mask(0, pages))) !=
          seen)
        mask = 0;
    }
    i = xmc_full_shuffle32(group, (xmc_u32)mask, from & (XMC_FULL_SPANS - 1u));
    end = xmc_full_shuffle32(group, (xmc_u32)(mask >> 32), from & (XMC_FULL_SPANS - 1u));
    if (at == XMC_NONE && from < XMC_FULL_SPANS) {
      rank -= first;
      first = (near - from) * XMC_SPAN_PAGES;
      if (rank < xmc_popcount32(i))
        at = first + xmc_nth_bit(i, rank);
      else if (rank - xmc_popcount32(i) < xmc_popcount32(end))
        at = first + 32u + xmc_nth_bit(end, rank - xmc_popcount32(i));
    }
    near = (near + xmc_heap_present_spans(heap) / 3u) % xmc_heap_present_spans(heap);
  }
  return at;
}
#endif
#endif
