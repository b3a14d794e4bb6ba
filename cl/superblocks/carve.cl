/* SPDX-License-Identifier: MIT */
/* Carving: new Superblocks and slabs out of free pages, and Superblocks of small classes out of slabs.
 *
 *   page                                       run of 2^k pages
 *   +-----+-----+-----+-- slab --+-----+       +----------+----------+-- Superblock --+----------+
 *   | j=0 | j=1 | j=2 |    …     |rest |       | block 0  | block 1  |       …        | rest     |
 *   +-----+-----+-----+----------+-----+       +----------+----------+----------------+----------+
 *    32 Basicblocks each, a Superblock          1 to 32 Basicblocks of 512 B to 8 KiB
 *
 * The work-item that claimed the pages is their only owner until it writes the state word, which puts the Superblock into use. */
#ifndef XMC_CARVE_CL
#define XMC_CARVE_CL
#include "slab.cl"

/* Once room was scarce, a work-item calls these before and after it takes more room than it will keep: it counts itself in `flux`, so
 * that a search which finds nothing meanwhile takes another turn. moved: 1 if room came back that other searches could not find. */
XMC_FN void xmc_flux_begin(XMC_GLOBAL xmcHeap *heap) { xmc_add_acq_rel64(&heap->flux, 1); }
XMC_FN void xmc_flux_end(XMC_GLOBAL xmcHeap *heap, int moved) {
  xmc_add_acq_rel64(&heap->flux, moved ? XMC_FLUX_MOVED - 1u : ~(xmc_u64)0);
}

/* Makes a new Superblock or slab, which no search watches yet, findable for xmc_reclaim: sets its page's bit of the whole bitmap, and
 * clears XMC_SCARCE_NOW. `scarce` is that word as read after the room was claimed and before the state word is written, so that the
 * load costs no time of its own. If it was 0 nothing is done: all bits of the bitmap were set then, and as
 * long as the page is not free and its entry leads to no state word in use, xmc_page_look returns "unsure", so that its bit stays set. */
XMC_HOT_FN void xmc_superblock_show(XMC_GLOBAL xmcHeap *heap, xmc_u32 id, xmc_u64 scarce) {
  if (!scarce)
    return;
  xmc_whole_add(heap, xmc_any_page(id));
  if (scarce & XMC_SCARCE_NOW)
    xmc_and_hint64(&heap->scarce, ~XMC_SCARCE_NOW);
}

/* Returns the word of a new Superblock or slab, of whose blocks or places the caller has `take`. */
XMC_FN xmc_u64 xmc_word_start(xmc_u32 cls, xmc_u32 count, xmc_u32 take) {
  return xmc_word_make(cls, count, xmc_count_mask(count) & ~take);
}

/* Puts a new Superblock or slab, whose memory the caller owns, into use: its blocks or places `take` are the caller's. If others are
 * left it takes the seat, or is parked if seat.fifo is XMC_SEAT_PARKS; if none is left, the exhausted Superblock in the seat loses it.
 * Returns 0; or 1 if there is no seat or another work-item changed it: then the caller has the listed duty (xmc_put). `scarce` as for
 * xmc_superblock_show. */
XMC_FN int xmc_superblock_start(XMC_GLOBAL xmcHeap *heap, xmc_u32 words, xmc_u32 cls, xmc_u32 id,
                                xmc_u32 count, xmc_u32 take, xmc_seat seat, xmc_u32 scarce) {
  XMC_AFRESH64(heap);
  xmc_u64 w = xmc_word_start(cls, count, take);
  if (!xmc_word_free(w)) {
    xmc_store_relaxed64(xmc_word_at(heap, words, id), w);
    xmc_superblock_show(heap, id, scarce);
    if (xmc_active_id(seat.active) != XMC_NONE)
      xmc_cas_relaxed64(&xmc_fifo_number(heap, seat.fifo)->active, seat.active,
                        xmc_active_next(seat.active, XMC_NONE));
    return 0;
  }
  w |= XMC_WORD_LISTED | (seat.fifo == XMC_SEAT_PARKS ? XMC_WORD_PARKED : xmc_word_seat(cls));
  /* A CAS, because its value is waited for: so the CAS on the seat below needs no release of its own. */
  if (xmc_cas_release64(xmc_word_at(heap, words, id), XMC_WORD_RETIRED, w) != XMC_WORD_RETIRED)
    xmc_store_relaxed64(xmc_word_at(heap, words, id), w); /* only in a damaged arena, so it needs no order */
  xmc_superblock_show(heap, id, scarce);
  if (seat.fifo == XMC_SEAT_PARKS) {
    xmc_bitmap_set(heap, XMC_PARKED, cls * xmc_heap_spans(heap) * XMC_SPAN_PAGES + xmc_any_page(id));
    return 0;
  }
  if (seat.fifo != XMC_NONE && xmc_cas_hint64(&xmc_fifo_number(heap, seat.fifo)->active, seat.active,
                                              xmc_active_next(seat.active, id)) == seat.active) {
    if (xmc_active_id(seat.active) == XMC_NONE) /* else the FIFO is marked busy already */
      xmc_fifo_mark_busy(heap, cls, seat.fifo - xmc_fifos_first(xmc_heap_fifos(heap, cls)));
    return 0;
  }
  return 1;
}

/* Debug heaps: called before a run's entries are written into the page map, of which `first` is the first one. The headers in a debug
 * heap's blocks say what was freed there (debug.cl). They can be believed only if the run was the same one before and its pages were
 * nothing else in between, which the old entries tell. If not, the first word of each block is cleared. */
XMC_COLD_FN void xmc_debug_remember(XMC_GLOBAL xmcHeap *heap, xmc_u32 page, xmc_u32 pages, xmc_u32 cls,
                                    xmc_u64 first) {
  XMC_GLOBAL xmc_u64 *entry = xmc_page_entry(heap, page);
  xmc_u32 same = xmc_load_relaxed64(entry) == first, i;
  for (i = 1; i < pages; i++)
    same &= xmc_load_relaxed64(entry + i) ==
            (cls < XMC_CLASSES ? first + XMC_MAP(0, i, 0, 0) : xmc_map_body(page));
  if (same)
    return;
  xmc_store_relaxed32((XMC_GLOBAL xmc_u32 *)xmc_page_address(heap, page), 0);
  for (i = 1; cls < XMC_CLASSES && i < xmc_map_blocks(first); i++) /* each further block */
    xmc_store_relaxed32((XMC_GLOBAL xmc_u32 *)(xmc_page_address(heap, page) + i * xmc_class_bytes(cls)), 0);
}

/* Returns the page where a slot looks first for pages of a class. Each class and slot has a place of its own, as long as the heap has
 * room for all. From the lowest class up there are 19 classes of 1 page, 4 each of 2, 4 and 8 pages, and one of 16; each starts at a
 * multiple of its pages. On CPU devices each slot has a span instead, because cores that write to words of one cache line slow each
 * other down. */
XMC_FN xmc_u32 xmc_class_home(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls) {
  XMC_AFRESH64(heap);
  xmc_u32 order = xmc_class_order(cls), before = cls;
  if (order > 0) /* this order's classes begin at 20, 28, 48, 80 pages a slot */
    before = (0x50301c14u >> 8u * (order - 1u) & 0xffu) + (((cls - 15u) & 3u) << order);
  if (!XMC_SIMT)
    return xmc_slot_hint(me, xmc_heap_lanes(heap)) * XMC_SPAN_PAGES + before % XMC_SPAN_PAGES;
  if (cls == 0) /* without a branch here ptxas takes up to 50 registers (tests/code_size) */
    return xmc_slot_hint(me, xmc_heap_lanes(heap));
  return before * xmc_heap_lanes(heap) + (xmc_slot_hint(me, xmc_heap_lanes(heap)) << order);
}

/* From this order on (8 pages, 128 KiB) GPUs take a run without a look at the run under it in the stack, which is forgotten then: the look
 * costs more time than is saved by taking pages again that were used before. Frees still store the link, which nothing reads; to leave
 * that out gained nothing (bench/experiments.md). */
#define XMC_LONG_ORDER (XMC_SIMT ? 3u : XMC_ORDERS)

/* Claims a new run of 2^order pages for a Superblock of this class, or one page for a slab. Returns its first page, or XMC_NONE. map:
 * xmc_fixed_map; lanes: xmc_fixed_lanes; own: 0, or xmc_own_slots if `hint` is the slot's own.
 *
 * It looks first where the hint leads; if it leads nowhere (xmc_hint_target), at the home of the class. The runs that a slot returned are a
 * stack under its FIFO's hint (xmc_pages_return):
 *
 *   hint: a run  -->  xmc_next_hint(its first page)  -->  …  -->  0, or XMC_HINT_FROM(…)
 *
 * At the stack's end the hint goes on from the run taken last (xmc_hint_target). On GPUs only runs below XMC_LONG_ORDER are a stack. The
 * stack owns nothing: a work-item owns pages by the bits of their span, and a stack whose first page was taken is forgotten. On GPUs a
 * hint may lead to a page that is not present, which costs one atomic more. */
XMC_FN xmc_u32 xmc_pages_take(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 order, xmc_u64 map,
                              xmc_u32 lanes, xmc_u32 fifo, xmc_u32 hint, xmc_u32 own) {
  XMC_AFRESH64(heap);
  xmc_u32 pages = (xmc_u32)(map >> 32), room = XMC_SIMT ? pages : xmc_heap_present(heap), next = 0, page;
  xmc_u64 seen;
  if (!(room >> order))
    return XMC_NONE;
  hint = xmc_seat_hint(heap, fifo, hint);
  page = xmc_hint_target(hint, order, lanes);
  if (page < pages && xmc_hint_is_stack(hint) && order < XMC_LONG_ORDER)
    next = xmc_load_relaxed32(xmc_map_hint(heap, (xmc_u32)map, pages, page));
  if (page == XMC_NONE)
    page = xmc_class_home(heap, me, cls);
  page = page >> order << order;
  if (page >= room || (1u << order) > room - page)
    page = (page >> order) % (room >> order) << order;
  if (!xmc_run_claim_at(heap, (xmc_u32)map, xmc_class_run(order), page, &seen)) {
    next = XMC_RUN_HOMES;
    XMC_AFRESH(order);
    XMC_AFRESH(fifo);
    if (xmc_scarce_near(heap)) /* the request can still go to the last resort */
      next = fifo != XMC_NONE ? XMC_RUN_HASTY : XMC_RUN_INDEX;
    page = xmc_run_search(heap, me, order, page, next, seen);
    next = 0;
    if (page == XMC_NONE)
      return XMC_NONE;
  }
  XMC_AFRESH(order);
  XMC_AFRESH(cls);
  XMC_AFRESH(fifo);
  if (own)
    xmc_store_relaxed32(xmc_own_entry(heap, me, cls, own), XMC_HINT_FROM(page, order));
  else if (fifo < XMC_SEAT_PARKS)
    xmc_store_relaxed32(&xmc_fifo_number(heap, fifo)->hint, next ? next : XMC_HINT_FROM(page, order));
  return page;
}

/* The 32 places of a slab of 16 B use all rows of state words, also those of runs that began at this page before. So before such a slab
 * comes into use, the entries of the pages behind it that still lead to such a run are replaced by XMC_CLASS_BODY (not by XMC_MAP_NONE,
 * because those pages were used). */
XMC_COLD_FN void xmc_runs_forget(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  XMC_AFRESH64(heap);
  xmc_u32 i, at = page | 16u, end = page + (at & -at); /* the longest run that may have begun here */
  xmc_u64 entry;
  if (end > xmc_heap_pages(heap))
    end = xmc_heap_pages(heap);
  XMC_ROLLED
  for (i = 1; page + i < end; i++) {
    entry = xmc_load_relaxed64(xmc_page_entry(heap, page + i));
    if (xmc_map_class(entry) < XMC_CLASSES && xmc_map_back(entry) == i)
      xmc_cas_hint64(xmc_page_entry(heap, page + i), entry, XMC_MAP(XMC_CLASS_BODY, 0, 0, 0));
  }
}

/* Writes the page map's entries (the map begins at `map`) for pages that were taken for a Superblock of this class, or for a slab. For
 * a slab of 16 B the page's old entry is read first: if the page was never used, or was such a slab the last time, no entry behind it
 * leads to a run there. */
XMC_FN void xmc_pages_enter(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 page, xmc_u32 order, xmc_u32 cls) {
  XMC_GLOBAL xmc_u64 *entry = xmc_map_entry(heap, map, page);
  xmc_u32 i = 0, place = xmc_class_is_small(cls) ? 0 : XMC_RUN_PLACE + order;
  xmc_u64 first =
      (xmc_u64)xmc_class_inverse(cls) << 32 | XMC_MAP(cls, 0, place, xmc_class_blocks(cls, 1u << order));
  xmc_u64 was = XMC_MAP_NONE;
  if (cls == 0)
    was = xmc_load_relaxed64(entry);
  if (XMC_DEBUG)
    xmc_debug_remember(heap, page, 1u << order, cls, first);
  if (order == 0) {
    xmc_store_relaxed64(entry, first);
    if (was != XMC_MAP_NONE && xmc_map_class(was) != 0)
      xmc_runs_forget(heap, page);
    return;
  }
  XMC_ROLLED
  for (; i < 1u << order; i += 2)
    xmc_store_two64(entry + i, first + XMC_MAP(0, i, 0, 0), first + XMC_MAP(0, i + 1u, 0, 0));
}

/* Starts a Superblock of a small class in a slab's place, which the claim `slab` names. Returns a claim of up to `want` of its blocks. */
XMC_HOT_FN xmc_claim xmc_slab_start(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls,
                                    xmc_u32 want, xmc_claim slab, xmc_seat seat) {
  xmc_u32 place = xmc_lowest32(xmc_claim_mask(slab)), left = xmc_slab_blocks(cls) - 32u * place;
  xmc_u32 count = left < 32u ? left : 32u, take = xmc_count_mask(want < count ? want : count);
  xmc_u32 id = xmc_superblock_id(xmc_slab_page(xmc_claim_id(slab)), place), scarce = xmc_scarce_near(heap);
  if (xmc_superblock_start(heap, words, cls, id, count, take, seat, scarce))
    xmc_put(heap, cls, xmc_fifo_slot(heap, me, cls), id);
  return xmc_claim_make(id, take);
}

/* Puts 2^order pages, which the caller owns, into use as a Superblock of the class, or one page as a slab if the class is a slab's.
 * Returns a claim of up to `want` of its blocks or places. If `shared` is set and another slab got the seat meanwhile, it
 * claims a place of that one and gives the new slab's page back; or, if that one has no place left, the new slab takes its seat
 * (xmc_slab_other). */
XMC_FN xmc_claim xmc_pages_start(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 want,
                                 xmc_u32 page, xmc_u32 order, xmc_seat seat, int shared) {
  xmc_u32 slab = cls >= XMC_CLASSES, blocks = slab ? cls - XMC_CLASSES : cls, count, take, scarce, words, map,
          id;
  xmc_claim claim = 0;
  XMC_AFRESH64(heap); /* the loads below are issued together */
  map = (xmc_u32)xmc_fixed_map(heap);
  scarce = xmc_scarce_near(heap);
  words = (xmc_u32)(xmc_fixed_words(heap) >> 3);
  xmc_pages_enter(heap, map, page, order, blocks);
  id = slab ? xmc_slab_id(page) : xmc_run_id(page, order);
  count = slab ? (xmc_slab_blocks(blocks) + 31u) >> 5 : xmc_class_blocks(blocks, 1u << order);
  take = xmc_count_mask(want < count ? want : count);
  if (!xmc_superblock_start(heap, words, cls, id, count, take, seat, scarce))
    return xmc_claim_make(id, take);
  if (shared && slab)
    claim = xmc_slab_other(heap, me, words, cls, id);
  if (claim && xmc_claim_id(claim) == id)
    return xmc_claim_make(id, take);
  if (claim && xmc_slab_undo(heap, words, cls, id, xmc_word_start(cls, count, take) | XMC_WORD_LISTED, take))
    return claim;
  xmc_put(heap, cls, xmc_fifo_slot(heap, me, cls), id);
  return claim ? claim : xmc_claim_make(id, take);
}

/* The same with 2^order pages that it claims itself (xmc_pages_take). Returns 0 if there are none. */
XMC_FN xmc_claim xmc_pages_carve(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 want,
                                 xmc_u32 order, xmc_u64 map, xmc_u32 lanes, xmc_seat seat) {
  xmc_u32 page = xmc_pages_take(heap, me, cls < XMC_CLASSES ? cls : cls - XMC_CLASSES, order, map, lanes,
                                seat.fifo, seat.hint, xmc_seat_own(&seat));
  XMC_AFRESH(cls);
  return page == XMC_NONE ? 0 : xmc_pages_start(heap, me, cls, want, page, order, seat, XMC_OWN_PLACES);
}

/* Returns 1 if there is plenty of room, as far as two loads tell: if both spans that `any` chooses are wholly free. Where `any` differs
 * from request to request, and a share f of all spans is wholly free, the result is 1 with a probability of f * f. On CPU devices it is 0
 * for the classes that ask, so that they look at the first span and the middle one. */
XMC_FN int xmc_is_plenty(XMC_GLOBAL xmcHeap *heap, xmc_u32 any) {
  xmc_u32 spans = xmc_heap_present_spans(heap), at = xmc_any_below(any, spans);
  xmc_u64 free = xmc_load_relaxed64(xmc_span_word(heap, at));
  at += spans / 2u;
  return !~(free & xmc_load_relaxed64(xmc_span_word(heap, at < spans ? at : at - spans)));
}

/* Returns log2 of the pages of a new Superblock for `want` blocks.
 *
 * On CPU devices a Superblock has all its pages while the heap is nearly unused (xmc_is_plenty), and otherwise as few as hold
 * XMC_FEW_BLOCKS blocks: the fewer blocks a Superblock has, the sooner all of them are free when the program goes on to other sizes.
 * Classes whose blocks have five or six times a power of two bytes always have all their pages, because half of them would be filled to
 * fifteen sixteenths only.
 *
 * On GPUs as many slots take Superblocks as sub-groups run. So if few lanes want a class, a Superblock has only as many pages as hold
 * the blocks of 16 such requests, at most all; of two in a heap of less than XMC_MANY_PAGES, or once room was scarce. A run that the
 * slot returned is taken again as it was, if it holds `want` blocks. */
#define XMC_FEW_BLOCKS 8u
XMC_FN xmc_u32 xmc_carve_order(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 want, xmc_u32 hint,
                               xmc_u32 pages, xmc_u32 scarce) {
  xmc_u32 order = xmc_class_order(cls);
  if (!XMC_CARVE_TO_FIT) {
    if (order == 0 || (cls & 3u) < 2u || xmc_is_plenty(heap, hint))
      return order;
    want = XMC_FEW_BLOCKS;
  } else {
    if (xmc_hint_is_run(hint) && xmc_hint_order(hint) <= order &&
        xmc_class_blocks(cls, 1u << xmc_hint_order(hint)) >= want)
      return xmc_hint_order(hint);
    want *= scarce || pages < XMC_MANY_PAGES ? 2u : 16u;
  }
  XMC_ROLLED
  while (order > 0 && xmc_class_blocks(cls, 1u << (order - 1u)) >= want)
    order--;
  return order;
}
#endif
