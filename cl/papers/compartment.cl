/* SPDX-License-Identifier: MIT */
/* Compartments (paper 2011, figures 3 and 4): lanes that allocate together get one block, in which each has a compartment. In bytes:
 *
 *        0        8                72               136             184                    312
 *        +--------+----------------+----------------+---------------+----------------------+
 *        | count 4| hdr|   56      | hdr|   56      | hdr|   40     | hdr|      120        |
 *        +--------+----------------+----------------+---------------+----------------------+
 *         header   64               64               48              128
 *
 * The block's header counts its live compartments; the free that brings the count to 0 returns the block. A compartment's header holds
 * its offset in the block, its size and a tag. A single lane, a request of more than 2 KiB, and lanes that together ask for more than 8
 * KiB get plain blocks. xmcMalloc makes compartments in programs built for XMC_COALESCE_COMPARTMENT; xmcFree knows them in all programs.
 */
#ifndef XMC_COMPARTMENT_CL
#define XMC_COMPARTMENT_CL
#include "../calls/coalesce.cl"
#include "../calls/joined.cl"

#define XMC_COALESCED_HEADER_BYTES 8u
#define XMC_COMPARTMENT_HEADER_BYTES 8u
#define XMC_MAX_COMPARTMENT_BYTES 2048u

/* Returns the header of a compartment of `bytes` bytes whose payload is at `offset` in the arena and at `rest` in its block. */
XMC_FN xmc_u64 xmc_compartment_header(xmc_u64 offset, xmc_u32 rest, xmc_u32 bytes) {
  xmc_u32 tag = (xmc_u32)(offset >> 3) * 2654435769u ^ 0x434f4d50u;
  return (xmc_u64)tag << 32 | (xmc_u64)bytes << 16 | rest;
}
/* Returns the header of the live compartment whose payload starts at ptr, an address inside the block at `place`; 0 if there is none.
 * Headers lie in users' memory, so a header with more bytes than the block has is refused. */
XMC_FN xmc_u64 xmc_compartment_find(XMC_GLOBAL xmcHeap *heap, xmc_place place, XMC_GLOBAL const void *ptr) {
  xmc_u64 offset = xmc_arena_offset(heap, ptr), header;
  xmc_u32 bytes;
  if (heap->coalescing != XMC_COALESCE_COMPARTMENT || place.cls >= XMC_CLASSES || place.rest < 16u ||
      (offset & 7u))
    return 0;
  header = xmc_load_relaxed64((XMC_GLOBAL const xmc_u64 *)ptr - 1);
  bytes = (xmc_u32)(header >> 16) & 0xffffu;
  return header == xmc_compartment_header(offset, place.rest, bytes) &&
                 bytes <= xmc_class_bytes(place.cls) - place.rest
             ? header
             : 0;
}

/* 1 in programs whose mallocs make compartments */
#define XMC_COMPARTMENTS (XMC_SIMT && XMC_COALESCING == XMC_COALESCE_COMPARTMENT)
#if XMC_COMPARTMENTS
/* Returns a compartment or a block for each lane that calls, or NULL. Any lanes: those that call together share a block. */
XMC_FN XMC_GLOBAL char *xmc_compartment_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 size) {
  xmc_lanes group = xmc_lanes_matching(xmc_lane_key(heap, 0)), rest;
  /* mine: bytes of header and payload, a multiple of 16, so that each payload is aligned to 16 bytes */
  xmc_u32 mine = (size + XMC_COMPARTMENT_HEADER_BYTES + 15u) & ~15u, before = 0,
          total = XMC_COALESCED_HEADER_BYTES, lane, cls, ask, alone;
  xmc_u32 first = xmc_lanes_first(group), low, high;
  XMC_GLOBAL char *block = 0;
  xmc_u64 offset = 0;
  xmc_view view;
  for (rest = group; rest; rest = xmc_lanes_drop(rest, 1)) {
    lane = xmc_lanes_first(rest);
    if (lane == xmc_lane())
      before = total;
    total += xmc_shuffle32(group, mine, lane);
  }
  before += XMC_COMPARTMENT_HEADER_BYTES;
  alone = xmc_lanes_count(group) == 1u || total > XMC_MAX_CLASS_BYTES;
  XMC_ROLLED
  for (;;) { /* a second time, each lane by itself, if there is no room for one block */
    cls = xmc_class_of(alone ? size : total);
    ask = alone || xmc_lane() == first;
    if (ask) {
      xmc_view_read(heap, cls, &view);
      block = xmc_class_malloc(heap, me, view, cls);
    }
    if (alone)
      return block;
    if (block) {
      offset = xmc_arena_offset(heap, block);
      xmc_store_relaxed64((XMC_GLOBAL xmc_u64 *)block, xmc_lanes_count(group));
    }
    xmc_lanes_sync(group); /* the count is written before any lane knows its compartment */
    low = xmc_shuffle32(group, (xmc_u32)offset, first);
    high = xmc_shuffle32(group, (xmc_u32)(offset >> 32), first);
    offset = (xmc_u64)high << 32 | low;
    if (offset)
      break;
    alone = 1;
  }
  offset += before;
  block = (XMC_GLOBAL char *)heap + offset;
  xmc_store_relaxed64((XMC_GLOBAL xmc_u64 *)block - 1,
                      xmc_compartment_header(offset, before, mine - XMC_COMPARTMENT_HEADER_BYTES));
  return block;
}

/* Returns a block of class cls for 0 < size <= XMC_MAX_CLASS_BYTES, or a compartment if `size` is not too large for one; or NULL, a failure
 * that the caller must count. */
XMC_FN XMC_GLOBAL char *xmc_small_malloc(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 size) {
  xmc_view view;
  xmc_view_read(heap, cls, &view);
  return size <= XMC_MAX_COMPARTMENT_BYTES ? xmc_compartment_malloc(heap, me, size)
                                           : xmc_class_malloc(heap, me, view, cls);
}
#endif

/* Frees a compartment by a CAS that clears its header; if the CAS fails another free did that, and this one is counted as a double
 * free. Returns 1 if it was the last compartment of the block, which the caller must then release; else 0. */
XMC_COLD_FN int xmc_compartment_free(XMC_GLOBAL xmcHeap *heap, xmc_place place, XMC_GLOBAL char *ptr,
                                     xmc_u64 header) {
  XMC_AFRESH64(heap);
  XMC_GLOBAL xmc_u64 *count = (XMC_GLOBAL xmc_u64 *)(ptr - place.rest);
  if (xmc_cas_relaxed64((XMC_GLOBAL xmc_u64 *)ptr - 1, header, 0) == header)
    return xmc_add_acq_rel64(count, ~(xmc_u64)0) == 1u;
  xmc_count_double_free(heap, xmc_arena_offset(heap, ptr), 1);
  return 0;
}

/* Frees what starts at ptr but is no Basicblock: the Memoryblock at `page`, if that is not XMC_NONE; else a block in a page with joined
 * blocks, or a compartment. If there is none, it counts a bad free. It looks the place up again, because a place as an argument would take a
 * stack frame. Returns 0; but with XMC_NO_YIELDS, after the last compartment of a Basicblock, which the caller must then release: the
 * Superblock's id, and below it XMC_LAST_COMPARTMENT, the class and the block's bit. */
#define XMC_LAST_COMPARTMENT 0x10000u
XMC_SETTLE_FN xmc_u64 xmc_other_free(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, XMC_GLOBAL void *ptr,
                                     xmc_u32 page) {
  xmc_place place;
  xmc_u64 header = 0;
  xmc_u32 bits = 0;
  if (page != XMC_NONE) {
    xmc_memoryblock_release(heap, page);
    return 0;
  }
  XMC_AFRESH64(heap);
  if (!xmc_find_block(heap, ptr, &place)) {
    bits = XMC_JOINS ? xmc_joined_free(heap, me, &place) : 0;
    header = bits ? 0 : xmc_compartment_find(heap, place, ptr);
  }
  if (!bits) {
    if (!header) {
      xmc_count_invalid_free(heap, ptr);
      return 0;
    }
    if (!xmc_compartment_free(heap, place, (XMC_GLOBAL char *)ptr, header))
      return 0;
    bits = 1u << place.bit;
  }
  if (XMC_NO_YIELDS)
    return (xmc_u64)place.id << 32 | XMC_LAST_COMPARTMENT | place.cls << 5 | place.bit;
  xmc_blocks_release(heap, me, xmc_words(heap), place.cls, place.id, bits,
                     XMC_JOINS ? xmc_popcount32(bits) : 1u);
  return 0;
}
/* The same for a caller that has looked up *place. Returns 1 if it must release a Basicblock, the place of which is in *place; else 0. */
XMC_FN int xmc_other_freed(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, XMC_GLOBAL void *ptr, xmc_place *place) {
  xmc_u64 last = xmc_other_free(heap, me, ptr, xmc_memoryblock_page(*place));
  if (!(last & (0u - (xmc_u64)XMC_NO_YIELDS))) /* always 0 if XMC_NO_YIELDS is 0 */
    return 0;
  place->id = (xmc_u32)(last >> 32);
  place->cls = (xmc_u32)last >> 5 & 0xffu;
  place->bit = (xmc_u32)last & 31u;
  return 1;
}
#endif
