/* SPDX-License-Identifier: MIT */
/* The arena's geometry, computed on the host from its size. */
#ifndef XMC_LAYOUT_H
#define XMC_LAYOUT_H
#include "../../cl/layout/arena.h"

typedef struct xmc_layout_request {
  xmc_u32 slots;         /* most FIFOs for each class; 0: unbuffered */
  xmc_u32 lanes;         /* sub-groups that may run at the same time; 0: unknown */
  int slots_exact;       /* 1: that many for every class; 0: fewer if the heap is small for the class */
  xmc_u32 fifo_start;    /* first sequence number of every FIFO */
  xmc_u32 coalescing;    /* XMC_COALESCE_… */
  xmc_u32 debug;         /* XMC_DEBUG level */
  int simt;              /* 1: lanes ask together, and Superblocks are carved to fit (xmc_carve_order) */
  xmc_u64 max_bytes;     /* largest size of the heap; 0, or at most its size: the heap cannot grow */
  xmc_u32 trace_records; /* records of a traced heap's ring, from xmc_ring_records; 0: no ring */
  xmc_u32 trace_every;
} xmc_layout_request;

/* Fills in the header, all but the magic, of a heap whose arena has `arena` bytes. Returns 1, or 0 if the arena is too small. */
int xmc_layout(xmcHeap *header, uint64_t arena, const xmc_layout_request *request);

/* The first returns the bytes of a ring of `records` records; the second the most records, a power of two, that fit in `bytes` bytes, or 0
 * if not even the least number fits. */
xmc_u64 xmc_ring_bytes(xmc_u32 records);
xmc_u32 xmc_ring_records(xmc_u64 bytes);

/* The first returns the number of pages that a heap of this layout has in an arena of `bytes` bytes; the second enters that size and
 * number in the header. */
xmc_u32 xmc_layout_present(const xmcHeap *header, uint64_t bytes);
void xmc_layout_resize(xmcHeap *header, uint64_t bytes);

/* Returns the bytes of the arena before page 0, if page 0 needs no alignment. */
uint64_t xmc_layout_tables_end(const xmcHeap *header);

/* Returns 1 if xmc_layout could have made this header, with its data moved to the start of a page: every table lies at its
 * place and inside the arena, and each number is in its range. */
int xmc_layout_is_consistent(const xmcHeap *header);

/* Returns 1 if a heap made with this value of XMC_HEAP_FIFOS has such a FIFO table. */
int xmc_layout_has_fifos(const xmcHeap *header, long long property);

/* Returns the bytes of the arena that are not pages. */
uint64_t xmc_layout_metadata_bytes(const xmcHeap *header);
#endif
