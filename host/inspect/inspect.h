/* SPDX-License-Identifier: MIT */
/* Functions that read a heap's contents from a copy of its metadata: shared by the API and xmc-heap. */
#ifndef XMC_INSPECT_H
#define XMC_INSPECT_H
#include "walk.h"
#include <stdio.h>

/* debug_blocks.c: a buffer through which the arena's contents are read, mostly in ascending order. */
typedef struct xmc_window {
  xmc_heap heap;
  cl_command_queue queue;
  cl_int status; /* the first error */
  xmc_u64 begin, bytes;
  unsigned char *at;
} xmc_window;
void xmc_window_open(xmc_window *window, xmc_heap heap, cl_command_queue queue);
void xmc_window_close(xmc_window *window);

/* The contents of the header of a debug heap's live block */
typedef struct xmc_debug_block {
  xmc_u64 front; /* bytes from the plain block to the user's bytes; 0: the header was overwritten */
  xmc_u64 size;  /* bytes asked for */
  xmc_u32 site;  /* hash of the file, line; 0: not known */
} xmc_debug_block;

/* Returns the name of a site's file, in at most 32 bytes at `name`; NULL if the site is not known. */
const char *xmc_debug_file(xmc_u32 site, char *name);

/* Reads the header of the live plain block of `room` bytes at `ref`. Returns 1, or 0 if it was overwritten or could not be read. */
int xmc_debug_look(xmc_window *window, const xmcHeap *meta, xmc_u64 ref, xmc_u64 room,
                   xmc_debug_block *block);
/* Returns the reference of the first byte beside the user's bytes that was overwritten; 0 if there is none. */
xmc_u64 xmc_debug_overwritten(xmc_window *window, const xmcHeap *meta, xmc_u64 ref, xmc_u64 room,
                              const xmc_debug_block *block);

/* *blocks gets the headers of all live blocks, in the order of xmc_blocks_meta; malloc'ed. The caller must hold the heap's lock. */
cl_int xmc_debug_read(xmc_heap heap, cl_command_queue queue, xmcHeap *meta, xmc_debug_block **blocks);

/* blocks.c: passes a copy of a heap's metadata to `visit`. Returns XMC_HEAP_CORRUPT instead if the geometry is damaged or a state
 * word is impossible (xmc_walk_believe). `blocks`: 1 if the visitor reads single blocks; for a debug heap it then gets the blocks'
 * headers, else NULL. The visitor may call code of the user, which may release the heap, so this function does not access the
 * heap after it made the copies. */
typedef cl_int (*xmc_meta_visitor)(xmcHeap *meta, const xmc_debug_block *debug, void *data);
cl_int xmc_visit_meta(xmc_heap heap, cl_command_queue queue, int blocks, xmc_meta_visitor visit, void *data);

/* Calls back for each live block, by ascending reference, until the callback returns non-zero. If the headers `debug` are NULL, the
 * blocks of a debug heap are listed as the plain blocks that contain them. */
void xmc_blocks_meta(xmcHeap *meta, const xmc_debug_block *debug, xmc_block_callback callback, void *data);
void xmc_leaks_meta(xmcHeap *meta, const xmc_debug_block *debug, FILE *file);

/* json.c */
void xmc_json_meta(xmcHeap *meta, FILE *file);

/* stats_table.c: writes the statistics as a table for people; with escape sequences for colours if `colours` is not 0. */
void xmc_table_meta(xmcHeap *meta, FILE *file, int colours);

/* Writes a line for each kind of failed request or bad free that was counted. */
void xmc_mistakes_meta(xmcHeap *meta, FILE *file, int colours);

/* True if text in the stream should have colours: the stream is a terminal, and neither NO_COLOR nor TERM=dumb is set. */
int xmc_has_colours(FILE *file);

/* heap_text.c: writes any of the texts to a stream; in colours if xmc_has_colours is true. */
cl_int xmc_write_text(xmc_heap heap, cl_command_queue queue, xmc_heap_text what, FILE *file);

/* heap_map.c: the figures that heap_map_svg.c draws. The pages are divided into at most XMC_MAP_CELLS cells of equal size. */
#define XMC_MAP_CELLS 2048u
#define XMC_MAP_GROUPS 10u /* groups of size classes by doublings; the last two: Memoryblocks, regions */
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
  xmc_u64 group_blocks[XMC_MAP_GROUPS];  /* live blocks */
  xmc_u64 group_live[XMC_MAP_GROUPS];    /* their bytes */
  xmc_u64 group_claimed[XMC_MAP_GROUPS]; /* bytes of pages in use */
  xmc_u64 runs, run_bytes[XMC_MAP_RUNS]; /* runs of free pages: their number, and their bytes by length */
  xmc_u64 free_pages_bytes;
  xmc_map_cell cell[XMC_MAP_CELLS];
} xmc_map;

void xmc_map_meta(xmcHeap *meta, xmc_map *map);

/* heap_map_svg.c */
void xmc_map_svg(const xmc_map *map, FILE *file);
#endif
