/* SPDX-License-Identifier: MIT */
/* Finds the slab for a Superblock of a small class if the slab that the slot used last has no place: another one out of the FIFO of
 * slabs; on GPUs also the slot's own (own.cl) or, if several slots made a slab at the same time, the one that took the seat. */
#ifndef XMC_SLAB_CL
#define XMC_SLAB_CL
#include "seat.cl"

/* Returns a hint at the page where the next slab that is parked at once may lie, derived from the last one, `slab` with the word w: at
 * the same page if that was retired, else onward from it. 0: there was no last one. */
XMC_FN xmc_u32 xmc_slab_near(xmc_u32 slab, xmc_u64 w) {
  if (slab == XMC_NONE)
    return 0;
  return (w != XMC_WORD_RETIRED ? XMC_HINT_ONWARD : XMC_HINT_ALONE) | XMC_HINT(xmc_slab_page(slab), 0);
}

/* Takes a slab that came back out of the FIFO (its seat, else its ring) and claims a place of it. With places left the slab is parked,
 * else it is unlisted, by the same CAS. cls: the slab's class. Returns 0 if there is none, and also if another work-item took it first. */
XMC_FN xmc_claim xmc_slab_adopt(XMC_GLOBAL xmcHeap *heap, xmc_u32 words, xmc_u32 cls, xmc_u32 number) {
  XMC_GLOBAL xmc_fifo *fifo = xmc_fifo_number(heap, number);
  XMC_GLOBAL xmc_u64 *word;
  xmc_u64 w = xmc_load_relaxed64(&fifo->active), next, old;
  xmc_u32 id = xmc_active_id(w), take = 0;
  if (id == XMC_NONE)
    id = xmc_fifo_dequeue(fifo);
  else if (xmc_cas_hint64(&fifo->active, w, xmc_active_next(w, XMC_NONE)) != w)
    return 0;
  if (id == XMC_NONE)
    return 0;
  word = xmc_word_at(heap, words, id);
  w = xmc_load_relaxed64(word);
  XMC_ROLLED
  while (xmc_word_class(w) == cls && (w & XMC_WORD_LISTED)) { /* again only if another work-item changed it */
    take = xmc_lowest_bits(xmc_word_available(w, cls), 1u);
    next = w & ~(xmc_u64)take;
    next = xmc_word_available(next, cls) ? next | XMC_WORD_PARKED : next & ~XMC_WORD_WHERE;
    old = xmc_cas_acquire64(word, w, next);
    if (old == w) {
      if (next & XMC_WORD_PARKED)
        xmc_bitmap_ensure(heap, XMC_PARKED, cls * xmc_heap_spans(heap) * XMC_SPAN_PAGES + xmc_slab_page(id));
      break;
    }
    w = old;
    take = 0;
  }
  if (xmc_scarce_near(heap)) /* it was in nobody's sight for a moment */
    xmc_add_acq_rel64(&heap->flux, XMC_FLUX_MOVED);
  return xmc_claim_make(id, take);
}

/* Claims a place of another slab than the last one, `slab` with the word w, out of the FIFO of slabs. Returns 0 if there is none; then
 * *seat says where a new slab goes. `own` as for xmc_own_entry, or 0. */
XMC_FN xmc_claim xmc_slab_next(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls, xmc_u32 own,
                               xmc_u32 slab, xmc_u64 w, xmc_seat *seat) {
  xmc_claim claim = 0;
  xmc_view view;
  xmc_view_read(heap, xmc_slab_class(cls), &view);
  xmc_seat_none(seat);
  seat->fifo = xmc_view_fifo(view, me);
  if (own || seat->fifo == XMC_NONE) {
    seat->hint = xmc_slab_near(slab, w);
    if (own && w != XMC_WORD_RETIRED && seat->fifo != XMC_NONE)
      claim = xmc_slab_adopt(heap, words, xmc_slab_class(cls), seat->fifo);
    seat->fifo = XMC_SEAT_PARKS;
  } else {
    xmc_seat_read(heap, seat);
    xmc_seat_hide(seat);
    claim = xmc_slab_claim(heap, words, xmc_slab_class(cls), seat);
    XMC_AFRESH(seat->fifo);
    if (claim == XMC_CLAIM_AGAIN) /* the slab in the seat is not exhausted */
      seat->fifo = XMC_NONE;
  }
  return xmc_claim_mask(claim) ? claim : 0;
}

/* In heaps with own places several slots share a FIFO of slabs. If it has no place left all of them make a slab, of which each needs
 * one place; so the first requests of a kernel would take most of a heap. Therefore a work-item whose new slab `id` did not get the
 * seat takes a place of the slab that has it; if that one has none left, `id` takes the seat, and others take places of it. Returns a
 * claim of a place of the other slab; or a claim of `id`, whose mask means nothing, if that took the seat; or 0 if there is no FIFO,
 * its seat is empty or has `id` already, or other work-items were faster each time. A try fails if another work-item took a place,
 * cleared the listed bit or took the seat before it; so if n slots share a FIFO, about 2 n tries serve all. (xmc_place_claim is in all
 * programs and so has no loop; with xmc_superblock_unlist a malloc would take 42 registers instead of 40.) */
#define XMC_OTHER_TRIES 32u
XMC_FN xmc_claim xmc_slab_other(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls,
                                xmc_u32 id) {
  xmc_u32 number = xmc_fifo_of(heap, me, cls), other = number, take = 0, tries = XMC_OTHER_TRIES;
  XMC_GLOBAL xmc_fifo *fifo = xmc_fifo_number(heap, number);
  XMC_GLOBAL xmc_u64 *word;
  xmc_u64 w, active;
  XMC_ROLLED
  while (XMC_NO_YIELD(!take && other != XMC_NONE && other != id) && tries--) {
    active = xmc_load_relaxed64(&fifo->active);
    other = xmc_active_id(active);
    if (other == XMC_NONE || other == id)
      continue;
    word = xmc_word_at(heap, words, other);
    w = xmc_load_relaxed64(word);
    take = xmc_place_try(word, cls, &w);
    if (!take &&
        (xmc_word_class(w) != cls ||
         (!xmc_word_available(w, cls) && xmc_cas_relaxed64(word, w, w & ~XMC_WORD_WHERE) == w)) &&
        xmc_cas_hint64(&fifo->active, active, xmc_active_next(active, id)) == active) {
      other = id;
      take = 1u;
    }
  }
  return xmc_claim_make(other, take);
}

/* Undoes the caller's new slab `id`, which has the word w and is in no FIFO, and of which the caller has the place `take`. Returns 1 if
 * its page went back. Another work-item may have taken a place of it nevertheless, by the id of an earlier slab of the same page. Then
 * only the caller's place goes back, and the function returns 0: the caller has the slab's listed duty. */
XMC_FN int xmc_slab_undo(XMC_GLOBAL xmcHeap *heap, xmc_u32 words, xmc_u32 cls, xmc_u32 id, xmc_u64 w,
                         xmc_u32 take) {
  XMC_GLOBAL xmc_u64 *word = xmc_word_at(heap, words, id);
  if (xmc_cas_acq_rel64(word, w, XMC_WORD_RETIRED) == w) {
    xmc_run_gave(heap, xmc_slab_page(id), 1u);
    if (xmc_scarce_near(heap)) /* it was in nobody's sight for a moment */
      xmc_add_acq_rel64(&heap->flux, XMC_FLUX_MOVED);
    return 1;
  }
  xmc_say_whole(heap, words, cls, id, xmc_superblock_release(word, take) | XMC_WORD_LISTED | take);
  return 0;
}
#endif
