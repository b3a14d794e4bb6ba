/* SPDX-License-Identifier: MIT */
/* A whole Superblock that is given back with its release: one sub-group freed all its blocks at the same time, and it was not listed.
 *
 *   release   CAS: used, no block free  -->  RETIRED    (free_lanes.cl; behind a fence for what the users wrote)
 *                |                                        and at the same time a look at the caller's FIFO of the class
 *                |
 *                +-- the seat is empty: the Superblock takes it, wholly free
 *                |
 *                +-- small class: its place goes back to the slab
 *                |         slab of more than four places:  fetch-or; if the slab was not listed, the caller has its listed duty
 *                |         of two, three, four:            fetch-or, which parks the slab; with the last place: CAS to RETIRED
 *                |                                                                      |
 *                +-- others: its pages go back to their span, by one fetch-or  <--------+
 *
 * The work-item that retired a word owns its memory until the fetch-or that gives it back. So each step must be done before the next one:
 * all are read-modify-writes whose values are used (platform.h: hints), which orders them, and none needs a fence of its own.
 */
#ifndef XMC_GIVE_BACK_CL
#define XMC_GIVE_BACK_CL
#include "allocate.cl"
#if XMC_SIMT

/* Gives back a place, `bit` of the slab's word, of a slab of four and fewer places; `fifo` and `own` are those of the Superblock's
 * class. Most often the slab is parked, and this is its first place to come back, or its last: then the CAS retires the slab, and its
 * page goes back. */
XMC_FN void xmc_parked_place_gone(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls,
                                  xmc_u32 id, xmc_u32 bit, xmc_u32 fifo, xmc_u32 own) {
  xmc_u32 places = xmc_parked_places(cls);
  xmc_u64 set = XMC_WORD_LISTED | XMC_WORD_PARKED | bit, now, was, w;
  now = xmc_word_make(cls, places, xmc_count_mask(places) & ~bit) | XMC_WORD_LISTED | XMC_WORD_PARKED;
  w = xmc_retire_or_hint64(xmc_word_at(heap, words, id), now, XMC_WORD_RETIRED, set, &was);
  if (was != now || !(w & XMC_WORD_LISTED)) { /* some places are not back, or it was not parked */
    now = w | set;
    was = 0;
    if (xmc_word_is_whole(now) && !(now & XMC_WORD_WATCHED))
      was = xmc_cas_hint64(xmc_word_at(heap, words, id), now, XMC_WORD_RETIRED);
    if (was != now) {
      if (!xmc_word_free(w) && fifo != XMC_NONE) /* here the slot takes its next place */
        xmc_store_relaxed32(xmc_hint_place(heap, me, cls - XMC_CLASSES, own, fifo), id + 1u);
      xmc_slab_got(heap, me, words, cls, id, set, w);
      return;
    }
  }
  xmc_run_gave(heap, xmc_slab_page(id), 1u);
}

/* Gives back the memory of a retired Superblock. `fifo`, `hint` and `own` are those of the caller's slot for its class. Returns
 * XMC_NONE or, with XMC_NO_YIELDS, the slab that the caller must settle, with its word in *now; without it the slab is settled here. */
XMC_FN xmc_u32 xmc_superblock_gone(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls,
                                   xmc_u32 id, xmc_u32 fifo, xmc_u32 hint, xmc_u32 own, xmc_u64 *now) {
  xmc_u32 bit = 1u << xmc_id_row(id);
  xmc_u64 w;
  if (!xmc_class_is_small(cls)) {
    xmc_run_gave(heap, xmc_id_page(id), 1u << xmc_run_order(id));
    xmc_hint_push(heap, me, cls, xmc_id_page(id), xmc_run_order(id), fifo, hint, own);
    return XMC_NONE;
  }
  cls = xmc_slab_class(cls);
  id = xmc_slab_id(xmc_id_page(id));
  if (xmc_slab_is_parked(cls)) {
    xmc_parked_place_gone(heap, me, words, cls, id, bit, fifo, own);
    return XMC_NONE;
  }
  w = xmc_or_hint64_fast(xmc_word_at(heap, words, id), XMC_WORD_LISTED | bit);
  *now = w | XMC_WORD_LISTED | bit;
  id = xmc_slab_got(heap, me, words, cls, id, XMC_WORD_LISTED | bit, w);
  return xmc_settle_due(heap, me, words, cls, id, *now);
}

/* Does what follows a release that retired a Superblock, because all its blocks were released together and it was not listed. used: its
 * word before; fifo, hint, own, active: those of the caller's slot for its class. The Superblock takes the seat if that is empty, else
 * it is given back. It is always given back if it has four pages or more; if, in a heap of less than XMC_MANY_PAGES, it is not of a
 * slab (the seats of all FIFOs together could hold much of the heap); or if it is not of a slab and room is short; or if the slot has
 * an own place, by which it finds the memory again. Returns XMC_NONE or, with XMC_NO_YIELDS, what the caller must settle, of the class
 * *which_cls with the word *now. */
XMC_FN xmc_u32 xmc_superblock_released(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words,
                                       xmc_u32 *which_cls, xmc_u32 id, xmc_u64 used, xmc_u32 fifo,
                                       xmc_u32 hint, xmc_u32 own, xmc_u64 active, xmc_u64 *now) {
  XMC_AFRESH64(heap);
  xmc_u32 cls = *which_cls;
  own = XMC_OWN_PLACES ? own : 0;
  if (xmc_active_id(active) != XMC_NONE || xmc_class_is_wide(cls) || own ||
      (!xmc_class_is_small(cls) && ((xmc_heap_present(heap) < XMC_MANY_PAGES) | xmc_room_is_short(heap)))) {
    *which_cls = xmc_slab_class(cls);
    return xmc_superblock_gone(heap, me, words, cls, id, fifo, hint, own, now);
  }
  *now = used | xmc_count_mask(xmc_word_count(used)) | XMC_WORD_LISTED | XMC_WORD_SEATED;
  if (xmc_cas_hint64(xmc_word_at(heap, words, id), XMC_WORD_RETIRED, *now) != XMC_WORD_RETIRED)
    return XMC_NONE; /* only in a damaged arena */
  if (xmc_cas_hint64(&xmc_fifo_number(heap, fifo)->active, active, xmc_active_next(active, id)) != active)
    return xmc_settle_due(heap, me, words, cls, id, *now);
  xmc_bitmap_ensure(heap, XMC_BUSY,
                    cls * xmc_heap_slots(heap) + fifo - xmc_fifos_first(xmc_heap_fifos(heap, cls)));
  return XMC_NONE;
}

/* The same for programs without XMC_NO_YIELDS. In some of them it is a called function (XMC_REST_FN). */
XMC_REST_FN void xmc_superblock_settled(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls,
                                        xmc_u32 id, xmc_u64 used, xmc_u32 fifo, xmc_u32 hint, xmc_u32 own,
                                        xmc_u64 active) {
  xmc_u64 word;
  xmc_superblock_released(heap, me, words, &cls, id, used, fifo, hint, own, active, &word);
}
#endif
#endif
