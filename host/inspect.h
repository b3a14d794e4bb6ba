/* What a heap holds, from a copy of its metadata: shared by the API and xmc-heap. */
#ifndef XMC_INSPECT_H
#define XMC_INSPECT_H
#include "walk.h"
#include <stdio.h>

/* blocks.c: calls back for each live block, in the order of their places, until that returns non-zero. */
void xmc_blocks_meta(xmcHeap *meta, xmc_block_callback callback, void *data);
void xmc_leaks_meta(xmcHeap *meta, FILE *file);

/* json.c */
void xmc_json_meta(xmcHeap *meta, FILE *file);

/* heap_map.c: what heap_map_svg.c draws. The pages are cut into at most XMC_MAP_CELLS cells of equal size. */
#define XMC_MAP_CELLS 2048u
#define XMC_MAP_GROUPS 9u /* of size classes by doublings; the last one: Memoryblocks */
#define XMC_MAP_MEMORYBLOCKS 8u
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
