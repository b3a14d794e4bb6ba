/* Memoryblocks: runs of pages, split and merged (paper 2010, figure 2.5; 2011, section 4).
 *
 * A Memoryblock is a run of pages; the free ones are not linked, as in the paper, but stand as runs of
 * set bits in one word a span of 64 pages (1 MiB):
 *
 *   free_pages[s]   0 0 1 1 1 1 0 1 … 1     split = clear some bits of a run, by one CAS
 *                       +-----+   +---      merge = set bits; neighbours are one run at once
 *
 *   free bits of all spans + pages in use == pages
 *
 * Runs of up to 64 pages lie in one span and cost one CAS, however many blocks live. Longer ones begin
 * at a span and take whole spans, then the first pages of one more; they claim upwards, and who meets a
 * span that is not free gives back what it took. Where to look: bitmap order[k] has the spans with a run
 * of 2^k free pages. It follows the spans lazily: giving back sets bits, a searcher who was misled
 * clears them.
 */
#ifndef XMC_MEMORYBLOCK_CL
#define XMC_MEMORYBLOCK_CL
#include "arena.h"
#include "bitmap.cl"
#include "platform.h"

/* Start bits of the runs of n set bits in x, 1 <= n <= 64 */
XMC_FN xmc_u64 xmc_run_starts(xmc_u64 x, xmc_u32 n) {
  xmc_u32 have = 1;
  XMC_ROLLED
  while (have < n) {
    xmc_u32 step = have < n - have ? have : n - have;
    x &= x >> step;
    have += step;
  }
  return x;
}

/* 1 + log2 of the longest run of 2^k set bits; 0 if there is none */
XMC_FN xmc_u32 xmc_run_orders(xmc_u64 x) {
  xmc_u32 orders = 0, step = 1;
  XMC_ROLLED
  while (x && ++orders < XMC_ORDERS) {
    x &= x >> step;
    step <<= 1;
  }
  return orders;
}

XMC_FN xmc_u64 xmc_run_mask(xmc_u32 first, xmc_u32 n) {
  return (n >= 64u ? ~(xmc_u64)0 : ((xmc_u64)1 << n) - 1u) << first;
}

/* Gives pages of one span back. The caller owns them and nothing refers to them any more. */
XMC_FN void xmc_span_release(XMC_GLOBAL xmcHeap *heap, xmc_u32 span, xmc_u64 mask) {
  xmc_u64 old = xmc_or_acq_rel64(xmc_span_word(heap, span), mask);
  xmc_u32 orders = xmc_run_orders(old | mask), k;
  XMC_ROLLED
  for (k = xmc_run_orders(old); k < orders; k++)
    xmc_bitmap_set(heap, &heap->order[k], span);
}

XMC_FN void xmc_run_release(XMC_GLOBAL xmcHeap *heap, xmc_u32 page, xmc_u32 pages) {
  int large = pages > XMC_SPAN_PAGES;
  XMC_ROLLED
  while (pages > 0) {
    xmc_u32 first = page & (XMC_SPAN_PAGES - 1u);
    xmc_u32 n = pages < XMC_SPAN_PAGES - first ? pages : XMC_SPAN_PAGES - first;
    xmc_span_release(heap, page >> XMC_SPAN_SHIFT, xmc_run_mask(first, n));
    page += n;
    pages -= n;
  }
  if (large)
    xmc_add_acq_rel64(&heap->large_epoch, 1);
}

/* Claims a run in this span: `pages` if there is one, else, unless exact, 2^order. Returns its first page
 * or XMC_NONE, and the length in *got. */
XMC_FN xmc_u32 xmc_span_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 span, xmc_u32 pages, xmc_u32 order, int exact,
                              xmc_u32 *got) {
  XMC_GLOBAL xmc_u64 *word = xmc_span_word(heap, span);
  xmc_u64 seen = xmc_load_relaxed64(word);
  XMC_ROLLED
  for (;;) { /* again only when somebody else changed the span */
    xmc_u32 n = pages, first;
    xmc_u64 old, starts = xmc_run_starts(seen, n);
    if (!starts && !exact) {
      n = 1u << order;
      starts = xmc_run_starts(seen, n);
    }
    if (!starts)
      return XMC_NONE;
    first = xmc_lowest64(starts);
    old = xmc_cas_acquire64(word, seen, seen & ~xmc_run_mask(first, n));
    if (old == seen) {
      *got = n;
      return span * XMC_SPAN_PAGES + first;
    }
    seen = old;
  }
}

/* A bit of order[order] misled us: clear it, look again, put it back if the run is there after all. */
XMC_FN void xmc_order_mend(XMC_GLOBAL xmcHeap *heap, xmc_u32 order, xmc_u32 span) {
  if (xmc_run_orders(xmc_load_relaxed64(xmc_span_word(heap, span))) > order)
    return;
  xmc_bitmap_clear(heap, &heap->order[order], span);
  if (xmc_run_orders(xmc_load_relaxed64(xmc_span_word(heap, span))) > order)
    xmc_bitmap_set(heap, &heap->order[order], span);
}

/* Claims a run of 1 to 64 pages in one span, looking first at *hint. If not exact, a run of half the
 * length, a quarter … will do when there is none of the whole. */
XMC_FN xmc_u32 xmc_run_claim_short(XMC_GLOBAL xmcHeap *heap, xmc_u32 pages, int exact, xmc_u32 *hint,
                                   xmc_u32 *got) {
  xmc_u32 floor_order = xmc_highest64(pages), order = floor_order, start = *hint, page, lowest;
  page = xmc_span_claim(heap, start, pages, order, 1, got);
  if (page != XMC_NONE)
    return page;
  if (exact && pages != 1u << floor_order) /* (not by pages - 1: that becomes a ctpop, which Oclgrind lacks) */
    order++; /* these spans are sure to have it; the order below may have */
  lowest = exact ? floor_order : 0u;
  XMC_ROLLED
  for (;;) {
    xmc_u32 span = start, turns = 0;
    XMC_ROLLED
    for (;;) {
      xmc_u32 next = xmc_bitmap_find(heap, &heap->order[order], span, heap->spans);
      if (next == XMC_NONE) { /* once round */
        if (turns++ > 0)
          break;
        span = 0;
        continue;
      }
      if (turns > 0 && next >= start && start > 0)
        break;
      page = xmc_span_claim(heap, next, pages, order, exact, got);
      if (page != XMC_NONE) {
        *hint = next;
        return page;
      }
      xmc_order_mend(heap, order, next);
      span = next + 1u;
    }
    if (order == lowest)
      return XMC_NONE;
    order--;
  }
}

/* Claims spans [span, span + ceil(pages / 64)), the last one in part. Returns how many spans were there,
 * counted from the first; pages are claimed if that is all of them, none otherwise. */
XMC_FN xmc_u32 xmc_spans_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 span, xmc_u32 pages) {
  xmc_u32 need = (pages + XMC_SPAN_PAGES - 1u) >> XMC_SPAN_SHIFT, i;
  XMC_ROLLED
  for (i = 0; i < need; i++) {
    XMC_GLOBAL xmc_u64 *word = xmc_span_word(heap, span + i);
    xmc_u32 rest = pages - i * XMC_SPAN_PAGES;
    xmc_u64 mask = xmc_run_mask(0, rest);
    xmc_u64 seen = rest >= XMC_SPAN_PAGES ? mask : xmc_load_relaxed64(word);
    XMC_ROLLED
    while ((seen & mask) == mask) {
      xmc_u64 old = xmc_cas_acquire64(word, seen, seen & ~mask);
      if (old == seen)
        break;
      seen = old;
    }
    if ((seen & mask) != mask) {
      if (i > 0) {
        xmc_run_release(heap, span * XMC_SPAN_PAGES, i * XMC_SPAN_PAGES);
        xmc_add_acq_rel64(&heap->large_epoch, 1);
      }
      return i;
    }
  }
  return need;
}

/* Are the spans free as far as one can see? Returns as xmc_spans_claim does, and claims nothing. */
XMC_FN xmc_u32 xmc_spans_look(XMC_GLOBAL xmcHeap *heap, xmc_u32 span, xmc_u32 pages) {
  xmc_u32 need = (pages + XMC_SPAN_PAGES - 1u) >> XMC_SPAN_SHIFT, i;
  XMC_ROLLED
  for (i = 0; i < need; i++) {
    xmc_u64 mask = xmc_run_mask(0, pages - i * XMC_SPAN_PAGES);
    if ((xmc_load_relaxed64(xmc_span_word(heap, span + i)) & mask) != mask)
      break;
  }
  return i;
}

/* Claims a run of more than 64 pages. Two of them may meet and both step back; then the one that began
 * further up was stopped by a block in use or succeeds, so trying again only after large_epoch moved
 * makes somebody get on. */
XMC_FN xmc_u32 xmc_run_claim_long(XMC_GLOBAL xmcHeap *heap, xmc_u32 pages) {
  xmc_u32 need = (pages + XMC_SPAN_PAGES - 1u) >> XMC_SPAN_SHIFT;
  xmc_u64 epoch, before;
  XMC_ROLLED
  do {
    xmc_u32 span = 0;
    before = epoch = xmc_load_relaxed64(&heap->large_epoch);
    XMC_ROLLED
    for (;;) {
      xmc_u32 n;
      span = xmc_bitmap_find(heap, &heap->order[XMC_ORDERS - 1u], span, heap->spans);
      if (span == XMC_NONE || need > heap->spans - span)
        break;
      n = xmc_spans_look(heap, span, pages);
      if (n == need) {
        n = xmc_spans_claim(heap, span, pages);
        if (n == need)
          return span * XMC_SPAN_PAGES;
        if (n > 0)
          before++; /* our own step back is nobody's progress */
      }
      if (n == 0)
        xmc_order_mend(heap, XMC_ORDERS - 1u, span);
      span += n + 1u;
    }
    epoch = xmc_load_relaxed64(&heap->large_epoch);
  } while (epoch != before);
  return XMC_NONE;
}

/* Spans whose bitmaps a stopped work-item left behind are found by looking at all of them: the last
 * resort before a request fails. Returns 1 if it set a bit. */
XMC_FN int xmc_orders_sweep(XMC_GLOBAL xmcHeap *heap, xmc_u32 order) {
  xmc_u32 span;
  XMC_ROLLED
  for (span = 0; span < heap->spans; span++) {
    XMC_GLOBAL xmc_u64 *leaf = xmc_at64(heap, heap->order[order].leaf) + (span >> 6);
    if (xmc_run_orders(xmc_load_relaxed64(xmc_span_word(heap, span))) > order &&
        !(xmc_load_relaxed64(leaf) >> (span & 63u) & 1u)) {
      xmc_bitmap_set(heap, &heap->order[order], span);
      return 1;
    }
  }
  return 0;
}
#endif
