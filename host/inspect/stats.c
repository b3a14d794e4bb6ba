/* SPDX-License-Identifier: MIT */
/* xmcGetHeapStats: figures from a walk through the metadata. The kernels count failures only. */
#include "walk.h"
#include <stdlib.h>
#include <string.h>

typedef struct xmc_stats_walk {
  xmcHeap *meta;
  xmc_heap_stats *stats;
} xmc_stats_walk;

static void add_superblock(void *data, const xmc_run *run, xmc_u32 id, xmc_u64 word, xmc_u64 offset) {
  xmc_stats_walk *walk = data;
  xmc_heap_stats *stats = walk->stats;
  xmc_u32 full = xmc_full_mask(xmc_word_count(word)), bytes = xmc_class_bytes(run->cls);
  xmc_u32 unused = xmc_popcount32(xmc_word_free(word) & full), live = xmc_popcount32(full) - unused;
  xmc_u32 blocks = xmc_popcount32(full & ~xmc_word_free(word) & ~xmc_walk_joined(walk->meta, id));
  (void)offset;
  stats->superblocks++;
  stats->live_blocks += blocks;
  stats->live_bytes += (cl_ulong)live * bytes;
  stats->class_live_blocks[run->cls] += live;
  stats->free_bytes += (cl_ulong)unused * bytes;
  stats->free_block_bytes += (cl_ulong)unused * bytes;
}

/* Adds the places of a slab that hold no Superblock to the free bytes. */
static void add_slab(xmcHeap *meta, xmc_heap_stats *stats, const xmc_run *run) {
  xmc_u32 blocks = xmc_class_blocks(run->cls, 1), slots = (blocks + 31u) / 32u, j;
  for (j = 0; j < slots; j++) {
    xmc_u32 count = blocks - 32u * j < 32u ? blocks - 32u * j : 32u;
    if (xmc_word_class(*xmc_word_of(meta, xmc_superblock_id(run->page, j))) == run->cls)
      continue;
    stats->free_bytes += (cl_ulong)count * xmc_class_bytes(run->cls);
    stats->free_block_bytes += (cl_ulong)count * xmc_class_bytes(run->cls);
  }
}

/* True if the run is free, or if the last resort can take back all its pages, because no block of it is live. */
static int is_to_be_had(xmcHeap *meta, const xmc_run *run) {
  xmc_u32 j;
  xmc_u64 word;
  if (run->kind != XMC_RUN_SLAB)
    return run->kind == XMC_RUN_FREE || (run->kind == XMC_RUN_SUPERBLOCK && xmc_word_is_whole(run->word));
  for (j = 0; j < xmc_word_count(run->word); j++) {
    word = *xmc_word_of(meta, xmc_superblock_id(run->page, j));
    if (xmc_word_class(word) == run->cls && !xmc_word_is_whole(word))
      return 0;
  }
  return 1;
}

/* Returns the bytes of the largest request that the pages [begin, end) can serve: a run that lies in one span, or begins at a span's
 * start. */
static cl_ulong largest_request(xmc_u32 begin, xmc_u32 end) {
  xmc_u32 up = (begin + XMC_SPAN_PAGES - 1u) / XMC_SPAN_PAGES * XMC_SPAN_PAGES, most;
  most = up < end ? end - up : 0;
  if (most < XMC_SPAN_PAGES && (up < end ? up : end) - begin > most)
    most = (up < end ? up : end) - begin;
  return (cl_ulong)(most < XMC_MAX_BLOCK_PAGES ? most : XMC_MAX_BLOCK_PAGES) << XMC_PAGE_SHIFT;
}

/* Returns the bytes of the run's pages that were ever in use: all pages of a run in use, and free pages that have an entry. */
static cl_ulong ever_used(xmcHeap *meta, const xmc_run *run) {
  xmc_u32 i, pages = run->pages;
  for (i = 0; run->kind == XMC_RUN_FREE && i < run->pages; i++)
    pages -= *xmc_page_entry(meta, run->page + i) == XMC_MAP_NONE;
  return (cl_ulong)pages << XMC_PAGE_SHIFT;
}

void xmc_stats_meta(xmcHeap *meta, xmc_heap_stats *stats) {
  xmc_stats_walk walk = {meta, stats};
  xmc_run run;
  xmc_u32 page, c, begin = 0;
  memset(stats, 0, sizeof *stats);
  stats->heap_bytes = meta->bytes;
  stats->metadata_bytes = meta->bytes - ((cl_ulong)meta->present << XMC_PAGE_SHIFT);
  for (c = 0; c < XMC_STATS_CLASSES; c++)
    stats->class_bytes[c] = xmc_class_bytes(c);
  for (page = 0; page < meta->present; page += run.pages) {
    cl_ulong bytes, largest;
    run = xmc_walk_run(meta, page);
    bytes = (cl_ulong)run.pages << XMC_PAGE_SHIFT;
    stats->high_water_bytes += ever_used(meta, &run);
    if (!is_to_be_had(meta, &run))
      begin = page + run.pages;
    else if ((largest = largest_request(begin, page + run.pages)) > stats->largest_free_bytes)
      stats->largest_free_bytes = largest;
    if (begin <= page && run.kind != XMC_RUN_FREE)
      stats->reclaimable_bytes += bytes;
    if (run.kind == XMC_RUN_FREE) {
      stats->free_bytes += bytes;
    } else if (run.kind == XMC_RUN_MEMORYBLOCK) {
      stats->live_blocks++;
      stats->live_bytes += bytes;
      stats->memoryblocks++;
      stats->memoryblock_bytes += bytes;
    } else if (run.kind == XMC_RUN_REGION || run.kind == XMC_RUN_CHUNK) {
      stats->live_blocks += run.kind == XMC_RUN_REGION;
      stats->live_bytes += bytes;
      stats->regions += run.kind == XMC_RUN_REGION;
      stats->region_chunks++;
      stats->region_bytes += bytes;
    } else if (run.kind == XMC_RUN_SLAB) {
      add_slab(meta, stats, &run);
    }
    xmc_walk_superblocks(meta, &run, add_superblock, &walk);
  }
  stats->failed_requests = meta->failed_requests;
  stats->failed_bytes = meta->failed_bytes;
  stats->first_failure_size = meta->first_failure_size;
  stats->first_failure_id = meta->first_failure_id;
  stats->double_frees = meta->double_frees;
  stats->invalid_frees = meta->invalid_frees;
  stats->first_double_free = meta->first_double_free ? meta->first_double_free - 1u : 0;
  stats->red_zone_errors = meta->red_zone_errors;
  stats->first_red_zone_error = meta->first_red_zone_error ? meta->first_red_zone_error - 1u : 0;
  stats->use_after_frees = meta->use_after_frees;
  stats->first_use_after_free = meta->first_use_after_free ? meta->first_use_after_free - 1u : 0;
  stats->first_invalid_free = meta->first_invalid_free ? meta->first_invalid_free - 1u : 0;
}

cl_int xmcGetHeapStatsSized(xmc_heap heap, cl_command_queue queue, size_t size, xmc_heap_stats *stats) {
  xmc_heap_stats found;
  xmcHeap *meta = NULL;
  int intact = 0;
  cl_int status = CL_INVALID_VALUE;
  if (stats && size >= XMC_LEAST_STATS_BYTES)
    status = xmc_lock_heap(heap, &queue);
  if (status != CL_SUCCESS)
    return status;
  status = xmc_walk_open(heap, queue, &meta, &intact);
  xmc_unlock_heap(heap);
  if (status != CL_SUCCESS)
    return status;
  status = intact ? xmc_walk_believe(meta, 0) : XMC_HEAP_CORRUPT;
  if (status == CL_SUCCESS) {
    xmc_stats_meta(meta, &found);
    xmc_copy_sized(stats, size, &found, sizeof found);
  }
  free(meta);
  return status;
}
