/* SPDX-License-Identifier: MIT */
/* Memoryblocks: runs of pages, split and merged (paper 2010, figure 2.5; 2011, section 4).
 *
 * A Memoryblock is a run of pages. The free ones are not linked as in the paper, but are runs of set bits in the words of the spans; a
 * word has the 64 pages (1 MiB) of one span:
 *
 *   free_pages[s]   0 0 1 1 1 1 0 1 … 1     split = clear some bits of a run, by one CAS
 *                       +-----+   +---      merge = set bits; neighbours are one run at once
 *
 *   free bits of all spans + pages in use == pages that are present
 *
 * A run of up to 64 pages lies in one span and costs one CAS, however many blocks are live. A longer run begins at the start of a span
 * and takes whole spans, then the first pages of one more. It is claimed upwards; a request that meets a span which is not free gives
 * back what it took. A run in use can grow by the pages behind it, in the same way, and shrink (xmc_memoryblock_resize). The span index
 * says where to look (span_index.cl). It follows the spans lazily: a return of pages sets bits, and a search that a bit misled clears
 * it. */
#ifndef XMC_MEMORYBLOCK_CL
#define XMC_MEMORYBLOCK_CL
#include "bits.cl"
#include "span_index.cl"

/* Writes the entries of the pages [first + had, first + pages), further pages of the run that begins at `first`, eight at a time where that
 * is aligned. Writes none if pages <= had. */
XMC_FN void xmc_body_enter(XMC_GLOBAL xmcHeap *heap, xmc_u32 first, xmc_u32 had, xmc_u32 pages) {
  xmc_u32 page = first + had, end = first + pages, n;
  XMC_GLOBAL xmc_u64 *entry =
      xmc_page_entry(heap, page); /* computed once, or each store would wait for the header */
  const xmc_u64 body = xmc_map_body(first);
  XMC_ROLLED
  for (; page < end; page += n, entry += n) {
    n = !(page & 7u) && end - page >= 8u ? 8u : 1u;
    if (n == 1u) {
      xmc_store_relaxed64(entry, body);
      continue;
    }
    xmc_store_two64(entry, body, body);
    xmc_store_two64(entry + 2, body, body);
    xmc_store_two64(entry + 4, body, body);
    xmc_store_two64(entry + 6, body, body);
  }
}

/* Gives pages of one span back: sets their free bits, then tells the index which runs the span gained. The caller must own the pages,
 * and nothing may refer to them any more. released: 1 if all that the caller did with the pages is done already (as for xmc_run_gave),
 * so that a hint suffices; else the bits are set by a release. */
XMC_FN void xmc_span_give(XMC_GLOBAL xmcHeap *heap, xmc_u32 span, xmc_u64 mask, int released) {
  XMC_AFRESH64(heap);
  xmc_u64 old = released ? xmc_or_hint64(xmc_span_word(heap, span), mask)
                         : xmc_or_release64(xmc_span_word(heap, span), mask);
  xmc_u32 gained = xmc_run_orders(old | mask);
  XMC_AFRESH(gained); /* the two are computed one after the other, not side by side */
  XMC_AFRESH64(old);
  gained &= ~xmc_run_orders(old);
  if (gained)
    xmc_index_add(heap, 0, span, gained);
}

/* The same for a run of 1, 2, 4, 8 or 16 pages at a multiple of its length. The fetch-or is a hint here, so all that the caller did
 * with the pages before must be done already: it has used the value of the atomic that retired their state word, or released before. */
XMC_FN void xmc_run_gave(XMC_GLOBAL xmcHeap *heap, xmc_u32 page, xmc_u32 pages) {
  xmc_u32 span = page >> XMC_SPAN_SHIFT, ones = (1u << pages) - 1u;
  xmc_u64 old;
  page &= XMC_SPAN_PAGES - 1u;
  old = xmc_or_hint64_fast(xmc_span_word(heap, span), (xmc_u64)ones << page);
  if ((~(xmc_u32)(old >> (page ^ pages)) & ones) && xmc_run_is_there(old, pages))
    return; /* most often: no longer run arose, and such a run was there before */
  if (XMC_USED_IS_DONE && xmc_index_has_all(heap, span))
    return; /* nearly always so while pages are plentiful */
  XMC_AFRESH64(old);
  old |= (xmc_u64)ones << page;
  XMC_ROLLED
  while (pages < XMC_SPAN_PAGES &&
         !(~(old >> ((page & ~(pages - 1u)) ^ pages)) & (((xmc_u64)1 << pages) - 1u)))
    pages *= 2u;
  xmc_index_add(heap, 0, span, 2u * pages - 1u); /* the run that arose, and all shorter ones in it */
}

/* Gives back up to eight whole spans, whose bytes in the index must lie in one word. It does not wait for the old values of the spans'
 * words: the first span's bits are set by a release, whose fence also orders those of the others, and the index is told once, by a
 * release, after all of them. */
XMC_FN void xmc_spans_give(XMC_GLOBAL xmcHeap *heap, xmc_u32 span, xmc_u32 spans) {
  XMC_AFRESH64(heap);
  const xmc_u64 all = 0x0101010101010101u * ((1u << XMC_ORDERS) - 1u);
  XMC_GLOBAL xmc_u64 *word = xmc_span_word(heap, span); /* the next span's word lies before it */
  xmc_u32 i;
  xmc_u64 old;
  xmc_or_release64(word, ~(xmc_u64)0);
  XMC_ROLLED
  for (i = 1; i < spans; i++)
    xmc_or_hint64(word - i, ~(xmc_u64)0);
  old = xmc_or_release64(xmc_index_word(heap, 0, span), all >> (64u - 8u * spans) << (8u * (span & 7u)));
  xmc_index_add(heap, 1, span >> 3, (xmc_u32)all & 0xffu & ~xmc_index_union(old));
}

/* Gives back a run of pages, which the caller must own, span by span. released: as for xmc_span_give. */
XMC_FN void xmc_run_give(XMC_GLOBAL xmcHeap *heap, xmc_u32 page, xmc_u32 pages, int released) {
  XMC_AFRESH64(heap);
  xmc_u32 first, n, span;
  XMC_ROLLED
  while (pages > 0) {
    first = page & (XMC_SPAN_PAGES - 1u);
    span = page >> XMC_SPAN_SHIFT;
    n = pages < XMC_SPAN_PAGES - first ? pages : XMC_SPAN_PAGES - first;
    if (n == XMC_SPAN_PAGES) {
      n = pages >> XMC_SPAN_SHIFT;
      n = n < 8u - (span & 7u) ? n : 8u - (span & 7u);
      xmc_spans_give(heap, span, n);
      n <<= XMC_SPAN_SHIFT;
    } else {
      xmc_span_give(heap, span, xmc_run_mask(first, n), released);
    }
    page += n;
    pages -= n;
  }
}
XMC_FN void xmc_run_release(XMC_GLOBAL xmcHeap *heap, xmc_u32 page, xmc_u32 pages) {
  xmc_run_give(heap, page, pages, 0);
}

/* Claims up to `want` runs of `pages` pages (at most 64) in one span by one CAS. Returns the mask of their pages: the r-th run (from 0)
 * begins at its r * pages-th set bit. Returns 0 if the span has no such run. Runs of 2^k pages are taken at multiples of 2^k only,
 * unless `anywhere` is set: if a page that is in use for a moment shifted the runs, the span would fray and hold one run less. */
XMC_FN xmc_u64 xmc_span_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 span, xmc_u32 pages, xmc_u32 want,
                              int anywhere) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_u64 *word = xmc_span_word(heap, span);
  xmc_u64 seen = xmc_load_relaxed64(word), starts, mask, old;
  xmc_u32 n;
  anywhere |= xmc_popcount32(pages) != 1u; /* not a power of two */
  XMC_ROLLED
  for (;;) { /* again only if another work-item changed the span */
    XMC_AFRESH(pages);
    starts = xmc_run_starts(seen, pages);
    mask = starts & xmc_run_places(pages);
    if (mask || !anywhere) { /* at multiples of `pages`: the product makes each start a run */
      mask = xmc_lowest_bits64(mask, want) * xmc_run_mask(0, pages);
    } else {
      XMC_ROLLED
      for (n = want; starts && n > 0; n--) {
        XMC_AFRESH(pages);
        old = xmc_run_mask(xmc_lowest64(starts), pages);
        mask |= old;
        starts &= ~old;
      }
    }
    if (!mask)
      return 0;
    old = xmc_cas_acquire64(word, seen, seen & ~mask);
    if (old == seen)
      return mask;
    seen = old;
  }
}

/* Claims a run of 2^order pages, at a multiple of that, in one span by one CAS. Returns its first page, or XMC_NONE. */
XMC_FN xmc_u32 xmc_span_take(XMC_GLOBAL xmcHeap *heap, xmc_u32 span, xmc_u32 order) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_u64 *word = xmc_span_word(heap, span);
  xmc_u64 seen = xmc_load_relaxed64(word), starts, old;
  xmc_u32 first;
  XMC_ROLLED
  for (;;) { /* again only if another work-item changed the span */
    starts = xmc_aligned_runs(seen, order);
    if (!starts)
      return XMC_NONE;
    first = xmc_lowest64(starts);
    old = xmc_cas_acquire64(word, seen, seen & ~xmc_run_mask(first, 1u << order));
    if (old == seen)
      return span * XMC_SPAN_PAGES + first;
    seen = old;
  }
}

/* Returns the bit of `order` if xmc_aligned_runs would find a run of it in x, else 0. It is a loop, which has less code. */
XMC_FN xmc_u32 xmc_order_in(xmc_u64 x, xmc_u32 order) {
  return (xmc_run_starts(x, 1u << order) & xmc_run_places(1u << order)) ? 1u << order : 0u;
}

/* Called when the index named a run of 2^order pages in this span and none was found. If another look agrees, clears the index's bit;
 * then looks once more, and sets the bit again if there is such a run now. */
XMC_FN void xmc_span_mend(XMC_GLOBAL xmcHeap *heap, xmc_u32 span, xmc_u32 order) {
  XMC_AFRESH64(heap);
  if (xmc_order_in(xmc_load_relaxed64(xmc_span_word(heap, span)), order))
    return;
  xmc_index_remove(heap, span, 1u, 1u << order);
  xmc_index_add_called(heap, 0, span, xmc_order_in(xmc_load_relaxed64(xmc_span_word(heap, span)), order));
}

/* Claims the run that begins at `page` and has as many pages as `run` has bits, from bit 0 up, by one fetch-and: a run at a fixed place
 * needs no CAS, because it does not matter whether other pages of the span come and go. Returns 1 if the whole run was free. Else it
 * returns 0, after it gave back the part that was free, and moved `flux` for that if room was ever scarce. The run must lie in one
 * span. `map`: the header's page_map. *seen: the span's word before. */
XMC_FN int xmc_run_claim_at(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u64 run, xmc_u32 page, xmc_u64 *seen) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_u64 *word = xmc_map_span_word(heap, map, page >> XMC_SPAN_SHIFT);
  xmc_u64 mask = run << (page & (XMC_SPAN_PAGES - 1u)), got;
  xmc_u32 orders;
  *seen = xmc_and_acquire64(word, ~mask);
  got = *seen & mask;
  if (got == mask)
    return 1;
  if (got) { /* the part that was free is given back */
    mask = xmc_or_release64(word, got);
    orders = xmc_orders_gained(mask | got, mask);
    if (orders)
      xmc_index_add_called(heap, 0, page >> XMC_SPAN_SHIFT, orders);
    if (xmc_load_relaxed64(&heap->scarce) & ~XMC_ROOM_BITS)
      xmc_add_acq_rel64(&heap->flux, XMC_FLUX_MOVED);
  }
  return 0;
}

/* Searches for a run of 2^order pages, at most 16, and claims it. Returns its first page, or XMC_NONE. `turn` numbers the turns; the
 * number of the first one says how to search: */
#define XMC_RUN_HASTY 0u /* two turns by the index, then no more */
#define XMC_RUN_HOMES \
  3u /* any run in the span of `page`, whose word is `seen`, then as from XMC_RUN_INDEX. On GPUs it has eight turns: each without such
                             a run moves `page` as many runs up as there are slots, or, from the heap's end, to a place computed from
                             it. CPU devices go to the index as soon as the span shows none, so that they take low pages, which were
                             used before */
#define XMC_RUN_INDEX 11u /* follows the index until it names no such run */
XMC_FN xmc_u32 xmc_run_search(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 order, xmc_u32 page, xmc_u32 turn,
                              xmc_u64 seen) {
  XMC_AFRESH64(heap);
  xmc_u32 span, found, any, runs;
  xmc_u64 starts;
  XMC_ROLLED
  for (;; turn++) { /* from XMC_RUN_INDEX on: only for another span, or after the index was mended */
    XMC_AFRESH(order);
    if (turn == XMC_RUN_HOMES - 1u)
      return XMC_NONE;
    any = xmc_any_number(me);
    if (turn - XMC_RUN_HOMES < XMC_RUN_INDEX - XMC_RUN_HOMES) {
      starts = xmc_class_runs(seen, order);
      if (!starts) {
        if (!XMC_SIMT) {
          turn = XMC_RUN_INDEX - 1u;
          continue;
        }
        page = (page >> order) + xmc_heap_lanes(heap);
        runs = xmc_heap_present(heap) >> order;
        /* beyond the heap's end a division would be more code */
        page = (page < runs ? page : xmc_any_below(page, runs)) << order;
        seen = xmc_load_relaxed64(xmc_span_word(heap, page >> XMC_SPAN_SHIFT));
        continue;
      }
      any &= XMC_SPAN_PAGES - 1u; /* callers should not all try the same run */
      if (starts >> any)
        starts = starts >> any << any;
      page = (page & ~(XMC_SPAN_PAGES - 1u)) + xmc_lowest64(starts);
      if (xmc_run_claim_at(heap, xmc_heap_map(heap), xmc_class_run(order), page, &seen))
        return page;
      continue;
    }
    span = xmc_index_find(heap, order, any);
    if (span == XMC_NONE)
      return XMC_NONE;
    found = xmc_span_take(heap, span, order);
    if (found != XMC_NONE)
      return found;
    XMC_AFRESH(order);
    xmc_span_mend(heap, span, order);
  }
}

/* Returns the span from which a slot looks for Memoryblocks, downwards. The low six bits of the slot's number are reversed, so that the
 * first slots of each 64 (a multiprocessor's), which are in use most often, lie far apart in the heap. */
XMC_FN xmc_u32 xmc_memoryblock_home(XMC_GLOBAL xmcHeap *heap, xmc_u32 me) {
  XMC_AFRESH64(heap);
  xmc_u32 slot = xmc_slot_hint(me, xmc_heap_lanes(heap)), low = slot & 63u;
  xmc_u32 rows = (xmc_heap_lanes(heap) + 63u) >> 6;
  low = (low & 0x15u) << 1 | (low >> 1 & 0x15u); /* its six bits in reverse order */
  low = (low & 3u) << 4 | (low & 12u) | low >> 4;
  slot = (slot & ~63u) + low * (rows | 1u); /* less than 2 * 64 * rows */
  slot = slot < rows * 64u ? slot : slot - rows * 64u;
  return xmc_heap_present_spans(heap) - 1u - slot * xmc_heap_present_spans(heap) / (rows * 64u);
}

/* Claims up to `want` runs of `pages` pages, 1 to 64, in one span. Returns the mask of their pages (xmc_span_claim), and the span in
 * *at. It looks in span `near` first, if that is present. If `anywhere` is 0, it returns 0 if the index names no run of `pages` pages,
 * rounded up to a power of two. Else it takes runs that begin at any page, and returns 0 if there is none in the next `anywhere` spans
 * where the index names as much as such a run must contain. XMC_NONE means all spans; while room comes and goes `anywhere` is
 * XMC_HASTY_SPANS, because to look at all spans of a large heap would take milliseconds. */
#define XMC_HASTY_SPANS 64u
XMC_FN xmc_u64 xmc_run_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 pages, xmc_u32 want,
                             xmc_u32 anywhere, xmc_u32 near, xmc_u32 *at) {
  XMC_AFRESH64(heap);
  xmc_u32 order = pages > 1u ? 1u + xmc_highest32(pages - 1u) : 0u, left = anywhere, span, next = 0;
  xmc_u64 mask;
  if (anywhere) /* n adjacent pages hold 2^k at a multiple of 2^k if n > 2^(k + 1) - 2 */
    order = xmc_highest32(pages + 1u) - 1u;
  if (anywhere != XMC_NONE)
    next = xmc_any_number(me) % xmc_heap_present_spans(heap);
  XMC_ROLLED
  for (;;) { /* again only for another span, or after the index was mended */
    if (near < xmc_heap_present_spans(heap))
      span = near;
    else if (anywhere)
      span = left-- ? xmc_index_next(heap, order, next) : XMC_NONE;
    else
      span = xmc_index_find(heap, order, xmc_any_number(me));
    if (span == XMC_NONE)
      return 0;
    mask = xmc_span_claim(heap, span, pages, want, anywhere != 0);
    *at = span;
    if (mask)
      return mask;
    if (near < xmc_heap_present_spans(heap))
      near = XMC_NONE;
    else
      xmc_span_mend(heap, span, order);
    next = span + 1u;
  }
}

/* Finds runs that the index misses because a work-item stopped in the middle of a call. It compares up to XMC_SWEEP_SPANS spans with
 * the index, adds what the index misses, and stops at the first span that helps. Returns 1 if it added something or saw 2^order free
 * pages at a multiple of that, else 0. The number of its first span grows with the failed requests, so on CPU devices it continues
 * where the search of the last refused request ended; on GPUs xmc_any_number is added, so it starts anywhere. */
#define XMC_SWEEP_SPANS (XMC_SIMT ? 512u : 64u)
XMC_FN int xmc_index_sweep(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 order) {
  XMC_AFRESH64(heap);
  xmc_u32 spans = xmc_heap_present_spans(heap), span = (xmc_u32)xmc_load_relaxed64(&heap->failed_requests);
  xmc_u32 left = spans < XMC_SWEEP_SPANS ? spans : XMC_SWEEP_SPANS, level, found = 0, orders, i, known;
  xmc_u64 word;
  span = (xmc_any_number(me) + span * XMC_SWEEP_SPANS) % spans;
  XMC_ROLLED
  for (; left > 0 && !found; left--) {
    word = xmc_load_relaxed64(xmc_span_word(heap, span));
    orders = word ? xmc_orders_gained(word, 0) : 0;
    found |= orders >> order & 1u;
    XMC_ROLLED
    for (level = 0; level < XMC_INDEX_LEVELS && orders; level++) {
      i = span >> (3u * level);
      known = (xmc_u32)(xmc_load_relaxed64(xmc_index_word(heap, level, i)) >> (8u * (i & 7u)));
      if (orders & ~known) {
        xmc_index_add_called(heap, level, i, orders & ~known);
        found = 1;
      }
    }
    span = span + 1u < xmc_heap_present_spans(heap) ? span + 1u : 0u;
  }
  return (int)found;
}
#endif
