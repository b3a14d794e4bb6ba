/* SPDX-License-Identifier: MIT */
/* The debug build: blocks that show what was done to them.
 *
 * In programs built with XMC_DEBUG 1 to 3 the calls of xmalloc.cl have other names (xmc_plain_malloc, …). The public names are the calls
 * below, which dress each plain block: they put headers and fill patterns around the user's bytes. A heap is made for one level
 * (XMC_HEAP_DEBUG), which its magic word names: programs of another level get NULL from it, and their frees do nothing.
 *
 *   plain block                        user's pointer
 *   |                                  |
 *   +-----------+---------+------------+------------------------+-----------------------------+
 *   | header 16 | padding | header 16  | user's bytes           | red zone, at least 8 bytes  |
 *   +-----------+---------+------------+------------------------+-----------------------------+
 *                 0xB5                   0xA5 new, 0xDD freed     0xB5, to the plain block's end
 *
 *   The padding and the second header exist only if an alignment over 16 leaves room for them; else there is one header.
 *
 *   header: tag (4 B)     a hash of the heap's life, the header's offset, and the rest of the header; XOR LIVE or FREED;
 *                         XOR FIRST if a second header follows
 *           site (4 B)    hash of the file (16 bit), line (16 bit); 0 if not known (debug_site.h)
 *           extent (8 B)  number of user's bytes (36 bit), front / 16 (28 bit); front: bytes before them in the plain block
 *
 *   level  what it adds                                                   what it costs
 *   0      nothing: this file is not compiled                             nothing
 *   1      sizes as asked for; fill patterns; a bad free is counted with  24 bytes a block and more by its class;
 *          the user's reference; overwritten headers are counted          writes each byte in malloc and in free;
 *                                                                         collective calls: each work-item alone
 *   2      red zones checked by free, realloc and xmcCheckHeap; writes    reads the red zone in free, in malloc each
 *          after free counted when their block is handed out again        byte that was in use before
 *   3      the call that allocated each live block, for xmcForEachBlock   hashes __FILE__ in malloc, where the
 *          and xmcReportLeaks: the calls are macros                       compiler does not
 *
 * Invariants (of a plain block, between calls):
 *   it is live                   =>  the tags of its headers are those of LIVE
 *   its first header says FREED  =>  the user's bytes are all 0xDD, unless somebody wrote there after the free
 *   front + user's bytes + 8     <=  bytes of the plain block
 * A header from before a reset, or of another heap, counts as neither LIVE nor FREED, because its tag was made with another life.
 * Headers in pages that had another use in between are overwritten when the pages are carved (carve.cl, xmc_debug_remember).
 */
#ifndef XMC_DEBUG_CL
#define XMC_DEBUG_CL
#include "debug_header.h"

#if XMC_DEBUG
typedef XMC_GLOBAL xmc_debug_header *xmc_debug_at;

/* ---- bytes ---- */

XMC_HOT_FN void xmc_debug_fill(XMC_GLOBAL char *at, xmc_u64 bytes, xmc_u32 byte) {
  xmc_u64 word = byte * 0x0101010101010101u;
  for (; bytes && ((size_t)at & 7u); at++, bytes--)
    *at = (char)byte;
  for (; bytes >= 8u; at += 8, bytes -= 8u)
    *(XMC_GLOBAL xmc_u64 *)at = word;
  for (; bytes; at++, bytes--)
    *at = (char)byte;
}

#if XMC_DEBUG >= 2
/* 1 if all these bytes still have the value `byte` that they were filled with */
XMC_HOT_FN int xmc_debug_is_filled(XMC_GLOBAL const char *at, xmc_u64 bytes, xmc_u32 byte) {
  xmc_u64 word = byte * 0x0101010101010101u, wrong = 0;
  for (; bytes && ((size_t)at & 7u); at++, bytes--)
    wrong |= (xmc_u64)(*at ^ (char)byte);
  for (; bytes >= 8u; at += 8, bytes -= 8u)
    wrong |= *(XMC_GLOBAL const xmc_u64 *)at ^ word;
  for (; bytes; at++, bytes--)
    wrong |= (xmc_u64)(*at ^ (char)byte);
  return wrong == 0;
}
#endif

/* ---- headers ---- */

/* Headers are read and written by atomics: if a block is freed twice at the same time, the later free may read the header while the
 * block's next owner writes it. */
XMC_FN xmc_u32 xmc_debug_site_at(xmc_debug_at header) { return xmc_load_relaxed32(&header->site); }
XMC_FN xmc_u64 xmc_debug_extent_at(xmc_debug_at header) { return xmc_load_relaxed64(&header->extent); }
XMC_FN xmc_u32 xmc_debug_tag_at(XMC_GLOBAL xmcHeap *heap, xmc_u32 kind, xmc_debug_at header) {
  return xmc_debug_tag(kind, heap->life, xmc_arena_offset(heap, header), xmc_debug_site_at(header),
                       xmc_debug_extent_at(header));
}
XMC_FN int xmc_debug_says(XMC_GLOBAL xmcHeap *heap, xmc_u32 kind, xmc_debug_at header) {
  return xmc_load_relaxed32(&header->tag) == xmc_debug_tag_at(heap, kind, header);
}
XMC_FN void xmc_debug_write(XMC_GLOBAL xmcHeap *heap, xmc_debug_at header, xmc_u32 kind, xmc_u32 site,
                            xmc_u64 extent) {
  xmc_store_relaxed32(&header->site, site);
  xmc_store_relaxed64(&header->extent, extent);
  xmc_store_relaxed32(&header->tag, xmc_debug_tag_at(heap, kind, header));
}

/* The header in front of a user's pointer, or NULL if there can be none; the pointer may have any value. */
XMC_FN xmc_debug_at xmc_debug_header_of(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr) {
  xmc_u64 offset = xmc_arena_offset(heap, ptr);
  if ((offset & 15u) || offset - xmc_heap_data(heap) >= xmc_data_bytes(heap) ||
      offset - xmc_heap_data(heap) < XMC_DEBUG_HEADER_BYTES)
    return 0;
  return (xmc_debug_at)ptr - 1;
}

/* The usable bytes of the plain block that a live header claims to be part of; 0 if no plain block begins where it says, or if that
 * does not hold as many bytes as it says: then the header was forged. */
XMC_FN xmc_u64 xmc_debug_room(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL char *user, xmc_u64 size, xmc_u64 front) {
  xmc_u64 room = front >= XMC_DEBUG_HEADER_BYTES ? xmc_plain_usable_size(heap, user - front) : 0;
  return front < room && size <= room - front ? room : 0;
}

XMC_FN void xmc_count_red_zone(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL const void *ptr) {
  xmc_add_relaxed64(&heap->red_zone_errors, 1);
  xmc_cas_relaxed64(&heap->first_red_zone_error, 0, xmc_arena_offset(heap, ptr) + 1u);
}

/* ---- dressing and undressing ---- */

#if XMC_DEBUG >= 2
/* A plain block of `room` bytes, which begins at `header`, is handed out again. If its header says that it was freed, counts a use
 * after free if a byte that the free filled has changed. */
XMC_COLD_FN void xmc_debug_check_reuse(XMC_GLOBAL xmcHeap *heap, xmc_debug_at header, xmc_u64 room) {
  xmc_u64 size = xmc_debug_size(xmc_debug_extent_at(header)),
          front = xmc_debug_front(xmc_debug_extent_at(header));
  XMC_GLOBAL char *user = (XMC_GLOBAL char *)header + front;
  if (!xmc_debug_says(heap, xmc_debug_first(XMC_DEBUG_FREED, xmc_debug_extent_at(header)), header) ||
      front >= room)
    return;
  if (!xmc_debug_is_filled(user, size < room - front ? size : room - front, XMC_DEBUG_FREED_BYTE)) {
    xmc_add_relaxed64(&heap->use_after_frees, 1);
    xmc_cas_relaxed64(&heap->first_use_after_free, 0, xmc_arena_offset(heap, user) + 1u);
  }
}

/* Counts a red zone error if the red zone, the padding or the first of two headers of a live block was overwritten. */
XMC_COLD_FN void xmc_debug_check_zones(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL char *user, xmc_u64 size,
                                       xmc_u64 front, xmc_u64 room) {
  XMC_GLOBAL char *block = user - front;
  if (!xmc_debug_is_filled(user + size, room - front - size, XMC_DEBUG_RED_BYTE) ||
      (front > 16u && (!xmc_debug_says(heap, XMC_DEBUG_LIVE ^ XMC_DEBUG_FIRST, (xmc_debug_at)block) ||
                       !xmc_debug_is_filled(block + 16, front - 32u, XMC_DEBUG_RED_BYTE))))
    xmc_count_red_zone(heap, user);
}
#endif

/* Makes the plain block a live block of `size` bytes: writes headers and fill patterns. Returns the user's pointer. */
XMC_COLD_FN XMC_GLOBAL char *xmc_debug_dress(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL char *block, xmc_u64 align,
                                             xmc_u64 size, xmc_u32 site) {
  xmc_u64 room = xmc_plain_usable_size(heap, block);
  xmc_u64 front =
      XMC_DEBUG_HEADER_BYTES + ((0u - ((xmc_u64)(size_t)block + XMC_DEBUG_HEADER_BYTES)) & (align - 1u));
  xmc_u64 extent = xmc_debug_extent(size, front);
  XMC_GLOBAL char *user = block + front;
#if XMC_DEBUG >= 2
  xmc_debug_check_reuse(heap, (xmc_debug_at)block, room);
#endif
  if (front > 16u) {
    xmc_debug_fill(block + 16, front - 32u, XMC_DEBUG_RED_BYTE);
    xmc_debug_write(heap, (xmc_debug_at)block, XMC_DEBUG_LIVE ^ XMC_DEBUG_FIRST, site, extent);
  }
  xmc_debug_fill(user, size, XMC_DEBUG_NEW_BYTE);
  xmc_debug_fill(user + size, room - front - size, XMC_DEBUG_RED_BYTE);
  xmc_debug_write(heap, (xmc_debug_at)user - 1, XMC_DEBUG_LIVE, site, extent);
  return user;
}

/* Makes the block at a user's pointer a freed one, and returns the plain block, which the caller must free; NULL if no live block
 * begins there, which is counted. Of several frees the one whose CAS changes the header from LIVE to FREED owns the block. */
XMC_COLD_FN XMC_GLOBAL char *xmc_debug_undress(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL char *user) {
  xmc_debug_at header = xmc_debug_header_of(heap, user);
  xmc_u64 size, front, room;
  xmc_u32 live;
  if (!header) {
    xmc_count_invalid_free(heap, user);
    return 0;
  }
  live = xmc_debug_tag_at(heap, XMC_DEBUG_LIVE, header);
  size = xmc_debug_size(xmc_debug_extent_at(header));
  front = xmc_debug_front(xmc_debug_extent_at(header));
  if (xmc_load_relaxed32(&header->tag) != live && !xmc_debug_says(heap, XMC_DEBUG_FREED, header)) {
    /* If a plain block begins with this header it was overwritten, so nothing in it is trusted, and the block is freed. */
    if (!xmc_debug_says(heap, XMC_DEBUG_LIVE ^ XMC_DEBUG_FIRST, header) &&
        xmc_plain_usable_size(heap, header)) {
      xmc_count_red_zone(heap, user);
      return (XMC_GLOBAL char *)header;
    }
    xmc_count_invalid_free(heap, user);
    return 0;
  }
  if (xmc_cas_relaxed32(&header->tag, live, xmc_debug_tag_at(heap, XMC_DEBUG_FREED, header)) != live) {
    xmc_count_double_free(heap, xmc_arena_offset(heap, user), 1);
    return 0;
  }
  room = xmc_debug_room(heap, user, size, front);
  if (!room) {
    xmc_count_invalid_free(heap, user);
    return 0;
  }
#if XMC_DEBUG >= 2
  xmc_debug_check_zones(heap, user, size, front, room);
#endif
  xmc_debug_fill(user, size, XMC_DEBUG_FREED_BYTE);
  if (front > 16u)
    xmc_debug_write(heap, (xmc_debug_at)(user - front), XMC_DEBUG_FREED ^ XMC_DEBUG_FIRST,
                    xmc_debug_site_at(header), xmc_debug_extent_at(header));
  return user - front;
}

/* ---- the calls, with the site of the caller ---- */

/* Allocates a dressed block. Returns NULL if there is no room, which the caller must count. */
XMC_DEBUG_FN XMC_GLOBAL void *xmc_debug_claim(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, size_t align, size_t size,
                                              xmc_u32 site) {
  xmc_u64 bytes = (xmc_u64)size + XMC_DEBUG_HEADER_BYTES + XMC_DEBUG_MIN_RED_ZONE + (align - 16u);
  XMC_GLOBAL char *block;
  if (size > xmc_data_bytes(heap) || align > XMC_DEBUG_MAX_ALIGN || bytes > xmc_data_bytes(heap))
    return 0;
  block = xmc_any_malloc(heap, me, (size_t)bytes);
  return block ? xmc_debug_dress(heap, block, align, size, site) : 0;
}

XMC_FN XMC_GLOBAL void *xmc_debug_aligned(XMC_GLOBAL xmcHeap *heap, size_t alignment, size_t size,
                                          xmc_u32 site) {
  XMC_GLOBAL void *block = 0;
  int is_power = alignment != 0 && alignment >> xmc_lowest64(alignment) == 1u;
  XMC_OWN(heap);
  if (!xmc_heap_is_ours(heap) || (is_power && size == 0))
    return 0;
  if (is_power)
    block = xmc_debug_claim(heap, xmc_caller(), alignment < 16u ? 16u : alignment, size, site);
  if (!block)
    xmc_count_failure(heap, size);
  return block;
}

XMC_FN XMC_GLOBAL void *xmc_debug_malloc(XMC_GLOBAL xmcHeap *heap, size_t size, xmc_u32 site) {
  return xmc_debug_aligned(heap, 16u, size, site);
}

XMC_DEBUG_FN void xmc_debug_release(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, XMC_GLOBAL void *ptr) {
  XMC_GLOBAL char *block = 0;
  if (ptr && xmc_heap_is_ours(heap))
    block = xmc_debug_undress(heap, (XMC_GLOBAL char *)ptr);
  if (block)
    xmc_block_free(heap, me, block);
}
XMC_FN void xmc_debug_free(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr) {
  XMC_OWN(heap);
  xmc_debug_release(heap, xmc_caller(), ptr);
}

XMC_FN size_t xmc_debug_usable_size(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr) {
  XMC_OWN(heap);
  xmc_debug_at header = ptr && xmc_heap_is_ours(heap) ? xmc_debug_header_of(heap, ptr) : 0;
  xmc_u64 extent;
  if (!header || !xmc_debug_says(heap, XMC_DEBUG_LIVE, header))
    return 0;
  extent = xmc_debug_extent_at(header);
  return xmc_debug_room(heap, (XMC_GLOBAL char *)ptr, xmc_debug_size(extent), xmc_debug_front(extent))
             ? (size_t)xmc_debug_size(extent)
             : 0;
}

XMC_FN XMC_GLOBAL void *xmc_debug_calloc(XMC_GLOBAL xmcHeap *heap, size_t count, size_t size, xmc_u32 site) {
  size_t bytes = count * size;
  XMC_GLOBAL void *block;
  if (xmc_mul_high64(count, size) != 0 || bytes != (xmc_u64)count * size)
    bytes = ~(size_t)0;
  block = xmc_debug_malloc(heap, bytes, site);
  if (block)
    xmc_debug_fill((XMC_GLOBAL char *)block, bytes, 0);
  return block;
}

/* Makes a live block smaller where it is; the bytes that are left over join the red zone. */
XMC_COLD_FN void xmc_debug_shrink(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL char *user, xmc_u64 size) {
  xmc_debug_at header = (xmc_debug_at)user - 1;
  xmc_u64 front = xmc_debug_front(xmc_debug_extent_at(header)),
          room = xmc_plain_usable_size(heap, user - front);
#if XMC_DEBUG >= 2
  xmc_debug_check_zones(heap, user, xmc_debug_size(xmc_debug_extent_at(header)), front, room);
#endif
  xmc_debug_fill(user + size, room - front - size, XMC_DEBUG_RED_BYTE);
  xmc_debug_write(heap, header, XMC_DEBUG_LIVE, xmc_debug_site_at(header), xmc_debug_extent(size, front));
  if (front > 16u)
    xmc_debug_write(heap, (xmc_debug_at)(user - front), XMC_DEBUG_LIVE ^ XMC_DEBUG_FIRST,
                    xmc_debug_site_at(header), xmc_debug_extent(size, front));
}

/* Copies the contents of a live block of `old` bytes to a new block of `size` bytes and returns that; the caller must free the old one.
 * If there is no room for a new block and `size` is not larger, shrinks the block where it is and returns ptr; else returns NULL, which
 * the caller must count. The block moves whenever it can, so that uses of pointers to the old place are found. */
XMC_DEBUG_FN XMC_GLOBAL void *xmc_debug_move(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, XMC_GLOBAL void *ptr,
                                             size_t old, size_t size, xmc_u32 site) {
  XMC_GLOBAL char *to = (XMC_GLOBAL char *)xmc_debug_claim(heap, me, 16u, size, site);
  size_t i;
  if (!to && size <= old) {
    xmc_debug_shrink(heap, (XMC_GLOBAL char *)ptr, size);
    return ptr;
  }
  for (i = 0; to && i < (old < size ? old : size); i++)
    to[i] = ((XMC_GLOBAL char *)ptr)[i];
  return to;
}

XMC_FN XMC_GLOBAL void *xmc_debug_realloc(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr, size_t size,
                                          xmc_u32 site) {
  size_t old = xmc_debug_usable_size(heap, ptr);
  XMC_GLOBAL void *to = 0;
  XMC_OWN(heap);
  if (!ptr)
    return xmc_debug_malloc(heap, size, site);
  if (size > 0 && old) {
    to = xmc_debug_move(heap, xmc_caller(), ptr, old, size, site);
    if (!to)
      xmc_count_failure(heap, size);
  }
  if (size == 0 || !old || (to && to != ptr)) /* a pointer to no block is counted */
    xmc_debug_free(heap, ptr);
  return to;
}

/* ---- the public names: as in xmalloc.cl ---- */

XMC_API XMC_GLOBAL void *xmcMalloc(XMC_GLOBAL xmcHeap *heap, size_t size) {
  return xmc_debug_malloc(heap, size, 0);
}
XMC_API void xmcFree(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr) { xmc_debug_free(heap, ptr); }
/* Returns the size that was asked for, because the bytes behind it are red zone. */
XMC_API size_t xmcUsableSize(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr) {
  return xmc_debug_usable_size(heap, ptr);
}
XMC_API XMC_GLOBAL void *xmcCalloc(XMC_GLOBAL xmcHeap *heap, size_t count, size_t size) {
  return xmc_debug_calloc(heap, count, size, 0);
}
XMC_API XMC_GLOBAL void *xmcRealloc(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr, size_t size) {
  return xmc_debug_realloc(heap, ptr, size, 0);
}
XMC_API XMC_GLOBAL void *xmcAlignedAlloc(XMC_GLOBAL xmcHeap *heap, size_t alignment, size_t size) {
  return xmc_debug_aligned(heap, alignment, size, 0);
}
#endif
#endif
