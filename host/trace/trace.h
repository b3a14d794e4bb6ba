/* SPDX-License-Identifier: MIT */
/* The trace of a heap: its events in their order, which block each is about, and the texts that tell of them. */
#ifndef XMC_HOST_TRACE_H
#define XMC_HOST_TRACE_H
#include "inspect/inspect.h"
#include "../../cl/layout/ring.h"

/* Kinds of rooms: one for each size class, whole pages, blocks of regions */
#define XMC_TRACE_PAGES XMC_CLASSES
#define XMC_TRACE_REGIONS (XMC_CLASSES + 1u)
#define XMC_TRACE_ROOMS (XMC_CLASSES + 2u)

typedef struct xmc_trace_event {
  xmc_u64
      time; /* from the first one on: ns, or, without a clock, events; never less than that of the event before */
  xmc_u64 ref, size, room; /* as in ring.h */
  xmc_u32 site, item;
  xmc_u32
      origin; /* of the end of a block: 1 + index of the event with which it began; 0: that is not in the trace */
  xmc_u32 next; /* of a block of a region, and of what ends them: 1 + index of the block before it; 0: none */
  uint16_t track;
  uint8_t kind;
  uint8_t live; /* the block that began, or the region, is still there at the end of the trace */
} xmc_trace_event;

typedef struct xmc_trace {
  xmc_trace_event *events;
  size_t count;
  xmc_u64 taken; /* events that happened and were to be recorded */
  xmc_u64 lost;  /* of these, the ones that are not in the trace */
  xmc_u32 every; /* as XMC_HEAP_TRACE_EVERY */
  xmc_u32 clock; /* XMC_CLOCK_… */
} xmc_trace;

/* What the events come to. All is of what was recorded: nothing is multiplied by `every`. */
typedef struct xmc_trace_totals {
  xmc_u64 allocations,
      allocated_bytes; /* a realloc is one, bytes as asked for; regions' blocks are not in any of these */
  xmc_u64 frees;       /* of blocks whose request is in the trace; a realloc is one */
  xmc_u64 other_frees; /* of blocks whose request is not */
  xmc_u64 live_blocks, live_bytes;
  xmc_u64 failures, bad_frees;
  xmc_u64 regions;                     /* live */
  xmc_u64 region_blocks, region_bytes; /* that live regions have handed out; bytes as asked for */
} xmc_trace_totals;

/* events.c: reads the ring in a copy of the metadata, whatever it holds. CL_SUCCESS, XMC_HEAP_NOT_TRACED or
 * CL_OUT_OF_HOST_MEMORY; free with xmc_trace_close. */
cl_int xmc_trace_open(xmcHeap *meta, xmc_trace *trace);
void xmc_trace_close(xmc_trace *trace);
void xmc_trace_sum(const xmc_trace *trace, xmc_trace_totals *totals);

/* Which of XMC_TRACE_ROOMS an event is about, and its name, "64 B", in XMC_TEXT_BYTES bytes */
xmc_u32 xmc_trace_room_kind(const xmc_trace_event *event);
const char *xmc_trace_room_name(xmc_u32 kind, char *name);

/* Does a block begin with this event, or end? Regions' blocks begin, and end all at once. */
static inline int xmc_trace_begins(const xmc_trace_event *e) {
  return e->kind == XMC_TRACE_MALLOC || e->kind == XMC_TRACE_REALLOC_MALLOC ||
         e->kind == XMC_TRACE_REGION_MALLOC;
}
static inline int xmc_trace_ends(const xmc_trace_event *e) {
  return e->kind == XMC_TRACE_FREE || e->kind == XMC_TRACE_REALLOC_FREE;
}

#define XMC_SITE_BYTES 48
/* "<kernel>:57" */
const char *xmc_trace_site_name(xmc_u32 site, char *name);

/* The texts of xmcWriteTrace: XMC_HEAP_NOT_TRACED, CL_OUT_OF_HOST_MEMORY */
cl_int xmc_trace_chrome(xmcHeap *meta, FILE *file);      /* chrome.c */
cl_int xmc_trace_folded(xmcHeap *meta, FILE *file);      /* sites.c */
cl_int xmc_trace_allocations(xmcHeap *meta, FILE *file); /* the same by their number */
cl_int xmc_trace_top(xmcHeap *meta, FILE *file);
#endif
