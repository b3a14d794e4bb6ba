/* SPDX-License-Identifier: MIT */
/* The checks of a file's metadata: each value that a call uses as an index, offset, count, divisor or class, with its range.
 *
 * Sums protect a file against accidents. Only these checks protect against a file that was forged: metadata that passes
 * them is that of a heap as calls could have left it, in which every page belongs to one run, every block to one Superblock,
 * and no call, good or bad, accesses memory outside of the arena.
 *
 *   value                      range                                                         checked in
 *   magic, debug               XMC_MAGIC_OF(debug), debug up to XMC_DEBUG_MAX                believe.c
 *   the FIFOs property         as many FIFOs as the table says                               layout.c
 *   pages                      as many as fit `bytes` beside the tables                      layout.c
 *   lanes                      1 ... XMC_MAX_LANES                                           layout.c
 *   slots, own                 multiples of 64, up to XMC_MAX_SLOTS, XMC_MAX_OWN and lanes   layout.c
 *   coalescing                 XMC_COALESCE_NONE ... XMC_COALESCE_CLASS                      layout.c
 *   places of tables, geometry as computed anew from these                                   layout.c
 *   trace, records, every      the ring's place; a power of two in its range; any but 0      layout.c
 *   the ring                   any: a record that is not the event of its place is skipped, and events are only counted and
 *                              written as text (trace/events.c)
 *   fifo_start, counters       any: they are only counted, compared and reported
 *   room_used                  any: set to 0, because it counts samples of another time      believe.c
 *   joins                      any: where a search begins, and how far it looks (cl/calls/joined.cl)
 *   life                       any in a debug heap, else 0                                   believe.c
 *   scarce                     none, once, once and now; room short or not, which is set to  believe.c
 *                              not; used memory first only where it is short
 *   flux                       any: set to 0, because the heap is quiet                      believe.c
 *   FIFO: active, messages     XMC_NONE (not in the ring) or an id that its class can have   check_tables.c
 *         head, numbers        those of 0 ... XMC_FIFO_SIZE messages, old ones in order      check_tables.c
 *         hint                 small classes: 0 or a slab's id + 1; others any               check_tables.c
 *         partly, carving      0 or 1                                                        check_tables.c
 *   own places, hints of pages for slabs 0 or a slab's id + 1; for runs any                  check_tables.c
 *   bitmaps, index, free pages no bit for things that do not exist, no bit missing           check_tables.c
 *   page map: pages in use     the one entry that their run has                              check.c
 *             free pages       none, or the entry of a run whose state word is retired       check.c
 *   state words                class, count and free blocks of their run; else retired       check.c
 *   joined words               bits of blocks in use only, in pages whose entries say so     check.c
 *   pages                      any: headers of compartments and of debug heaps' blocks are checked against their block
 *                              by the calls (cl/papers/compartment.cl, cl/calls/debug.cl)
 *
 * Hints at pages may have any value, because a call that follows one takes it modulo the number of pages or refuses it, and owns a page
 * only after an atomic on the span's word (cl/superblocks/carve.cl).
 */
#include "file/heap_file.h"
#include "heap/layout.h"

/* True if calls can have left this word: XMC_SCARCE_NOW is set only together with XMC_SCARCE_ONCE, XMC_USED_FIRST with XMC_ROOM_SHORT. */
static int scarce_is_possible(xmc_u64 scarce) {
  if ((scarce & XMC_USED_FIRST) && !(scarce & XMC_ROOM_SHORT))
    return 0;
  scarce &= ~XMC_ROOM_BITS;
  return scarce == 0 || scarce == XMC_SCARCE_ONCE || scarce == (XMC_SCARCE_ONCE | XMC_SCARCE_NOW);
}

cl_int xmc_believe(xmcHeap *meta, xmc_u64 bytes, long long fifos) {
  xmc_heap_report report = {0};
  cl_int status;
  if (meta->debug > XMC_DEBUG_MAX || meta->magic != XMC_MAGIC_OF(meta->debug) ||
      (!meta->debug && meta->life) || meta->data != bytes || !scarce_is_possible(meta->scarce) ||
      !xmc_layout_is_consistent(meta) || !xmc_layout_has_fifos(meta, fifos))
    return XMC_FILE_DAMAGED;
  status = xmc_check_meta(meta, &report);
  meta->flux = 0;
  meta->scarce &= ~XMC_ROOM_BITS; /* samples on a GPU set these, and a CPU device would never clear them */
  meta->room_used = 0;
  return status == XMC_HEAP_CORRUPT ? XMC_FILE_DAMAGED : status;
}
