/* SPDX-License-Identifier: MIT */
/* The live regions of a heap and the pages of each, for the host. The tag of a chunk's room word tells its region. */
#include "regions.h"
#include <stdlib.h>

static int by_tag(const void *a, const void *b) {
  const xmc_region_sum *x = a, *y = b;
  return x->tag != y->tag ? (x->tag < y->tag ? -1 : 1) : (x->page > y->page) - (x->page < y->page);
}

/* Returns the number of header chunks; writes an entry for each, if `to` is not NULL. */
static size_t read_headers(xmcHeap *meta, xmc_region_sum *to) {
  size_t count = 0;
  xmc_u32 page;
  xmc_run run;
  for (page = 0; page < meta->present; page += run.pages) {
    run = xmc_walk_run(meta, page);
    if (run.kind != XMC_RUN_REGION)
      continue;
    if (to)
      to[count] = (xmc_region_sum){xmc_room_tag(*xmc_room_of(meta, page)), page, 1, run.pages};
    count++;
  }
  return count;
}

xmc_region_sum *xmc_region_of_tag(xmc_region_sum *regions, size_t count, xmc_u32 tag) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2u;
    if (regions[middle].tag < tag)
      low = middle + 1u;
    else
      high = middle;
  }
  return low < count && regions[low].tag == tag ? &regions[low] : NULL;
}

int xmc_regions_read(xmcHeap *meta, xmc_region_sum **regions, size_t *count) {
  size_t n = read_headers(meta, NULL);
  xmc_region_sum *sums = calloc(n + 1u, sizeof *sums), *sum;
  xmc_u32 page;
  xmc_run run;
  if (!sums)
    return 0;
  read_headers(meta, sums);
  qsort(sums, n, sizeof *sums, by_tag);
  for (page = 0; n && page < meta->present; page += run.pages) {
    run = xmc_walk_run(meta, page);
    sum =
        run.kind == XMC_RUN_CHUNK ? xmc_region_of_tag(sums, n, xmc_room_tag(*xmc_room_of(meta, page))) : NULL;
    if (sum) {
      sum->chunks++;
      sum->pages += run.pages;
    }
  }
  *regions = sums;
  *count = n;
  return 1;
}
