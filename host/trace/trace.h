/* SPDX-License-Identifier: MIT */
/* The trace of a heap: its events in their order, the block of each, and the texts about them. */
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
      time; /* since the first event: ns, or, without a clock, events; never less than that of the event before */
  xmc_u64 ref, size, room; /* as in ring.h */
  xmc_u32 site, item;
  xmc_u32
      origin;   /* if a block ends: 1 + index of the event with which it began; 0: that is not in the trace */
  xmc_u32 next; /* of a region's block, end or reset: 1 + index of the region's block before it; 0: none */
  uint16_t track;
  uint8_t kind;
  uint8_t live; /* 1: the block or region that began here is still live at the end of the trace */
} xmc_trace_event;

typedef struct xmc_trace {
  xmc_trace_event *events;
  size_t count;
  xmc_u64 taken; /* number of events that took a place in the ring */
  xmc_u64 lost;  /* number of these that are not in the trace */
  xmc_u32 every; /* as XMC_HEAP_TRACE_EVERY */
  xmc_u32 clock; /* XMC_CLOCK_… */
} xmc_trace;

/* Sums over the recorded events. No sum is multiplied by `every`. */
typedef struct xmc_trace_totals {
  xmc_u64 allocations,
      allocated_bytes; /* a realloc is one, bytes as asked for; regions' blocks are not in any of these */
  xmc_u64 frees;       /* of blocks whose request is in the trace; a realloc is one */
  xmc_u64 other_frees; /* of blocks whose request is not in the trace */
  xmc_u64 live_blocks, live_bytes;
  xmc_u64 failures, bad_frees;
  xmc_u64 regions;                     /* live regions */
  xmc_u64 region_blocks, region_bytes; /* blocks of live regions; bytes as asked for */
} xmc_trace_totals;

/* events.c: reads the ring in a copy of the metadata, which may hold any values. Returns CL_SUCCESS, and the caller must then call
 * xmc_trace_close; or XMC_HEAP_NOT_TRACED or CL_OUT_OF_HOST_MEMORY. */
cl_int xmc_trace_open(xmcHeap *meta, xmc_trace *trace);
void xmc_trace_close(xmc_trace *trace);
void xmc_trace_sum(const xmc_trace *trace, xmc_trace_totals *totals);

/* Return the kind of room (below XMC_TRACE_ROOMS) that an event is about, and the name of a kind, such as "64 B"; `name` has
 * XMC_TEXT_BYTES bytes. */
xmc_u32 xmc_trace_room_kind(const xmc_trace_event *event);
const char *xmc_trace_room_name(xmc_u32 kind, char *name);

/* True if a block begins with this event, and if a block ends with it. A region's blocks begin one by one, and end with the region's end or
 * reset, for which xmc_trace_ends is not true. */
static inline int xmc_trace_begins(const xmc_trace_event *e) {
  return e->kind == XMC_TRACE_MALLOC || e->kind == XMC_TRACE_REALLOC_MALLOC ||
         e->kind == XMC_TRACE_REGION_MALLOC;
}
static inline int xmc_trace_ends(const xmc_trace_event *e) {
  return e->kind == XMC_TRACE_FREE || e->kind == XMC_TRACE_REALLOC_FREE;
}

#define XMC_SITE_BYTES 48
/* Returns the name of a call site, such as "<kernel>:57"; `name` has XMC_SITE_BYTES bytes. */
const char *xmc_trace_site_name(xmc_u32 site, char *name);

/* These write the texts of xmcWriteTrace. Errors: XMC_HEAP_NOT_TRACED, CL_OUT_OF_HOST_MEMORY */
cl_int xmc_trace_chrome(xmcHeap *meta, FILE *file);      /* chrome.c */
cl_int xmc_trace_folded(xmcHeap *meta, FILE *file);      /* sites.c: by live bytes */
cl_int xmc_trace_allocations(xmcHeap *meta, FILE *file); /* by the number of allocations */
cl_int xmc_trace_top(xmcHeap *meta, FILE *file);
#endif
