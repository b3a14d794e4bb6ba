/* SPDX-License-Identifier: MIT */
/* XMalloc for OpenCL: malloc and free for kernels. Include this file.
 *
 * A heap comes from the host (xmcCreateHeap in xmalloc.h) as a kernel argument `__global xmcHeap *heap`.
 *
 * All functions but the collective ones may be called by any work-item, from any control flow, in any
 * ND-range (convergence: any lanes). xmcMalloc acquires and xmcFree releases at device scope: what a
 * work-item wrote before it freed a block is ordered before what the block's next owner does. No call
 * waits for another work-item, except that the collective ones contain barriers. Blocks live until they are
 * freed or the heap is reset, across launches.
 *
 * Sizes are in bytes. A block is aligned to 16 bytes at least. A request or free of up to 8 KiB takes the same
 * number of steps whatever the heap's size and however many blocks live, as long as there is room. Two things
 * take longer in larger heaps: a request that finds no room, because it searches before it returns NULL, and a block of
 * more than 64 pages of 16 KiB, because its run of free pages is searched for from the heap's start.
 *
 * Bad frees (of a pointer that is not the start of a live block) change nothing and are counted, with two limits:
 *   - Once a freed block is handed out again its address is a good pointer, and a second free by its former owner
 *     frees the new owner's block. It is the new owner's own free that is counted then. Debug heaps do not tell the
 *     two apart either; they find what was written through the stale pointer before (XMC_HEAP_DEBUG 2).
 *   - A free looks up in the page map what begins at the pointer and then releases it by one atomic. If the block
 *     was free already, and in between other work-items give its page back and fill it with blocks of another
 *     size, the release may hit one of those, uncounted. To read the state word again before the release would close
 *     this window, and would cost each good free one more access that has to be waited for.
 */
#ifndef XMC_XMALLOC_CL
#define XMC_XMALLOC_CL
#include "layout/arena.h"
#include "platform/platform.h"
#include "papers/compartment.cl"

#if XMC_DEBUG /* the public names are those of debug.cl, which wrap these */
#define xmcMalloc xmc_plain_malloc
#define xmcFree xmc_plain_free
#define xmcUsableSize xmc_plain_usable_size
#define xmcCalloc xmc_plain_calloc
#define xmcRealloc xmc_plain_realloc
#define xmcAlignedAlloc xmc_plain_aligned_alloc
#endif

/* A block for 0 < size <= XMC_MAX_CLASS_BYTES of class cls; a failure is the caller's to count. It reads the view itself: handed over
 * to a called function, the view would be written to the stack and read back in other pieces, for which CPUs wait. */
XMC_FN XMC_GLOBAL char *xmc_small_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 size) {
  xmc_view view;
  xmc_view_read(heap, cls, &view);
#if XMC_SIMT && XMC_COALESCING == XMC_COALESCE_COMPARTMENT
  if (size <= XMC_MAX_COMPARTMENT_BYTES)
    return xmc_compartment_malloc(heap, me, size);
#endif
  (void)size;
  return xmc_class_malloc(heap, me, view, cls);
}

/* A block of any size of a heap that is ours; NULL for size 0. A failure is the caller's to count: nothing below a public
 * call asks for a work-item's id, so that PoCL keeps this one a call (platform.h). */
XMC_COLD_FN XMC_GLOBAL char *xmc_any_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, size_t size) {
  xmc_u32 cls;
  if (!xmc_heap_is_ours(heap))
    return 0;
  if (size - 1u >= XMC_MAX_CLASS_BYTES)
    return size > 0 ? xmc_pages_malloc(heap, me, size, 1) : 0;
  cls = xmc_class_of((xmc_u32)size);
  return xmc_small_malloc(heap, me, cls, (xmc_u32)size);
}

#if !XMC_SIMT
/* What xmc_malloc_alone calls for a request that the active Superblock does not serve: it begins anew. */
XMC_HOT_FN XMC_GLOBAL char *xmc_malloc_rest(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u64 id, size_t size) {
  XMC_GLOBAL char *block = 0;
  xmc_u32 cls;
  if (heap && size - 1u < XMC_MAX_CLASS_BYTES) {
    cls = xmc_class_of((xmc_u32)size);
    block = xmc_small_malloc(heap, me, cls, (xmc_u32)size);
  } else {
    block = xmc_any_malloc(heap, me, size);
  }
  if (!block && size > 0 && xmc_heap_is_ours(heap))
    xmc_count_failure_of(heap, size, id);
  return block;
}

/* The whole of xmcMalloc where each work-item is served alone. The active Superblock serves most requests, and what does so needs few
 * registers as a function by itself. */
XMC_HOT_FN XMC_GLOBAL char *xmc_malloc_alone(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u64 id, size_t size) {
  XMC_GLOBAL char *block = 0;
  if (heap && size - 1u < XMC_MAX_CLASS_BYTES)
    block = xmc_seat_malloc(heap, me, xmc_class_of((xmc_u32)size));
  return block ? block : xmc_malloc_rest(heap, me, id, size);
}

/* What a kernel calls, for one work-item after the other: platform.h, XMC_SCALAR_FN. */
XMC_SCALAR_FN XMC_GLOBAL char *xmc_malloc_scalar(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u64 id,
                                                 size_t size) {
  return xmc_malloc_alone(heap, me, id, size);
}
#endif

/* The whole of xmcMalloc */
XMC_REST_FN XMC_GLOBAL char *xmc_malloc(XMC_GLOBAL xmcHeap *heap, size_t size) {
  XMC_GLOBAL char *block = 0;
#if XMC_SIMT
  xmc_u32 cls;
  int small = size - 1u < XMC_MAX_CLASS_BYTES;
  XMC_OWN(heap);
  if (heap && small) {
    cls = xmc_class_of((xmc_u32)size);
    block = xmc_small_malloc(heap, xmc_caller(), cls, (xmc_u32)size);
  }
  /* `small` says again that the size is not 0, which so need not be kept. */
  if (!block && (small || size > 0) && xmc_heap_is_ours(heap)) {
    if (!small)
      block = xmc_pages_malloc(heap, xmc_caller(), size, 1);
    if (!block)
      xmc_count_failure(heap, size);
  }
#else
  block = xmc_malloc_scalar(heap, xmc_caller(), xmc_work_item(), size);
#endif
  return block;
}

/* Allocates `size` bytes. Returns NULL for size 0, and NULL when no room is left, which is counted (see
 * xmc_heap_stats). Paper 2011, figure 4. */
#if XMC_SHORT_WAY
XMC_SHORT_API XMC_GLOBAL void *xmcMalloc(XMC_GLOBAL xmcHeap *heap, size_t size) {
  XMC_GLOBAL char *block = 0;
  XMC_OWN(heap);
  if (heap && size - 1u < XMC_MAX_CLASS_BYTES)
    block = xmc_class_malloc_active(heap, xmc_caller(), xmc_class_of((xmc_u32)size));
  return block ? block : xmc_malloc(heap, size);
}
#else
XMC_SHORT_API XMC_GLOBAL void *xmcMalloc(XMC_GLOBAL xmcHeap *heap, size_t size) {
  return xmc_malloc(heap, size);
}
#endif

/* The whole of xmcFree */
XMC_HOT_FN void xmc_block_free(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, XMC_GLOBAL void *ptr) {
  xmc_map_view view;
  xmc_place place;
  if (!XMC_GEOMETRY)
    xmc_map_view_read(heap, &view); /* while the pointer may be on its way */
  if (!ptr || !heap)
    return;
  if (XMC_GEOMETRY)
    xmc_map_view_read(heap, &view);
  if (xmc_find(heap, view, ptr, &place) || (view.ours && xmc_other_freed(heap, me, ptr, &place)))
    xmc_class_free(heap, me, view.words, place);
}

/* As xmc_malloc_scalar. */
XMC_SCALAR_FN void xmc_block_free_scalar(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, XMC_GLOBAL void *ptr) {
  xmc_block_free(heap, me, ptr);
}

/* Frees a block. NULL is a no-op. A pointer that is not the start of a live block (outside the arena, inside a
 * block, freed before) changes nothing and is counted, in every build; the head of this file names the two limits. */
XMC_SHORT_API void xmcFree(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr) {
  XMC_OWN(heap);
  xmc_block_free_scalar(heap, xmc_caller(), ptr);
}

/* Bytes that may be used at ptr, at least what was asked for; 0 if ptr is no block of this heap. */
XMC_API size_t xmcUsableSize(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr) {
  xmc_place place;
  xmc_u64 word;
  if (!ptr || !xmc_heap_is_ours(heap))
    return 0;
  XMC_OWN(heap);
  xmc_find_block(heap, ptr, &place);
  if (place.cls != XMC_CLASS_MEMORYBLOCK && place.cls >= XMC_CLASSES)
    return 0;
  if (place.rest)
    return (size_t)(xmc_compartment_find(heap, place, ptr) >> 16 & 0xffffu);
  word = xmc_load_relaxed64(xmc_word_of(heap, place.id));
  if (xmc_word_class(word) != place.cls)
    return 0;
  if (place.cls == XMC_CLASS_MEMORYBLOCK)
    return (size_t)xmc_word_pages(word) << XMC_PAGE_SHIFT;
  return (word >> place.bit & 1u) ? 0 : xmc_class_bytes(place.cls);
}

/* Allocates count * size bytes, all zero. NULL, counted, if the product overflows. */
XMC_LARGE_API XMC_GLOBAL void *xmcCalloc(XMC_GLOBAL xmcHeap *heap, size_t count, size_t size) {
  size_t bytes = count * size, i;
  XMC_GLOBAL xmc_u64 *block;
  if (xmc_mul_high64(count, size) != 0 || bytes != (xmc_u64)count * size) {
    if (xmc_heap_is_ours(heap))
      xmc_count_failure(heap, ~(size_t)0);
    return 0;
  }
  block = (XMC_GLOBAL xmc_u64 *)xmcMalloc(heap, bytes);
  if (block)
    for (i = 0; i < (bytes + 7u) / 8u; i++) /* blocks are multiples of 8 */
      block[i] = 0;
  return block;
}

/* Makes a block of whole pages, of `old` bytes, one of `size` bytes where it is; 0 if it cannot be. */
XMC_FN int xmc_pages_resize(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr, size_t old, size_t size) {
  xmc_u32 page, had = (xmc_u32)(old >> XMC_PAGE_SHIFT), pages;
  if (size > xmc_data_bytes(heap))
    return 0;
  page = (xmc_u32)((xmc_arena_offset(heap, ptr) - xmc_heap_data(heap)) >> XMC_PAGE_SHIFT);
  pages = (xmc_u32)(((xmc_u64)size + XMC_PAGE_BYTES - 1u) >> XMC_PAGE_SHIFT);
  return pages == had || xmc_memoryblock_resize(heap, page, had, pages);
}

/* A block's contents in a new block of `size` bytes, or where they are; NULL if there is no room. `old`: its usable bytes */
XMC_HOT_FN XMC_GLOBAL void *xmc_move_block(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, XMC_GLOBAL void *ptr,
                                           size_t old, size_t size) {
  XMC_GLOBAL xmc_u64 *from = (XMC_GLOBAL xmc_u64 *)ptr, *to;
  int pages = old > XMC_MAX_CLASS_BYTES; /* a block of whole pages */
  size_t i;
  if (pages ? size > XMC_MAX_CLASS_BYTES && xmc_pages_resize(heap, ptr, old, size)
            : size <= old && size > old / 2u)
    return ptr;
  to = (XMC_GLOBAL xmc_u64 *)xmc_any_malloc(heap, me, size);
  if (!to) { /* a smaller one was only to save room */
    if (pages && size <= old)
      xmc_pages_resize(heap, ptr, old, size);
    return size <= old ? ptr : 0;
  }
  for (i = 0; i < ((old < size ? old : size) + 7u) / 8u; i++)
    to[i] = from[i];
  return to;
}

/* Changes a block's size, contents kept up to the smaller one; the address may change. A block of whole pages (over 8 KiB) grows
 * where it is if the pages behind it are free, and gives back those that it no longer needs. NULL for ptr
 * allocates; size 0 frees and returns NULL. On failure NULL, and the old block stays as it was. A ptr
 * that is no block of this heap is counted as an invalid free. */
XMC_LARGE_API XMC_GLOBAL void *xmcRealloc(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr, size_t size) {
  XMC_GLOBAL void *to = 0;
  size_t old;
  XMC_OWN(heap);
  if (!XMC_SIMT && !ptr)
    return xmcMalloc(heap, size);
  old = size > 0 && ptr ? xmcUsableSize(heap, ptr) : 0;
  if (old || !ptr) /* on GPUs one malloc serves both: compilers copy it to each place */
    to = xmc_move_block(heap, xmc_caller(), ptr, old, size);
  if (!to && (old || !ptr)) {
    if (size > 0 && xmc_heap_is_ours(heap))
      xmc_count_failure(heap, size);
  } else if (ptr && to != ptr) {
    xmcFree(heap, ptr); /* what is no block is counted */
  }
  return to;
}

/* A block of a class whose Basicblocks are at multiples of `alignment`, from 32 to 8,192; or a run of pages; or NULL */
XMC_COLD_FN XMC_GLOBAL char *xmc_aligned_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, size_t alignment,
                                                size_t size) {
  XMC_GLOBAL char *block = 0;
  xmc_u32 cls;
  xmc_view view;
  if (size <= XMC_MAX_CLASS_BYTES && alignment <= XMC_MAX_CLASS_BYTES &&
      !((size_t)xmc_page_address(heap, 0) & (alignment - 1u))) {
    cls = xmc_class_of((xmc_u32)(size < alignment ? alignment : size));
    while (xmc_class_bytes(cls) & (alignment - 1u))
      cls++; /* ends at 8 KiB at the latest */
    xmc_view_read(heap, cls, &view);
    block = xmc_class_malloc(heap, me, view, cls);
    if (block && !((size_t)block & (alignment - 1u)))
      return block;
    if (block) /* the last resort found one of the next classes only */
      xmc_block_free(heap, me, block);
  }
  return xmc_pages_malloc(heap, me, size, alignment);
}

/* Allocates `size` bytes at a multiple of `alignment`, a power of two up to the arena's size; NULL,
 * counted, for any other. Alignments beyond a page are of addresses on this device, at this launch. */
XMC_LARGE_API XMC_GLOBAL void *xmcAlignedAlloc(XMC_GLOBAL xmcHeap *heap, size_t alignment, size_t size) {
  XMC_GLOBAL char *block = 0;
  int is_power = alignment != 0 && alignment >> xmc_lowest64(alignment) == 1u;
  if (!xmc_heap_is_ours(heap) || (is_power && size == 0))
    return 0;
  XMC_OWN(heap);
  if (is_power && alignment <= 16u)
    return xmcMalloc(heap, size);
  if (is_power)
    block = xmc_aligned_malloc(heap, xmc_caller(), alignment, size);
  if (!block)
    xmc_count_failure(heap, size);
  return block;
}

#if XMC_DEBUG || XMC_TRACE
#include "calls/debug_header.h" /* here, for both: programs get each file once (cmake/EmbedSource.cmake) */
#endif
#if XMC_DEBUG
#undef xmcMalloc
#undef xmcFree
#undef xmcUsableSize
#undef xmcCalloc
#undef xmcRealloc
#undef xmcAlignedAlloc
#include "calls/debug.cl"
#endif

#include "regions/region_debug.cl"
#include "regions/calls.cl"
#include "calls/refs.cl"

#if XMC_OPENCL
#include "calls/collective.cl"
#include "regions/work_group.cl"
#endif
#if XMC_TRACE
#include "trace/trace.cl"
#if XMC_OPENCL
#include "trace/groups.cl"
#endif
#include "trace/site.h"
#else
#include "calls/debug_site.h"
#endif
#endif
