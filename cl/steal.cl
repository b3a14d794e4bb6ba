/* Blocks from where a request does not look first: other slots' FIFOs, parked Superblocks.
 *
 *   busy bitmap    bit (class, slot): the FIFO may hold something      steal
 *   parked bitmap  bit (class, page): one may be parked there          unpark
 *
 * What is found empty or exhausted is cleaned up on the way.
 */
#ifndef XMC_STEAL_CL
#define XMC_STEAL_CL
#include "supply.cl"

/* Claims up to `want` blocks of a parked Superblock (or slab) in one page and takes it out of its parking place; in
 * an unbuffered heap it stays there, in everybody's sight, until it is exhausted. */
XMC_FN xmc_claim xmc_page_unpark(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 page,
                                 xmc_u32 want) {
  XMC_AFRESH64(heap);
  xmc_u64 duty = xmc_fifos_count(heap->fifo_table[cls]) ? XMC_WORD_PARKED : 0, w;
  xmc_u32 id = page * 32u, left = 1, take;
  if (page >= heap->pages)
    return 0;
  take = xmc_load_relaxed32(xmc_page_entry(heap, page));
  if ((take & 0xffffu) != (cls < XMC_CLASSES ? cls : cls - XMC_CLASSES))
    return 0; /* another class by now, or inside a run */
  if (cls >= XMC_CLASSES)
    id = xmc_slab_id(heap, page);
  else if (xmc_class_is_small(cls))
    left = ((take >> 16) + 31u) >> 5;
  left = left < 32u ? left : 32u;
  XMC_ROLLED
  for (; left > 0; left--, id++) {
    w = xmc_load_relaxed64(xmc_word_of(heap, id));
    if (!(w & XMC_WORD_PARKED))
      continue;
    XMC_ROLLED
    do { /* again when a free came just after the claim: the bitmap may show this one to nobody else now */
      take = xmc_superblock_claim(xmc_word_of(heap, id), cls, want, duty, &w);
      if (take || !(w & XMC_WORD_PARKED) || xmc_superblock_unlist(heap, id, cls, w))
        break;
      w = xmc_load_relaxed64(xmc_word_of(heap, id));
    } while (w & XMC_WORD_PARKED);
    if (take) { /* with the parked bit it took the duty, unless the Superblock is exhausted */
      w &= ~duty & ~(xmc_u64)take;
      if ((xmc_word_available(w, cls) || !xmc_superblock_unlist(heap, id, cls, w)) && duty) {
        xmc_settle(heap, me, heap->words, cls, id, w);
        xmc_add_acq_rel64(&heap->flux, XMC_FLUX_MOVED);
      }
      return xmc_claim_make(id, take);
    }
  }
  return 0;
}

/* Claims up to `want` blocks of a parked Superblock of a class in [cls, end). */
XMC_FN xmc_claim xmc_unpark(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 end, xmc_u32 want) {
  xmc_u32 low, item, pages, turn;
  xmc_claim claim;
  XMC_AFRESH64(heap);
  XMC_ROLLED
  for (;;) {
    XMC_AFRESH(cls);
    XMC_AFRESH(end);
    pages = heap->spans * XMC_SPAN_PAGES;
    low = cls * pages;
    item = xmc_bitmap_find_from(heap, &heap->parked, low, end * pages,
                                low + xmc_slot_hint(me, heap->spans) * XMC_SPAN_PAGES);
    if (item == XMC_NONE)
      return 0;
    XMC_ROLLED
    for (turn = 0; turn < 2u; turn++) { /* before and after the bit is cleared */
      XMC_AFRESH(item);
      pages = heap->spans * XMC_SPAN_PAGES;
      claim = xmc_page_unpark(heap, me, item / pages, item % pages, want);
      XMC_AFRESH(item);
      if (claim) {
        if (turn)
          xmc_bitmap_set(heap, &heap->parked, item);
        return claim;
      }
      if (!turn)
        xmc_bitmap_clear(heap, &heap->parked, item);
    }
  }
}

/* The FIFO looked empty: take its busy bit away unless something came in meanwhile. */
XMC_FN void xmc_fifo_mark_idle(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_fifo *fifo = xmc_fifo_at(heap, cls, slot);
  xmc_bitmap_clear(heap, &heap->busy, cls * heap->slots + slot);
  if (xmc_active_id(xmc_load_relaxed64(&fifo->active)) != XMC_NONE || !xmc_fifo_is_empty(fifo))
    xmc_fifo_mark_busy(heap, cls, slot);
}

/* Claims up to `want` blocks from the FIFO of another slot: xmc_fifo_claim with less to keep in registers. */
XMC_FN xmc_claim xmc_fifo_take(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot, xmc_u32 want) {
  XMC_AFRESH64(heap);
  xmc_u64 active, w = 0;
  xmc_u32 take;
  slot += xmc_fifos_first(heap->fifo_table[cls]); /* its number */
  XMC_ROLLED
  do { /* again only for a next Superblock, or when somebody else moved the FIFO on */
    active = xmc_load_relaxed64(&xmc_fifo_number(heap, slot)->active);
    if (xmc_active_id(active) == XMC_NONE)
      continue;
    w = xmc_load_relaxed64(xmc_word_of(heap, xmc_active_id(active)));
    take = xmc_superblock_claim(xmc_word_of(heap, xmc_active_id(active)), cls, want, 0, &w);
    if (take)
      return xmc_claim_make(xmc_active_id(active), take);
  } while (xmc_fifo_advance(heap, slot, cls, active, w, 0));
  return 0;
}

/* Claims up to `want` blocks from any FIFO of the classes [cls, end), those of the caller's slot and above first. A FIFO that
 * has none is empty afterwards. */
XMC_FN xmc_claim xmc_steal(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 end, xmc_u32 want) {
  XMC_AFRESH64(heap);
  xmc_u32 item, again = cls * heap->slots;
  xmc_claim claim;
  end *= heap->slots;
  if (again >= end)
    return 0;
  item = again + xmc_slot_hint(me, xmc_fifos_count(heap->fifo_table[cls]));
  XMC_ROLLED
  for (;;) {
    XMC_AFRESH(end);
    item = xmc_bitmap_find(heap, &heap->busy, item, end);
    if (item == XMC_NONE) { /* once more, from the first one on */
      item = again;
      again = XMC_NONE;
      if (item == XMC_NONE)
        return 0;
      continue;
    }
    cls = item / heap->slots;
    claim = xmc_fifo_take(heap, cls, item - cls * heap->slots, want);
    if (claim)
      return claim;
    XMC_AFRESH(item);
    xmc_fifo_mark_idle(heap, cls, item - cls * heap->slots);
    item++;
  }
}
#endif
