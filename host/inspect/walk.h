/* SPDX-License-Identifier: MIT */
/* A walk through the pages of an arena's metadata, which statistics, check, block listing and heap map share. It works on
 * damaged metadata, too: no value that it reads makes it leave the tables. */
#ifndef XMC_WALK_H
#define XMC_WALK_H
#include "heap/internal.h"
#include "../../cl/calls/joined.cl"
#include "../../cl/regions/region.h"

typedef enum xmc_run_kind {
  XMC_RUN_FREE,
  XMC_RUN_SLAB,       /* one page of Superblocks of a small class */
  XMC_RUN_SUPERBLOCK, /* pages of one Superblock */
  XMC_RUN_MEMORYBLOCK,
  XMC_RUN_REGION, /* the header chunk of a region */
  XMC_RUN_CHUNK,  /* another chunk of a region */
  XMC_RUN_LOST,   /* a page that is neither free nor part of a run in use */
  XMC_RUN_DAMAGED /* a page whose state word has a value that no call can leave there at any moment */
} xmc_run_kind;

typedef struct xmc_run {
  xmc_run_kind kind;
  xmc_u32 page;
  xmc_u32 pages;
  xmc_u32 cls;  /* class of the blocks; for slabs, the small class */
  xmc_u32 id;   /* index of its state word */
  xmc_u64 word; /* the state word itself */
} xmc_run;

/* Copies the metadata (all bytes before page 0) to host memory, *meta, and replaces the copy's geometry by the heap's own. *intact, if
 * not NULL, gets 1 if they were the same, else 0. The caller must hold the heap's lock, and free *meta with free(). */
cl_int xmc_walk_open(xmc_heap heap, cl_command_queue queue, xmcHeap **meta, int *intact);

/* Returns the run that begins at `page`, which is below meta->present. */
xmc_run xmc_walk_run(xmcHeap *meta, xmc_u32 page);

/* Returns 1 if 2^order pages from `page` on can be one Superblock of this class, which must not be a small class. */
int xmc_run_fits(const xmcHeap *meta, xmc_u32 cls, xmc_u32 page, xmc_u32 order);

/* Returns XMC_HEAP_CORRUPT if a state word is impossible, so that it describes blocks which cannot exist; else CL_SUCCESS. If `quiet` is
 * not 0, the heap must be quiet, and all pages of each run must belong to that run. Pages that a stopped work-item lost are no damage. */
cl_int xmc_walk_believe(xmcHeap *meta, int quiet);

/* Calls `visit` for each Superblock of a slab or Superblock run, with its id, its state word and its offset in bytes from page 0.
 * Superblocks with an impossible word are left out. */
typedef void (*xmc_superblock_visitor)(void *data, const xmc_run *run, xmc_u32 id, xmc_u64 word,
                                       xmc_u64 offset);
void xmc_walk_superblocks(xmcHeap *meta, const xmc_run *run, xmc_superblock_visitor visit, void *data);

/* Returns the Basicblocks of a Superblock that continue a joined block (cl/calls/joined.cl), a bit each. */
xmc_u32 xmc_walk_joined(xmcHeap *meta, xmc_u32 id);

/* Returns 1 if the heap has pages in use with joined blocks, or which had some: programs for GPUs do not find the blocks there. */
int xmc_walk_has_joined(xmcHeap *meta);

/* check.c: checks every invariant of the metadata, and adds the problems to the report. The header's geometry must be intact. Returns
 * CL_SUCCESS, XMC_HEAP_CORRUPT if the report has problems, or CL_OUT_OF_HOST_MEMORY. */
cl_int xmc_check_meta(xmcHeap *meta, xmc_heap_report *report);

/* stats.c */
void xmc_stats_meta(xmcHeap *meta, xmc_heap_stats *stats);
#endif
