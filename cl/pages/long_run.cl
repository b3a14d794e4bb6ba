/* SPDX-License-Identifier: MIT */
/* Claims, span by span, runs of more pages than a span has, and the pages behind a run that grows in place. */
#ifndef XMC_LONG_RUN_CL
#define XMC_LONG_RUN_CL
#include "memoryblock.cl"

/* Claims XMC_SPANS_AT_ONCE whole spans from `span` on, by exchanges with 0 that do not wait for each other; the last one is a fetch-and,
 * which acquires for all. Returns 1 if all of them were wholly free. Else it gives back what it took, moves `flux` if that was
 * anything, and returns 0. The spans must be present. It gives back by hints, without a release, because it wrote nothing to those
 * pages: whoever takes them next acquires what their last owner released. */
#define XMC_SPANS_AT_ONCE 4u
XMC_FN int xmc_spans_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 span) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_u64 *word = xmc_span_word(heap, span); /* the next span's word lies before it */
  xmc_u64 a = xmc_exchange_hint64_fast(word, 0), b = xmc_exchange_hint64_fast(word - 1, 0),
          c = xmc_exchange_hint64_fast(word - 2, 0), d = xmc_and_acquire64_fast(word - 3, 0);
  xmc_u32 i;
  if (!~XMC_HIDDEN(a & b & c & d)) /* hides all four at once, so that they do not wait for each other */
    return 1;
  if (a | b | c | d) {
    xmc_or_hint64(word, a);
    xmc_or_hint64(word - 1, b);
    xmc_or_hint64(word - 2, c);
    xmc_or_hint64(word - 3, d);
    XMC_ROLLED
    for (i = span; i < span + XMC_SPANS_AT_ONCE; i++)
      xmc_index_add_called(heap, 0, i, xmc_orders_gained(xmc_load_relaxed64(xmc_span_word(heap, i)), 0));
    xmc_add_acq_rel64(&heap->flux, XMC_FLUX_MOVED);
  }
  return 0;
}

/* Claims the pages [page, page + pages) upwards, which must lie in present spans: XMC_SPANS_AT_ONCE spans at a time while at least as
 * many are still wanted, and one by one if that failed or fewer are wanted. Returns `pages` if it claimed all. If it meets a span where
 * not all wanted pages are free, it gives back what it claimed and returns how many pages lie in the spans before that one. Whenever it
 * gives pages back it moves `flux`. */
XMC_FN xmc_u32 xmc_pages_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 page, xmc_u32 pages) {
  XMC_AFRESH64(heap);
  xmc_u32 done, n, first;
  XMC_GLOBAL xmc_u64 *word;
  xmc_u64 mask, seen, old;
  XMC_ROLLED
  for (done = 0; done < pages; done += n) {
    n = XMC_SPANS_AT_ONCE * XMC_SPAN_PAGES;
    if (!((page + done) & (XMC_SPAN_PAGES - 1u)) && pages - done >= n &&
        xmc_spans_claim(heap, (page + done) >> XMC_SPAN_SHIFT))
      continue;
    XMC_AFRESH(done); /* so that what is computed from it below takes no registers during xmc_spans_claim */
    first = (page + done) & (XMC_SPAN_PAGES - 1u);
    n = pages - done < XMC_SPAN_PAGES - first ? pages - done : XMC_SPAN_PAGES - first;
    word = xmc_span_word(heap, (page + done) >> XMC_SPAN_SHIFT);
    mask = xmc_run_mask(first, n);
    seen = xmc_load_relaxed64(word);
    XMC_ROLLED
    while ((seen & mask) == mask) {
      old = xmc_cas_acquire64(word, seen, seen & ~mask);
      if (old == seen)
        break;
      seen = old;
    }
    if ((seen & mask) != mask) {
      if (done > 0) {
        xmc_run_release(heap, page, done);
        xmc_add_acq_rel64(&heap->flux, XMC_FLUX_MOVED);
      }
      return done;
    }
  }
  return pages;
}

/* Returns how many spans of a run of `pages` pages that begins at `span` look free, up to the first one that does not. Of the last span
 * only the pages of the run count. A relaxed look: the caller must claim the spans to be sure. */
XMC_FN xmc_u32 xmc_spans_look(XMC_GLOBAL xmcHeap *heap, xmc_u32 span, xmc_u32 pages) {
  XMC_AFRESH64(heap);
  xmc_u32 need = (pages + XMC_SPAN_PAGES - 1u) >> XMC_SPAN_SHIFT, i = 0;
  XMC_GLOBAL xmc_u64 *word = xmc_span_word(heap, span); /* the next span's word lies before it */
  xmc_u64 mask, a, b, c, d;
  XMC_ROLLED
  for (; (i + 4u) * XMC_SPAN_PAGES <= pages; i += 4u, word -= 4) { /* issues four loads together */
    a = xmc_load_relaxed64_fast(word);
    b = xmc_load_relaxed64_fast(word - 1);
    c = xmc_load_relaxed64_fast(word - 2);
    d = xmc_load_relaxed64_fast(word - 3);
    a &= b & c & d;
    if (~XMC_HIDDEN(a))
      break;
  }
  XMC_ROLLED
  for (; i < need; i++, word--) {
    mask = xmc_run_mask(0, pages - i * XMC_SPAN_PAGES);
    if ((xmc_load_relaxed64(word) & mask) != mask)
      break;
  }
  return i;
}

/* Claims the pages [page, page + pages), which must be present, for a block that ends before them. Returns 1; or 0 if not all of them are
 * free. If the first page or a whole span looks in use it claims nothing: most blocks that cannot grow meet a block in use, and spans
 * that were claimed in vain would be out of other requests' sight meanwhile. */
XMC_FN int xmc_pages_behind(XMC_GLOBAL xmcHeap *heap, xmc_u32 page, xmc_u32 pages) {
  XMC_AFRESH64(heap);
  xmc_u32 skip = (0u - page) & (XMC_SPAN_PAGES - 1u); /* pages of a span that begins before them */
  if (!(xmc_load_relaxed64(xmc_span_word(heap, page >> XMC_SPAN_SHIFT)) >> (page & (XMC_SPAN_PAGES - 1u)) &
        1u))
    return 0;
  if (pages > skip &&
      xmc_spans_look(heap, (page + skip) >> XMC_SPAN_SHIFT, pages - skip) << XMC_SPAN_SHIFT < pages - skip)
    return 0;
  return xmc_pages_claim(heap, page, pages) == pages;
}

#define XMC_ORDER_OF_SPAN (1u << (XMC_ORDERS - 1u)) /* the index's bit for a span that is wholly free */

/* How often a request that lost a run moves to a place of its own. After that it continues behind the span that it lost. */
#define XMC_LONG_MOVES 8u

/* Claims a run of more than 64 pages, the lowest one that begins at the start of a span. Returns its first page, or XMC_NONE. It looks
 * where the index names wholly free spans; if that leads to no run, it looks at all spans, because the index may miss some while other
 * calls are in progress. Two such requests may overlap and both step back. Then the one that began further up was stopped by a block in
 * use, or by one of the XMC_SPANS_AT_ONCE spans that the other one gives back; or it succeeds. A step back moves `flux`, so requests
 * that failed meanwhile look again.
 *
 * If a request sees a run free and then loses it, others search beside it, to which the index names the same runs. So the request
 * continues from a place of its own (xmc_any_number); if there is no run behind that place, it follows the index once more from the
 * first span. If its place is the first span, as always on CPU devices, it continues behind the span that it lost.
 *
 * It removes two things from the index, so that the next request does not pass them again: a span that the index named although a look
 * found it in use, and the spans that it claimed wholly. The span in use is looked at once more afterwards, as in xmc_span_mend. The
 * claimed spans need no second look, because only their owner gives pages back there; if a late work-item adds a bit to the index for
 * an earlier owner's pages, a later search finds that bit wrong. (Both removals share one loop, because NVIDIA's compiler copies
 * xmc_index_remove to each place that calls it.) */
XMC_FN xmc_u32 xmc_run_claim_long(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 pages) {
  XMC_AFRESH64(heap);
  xmc_u32 need = (pages + XMC_SPAN_PAGES - 1u) >> XMC_SPAN_SHIFT, span = 0, seen, free, left, n, at;
  xmc_u32 passes = 1u, moves = 0; /* passes: how often to follow the index to its end; 0: all spans */
  int again;
  XMC_ROLLED
  do {
    if (passes)
      span = xmc_index_next(heap, XMC_ORDERS - 1u, span);
    free = 0;
    if (span == XMC_NONE || span + need > xmc_heap_present_spans(heap)) {
      again = passes != 0;
      passes -= again;
      span = 0;
      continue;
    }
    seen = xmc_spans_look(heap, span, pages);
    free = seen == need ? xmc_pages_claim(heap, span * XMC_SPAN_PAGES, pages) : seen << XMC_SPAN_SHIFT;
    left = free == pages ? pages >> XMC_SPAN_SHIFT : passes && !free;
    at = span;
    XMC_ROLLED
    while (XMC_NO_YIELD(left)) {
      n = 8u - (at & 7u);
      n = n < left ? n : left;
      xmc_index_remove(heap, at, n, XMC_ORDER_OF_SPAN);
      at += n;
      left -= n;
    }
    again = free != pages;
    if (!again)
      continue;
    if (at != span && !~xmc_load_relaxed64(xmc_span_word(heap, span))) /* free again meanwhile */
      xmc_index_add_called(heap, 0, span, XMC_ORDER_OF_SPAN);
    span += (free >> XMC_SPAN_SHIFT) + 1u;
    if (seen == need && passes && moves < XMC_LONG_MOVES) { /* another work-item took it */
      moves++;
      at = xmc_any_number(me) % (xmc_heap_present_spans(heap) / need) * need;
      if (at) {
        passes = 2u;
        span = at;
      }
    }
  } while (XMC_NO_YIELD(again));
  return free == pages ? span * XMC_SPAN_PAGES : XMC_NONE;
}
#endif
