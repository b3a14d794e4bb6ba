/* SPDX-License-Identifier: MIT */
/* The last resort: the search that runs before a request fails. It looks at parked Superblocks and at other slots' FIFOs, takes
 * free pages that the span index names, and retires what is wholly free in any class.
 *
 * It looks only at FIFOs whose bit is set in the busy bitmap, and clears the bits of those that it finds empty or exhausted (steal.cl).
 * In the same way xmc_reclaim looks only at pages whose bit is set in the whole bitmap. So a million requests that meet a full heap share
 * the work: the first ones clear the bitmaps, the others read a few words of their top levels. Lanes that want one class search together.
 */
#ifndef XMC_RECLAIM_CL
#define XMC_RECLAIM_CL
#include "../superblocks/carve.cl"
#include "steal.cl"

/* Retires a Superblock or slab that was wholly free by its word w, as last seen, and gives its memory back. Returns 1 if it was still
 * wholly free, else 0. It counts itself in flux meanwhile, because no search can find that memory until it is given back. */
XMC_FN int xmc_reclaim_one(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 id, xmc_u64 w) {
  XMC_AFRESH64(heap);
  xmc_flux_begin(heap);
  w = xmc_superblock_retire(xmc_word_of(heap, id), cls, w);
  XMC_AFRESH(id);
  XMC_AFRESH(cls);
  if (w) {
    id = xmc_give_back(heap, me, xmc_words(heap), cls, id);
    if (id != XMC_NONE) /* the slab has a free place again, and the caller its listed duty */
      xmc_put(heap, xmc_slab_class(cls), xmc_fifo_slot(heap, me, xmc_slab_class(cls)), id);
  }
  xmc_flux_end(heap, w != 0);
  return w != 0;
}

/* Returns 1 if this page, which is not free and has this entry, belongs to a run in use that begins before it, or is the first page of a
 * Memoryblock or of a region's chunk. Returns 0 if the page was never used or an earlier use of it left the entry: then a work-item is
 * about to start something there. */
XMC_FN int xmc_page_is_held(XMC_GLOBAL xmcHeap *heap, xmc_u32 page, xmc_u64 entry) {
  xmc_u32 cls = xmc_map_class(entry),
          first = cls == XMC_CLASS_BODY ? xmc_map_inverse(entry) : page - xmc_map_back(entry);
  xmc_u64 w;
  if (cls == XMC_CLASS_NONE || first > page)
    return 0;
  w = xmc_load_relaxed64(xmc_word_of(heap, xmc_superblock_id(first, xmc_map_place(entry))));
  if (cls < XMC_CLASSES)
    return xmc_word_class(w) == cls;
  cls = xmc_word_class(w);
  return cls >= XMC_ALL_CLASSES && cls < XMC_CLASS_BODY && xmc_word_pages(w) > page - first;
}

/* Looks at the Superblock that begins in a page, or at the page's slab and its Superblocks: retires those that are wholly free and sets
 * the watched bit of the others. Returns twice the number of those that it retired, plus 1 ("unsure") if one is not in use yet or no
 * longer, or was changed by another work-item meanwhile. If unsure, the page's bit of the whole bitmap must be set afterwards. */
XMC_FN xmc_u32 xmc_page_look(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 page) {
  XMC_AFRESH64(heap);
  xmc_u64 w = xmc_load_relaxed64(xmc_page_entry(heap, page));
  xmc_u32 cls = (xmc_u32)w, end, result = 0, id;
  if (xmc_load_relaxed64(xmc_span_word(heap, page >> XMC_SPAN_SHIFT)) >> (page & (XMC_SPAN_PAGES - 1u)) & 1u)
    return 0; /* free */
  end = cls;
  cls = xmc_map_class(end);
  if (cls >= XMC_CLASSES || xmc_map_back(end))
    return !xmc_page_is_held(heap, page, w);
  /* The Superblocks of a slab from the last place down, and then the slab. The slab's watched bit is set before all that, so that a
   * sub-group which takes a place from now on sees it there, and sets the page's bit again (xmc_full_of_slab). */
  if (xmc_class_is_small(cls)) {
    end = (xmc_slab_of_entry(end) + 31u) >> 5;
    end = end < 32u ? end : 32u;
    w = xmc_load_relaxed64(xmc_word_of(heap, xmc_slab_id(page)));
    if (xmc_word_class(w) == xmc_slab_class(cls) && !(w & XMC_WORD_WATCHED))
      result = xmc_cas_relaxed64(xmc_word_of(heap, xmc_slab_id(page)), w, w | XMC_WORD_WATCHED) != w;
  } else {
    end = xmc_map_place(end) + 1u;
  }
  XMC_ROLLED
  for (;; end--) {
    XMC_AFRESH(cls);
    XMC_AFRESH(page);
    if (end > 0) {
      id = xmc_superblock_id(page, end - 1u);
    } else {
      cls = xmc_slab_class(cls);
      id = xmc_slab_id(page);
    }
    w = xmc_load_relaxed64(xmc_word_of(heap, id));
    if (xmc_word_class(w) == cls && xmc_word_is_whole(w)) {
      result = xmc_reclaim_one(heap, me, cls, id, w) ? result + 2u : result | 1u;
    } else if (xmc_word_class(w) != cls) { /* not in use, as it should be if its place in the slab is free */
      if (!xmc_class_is_small(cls) ||
          !(xmc_load_relaxed64(xmc_word_of(heap, xmc_slab_id(page))) >> (end - 1u) & 1u))
        result |= 1u;
    } else if (!(w & XMC_WORD_WATCHED) &&
               xmc_cas_relaxed64(xmc_word_of(heap, id), w, w | XMC_WORD_WATCHED) != w) {
      result |= 1u;
    }
    if (!xmc_class_is_small(cls))
      return result;
  }
}

/* Retires wholly free Superblocks and slabs of every class, wherever they are listed. Their ids stay in the FIFOs and are harmless,
 * because a claim compares the class in the state word. Stops once it retired `enough`, less than 2^31. Returns 1 if it retired any.
 *
 * Until room was scarce for the first time, the bits of all present pages are set in the whole bitmap. Once a page was looked at, its
 * bit is cleared, since all its Superblocks are watched then. The work-item that makes a watched one wholly free (xmc_say_whole), starts a
 * new one (xmc_superblock_show) or parks a wholly free one (xmc_park) sets the bit again. So a million requests together look once at all
 * of a full heap, and then only at what changed. */
#define XMC_RECLAIM_CLEARED 1u /* the page's bit was cleared: the second look follows */
#define XMC_RECLAIM_AGAIN 2u   /* the bitmap's end was passed once: on from the first page */
#define XMC_RECLAIM_FOUND 4u   /* something was retired */
XMC_FN int xmc_reclaim(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 enough) {
  XMC_AFRESH64(heap);
  xmc_u32 page = xmc_any_number(me) % xmc_heap_present(heap), state = 0, look;
  int left = (int)enough; /* may become negative: Oclgrind lacks the subtraction that stops at 0 */
  XMC_ROLLED
  while (left > 0) {
    XMC_AFRESH(state);
    if (!(state & XMC_RECLAIM_CLEARED))
      page = xmc_bitmap_find(heap, XMC_WHOLE, page, xmc_heap_pages(heap));
    if (page == XMC_NONE) {
      if (state & XMC_RECLAIM_AGAIN)
        break;
      state |= XMC_RECLAIM_AGAIN;
      page = 0;
      continue;
    }
    look = xmc_page_look(heap, me, page);
    XMC_AFRESH(page);
    if (look >> 1)
      state |= XMC_RECLAIM_FOUND;
    left -= (int)(look >> 1);
    /* Each page is looked at before its bit is cleared and again afterwards, or a change in between would be missed. */
    if (!(state & XMC_RECLAIM_CLEARED) && !(look & 1u) && left > 0) {
      xmc_bitmap_clear(heap, XMC_WHOLE, page);
      state |= XMC_RECLAIM_CLEARED;
      continue;
    }
    if ((state & XMC_RECLAIM_CLEARED) && (look & 1u))
      xmc_whole_add(heap, page);
    state &= ~XMC_RECLAIM_CLEARED;
    page++;
  }
  return (state & XMC_RECLAIM_FOUND) != 0;
}

/* Makes a new Superblock of the class, or a slab if the class is small, out of the longest free run that the span index names, up to
 * the class's full length. Returns a claim of up to `want` of its blocks (of one place of the slab), or 0 if there is no run. */
XMC_FN xmc_claim xmc_last_carve(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 want) {
  XMC_AFRESH64(heap);
  xmc_u32 orders = xmc_index_orders(heap), order = 0, page = XMC_NONE;
  xmc_seat seat;
  xmc_seat_none(&seat);
  orders &= xmc_class_is_small(cls) ? 1u : (2u << xmc_class_order(cls)) - 1u;
  XMC_ROLLED
  while (page == XMC_NONE) { /* as long a run as there is */
    if (!orders)
      return 0;
    order = xmc_highest32(orders);
    orders &= ~(1u << order);
    page = xmc_run_search(heap, me, order, 0, XMC_RUN_INDEX, 0);
    XMC_AFRESH(order);
  }
  XMC_AFRESH(cls);
  if (xmc_class_is_small(cls)) {
    cls = xmc_slab_class(cls);
    want = 1u;
  }
  return xmc_pages_start(heap, me, cls, want, page, order, seat, 0);
}

/* The end of the larger classes, from cls + 1 on, of which a request for `cls` may take a block; 0 (none) while the search is choosy.
 * Those are the classes of up to twice the size: the next four, but one for 16 B, two for 32 B and three for 48 B, where all steps are
 * 16 B. Without this limit small requests would take each larger block as it is freed, and soon hold a whole heap between them. On CPU
 * devices 16 B may take up to 64 B, because they cannot take Basicblocks in a row, as larger requests can (joined.cl). */
XMC_FN xmc_u32 xmc_search_end(xmc_u32 cls, xmc_search search) {
  xmc_u32 end = !XMC_SIMT && cls == 0 ? 4u : cls < 3u ? 2u * cls + 2u : cls + 5u;
  end = xmc_search_is_choosy(search) ? 0 : end;
  return end > XMC_CLASSES ? XMC_CLASSES : end;
}

/* xmc_last_claim claims up to `want` blocks of a class from where the fast path does not look, or returns 0. It has four steps: parked
 * Superblocks of the class and all its FIFOs; the same for its slabs; free pages; the same as the first for larger classes, what is
 * parked only in the last turn. A search for used memory (XMC_SEARCH_USED) leaves out the FIFOs and the last step. */
#define XMC_STEP_SLABS 1u
#define XMC_STEP_CARVE 2u
#define XMC_STEP_LARGER 3u
#define XMC_STEPS 4u
XMC_FN xmc_u32 xmc_step_begin(xmc_u32 step, xmc_u32 cls) {
  return step == 0 ? cls : step == XMC_STEP_SLABS ? xmc_slab_class(cls) : cls + 1u;
}
XMC_FN xmc_u32 xmc_step_end(xmc_u32 step, xmc_u32 cls, xmc_search search) {
  return step < XMC_STEP_CARVE ? xmc_step_begin(step, cls) + 1u : xmc_search_end(cls, search);
}
XMC_FN xmc_claim xmc_last_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 want,
                                xmc_search search) {
  XMC_AFRESH64(heap);
  xmc_u32 step;
  xmc_claim claim;
  xmc_seat seat;
  xmc_seat_none(&seat);
  if (XMC_SEARCH_IS_USED(search))
    xmc_room_sample(heap, xmc_any_number(me));
  XMC_ROLLED
  for (step = 0; step < (XMC_SEARCH_IS_USED(xmc_search_turns(search)) ? XMC_STEP_LARGER : XMC_STEPS);
       step++) {
    XMC_AFRESH(cls);
    XMC_AFRESH(step);
    claim = 0;
    if (step == XMC_STEP_CARVE) {
      /* Before flux is touched: a million requests that find nothing must not all seem to hold room. */
      if (xmc_index_find(heap, 0, 0) == XMC_NONE)
        continue;
      if (XMC_SEARCH_IS_USED(search)) {
        xmc_room_look(heap, xmc_any_number(me), 1);
        if (xmc_scarce_look(heap)) /* else no other search is under way that must be told */
          search |= XMC_SEARCH_SAYS;
      }
      if (!XMC_SEARCH_IS_USED(search))
        xmc_flux_begin(heap); /* it takes a whole Superblock for a few blocks */
      claim = xmc_last_carve(heap, me, cls, want);
    } else if (step != XMC_STEP_SLABS || xmc_class_is_small(cls)) {
      if (step != XMC_STEP_LARGER || xmc_search_turns(search) == XMC_SEARCH_LAST)
        claim = xmc_unpark(heap, me, xmc_step_begin(step, cls), xmc_step_end(step, cls, search),
                           step == XMC_STEP_SLABS ? 1u : want, search);
      XMC_AFRESH(cls);
      XMC_AFRESH(step);
      XMC_AFRESH(search);
      if (!XMC_SEARCH_IS_USED(search) && !claim)
        claim = xmc_steal(heap, me, xmc_step_begin(step, cls), xmc_step_end(step, cls, search),
                          step == XMC_STEP_SLABS ? 1u : want);
    }
    XMC_AFRESH(cls);
    XMC_AFRESH(step);
    if (claim && xmc_class_is_small(cls) && (step == XMC_STEP_SLABS || step == XMC_STEP_CARVE)) /* a place */
      claim = xmc_slab_start(heap, me, xmc_words(heap), cls, want, claim, seat);
    if (!XMC_SEARCH_IS_USED(search) && step == XMC_STEP_CARVE)
      xmc_flux_end(heap, claim != 0);
    if (claim) {
      if (XMC_SEARCH_IS_USED(search) && step < XMC_STEP_CARVE)
        xmc_room_found(heap);
      return claim;
    }
  }
  return 0;
}

/* Says that room is scarce, unless it is scarce now. From then on work-items that make room findable say so (whole bitmap, flux). The
 * hint's value is not used, so loads that follow may be performed before the bit is set. That is enough, because no search fails before a
 * turn that begins later: xmc_search_begins reads the word again, and what it reads has the bit. */
XMC_FN void xmc_say_scarce(XMC_GLOBAL xmcHeap *heap) {
  XMC_AFRESH64(heap);
  if (!xmc_is_scarce(heap))
    xmc_or_hint64(&heap->scarce, XMC_SCARCE_ONCE | XMC_SCARCE_NOW);
}

/* Called at the begin of a turn. Returns the search with the present state of flux, with which xmc_make_room will compare. */
XMC_FN xmc_search xmc_search_begins(XMC_GLOBAL xmcHeap *heap, xmc_search search) {
  XMC_AFRESH64(heap);
  xmc_say_scarce(heap);
  return xmc_search_turns(search) | xmc_search_flux(xmc_load_acquire64(&heap->flux));
}

/* Called after a turn found nothing. The turn was for `pages` pages at a multiple of `align` pages, or for a Superblock (1 and 1).
 * Retires what is wholly free, and counts the turn in *search. Returns 1 if another such turn may find room. Returns 0 if nothing could
 * be retired, flux did not move since the turn began, no work-item holds more room than it will keep, and the index hides nothing; or
 * if the count is above XMC_PERSISTENCE. At least two turns are taken, because work-items that took room before it was scarce did not
 * count themselves in flux. A search believes XMC_PATIENCE times that others hold room, because a holder may have stopped for good, and
 * XMC_PERSISTENCE times that room moves, so that every search ends. */
#define XMC_PATIENCE 4u
#define XMC_PERSISTENCE 8u
XMC_FN int xmc_make_room(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 pages, xmc_u32 align,
                         xmc_search *search) {
  XMC_AFRESH64(heap);
  xmc_u64 now;
  xmc_u32 moved;
  xmc_say_scarce(heap);
  if (xmc_reclaim(heap, me, pages))
    return 1;
  now = xmc_load_acquire64(&heap->flux);
  moved = (xmc_search_flux(now) ^ *search) >> 8;
  *search += moved ? 1u : XMC_PERSISTENCE / XMC_PATIENCE;
  if (xmc_search_turns(*search) > XMC_PERSISTENCE)
    return 0;
  if (moved || (xmc_u32)now || xmc_search_turns(*search) <= XMC_PERSISTENCE / XMC_PATIENCE)
    return 1;
  XMC_AFRESH(pages);
  pages += align - 1u; /* so many pages in a row contain the wanted run, wherever they begin */
  return xmc_index_sweep(heap, me, pages > 1u ? 1u + xmc_highest32(pages - 1u) : 0);
}

#endif
