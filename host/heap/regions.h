/* SPDX-License-Identifier: MIT */
/* The regions of a heap, from a copy of its metadata. */
#ifndef XMC_REGIONS_H
#define XMC_REGIONS_H
#include "inspect/walk.h"

typedef struct xmc_region_sum {
  xmc_u32 tag;    /* the generation in its handle */
  xmc_u32 page;   /* of its header */
  xmc_u32 chunks; /* runs of pages, the header's one among them */
  xmc_u64 pages;  /* of all chunks */
} xmc_region_sum;

/* All live regions by ascending tags, malloc'ed; of several with one tag, which damage only can bring about, the one at the
 * lowest page. 0: no host memory. */
int xmc_regions_read(xmcHeap *meta, xmc_region_sum **regions, size_t *count);

/* The one with this tag; NULL: there is none */
xmc_region_sum *xmc_region_of_tag(xmc_region_sum *regions, size_t count, xmc_u32 tag);
#endif
