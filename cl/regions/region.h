/* SPDX-License-Identifier: MIT */
/* Regions: the layout of their words in memory. Kernels and the host share this file.
 *
 * A region hands out blocks that are freed all at once. It takes runs of pages from the heap, which are its chunks. A request takes
 * the next free bytes of a chunk, that of the slot which its caller uses, by one subtraction:
 *
 *   header chunk, 2 pages                   a chunk of a slot, 2 to 16 pages      a chunk of one large request
 *   +------+-------+----------------+       +------+------------------------+     +------+---------------+
 *   | head | slots | room <- | blocks |     | head | room        <- | blocks |    | head | block         |
 *   | 16 B | 16 B  |         |        |     | 16 B |                |        |    | 16 B |               |
 *   +------+-------+---------+--------+     +------+----------------+--------+    +------+---------------+
 *
 * The header chunk serves requests whose slot has no chunk yet, but only where few work-items allocate at the same time: on CPU devices,
 * and in regions of one slot. On GPUs each of several slots gets a chunk when the region is created, if the heap is large enough,
 * because otherwise several sub-groups would fetch a slot's first chunk at the same time.
 *
 *   slot   current   the slot's ring of chunks: a link to the chunk that serves requests now
 *          large     a link to the first of the slot's list of chunks that serve one large request each
 *   head   link      a link to the next chunk of the ring or list
 *          owner     in the header chunk: the region's handle XOR XMC_REGION_KEY while the region lives, 0 after it was freed
 *
 *   room word, in a table of its own   63        32 31                    0
 *                                      +-----------+-----------------------+
 *                                      |    tag    | XMC_ROOM_BASE + units |
 *                                      +-----------+-----------------------+
 *
 * The room word lies in a table of its own and not in the chunk, because a delayed work-item may subtract from it after the region was
 * freed and the chunk's pages are used for something else. The table holds nothing but room words, so such a subtraction is harmless: the
 * word that it returns has another tag, and the request is refused; if a new chunk begins there, that chunk has n units less. For the
 * same reason the tag of the room word decides whether a chunk belongs to the region. Links and slots lie in the pages, where the user
 * may overwrite them, so they are checked against the room word. The table has a word for each even page; a chunk has at
 * least two pages and uses the word of its first even page.
 *
 * A unit is 16 bytes. The room shrinks from the end of the chunk to its head: a request for n units gets the units [room - n, room),
 * and the room word needs no second number. A request that does not fit subtracts as well; the number is then at most XMC_ROOM_BASE,
 * and no later request fits. XMC_ROOM_BASE is far above 0, and xmc_room_lift raises the number again before it reaches 0.
 *
 * Invariants (R region, C chunk):
 *   R lives                    <=>  the page map has XMC_CLASS_REGION for R's page, and R's owner word is R's handle XOR XMC_REGION_KEY
 *   C in a ring or list of R    =>  the page map has XMC_CLASS_CHUNK for C's page, and the tag of C's room word is R's
 *   room of C                  <=   units of C; all blocks handed out lie at or above the room
 *   a link of R                 =>  its upper half is R's tag, inverted; a CAS that expects a link of R fails if the word is no longer R's
 */
#ifndef XMC_REGION_H
#define XMC_REGION_H

#define XMC_CLASS_REGION 0xfbu /* in page map and state word: the first page of a region's header chunk */
#define XMC_CLASS_CHUNK 0xfcu  /* first page of any other chunk; further pages are XMC_CLASS_BODY */

#define XMC_UNIT_BYTES 16u
#define XMC_PAGE_UNITS (XMC_PAGE_BYTES / XMC_UNIT_BYTES) /* 1,024 */
#define XMC_CHUNK_HEAD_UNITS 1u
#define XMC_REGION_PAGES 2u      /* pages: the smallest chunk, and the header chunk */
#define XMC_CHUNK_MOST_PAGES 16u /* pages: the largest chunk that serves many requests, 256 KiB */
#define XMC_REGION_MOST_LOG 9u   /* log2 of the most slots: 512, which take 8 KiB of the header chunk */
/* Units: the largest request that is served from a slot's chunk. A fresh chunk of any size has room for it. */
#define XMC_REGION_MOST_UNITS (2u * XMC_PAGE_UNITS - XMC_CHUNK_HEAD_UNITS)
/* The largest request that is served together with those of the sub-group's other lanes, in units; and in bytes for xmc_region_full,
 * where the sum of 32 lanes' requests is then at most XMC_REGION_MOST_UNITS */
#define XMC_REGION_LANE_UNITS XMC_PAGE_UNITS
#define XMC_REGION_FULL_BYTES (XMC_REGION_MOST_UNITS / 32u * XMC_UNIT_BYTES) /* 1,008 */

/* The handle of a region: the same value on host and device and in every process; 0 is no region. A link, which slots and heads hold, has
 * the same fields, but its generation is inverted, so that 0 is no region's link, and its page is a chunk's, or 0 for no chunk.
 *
 *    63        32 31      28 27        0
 *   +------------+----------+-----------+
 *   | generation | log2 of  | first     |
 *   |    (tag)   | slots    | page + 1  |
 *   +------------+----------+-----------+
 */
typedef xmc_u64 xmcRegion;
#define XMC_REGION_KEY \
  ((xmc_u64)0x5265676e21000000) /* makes an owner word differ from a handle that a user may have stored */
#define XMC_REGION_PAGE_BITS 28

#define XMC_ROOM_BASE 0xc0000000u
#define XMC_ROOM_LOW 0x80000000u
#define XMC_ROOM_MOST 0x20000000u /* more units than a chunk for many requests can have */
/* Units. On GPUs the request that leaves a slot's chunk at most this much room moves the slot on to the next chunk. Requests of other
 * work-items that are under way then still find room in the old one: 16 B for each lane of 64 sub-groups. */
#define XMC_ROOM_AHEAD_UNITS (2u * XMC_PAGE_UNITS)

typedef struct xmc_region_slot {
  xmc_u64 current;
  xmc_u64 large;
} xmc_region_slot;

XMC_FN xmc_u32 xmc_region_tag(xmcRegion region) { return (xmc_u32)(region >> 32); }
XMC_FN xmc_u32 xmc_region_log(xmcRegion region) { return (xmc_u32)region >> XMC_REGION_PAGE_BITS; }
/* The page at which the region begins; XMC_NONE, which is no page, for the handle 0 */
XMC_FN xmc_u32 xmc_region_page(xmcRegion region) {
  return ((xmc_u32)region & ((1u << XMC_REGION_PAGE_BITS) - 1u)) - 1u;
}
XMC_FN xmcRegion xmc_region_make(xmc_u32 tag, xmc_u32 log, xmc_u32 page) {
  return (xmc_u64)tag << 32 | log << XMC_REGION_PAGE_BITS | (page + 1u);
}
/* The generation of a heap's n-th region, n from 0. It is never 0, and never ~0, whose inverse would be 0. */
XMC_FN xmc_u32 xmc_region_tag_of(xmc_u64 n) { return (xmc_u32)(n % 0xfffffffeu) + 1u; }

#define XMC_REGION_FETCHING \
  0x0fffffffu /* stands in place of page + 1 while a work-item fetches the slot's first chunk */
XMC_FN xmc_u64 xmc_link_make(xmcRegion region, xmc_u32 page1) {
  return ((region ^ 0xffffffff00000000u) & ~(xmc_u64)XMC_REGION_FETCHING) | page1;
}
XMC_FN int xmc_link_is_of(xmc_u64 link, xmcRegion region) {
  return (xmc_u32)(link >> 32) == ~xmc_region_tag(region) &&
         ((xmc_u32)link ^ (xmc_u32)region) <= XMC_REGION_FETCHING;
}
/* The link's page + 1; 0 if there is no chunk */
XMC_FN xmc_u32 xmc_link_page1(xmc_u64 link) { return (xmc_u32)link & XMC_REGION_FETCHING; }

XMC_FN xmc_u64 xmc_room_make(xmc_u32 tag, xmc_u32 units) {
  return (xmc_u64)tag << 32 | (XMC_ROOM_BASE + units);
}
XMC_FN xmc_u32 xmc_room_tag(xmc_u64 room) { return (xmc_u32)(room >> 32); }
/* The units that are left, including the head's; 0 if a request did not fit */
XMC_FN xmc_u32 xmc_room_units(xmc_u64 room) {
  /* tests the two bits of XMC_ROOM_BASE: LLVM turns a difference into an operation that Oclgrind lacks */
  return (xmc_u32)room >> 30 == XMC_ROOM_BASE >> 30 ? (xmc_u32)room & ~XMC_ROOM_BASE : 0;
}
/* The units of a fresh chunk, including its head. A header chunk has one unit less for each slot, and its unit n lies that many units
 * behind the n-th unit of its pages, because the slots lie between its head and its blocks. */
XMC_FN xmc_u32 xmc_chunk_units(xmc_u32 pages) { return pages * XMC_PAGE_UNITS; }

/* The state word of a chunk of `pages` pages: a Memoryblock's state word with class `cls` instead */
XMC_FN xmc_u64 xmc_word_chunk(xmc_u32 cls, xmc_u32 pages) {
  return xmc_word_memoryblock(pages) ^ (xmc_u64)(XMC_CLASS_MEMORYBLOCK ^ cls) << XMC_WORD_CLASS_SHIFT;
}
#endif
