/* SPDX-License-Identifier: MIT */
/* Where a search for wholly free Superblocks looks: the whole bitmap, a bit a page.
 *
 * Before room was ever scarce the bits of all pages that are present are set. A search (reclaim.cl) looks at the pages
 * whose bits are set, retires what is wholly free, sets `watched` in the words of the rest, and clears the bits. From then on
 *
 *   who makes a watched Superblock wholly free    clears `watched` and sets its page's bit    (xmc_say_whole)
 *   who starts a new one                          sets its page's bit                         (xmc_superblock_show)
 *
 * so that W in use and not watched => the bit of its page is set. Bits are looked behind before and after they are
 * cleared, as bitmap.cl says.
 */
#ifndef XMC_WHOLE_CL
#define XMC_WHOLE_CL
#include "../pages/bitmap.cl"

XMC_FN void xmc_whole_add(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  XMC_AFRESH64(heap);
  xmc_bitmap_set(heap, XMC_WHOLE, page);
}

/* The first page from `page` on that is to be looked at, or XMC_NONE */
XMC_FN xmc_u32 xmc_whole_next(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  return xmc_bitmap_find(heap, XMC_WHOLE, page, xmc_heap_pages(heap));
}

XMC_FN void xmc_whole_remove(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  xmc_bitmap_clear(heap, XMC_WHOLE, page);
}
#endif
