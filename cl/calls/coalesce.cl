/* SPDX-License-Identifier: MIT */
/* Coalescing: from the requests of a sub-group's lanes to one request a class, or to one block.
 *
 * XMC_COALESCING, chosen when a program is built:
 *
 *   class (default)   lanes that want the same class ask together; each gets a Basicblock of its own.
 *                     The groups' leaders work at the same time.
 *
 *        lane      0    1    2    3    4           class 2: lanes 0 1 3 -> one CAS for 3 blocks
 *        class     2    2    7    2    7           class 7: lanes 2 4   -> one CAS for 2 blocks
 *
 *                     32 lanes of one class take a whole Superblock, if they can at once (full_group.cl).
 *
 *   compartment       one block for all, a compartment each (compartment.cl).
 *
 *   none              every lane alone.
 *
 * On devices whose work-items do not run in lock step each is served alone; there the work-group calls (collective.cl)
 * are the coalesced path, and the sub-group calls are the plain ones. None of this has a barrier; all of it may be
 * called from any control flow (convergence: any lanes).
 */
#ifndef XMC_COALESCE_CL
#define XMC_COALESCE_CL
#include "malloc_alone.cl"
#include "malloc_lanes.cl"
#include "free_lanes.cl"

/* A block of the class or, when there is none, a larger one; or 0. */
XMC_FN XMC_GLOBAL char *xmc_class_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_view view, xmc_u32 cls) {
  XMC_GLOBAL char *block = 0;
  if (view.count) /* an unbuffered heap takes what is parked before it carves */
    block = xmc_class_malloc_try(heap, me, view, cls);
  if (!block && xmc_heap_is_ours(heap))
    block = xmc_class_malloc_last(heap, me, cls);
  return block;
}

/* A request of pages, its address a multiple of `align` bytes, a power of two of at least a page */
XMC_FN XMC_GLOBAL char *xmc_pages_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, size_t size, size_t align) {
  XMC_AFRESH64(heap);
  xmc_u32 page = XMC_NONE;
  xmc_u64 base = (xmc_u64)(size_t)xmc_page_address(heap, 0), room = xmc_data_bytes(heap);
  if (size <= room && align <= room &&
      !(base & (align < XMC_PAGE_BYTES ? align - 1u : XMC_PAGE_BYTES - 1u))) {
    xmc_u32 pages = (xmc_u32)(((xmc_u64)size + XMC_PAGE_BYTES - 1u) >> XMC_PAGE_SHIFT);
    xmc_u32 align_pages = align > XMC_PAGE_BYTES ? (xmc_u32)(align >> XMC_PAGE_SHIFT) : 1u;
    if (pages <= XMC_MAX_BLOCK_PAGES &&
        pages + align_pages - 1u <= xmc_heap_present(heap)) /* both are at most as many as there are */
      page = xmc_memoryblock_malloc(heap, me, pages, align_pages);
    if (!XMC_SIMT && page != XMC_NONE) /* as xmc_block_ahead does: the next ones lie behind it most often */
      xmc_prefetch(xmc_page_address(heap, page + 4u * pages));
  }
  return page != XMC_NONE ? xmc_page_address(heap, page) : 0;
}

#if !XMC_SIMT || XMC_COALESCING == XMC_COALESCE_NONE
/* The rest of a free. `which`: the class, and below it the block's bit in five bits. So there are six arguments, as many as compilers
 * for x86-64 pass in registers. */
XMC_HOT_FN void xmc_block_released(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 id,
                                   xmc_u32 which, xmc_u64 old) {
  xmc_blocks_settled(heap, me, words, which >> 5, id, 1u << (which & 31u), 1u, old);
}
/* A Basicblock begins at `place`. */
XMC_FN void xmc_class_free(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_place place) {
  xmc_u32 bits = 1u << place.bit;
  xmc_u64 old = xmc_superblock_release(xmc_word_at(heap, words, place.id), bits);
  if (!xmc_release_is_all(heap, place.cls, bits, 1u, old))
    xmc_block_released(heap, me, words, place.id, place.cls << 5 | place.bit, old);
}
#endif
#endif
