/* SPDX-License-Identifier: MIT */
/* What a file may say: each value that a call ever takes as an index, offset, count, divisor or class, with its range.
 *
 * Sums protect a file against accidents. Against an author who wants to deceive, only this does: a file whose metadata
 * passes is a heap as calls could have left it, in which every page belongs to one run, every block to one Superblock,
 * and no call, good or bad, leaves the arena.
 *
 *   value                      range                                                         checked in
 *   magic, debug               XMC_MAGIC_OF(debug), debug up to XMC_DEBUG_MAX                believe.c
 *   the FIFOs property         as many FIFOs as the table says                               layout.c
 *   pages                      as many as fit `bytes` beside the tables                      layout.c
 *   lanes                      1 ... XMC_MAX_LANES                                           layout.c
 *   slots, own                 multiples of 64, up to XMC_MAX_SLOTS, XMC_MAX_OWN and lanes   layout.c
 *   coalescing                 XMC_COALESCE_NONE ... XMC_COALESCE_CLASS                      layout.c
 *   places of tables, geometry as computed anew from these                                   layout.c
 *   trace, records, every      where the ring has to be; a power of two in its range; any but 0     layout.c
 *   the ring                   any: what is no event of its place is no event, and events are only counted and told (trace/events.c)
 *   fifo_start, counters       any: they are counted, compared and told only
 *   room_used                  any: a mean, which what is sampled next corrects (cl/pages/room.cl)
 *   life                       any in a debug heap, else 0                                   believe.c
 *   scarce                     none, once, once and now; room short or not                   believe.c
 *   flux                       any: set to 0, for nobody works on the heap                   believe.c
 *   FIFO: active, messages     XMC_NONE (not in the ring) or an id that its class can have   check_tables.c
 *         head, numbers        those of 0 ... XMC_FIFO_SIZE messages, old ones in order      check_tables.c
 *         hint                 small classes: 0 or a slab's id + 1; others any               check_tables.c
 *         partly, spare        0 or 1; 0                                                     check_tables.c
 *   own places, hints of pages for slabs 0 or a slab's id + 1; for runs any                  check_tables.c
 *   bitmaps, index, free pages no bit for what does not exist, none missing                  check_tables.c
 *   page map: pages in use     the one entry that their run has                              check.c
 *             free pages       none, or what a run left whose state word is retired          check.c
 *   state words                class, count and free blocks of their run; else retired       check.c
 *   pages                      any: headers of compartments and of debug heaps' blocks are checked against their block
 *                              by the calls (cl/papers/compartment.cl, cl/calls/debug.cl)
 *
 * Hints at pages may have any value because whoever follows one takes it modulo the number of pages, and owns what it
 * finds by the span's word alone (cl/superblocks/carve.cl).
 */
#include "file/heap_file.h"
#include "heap/layout.h"

/* Who finds room scarce now says as well that it once was. */
static int scarce_is_possible(xmc_u64 scarce) {
  scarce &= ~XMC_ROOM_SHORT;
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
  return status == XMC_HEAP_CORRUPT ? XMC_FILE_DAMAGED : status;
}
