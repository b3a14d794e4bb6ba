/* SPDX-License-Identifier: MIT */
/* One turn of a search for room, after which the caller looks whether it got something, and goes on or gives up: the last resort
 * of a size class, and runs of pages. */
#ifndef XMC_TURNS_CL
#define XMC_TURNS_CL
#include "allocate.cl"

/* One turn of the last resort: up to `want` blocks of the class, or of up to twice its size when there are no others, or 0. */
XMC_COLD_FN xmc_claim xmc_last_turn(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 want,
                                    xmc_search *search) {
  XMC_AFRESH64(heap);
  xmc_claim claim;
  if (!XMC_SEARCH_IS_USED(*search) && *search) /* the first turn is not the last one, whatever moves */
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

/* Block `bit` of what the last resort found, which may be of up to twice the size that was asked for. */
XMC_FN XMC_GLOBAL char *xmc_last_block(XMC_GLOBAL xmcHeap *heap, xmc_u32 id, xmc_u32 bit) {
  xmc_u32 cls = xmc_map_class(xmc_load_relaxed64(xmc_page_entry(heap, xmc_id_page(id))));
  return xmc_block_address(heap, cls, id, bit);
}

/* Lanes that want as many pages, at most a span and at no special address, take them together. */
XMC_FN int xmc_run_is_shared(xmc_u32 pages, xmc_u32 align) { return align == 1u && pages <= XMC_SPAN_PAGES; }

/* One turn for a run of pages: where it is shared, up to `want` runs in one span by one CAS, that of span `near` if it has
 * any, their mask in *mask; else one run, and 1 in *mask. Returns the span, or the page. *mask 0: there was none. */
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
