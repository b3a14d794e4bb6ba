/* SPDX-License-Identifier: MIT */
/* Blocks from where a request does not look first: other slots' FIFOs, parked Superblocks.
 *
 *   busy bitmap    bit (class, slot): the FIFO may hold something      steal
 *   parked bitmap  bit (class, page): one may be parked there          unpark
 *
 * What is found empty or exhausted is cleaned up on the way.
 */
#ifndef XMC_STEAL_CL
#define XMC_STEAL_CL
#include "../superblocks/seat.cl"

/* A search of the last resort: how many turns it took, or how it looks from now on, in the low byte; above, the state of
 * flux when the turn began. (In one word: it is kept while all else goes on.) The first turns are choosy: they leave
 * what costs a long look. */
typedef xmc_u32 xmc_search;
#define XMC_CHOOSY_TURNS 2u
#define XMC_SEARCH_USED 0xfbu   /* GPUs, as long as room is not scarce: used memory, then new */
#define XMC_SEARCH_SAYS 0x100u  /* the same, and it counts itself in flux while it takes new memory */
#define XMC_SEARCH_HASTY 0xfcu  /* pages: a look at a few spans, then no more */
#define XMC_SEARCH_LAST 0xfdu   /* one last turn, whatever can be had */
#define XMC_SEARCH_FAILED 0xfeu /* nothing was found for the last time */
XMC_FN xmc_u32 xmc_search_turns(xmc_search search) { return search & 0xffu; }
XMC_FN int xmc_search_is_choosy(xmc_search search) { return xmc_search_turns(search) < XMC_CHOOSY_TURNS; }
/* Does it look for used memory? Not on CPU devices, whose compilers so leave that out. */
#define XMC_SEARCH_IS_USED(search) (XMC_SIMT && (search) == XMC_SEARCH_USED)
/* How a search for a class begins. In an unbuffered heap each request begins one: there the first look is a short one. */
XMC_FN xmc_search xmc_search_start(XMC_GLOBAL xmcHeap *heap) {
  return XMC_SIMT && xmc_heap_slots(heap) && !(xmc_scarce_near(heap) & XMC_SCARCE_NOW) ? XMC_SEARCH_USED : 0;
}
XMC_FN xmc_u32 xmc_search_flux(xmc_u64 flux) { return (xmc_u32)(flux >> 32) << 8; }

XMC_FN int xmc_is_parked(XMC_GLOBAL xmcHeap *heap, xmc_u32 id) {
  return (xmc_load_relaxed64(xmc_word_of(heap, id)) & XMC_WORD_PARKED) != 0;
}

/* Claims up to `want` blocks of a parked Superblock (or slab) in one page. It stays parked until it is exhausted, in
 * everybody's sight, or, while room is not scarce, comes back into the caller's FIFO. */
XMC_COLD_FN xmc_claim xmc_page_unpark(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 page,
                                      xmc_u32 want) {
  XMC_AFRESH64(heap);
  xmc_u32 used; /* a bit for each place: those of a slab that are in use, or where a run has its Superblock */
  xmc_u32 id, take;
  xmc_u64 w, next, old;
  if (page >= xmc_heap_pages(heap))
    return 0;
  take = (xmc_u32)xmc_load_relaxed64(xmc_page_entry(heap, page));
  if (xmc_map_class(take) != (cls < XMC_CLASSES ? cls : cls - XMC_CLASSES) || xmc_map_back(take))
    return 0; /* another class by now, or inside a run */
  used = 1u << xmc_map_place(take);
  if (xmc_class_is_small(cls))
    used = ~(xmc_u32)xmc_load_relaxed64(xmc_word_of(heap, xmc_slab_id(page))) &
           xmc_count_mask(((xmc_map_blocks(take) - 1u) >> 5 & 31u) +
                          1u); /* at most 32 in a damaged arena, too */
  XMC_ROLLED
  for (; used; used &= used - 1u) {
    XMC_AFRESH(cls);
    XMC_AFRESH(page);
    id = cls < XMC_CLASSES ? xmc_superblock_id(page, xmc_lowest32(used)) : xmc_slab_id(page);
    w = xmc_load_relaxed64(xmc_word_of(heap, id));
    XMC_ROLLED
    while (xmc_word_class(w) == cls && (w & XMC_WORD_PARKED)) { /* again only when another one changed it */
      take = xmc_lowest_bits_slowly(xmc_word_available(w, cls), want);
      next = w & ~(xmc_u64)take;
      if (!xmc_word_available(next, cls))
        next &= ~(XMC_WORD_LISTED | XMC_WORD_PARKED);
      else if (!xmc_stays_parked(heap, cls))
        next &= ~XMC_WORD_PARKED;
      XMC_AFRESH(id);
      old = xmc_cas_acquire64(xmc_word_of(heap, id), w, next);
      if (old != w) {
        w = old;
        continue;
      }
      if (!take)
        break;
      if (xmc_word_available(next, cls) && !(next & XMC_WORD_PARKED)) { /* the duty came with it */
        xmc_put(heap, cls, xmc_fifo_slot(heap, me, cls), id);
        xmc_add_acq_rel64(&heap->flux, XMC_FLUX_MOVED);
      }
      return xmc_claim_make(id, take);
    }
  }
  return 0;
}

/* Claims up to `want` blocks of a parked Superblock (or places of a slab) of a class in [cls, end). While the search is choosy it looks at one
 * page, and for used memory at XMC_USED_LOOKS: where many search at the same time, most of the bits that one finds lead to what another
 * one just took. (To clear the bit before the look would be faster, and hides a page full of free blocks: bench/experiments.md.) */
#define XMC_USED_LOOKS 32u
XMC_COLD_FN xmc_claim xmc_unpark(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 end, xmc_u32 want,
                                 xmc_search search) {
  xmc_u32 item = XMC_NONE, at, pages; /* at: the item's class */
  xmc_u32 looks = 2u * (XMC_SEARCH_IS_USED(search) ? XMC_USED_LOOKS
                                                   : 1u); /* odd: the item's bit is cleared, another look */
  xmc_claim claim;
  int parked;
  XMC_AFRESH64(heap);
  XMC_ROLLED
  for (;;) {
    XMC_AFRESH(cls);
    XMC_AFRESH(end);
    pages = xmc_heap_spans(heap) * XMC_SPAN_PAGES;
    if (!(looks & 1u))
      item = xmc_bitmap_find_from(heap, XMC_PARKED, cls * pages, end * pages,
                                  cls * pages + xmc_any_below(xmc_any_number(me), pages));
    if (item == XMC_NONE)
      return 0;
    at = cls;
    XMC_ROLLED
    while (item - at * pages >= pages) /* most searches are for one class, so a division would take longer */
      at++;
    claim = xmc_page_unpark(heap, me, at, item - at * pages, want);
    XMC_AFRESH(item);
    XMC_AFRESH(looks);
    parked = claim && (xmc_class_is_small(at) || xmc_is_parked(heap, xmc_claim_id(claim)));
    if (!(looks & 1u) && !parked)
      xmc_bitmap_clear(heap, XMC_PARKED, item);
    XMC_AFRESH(item);
    if (claim) {
      if ((looks & 1u) || (!parked && xmc_is_parked(heap, xmc_claim_id(claim))))
        xmc_bitmap_set(heap, XMC_PARKED, item);
      return claim;
    }
    looks--;
    if (!looks && (XMC_SEARCH_IS_USED(search) || xmc_search_is_choosy(search)))
      return 0;
    looks = looks ? looks : 2u;
  }
}

/* The FIFO looked empty: take its busy bit away unless something came in meanwhile. */
XMC_FN void xmc_fifo_mark_idle(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_fifo *fifo = xmc_fifo_at(heap, cls, slot);
  xmc_bitmap_clear(heap, XMC_BUSY, cls * xmc_heap_slots(heap) + slot);
  if (xmc_active_id(xmc_load_relaxed64(&fifo->active)) != XMC_NONE || !xmc_fifo_is_empty(fifo))
    xmc_fifo_mark_busy(heap, cls, slot);
}

/* Moves a FIFO, whose active Superblock is exhausted with the word w, on to the next. 0: there is none; then the
 * exhausted one is dropped. */
XMC_COLD_FN int xmc_fifo_advance(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_seat *seat, xmc_u64 w) {
  XMC_AFRESH64(heap);
  xmc_u32 id = xmc_active_id(seat->active), next;
  xmc_u64 old;
  if (id != XMC_NONE && !xmc_superblock_unlist(xmc_word_of(heap, id), cls, &w))
    return 1; /* it has blocks again */
  next = xmc_fifo_dequeue(xmc_fifo_number(heap, seat->fifo));
  if (next == XMC_NONE && id == XMC_NONE)
    return 0;
  old = xmc_cas_hint64(&xmc_fifo_number(heap, seat->fifo)->active, seat->active,
                       xmc_active_next(seat->active, next));
  if (next == XMC_NONE)
    return old != seat->active; /* somebody else moved it on */
  xmc_fifo_moved(heap, cls, seat, next, old, xmc_scarce_look(heap));
  return 1;
}

/* Claims up to `want` blocks from the FIFO of another slot: xmc_fifo_claim with less to keep in registers. */
XMC_FN xmc_claim xmc_fifo_take(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot, xmc_u32 want) {
  XMC_AFRESH64(heap);
  xmc_seat seat;
  xmc_u64 w;
  xmc_u32 id, take;
  xmc_seat_none(&seat);
  seat.fifo = xmc_fifos_first(xmc_heap_fifos(heap, cls)) + slot;
  XMC_ROLLED
  do { /* again only for a next Superblock, or when somebody else moved the FIFO on */
    seat.active = xmc_load_relaxed64(&xmc_fifo_number(heap, seat.fifo)->active);
    id = xmc_active_id(seat.active);
    w = 0;
    if (id != XMC_NONE) {
      w = xmc_load_relaxed64(xmc_word_of(heap, id));
      take = xmc_superblock_claim_called(xmc_word_of(heap, id), cls, want, &w);
      if (take)
        return xmc_claim_make(id, take);
      XMC_AFRESH(cls);
      XMC_AFRESH(seat.fifo);
    }
  } while (xmc_fifo_advance(heap, cls, &seat, w));
  return 0;
}

/* Claims up to `want` blocks from any FIFO of the classes [cls, end), those of the caller's slot and above first. A FIFO that
 * has none is empty afterwards. */
XMC_FN xmc_claim xmc_steal(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 end, xmc_u32 want) {
  XMC_AFRESH64(heap);
  xmc_u32 range = cls | end << 8, item; /* 1 << 16: for the second time, from its begin */
  xmc_claim claim;
  int again;
  if (cls >= end)
    return 0;
  item = cls * xmc_heap_slots(heap) + xmc_slot_hint(me, xmc_fifos_count(xmc_heap_fifos(heap, cls)));
  XMC_ROLLED
  do {
    XMC_AFRESH(range);
    claim = 0;
    item = xmc_bitmap_find(heap, XMC_BUSY, item, (range >> 8 & 0xffu) * xmc_heap_slots(heap));
    if (item == XMC_NONE) {
      again = !(range >> 16);
      item = range & 0xffu;
      item *= xmc_heap_slots(heap);
      range |= 1u << 16;
      continue;
    }
    cls = item / xmc_heap_slots(heap);
    claim = xmc_fifo_take(heap, cls, item - cls * xmc_heap_slots(heap), want);
    again = !claim;
    if (claim)
      continue;
    XMC_AFRESH(item);
    cls = item / xmc_heap_slots(heap);
    xmc_fifo_mark_idle(heap, cls, item - cls * xmc_heap_slots(heap));
    item++;
  } while (XMC_NO_YIELD(again));
  return claim;
}
#endif
