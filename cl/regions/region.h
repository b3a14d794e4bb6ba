/* SPDX-License-Identifier: MIT */
/* Regions: what their words say. Shared by kernels and host.
 *
 * A region hands out blocks that are freed all at once. It takes runs of pages from the heap, its chunks, and a request
 * takes the next bytes of the chunk of its caller's slot by one subtraction:
 *
 *   header chunk, 2 pages                   a chunk of a slot, 2 to 16 pages      a chunk of one large request
 *   +------+-------+----------------+       +------+------------------------+     +------+---------------+
 *   | head | slots | room <- | blocks |     | head | room        <- | blocks |    | head | block         |
 *   | 16 B | 16 B  |         |        |     | 16 B |                |        |    | 16 B |               |
 *   +------+-------+---------+--------+     +------+----------------+--------+    +------+---------------+
 *
 * Blocks of the header chunk are for requests whose slot has no chunk yet, where only few work-items allocate at the same time. On
 * GPUs each slot has a chunk from the start, or several sub-groups would fetch one at the same time.
 *
 *   slot   current   a ring of chunks, as the place of the one that requests are served from
 *          large     a list of the chunks of large requests
 *   head   link      the next chunk of the ring or list
 *          owner     header chunk: the region's handle, mixed with a constant, while the region lives
 *
 *   room word, in a table of its own   63        32 31                    0
 *                                      +-----------+-----------------------+
 *                                      |    tag    | XMC_ROOM_BASE + units |
 *                                      +-----------+-----------------------+
 *
 * Why the room word lies in a table of its own and not in the chunk: a work-item that was delayed may subtract from it after the region was
 * freed, when the chunk's pages are something else. In the table, which holds nothing but room words, that is harmless: what the
 * subtraction returns has another tag, and the request is refused; a new chunk there has so many units less. For the same reason
 * the room word decides, by its tag, whether a chunk belongs to the region; links and slots, which lie in the pages and may be
 * overwritten by the user, are compared with it. The table has a word for each even page. A chunk has
 * at least two pages, and its word is that of the first even one.
 *
 * Units are 16 bytes. The room shrinks from the end of the chunk to its head, so that a request gets the units [room - n, room)
 * and the room word needs no second number. Requests that do not fit subtract as well: the number falls below
 * XMC_ROOM_BASE + 1 and stays there. It begins far above 0, and is lifted again before it gets there (xmc_room_lift).
 *
 * Invariants (R region, C chunk):
 *   R lives                    <=>  the page map has XMC_CLASS_REGION for its page, and its owner word is its handle's
 *   C in a ring or list of R    =>  the page map has XMC_CLASS_CHUNK, and the tag of C's room word is R's
 *   room of C                  <=   its units; all blocks handed out lie behind it
 *   a link of R                 =>  its upper half is R's tag, inverted; a compare-and-swap on one that is no longer R's fails
 */
#ifndef XMC_REGION_H
#define XMC_REGION_H

#define XMC_CLASS_REGION 0xfbu /* in page map and state word: the first page of a region's header chunk */
#define XMC_CLASS_CHUNK 0xfcu  /* of another chunk of a region; further pages are XMC_CLASS_BODY */

#define XMC_UNIT_BYTES 16u
#define XMC_PAGE_UNITS (XMC_PAGE_BYTES / XMC_UNIT_BYTES) /* 1,024 */
#define XMC_CHUNK_HEAD_UNITS 1u
#define XMC_REGION_PAGES 2u      /* of a chunk, at least */
#define XMC_CHUNK_MOST_PAGES 16u /* of a chunk for many requests: 256 KiB */
#define XMC_REGION_MOST_LOG 9u   /* log2 of the most slots: 512, which take 8 KiB of the header chunk */
/* What is served from the chunk of a slot: any chunk has room for it as long as it is fresh. */
#define XMC_REGION_MOST_UNITS (2u * XMC_PAGE_UNITS - XMC_CHUNK_HEAD_UNITS)
/* What a lane may ask for to be served together with the others of its sub-group; in the way for all of 32 lanes, whose sum so is
 * no more than that */
#define XMC_REGION_LANE_UNITS XMC_PAGE_UNITS
#define XMC_REGION_FULL_BYTES (XMC_REGION_MOST_UNITS / 32u * XMC_UNIT_BYTES) /* 1,008 */

/* A region: the same on host and device and in every process; 0 is none. A link, which is what slots and heads hold, has the same
 * fields, but the generation inverted, so that 0 is no region's; its page is that of a chunk, and there may be none.
 *
 *    63        32 31      28 27        0
 *   +------------+----------+-----------+
 *   | generation | log2 of  | first     |
 *   |    (tag)   | slots    | page + 1  |
 *   +------------+----------+-----------+
 */
typedef xmc_u64 xmcRegion;
#define XMC_REGION_KEY \
  ((xmc_u64)0x5265676e21000000) /* an owner word is no handle that a user may have stored */
#define XMC_REGION_PAGE_BITS 28

#define XMC_ROOM_BASE 0xc0000000u
#define XMC_ROOM_LOW 0x80000000u
#define XMC_ROOM_MOST 0x20000000u /* more units than a chunk for many requests can have */
/* On GPUs the request that leaves a chunk of a slot no more than this moves the slot on: so the others, whose requests are on
 * their way, still find room, 16 B for each lane of 64 sub-groups. */
#define XMC_ROOM_AHEAD_UNITS (2u * XMC_PAGE_UNITS)

typedef struct xmc_region_slot {
  xmc_u64 current;
  xmc_u64 large;
} xmc_region_slot;

XMC_FN xmc_u32 xmc_region_tag(xmcRegion region) { return (xmc_u32)(region >> 32); }
XMC_FN xmc_u32 xmc_region_log(xmcRegion region) { return (xmc_u32)region >> XMC_REGION_PAGE_BITS; }
/* XMC_NONE, which is no page, for the handle 0 */
XMC_FN xmc_u32 xmc_region_page(xmcRegion region) {
  return ((xmc_u32)region & ((1u << XMC_REGION_PAGE_BITS) - 1u)) - 1u;
}
XMC_FN xmcRegion xmc_region_make(xmc_u32 tag, xmc_u32 log, xmc_u32 page) {
  return (xmc_u64)tag << 32 | log << XMC_REGION_PAGE_BITS | (page + 1u);
}
/* The generation of the n-th region of a heap, from 0: not 0, nor ~0, whose inverse is 0 */
XMC_FN xmc_u32 xmc_region_tag_of(xmc_u64 n) { return (xmc_u32)(n % 0xfffffffeu) + 1u; }

#define XMC_REGION_FETCHING \
  0x0fffffffu /* instead of a page + 1: a work-item fetches the slot's first chunk */
XMC_FN xmc_u64 xmc_link_make(xmcRegion region, xmc_u32 page1) {
  return ((region ^ 0xffffffff00000000u) & ~(xmc_u64)XMC_REGION_FETCHING) | page1;
}
XMC_FN int xmc_link_is_of(xmc_u64 link, xmcRegion region) {
  return (xmc_u32)(link >> 32) == ~xmc_region_tag(region) &&
         ((xmc_u32)link ^ (xmc_u32)region) <= XMC_REGION_FETCHING;
}
/* Its page + 1; 0: none */
XMC_FN xmc_u32 xmc_link_page1(xmc_u64 link) { return (xmc_u32)link & XMC_REGION_FETCHING; }

XMC_FN xmc_u64 xmc_room_make(xmc_u32 tag, xmc_u32 units) {
  return (xmc_u64)tag << 32 | (XMC_ROOM_BASE + units);
}
XMC_FN xmc_u32 xmc_room_tag(xmc_u64 room) { return (xmc_u32)(room >> 32); }
/* Units that are left, the head's among them; 0 if a request did not fit */
XMC_FN xmc_u32 xmc_room_units(xmc_u64 room) {
  /* by the two bits of XMC_ROOM_BASE: from a difference LLVM makes what Oclgrind lacks */
  return (xmc_u32)room >> 30 == XMC_ROOM_BASE >> 30 ? (xmc_u32)room & ~XMC_ROOM_BASE : 0;
}
/* Units of a fresh chunk, its head among them. A header chunk has as many less as it has slots, and its n-th unit lies so far
 * behind the n-th of its pages. */
XMC_FN xmc_u32 xmc_chunk_units(xmc_u32 pages) { return pages * XMC_PAGE_UNITS; }

/* The state word of a run of pages that is a chunk: as a Memoryblock's, with another class */
XMC_FN xmc_u64 xmc_word_chunk(xmc_u32 cls, xmc_u32 pages) {
  return xmc_word_memoryblock(pages) ^ (xmc_u64)(XMC_CLASS_MEMORYBLOCK ^ cls) << XMC_WORD_CLASS_SHIFT;
}
#endif
