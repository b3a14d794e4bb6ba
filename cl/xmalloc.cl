/* SPDX-License-Identifier: MIT */
/* XMalloc for OpenCL: malloc and free for kernels. Include this file.
 *
 * The host creates a heap (xmcCreateHeap in xmalloc.h) and passes it as a kernel argument `__global xmcHeap *heap`. Sizes and alignments
 * are in bytes. A block starts at a multiple of 16 bytes; it lives, also across launches, until it is freed or the heap is reset. No call
 * waits for another work-item, except that the collective functions contain barriers. What else holds for all functions:
 *
 * - Convergence: any lanes, from any control flow, in any ND-range; every work-item of a group must call the collective functions.
 * - Memory order: a free releases, and an allocation comes after all that the block's former owner did with the block, at device scope.
 *   It is no acquire for other memory: on NVIDIA's devices it makes nothing visible that other work-items wrote elsewhere. The block's
 *   old contents are not specified.
 * - If `heap` is NULL or of another kind than the program was built for, requests return NULL, frees do nothing, nothing is counted.
 * - Cost: while there is room, a request or free of up to 8 KiB takes the same number of steps whatever the heap's size and however
 *   many blocks live. Two things take longer in larger heaps: a request that finds no room, because it searches before it returns NULL,
 *   and a block of more than 64 pages of 16 KiB, because its run of free pages is searched for from the heap's start.
 *
 * A bad free (of a pointer that is not the start of a live block) changes nothing and is counted, with two limits:
 * - If the block's memory was handed out again after the free, the pointer is valid again, and a second free by the former owner frees
 *   the new owner's block; the new owner's own free is the one that is counted then. Debug heaps cannot tell the two frees apart either,
 *   but they find what was written through the stale pointer before the memory was handed out again (XMC_HEAP_DEBUG 2).
 * - A free looks up in the page map which block starts at the pointer, and then releases the block by one atomic. If the block was free
 *   already, and others return its page and fill it with blocks of another size between these steps, the release may free one of those,
 *   uncounted. A second read of the state word before the release would close this window, but each valid free would wait for it.
 */
#ifndef XMC_XMALLOC_CL
#define XMC_XMALLOC_CL
#include "layout/arena.h"
#include "platform/platform.h"
#include "papers/compartment.cl"

#if XMC_DEBUG /* the public names belong to the functions of debug.cl, which wrap these */
#define xmcMalloc xmc_plain_malloc
#define xmcFree xmc_plain_free
#define xmcUsableSize xmc_plain_usable_size
#define xmcCalloc xmc_plain_calloc
#define xmcRealloc xmc_plain_realloc
#define xmcAlignedAlloc xmc_plain_aligned_alloc
#endif

#if !XMC_COMPARTMENTS
/* Returns a block of class cls for 0 < size <= XMC_MAX_CLASS_BYTES, or NULL, a failure that the caller must count. It reads the view
 * itself: a view passed to a called function would be written to the stack and read back in other pieces, for which CPUs wait. */
XMC_FN XMC_GLOBAL char *xmc_small_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 size) {
  xmc_view view;
  (void)size;
  xmc_view_read(heap, cls, &view);
  return xmc_class_malloc(heap, me, view, cls);
}
#endif

/* Returns a block of any size; NULL for size 0 or another kind of heap; NULL if there is no room, a failure that the caller must count:
 * that needs the work-item's id, for which only public calls ask, since PoCL would inline this function if it did (platform.h). */
XMC_COLD_FN XMC_GLOBAL char *xmc_any_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, size_t size) {
  XMC_GLOBAL char *block;
  xmc_u32 cls;
  if (!xmc_heap_is_ours(heap))
    return 0;
  if (size - 1u >= XMC_MAX_CLASS_BYTES) {
    block = size > 0 ? xmc_pages_malloc(heap, me, size, 1) : 0;
  } else {
    cls = xmc_class_of((xmc_u32)size);
    block = xmc_small_malloc(heap, me, cls, (xmc_u32)size);
  }
  return XMC_JOINS && !block && size > 0 ? xmc_joined_malloc(heap, size) : block;
}

#if !XMC_SIMT
/* Serves a request of a size class that the active Superblock could not serve, from the start. Counts a failure. */
XMC_HOT_FN XMC_GLOBAL char *xmc_malloc_rest(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u64 id, xmc_u32 cls,
                                            size_t size) {
  XMC_GLOBAL char *block = xmc_small_malloc(heap, me, cls, (xmc_u32)size);
  if (block || !xmc_heap_is_ours(heap))
    return block;
  block = XMC_JOINS ? xmc_joined_malloc(heap, size) : 0;
  if (!block)
    xmc_count_failure_of(heap, size, id);
  return block;
}

/* Serves a request of a size class. The active Superblock serves most requests; the code for that is a function of its own, without the
 * rest, because it then needs few registers. */
XMC_HOT_FN XMC_GLOBAL char *xmc_malloc_sized(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u64 id, size_t size) {
  xmc_u32 cls = xmc_class_of((xmc_u32)size);
  XMC_GLOBAL char *block;
  if (!heap || size - 1u >= XMC_MAX_CLASS_BYTES) /* the size is never so, but GCC 14 warns without this */
    return 0;
  block = xmc_seat_malloc(heap, me, cls);
  return block ? block : xmc_malloc_rest(heap, me, id, cls, size);
}

/* Serves a request of another size. Counts a failure. */
XMC_HOT_FN XMC_GLOBAL char *xmc_malloc_other(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u64 id, size_t size) {
  XMC_GLOBAL char *block = xmc_any_malloc(heap, me, size);
  if (!block && size > 0 && xmc_heap_is_ours(heap))
    xmc_count_failure_of(heap, size, id);
  return block;
}

/* All of xmcMalloc on devices where each work-item is served alone. It is inlined, so that a program whose sizes are all constant and
 * small does not contain what larger blocks need. */
XMC_FN XMC_GLOBAL char *xmc_malloc_alone(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u64 id, size_t size) {
  return size - 1u < XMC_MAX_CLASS_BYTES ? xmc_malloc_sized(heap, me, id, size)
                                         : xmc_malloc_other(heap, me, id, size);
}

/* Kernels call this function; it serves one work-item after the other (XMC_SCALAR_FN in platform.h). */
XMC_SCALAR_FN XMC_GLOBAL char *xmc_malloc_scalar(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u64 id,
                                                 size_t size) {
  return xmc_malloc_alone(heap, me, id, size);
}

/* All of xmcMalloc */
XMC_REST_FN XMC_GLOBAL char *xmc_malloc(XMC_GLOBAL xmcHeap *heap, size_t size) {
  return xmc_malloc_scalar(heap, xmc_caller(), xmc_work_item(), size);
}
#else
/* The same where lanes run in lock step */
XMC_REST_FN XMC_GLOBAL char *xmc_malloc(XMC_GLOBAL xmcHeap *heap, size_t size) {
  XMC_GLOBAL char *block = 0;
  xmc_u32 cls;
  XMC_OWN(heap);
  if (heap && size - 1u < XMC_MAX_CLASS_BYTES) {
    cls = xmc_class_of((xmc_u32)size);
    block = xmc_small_malloc(heap, xmc_caller(), cls, (xmc_u32)size);
  }
  if (!block && size > 0 && xmc_heap_is_ours(heap)) {
    if (size > XMC_MAX_CLASS_BYTES)
      block = xmc_pages_malloc(heap, xmc_caller(), size, 1);
    if (!block)
      xmc_count_failure(heap, size);
  }
  return block;
}
#endif

/* Allocates `size` bytes, not initialised, at a multiple of 16 bytes. Returns the block. Returns NULL for size 0, which is no failure,
 * and NULL if no room is left or `size` is larger than the heap, which is counted (failed_requests in xmc_heap_stats). Convergence: any
 * lanes. Memory order: see above. Cost: mostly one compare-and-swap on the state word of a Superblock; on GPUs, lanes of a sub-group that
 * ask for the same size class at the same time share it. Paper 2011, figure 4. */
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

/* All of xmcFree */
XMC_HOT_FN void xmc_block_free(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, XMC_GLOBAL void *ptr) {
  xmc_map_view view;
  xmc_place place;
  if (!XMC_GEOMETRY)
    xmc_map_view_read(heap, &view); /* before the test of `ptr`, which may not be loaded yet */
  if (!ptr || !heap)
    return;
  if (XMC_GEOMETRY)
    xmc_map_view_read(heap, &view);
  if (xmc_find(heap, view, ptr, &place, 1) || (view.ours && xmc_other_freed(heap, me, ptr, &place)))
    xmc_class_free(heap, me, view.words, place);
}

/* Kernels call this function, for the same reason as xmc_malloc_scalar. */
XMC_SCALAR_FN void xmc_block_free_scalar(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, XMC_GLOBAL void *ptr) {
  xmc_block_free(heap, me, ptr);
}

/* Frees the block at `ptr`; if `ptr` is NULL nothing happens. A pointer that is not the start of a live block (outside the arena, inside
 * a block, freed before) changes nothing and is counted (invalid_frees or double_frees), in every build; the head of this file names two
 * limits. Convergence: any lanes. Memory order: release. Cost: mostly one load of the page map and one fetch-or on the state word of a
 * Superblock; on GPUs, lanes of a sub-group whose blocks are of the same Superblock share the fetch-or. */
XMC_SHORT_API void xmcFree(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr) {
  XMC_OWN(heap);
  xmc_block_free_scalar(heap, xmc_caller(), ptr);
}

/* Returns how many bytes may be used at `ptr`: at least the size that was requested, usually the block size of its class. Returns 0 if
 * `ptr` is NULL or is not the start of a live block of this heap. It changes and counts nothing, and what it returns for a block that
 * another work-item frees at the same time means nothing. Convergence: any lanes. Memory order: relaxed loads only. Cost: a few loads. */
XMC_API size_t xmcUsableSize(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr) {
  xmc_place place;
  xmc_u64 word;
  xmc_u32 count = 1;
  if (!ptr || !xmc_heap_is_ours(heap))
    return 0;
  XMC_OWN(heap);
  if (!xmc_find_block(heap, ptr, &place) && XMC_JOINS)
    count = xmc_joined_find(heap, &place); /* 0: place.cls is no size class, or place.rest is not 0 */
  if (place.cls != XMC_CLASS_MEMORYBLOCK && place.cls >= XMC_CLASSES)
    return 0;
  if (place.rest)
    return (size_t)(xmc_compartment_find(heap, place, ptr) >> 16 & 0xffffu);
  word = xmc_load_relaxed64(xmc_word_of(heap, place.id));
  if (xmc_word_class(word) != place.cls)
    return 0;
  if (place.cls == XMC_CLASS_MEMORYBLOCK)
    return (size_t)xmc_word_pages(word) << XMC_PAGE_SHIFT;
  return (word >> place.bit & 1u) ? 0 : count * xmc_class_bytes(place.cls);
}

/* Allocates count * size bytes and sets them to 0 by plain stores. Returns the block; NULL if the product is 0; NULL, a failed request,
 * if it overflows size_t or no room is left. Convergence: any lanes. Memory order: as xmcMalloc. Cost: xmcMalloc's and that of the stores. */
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
    for (i = 0; i < (bytes + 7u) / 8u; i++) /* the size of a block is a multiple of 8 bytes */
      block[i] = 0;
  return block;
}

/* Changes the size of a block of whole pages in place, from `old` to `size` bytes. Returns 1, or 0 if that is not possible. */
XMC_FN int xmc_pages_resize(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr, size_t old, size_t size) {
  xmc_u32 page, had = (xmc_u32)(old >> XMC_PAGE_SHIFT), pages;
  if (size > xmc_data_bytes(heap))
    return 0;
  page = (xmc_u32)((xmc_arena_offset(heap, ptr) - xmc_heap_data(heap)) >> XMC_PAGE_SHIFT);
  pages = (xmc_u32)(((xmc_u64)size + XMC_PAGE_BYTES - 1u) >> XMC_PAGE_SHIFT);
  return pages == had || xmc_memoryblock_resize(heap, page, had, pages);
}

/* Returns a block of `size` bytes with the contents of the block at ptr, of which `old` bytes are usable: the same block if it can stay,
 * or a new one, to which the contents are copied; the caller must then free the old one. Returns NULL if there is no room. */
XMC_HOT_FN XMC_GLOBAL void *xmc_move_block(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, XMC_GLOBAL void *ptr,
                                           size_t old, size_t size) {
  XMC_GLOBAL xmc_u64 *from = (XMC_GLOBAL xmc_u64 *)ptr, *to;
  int pages = old >= XMC_PAGE_BYTES; /* a block of whole pages */
  size_t i;
  if (pages ? size > XMC_MAX_CLASS_BYTES && xmc_pages_resize(heap, ptr, old, size)
            : size <= old && size > old / 2u)
    return ptr;
  to = (XMC_GLOBAL xmc_u64 *)xmc_any_malloc(heap, me, size);
  if (!to) { /* no room: a block that need not grow stays, since a smaller one was only to save room */
    if (pages && size <= old)
      xmc_pages_resize(heap, ptr, old, size);
    return size <= old ? ptr : 0;
  }
  for (i = 0; i < ((old < size ? old : size) + 7u) / 8u; i++)
    to[i] = from[i];
  return to;
}

/* Changes the size of the block at `ptr` to `size` bytes and returns it; its address may change. The contents are kept up to the smaller
 * of the two sizes. If `ptr` is NULL the call allocates; if `size` is 0 it frees and returns NULL. A block of whole pages (over 8 KiB)
 * grows in place if the pages behind it are free, and returns pages it no longer needs. If there is no room to grow, the call returns
 * NULL, counts a failed request, and leaves the old block as it was. If `ptr` is not the start of a live block, it returns NULL and
 * counts a bad free. Convergence: any lanes. Memory order: as xmcMalloc and xmcFree. Cost: if it moves, malloc, copy and free. */
XMC_LARGE_API XMC_GLOBAL void *xmcRealloc(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr, size_t size) {
  XMC_GLOBAL void *to = 0;
  size_t old;
  XMC_OWN(heap);
  if (!XMC_SIMT && !ptr)
    return xmcMalloc(heap, size);
  old = size > 0 && ptr ? xmcUsableSize(heap, ptr) : 0;
  if (old || !ptr) /* on GPUs one malloc for both cases: compilers copy it to each place that calls */
    to = xmc_move_block(heap, xmc_caller(), ptr, old, size);
  if (!to && (old || !ptr)) {
    if (size > 0 && xmc_heap_is_ours(heap))
      xmc_count_failure(heap, size);
  } else if (ptr && to != ptr) {
    xmcFree(heap, ptr); /* which counts a bad free if ptr is no block */
  }
  return to;
}

/* Returns a block at a multiple of `alignment`, a power of two from 32 on: of a class whose Basicblocks all are at such addresses, if
 * size and alignment are at most 8 KiB, or else a run of pages; or NULL, a failure that the caller must count. */
XMC_COLD_FN XMC_GLOBAL char *xmc_aligned_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, size_t alignment,
                                                size_t size) {
  XMC_GLOBAL char *block = 0;
  xmc_u32 cls;
  xmc_view view;
  if (size <= XMC_MAX_CLASS_BYTES && alignment <= XMC_MAX_CLASS_BYTES &&
      !((size_t)xmc_page_address(heap, 0) & (alignment - 1u))) {
    cls = xmc_class_of((xmc_u32)(size < alignment ? alignment : size));
    while (xmc_class_bytes(cls) & (alignment - 1u))
      cls++; /* ends at the class of 8 KiB at the latest */
    xmc_view_read(heap, cls, &view);
    block = xmc_class_malloc(heap, me, view, cls);
    if (block && !((size_t)block & (alignment - 1u)))
      return block;
    if (block) /* the last resort found a block only in one of the next classes */
      xmc_block_free(heap, me, block);
  }
  return xmc_pages_malloc(heap, me, size, alignment);
}

/* Allocates `size` bytes, not initialised, at an address that is a multiple of `alignment` bytes, a power of two up to the arena's size.
 * Returns the block; NULL for size 0; NULL, counted as a failed request, if no room is left or for any other alignment. The alignment is
 * that of the address on this device in this launch; a heap that was loaded from a file or has grown may refuse alignments above 16.
 * Convergence: any lanes. Memory order: as xmcMalloc. Cost: that of xmcMalloc; alignments above 8 KiB take whole pages. */
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
#include "calls/debug_header.h" /* here, because both use it and programs get each file once (cmake/EmbedSource.cmake) */
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
