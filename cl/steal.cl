/* Blocks from where a request does not look first: other slots' FIFOs, parked Superblocks.
 *
 *   busy bitmap    bit (class, slot): the FIFO may hold something      steal
 *   parked bitmap  bit (class, span): one may be parked there          unpark
 *
 * What is found empty or exhausted is cleaned up on the way.
 */
#ifndef XMC_STEAL_CL
#define XMC_STEAL_CL
#include "supply.cl"

/* The next parked Superblock (or slab) of the class in a span, from place `at` on: its id in *id; returns its
 * place, or XMC_NONE. Places are 32 a page. */
XMC_FN xmc_u32 xmc_parked_next(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 span, xmc_u32 at, xmc_u32 *id) {
  XMC_AFRESH64(heap);
  xmc_u32 base = cls < XMC_CLASSES ? cls : cls - XMC_CLASSES, page, entry, slots;
  XMC_ROLLED
  for (; at < 32u * XMC_SPAN_PAGES; at++) {
    page = span * XMC_SPAN_PAGES + (at >> 5);
    if (page >= heap->pages)
      break;
    entry = xmc_load_relaxed32(xmc_page_entry(heap, page));
    slots = cls < XMC_SMALL_CLASSES ? ((entry >> 16) + 31u) >> 5 : 1u;
    if ((entry & 0xffffu) != base ||
        (at & 31u) >= slots) { /* another class, inside a run, or past the last */
      at |= 31u;
      continue;
    }
    *id = cls < XMC_CLASSES ? page * 32u + (at & 31u) : xmc_slab_id(heap, page);
    if (xmc_load_relaxed64(xmc_word_of(heap, *id)) & XMC_WORD_PARKED)
      return at;
  }
  return XMC_NONE;
}

/* Claims a block of a parked Superblock in one span and takes it out of its parking place; in an unbuffered
 * heap it stays there, in everybody's sight, until it is exhausted. */
XMC_FN xmc_claim xmc_span_unpark(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 span) {
  XMC_AFRESH64(heap);
  xmc_u64 duty = xmc_fifos_count(heap->fifo_table[cls]) ? XMC_WORD_PARKED : 0, w;
  xmc_u32 at, id = 0, take;
  XMC_ROLLED
  for (at = 0; (at = xmc_parked_next(heap, cls, span, at, &id)) != XMC_NONE; at++) {
    w = xmc_load_relaxed64(xmc_word_of(heap, id));
    XMC_ROLLED
    do { /* again when a free came just after the claim: the bitmap may show this one to nobody else now */
      take = xmc_superblock_claim(xmc_word_of(heap, id), cls, 1, duty, &w);
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

/* Claims a block of a parked Superblock of a class in [cls, end). */
XMC_FN xmc_claim xmc_unpark(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 end) {
  xmc_u32 low, item, c, turn;
  xmc_claim claim;
  XMC_AFRESH64(heap);
  XMC_ROLLED
  for (;;) {
    XMC_AFRESH(cls);
    XMC_AFRESH(end);
    low = cls * heap->spans;
    item = xmc_bitmap_find_from(heap, &heap->parked, low, end * heap->spans,
                                low + xmc_slot_hint(me, heap->spans));
    if (item == XMC_NONE)
      return 0;
    c = item / heap->spans;
    XMC_ROLLED
    for (turn = 0; turn < 2u; turn++) { /* before and after the bit is cleared */
      XMC_AFRESH(item);
      claim = xmc_span_unpark(heap, me, c, item - c * heap->spans);
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

/* Claims a block from the FIFO of another slot: xmc_fifo_claim with less to keep in registers. */
XMC_FN xmc_claim xmc_fifo_take(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot) {
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
    take = xmc_superblock_claim(xmc_word_of(heap, xmc_active_id(active)), cls, 1, 0, &w);
    if (take)
      return xmc_claim_make(xmc_active_id(active), take);
  } while (xmc_fifo_advance(heap, slot, cls, active, w, 0));
  return 0;
}

/* Claims a block from any FIFO of the classes [cls, end), those of the caller's slot and above first. A FIFO that
 * has none is empty afterwards. */
XMC_FN xmc_claim xmc_steal(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 end) {
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
    claim = xmc_fifo_take(heap, cls, item - cls * heap->slots);
    if (claim)
      return claim;
    XMC_AFRESH(item);
    xmc_fifo_mark_idle(heap, cls, item - cls * heap->slots);
    item++;
  }
}
#endif
