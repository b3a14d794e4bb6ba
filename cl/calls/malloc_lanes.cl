/* SPDX-License-Identifier: MIT */
/* malloc where lanes run in lock step: lanes that ask for the same class, or as many pages, at the same time are served together
 * (coalesce.cl). */
#ifndef XMC_MALLOC_LANES_CL
#define XMC_MALLOC_LANES_CL
#include "claim.cl"
#include "full_group.cl"
#include "turns.cl"

#if XMC_SIMT && XMC_COALESCING != XMC_COALESCE_NONE
/* Claims blocks of the active Superblock for the lanes of the group by one CAS of the first lane, which alone has `ask` set. *w: its
 * word as seen or guessed; `free`: the blocks that are free by that word. All lanes of the group call it, so that they need not come
 * together again. Returns to all of them the mask of the claimed blocks, and the Superblock in *id. If none was claimed it returns 0.
 * If that is because the CAS failed, *w of the first lane is the word that the CAS found, and *id is not 0 if that has free blocks of
 * the class. */
XMC_FN xmc_u32 xmc_group_claim(XMC_GLOBAL xmcHeap *heap, xmc_view view, xmc_u32 cls, xmc_lanes group,
                               xmc_u64 active, int ask, xmc_u32 free, xmc_u64 *w, xmc_u32 *id) {
  xmc_u64 seen = *w;
  xmc_u32 take = xmc_lowest_bits(free, xmc_lanes_count(group));
  *id = xmc_active_id(active);
  XMC_AFRESH(*id); /* without this the word's address is computed in 64 bits */
  ask = ask && *id != XMC_NONE && take;
  *w = xmc_cas_claim64_if(ask, xmc_word_at(heap, view.words, *id), seen,
                          (seen & ~(xmc_u64)take) | XMC_WORD_SEATED);
  take = ask && *w == seen ? take : 0;
  if (!take)
    *id = ask ? xmc_word_available(*w, cls) : 0;
  xmc_lanes_share(group, xmc_lanes_first(group), &take, id); /* after its claim */
  return take;
}

/* Serves the lanes that got no block yet, in a loop. The other lanes stay in the loop: if they left it here, the sub-group would go
 * through the rest of the caller's loop in parts (bench/experiments.md). `at`: the bit of the lane's block in Superblock `id`, or
 * XMC_NONE. take, id and w are those of the last claim. Returns the lane's block, or 0 if it needs the last resort. (A copy of `seat`
 * would take six registers.) */
XMC_PART_FN XMC_GLOBAL char *xmc_class_malloc_rest(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_view *view,
                                                   xmc_u32 cls, xmc_lanes group, xmc_seat *seat, xmc_u32 at,
                                                   xmc_u32 take, xmc_u32 id, xmc_u64 w) {
  xmc_u32 got, again = 0, want, rank;
  xmc_claim claim;
  xmc_seat_hide(seat);
  w = XMC_HIDDEN(w);
  got = xmc_popcount32(take);
  XMC_ROLLED
  while (xmc_lanes_any(at == XMC_NONE)) {
    if (at != XMC_NONE)
      continue;
    if (got)
      group = xmc_lanes_drop(group, got);
    w &= ~(xmc_u64)take;
    want = xmc_lanes_count(group);
    if (xmc_lanes_below(group) == 0) {
      XMC_AFRESH(cls);
      XMC_AFRESH(seat->fifo);
      if (again) {
        view->words = xmc_words(heap);
        seat->fifo = xmc_fifo_of(heap, me, cls);
        xmc_seat_read_for(heap, xmc_own_slots(heap, cls), me, cls, want, seat);
        xmc_seat_hide(seat);
        w = xmc_seat_word(heap, view->words, seat->active);
      }
      claim = xmc_blocks_claim(heap, me, view->words, cls, sizeof group == 4 || want < 32u ? want : 32u, w,
                               *seat);
      take = xmc_claim_mask(claim);
      id = xmc_claim_id(claim);
      /* This is most often the lane's last turn. If it is not, the next turn reads all of these anew, so none of them need stay in
       * registers. */
      view->data = (xmc_u32)(xmc_heap_data(heap) >> 4);
      w = seat->active = 0;
      view->words = seat->head = seat->used = seat->hint = seat->fifo = 0;
    }
    XMC_AFRESH(cls);
    XMC_AFRESH(group);
    rank = xmc_lanes_below(group);
    xmc_lanes_share(group, xmc_lanes_first(group), &take, &id);
    got = xmc_popcount32(take);
    again = !got;
    at = XMC_NONE;
    if (rank < got)
      at = xmc_nth_bit(take, rank);
    else if (!got && id != XMC_NONE)
      at = XMC_NONE - 1u; /* there is none */
  }
  return at != XMC_NONE - 1u ? xmc_block_at(heap, view->data, cls, id, at) : 0;
}

#if XMC_SHORT_WAY
/* Allocates a block of the class out of the caller's active Superblock. Returns 0 if that fails; then the whole path begins anew, and
 * looks there again. Any lanes. */
XMC_FN XMC_GLOBAL char *xmc_class_malloc_active(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls) {
  xmc_lanes group = xmc_lanes_matching(xmc_lane_key(heap, cls));
  xmc_u32 rank = xmc_lanes_below(group), want = xmc_lanes_count(group), id, take;
  xmc_u64 active, w, used;
  xmc_view view;
  xmc_view_read(heap, cls, &view);
  if ((XMC_LOOKS_FIRST && !view.ours) || !view.count)
    return 0;
  active = xmc_load_relaxed64(&xmc_fifo_number(heap, xmc_view_fifo(view, me))->active);
  id = xmc_active_id(active);
  if (want == 32u && XMC_LANES_ARE_32 && xmc_class_is_full(cls)) { /* all of its blocks, or none */
    if (rank == 0 && id != XMC_NONE) {
      XMC_AFRESH(id);
      used = xmc_word_make(cls, 32u, 0) | XMC_WORD_LISTED | XMC_WORD_SEATED;
      w = xmc_cas_claim64(xmc_word_at(heap, view.words, id), used | 0xffffffffu, used);
      id = w == (used | 0xffffffffu) ? xmc_full_place(cls, id) : XMC_NONE;
    } else {
      id = XMC_NONE;
    }
    id = xmc_full_shuffle32(group, id, 0);
    return id != XMC_NONE ? (XMC_GLOBAL char *)heap + ((xmc_u64)view.data << 4) +
                                ((xmc_u64)id << XMC_FULL_SHIFT) + rank * xmc_class_bytes(cls)
                          : 0;
  }
  w = xmc_word_guess(cls, id) | XMC_WORD_SEATED;
  take = xmc_group_claim(heap, view, cls, group, active, rank == 0, xmc_word_free(w), &w, &id);
  if (!take && id) /* the guess was wrong; the first lane knows the word now */
    take = xmc_group_claim(heap, view, cls, group, active, rank == 0, xmc_word_available(w, cls), &w, &id);
  return rank < xmc_popcount32(take) ? xmc_block_at(heap, view.data, cls, id, xmc_nth_bit(take, rank)) : 0;
}
#endif

/* Allocates a block of the class. Returns 0 if the caller's FIFO, its slab and the pages have none. view.count must not be 0. Any
 * lanes. */
XMC_FN XMC_GLOBAL char *xmc_class_malloc_try(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_view view,
                                             xmc_u32 cls) {
  xmc_u64 w;
  xmc_seat seat;
  xmc_lanes group = xmc_lanes_matching(xmc_lane_key(heap, cls));
  xmc_u32 rank = xmc_lanes_below(group), want = xmc_lanes_count(group), id, take, got, at = XMC_NONE;
  seat.fifo = xmc_view_fifo(view, me);
  xmc_seat_read_for(heap, view.own, me, cls, want, &seat);
  if (XMC_LOOKS_FIRST && !view.ours)
    return 0;
  if (want == 32u && XMC_LANES_ARE_32) { /* most often they get a whole Superblock */
    id = XMC_NONE;
    if (rank == 0 && xmc_class_is_full(cls))
      id = xmc_full_claim(heap, me, view.words, cls, seat);
    id = XMC_HIDDEN(xmc_full_shuffle32(group, id, 0));
    if (id != XMC_NONE)
      return (XMC_GLOBAL char *)heap + ((xmc_u64)view.data << 4) + ((xmc_u64)id << XMC_FULL_SHIFT) +
             rank * xmc_class_bytes(cls);
  }
  w = xmc_word_guess(cls, xmc_active_id(seat.active)) | XMC_WORD_SEATED;
  take = xmc_group_claim(heap, view, cls, group, seat.active, rank == 0, xmc_word_free(w), &w, &id);
  XMC_HIDE_BOTH(take, id);
  got = xmc_popcount32(take);
  if (!xmc_lanes_any(rank >= got)) /* most often all lanes have a block now */
    return xmc_block_at(heap, view.data, cls, id, xmc_nth_bit(take, rank));
  if (!got && id) { /* the guess was wrong; the first lane knows the word now */
    take =
        xmc_group_claim(heap, view, cls, group, seat.active, rank == 0, xmc_word_available(w, cls), &w, &id);
    XMC_HIDE_BOTH(take, id);
    got = xmc_popcount32(take);
    if (got)
      w &= ~(xmc_u64)0xffffffffu;
  }
  if (rank < got)
    at = xmc_nth_bit(take, rank);
  XMC_AFRESH(cls);
  XMC_AFRESH(group);
  return xmc_class_malloc_rest(heap, me, &view, cls, group, &seat, at, take, id, w);
}

/* Allocates a block of the class by the last resort, or a larger one if there is no other. Returns 0 if there is neither. Any lanes. */
XMC_COLD_FN XMC_GLOBAL char *xmc_class_malloc_last(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls) {
  XMC_AFRESH64(heap);
  xmc_u32 id = 0, take = 0;
  xmc_search search = xmc_search_start(heap);
  xmc_claim claim;
  xmc_lanes group = xmc_lanes_matching(xmc_lane_key(heap, cls));
  xmc_u32 first, rank, got;
  XMC_ROLLED
  for (;;) { /* the first lane takes a turn of the search; lanes without a result repeat together */
    rank = xmc_lanes_below(group);
    if (rank == 0) {
      got = xmc_lanes_count(group);
      claim = xmc_last_turn(heap, me, cls, got < 32u ? got : 32u, &search);
      take = xmc_claim_mask(claim);
      id = take ? xmc_claim_id(claim) : search;
    }
    XMC_AFRESH(cls);
    XMC_AFRESH(group);
    xmc_lanes_sync(group);
    first = xmc_lanes_first(group);
    rank = xmc_lanes_below(group);
    take = xmc_shuffle32(group, take, first);
    id = xmc_shuffle32(group, id, first);
    got = xmc_popcount32(take);
    if (rank < got)
      break;
    if (!got && id == XMC_SEARCH_FAILED)
      return 0;
    group = xmc_lanes_drop(group, got);
    XMC_AFRESH(take);
  }
  return xmc_last_block(heap, id, xmc_nth_bit(take, rank));
}

/* Allocates a run of pages as one Memoryblock, whose address is a multiple of `align` pages. Returns the lane's first page, or
 * XMC_NONE. Any lanes: those that want as many pages claim them together (xmc_run_is_shared). */
XMC_COLD_FN xmc_u32 xmc_memoryblock_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 pages,
                                           xmc_u32 align) {
  XMC_AFRESH64(heap);
  XMC_AFRESH(pages); /* without this the size in bytes, 64 bits, is kept beside it */
  xmc_u32 at = 0;
  xmc_u64 mask = 0;
  xmc_search search = 0;
  xmc_lanes group;
  xmc_u32 first, rank, got, low, high, near;
  group = xmc_lanes_matching(
      xmc_lane_key(heap, xmc_run_is_shared(pages, align) ? pages : XMC_SPAN_PAGES + 1u + xmc_lane()));
  near = XMC_NONE;
  if (xmc_lanes_count(group) > 1u && !xmc_scarce_near(heap)) {
    near = xmc_memoryblock_home(heap, me);
    if (xmc_lanes_count(group) == 32u && XMC_LANES_ARE_32 &&
        xmc_popcount32(pages) == 1u) { /* only shared requests have such a group */
      at = xmc_full_runs(heap, pages, near, group);
      if (at != XMC_NONE) {
        xmc_memoryblock_start(heap, at, pages);
        return at;
      }
      group = xmc_lanes_matching(xmc_lane_key(heap, pages));
      near -= XMC_FULL_SPANS;
    }
  }
  XMC_ROLLED
  for (;;) { /* the first lane takes a turn of the search; lanes without a result repeat together */
    mask = 0;
    if (xmc_lanes_below(group) == 0) {
      at = xmc_run_take(heap, me, pages, align, xmc_lanes_count(group), near, &search, &mask);
      at = mask ? at : search;
    }
    XMC_AFRESH(pages);
    XMC_AFRESH(group);
    first = xmc_lanes_first(group);
    low = xmc_shuffle32(group, (xmc_u32)mask, first);
    high = xmc_shuffle32(group, (xmc_u32)(mask >> 32), first);
    at = xmc_shuffle32(group, at, first);
    rank = xmc_lanes_below(group);
    got = low;
    if (xmc_run_is_shared(pages, align))
      got = (xmc_popcount32(low) + xmc_popcount32(high)) / pages;
    if (rank < got)
      break;
    if (!got && at == XMC_SEARCH_FAILED)
      return XMC_NONE;
    group = xmc_lanes_drop(group, got);
    near = got ? at - 1u : XMC_NONE;
  }
  if (xmc_run_is_shared(pages, align)) {
    rank *= pages;
    got = xmc_popcount32(low);
    at = at * XMC_SPAN_PAGES + (rank < got ? xmc_nth_bit(low, rank) : 32u + xmc_nth_bit(high, rank - got));
  }
  xmc_memoryblock_start(heap, at, pages);
  return at;
}
#endif
#endif
