/* Where a search for wholly free Superblocks looks: pages, by a bit each.
 *
 *   whole         two-level bitmap   span s: whole_pages[s] is not 0
 *   whole_pages   one word a span    bit i of word s: page 64 s + i may hold one that nobody watches
 *
 * Before room was ever scarce all bits are set. A search (reclaim.cl) looks at the pages whose bits are set, retires
 * what is wholly free, sets `watched` in the words of the rest, and clears the bits. From then on
 *
 *   who makes a watched Superblock wholly free    clears `watched` and sets its page's bit    (xmc_say_whole)
 *   who starts a new one                          sets its page's bit                         (xmc_superblock_show)
 *
 * so that W in use and not watched => the bit of its page is set. The bits are hints as those of bitmap.cl are: set
 * and cleared by read-modify-writes, looked behind before and after they are cleared. Who sets the first bit of a word
 * answers for the bitmap.
 */
#ifndef XMC_WHOLE_CL
#define XMC_WHOLE_CL
#include "bitmap.cl"

XMC_FN void xmc_whole_add(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  XMC_AFRESH64(heap);
  if (xmc_or_hint64(xmc_whole_word(heap, page >> XMC_SPAN_SHIFT),
                    (xmc_u64)1 << (page & (XMC_SPAN_PAGES - 1u))) == 0)
    xmc_bitmap_set(heap, &heap->whole, page >> XMC_SPAN_SHIFT);
}

/* The first page from `page` on that is to be looked at, or XMC_NONE */
XMC_FN xmc_u32 xmc_whole_next(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  XMC_AFRESH64(heap);
  xmc_u32 span = page >> XMC_SPAN_SHIFT;
  xmc_u64 bits = 0;
  if (span < heap->spans)
    bits = xmc_load_relaxed64(xmc_whole_word(heap, span)) >> (page & (XMC_SPAN_PAGES - 1u))
                                                                 << (page & (XMC_SPAN_PAGES - 1u));
  if (!bits) {
    span = xmc_bitmap_find(heap, &heap->whole, span + 1u, heap->spans);
    if (span == XMC_NONE)
      return XMC_NONE;
    bits = xmc_load_relaxed64(xmc_whole_word(heap, span));
  }
  page = span * XMC_SPAN_PAGES + (bits ? xmc_lowest64(bits) : 0u); /* a stale bit of the bitmap: any page */
  return page < heap->pages ? page : XMC_NONE;
}

XMC_FN void xmc_whole_remove(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  XMC_AFRESH64(heap);
  xmc_u32 span = page >> XMC_SPAN_SHIFT;
  xmc_u64 bit = (xmc_u64)1 << (page & (XMC_SPAN_PAGES - 1u));
  if (xmc_and_hint64(xmc_whole_word(heap, span), ~bit) & ~bit)
    return;
  xmc_bitmap_clear(heap, &heap->whole, span);
  if (xmc_load_relaxed64(xmc_whole_word(heap, span)))
    xmc_bitmap_set(heap, &heap->whole, span);
}
#endif
