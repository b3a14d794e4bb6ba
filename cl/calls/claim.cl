/* SPDX-License-Identifier: MIT */
/* Claims Basicblocks by the caller's slot: of the active Superblock or the next one in the ring (xmc_fifo_claim), or of a new one
 * (xmc_carve). */
#ifndef XMC_CLAIM_CL
#define XMC_CLAIM_CL
#include "../pressure/steal.cl"
#include "../superblocks/carve.cl"

/* Carves a new Superblock out of a slab's place or free pages, and claims up to `want` of its blocks. Returns 0 if it found no room or
 * leaves the request to the last resort. `seat`: the caller's FIFO, as read.
 *
 * On CPU devices a parked Superblock of the class is taken first, because programs whose sizes drift would otherwise fill the heap with
 * half-empty Superblocks. On GPUs that costs more than it saves until XMC_USED_FIRST is set (room.cl). While it is set this function takes
 * no new pages; the first turn of the last resort does, after it looked for used memory. */
XMC_COLD_FN xmc_claim xmc_carve(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls,
                                xmc_u32 want, xmc_seat seat) {
  XMC_AFRESH64(heap);
  int small = xmc_class_is_small(cls);
  xmc_u32 slab = XMC_NONE, scarce, own, order = 0, lanes;
  xmc_u64 w = 0, map;
  xmc_seat from;
  xmc_claim claim;
  if (small)
    seat.hint = xmc_seat_hint(heap, seat.fifo, seat.hint);
  if (small && seat.hint) { /* the slab used last most often has places */
    slab = seat.hint - 1u;
    w = xmc_load_relaxed64(xmc_word_at(heap, words, slab));
  }
  map = xmc_fixed_map(heap);
  lanes = xmc_fixed_lanes(heap);
  scarce = xmc_room_near(heap);
  if (scarce & XMC_SCARCE_NOW) /* the last resort looks where room is likelier */
    return 0;
  claim =
      XMC_SIMT ? 0 : xmc_unpark(heap, me, cls, cls + 1u, want, XMC_CHOOSY_TURNS); /* it looks at all pages */
  if (claim)
    return claim;
  if (slab != XMC_NONE)
    claim = xmc_claim_make(slab, xmc_place_claim(xmc_word_at(heap, words, slab), xmc_slab_class(cls), &w));
  if (!claim) {
    XMC_AFRESH(cls);
    XMC_AFRESH(seat.fifo);
    if (!small && (scarce & XMC_USED_FIRST)) /* the last resort first looks for used memory */
      return 0;
    if (scarce & XMC_SCARCE_ONCE) { /* a million that find nothing must not all seem to hold room */
      if (!small && xmc_index_find(heap, 0, 0) == XMC_NONE)
        return 0;
      xmc_flux_begin(heap);
    }
    from = seat;
    own = xmc_seat_own(&seat);
    if (small)
      claim = xmc_slab_next(heap, me, words, cls, own, slab, w, &from);
    else
      order = xmc_carve_order(heap, cls, want, seat.hint, (xmc_u32)(map >> 32), scarce & XMC_SCARCE_ONCE);
    XMC_AFRESH(cls);
    XMC_AFRESH(want);
    if (!claim && !(scarce & XMC_USED_FIRST))
      claim = xmc_pages_carve(heap, me, xmc_class_is_small(cls) ? xmc_slab_class(cls) : cls,
                              xmc_class_is_small(cls) ? 1u : want, order, map, lanes, from);
    xmc_room_sample(heap, xmc_claim_id(claim));
    XMC_AFRESH(cls);
    XMC_AFRESH(seat.fifo);
    if (xmc_class_is_small(cls) && claim && seat.fifo != XMC_NONE)
      xmc_store_relaxed32(xmc_hint_place(heap, me, cls, own, seat.fifo), xmc_claim_id(claim) + 1u);
  } else {
    scarce = 0; /* flux_begin was not called: searches saw all room */
  }
  if (xmc_class_is_small(cls) && claim)
    claim = xmc_slab_start(heap, me, xmc_words(heap), cls, want, claim, seat);
  if (scarce & XMC_SCARCE_ONCE)
    xmc_flux_end(heap, claim != 0);
  return claim;
}

/* In programs with own places (own.cl) several slots may share a FIFO. If its active Superblock is exhausted, they would all carve at the
 * same time: one of the Superblocks made gets the seat, and most blocks of the others stay unused, until room is so scarce that searches
 * find them. So the work-item that sets the FIFO's field `carving` carves. The others look at the seat, at most XMC_CARVE_LOOKS times, and
 * begin again once it has changed. Who set the field looks once as well, because the seat may have changed since it was read. Who looks in
 * vain carves, too, so that nobody depends on a work-item that stopped.
 *
 * These requests carve at once: those for XMC_CARVE_FEW blocks or more, of which few share a Superblock, so that most would look in vain or
 * carve next; those for slabs of many places, because there who did not get the seat gives the slab back (xmc_slab_other); and all while
 * requests look for used memory first. */
#define XMC_CARVE_FEW 4u
#define XMC_CARVE_LOOKS 32u
XMC_FN int xmc_carves_in_turn(xmc_u32 want, xmc_u32 fifo) {
  return XMC_OWN_PLACES && fifo < XMC_SEAT_PARKS && want < XMC_CARVE_FEW;
}
/* Returns 1 if the seat changed, 0 if the caller is to carve. */
XMC_FN int xmc_seat_changes(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 want, xmc_u32 fifo,
                            xmc_u64 active) {
  xmc_u32 looks = XMC_CARVE_LOOKS;
  if (!xmc_carves_in_turn(want, fifo) ||
      (xmc_class_is_small(cls) && !xmc_slab_is_parked(xmc_slab_class(cls))) ||
      (xmc_room_near(heap) & (xmc_u32)(XMC_USED_FIRST | XMC_SCARCE_NOW)))
    return 0;
  if (!xmc_cas_relaxed32(&xmc_fifo_number(heap, fifo)->carving, 0, 1u))
    looks = 1u;
  while (looks--)
    if (xmc_load_relaxed64(&xmc_fifo_number(heap, fifo)->active) != active)
      return 1;
  return 0;
}

/* Claims 1 to `want` Basicblocks of one Superblock, out of the caller's FIFO or new. Returns 0 if the request must go to the last
 * resort. w and XMC_CLAIM_AGAIN as for xmc_fifo_claim. */
XMC_FN xmc_claim xmc_blocks_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls,
                                  xmc_u32 want, xmc_u64 w, xmc_seat seat) {
  xmc_claim claim = xmc_fifo_claim(heap, words, cls, want, w, &seat);
  if (!claim) {
    XMC_AFRESH(cls);
    XMC_AFRESH(seat.fifo);
    claim = xmc_seat_changes(heap, cls, want, seat.fifo, seat.active)
                ? XMC_CLAIM_AGAIN
                : xmc_carve(heap, me, words, cls, want, seat);
    if (xmc_carves_in_turn(want, seat.fifo)) /* all do: to remember who set it would cost registers */
      xmc_store_relaxed32(&xmc_fifo_number(heap, seat.fifo)->carving, 0);
  }
  return claim;
}

/* The same for a caller that has not read the FIFO yet. It never returns XMC_CLAIM_AGAIN. */
XMC_FN xmc_claim xmc_blocks_claim_first(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 want) {
  xmc_view view;
  xmc_seat seat;
  xmc_claim claim;
  xmc_u64 w;
  xmc_view_read(heap, cls, &view);
  xmc_seat_none(&seat);
  seat.fifo = xmc_view_fifo(view, me);
  if (seat.fifo == XMC_NONE)
    return xmc_carve(heap, me, view.words, cls, want, seat);
  xmc_seat_read_for(heap, view.own, me, cls, want, &seat);
  w = xmc_word_guess(cls, xmc_active_id(seat.active)) | XMC_WORD_SEATED;
  XMC_ROLLED
  for (;;) { /* again only if another work-item moved the FIFO on */
    claim = xmc_blocks_claim(heap, me, view.words, cls, want, w, seat);
    if (claim != XMC_CLAIM_AGAIN)
      return claim;
    xmc_seat_read_for(heap, view.own, me, cls, want, &seat);
    w = xmc_seat_word(heap, view.words, seat.active);
  }
}
#endif
