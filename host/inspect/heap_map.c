/* SPDX-License-Identifier: MIT */
/* The figures of a heap map: cells of equal size, each with the use of its pages.
 *
 *   live(cell) <= sum of claimed(cell, group) <= bytes of the cell
 *
 * A run of pages is spread over the cells that it overlaps, and its live bytes evenly over its pages.
 */
#include "inspect.h"
#include <string.h>

/* Returns the group of a size class. Groups go by doublings: up to 64 B, 128 B, 256 B … 8 KiB */
static xmc_u32 group_of(xmc_u32 cls) { return cls < 4u ? 0u : cls < 8u ? 1u : 2u + (cls - 8u) / 4u; }

typedef struct xmc_live {
  xmcHeap *meta;
  xmc_u64 blocks, basicblocks; /* more Basicblocks than blocks where some are joined */
} xmc_live;

static void count_live(void *data, const xmc_run *run, xmc_u32 id, xmc_u64 word, xmc_u64 offset) {
  xmc_u32 full = xmc_full_mask(xmc_word_count(word));
  xmc_live *live = data;
  (void)run;
  (void)offset;
  live->basicblocks += xmc_popcount32(full & ~xmc_word_free(word));
  live->blocks += xmc_popcount32(full & ~xmc_word_free(word) & ~xmc_walk_joined(live->meta, id));
}

/* Adds a run's pages to its cells. */
static void spread(xmc_map *map, const xmc_run *run, xmc_u32 group, xmc_u64 live) {
  xmc_u64 at = (xmc_u64)run->page << XMC_PAGE_SHIFT, bytes = (xmc_u64)run->pages << XMC_PAGE_SHIFT,
          end = at + bytes;
  double density = (double)live / (double)bytes;
  if (run->cls >= XMC_CLASSES && bytes > map->cell_bytes)
    map->cell[at / map->cell_bytes].begins = 1;
  while (at < end) {
    xmc_map_cell *cell = &map->cell[at / map->cell_bytes];
    xmc_u64 next = (at / map->cell_bytes + 1u) * map->cell_bytes, part = (next < end ? next : end) - at;
    cell->claimed[group] += part;
    cell->live += (xmc_u64)(density * (double)part);
    at += part;
  }
}

static void add_used(xmc_map *map, xmcHeap *meta, const xmc_run *run) {
  xmc_u64 bytes = (xmc_u64)run->pages << XMC_PAGE_SHIFT, blocks = 1, live = bytes;
  xmc_u32 group = XMC_MAP_MEMORYBLOCKS;
  xmc_live count = {meta, 0, 0};
  if (run->kind == XMC_RUN_REGION || run->kind == XMC_RUN_CHUNK) {
    group = XMC_MAP_REGIONS;
    blocks = run->kind == XMC_RUN_REGION;
  } else if (run->kind != XMC_RUN_MEMORYBLOCK) {
    xmc_walk_superblocks(meta, run, count_live, &count);
    blocks = count.blocks;
    live = count.basicblocks * xmc_class_bytes(run->cls);
    group = group_of(run->cls);
  }
  map->group_blocks[group] += blocks;
  map->group_live[group] += live;
  map->group_claimed[group] += bytes;
  spread(map, run, group, live);
}

static void add_free(xmc_map *map, const xmc_run *run) {
  xmc_u64 bytes = (xmc_u64)run->pages << XMC_PAGE_SHIFT;
  xmc_u32 length = xmc_highest32(run->pages);
  map->runs++;
  map->free_pages_bytes += bytes;
  map->run_bytes[length < XMC_MAP_RUNS ? length : XMC_MAP_RUNS - 1u] += bytes;
}

void xmc_map_meta(xmcHeap *meta, xmc_map *map) {
  xmc_u32 cell_pages = 1, page;
  xmc_run run;
  memset(map, 0, sizeof *map);
  xmc_stats_meta(meta, &map->stats);
  while ((meta->present + cell_pages - 1u) / cell_pages > XMC_MAP_CELLS)
    cell_pages *= 2u;
  map->cells = (meta->present + cell_pages - 1u) / cell_pages;
  map->cell_bytes = (xmc_u64)cell_pages << XMC_PAGE_SHIFT;
  for (page = 0; page < meta->present; page += run.pages) {
    run = xmc_walk_run(meta, page);
    if (run.kind == XMC_RUN_FREE)
      add_free(map, &run);
    else if (run.kind != XMC_RUN_LOST)
      add_used(map, meta, &run);
  }
}
