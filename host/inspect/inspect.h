/* SPDX-License-Identifier: MIT */
/* What a heap holds, from a copy of its metadata: shared by the API and xmc-heap. */
#ifndef XMC_INSPECT_H
#define XMC_INSPECT_H
#include "walk.h"
#include <stdio.h>

/* debug_blocks.c: reads the contents of a heap's arena, by and large in ascending order. */
typedef struct xmc_window {
  xmc_heap heap;
  cl_command_queue queue;
  cl_int status; /* the first failure */
  xmc_u64 begin, bytes;
  unsigned char *at;
} xmc_window;
void xmc_window_open(xmc_window *window, xmc_heap heap, cl_command_queue queue);
void xmc_window_close(xmc_window *window);

/* What the header of a live block of a debug heap says */
typedef struct xmc_debug_block {
  xmc_u64 front; /* from the plain block to the user's bytes; 0: the header was overwritten */
  xmc_u64 size;  /* as asked for */
  xmc_u32 site;  /* hash of the file, line; 0: not known */
} xmc_debug_block;

/* The name of a site's file, at most 32 bytes at `name`; NULL if the site is not known */
const char *xmc_debug_file(xmc_u32 site, char *name);

/* The live plain block of `room` bytes at `ref`; 0 if its header was overwritten or could not be read. */
int xmc_debug_look(xmc_window *window, const xmcHeap *meta, xmc_u64 ref, xmc_u64 room,
                   xmc_debug_block *block);
/* The first byte beside the user's that was overwritten; 0: none. */
xmc_u64 xmc_debug_overwritten(xmc_window *window, const xmcHeap *meta, xmc_u64 ref, xmc_u64 room,
                              const xmc_debug_block *block);

/* The headers of all live blocks, in the order of xmc_blocks_meta; malloc'ed. The caller has the heap's lock. */
cl_int xmc_debug_read(xmc_heap heap, cl_command_queue queue, xmcHeap *meta, xmc_debug_block **blocks);

/* blocks.c: hands a copy of the metadata of a heap whose geometry is intact and whose state words are possible
 * (xmc_walk_believe; else XMC_HEAP_CORRUPT) to `visit`. `blocks`: the visitor goes through the single blocks; it gets the
 * headers of a debug heap's, else NULL. It may call code of the user's, which may release the heap: nothing of the heap is
 * touched after the copies were made. */
typedef cl_int (*xmc_meta_visitor)(xmcHeap *meta, const xmc_debug_block *debug, void *data);
cl_int xmc_visit_meta(xmc_heap heap, cl_command_queue queue, int blocks, xmc_meta_visitor visit, void *data);

/* Calls back for each live block, in the order of their places, until that returns non-zero.
 * Without the headers, which may be NULL, blocks of a debug heap are told as the plain blocks they lie in. */
void xmc_blocks_meta(xmcHeap *meta, const xmc_debug_block *debug, xmc_block_callback callback, void *data);
void xmc_leaks_meta(xmcHeap *meta, const xmc_debug_block *debug, FILE *file);

/* json.c */
void xmc_json_meta(xmcHeap *meta, FILE *file);

/* stats_table.c: the statistics as a table for people; with escape sequences for colours or without. */
void xmc_table_meta(xmcHeap *meta, FILE *file, int colours);

/* Its part on failed requests and bad frees alone, each in a line; nothing where there was none. */
void xmc_mistakes_meta(xmcHeap *meta, FILE *file, int colours);

/* Whether text written to the stream should have colours: it is a terminal, and neither NO_COLOR nor TERM=dumb
 * forbids them. */
int xmc_has_colours(FILE *file);

/* heap_text.c: any of the texts to a stream; in colours where xmc_has_colours says so. */
cl_int xmc_write_text(xmc_heap heap, cl_command_queue queue, xmc_heap_text what, FILE *file);

/* heap_map.c: what heap_map_svg.c draws. The pages are cut into at most XMC_MAP_CELLS cells of equal size. */
#define XMC_MAP_CELLS 2048u
#define XMC_MAP_GROUPS 10u /* of size classes by doublings; the last ones: Memoryblocks, regions */
#define XMC_MAP_MEMORYBLOCKS 8u
#define XMC_MAP_REGIONS 9u
#define XMC_MAP_RUNS 20u /* lengths of free runs by doublings */

typedef struct xmc_map_cell {
  xmc_u64 live;                    /* bytes of live blocks */
  xmc_u64 claimed[XMC_MAP_GROUPS]; /* bytes of pages in use */
  int begins;                      /* a Memoryblock larger than a cell begins here */
} xmc_map_cell;

typedef struct xmc_map {
  xmc_heap_stats stats;
  xmc_u64 cell_bytes;
  xmc_u32 cells;
  xmc_u64 group_blocks[XMC_MAP_GROUPS]; /* live */
  xmc_u64 group_live[XMC_MAP_GROUPS];   /* bytes */
  xmc_u64 group_claimed[XMC_MAP_GROUPS];
  xmc_u64 runs, run_bytes[XMC_MAP_RUNS]; /* of free pages: how many, bytes by length */
  xmc_u64 free_pages_bytes;
  xmc_map_cell cell[XMC_MAP_CELLS];
} xmc_map;

void xmc_map_meta(xmcHeap *meta, xmc_map *map);

/* heap_map_svg.c */
void xmc_map_svg(const xmc_map *map, FILE *file);
#endif
