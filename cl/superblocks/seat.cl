/* SPDX-License-Identifier: MIT */
/* Claims out of the FIFO of a slot: from the Superblock in its seat, `active`, and, if that is exhausted, from the next one out of its
 * ring. If the ring is empty, a new Superblock may take the seat (carve.cl). What was read of the FIFO is a guess: each step is a CAS
 * that compares with what was read. */
#ifndef XMC_SEAT_CL
#define XMC_SEAT_CL
#include "supply.cl"

/* A claim: the Superblock's id and the mask of the claimed Basicblocks. 0: nothing was claimed. */
typedef xmc_u64 xmc_claim;
#define XMC_CLAIM_AGAIN ((xmc_u64)XMC_NONE << 32) /* nothing was claimed; try again at once */
XMC_FN xmc_claim xmc_claim_make(xmc_u32 id, xmc_u32 mask) { return mask ? (xmc_u64)id << 32 | mask : 0; }
XMC_FN xmc_u32 xmc_claim_id(xmc_claim claim) { return (xmc_u32)(claim >> 32); }
XMC_FN xmc_u32 xmc_claim_mask(xmc_claim claim) { return (xmc_u32)claim; }

#define XMC_SEAT_PARKS (XMC_NONE - 1u)

/* The FIFO of a slot as a claim read it, all at once; any of it may have changed since. A new Superblock may take the seat from
 * `active` as it was read, which is exhausted or XMC_NONE. */
typedef struct xmc_seat {
  xmc_u32 fifo; /* its number; XMC_NONE: unbuffered, or unknown; XMC_SEAT_PARKS: for what is parked at once */
  xmc_u32 head;
  xmc_u32 used; /* messages in the ring; if `hint` is the slot's own, plus xmc_own_slots, a multiple of 64 */
  xmc_u32 hint; /* the FIFO's, or the slot's own (own.cl) */
  xmc_u64 active;
} xmc_seat;
XMC_FN void xmc_seat_read_ring(XMC_GLOBAL xmcHeap *heap, xmc_seat *seat) {
  XMC_GLOBAL xmc_fifo *fifo = xmc_fifo_number(heap, seat->fifo);
  xmc_u64 tail;
  xmc_u32 spare;
  if (XMC_SIMT) {
    xmc_load_row_fast(&fifo->tail, &tail, &seat->head, &spare);
  } else { /* here a row is three loads, and one is not needed */
    tail = xmc_load_relaxed64(&fifo->tail);
    seat->head = xmc_load_relaxed32(&fifo->head);
  }
  seat->used = (xmc_message_number(tail) - seat->head + 1u) & 63u; /* < 64 whatever the two loads returned */
}
XMC_FN void xmc_seat_read(XMC_GLOBAL xmcHeap *heap, xmc_seat *seat) {
  XMC_GLOBAL xmc_fifo *fifo = xmc_fifo_number(heap, seat->fifo);
  xmc_u32 spare;
  if (XMC_SIMT) {
    xmc_seat_read_ring(heap, seat);
    xmc_load_row_fast(&fifo->active, &seat->active, &seat->hint, &spare);
  } else { /* each load costs time, so the rest is read only where it is needed */
    seat->head = seat->used = seat->hint = 0;
    seat->active = xmc_load_relaxed64(&fifo->active);
  }
}
/* The same for a claim of `want` blocks of the class; own: xmc_own_slots. The hint is the slot's own one, if it has one; but claims of
 * less than 32 blocks of a small class use the FIFO's hint, so that they take places of a slab which many slots use. */
XMC_FN void xmc_seat_read_for(XMC_GLOBAL xmcHeap *heap, xmc_u32 own, xmc_u32 me, xmc_u32 cls, xmc_u32 want,
                              xmc_seat *seat) {
  xmc_u32 hint = 0;
  own = want >= 32u || !xmc_class_is_small(cls) ? own : 0;
  if (own) /* loaded first, so that it need not wait for the FIFO's hint */
    hint = xmc_load_relaxed32_fast(xmc_own_entry(heap, me, cls, own));
  xmc_seat_read(heap, seat);
  seat->hint = own ? hint : seat->hint;
  seat->used |= own;
}
/* Hides from ptxas where these values come from, off the fast path (platform.h, XMC_NO_YIELD). */
XMC_FN void xmc_seat_hide(xmc_seat *seat) {
  XMC_HIDE_BOTH(seat->head, seat->used);
  seat->hint = XMC_HIDDEN(seat->hint);
  seat->active = XMC_HIDDEN(seat->active);
}
XMC_FN xmc_u32 xmc_seat_used(const xmc_seat *seat) { return seat->used & 63u; }
XMC_FN xmc_u32 xmc_seat_own(const xmc_seat *seat) { return XMC_OWN_PLACES ? seat->used & ~63u : 0; }
/* Returns the hint, which xmc_seat_read does not read on CPU devices. */
XMC_FN xmc_u32 xmc_seat_hint(XMC_GLOBAL xmcHeap *heap, xmc_u32 fifo, xmc_u32 hint) {
  return XMC_SIMT || fifo >= XMC_SEAT_PARKS ? hint : xmc_load_relaxed32(&xmc_fifo_number(heap, fifo)->hint);
}
XMC_FN void xmc_seat_none(xmc_seat *seat) {
  seat->fifo = XMC_NONE;
  seat->head = seat->used = seat->hint = 0;
  seat->active = XMC_NONE;
}

/* Finds the next Superblock for a FIFO whose active one is exhausted by its word *w, or which has none. It clears the listed bit of the
 * active one and dequeues. Returns the id of the next one, for which the caller has the listed duty; XMC_NONE if the ring is empty; or
 * XMC_FIFO_BACK if the active one has free blocks again (or its word changed twice), and *w is its word then. */
#define XMC_FIFO_BACK (XMC_NONE - 1u)
XMC_FN xmc_u32 xmc_fifo_next(XMC_GLOBAL xmcHeap *heap, xmc_u32 words, xmc_u32 cls, xmc_seat *seat,
                             xmc_u64 *w) {
  XMC_GLOBAL xmc_fifo *fifo = xmc_fifo_number(heap, seat->fifo);
  xmc_u32 id = xmc_active_id(seat->active), next;
  xmc_u64 message = 0;
  if (!XMC_SIMT)
    xmc_seat_read_ring(heap, seat);
  if (xmc_seat_used(seat))
    message = xmc_load_relaxed64(xmc_seat_used(seat) == 1u ? &fifo->tail
                                                           : &fifo->message[seat->head % XMC_FIFO_SIZE]);
  if (id != XMC_NONE && !xmc_superblock_unlist(xmc_word_at(heap, words, id), cls, w))
    return XMC_FIFO_BACK;
  if (!xmc_seat_used(seat))
    return XMC_NONE;
  XMC_AFRESH(seat->fifo);
  fifo = xmc_fifo_number(heap, seat->fifo);
  next = xmc_fifo_dequeue_seen(fifo, seat->head, message);
  return next != XMC_NONE ? next : xmc_fifo_dequeue(fifo);
}

/* Called after the CAS that was to give `next` the seat and found `old` there. If it failed, ends the listed duty for `next` by xmc_put;
 * else, if the seat was empty, marks the FIFO busy. If room was ever scarce it moves `flux`, because for a moment no search could find
 * `next`. */
XMC_HOT_FN void xmc_fifo_moved(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_seat *seat, xmc_u32 next,
                               xmc_u64 old, xmc_u32 scarce) {
  XMC_AFRESH64(heap);
  if (old != seat->active) {
    xmc_put(heap, cls, seat->fifo - xmc_fifos_first(xmc_heap_fifos(heap, cls)), next);
    scarce = xmc_scarce_look(heap);
  } else if (xmc_active_id(old) == XMC_NONE) {
    xmc_fifo_mark_busy(heap, cls, seat->fifo - xmc_fifos_first(xmc_heap_fifos(heap, cls)));
  }
  if (scarce) /* it was in nobody's sight for a moment */
    xmc_add_acq_rel64(&heap->flux, XMC_FLUX_MOVED);
}

/* Returns the word that Superblock `id` has if it is wholly free and in a ring; the word of an active one is seated as well. It is a
 * guess, right whenever all blocks came back. To remember the last word would be right more often, but then each claim would write to
 * the FIFO's cache line. The result means nothing if `id` is XMC_NONE. */
XMC_FN xmc_u64 xmc_word_guess(xmc_u32 cls, xmc_u32 id) {
  xmc_u32 count = 32u, mask = ~0u;
  if (!xmc_class_is_small(cls)) {
    count = xmc_class_count(cls);
    if (XMC_CARVE_TO_FIT) /* with half the pages it has half the blocks */
      count >>= (xmc_class_order(cls) - xmc_run_order(id)) & 7u;
    mask = xmc_count_mask(count);
  }
  return xmc_word_make(cls, count, mask) | XMC_WORD_LISTED;
}

/* Loads the word of the active Superblock, 0 if there is none: for callers that look again. */
XMC_FN xmc_u64 xmc_seat_word(XMC_GLOBAL xmcHeap *heap, xmc_u32 words, xmc_u64 active) {
  return xmc_active_id(active) != XMC_NONE
             ? xmc_load_relaxed64(xmc_word_at(heap, words, xmc_active_id(active)))
             : 0;
}

/* Claims up to `want` blocks from the FIFO of one slot: of its active Superblock, or of the next one in its ring, which takes the seat.
 * w: the word of the active one as seen, or a guess. Returns 0 if the ring is empty, or if the next one was retired in it; then a new
 * Superblock may take the seat *seat. Returns XMC_CLAIM_AGAIN if another work-item was faster: the caller must read the FIFO again.
 * (There is no loop here, for the reason given at xmc_superblock_claim.) */
XMC_FN xmc_claim xmc_fifo_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 words, xmc_u32 cls, xmc_u32 want, xmc_u64 w,
                                xmc_seat *seat) {
  xmc_u32 id = xmc_active_id(seat->active), next, take = 0, scarce;
  xmc_u64 old;
  if (XMC_SIMT && id == XMC_NONE && !xmc_seat_used(seat)) /* the steps below would find the same */
    return 0;
  if (id != XMC_NONE)
    take = xmc_superblock_claim_called(xmc_word_at(heap, words, id), cls, want, &w, 0);
  if (take)
    return xmc_claim_make(id, take);
  XMC_AFRESH(cls);
  XMC_AFRESH(seat->fifo);
  XMC_AFRESH(words);
  next = xmc_fifo_next(heap, words, cls, seat, &w);
  if (next == XMC_NONE)
    return 0;
  if (next == XMC_FIFO_BACK) {
    take = xmc_superblock_claim_called(xmc_word_at(heap, words, id), cls, want, &w, 0);
    return take ? xmc_claim_make(id, take) : XMC_CLAIM_AGAIN;
  }
  /* The next one takes the seat, and a claim from it follows before the result of that CAS is looked at. `scarce` may be read before that
   * CAS was done, too: then a search that sets it at that moment counts one turn in vain. */
  old = xmc_cas_hint64(&xmc_fifo_number(heap, seat->fifo)->active, seat->active,
                       xmc_active_next(seat->active, next));
  scarce = xmc_scarce_look(heap);
  w = xmc_word_guess(cls, next);
  take = xmc_superblock_claim_called(xmc_word_at(heap, words, next), cls, want, &w, 0);
  if (!take && xmc_word_available(w, cls))
    take = xmc_superblock_claim_called(xmc_word_at(heap, words, next), cls, want, &w, 0);
  xmc_fifo_moved(heap, cls, seat, next, old, scarce);
  if (!take && old == seat->active && xmc_word_class(w) != cls) { /* it was retired in the ring: */
    seat->active = xmc_active_next(old, next);                    /* a new one takes its seat */
    return 0;
  }
  return take ? xmc_claim_make(next, take) : XMC_CLAIM_AGAIN;
}

/* The same for one place of a slab, with fewer values in registers; `cls` is the slab's class. A slab that was dequeued and does not
 * get the seat is parked, not put back into the ring; the place is taken from it all the same. */
XMC_FN xmc_claim xmc_slab_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 words, xmc_u32 cls, xmc_seat *seat) {
  xmc_u32 id = xmc_active_id(seat->active), take = 0;
  xmc_u64 w = 0, old;
  if (id != XMC_NONE) {
    w = xmc_load_relaxed64(xmc_word_at(heap, words, id));
    take = xmc_superblock_claim_called(xmc_word_at(heap, words, id), cls, 1, &w, 1);
  }
  if (take)
    return xmc_claim_make(id, take);
  XMC_AFRESH(cls);
  id = xmc_fifo_next(heap, words, cls, seat, &w);
  if (id == XMC_NONE)
    return 0;
  if (id == XMC_FIFO_BACK) {
    id = xmc_active_id(seat->active);
  } else {
    old = xmc_cas_hint64(&xmc_fifo_number(heap, seat->fifo)->active, seat->active,
                         xmc_active_next(seat->active, id));
    if (old != seat->active)
      xmc_park(heap, cls, id);
    else if (xmc_active_id(old) == XMC_NONE)
      xmc_fifo_mark_busy(heap, cls, seat->fifo - xmc_fifos_first(xmc_heap_fifos(heap, cls)));
    seat->active = old == seat->active ? xmc_active_next(old, id) : old;
    if (xmc_scarce_look(heap)) /* it was in nobody's sight for a moment */
      xmc_add_acq_rel64(&heap->flux, XMC_FLUX_MOVED);
  }
  w = xmc_load_relaxed64(xmc_word_at(heap, words, id));
  take = xmc_superblock_claim_called(xmc_word_at(heap, words, id), cls, 1, &w, 1);
  if (take)
    return xmc_claim_make(id, take);
  /* Its places were taken by way of a hint (xmc_carve). If it is exhausted, a new slab may take the seat from it. */
  return id == xmc_active_id(seat->active) && xmc_superblock_unlist(xmc_word_at(heap, words, id), cls, &w)
             ? 0
             : XMC_CLAIM_AGAIN;
}
#endif
