/* SPDX-License-Identifier: MIT */
/* The last resort: before a request fails, what is parked, what other slots hold, what any class can spare.
 *
 * Only FIFOs whose bit stands in the busy bitmap are looked at, and every one found empty or exhausted is
 * cleaned up on the way (steal.cl); likewise only pages whose bit stands in the whole bitmap, for what is wholly free
 * (xmc_reclaim). So a million requests that meet a full heap share the work: the first ones empty the bitmaps, the others
 * read a few root words. Lanes of a class come here together.
 */
#ifndef XMC_RECLAIM_CL
#define XMC_RECLAIM_CL
#include "../superblocks/carve.cl"
#include "steal.cl"

/* Retires a Superblock or slab that was wholly free with the word w, and gives it back. 1 if it still was. */
XMC_FN int xmc_reclaim_one(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 id, xmc_u64 w) {
  XMC_AFRESH64(heap);
  xmc_flux_begin(heap);
  w = xmc_superblock_retire(xmc_word_of(heap, id), cls, w);
  XMC_AFRESH(id);
  XMC_AFRESH(cls);
  if (w) {
    id = xmc_give_back(heap, me, xmc_words(heap), cls, id);
    if (id != XMC_NONE) /* a slab with a free place again */
      xmc_put(heap, xmc_slab_class(cls), xmc_fifo_slot(heap, me, xmc_slab_class(cls)), id);
  }
  xmc_flux_end(heap, w != 0);
  return w != 0;
}

/* Looks at the Superblocks of a page, or the one that begins there, then at the slab: retires what is wholly free and
 * watches the rest. Returns how often it retired one, times two, plus 1 (unsure) for what is not in use yet, or no
 * longer, or changes just now. */
XMC_FN xmc_u32 xmc_page_look(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 page) {
  XMC_AFRESH64(heap);
  xmc_u32 cls = (xmc_u32)xmc_load_relaxed64(xmc_page_entry(heap, page)), end, result = 0, id;
  xmc_u64 w;
  if (xmc_load_relaxed64(xmc_span_word(heap, page >> XMC_SPAN_SHIFT)) >> (page & (XMC_SPAN_PAGES - 1u)) & 1u)
    return 0; /* free */
  end = cls;
  cls = xmc_map_class(end);
  if (cls >= XMC_CLASSES || xmc_map_back(end))
    return cls == XMC_CLASS_NONE;
  /* A slab's from the last one down, then the slab; that is watched first, for who takes a place now sees it there
   * (full_group.cl). */
  if (xmc_class_is_small(cls)) {
    end = (xmc_map_blocks(end) + 31u) >> 5;
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
    } else if (xmc_word_class(w) != cls) { /* a slab has places that are not in use */
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

/* Retires wholly free Superblocks and slabs of every class, wherever they are listed: their ids stay behind and lead
 * nowhere. Stops after `enough`, less than 2^31. Returns whether there were any.
 *
 * Before room was ever scarce the bits of all pages that are present are set. Once a page was looked at its bit is cleared: each of
 * its Superblocks is watched, and whoever makes one wholly free (xmc_say_whole), or starts a new one (xmc_superblock_show), sets the
 * bit again. So a million requests look once at all of a full heap together, and then at what changed. */
#define XMC_RECLAIM_CLEARED 1u /* the page's bit, after the first look */
#define XMC_RECLAIM_AGAIN 2u   /* once more, from the first page on */
#define XMC_RECLAIM_FOUND 4u   /* something was retired */
XMC_FN int xmc_reclaim(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 enough) {
  XMC_AFRESH64(heap);
  xmc_u32 page = xmc_any_number(me) % xmc_heap_present(heap), state = 0, look;
  int left = (int)enough; /* may go below 0: Oclgrind has no subtraction that ends there */
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
    /* look before the bit is cleared, and after */
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

/* A new Superblock of the class out of free pages, for one who does not know where those are: up to `want` of its blocks. */
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

/* Where the classes end that a request for `cls` may take a block of instead: those of up to twice its size, once the choosy turns found
 * nothing: the next four, but one to 16 B, two to 32 and three to 48, for up to 128 B all steps are 16 B. Small blocks that took any
 * larger one, each as it was freed, would soon hold a whole heap between them. */
XMC_FN xmc_u32 xmc_search_end(xmc_u32 cls, xmc_search search) {
  xmc_u32 end = cls < 3u ? 2u * cls + 2u : cls + 5u;
  end = xmc_search_is_choosy(search) ? 0 : end;
  return end > XMC_CLASSES ? XMC_CLASSES : end;
}

/* Up to `want` blocks of a class from where the fast path does not look, in four steps: parked Superblocks of the class and
 * other slots' FIFOs of it; the same for slabs; any free pages; the same as first for larger classes, what is parked only in
 * the last turn. */
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
      /* A million requests that find nothing must not all seem to hold something. */
      if (xmc_index_find(heap, 0, 0) == XMC_NONE)
        continue;
      if (XMC_SEARCH_IS_USED(search)) {
        xmc_room_look(heap, xmc_any_number(me));
        if (xmc_scarce_look(heap)) /* else nobody searches who has to be told */
          search |= XMC_SEARCH_SAYS;
      }
      if (!XMC_SEARCH_IS_USED(search))
        xmc_flux_begin(heap); /* of a whole Superblock for a few blocks */
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
    if (claim)
      return claim;
  }
  return 0;
}

/* From now on those who make room findable say so. */
XMC_FN void xmc_say_scarce(XMC_GLOBAL xmcHeap *heap) {
  XMC_AFRESH64(heap);
  if (!xmc_is_scarce(heap))
    xmc_or_hint64(&heap->scarce, XMC_SCARCE_ONCE | XMC_SCARCE_NOW);
}

/* Called at a turn's begin. */
XMC_FN xmc_search xmc_search_begins(XMC_GLOBAL xmcHeap *heap, xmc_search search) {
  XMC_AFRESH64(heap);
  xmc_say_scarce(heap);
  return xmc_search_turns(search) | xmc_search_flux(xmc_load_acquire64(&heap->flux));
}

/* Called when a turn found nothing that was for `pages` pages at a multiple of `align` pages, or for a Superblock (1 and 1): makes
 * room by retiring what is wholly free. 0: there is none, nobody made any since the turn began, nobody holds more than it
 * will keep, and the index hides nothing. All is looked at twice, because those who took room before it was scarce did not say so. While others hold room that is
 * believed XMC_PATIENCE times, because whoever holds may have stopped for good, and while they move it
 * XMC_PERSISTENCE times, for an end. */
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
  pages += align - 1u; /* as many in a row have the run that is wanted, wherever they begin */
  return xmc_index_sweep(heap, me, pages > 1u ? 1u + xmc_highest32(pages - 1u) : 0);
}

#endif
