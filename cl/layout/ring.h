/* SPDX-License-Identifier: MIT */
/* The ring of a traced heap, which holds its last events: kernels write them (trace/trace.cl), and the host reads them.
 *
 *   +--------------+----------+----------+-----+----------------+
 *   | taken, clock | record 0 | record 1 | ... | record n - 1   |     n a power of two
 *   |     64 B     |   48 B   |   48 B   |     |                |
 *   +--------------+----------+----------+-----+----------------+
 *
 * A writer gets the number p of its event by a fetch-add on `taken`; event p belongs in record p % n. The writer takes that record from
 * the event that is in it by one CAS (acquire) on `state`, writes the other words, and then stores the new state (release):
 *
 *   state   0                   no event was written yet
 *           2 (p + 1) | 1       event p is being written
 *           2 (p + 1)           event p is complete
 *
 * No writer waits: if another writer holds the record, or a later event is in it, the writer gives up. So an event is lost if a later
 * event takes its record before the host read it or before its own writer began, or if the writer of an earlier event still holds the
 * record. A work-item that is stopped while it writes makes its record unusable for good. Nothing counts the lost events: they are
 * those that were taken and are not in the ring.
 *
 *   what    63  56 55   40 39       0
 *          +------+-------+----------+
 *          | kind | track | ref      |
 *          +------+-------+----------+
 *   kind: XMC_TRACE_…. ref: the block's xmcRef; 0 for failed requests, bad frees (their pointer is in `room`) and calls for whole regions.
 *   track: mostly different for callers that run at the same time.
 */
#ifndef XMC_RING_H
#define XMC_RING_H
#include "arena.h"

#if XMC_TRACE || !XMC_OPENCL
#define XMC_TRACE_MALLOC 1u /* also calloc, aligned_alloc, and realloc with ptr NULL */
#define XMC_TRACE_FREE 2u   /* also realloc with size 0 */
/* A realloc is two events: the end of the old block and then the new block, at the same address or another one. */
#define XMC_TRACE_REALLOC_FREE 3u
#define XMC_TRACE_REALLOC_MALLOC 4u
#define XMC_TRACE_FAILURE 5u /* a request that returned NULL */
#define XMC_TRACE_BAD_FREE 6u
#define XMC_TRACE_REGION_CREATE 7u
#define XMC_TRACE_REGION_MALLOC 8u
#define XMC_TRACE_REGION_RESET 9u
#define XMC_TRACE_REGION_FREE 10u
#define XMC_TRACE_KINDS 11u

typedef struct xmc_trace_record {
  xmc_u64 state;
  xmc_u64 time; /* of the device's clock, in the ring's unit; 0: not known */
  xmc_u64 what;
  xmc_u64 size; /* bytes that were requested; 0 for frees */
  /* Bytes of the block as the statistics count them: of its class or its pages. For a region's calls: the region. For a bad free: the
   * pointer as an xmcRef, which may be any number; 0 if a region was wrong. */
  xmc_u64 room;
  xmc_u32 site; /* file and line of the call (xmc_debug_site) */
  xmc_u32 item; /* low half of the work-item's global linear id */
} xmc_trace_record;

/* The head of the ring; `trace_records` (in xmcHeap) records follow it. */
typedef struct xmc_trace_ring {
  xmc_u64 taken; /* number of events so far */
  xmc_u64 clock; /* the unit of `time`: XMC_CLOCK_… */
  xmc_u64 spare[6];
} xmc_trace_ring;

#define XMC_CLOCK_NONE 0u
#define XMC_CLOCK_NS 1u
#define XMC_CLOCK_TICKS 2u /* ticks of unknown length */

#define XMC_TRACE_RING_HEAD 64u
#define XMC_TRACE_LEAST_RECORDS 64u
#define XMC_TRACE_MOST_RECORDS (1u << 24) /* 768 MiB of records */
#define XMC_TRACE_REF_BITS 40             /* enough for the offsets in any arena */

XMC_FN XMC_GLOBAL xmc_trace_ring *xmc_trace_ring_of(XMC_GLOBAL xmcHeap *heap) {
  return (XMC_GLOBAL xmc_trace_ring *)xmc_at64(heap, heap->trace);
}
XMC_FN XMC_GLOBAL xmc_trace_record *xmc_trace_record_of(XMC_GLOBAL xmcHeap *heap, xmc_u64 place) {
  return (XMC_GLOBAL xmc_trace_record *)(xmc_trace_ring_of(heap) + 1) + (place & (heap->trace_records - 1u));
}
XMC_FN xmc_u64 xmc_trace_state(xmc_u64 place) { return (place + 1u) << 1; }
XMC_FN xmc_u64 xmc_trace_what(xmc_u32 kind, xmc_u32 track, xmc_u64 ref) {
  return (xmc_u64)kind << 56 | (xmc_u64)(track & 0xffffu) << XMC_TRACE_REF_BITS |
         (ref & (((xmc_u64)1 << XMC_TRACE_REF_BITS) - 1u));
}
XMC_FN xmc_u32 xmc_trace_kind(xmc_u64 what) { return (xmc_u32)(what >> 56); }
XMC_FN xmc_u32 xmc_trace_track(xmc_u64 what) { return (xmc_u32)(what >> XMC_TRACE_REF_BITS) & 0xffffu; }
XMC_FN xmc_u64 xmc_trace_ref(xmc_u64 what) { return what & (((xmc_u64)1 << XMC_TRACE_REF_BITS) - 1u); }
#endif
#endif
