/* SPDX-License-Identifier: MIT */
/* A walk through the pages of an arena's metadata: the one reader that statistics, check, block listing
 * and heap map share. It believes nothing it reads further than the tables' bounds. */
#ifndef XMC_WALK_H
#define XMC_WALK_H
#include "heap/internal.h"
#include "../../cl/calls/allocate.cl"
#include "../../cl/regions/region.h"

typedef enum xmc_run_kind {
  XMC_RUN_FREE,
  XMC_RUN_SLAB,       /* one page of Superblocks of a small class */
  XMC_RUN_SUPERBLOCK, /* pages of one Superblock */
  XMC_RUN_MEMORYBLOCK,
  XMC_RUN_REGION, /* the header chunk of a region */
  XMC_RUN_CHUNK,  /* another chunk of a region */
  XMC_RUN_LOST,   /* a page that is not free and that nothing refers to */
  XMC_RUN_DAMAGED /* a page whose state word says what no call could have left there, at any moment */
} xmc_run_kind;

typedef struct xmc_run {
  xmc_run_kind kind;
  xmc_u32 page;
  xmc_u32 pages;
  xmc_u32 cls;  /* of the blocks; slabs: the small class */
  xmc_u32 id;   /* of its state word */
  xmc_u64 word; /* the state word itself */
} xmc_run;

/* Copies the metadata (everything before page 0) to host memory and replaces the geometry by the one the
 * heap was made with. *intact, if not NULL, says whether they were the same. Free with free(). */
cl_int xmc_walk_open(xmc_heap heap, cl_command_queue queue, xmcHeap **meta, int *intact);

/* The run that begins at `page` < meta->present. */
xmc_run xmc_walk_run(xmcHeap *meta, xmc_u32 page);

/* 1 if 2^order pages from `page` on can be one Superblock of this class, which is not a small one. */
int xmc_run_fits(const xmcHeap *meta, xmc_u32 cls, xmc_u32 page, xmc_u32 order);

/* XMC_HEAP_CORRUPT if some state word is impossible: of the blocks that it tells of, some cannot be. `quiet`: nobody
 * works on the heap, and so a run's further pages must be its own as well. Pages that a stopped work-item lost are no
 * damage. */
cl_int xmc_walk_believe(xmcHeap *meta, int quiet);

/* Calls visit for each Superblock of a slab or Superblock run, with its id, its word and its offset in
 * bytes from page 0; impossible ones are left out. */
typedef void (*xmc_superblock_visitor)(void *data, const xmc_run *run, xmc_u32 id, xmc_u64 word,
                                       xmc_u64 offset);
void xmc_walk_superblocks(xmcHeap *meta, const xmc_run *run, xmc_superblock_visitor visit, void *data);

/* check.c: CL_SUCCESS or XMC_HEAP_CORRUPT, adding to a report; CL_OUT_OF_HOST_MEMORY. The geometry must be
 * true. */
cl_int xmc_check_meta(xmcHeap *meta, xmc_heap_report *report);

/* stats.c */
void xmc_stats_meta(xmcHeap *meta, xmc_heap_stats *stats);
#endif
