/* SPDX-License-Identifier: MIT */
/* The regions of a heap, from a copy of its metadata. */
#ifndef XMC_REGIONS_H
#define XMC_REGIONS_H
#include "inspect/walk.h"

typedef struct xmc_region_sum {
  xmc_u32 tag;    /* the generation in the region's handle */
  xmc_u32 page;   /* first page of its header chunk */
  xmc_u32 chunks; /* number of its chunks, including the header chunk */
  xmc_u64 pages;  /* pages of all these chunks */
} xmc_region_sum;

/* *regions gets all live regions by ascending tags, malloc'ed. Only damage can give several regions one tag; the chunks then count for
 * the region at the lowest page. Returns 1, or 0 if there is no host memory. */
int xmc_regions_read(xmcHeap *meta, xmc_region_sum **regions, size_t *count);

/* Returns the region with this tag, or NULL. */
xmc_region_sum *xmc_region_of_tag(xmc_region_sum *regions, size_t count, xmc_u32 tag);
#endif
