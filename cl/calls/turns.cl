/* SPDX-License-Identifier: MIT */
/* One turn of a search for room: of the last resort of a size class, or for runs of pages. After it the caller looks at the result, and
 * takes another turn or gives up. */
#ifndef XMC_TURNS_CL
#define XMC_TURNS_CL
#include "allocate.cl"

/* One turn of the last resort. Returns a claim of up to `want` blocks of the class, or of one of up to twice its size if there are no
 * others; or 0, and then *search says how to go on, or XMC_SEARCH_FAILED after the last turn. */
XMC_COLD_FN xmc_claim xmc_last_turn(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 want,
                                    xmc_search *search) {
  XMC_AFRESH64(heap);
  xmc_claim claim;
  if (!XMC_SEARCH_IS_USED(*search) && *search) /* the first turn needs no begin: it is never the last */
    *search = xmc_search_begins(heap, *search);
  claim = xmc_last_claim(heap, me, cls, want, *search);
  if (claim)
    return claim;
  XMC_AFRESH(*search);
  if (XMC_SEARCH_IS_USED(*search))
    *search = 0;
  else if (xmc_search_turns(*search) == XMC_SEARCH_LAST)
    *search = XMC_SEARCH_FAILED;
  else if (!xmc_make_room(heap, me, 1u, 1u, search))
    *search = XMC_SEARCH_LAST;
  return 0;
}

/* The address of block `bit` of the Superblock that the last resort found. Its class, which the page map has, may be larger than the
 * one asked for. */
XMC_FN XMC_GLOBAL char *xmc_last_block(XMC_GLOBAL xmcHeap *heap, xmc_u32 id, xmc_u32 bit) {
  xmc_u32 cls = xmc_map_class(xmc_load_relaxed64(xmc_page_entry(heap, xmc_id_page(id))));
  return xmc_block_address(heap, cls, id, bit);
}

/* 1 if lanes that want this number of pages take their runs together: up to a span each, at no special alignment. */
XMC_FN int xmc_run_is_shared(xmc_u32 pages, xmc_u32 align) { return align == 1u && pages <= XMC_SPAN_PAGES; }

/* One turn for runs of pages. If the request is shared (xmc_run_is_shared), claims up to `want` runs in one span by one CAS, in span
 * `near` if that has any; returns the span, and the mask of the runs' pages in *mask. Else claims one run; returns its first page, and
 * 1 in *mask. If there was none, *mask is 0, and *search says how to go on, or XMC_SEARCH_FAILED after the last turn. */
XMC_COLD_FN xmc_u32 xmc_run_take(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 pages, xmc_u32 align,
                                 xmc_u32 want, xmc_u32 near, xmc_search *search, xmc_u64 *mask) {
  XMC_AFRESH64(heap);
  xmc_u32 at = 0, anywhere = xmc_search_turns(*search);
  anywhere = anywhere == XMC_SEARCH_LAST ? XMC_NONE : anywhere == XMC_SEARCH_HASTY ? XMC_HASTY_SPANS : 0u;
  *mask = 0;
  if (xmc_run_is_shared(pages, align)) {
    *mask = xmc_run_claim(heap, me, pages, want, anywhere, near, &at);
  } else {
    at = xmc_memoryblock_claim(heap, me, pages, align, anywhere);
    *mask = at != XMC_NONE;
  }
  if (*mask)
    return at;
  if (xmc_search_turns(*search) >= XMC_SEARCH_HASTY) {
    *search = XMC_SEARCH_FAILED;
    return 0;
  }
  XMC_AFRESH(pages);
  *search = xmc_search_begins(heap, *search);
  if (!xmc_make_room(heap, me, pages, align, search))
    *search = xmc_search_flux(xmc_load_relaxed64(&heap->flux)) == (*search & ~0xffu) ? XMC_SEARCH_LAST
                                                                                     : XMC_SEARCH_HASTY;
  return 0;
}
#endif
