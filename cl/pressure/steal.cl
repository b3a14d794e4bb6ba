/* SPDX-License-Identifier: MIT */
/* Claims where a request does not look first: other slots' FIFOs, and parked Superblocks.
 *
 *   busy bitmap    bit (class, slot): the FIFO may hold an id                          xmc_steal
 *   parked bitmap  bit (class, page): a Superblock of the class may be parked there    xmc_unpark
 *
 * The bit of a FIFO that is found empty, or of a page where nothing stays parked, is cleared on the way.
 */
#ifndef XMC_STEAL_CL
#define XMC_STEAL_CL
#include "../superblocks/seat.cl"

/* The state of a search of the last resort. The low byte is the search's count (xmc_make_room), or one of the modes below; above it is
 * the state of flux when the turn began. (It is one word, because it is kept while everything else changes.) The first turns are
 * choosy: they leave out what takes a long look. */
typedef xmc_u32 xmc_search;
#define XMC_CHOOSY_TURNS 2u
#define XMC_SEARCH_USED 0xfbu   /* GPUs, while room is not scarce now: used memory first, then new */
#define XMC_SEARCH_SAYS 0x100u  /* with XMC_SEARCH_USED: it counts itself in flux while it takes new memory */
#define XMC_SEARCH_HASTY 0xfcu  /* for pages: a last turn that looks at XMC_HASTY_SPANS spans */
#define XMC_SEARCH_LAST 0xfdu   /* the last turn, which takes whatever it can get */
#define XMC_SEARCH_FAILED 0xfeu /* the last turn found nothing */
XMC_FN xmc_u32 xmc_search_turns(xmc_search search) { return search & 0xffu; }
XMC_FN int xmc_search_is_choosy(xmc_search search) { return xmc_search_turns(search) < XMC_CHOOSY_TURNS; }
/* 1 if the search looks for used memory. It is a constant 0 on CPU devices, so that their compilers leave that code out. */
#define XMC_SEARCH_IS_USED(search) (XMC_SIMT && (search) == XMC_SEARCH_USED)
/* The state in which a search for a class begins. In an unbuffered heap each request begins one, so there it begins with a choosy turn. */
XMC_FN xmc_search xmc_search_start(XMC_GLOBAL xmcHeap *heap) {
  return XMC_SIMT && xmc_heap_slots(heap) && !(xmc_scarce_near(heap) & XMC_SCARCE_NOW) ? XMC_SEARCH_USED : 0;
}
XMC_FN xmc_u32 xmc_search_flux(xmc_u64 flux) { return (xmc_u32)(flux >> 32) << 8; }

XMC_FN int xmc_is_parked(XMC_GLOBAL xmcHeap *heap, xmc_u32 id) {
  return (xmc_load_relaxed64(xmc_word_of(heap, id)) & XMC_WORD_PARKED) != 0;
}

/* Claims up to `want` blocks of a parked Superblock (places of a slab) of the class in one page, or returns 0 if none is there. If
 * blocks are left in it, it stays parked, where every search finds it, while room is scarce now or if the class has no FIFOs; else it
 * goes into the caller's ring (or is parked again, if that is full). */
XMC_COLD_FN xmc_claim xmc_page_unpark(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 page,
                                      xmc_u32 want) {
  XMC_AFRESH64(heap);
  xmc_u32 used; /* rows to look at: a slab's places in use, or the row of a run's state word */
  xmc_u32 id, take;
  xmc_u64 w, next, old;
  if (page >= xmc_heap_pages(heap))
    return 0;
  take = (xmc_u32)xmc_load_relaxed64(xmc_page_entry(heap, page));
  if (xmc_map_class(take) != (cls < XMC_CLASSES ? cls : cls - XMC_CLASSES) || xmc_map_back(take))
    return 0; /* the page has another class by now, or is inside a run */
  used = 1u << xmc_map_place(take);
  if (xmc_class_is_small(cls))
    used = ~(xmc_u32)xmc_load_relaxed64(xmc_word_of(heap, xmc_slab_id(page))) &
           xmc_count_mask(((xmc_slab_of_entry(take) - 1u) >> 5 & 31u) +
                          1u); /* at most 32 in a damaged arena, too */
  XMC_ROLLED
  for (; used; used &= used - 1u) {
    XMC_AFRESH(cls);
    XMC_AFRESH(page);
    id = cls < XMC_CLASSES ? xmc_superblock_id(page, xmc_lowest32(used)) : xmc_slab_id(page);
    w = xmc_load_relaxed64(xmc_word_of(heap, id));
    XMC_ROLLED
    while (xmc_word_class(w) == cls && (w & XMC_WORD_PARKED)) { /* again only if others changed the word */
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
      if (xmc_word_available(next, cls) && !(next & XMC_WORD_PARKED)) { /* the caller has the duty */
        xmc_put(heap, cls, xmc_fifo_slot(heap, me, cls), id);
        xmc_add_acq_rel64(&heap->flux, XMC_FLUX_MOVED);
      }
      return xmc_claim_make(id, take);
    }
  }
  return 0;
}

/* Claims up to `want` blocks of a parked Superblock (places of a slab) of a class in [cls, end), or returns 0. A choosy search looks at
 * one page, a search for used memory at XMC_USED_LOOKS pages, because if many search at the same time, most bits that a search finds
 * lead to blocks which another search just took. The bit of a page where nothing stays parked is cleared, and then the page is looked
 * at again. (To clear the bit before the first look would be faster, but hides a page full of free blocks: bench/experiments.md.) */
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

/* Clears the busy bit of a FIFO that looked empty. Then looks at its seat and ring, and sets the bit again if either holds an id,
 * because a work-item may have put it there, and set the bit, before the bit was cleared. */
XMC_FN void xmc_fifo_mark_idle(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_fifo *fifo = xmc_fifo_at(heap, cls, slot);
  xmc_bitmap_clear(heap, XMC_BUSY, cls * xmc_heap_slots(heap) + slot);
  if (xmc_active_id(xmc_load_relaxed64(&fifo->active)) != XMC_NONE || !xmc_fifo_is_empty(fifo))
    xmc_fifo_mark_busy(heap, cls, slot);
}

/* Moves a FIFO on to the next Superblock of its ring; its active one was exhausted by the word w. Returns 1 if the caller must look at
 * the seat again. Returns 0 if the ring is empty; then the seat is empty, too. */
XMC_COLD_FN int xmc_fifo_advance(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_seat *seat, xmc_u64 w) {
  XMC_AFRESH64(heap);
  xmc_u32 id = xmc_active_id(seat->active), next;
  xmc_u64 old;
  if (id != XMC_NONE && !xmc_superblock_unlist(xmc_word_of(heap, id), cls, &w))
    return 1; /* it has free blocks again */
  next = xmc_fifo_dequeue(xmc_fifo_number(heap, seat->fifo));
  if (next == XMC_NONE && id == XMC_NONE)
    return 0;
  old = xmc_cas_hint64(&xmc_fifo_number(heap, seat->fifo)->active, seat->active,
                       xmc_active_next(seat->active, next));
  if (next == XMC_NONE)
    return old != seat->active; /* another work-item moved it on */
  xmc_fifo_moved(heap, cls, seat, next, old, xmc_scarce_look(heap));
  return 1;
}

/* Claims up to `want` blocks, or places of slabs, from the FIFO of any slot, or returns 0 if the FIFO has no free block and is empty now.
 * It does what xmc_fifo_claim does, but keeps fewer values in registers. */
XMC_FN xmc_claim xmc_fifo_take(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot, xmc_u32 want) {
  XMC_AFRESH64(heap);
  xmc_seat seat;
  xmc_u64 w;
  xmc_u32 id, take;
  xmc_seat_none(&seat);
  seat.fifo = xmc_fifos_first(xmc_heap_fifos(heap, cls)) + slot;
  XMC_ROLLED
  do { /* again only for a next Superblock, or if another work-item moved the FIFO on */
    seat.active = xmc_load_relaxed64(&xmc_fifo_number(heap, seat.fifo)->active);
    id = xmc_active_id(seat.active);
    w = 0;
    if (id != XMC_NONE) {
      w = xmc_load_relaxed64(xmc_word_of(heap, id));
      take = xmc_superblock_claim_called(xmc_word_of(heap, id), cls, want, &w, 1); /* for places */
      if (take)
        return xmc_claim_make(id, take);
      XMC_AFRESH(cls);
      XMC_AFRESH(seat.fifo);
    }
  } while (xmc_fifo_advance(heap, cls, &seat, w));
  return 0;
}

/* Claims up to `want` blocks from any FIFO of the classes [cls, end) whose busy bit is set, or returns 0. It begins with the caller's
 * slot of class cls, goes on upwards, and then begins once more with the first slot. A FIFO without a free block is empty afterwards. */
XMC_FN xmc_claim xmc_steal(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 end, xmc_u32 want) {
  XMC_AFRESH64(heap);
  xmc_u32 range = cls | end << 8, item; /* bit 16: the second pass, from the first slot on */
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
