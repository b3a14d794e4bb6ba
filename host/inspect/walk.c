/* SPDX-License-Identifier: MIT */
/* Reads an arena's metadata. */
#include "walk.h"
#include <stdlib.h>
#include <string.h>

cl_int xmc_walk_open(xmc_heap heap, cl_command_queue queue, xmcHeap **meta, int *intact) {
  cl_int status;
  size_t bytes;
  xmcHeap *copy;
  int same;
  if ((status = xmc_check_handle(heap)) != CL_SUCCESS)
    return status;
  bytes = (size_t)heap->header.data;
  if (!(copy = malloc(bytes)))
    return CL_OUT_OF_HOST_MEMORY;
  status = xmc_arena_read(heap, queue, 0, bytes, copy);
  if (status != CL_SUCCESS) {
    free(copy);
    return status;
  }
  same = xmc_is_geometry_of(heap, copy);
  if (same)
    xmc_note_events(heap, copy);
  if (intact)
    *intact = same;
  xmc_copy_geometry(copy, &heap->header);
  *meta = copy;
  return CL_SUCCESS;
}

static int page_is_free(xmcHeap *meta, xmc_u32 page) {
  return *xmc_span_word(meta, page / XMC_SPAN_PAGES) >> (page % XMC_SPAN_PAGES) & 1u;
}

int xmc_run_fits(const xmcHeap *meta, xmc_u32 cls, xmc_u32 page, xmc_u32 order) {
  return order <= xmc_class_order(cls) && page < meta->present && 1u << order <= meta->present - page &&
         !(page & ((1u << order) - 1u));
}

/* Returns the number of Basicblocks of the Superblock in this place of a slab. */
static xmc_u32 blocks_of_place(xmc_u32 cls, xmc_u32 place) {
  xmc_u32 left = xmc_class_blocks(cls, 1) - 32u * place;
  return left < 32u ? left : 32u;
}

/* Completes the run of a Memoryblock or of a region's chunk. A chunk has at least two pages, because it needs a room word. */
static void walk_memoryblock(xmcHeap *meta, xmc_run *run) {
  xmc_u32 pages, least = run->cls == XMC_CLASS_MEMORYBLOCK ? 1u : XMC_REGION_PAGES;
  run->word = *xmc_word_of(meta, run->id);
  pages = xmc_word_pages(run->word);
  if (xmc_word_class(run->word) != run->cls)
    return;
  run->kind = XMC_RUN_DAMAGED;
  if (pages >= least && pages <= meta->present - run->page) {
    run->kind = run->cls == XMC_CLASS_REGION  ? XMC_RUN_REGION
                : run->cls == XMC_CLASS_CHUNK ? XMC_RUN_CHUNK
                                              : XMC_RUN_MEMORYBLOCK;
    run->pages = pages;
  }
}

static void walk_slab(xmcHeap *meta, xmc_run *run) {
  run->id = xmc_slab_id(run->page);
  run->word = *xmc_word_of(meta, run->id);
  if (xmc_word_class(run->word) == xmc_slab_class(run->cls))
    run->kind = xmc_word_count(run->word) == (xmc_class_blocks(run->cls, 1) + 31u) / 32u ? XMC_RUN_SLAB
                                                                                         : XMC_RUN_DAMAGED;
}

static void walk_superblock(xmcHeap *meta, xmc_run *run, xmc_u32 order) {
  if (!xmc_run_fits(meta, run->cls, run->page, order))
    return;
  run->id = xmc_run_id(run->page, order);
  run->word = *xmc_word_of(meta, run->id);
  if (xmc_word_class(run->word) != run->cls)
    return;
  run->kind = XMC_RUN_DAMAGED;
  if (xmc_word_count(run->word) == xmc_class_blocks(run->cls, 1u << order)) {
    run->kind = XMC_RUN_SUPERBLOCK;
    run->pages = 1u << order;
  }
}

xmc_run xmc_walk_run(xmcHeap *meta, xmc_u32 page) {
  xmc_u64 entry = *xmc_page_entry(meta, page);
  xmc_u32 cls = xmc_map_class(entry), left = meta->present - page;
  xmc_run run = {XMC_RUN_LOST, page, 1, cls, xmc_superblock_id(page, 0), 0};
  if (page_is_free(meta, page)) {
    run.kind = XMC_RUN_FREE;
    while (run.pages < left && page_is_free(meta, page + run.pages))
      run.pages++;
  } else if (cls == XMC_CLASS_MEMORYBLOCK || cls == XMC_CLASS_REGION || cls == XMC_CLASS_CHUNK) {
    walk_memoryblock(meta, &run);
  } else if (cls < XMC_CLASSES && xmc_map_back(entry) == 0) {
    if (xmc_class_is_small(cls))
      walk_slab(meta, &run);
    else
      walk_superblock(meta, &run, xmc_map_place(entry) - XMC_RUN_PLACE);
  }
  return run;
}

/* Returns 1 if the state word of this place of a slab has the slab's class, so that a Superblock uses the place. *word gets the word. */
static int place_is_used(xmcHeap *meta, const xmc_run *slab, xmc_u32 place, xmc_u64 *word) {
  *word = *xmc_word_of(meta, xmc_superblock_id(slab->page, place));
  return xmc_word_class(*word) == slab->cls;
}

void xmc_walk_superblocks(xmcHeap *meta, const xmc_run *run, xmc_superblock_visitor visit, void *data) {
  xmc_u64 base = (xmc_u64)run->page << XMC_PAGE_SHIFT, word;
  if (run->kind == XMC_RUN_SUPERBLOCK) {
    visit(data, run, run->id, run->word, base);
  } else if (run->kind == XMC_RUN_SLAB) {
    xmc_u32 n = xmc_word_count(run->word), j;
    for (j = 0; j < n; j++)
      if (place_is_used(meta, run, j, &word) && xmc_word_count(word) == blocks_of_place(run->cls, j))
        visit(data, run, xmc_superblock_id(run->page, j), word,
              base + (xmc_u64)j * 32u * xmc_class_bytes(run->cls));
  }
}

xmc_u32 xmc_walk_joined(xmcHeap *meta, xmc_u32 id) {
  return xmc_entry_is_joined(*xmc_page_entry(meta, xmc_id_page(id))) ? ~(xmc_u32)*xmc_joined_word(meta, id)
                                                                     : 0;
}

int xmc_walk_has_joined(xmcHeap *meta) {
  xmc_u32 page;
  for (page = 0; page < meta->present; page++)
    if (!page_is_free(meta, page) && xmc_entry_is_joined(*xmc_page_entry(meta, page)))
      return 1;
  return 0;
}

/* Returns 0 if a Superblock of the slab has another number of blocks than its place has, else 1. */
static int slab_is_possible(xmcHeap *meta, const xmc_run *run) {
  xmc_u32 j;
  xmc_u64 word;
  for (j = 0; j < xmc_word_count(run->word); j++)
    if (place_is_used(meta, run, j, &word) && xmc_word_count(word) != blocks_of_place(run->cls, j))
      return 0;
  return 1;
}

/* Returns 0 if a page behind the run's first one is free, or belongs to another run by its entry; else 1. */
static int run_is_whole(xmcHeap *meta, const xmc_run *run) {
  xmc_u32 i;
  for (i = 1; i < run->pages; i++) {
    xmc_u64 entry = *xmc_page_entry(meta, run->page + i);
    if (page_is_free(meta, run->page + i) ||
        (run->cls >= XMC_CLASSES ? entry != xmc_map_body(run->page)
                                 : xmc_map_class(entry) != run->cls || xmc_map_back(entry) != i))
      return 0;
  }
  return 1;
}

cl_int xmc_walk_believe(xmcHeap *meta, int quiet) {
  xmc_run run;
  xmc_u32 page;
  for (page = 0; page < meta->present; page += run.pages) {
    run = xmc_walk_run(meta, page);
    if (run.kind == XMC_RUN_DAMAGED || (run.kind == XMC_RUN_SLAB && !slab_is_possible(meta, &run)))
      return XMC_HEAP_CORRUPT;
    if (quiet && run.kind != XMC_RUN_FREE && !run_is_whole(meta, &run))
      return XMC_HEAP_CORRUPT;
  }
  return CL_SUCCESS;
}
