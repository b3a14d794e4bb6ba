/* SPDX-License-Identifier: MIT */
/* Traced calls: each makes a public call and writes a record of it into the heap's ring (layout/ring.h).
 *
 * Only programs for heaps with a ring (XMC_HEAP_TRACE_BYTES) include this file. The public calls themselves are unchanged: site.h
 * replaces them by the functions below, at any debug level.
 *
 *   a request   is recorded after it got its block        so if two blocks had the same place one after the other,
 *   a free      is recorded before the block is free      their records are in that order, too
 *
 * The block's place decides whether an event is recorded: with XMC_HEAP_TRACE_EVERY n a hash chooses one place in n, and every block that
 * begins at a chosen place has its request and its free recorded. So either both are in the trace or neither is.
 * A failed request has no place; a hash of the work-item and the size chooses one in n of them. Every region is recorded, because regions
 * are few.
 *
 * Cost of a recorded event: one fetch-add on a word that all callers share, one CAS and 48 bytes written. A request or free also
 * looks its block up, to know the block's size.
 */
#ifndef XMC_TRACE_CL
#define XMC_TRACE_CL
#include "../calls/debug_header.h"
#include "../layout/ring.h"
#include "../regions/calls.cl"

/* The calls of this debug level; those of debug builds get the site of the caller. */
#if XMC_DEBUG
#define xmc_site_malloc(heap, size, site) xmc_debug_malloc(heap, size, site)
#define xmc_site_calloc(heap, count, size, site) xmc_debug_calloc(heap, count, size, site)
#define xmc_site_aligned(heap, alignment, size, site) xmc_debug_aligned(heap, alignment, size, site)
#define xmc_site_move(heap, ptr, old, size, site) xmc_debug_move(heap, xmc_caller(), ptr, old, size, site)
#define xmc_site_region_malloc(heap, region, size, site) xmc_debug_region_malloc(heap, region, size, site)
#else
#define xmc_site_malloc(heap, size, site) xmcMalloc(heap, size)
#define xmc_site_calloc(heap, count, size, site) xmcCalloc(heap, count, size)
#define xmc_site_aligned(heap, alignment, size, site) xmcAlignedAlloc(heap, alignment, size)
#define xmc_site_move(heap, ptr, old, size, site) xmc_move_block(heap, xmc_caller(), ptr, old, size)
#define xmc_site_region_malloc(heap, region, size, site) xmcRegionMalloc(heap, region, size)
#endif

/* ---- records ---- */

/* True if the hash of `number` is among the one in `every` that are recorded. */
XMC_FN int xmc_trace_is_sampled(xmc_u64 number, xmc_u32 every) {
  return xmc_mul_high64((number ^ number >> 32) * 0x9e3779b97f4a7c15u, every) == 0;
}

/* Writes an event into the ring. The event is lost if its record is being written or holds a later event (ring.h). The record is whole
 * when `state` is, which the last store releases. Any lanes. */
XMC_CALL_FN void xmc_trace_write(XMC_GLOBAL xmcHeap *heap, xmc_u64 what, xmc_u64 size, xmc_u64 room,
                                 xmc_u32 site, xmc_u32 item) {
  xmc_u64 place = xmc_add_relaxed64(&xmc_trace_ring_of(heap)->taken, 1), whole = xmc_trace_state(place), old;
  XMC_GLOBAL xmc_trace_record *record = xmc_trace_record_of(heap, place);
  old = xmc_load_relaxed64(&record->state);
  if ((old & 1u) || old > whole || xmc_cas_acquire64(&record->state, old, whole | 1u) != old)
    return;
  xmc_store_relaxed64(&record->time, xmc_clock());
  xmc_store_relaxed64(&record->what, what);
  xmc_store_relaxed64(&record->size, size);
  xmc_store_relaxed64(&record->room, room);
  xmc_store_relaxed32(&record->site, site);
  xmc_store_relaxed32(&record->item, item);
  xmc_store_release64(&record->state, whole);
}

XMC_FN int xmc_trace_is_on(XMC_GLOBAL xmcHeap *heap) {
  return xmc_heap_is_ours(heap) && heap->trace_records != 0;
}
XMC_FN xmc_u32 xmc_trace_track_of(xmc_u32 me) { return xmc_slot_hint(me, 0x10000u); }

/* Returns the bytes of a live block as the statistics count them, which in debug heaps include header and red zones; 0 if `ptr` is none. */
XMC_CALL_FN xmc_u64 xmc_trace_room(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr) {
#if XMC_DEBUG
  xmc_debug_at header = xmc_debug_header_of(heap, ptr);
  xmc_u64 extent;
  if (!header || !xmc_debug_says(heap, XMC_DEBUG_LIVE, header))
    return 0;
  extent = xmc_debug_extent_at(header);
  return xmc_debug_room(heap, (XMC_GLOBAL char *)ptr, xmc_debug_size(extent), xmc_debug_front(extent));
#else
  return xmcUsableSize(heap, ptr);
#endif
}

/* True if the requests and frees of blocks that begin at `ptr` are recorded. */
XMC_FN int xmc_trace_has(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL const void *ptr) {
  return xmc_trace_is_sampled(xmc_arena_offset(heap, ptr) >> 4, heap->trace_every);
}

/* Records the request or free of a block, if the hash chose its place. `room`: the block's bytes; for a region's block, the region */
XMC_CALL_FN void xmc_trace_block(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 kind, XMC_GLOBAL void *ptr,
                                 xmc_u64 size, xmc_u64 room, xmc_u32 site, xmc_u32 item) {
  if (xmc_trace_has(heap, ptr))
    xmc_trace_write(heap, xmc_trace_what(kind, xmc_trace_track_of(me), xmc_arena_offset(heap, ptr)), size,
                    room, site, item);
}

/* Records, if the hash chooses it, an event without a place: a request for `size` bytes that got NULL, or a bad region. */
XMC_CALL_FN void xmc_trace_mistake(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 kind, xmc_u64 size,
                                   xmc_u32 site, xmc_u64 item) {
  if (xmc_trace_is_sampled(item * 31u + size, heap->trace_every))
    xmc_trace_write(heap, xmc_trace_what(kind, xmc_trace_track_of(me), 0), size, 0, site, (xmc_u32)item);
}

/* Called after a request for `size` bytes: records the block that it got, or the failure if `block` is NULL. */
XMC_CALL_FN void xmc_trace_got(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, XMC_GLOBAL void *block, xmc_u64 size,
                               xmc_u32 site, xmc_u64 item) {
  if (!xmc_trace_is_on(heap))
    return;
  if (!block && size > 0)
    xmc_trace_mistake(heap, me, XMC_TRACE_FAILURE, size, site, item);
  else if (block && xmc_trace_has(heap, block)) /* tested here first, to look up few blocks' room */
    xmc_trace_block(heap, me, XMC_TRACE_MALLOC, block, size, xmc_trace_room(heap, block), site,
                    (xmc_u32)item);
}

/* Called before a free: records the free, or a bad free if no live block begins at `ptr`. */
XMC_CALL_FN void xmc_trace_freed(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, XMC_GLOBAL void *ptr, xmc_u32 site,
                                 xmc_u64 item) {
  xmc_u64 room;
  if (!ptr || !xmc_trace_is_on(heap) || !xmc_trace_has(heap, ptr))
    return;
  room = xmc_trace_room(heap, ptr);
  if (room)
    xmc_trace_block(heap, me, XMC_TRACE_FREE, ptr, 0, room, site, (xmc_u32)item);
  else
    xmc_trace_write(heap, xmc_trace_what(XMC_TRACE_BAD_FREE, xmc_trace_track_of(me), 0), 0,
                    xmc_arena_offset(heap, ptr), site, (xmc_u32)item);
}

/* ---- the calls: each does and returns what its namesake of xmalloc.cl or regions/calls.cl does ---- */

XMC_FN XMC_GLOBAL void *xmc_trace_malloc(XMC_GLOBAL xmcHeap *heap, size_t size, xmc_u32 site) {
  XMC_GLOBAL void *block = xmc_site_malloc(heap, size, site);
  XMC_OWN(heap);
  xmc_trace_got(heap, xmc_caller(), block, size, site, xmc_work_item());
  return block;
}

XMC_FN void xmc_trace_free(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr, xmc_u32 site) {
  XMC_OWN(heap);
  xmc_trace_freed(heap, xmc_caller(), ptr, site, xmc_work_item());
  xmcFree(heap, ptr);
}

XMC_FN XMC_GLOBAL void *xmc_trace_calloc(XMC_GLOBAL xmcHeap *heap, size_t count, size_t size, xmc_u32 site) {
  XMC_GLOBAL void *block = xmc_site_calloc(heap, count, size, site);
  size_t bytes = count * size;
  if (xmc_mul_high64(count, size) != 0 || bytes != (xmc_u64)count * size)
    bytes = ~(size_t)0;
  XMC_OWN(heap);
  xmc_trace_got(heap, xmc_caller(), block, bytes, site, xmc_work_item());
  return block;
}

XMC_FN XMC_GLOBAL void *xmc_trace_aligned_alloc(XMC_GLOBAL xmcHeap *heap, size_t alignment, size_t size,
                                                xmc_u32 site) {
  XMC_GLOBAL void *block = xmc_site_aligned(heap, alignment, size, site);
  XMC_OWN(heap);
  xmc_trace_got(heap, xmc_caller(), block, size, site, xmc_work_item());
  return block;
}

/* Reallocates a live block of `old` usable bytes to `size` bytes, neither of them 0. If the block moves, both records are written before
 * the old block is freed, because another work-item may get its place right afterwards. */
XMC_FN XMC_GLOBAL void *xmc_trace_realloc_live(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr, size_t old,
                                               size_t size, xmc_u32 site) {
  int on = xmc_trace_is_on(heap);
  xmc_u64 room = on ? xmc_trace_room(heap, ptr) : 0;
  XMC_GLOBAL void *to = xmc_site_move(heap, ptr, old, size, site);
  xmc_u32 item = (xmc_u32)xmc_work_item();
  if (!to) {
    xmc_count_failure(heap, size);
    xmc_trace_got(heap, xmc_caller(), 0, size, site, xmc_work_item());
    return 0;
  }
  if (on) {
    xmc_trace_block(heap, xmc_caller(), XMC_TRACE_REALLOC_FREE, ptr, 0, room, site, item);
    xmc_trace_block(heap, xmc_caller(), XMC_TRACE_REALLOC_MALLOC, to, size, xmc_trace_room(heap, to), site,
                    item);
  }
  if (to != ptr)
    xmcFree(heap, ptr);
  return to;
}

XMC_FN XMC_GLOBAL void *xmc_trace_realloc(XMC_GLOBAL xmcHeap *heap, XMC_GLOBAL void *ptr, size_t size,
                                          xmc_u32 site) {
  size_t old;
  XMC_OWN(heap);
  if (!ptr)
    return xmc_trace_malloc(heap, size, site);
  old = size > 0 ? xmcUsableSize(heap, ptr) : 0;
  if (old)
    return xmc_trace_realloc_live(heap, ptr, old, size, site);
  xmc_trace_free(heap, ptr, site);
  return 0;
}

/* Records the creation, reset or end of a region, or a failed creation or a bad handle. Called before a free or reset. */
XMC_CALL_FN void xmc_trace_region(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 kind, xmcRegion region,
                                  xmc_u32 site, xmc_u64 item) {
  if (!xmc_trace_is_on(heap))
    return;
  if (region && xmc_region_is_live(heap, region))
    xmc_trace_write(heap, xmc_trace_what(kind, xmc_trace_track_of(me), 0), 0, region, site, (xmc_u32)item);
  else if (kind == XMC_TRACE_REGION_CREATE)
    xmc_trace_mistake(heap, me, XMC_TRACE_FAILURE, XMC_REGION_PAGES * XMC_PAGE_BYTES, site, item);
  else if (region)
    xmc_trace_mistake(heap, me, XMC_TRACE_BAD_FREE, 0, site, item);
}

/* Called after a request in a region: records the block that it got, or the failure if `block` is NULL. */
XMC_CALL_FN void xmc_trace_region_got(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmcRegion region,
                                      XMC_GLOBAL void *block, xmc_u64 size, xmc_u32 site, xmc_u64 item) {
  if (!xmc_trace_is_on(heap))
    return;
  if (block)
    xmc_trace_block(heap, me, XMC_TRACE_REGION_MALLOC, block, size, region, site, (xmc_u32)item);
  else if (size > 0)
    xmc_trace_mistake(heap, me, xmc_region_is_live(heap, region) ? XMC_TRACE_FAILURE : XMC_TRACE_BAD_FREE,
                      size, site, item);
}

XMC_FN xmcRegion xmc_trace_region_create_for(XMC_GLOBAL xmcHeap *heap, xmc_u32 sub_groups, xmc_u32 site) {
  xmcRegion region = xmcRegionCreateFor(heap, sub_groups);
  XMC_OWN(heap);
  xmc_trace_region(heap, xmc_caller(), XMC_TRACE_REGION_CREATE, region, site, xmc_work_item());
  return region;
}
XMC_FN xmcRegion xmc_trace_region_create(XMC_GLOBAL xmcHeap *heap, xmc_u32 site) {
  return xmc_trace_region_create_for(heap, xmc_heap_is_ours(heap) ? xmc_heap_lanes(heap) : 0, site);
}

XMC_FN XMC_GLOBAL void *xmc_trace_region_malloc(XMC_GLOBAL xmcHeap *heap, xmcRegion region, size_t size,
                                                xmc_u32 site) {
  XMC_GLOBAL void *block = xmc_site_region_malloc(heap, region, size, site);
  XMC_OWN(heap);
  xmc_trace_region_got(heap, xmc_caller(), region, block, size, site, xmc_work_item());
  return block;
}

XMC_FN void xmc_trace_region_free(XMC_GLOBAL xmcHeap *heap, xmcRegion region, xmc_u32 site) {
  XMC_OWN(heap);
  xmc_trace_region(heap, xmc_caller(), XMC_TRACE_REGION_FREE, region, site, xmc_work_item());
  xmcRegionFree(heap, region);
}
XMC_FN void xmc_trace_region_reset(XMC_GLOBAL xmcHeap *heap, xmcRegion region, xmc_u32 site) {
  XMC_OWN(heap);
  xmc_trace_region(heap, xmc_caller(), XMC_TRACE_REGION_RESET, region, site, xmc_work_item());
  xmcRegionReset(heap, region);
}
#endif
