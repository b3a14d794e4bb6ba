/* Reading an arena's metadata. */
#include "walk.h"
#include <stdlib.h>
#include <string.h>

cl_int xmc_walk_open(xmc_heap heap, cl_command_queue queue, xmcHeap **meta, int *intact) {
  cl_int status;
  size_t bytes;
  xmcHeap *copy;
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
  if (intact)
    *intact = memcmp(copy, &heap->header, XMC_GEOMETRY_BYTES) == 0;
  memcpy(copy, &heap->header, XMC_GEOMETRY_BYTES);
  *meta = copy;
  return CL_SUCCESS;
}

static int page_is_free(xmcHeap *meta, xmc_u32 page) {
  return *xmc_span_word(meta, page / XMC_SPAN_PAGES) >> (page % XMC_SPAN_PAGES) & 1u;
}

xmc_run xmc_walk_run(xmcHeap *meta, xmc_u32 page) {
  xmc_u64 entry = *xmc_page_entry(meta, page);
  xmc_u32 cls = xmc_map_class(entry), left = meta->pages - page;
  xmc_run run = {XMC_RUN_LOST, page, 1, cls, *xmc_word_of(meta, xmc_superblock_id(page, 0))};
  if (page_is_free(meta, page)) {
    run.kind = XMC_RUN_FREE;
    while (run.pages < left && page_is_free(meta, page + run.pages))
      run.pages++;
  } else if (cls == XMC_CLASS_MEMORYBLOCK) {
    xmc_u32 pages = xmc_word_pages(run.word);
    if (xmc_word_class(run.word) == XMC_CLASS_MEMORYBLOCK && pages >= 1u && pages <= left) {
      run.kind = XMC_RUN_MEMORYBLOCK;
      run.pages = pages;
    }
  } else if (cls < XMC_SMALL_CLASSES) {
    run.word = *xmc_word_of(meta, xmc_slab_id(page));
    if (xmc_map_back(entry) == 0 && xmc_word_class(run.word) == xmc_slab_class(cls))
      run.kind = XMC_RUN_SLAB;
  } else if (cls < XMC_CLASSES && xmc_map_back(entry) == 0) {
    xmc_u32 order = xmc_map_place(entry) - XMC_RUN_PLACE;
    if (order <= xmc_class_order(cls) && 1u << order <= left) {
      run.word = *xmc_word_of(meta, xmc_run_id(page, order));
      if (xmc_word_class(run.word) == cls) {
        run.kind = XMC_RUN_SUPERBLOCK;
        run.pages = 1u << order;
      }
    }
  }
  return run;
}

void xmc_walk_superblocks(xmcHeap *meta, const xmc_run *run, xmc_superblock_visitor visit, void *data) {
  xmc_u64 base = (xmc_u64)run->page << XMC_PAGE_SHIFT;
  if (run->kind == XMC_RUN_SUPERBLOCK) {
    visit(data, run, xmc_run_id(run->page, xmc_lowest32(run->pages)), run->word, base);
  } else if (run->kind == XMC_RUN_SLAB) {
    xmc_u32 n = (xmc_class_blocks(run->cls, 1) + 31u) / 32u, j;
    for (j = 0; j < n; j++) {
      xmc_u64 word = *xmc_word_of(meta, xmc_superblock_id(run->page, j));
      if (xmc_word_class(word) == run->cls)
        visit(data, run, xmc_superblock_id(run->page, j), word,
              base + (xmc_u64)j * 32u * xmc_class_bytes(run->cls));
    }
  }
}
