/* SPDX-License-Identifier: MIT */
/* The ring of a traced heap: the last events, for the kernels that write them (trace/trace.cl) and the host that reads them.
 *
 *   +--------------+----------+----------+-----+----------------+
 *   | taken, clock | record 0 | record 1 | ... | record n - 1   |     n a power of two
 *   |     64 B     |   48 B   |   48 B   |     |                |
 *   +--------------+----------+----------+-----+----------------+
 *
 * An event takes the next place by a fetch-add on `taken`; event p belongs in record p % n. Its writer takes the record from the
 * event that is there by one CAS on `state`, writes the other words, and then says that it is whole:
 *
 *   state   0                   nothing was written yet
 *           2 (p + 1) | 1       event p is being written
 *           2 (p + 1)           event p is whole
 *
 * Nobody waits: a writer that finds the record in another one's hands, or with a later event in it, gives up. So an event is lost
 * if the ring came round before the host looked, or before its writer had finished; a work-item that is stopped while it
 * writes costs its record for good. The host needs no count of these: lost is what was taken and is not there.
 *
 *   what    63  56 55   40 39       0
 *          +------+-------+----------+
 *          | kind | track | ref      |
 *          +------+-------+----------+
 *   ref: the block's xmcRef; 0 for failed requests, bad frees and whole regions. track: different for callers that run at the same
 *   time, most often.
 */
#ifndef XMC_RING_H
#define XMC_RING_H
#include "arena.h"

#if XMC_TRACE || !XMC_OPENCL
#define XMC_TRACE_MALLOC 1u /* also calloc, aligned_alloc, and realloc of NULL */
#define XMC_TRACE_FREE 2u   /* also realloc to 0 bytes */
/* A realloc is both: the old block's end and then, at the same place or another one, the new block. */
#define XMC_TRACE_REALLOC_FREE 3u
#define XMC_TRACE_REALLOC_MALLOC 4u
#define XMC_TRACE_FAILURE 5u /* a request that got NULL */
#define XMC_TRACE_BAD_FREE 6u
#define XMC_TRACE_REGION_CREATE 7u
#define XMC_TRACE_REGION_MALLOC 8u
#define XMC_TRACE_REGION_RESET 9u
#define XMC_TRACE_REGION_FREE 10u
#define XMC_TRACE_KINDS 11u

typedef struct xmc_trace_record {
  xmc_u64 state;
  xmc_u64 time; /* of the device's clock; 0: not known */
  xmc_u64 what;
  xmc_u64 size; /* bytes asked for; 0 of frees */
  xmc_u64
      room; /* bytes of the block as the statistics count them: of its class, or of its pages; of a region's calls: the region */
  xmc_u32 site; /* where the call stands: xmc_debug_site */
  xmc_u32 item; /* low half of the work-item's global linear id */
} xmc_trace_record;

/* The ring's head; xmcHeap's trace_records of records follow it. */
typedef struct xmc_trace_ring {
  xmc_u64 taken; /* events so far */
  xmc_u64 clock; /* unit of times: XMC_CLOCK_… */
  xmc_u64 spare[6];
} xmc_trace_ring;

#define XMC_CLOCK_NONE 0u
#define XMC_CLOCK_NS 1u
#define XMC_CLOCK_TICKS 2u /* how long one takes is not known */

#define XMC_TRACE_RING_HEAD 64u
#define XMC_TRACE_LEAST_RECORDS 64u
#define XMC_TRACE_MOST_RECORDS (1u << 24) /* 768 MiB */
#define XMC_TRACE_REF_BITS 40             /* more than any arena has */

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
