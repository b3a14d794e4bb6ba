/* A whole Superblock for a whole sub-group: 32 lanes that want the same class get its 32 blocks, the n-th lane the n-th.
 * That is what most requests of most kernels come to, so it has a short way of its own in front of the general one
 * (coalesce.cl). It looks where that would, in the same order,
 *
 *   active Superblock, wholly free      one CAS takes all of it
 *      | exhausted, and the ring is empty: unlisted
 *   the slab used last                  one CAS takes a place               (small classes)
 *      | it went, or has no place
 *   the page where the next one lies    one fetch-and; a new slab, parked   (slots' own, and those of few places)
 *   the run of pages of the hint        one fetch-and                       (other classes)
 *
 * and does nothing else: no second try, no search, no Superblock of fewer blocks, nothing where room is scarce. Where a step does
 * not do at once the general way begins anew, and finds a heap as any other call may have left it. Nobody can be handed
 * these Superblocks while they are started, for they have no free block: their words are stores.
 */
#ifndef XMC_FULL_GROUP_CL
#define XMC_FULL_GROUP_CL
#include "carve.cl"
#if XMC_SIMT

/* Are Superblocks of this class full ones, of 32 blocks? (The last one of a slab may have fewer.) */
XMC_FN int xmc_class_is_full(xmc_u32 cls) { return xmc_class_is_small(cls) || (cls & 3u) == 3u; }

/* Where the Superblock's blocks begin, in 16 bytes from page 0 */
XMC_FN xmc_u32 xmc_full_place(xmc_u32 cls, xmc_u32 id) {
  xmc_u32 place = xmc_id_page(id) << (XMC_PAGE_SHIFT - 4u);
  return xmc_class_is_small(cls) ? place + xmc_id_row(id) * 2u * xmc_class_bytes(cls) : place;
}

/* A place of the slab, which has the word *w as seen, for a Superblock of 32 blocks: its id, or XMC_NONE */
XMC_FN xmc_u32 xmc_full_of_slab(XMC_GLOBAL xmcHeap *heap, xmc_u32 words, xmc_u32 cls, xmc_u32 slab, xmc_u64 w) {
  xmc_u32 left = xmc_word_available(w, xmc_slab_class(cls)), take = left & -left;
  if (!(take & xmc_count_mask(xmc_slab_blocks(cls) >> 5)) ||
      !xmc_place_try(xmc_word_at(heap, words, slab), xmc_slab_class(cls), &w))
    return XMC_NONE;
  return xmc_superblock_id(xmc_slab_page(slab), xmc_lowest32(take));
}

/* A new slab where the last one was, if it went, or else onward: the id of its first Superblock, or XMC_NONE */
XMC_FN xmc_u32 xmc_full_of_page(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls, xmc_u32 hint,
                                xmc_u64 map, XMC_GLOBAL xmc_u32 *keep) {
  xmc_u32 page = xmc_hint_page(hint), pages = (xmc_u32)(map >> 32), places = (xmc_slab_blocks(cls) + 31u) >> 5;
  xmc_u64 seen;
  xmc_seat parks;
  if (page >= pages)
    page %= pages;
  if (!xmc_run_claim_at(heap, (xmc_u32)map, 0, page, &seen))
    return XMC_NONE;
  xmc_pages_enter(heap, (xmc_u32)map, page, 0, cls);
  if (cls == 0)
    xmc_runs_forget(heap, page);
  xmc_store_relaxed32(keep, xmc_slab_id(page) + 1u);
  xmc_seat_none(&parks);
  parks.fifo = XMC_SEAT_PARKS;
  xmc_superblock_start(heap, me, words, xmc_slab_class(cls), xmc_slab_id(page), places, 1u, parks,
                       xmc_scarce_near(heap));
  return xmc_superblock_id(page, 0);
}

/* The run of the hint: the id of its Superblock, or XMC_NONE */
XMC_FN xmc_u32 xmc_full_of_run(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 hint, int own, xmc_u64 map,
                               XMC_GLOBAL xmc_u32 *keep) {
  xmc_u32 order = xmc_class_order(cls), page = xmc_hint_page(hint) >> order << order, pages = (xmc_u32)(map >> 32);
  xmc_u32 next = 0;
  xmc_u64 seen;
  if (page >= pages || (1u << order) > pages - page) {
    if (!(pages >> order))
      return XMC_NONE;
    page = (page >> order) % (pages >> order) << order;
  }
  if (!own && xmc_hint_is_stack(hint))
    next = xmc_beside32(xmc_map_hint(heap, (xmc_u32)map, pages, page));
  if (!xmc_run_claim_at(heap, (xmc_u32)map, order, page, &seen))
    return XMC_NONE;
  xmc_store_relaxed32(keep, next ? next : xmc_hint_onward(heap, page, order));
  xmc_pages_enter(heap, (xmc_u32)map, page, order, cls);
  return xmc_run_id(page, order);
}

/* For the first lane: where 32 blocks of one Superblock begin that are the caller's now, in 16 bytes from page 0; or XMC_NONE. */
XMC_FN xmc_u32 xmc_full_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls, xmc_seat seat) {
  xmc_u32 id = xmc_active_id(seat.active), old = id, scarce;
  xmc_u64 used = xmc_word_make(cls, 32u, 0), w, map;
  XMC_GLOBAL xmc_u32 *keep;
  if (id != XMC_NONE) {
    XMC_AFRESH(id); /* else the word's address is reckoned in 64 bits */
    w = used | XMC_WORD_LISTED | XMC_WORD_SEATED;
    map = xmc_cas_acquire64(xmc_word_at(heap, words, id), w | 0xffffffffu, w);
    if (map == (w | 0xffffffffu))
      return xmc_full_place(cls, id);
    if (xmc_seat_used(&seat) || map != w ||
        xmc_cas_relaxed64(xmc_word_at(heap, words, id), w, w & ~XMC_WORD_WHERE) != w)
      return XMC_NONE;
  }
  if (xmc_seat_used(&seat) || !seat.hint)
    return XMC_NONE;
  keep = xmc_seat_own(&seat) ? xmc_own_entry(heap, me, cls, xmc_seat_own(&seat))
                             : &xmc_fifo_number(heap, seat.fifo)->hint;
  w = 0;
  if (xmc_class_is_small(cls))
    w = xmc_beside64(xmc_word_at(heap, words, seat.hint - 1u));
  map = xmc_fixed_map(heap);
  if (xmc_scarce_near(heap))
    return XMC_NONE;
  if (xmc_class_is_small(cls)) {
    id = xmc_full_of_slab(heap, words, cls, seat.hint - 1u, w);
    if (id == XMC_NONE && (xmc_slab_is_parked(xmc_slab_class(cls)) || (xmc_seat_own(&seat) && w == XMC_WORD_RETIRED)))
      id = xmc_full_of_page(heap, me, words, cls, xmc_slab_near(heap, seat.hint - 1u, w), map, keep);
  } else {
    id = xmc_full_of_run(heap, cls, seat.hint, xmc_seat_own(&seat) != 0, map, keep);
  }
  if (id == XMC_NONE)
    return XMC_NONE;
  scarce = xmc_scarce_near(heap);
  xmc_store_relaxed64(xmc_word_at(heap, words, id), used);
  xmc_superblock_show(heap, id, scarce);
  if (old != XMC_NONE)
    xmc_cas_relaxed64(&xmc_fifo_number(heap, seat.fifo)->active, seat.active,
                      xmc_active_next(seat.active, XMC_NONE));
  return xmc_full_place(cls, id);
}
#endif
#endif
