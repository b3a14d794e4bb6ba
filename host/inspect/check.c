/* SPDX-License-Identifier: MIT */
/* xmcCheckHeap: every invariant of cl/layout/arena.h, one function for each table. */
#include "checker.h"
#include "inspect.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void xmc_report_problem(xmc_checker *c, xmc_problem code, cl_ulong offset, const char *format, ...) {
  va_list args;
  if (c->report->problems++ > 0)
    return;
  c->report->code = code;
  c->report->offset = offset;
  va_start(args, format);
  vsnprintf(c->report->message, sizeof c->report->message, format, args);
  va_end(args);
}

static xmc_u64 word_offset(xmcHeap *meta, xmc_u32 id) {
  return (xmc_u64)((char *)xmc_word_of(meta, id) - (char *)meta);
}

/* Checks that a state word which is not in use is XMC_WORD_RETIRED. */
static void check_retired(xmc_checker *c, xmc_u32 id) {
  xmc_u64 word = *xmc_word_of(c->meta, id);
  if (word != XMC_WORD_RETIRED)
    xmc_report_problem(c, XMC_PROBLEM_STATE_WORD, word_offset(c->meta, id),
                       "state word %d is 0x%llx, but nothing uses it", id, (unsigned long long)word);
}

/* Checks that a page's state words are not in use, except those of `rows` (a bit for each row); if `slab` is not 0, the slab's as well. */
static void check_others(xmc_checker *c, xmc_u32 page, xmc_u32 rows, int slab) {
  xmc_u32 row;
  for (row = 0; row < 32u; row++)
    if (!(rows >> row & 1u))
      check_retired(c, xmc_superblock_id(page, row));
  if (slab)
    check_retired(c, xmc_slab_id(page));
}

static void check_word(xmc_checker *c, xmc_u32 id, xmc_u32 cls, xmc_u32 count) {
  xmc_u64 w = *xmc_word_of(c->meta, id), offset = word_offset(c->meta, id);
  xmc_u32 page = xmc_any_page(id), n = xmc_word_number(c->meta, id);
  xmc_u64 known = xmc_word_make(0xff, 0xff, 0xffffffffu) | XMC_WORD_WHERE | XMC_WORD_WATCHED;
  if (xmc_word_class(w) != cls || xmc_word_count(w) != count || (w & ~known) ||
      (xmc_word_free(w) & ~xmc_full_mask(count))) {
    xmc_report_problem(c, XMC_PROBLEM_STATE_WORD, offset,
                       "state word %d is 0x%llx; class %u with %u blocks expected", id, (unsigned long long)w,
                       cls, count);
    return;
  }
  if (xmc_word_free(w) && !(w & XMC_WORD_LISTED))
    xmc_report_problem(c, XMC_PROBLEM_NOT_LISTED, offset, "Superblock %d has free blocks and is not listed",
                       id);
  if ((w & XMC_WORD_PARKED) && !(w & XMC_WORD_LISTED))
    xmc_report_problem(c, XMC_PROBLEM_STATE_WORD, offset, "Superblock %d is parked and not listed", id);
  if ((w & XMC_WORD_LISTED) && !(w & XMC_WORD_PARKED) && !(c->in_fifo[n >> 3] >> (n & 7u) & 1u))
    xmc_report_problem(c, XMC_PROBLEM_NOT_LISTED, offset, "Superblock %d is listed, but no FIFO holds it",
                       id);
  if ((w & XMC_WORD_PARKED) &&
      !xmc_bitmap_has(c->meta, XMC_PARKED, cls * c->meta->spans * XMC_SPAN_PAGES + page))
    xmc_report_problem(c, XMC_PROBLEM_BITMAP, offset,
                       "Superblock %d is parked, but the parked bitmap misses it", id);
  if ((!(w & XMC_WORD_WATCHED) || xmc_word_is_whole(w)) && !xmc_bitmap_has(c->meta, XMC_WHOLE, page))
    xmc_report_problem(c, XMC_PROBLEM_BITMAP, offset,
                       "Superblock %d is not watched, or wholly free, and the whole bitmap misses it", id);
}

static void check_entry(xmc_checker *c, xmc_u32 page, xmc_u32 low, xmc_u32 inverse) {
  xmc_u64 entry = *xmc_page_entry(c->meta, page), expected = (xmc_u64)inverse << 32 | low;
  if (entry != expected)
    xmc_report_problem(c, XMC_PROBLEM_PAGE_MAP, c->meta->page_map + 8u * (xmc_u64)page,
                       "page %u has the entry 0x%llx; 0x%llx expected", page, (unsigned long long)entry,
                       (unsigned long long)expected);
}

static void check_used_pages(xmc_checker *c, const xmc_run *run) {
  xmc_u32 i;
  for (i = 1; i < run->pages; i++) {
    xmc_u32 page = run->page + i;
    if (*xmc_span_word(c->meta, page / XMC_SPAN_PAGES) >> (page % XMC_SPAN_PAGES) & 1u)
      xmc_report_problem(c, XMC_PROBLEM_FREE_PAGES, xmc_span_offset(c->meta, page / XMC_SPAN_PAGES),
                         "page %u is free, and part of what begins at page %u", page, run->page);
    check_others(c, page, 0, 1);
  }
}

/* Returns 1 if the Superblock's 32 Basicblocks are all in use, and all but the first one continue the one before. */
static int is_one_block(xmcHeap *meta, xmc_u32 id, xmc_u32 cls) {
  return *xmc_word_of(meta, id) << 32 == 0 && xmc_word_class(*xmc_word_of(meta, id)) == cls &&
         xmc_word_count(*xmc_word_of(meta, id)) == 32u && (*xmc_joined_word(meta, id) & 0xfffffffeu) == 0;
}

/* Checks the joined word of a Superblock: each Basicblock that continues another is in use, as is the one before it, and each block is
 * shorter than a page. Basicblock 0 continues a block of the place before only if that block has the whole of that place. */
static void check_joined(xmc_checker *c, xmc_u32 id, xmc_u32 cls) {
  xmc_u64 word = *xmc_joined_word(c->meta, id), state = *xmc_word_of(c->meta, id);
  xmc_u32 joined = ~(xmc_u32)word, used = xmc_full_mask(xmc_word_count(state)) & ~xmc_word_free(state);
  xmc_u32 most = (XMC_PAGE_BYTES - 1u) / xmc_class_bytes(cls); /* Basicblocks of a block */
  xmc_u32 row = xmc_id_row(id);
  if (used & 1u && xmc_class_is_small(cls) && row > 0 &&
      is_one_block(c->meta, xmc_superblock_id(xmc_id_page(id), row - 1u), cls))
    joined &= ~1u;
  if ((word | 0xffffffffu) != XMC_WORD_RETIRED || joined & ~(used & used << 1) ||
      (most < 32u && xmc_run_starts(joined, most)) || xmc_joined_length(c->meta, cls, id, 0) > most)
    xmc_report_problem(c, XMC_PROBLEM_STATE_WORD,
                       (xmc_u64)((char *)xmc_joined_word(c->meta, id) - (char *)c->meta),
                       "the joined word 0x%llx of Superblock %d, whose state word is 0x%llx, is impossible",
                       (unsigned long long)word, id, (unsigned long long)state);
}

static void check_slab(xmc_checker *c, const xmc_run *run) {
  xmc_u32 blocks = xmc_class_blocks(run->cls, 1), slots = (blocks + 31u) / 32u, used = 0, j;
  int joined = xmc_entry_is_joined(*xmc_page_entry(c->meta, run->page));
  check_entry(c, run->page, XMC_MAP(run->cls, 0, 0, joined ? 0 : blocks), xmc_class_inverse(run->cls));
  check_word(c, xmc_slab_id(run->page), xmc_slab_class(run->cls), slots);
  for (j = 0; j < slots; j++)
    if (!(run->word >> j & 1u)) {
      used |= 1u << j;
      check_word(c, xmc_superblock_id(run->page, j), run->cls,
                 blocks - 32u * j < 32u ? blocks - 32u * j : 32u);
      if (joined) {
        used |= 1u << (j ^ XMC_JOINED_ROW);
        check_joined(c, xmc_superblock_id(run->page, j), run->cls);
      }
    }
  check_others(c, run->page, used, 0);
}

/* True if the entry of a free page, which a bad free follows, is none, or the one that the last use of the page left there and whose
 * state word is retired. */
static int is_left(xmcHeap *meta, xmc_u32 page) {
  xmc_u64 entry = *xmc_page_entry(meta, page), first;
  xmc_u32 cls = xmc_map_class(entry), back = xmc_map_back(entry), row = xmc_map_place(entry);
  xmc_u32 order = row - XMC_RUN_PLACE, blocks;
  if (cls >= XMC_CLASSES)
    return entry == XMC_MAP_NONE || entry == XMC_MAP(XMC_CLASS_MEMORYBLOCK, 0, 0, 0) ||
           (entry == xmc_map_body(xmc_map_inverse(entry)) && xmc_map_inverse(entry) <= page) ||
           entry == XMC_MAP(XMC_CLASS_REGION, 0, 0, 0) || entry == XMC_MAP(XMC_CLASS_CHUNK, 0, 0, 0);
  blocks = xmc_class_blocks(cls, 1);
  if (!xmc_class_is_small(cls)) {
    if (!xmc_run_fits(meta, cls, page - back, order) || back >> order ||
        *xmc_word_of(meta, xmc_run_id(page - back, order)) != XMC_WORD_RETIRED)
      return 0;
    /* The run's first page was in use, so it has an entry, of the run or of a later use. A slab of 32 places there, which is of class 0,
     * would have removed this page's entry (xmc_runs_forget), as would the first joined block of any slab. */
    first = *xmc_page_entry(meta, page - back);
    if (back && (first == XMC_MAP_NONE || xmc_map_class(first) == 0 ||
                 (xmc_class_is_small(xmc_map_class(first)) && xmc_entry_is_joined(first))))
      return 0;
    blocks = xmc_class_blocks(cls, 1u << order);
  } else if (back || row) {
    return 0;
  }
  if (xmc_entry_is_joined(entry))
    blocks = 0;
  return entry == ((xmc_u64)xmc_class_inverse(cls) << 32 | XMC_MAP(cls, back, row, blocks));
}

/* Checks the entries of a Memoryblock's or chunk's pages, and its state word. */
static void check_pages(xmc_checker *c, const xmc_run *run) {
  xmc_u32 i;
  check_entry(c, run->page, XMC_MAP(run->cls, 0, 0, 0), 0);
  for (i = 1; i < run->pages; i++)
    check_entry(c, run->page + i, XMC_MAP(XMC_CLASS_BODY, 0, 0, 0), run->page);
  if (run->word != xmc_word_chunk(run->cls, run->pages))
    xmc_report_problem(c, XMC_PROBLEM_STATE_WORD, word_offset(c->meta, xmc_superblock_id(run->page, 0)),
                       "Memoryblock at page %u: word 0x%llx", run->page, (unsigned long long)run->word);
}

/* Checks that a chunk's room word has the tag of a live region and no more room than the chunk, and that two regions do not share a tag. */
static void check_chunk(xmc_checker *c, const xmc_run *run) {
  xmc_u64 *word = xmc_room_of(c->meta, run->page), offset = (xmc_u64)((char *)word - (char *)c->meta);
  const xmc_region_sum *region = xmc_region_of_tag(c->regions, c->region_count, xmc_room_tag(*word));
  if (!region || !region->tag || (run->kind == XMC_RUN_REGION && region->page != run->page))
    xmc_report_problem(c, XMC_PROBLEM_REGION, offset, "page %u: the chunk's room word 0x%llx is no region's",
                       run->page, (unsigned long long)*word);
  else if (xmc_room_units(*word) > xmc_chunk_units(run->pages) - (run->kind == XMC_RUN_REGION))
    xmc_report_problem(c, XMC_PROBLEM_REGION, offset, "page %u: a chunk of %u pages with %u units of room",
                       run->page, run->pages, xmc_room_units(*word));
}

static void check_run(xmc_checker *c, const xmc_run *run) {
  xmc_u32 i, row, rows = 1u;
  int joined;
  switch (run->kind) {
  case XMC_RUN_FREE:
    for (i = run->page; i < run->page + run->pages; i++) {
      if (!is_left(c->meta, i))
        xmc_report_problem(c, XMC_PROBLEM_PAGE_MAP, c->meta->page_map + 8u * (xmc_u64)i,
                           "page %u is free, and no use of it left the entry 0x%llx", i,
                           (unsigned long long)*xmc_page_entry(c->meta, i));
      check_others(c, i, 0, 1);
    }
    return;
  case XMC_RUN_DAMAGED:
    xmc_report_problem(c, XMC_PROBLEM_STATE_WORD, word_offset(c->meta, run->id),
                       "page %u: the state word 0x%llx is impossible", run->page,
                       (unsigned long long)run->word);
    return;
  case XMC_RUN_LOST:
    xmc_report_problem(c, XMC_PROBLEM_FREE_PAGES, xmc_span_offset(c->meta, run->page / XMC_SPAN_PAGES),
                       "page %u is not free, and nothing uses it", run->page);
    return;
  case XMC_RUN_SLAB:
    check_slab(c, run);
    return;
  case XMC_RUN_SUPERBLOCK:
    row = XMC_RUN_PLACE + xmc_lowest32(run->pages);
    joined = xmc_entry_is_joined(*xmc_page_entry(c->meta, run->page));
    for (i = 0; i < run->pages; i++)
      check_entry(c, run->page + i, XMC_MAP(run->cls, i, row, joined ? 0 : xmc_word_count(run->word)),
                  xmc_class_inverse(run->cls));
    check_word(c, xmc_superblock_id(run->page, row), run->cls, xmc_class_blocks(run->cls, run->pages));
    if (joined)
      check_joined(c, xmc_superblock_id(run->page, row), run->cls);
    rows = 1u << row | (xmc_u32)joined << (row ^ XMC_JOINED_ROW);
    break;
  case XMC_RUN_REGION:
  case XMC_RUN_CHUNK:
    check_chunk(c, run);
    check_pages(c, run);
    break;
  case XMC_RUN_MEMORYBLOCK:
    check_pages(c, run);
    break;
  }
  check_others(c, run->page, rows, 1);
  check_used_pages(c, run);
}

/* Checks that state words which belong to no present page are retired, and that pages which are not present have no entry: the words
 * between the slabs' and the Superblocks', those behind the last page in the last span, and those of pages that are not present. */
static void check_nobodys(xmc_checker *c) {
  xmc_u32 i;
  for (i = 1; i < XMC_SLAB_WORDS; i++)
    check_retired(c, 0u - i);
  for (i = c->meta->present; i < c->meta->pages; i++)
    check_entry(c, i, XMC_MAP_NONE, 0);
  for (i = c->meta->present; i < c->meta->spans * XMC_SPAN_PAGES; i++)
    check_others(c, i, 0, i < c->meta->pages);
}

cl_int xmc_check_meta(xmcHeap *meta, xmc_heap_report *report) {
  xmc_checker c = {meta, report, calloc(xmc_all_words(meta) / 8u + 1u, 1), NULL, 0};
  xmc_u32 i;
  if (!c.in_fifo || !xmc_regions_read(meta, &c.regions, &c.region_count)) {
    free(c.in_fifo);
    return CL_OUT_OF_HOST_MEMORY;
  }
  xmc_check_tables(&c);
  check_nobodys(&c);
  for (i = 0; i < meta->present;) {
    xmc_run run = xmc_walk_run(c.meta, i);
    check_run(&c, &run);
    i += run.pages;
  }
  free(c.in_fifo);
  free(c.regions);
  return report->problems ? XMC_HEAP_CORRUPT : CL_SUCCESS;
}

/* ---- red zones of debug heaps ---- */

typedef struct xmc_zone_walk {
  xmc_checker *checker;
  xmc_window *window;
} xmc_zone_walk;

static int CL_CALLBACK check_zones(const xmc_block *plain, void *data) {
  xmc_zone_walk *walk = data;
  xmcHeap *meta = walk->checker->meta;
  xmc_debug_block block;
  xmc_u64 at;
  if (plain->size_class == XMC_BLOCK_OF_REGION)
    return 0; /* a region's blocks are checked when it is freed or reset */
  if (!xmc_debug_look(walk->window, meta, plain->ref, plain->usable, &block)) {
    /* a block that lanes share by compartments has other headers */
    int shared = meta->coalescing == XMC_COALESCE_COMPARTMENT && walk->window->heap->probe.simt;
    if (walk->window->status == CL_SUCCESS && !shared)
      xmc_report_problem(walk->checker, XMC_PROBLEM_RED_ZONE, plain->ref,
                         "the header of the block at 0x%llx was overwritten", (unsigned long long)plain->ref);
  } else if ((at = xmc_debug_overwritten(walk->window, meta, plain->ref, plain->usable, &block)) != 0) {
    xmc_report_problem(walk->checker, XMC_PROBLEM_RED_ZONE, at,
                       "the block of %llu bytes at 0x%llx: byte %lld was overwritten",
                       (unsigned long long)block.size, (unsigned long long)plain->ref + block.front,
                       (long long)(at - plain->ref - block.front));
  }
  return walk->window->status != CL_SUCCESS;
}

/* Checks the red zones of all live blocks. The metadata must have passed all other checks. */
static cl_int check_red_zones(xmc_checker *c, xmc_heap heap, cl_command_queue queue) {
  xmc_window window;
  xmc_zone_walk walk = {c, &window};
  xmc_window_open(&window, heap, queue);
  xmc_blocks_meta(c->meta, NULL, check_zones, &walk);
  xmc_window_close(&window);
  if (window.status != CL_SUCCESS)
    return window.status;
  return c->report->problems ? XMC_HEAP_CORRUPT : CL_SUCCESS;
}

/* The caller must hold the heap's lock. */
static cl_int check_heap(xmc_checker *c, xmc_heap heap, cl_command_queue queue) {
  int intact = 0;
  cl_int status = xmc_walk_open(heap, queue, &c->meta, &intact);
  if (status != CL_SUCCESS)
    return status;
  if (!intact)
    xmc_report_problem(c, XMC_PROBLEM_HEADER, 0, "the header is not the one the heap was made with");
  status = xmc_check_meta(c->meta, c->report);
  if (status == CL_SUCCESS && heap->settings.debug >= 2)
    status = check_red_zones(c, heap, queue);
  free(c->meta);
  return status;
}

cl_int xmcCheckHeapSized(xmc_heap heap, cl_command_queue queue, size_t size, xmc_heap_report *report) {
  xmc_heap_report found = {0};
  xmc_checker c = {NULL, &found, NULL, NULL, 0};
  cl_int status;
  if (report && size < XMC_LEAST_REPORT_BYTES)
    return CL_INVALID_VALUE;
  status = xmc_lock_heap(heap, &queue);
  if (status == CL_SUCCESS) {
    status = check_heap(&c, heap, queue);
    xmc_unlock_heap(heap);
  }
  if (report)
    xmc_copy_sized(report, size, &found, sizeof found);
  return status;
}
