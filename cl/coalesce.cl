/* SPDX-License-Identifier: MIT */
/* Coalescing: from the requests of a sub-group's lanes to one request a class, or to one block.
 *
 * XMC_COALESCING, chosen when a program is built:
 *
 *   class (default)   lanes that want the same class ask together; each gets a Basicblock of its own.
 *                     The groups' leaders work at the same time.
 *
 *        lane      0    1    2    3    4           class 2: lanes 0 1 3 -> one CAS for 3 blocks
 *        class     2    2    7    2    7           class 7: lanes 2 4   -> one CAS for 2 blocks
 *
 *                     32 lanes of one class take a whole Superblock, if they can at once (full_group.cl).
 *
 *   compartment       one block for all, a compartment each (compartment.cl).
 *
 *   none              every lane alone.
 *
 * On devices whose work-items do not run in lock step each is served alone; there the work-group and
 * sub-group calls (collective.cl) are the coalesced path. None of this has a barrier; all of it may be
 * called from any control flow (convergence: any lanes).
 */
#ifndef XMC_COALESCE_CL
#define XMC_COALESCE_CL
#include "allocate.cl"
#include "full_group.cl"
#include "give_back.cl"

#if XMC_SIMT && XMC_COALESCING != XMC_COALESCE_NONE
/* The group's first lane, which alone has `ask`, claims blocks of the active Superblock, of which `free` are free by
 * its word w as seen or guessed; all lanes walk along, so that they need not come together again. Returns their mask, and
 * the Superblock in *id, to all of them; or 0, and in *id whether *w has any of the class now. */
XMC_FN xmc_u32 xmc_group_claim(XMC_GLOBAL xmcHeap *heap, xmc_view view, xmc_u32 cls, xmc_lanes group,
                               xmc_u64 active, int ask, xmc_u32 free, xmc_u64 *w, xmc_u32 *id) {
  xmc_u64 seen = *w;
  xmc_u32 take = xmc_lowest_bits(free, xmc_lanes_count(group));
  *id = xmc_active_id(active);
  XMC_AFRESH(*id); /* else the word's address is reckoned in 64 bits */
  ask = ask && *id != XMC_NONE && take;
  *w = xmc_cas_acquire64_if(ask, xmc_word_at(heap, view.words, *id), seen,
                            (seen & ~(xmc_u64)take) | XMC_WORD_SEATED);
  take = ask && *w == seen ? take : 0;
  if (!take)
    *id = ask ? xmc_word_available(*w, cls) : 0;
  xmc_lanes_share(group, xmc_lanes_first(group), &take, id); /* and what that one acquired */
  return take;
}

/* The lanes that got nothing yet go round together. The others stay with them: parted here, the sub-group would go through the rest
 * of the caller's loop in parts (bench/experiments.md). `at`: the lane's block, 32 * id + bit. (A copy of `seat`: six registers.) */
XMC_PART_FN XMC_GLOBAL char *xmc_class_malloc_rest(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_view *view,
                                                   xmc_u32 cls, xmc_lanes group, xmc_seat *seat, xmc_u32 at,
                                                   xmc_u32 take, xmc_u32 id, xmc_u64 w) {
  xmc_u32 got = xmc_popcount32(take), again = 0, want, rank;
  xmc_claim claim;
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
        w = xmc_seat_word(heap, view->words, seat->active);
      }
      claim = xmc_blocks_claim(heap, me, view->words, cls, sizeof group == 4 || want < 32u ? want : 32u, w,
                               *seat);
      take = xmc_claim_mask(claim);
      id = xmc_claim_id(claim);
      /* This lane's last turn. The others know the rest: it need not stay in registers here. */
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
      at = id * 32u + xmc_nth_bit(take, rank);
    else if (!got && id != XMC_NONE)
      at = XMC_NONE - 1u; /* there are none */
  }
  return at != XMC_NONE - 1u ? xmc_block_at(heap, view->data, cls, at >> 5, at & 31u) : 0;
}

/* A block of the class, or 0 when the caller's FIFO, its slab and the pages have none. view.count > 0 */
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
  if (want == 32u) { /* most often all of a Superblock */
    id = XMC_NONE;
    if (rank == 0 && xmc_class_is_full(cls))
      id = xmc_full_claim(heap, me, view.words, cls, seat);
    id = xmc_full_shuffle32(group, id, 0);
    if (id != XMC_NONE)
      return (XMC_GLOBAL char *)heap + (((xmc_u64)view.data + id) << 4) + rank * xmc_class_bytes(cls);
  }
  w = xmc_word_guess(cls, xmc_active_id(seat.active)) | XMC_WORD_SEATED;
  take = xmc_group_claim(heap, view, cls, group, seat.active, rank == 0, xmc_word_free(w), &w, &id);
  got = xmc_popcount32(take);
  if (!xmc_lanes_any(rank >= got)) /* most often all have one now */
    return xmc_block_at(heap, view.data, cls, id, xmc_nth_bit(take, rank));
  if (!got && id) { /* the guess was wrong, and now the first lane knows */
    take =
        xmc_group_claim(heap, view, cls, group, seat.active, rank == 0, xmc_word_available(w, cls), &w, &id);
    got = xmc_popcount32(take);
    if (got)
      w &= ~(xmc_u64)0xffffffffu;
  }
  if (rank < got)
    at = id * 32u + xmc_nth_bit(take, rank);
  XMC_AFRESH(cls);
  XMC_AFRESH(group);
  return xmc_class_malloc_rest(heap, me, &view, cls, group, &seat, at, take, id, w);
}
#else
/* Block `bit` of a Superblock, while the one so many further on comes into the caches: the next atomic waits for the write to
 * this one. With the first one of a new Superblock come all up to there. */
#define XMC_BLOCKS_AHEAD 16u
XMC_FN XMC_GLOBAL char *xmc_block_ahead(XMC_GLOBAL char *block, xmc_u32 cls, xmc_u32 bit) {
  if (bit < 32u - XMC_BLOCKS_AHEAD)
    xmc_prefetch(block + XMC_BLOCKS_AHEAD * xmc_class_bytes(cls));
  return block;
}
XMC_FN XMC_GLOBAL char *xmc_blocks_ahead(XMC_GLOBAL char *block, xmc_u32 cls, xmc_u32 bit) {
  xmc_u32 i;
  for (i = 1; bit == 0 && i <= XMC_BLOCKS_AHEAD; i++)
    xmc_prefetch(block + i * xmc_class_bytes(cls));
  return block;
}

/* One block of the active Superblock `id`, or 0 and its word as seen in *w. On CPUs a CAS by a wrong guess is dear, and a load
 * right behind another atomic on the same word, too: so the FIFO remembers which of both is likely. */
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
    *w = xmc_cas_acquire64(word, whole, whole & ~(xmc_u64)1);
    if (*w == whole)
      return xmc_block_at(heap, view.data, cls, id, 0);
    xmc_store_relaxed32(partly, 1u);
  } else {
    *w = xmc_load_relaxed64(word);
    if (*w == whole)
      xmc_store_relaxed32(partly, 0);
  }
  take = xmc_superblock_claim(word, cls, 1u, w);
  bit = take ? xmc_lowest32(take) : 0;
  return take ? xmc_block_ahead(xmc_block_at(heap, view.data, cls, id, bit), cls, bit) : 0;
}

/* A block of the class, or 0 when the caller's FIFO, its slab and the pages have none. view.count > 0 */
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
  block = xmc_active_malloc(heap, view, cls, seat.fifo, xmc_active_id(seat.active), &w);
  if (block)
    return block;
  for (;;) { /* again only when somebody else moved the FIFO on */
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
#endif

/* One turn of the last resort: up to `want` blocks of the class, larger ones when there are no others, or 0. */
XMC_COLD_FN xmc_claim xmc_last_turn(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 want,
                                    xmc_search *search) {
  XMC_AFRESH64(heap);
  xmc_claim claim;
  if (*search) /* the first turn is not the last one, whatever moves */
    *search = xmc_search_begins(heap, *search);
  claim = xmc_last_claim(heap, me, cls, want, *search);
  if (claim)
    return claim;
  XMC_AFRESH(*search);
  if (xmc_search_turns(*search) == XMC_SEARCH_LAST)
    *search = XMC_SEARCH_FAILED;
  else if (!xmc_make_room(heap, me, 1u, 1u, search))
    *search = XMC_SEARCH_LAST;
  return 0;
}

/* A block of the class from the last resort, a larger one when there is no other, or 0. */
XMC_COLD_FN XMC_GLOBAL char *xmc_class_malloc_last(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls) {
  XMC_AFRESH64(heap);
  xmc_u32 id = 0, take = 0;
  xmc_search search = 0;
  xmc_claim claim;
#if XMC_SIMT && XMC_COALESCING != XMC_COALESCE_NONE
  xmc_lanes group = xmc_lanes_matching(xmc_lane_key(heap, cls));
  xmc_u32 first, rank, got;
  XMC_ROLLED
  for (;;) { /* one turn of the first lane's search; those that got nothing go round together */
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
  take = 1u << xmc_nth_bit(take, rank);
#else
  XMC_ROLLED
  do {
    claim = xmc_last_turn(heap, me, cls, 1u, &search);
    if (!claim && search == XMC_SEARCH_FAILED)
      return 0;
  } while (!claim);
  id = xmc_claim_id(claim);
  take = xmc_claim_mask(claim);
#endif
  cls = xmc_map_class(xmc_load_relaxed64(xmc_page_entry(heap, xmc_id_page(id))));
  return xmc_block_address(heap, cls, id, xmc_lowest32(take));
}

/* A block of the class or, when there is none, a larger one; or 0. */
XMC_FN XMC_GLOBAL char *xmc_class_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_view view, xmc_u32 cls) {
  XMC_GLOBAL char *block = 0;
  if (view.count) /* an unbuffered heap takes what is parked before it carves */
    block = xmc_class_malloc_try(heap, me, view, cls);
  if (!block && xmc_heap_is_ours(heap))
    block = xmc_class_malloc_last(heap, me, cls);
  return block;
}

/* Lanes that want as many pages, at most a span and at no special address, take them together. */
XMC_FN int xmc_run_is_shared(xmc_u32 pages, xmc_u32 align) { return align == 1u && pages <= XMC_SPAN_PAGES; }

/* One turn for a run of pages: where it is shared, up to `want` runs in one span by one CAS, that of span `near` if it has
 * any, their mask in *mask; else one run, and 1 in *mask. Returns the span, or the page. *mask 0: there was none. */
XMC_COLD_FN xmc_u32 xmc_run_take(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 pages, xmc_u32 align,
                                 xmc_u32 want, xmc_u32 near, xmc_search *search, xmc_u64 *mask) {
  XMC_AFRESH64(heap);
  xmc_u32 at = 0, anywhere = xmc_search_turns(*search);
  anywhere = anywhere == XMC_SEARCH_LAST ? XMC_NONE : anywhere == XMC_SEARCH_HASTY ? XMC_HASTY_SPANS : 0u;
  *mask = 0;
  if (xmc_run_is_shared(pages, align)) {
    *mask = xmc_run_claim(heap, me, pages, want, anywhere, near, &at);
  } else {
    at = xmc_memoryblock_claim(heap, me, pages, align, anywhere);
    *mask = at != XMC_NONE;
  }
  if (*mask)
    return at;
  if (xmc_search_turns(*search) >= XMC_SEARCH_HASTY) {
    *search = XMC_SEARCH_FAILED;
    return 0;
  }
  XMC_AFRESH(pages);
  XMC_AFRESH(align);
  *search = xmc_search_begins(heap, *search);
  if (!xmc_make_room(heap, me, pages, align, search))
    *search = xmc_search_flux(xmc_load_relaxed64(&heap->flux)) == (*search & ~0xffu) ? XMC_SEARCH_LAST
                                                                                     : XMC_SEARCH_HASTY;
  return 0;
}

#if XMC_SIMT && XMC_COALESCING != XMC_COALESCE_NONE
/* A run of pages as one block, its address a multiple of `align` pages, or XMC_NONE. */
XMC_COLD_FN xmc_u32 xmc_memoryblock_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 pages,
                                           xmc_u32 align) {
  XMC_AFRESH64(heap);
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
    if (xmc_lanes_count(group) == 32u &&
        xmc_popcount32(pages) == 1u) { /* with as many it is one of the shared ones */
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
  for (;;) { /* one turn of the first lane's search; those that got nothing go round together */
    mask = 0;
    if (xmc_lanes_below(group) == 0) {
      at = xmc_run_take(heap, me, pages, align, xmc_lanes_count(group), near, &search, &mask);
      at = mask ? at : search;
    }
    XMC_AFRESH(pages);
    XMC_AFRESH(align);
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
#else
/* A run of pages as one block, its address a multiple of `align` pages, or XMC_NONE. */
XMC_COLD_FN xmc_u32 xmc_memoryblock_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 pages,
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

/* A Basicblock begins at `place`. */
XMC_FN void xmc_class_free(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_place place) {
  xmc_u32 bits = 1u << place.bit, lanes = 1;
#if XMC_SIMT && XMC_COALESCING != XMC_COALESCE_NONE
  xmc_lanes group = xmc_lanes_matching((xmc_u64)(size_t)(xmc_word_at(heap, words, place.id)));
  xmc_u64 old, was, used, fifos, active;
  xmc_u32 fifo, hint, own, partly, other;
  lanes = xmc_lanes_count(group);
  if (lanes > 1u) {
    xmc_lanes_sync(group); /* what each lane wrote, the first one releases */
    bits = xmc_lanes_or32(group, bits);
  }
  if (xmc_lanes_below(group) > 0)
    return;
  if (lanes >= 8u && lanes <= 32u && bits == 0xffffffffu >> (32u - lanes)) {
    /* All of one that nobody answers for? Then it goes back with this release. If not, the fetch-or is on its way
     * already, behind the same fence; if so, it changes nothing. */
    used = xmc_word_make(place.cls, lanes, 0);
    was = xmc_cas_release64(xmc_word_at(heap, words, place.id), used, XMC_WORD_RETIRED);
    old = xmc_or_hint64(xmc_word_at(heap, words, place.id), XMC_WORD_LISTED | bits);
    fifos = xmc_fixed_fifos(heap, place.cls);
    fifo = xmc_fifos_first(fifos) + xmc_slot_hint(me, xmc_fifos_count(fifos));
    own = xmc_fifos_own(fifos);
    xmc_load_row(&xmc_fifo_number(heap, fifo)->active, &active, &hint, &partly);
    if (!xmc_fifos_count(fifos)) {
      fifo = XMC_NONE;
      active = partly = 0;
    }
    /* Was it another word? `partly` is less than 2^31, so it does not count; but it comes with the FIFO, and else ptxas waits for
     * the CAS before it sends for that. */
    other = (xmc_u32)was | ((xmc_u32)(was >> 32) ^ ((xmc_u32)(used >> 32) | partly >> 31));
    if (!other && (old & XMC_WORD_LISTED)) { /* the fetch-or was done, too */
      xmc_superblock_released(heap, me, words, place.cls, place.id, used, fifo, hint, own, active);
      return;
    }
  } else {
    old = xmc_or_release64(xmc_word_at(heap, words, place.id), XMC_WORD_LISTED | bits);
  }
  if (!xmc_release_is_all(heap, place.cls, bits, lanes, old))
    xmc_blocks_released(heap, me, words, place.cls, place.id, bits, lanes, old);
#else
  xmc_blocks_release(heap, me, words, place.cls, place.id, bits, lanes);
#endif
}
#endif
