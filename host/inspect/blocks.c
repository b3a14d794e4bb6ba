/* SPDX-License-Identifier: MIT */
/* The live blocks of a heap: a callback for each, and a report of leaks. */
#include "inspect.h"
#include "heap/regions.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

/* ---- each block ---- */

typedef struct xmc_block_walk {
  xmcHeap *meta;
  const xmc_debug_block *debug; /* the header of the next block, or NULL */
  xmc_block_callback callback;
  void *data;
  int stop;
} xmc_block_walk;

static void tell(xmc_block_walk *walk, xmc_u64 offset, xmc_u64 bytes, xmc_u32 cls) {
  xmc_block block = {walk->meta->data + offset, bytes, bytes, cls, 0, NULL};
  const xmc_debug_block *debug = walk->debug ? walk->debug++ : NULL;
  char file[32];
  if (walk->stop)
    return;
  if (debug && debug->front) {
    block.ref += debug->front;
    block.size = block.usable = debug->size;
    block.line = debug->site & 0xffffu;
    block.file = xmc_debug_file(debug->site, file);
  }
  walk->stop = walk->callback(&block, walk->data);
}

static void tell_superblock(void *data, const xmc_run *run, xmc_u32 id, xmc_u64 word, xmc_u64 offset) {
  xmc_block_walk *walk = data;
  xmc_u32 bytes = xmc_class_bytes(run->cls), joined = xmc_walk_joined(walk->meta, id), i, count;
  for (i = 0; i < xmc_word_count(word) && i < 32u && !walk->stop; i++)
    if (!(word >> i & 1u) && !(joined >> i & 1u)) {
      count = joined ? xmc_joined_length(walk->meta, run->cls, id, i) : 0;
      tell(walk, offset + (xmc_u64)i * bytes, (xmc_u64)bytes * (count ? count : 1u), run->cls);
    }
}

void xmc_blocks_meta(xmcHeap *meta, const xmc_debug_block *debug, xmc_block_callback callback, void *data) {
  xmc_block_walk walk = {meta, debug, callback, data, 0};
  xmc_region_sum *regions = NULL, *region;
  size_t count = 0;
  xmc_run run;
  xmc_u32 page;
  xmc_regions_read(meta, &regions,
                   &count); /* without host memory a region's bytes are those of its header chunk only */
  for (page = 0; page < meta->present && !walk.stop; page += run.pages) {
    run = xmc_walk_run(meta, page);
    if (run.kind == XMC_RUN_MEMORYBLOCK)
      tell(&walk, (xmc_u64)page << XMC_PAGE_SHIFT, (xmc_u64)run.pages << XMC_PAGE_SHIFT, XMC_BLOCK_OF_PAGES);
    if (run.kind == XMC_RUN_REGION) {
      region = xmc_region_of_tag(regions, count, xmc_room_tag(*xmc_room_of(meta, page)));
      tell(&walk, (xmc_u64)page << XMC_PAGE_SHIFT, (region ? region->pages : run.pages) << XMC_PAGE_SHIFT,
           XMC_BLOCK_OF_REGION);
    }
    xmc_walk_superblocks(meta, &run, tell_superblock, &walk);
  }
  free(regions);
}

cl_int xmc_visit_meta(xmc_heap heap, cl_command_queue queue, int blocks, xmc_meta_visitor visit, void *data) {
  xmc_debug_block *debug = NULL;
  xmcHeap *meta = NULL;
  int intact = 0;
  cl_int status = xmc_lock_heap(heap, &queue);
  if (status != CL_SUCCESS)
    return status;
  status = xmc_walk_open(heap, queue, &meta, &intact);
  if (status == CL_SUCCESS)
    status = intact ? xmc_walk_believe(meta, blocks) : XMC_HEAP_CORRUPT;
  if (status == CL_SUCCESS && blocks && meta->debug)
    status = xmc_debug_read(heap, queue, meta, &debug);
  xmc_unlock_heap(heap);
  if (status == CL_SUCCESS)
    status = visit(meta, debug, data);
  free(debug);
  free(meta);
  return status;
}

typedef struct xmc_each {
  xmc_block_callback callback;
  void *data;
  xmc_block *block; /* the struct that the callback gets, of the size that the caller stated */
  size_t size;
} xmc_each;

static int CL_CALLBACK show_block(const xmc_block *block, void *data) {
  const xmc_each *each = data;
  xmc_copy_sized(each->block, each->size, block, sizeof *block);
  return each->callback(each->block, each->data);
}

static cl_int visit_each(xmcHeap *meta, const xmc_debug_block *debug, void *data) {
  xmc_blocks_meta(meta, debug, show_block, data);
  return CL_SUCCESS;
}

cl_int xmcForEachBlockSized(xmc_heap heap, cl_command_queue queue, size_t size, xmc_block_callback callback,
                            void *data) {
  xmc_each each = {callback, data, NULL, size};
  cl_int status;
  if (!callback || size < XMC_LEAST_BLOCK_BYTES)
    return CL_INVALID_VALUE;
  if (!(each.block = malloc(size)))
    return CL_OUT_OF_HOST_MEMORY;
  status = xmc_visit_meta(heap, queue, 1, visit_each, &each);
  free(each.block);
  return status;
}

/* ---- leaks ---- */

#define XMC_LEAKS_SHOWN 20u

typedef struct xmc_leaks {
  xmc_u64 blocks, bytes;
  xmc_u64 class_blocks[XMC_STATS_CLASSES + 2],
      class_bytes[XMC_STATS_CLASSES + 2]; /* the last: Memoryblocks, and regions */
  xmc_block first[XMC_LEAKS_SHOWN];
  char files[XMC_LEAKS_SHOWN][32]; /* copies, because a block is valid only during its callback */
} xmc_leaks;

static int CL_CALLBACK count_leak(const xmc_block *block, void *data) {
  xmc_leaks *leaks = data;
  xmc_u32 i = block->size_class < XMC_STATS_CLASSES
                  ? block->size_class
                  : XMC_STATS_CLASSES + (block->size_class == XMC_BLOCK_OF_REGION);
  if (leaks->blocks < XMC_LEAKS_SHOWN) {
    leaks->first[leaks->blocks] = *block;
    snprintf(leaks->files[leaks->blocks], sizeof leaks->files[0], "%s", block->file ? block->file : "");
  }
  leaks->blocks++;
  leaks->bytes += block->usable;
  leaks->class_blocks[i]++;
  leaks->class_bytes[i] += block->usable;
  return 0;
}

void xmc_leaks_meta(xmcHeap *meta, const xmc_debug_block *debug, FILE *file) {
  xmc_leaks leaks = {0, 0, {0}, {0}, {{0}}, {{0}}};
  char a[XMC_TEXT_BYTES], b[XMC_TEXT_BYTES];
  xmc_u32 i;
  xmc_blocks_meta(meta, debug, count_leak, &leaks);
  if (leaks.blocks == 0) {
    fprintf(file, "XMalloc: no block is allocated\n");
    return;
  }
  fprintf(file, "XMalloc: %s %s still allocated, %s bytes\n", xmc_text_count(a, leaks.blocks),
          leaks.blocks == 1 ? "block is" : "blocks are", xmc_text_count(b, leaks.bytes));
  fprintf(file, "  block size        blocks           bytes\n");
  for (i = 0; i < XMC_STATS_CLASSES + 2u; i++) {
    char size[2 * XMC_TEXT_BYTES];
    snprintf(size, sizeof size, "%s", i > XMC_STATS_CLASSES ? "regions" : "whole pages");
    if (i < XMC_STATS_CLASSES)
      snprintf(size, sizeof size, "%s B", xmc_text_count(a, xmc_class_bytes(i)));
    if (leaks.class_blocks[i])
      fprintf(file, "  %-11s %12s %15s\n", size, xmc_text_count(a, leaks.class_blocks[i]),
              xmc_text_count(b, leaks.class_bytes[i]));
  }
  fprintf(file, "  the first, by reference:\n");
  for (i = 0; i < XMC_LEAKS_SHOWN && i < leaks.blocks; i++) {
    const xmc_block *block = &leaks.first[i];
    fprintf(file, "  0x%llx: %s%s bytes", (unsigned long long)block->ref,
            block->size_class == XMC_BLOCK_OF_REGION ? "a region of " : "", xmc_text_count(a, block->size));
    if (block->file)
      fprintf(file, ", allocated at %s:%u", leaks.files[i], block->line);
    fprintf(file, "\n");
  }
  if (leaks.blocks > XMC_LEAKS_SHOWN)
    fprintf(file, "  and %s more\n", xmc_text_count(a, leaks.blocks - XMC_LEAKS_SHOWN));
}
