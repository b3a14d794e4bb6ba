/* SPDX-License-Identifier: MIT */
/* Coalescing: the requests of a sub-group's lanes become one request for each class, or one block.
 *
 * XMC_COALESCING, chosen when a program is built:
 *
 *   class (default)   lanes that want the same class ask together; each gets a Basicblock of its own.
 *                     The first lane of each group claims for it, and all groups do so at the same time.
 *
 *        lane      0    1    2    3    4           class 2: lanes 0 1 3 -> one CAS for 3 blocks
 *        class     2    2    7    2    7           class 7: lanes 2 4   -> one CAS for 2 blocks
 *
 *                     32 lanes of one class take a whole Superblock if one is at hand (full_group.cl).
 *
 *   compartment       all lanes share one block, of which each gets a compartment (compartment.cl).
 *
 *   none              each lane is served alone.
 *
 * On devices whose work-items do not run in lock step each work-item is served alone. There only the work-group calls (collective.cl)
 * coalesce, and the sub-group calls are the plain ones. Nothing in this file has a barrier, and all of it may be called from any
 * control flow (convergence: any lanes).
 */
#ifndef XMC_COALESCE_CL
#define XMC_COALESCE_CL
#include "malloc_alone.cl"
#include "malloc_lanes.cl"
#include "free_lanes.cl"

/* Allocates a block of the class, or a larger one by the last resort if there is none. Returns 0 if there is neither. */
XMC_FN XMC_GLOBAL char *xmc_class_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_view view, xmc_u32 cls) {
  XMC_GLOBAL char *block = 0;
  if (view.count) /* an unbuffered heap has no FIFO: its last resort looks first for what is parked */
    block = xmc_class_malloc_try(heap, me, view, cls);
  if (!block && xmc_heap_is_ours(heap))
    block = xmc_class_malloc_last(heap, me, cls);
  return block;
}

/* Allocates `size` bytes as a run of whole pages, at a multiple of `align` bytes, a power of two. Returns 0 if there is no room, or if
 * the heap's page 0 is not at a multiple of the smaller of `align` and a page. */
XMC_FN XMC_GLOBAL char *xmc_pages_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, size_t size, size_t align) {
  XMC_AFRESH64(heap);
  xmc_u32 page = XMC_NONE;
  xmc_u64 base = (xmc_u64)(size_t)xmc_page_address(heap, 0), room = xmc_data_bytes(heap);
  if (size <= room && align <= room &&
      !(base & (align < XMC_PAGE_BYTES ? align - 1u : XMC_PAGE_BYTES - 1u))) {
    xmc_u32 pages = (xmc_u32)(((xmc_u64)size + XMC_PAGE_BYTES - 1u) >> XMC_PAGE_SHIFT);
    xmc_u32 align_pages = align > XMC_PAGE_BYTES ? (xmc_u32)(align >> XMC_PAGE_SHIFT) : 1u;
    if (pages <= XMC_MAX_BLOCK_PAGES &&
        pages + align_pages - 1u <= xmc_heap_present(heap)) /* no overflow: both are at most all pages */
      page = xmc_memoryblock_malloc(heap, me, pages, align_pages);
    if (!XMC_SIMT && page != XMC_NONE) /* as in xmc_block_ahead: most often the next blocks lie behind it */
      xmc_prefetch(xmc_page_address(heap, page + 4u * pages));
  }
  return page != XMC_NONE ? xmc_page_address(heap, page) : 0;
}

#if !XMC_SIMT || XMC_COALESCING == XMC_COALESCE_NONE
/* Does the rest of the release of one block. `which`: the class, and below it the block's bit in five bits, so that there are six
 * arguments, as many as compilers for x86-64 pass in registers. */
XMC_HOT_FN void xmc_block_released(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 id,
                                   xmc_u32 which, xmc_u64 old) {
  xmc_blocks_settled(heap, me, words, which >> 5, id, 1u << (which & 31u), 1u, old);
}
/* Frees the Basicblock that begins at `place`. */
XMC_FN void xmc_class_free(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_place place) {
  xmc_u32 bits = 1u << place.bit;
  xmc_u64 old = xmc_superblock_free(xmc_word_at(heap, words, place.id), bits);
  if (!xmc_release_is_all(heap, place.cls, bits, 1u, old))
    xmc_block_released(heap, me, words, place.id, place.cls << 5 | place.bit, old);
}
#endif
#endif
