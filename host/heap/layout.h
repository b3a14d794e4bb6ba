/* SPDX-License-Identifier: MIT */
/* The arena's geometry, computed on the host from its size. */
#ifndef XMC_LAYOUT_H
#define XMC_LAYOUT_H
#include "../../cl/layout/arena.h"

typedef struct xmc_layout_request {
  xmc_u32 slots;         /* FIFOs a class at most; 0 = unbuffered */
  xmc_u32 lanes;         /* sub-groups that may run at the same time; 0: unknown */
  int slots_exact;       /* 1: that many for every class; 0: fewer where the heap is small for the class */
  xmc_u32 fifo_start;    /* first sequence number of every FIFO */
  xmc_u32 coalescing;    /* XMC_COALESCE_… */
  xmc_u32 debug;         /* XMC_DEBUG level */
  int simt;              /* 1: lanes ask together, and Superblocks are carved to fit (xmc_carve_order) */
  xmc_u64 max_bytes;     /* the heap can grow up to this; 0, or less than it has: it cannot */
  xmc_u32 trace_records; /* of the ring of a traced heap, as xmc_ring_records; 0: none */
  xmc_u32 trace_every;
} xmc_layout_request;

/* Fills in the header of a heap whose arena has `arena` bytes, all but the magic. 1, or 0 if that is too small. */
int xmc_layout(xmcHeap *header, uint64_t arena, const xmc_layout_request *request);

/* Bytes of a ring of so many records, and the most records for which so many bytes are enough, a power of two; 0: too few for any */
xmc_u64 xmc_ring_bytes(xmc_u32 records);
xmc_u32 xmc_ring_records(xmc_u64 bytes);

/* How many of its pages a heap of this layout has in an arena of `bytes`, and what the header says of that size */
xmc_u32 xmc_layout_present(const xmcHeap *header, uint64_t bytes);
void xmc_layout_resize(xmcHeap *header, uint64_t bytes);

/* Bytes of the arena before page 0, where that needs no alignment */
uint64_t xmc_layout_tables_end(const xmcHeap *header);

/* 1 if xmc_layout could have made this header, its data moved to the start of a page: every table lies where
 * it says and inside the arena, and each number is in its range. */
int xmc_layout_is_consistent(const xmcHeap *header);

/* 1 if a heap made with this value of XMC_HEAP_FIFOS has such a FIFO table. */
int xmc_layout_has_fifos(const xmcHeap *header, long long property);

/* Bytes of the arena that are not data */
uint64_t xmc_layout_metadata_bytes(const xmcHeap *header);
#endif
