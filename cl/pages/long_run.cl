/* SPDX-License-Identifier: MIT */
/* Runs of more pages than a span has, and those that grow in place: claimed span by span. */
#ifndef XMC_LONG_RUN_CL
#define XMC_LONG_RUN_CL
#include "memoryblock.cl"

/* Claims XMC_SPANS_AT_ONCE whole spans from `span` on, by CAS that do not wait for each other. If one of them is not free, it gives back
 * what it got, moves `flux`, and returns 0. */
#define XMC_SPANS_AT_ONCE 4u
XMC_FN int xmc_spans_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 span) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_u64 *word = xmc_span_word(heap, span); /* that of each further span lies before it */
  const xmc_u64 all = ~(xmc_u64)0;
  xmc_u64 a = xmc_cas_hint64_fast(word, all, 0), b = xmc_cas_hint64_fast(word - 1, all, 0),
          c = xmc_cas_hint64_fast(word - 2, all, 0), d = xmc_cas_acquire64_fast(word - 3, all, 0);
  xmc_u32 got = (xmc_u32) !~a | (xmc_u32) !~b << 1 | (xmc_u32) !~c << 2 | (xmc_u32) !~d << 3;
  got = XMC_HIDDEN(got); /* all at once: they do not wait for each other */
  if (got == (1u << XMC_SPANS_AT_ONCE) - 1u)
    return 1;
  if (got) {
    XMC_ROLLED
    for (; got; got &= got - 1u)
      xmc_span_give(heap, span + xmc_lowest32(got), all);
    xmc_add_acq_rel64(&heap->flux, XMC_FLUX_MOVED);
  }
  return 0;
}

/* Claims the pages [page, page + pages) upwards: XMC_SPANS_AT_ONCE spans where so many are wanted yet, and one by one where that failed or
 * fewer are. Returns `pages`; or, if some are not free, how many there were in the spans before that one, and claims none. Whatever it
 * gives back on the way moves `flux`. */
XMC_FN xmc_u32 xmc_pages_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 page, xmc_u32 pages) {
  XMC_AFRESH64(heap);
  xmc_u32 done, n, first;
  XMC_GLOBAL xmc_u64 *word;
  xmc_u64 mask, seen, old;
  XMC_ROLLED
  for (done = 0; done < pages; done += n) {
    first = (page + done) & (XMC_SPAN_PAGES - 1u);
    n = pages - done < XMC_SPAN_PAGES - first ? pages - done : XMC_SPAN_PAGES - first;
    word = xmc_span_word(heap, (page + done) >> XMC_SPAN_SHIFT);
    mask = xmc_run_mask(first, n);
    if (n == XMC_SPAN_PAGES && pages - done >= XMC_SPANS_AT_ONCE * XMC_SPAN_PAGES &&
        xmc_spans_claim(heap, (page + done) >> XMC_SPAN_SHIFT)) {
      n = XMC_SPANS_AT_ONCE * XMC_SPAN_PAGES;
      continue;
    }
    seen = n == XMC_SPAN_PAGES ? mask : xmc_load_relaxed64(word);
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

/* How many spans from `span` on are free as far as one can see, up to those of a run of `pages`, the last one in part */
XMC_FN xmc_u32 xmc_spans_look(XMC_GLOBAL xmcHeap *heap, xmc_u32 span, xmc_u32 pages) {
  XMC_AFRESH64(heap);
  xmc_u32 need = (pages + XMC_SPAN_PAGES - 1u) >> XMC_SPAN_SHIFT, i = 0;
  XMC_GLOBAL xmc_u64 *word = xmc_span_word(heap, span); /* that of each further span lies before it */
  xmc_u64 mask, a, b, c, d;
  XMC_ROLLED
  for (; (i + 4u) * XMC_SPAN_PAGES <= pages; i += 4u, word -= 4) { /* four loads on their way at a time */
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

#define XMC_ORDER_OF_SPAN (1u << (XMC_ORDERS - 1u)) /* the index's bit for a span that is wholly free */

/* How often a request moves to a place of its own; after that it goes on span by span from where it is. */
#define XMC_LONG_MOVES 8u

/* Claims a run of more than 64 pages, the lowest one that begins with a span: where the index knows of free spans; or, if that leads
 * to none, wherever one can be seen, for the index may miss some while others are in the middle of a call. Two such requests may meet
 * and both step back; then the one that began further up was stopped by a block in use, or by one of XMC_SPANS_AT_ONCE spans that the
 * other gives back, or succeeds. A step back moves `flux`, and requests that failed meanwhile look again.
 *
 * A request that sees a run free and loses it has others beside it, for whom the index names the same runs. It goes on from a place of
 * its own (xmc_any_number), and asks the index from the first span on afterwards, if there is nothing behind that place. One whose place
 * is the first span, as on CPU devices, goes on behind the span that it lost instead.
 *
 * The index forgets the span that a look found in use although the index named it free, and the spans that were claimed wholly, so
 * that the next request passes none of them again. The span in use is looked at once more afterwards, as in xmc_span_mend. The claimed
 * ones need no second look: nobody but their owner gives pages back there, and what a late work-item adds for an earlier owner's pages is
 * found wrong by whoever looks. (Both in one loop, for NVIDIA's compiler copies xmc_index_remove to each place that calls it.) */
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
