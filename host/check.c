/* xmcCheckHeap: every invariant of cl/arena.h, one function a table. */
#include "inspect.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct xmc_checker {
  xmcHeap *meta;
  xmc_heap_report *report;
  unsigned char *in_fifo; /* one bit a word: some FIFO holds it */
} xmc_checker;

static void problem(xmc_checker *c, xmc_problem code, cl_ulong offset, const char *format, ...) {
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

/* All words, from the last slab's on */
static xmc_u32 word_number(xmcHeap *meta, xmc_u32 id) { return id - xmc_slab_id(meta->pages - 1u); }
static xmc_u32 word_count(xmcHeap *meta) { return word_number(meta, meta->spans * XMC_SPAN_WORDS); }

static void check_levels(xmc_checker *c, const char *name, xmc_u32 map) {
  xmc_u32 items = xmc_bitmap_items(c->meta, map), level, w;
  for (level = 1; level < XMC_BITMAP_LEVELS; level++) {
    items = (items + 63u) / 64u;
    for (w = 0; w < items; w++)
      if (xmc_at64(c->meta, xmc_heap_bitmap(c->meta, map, level - 1u))[w] &&
          !(*xmc_bitmap_word(c->meta, map, level, w) >> (w & 63u) & 1u))
        problem(c, XMC_PROBLEM_BITMAP, xmc_heap_bitmap(c->meta, map, level) + 8u * (w >> 6),
                "%s bitmap: level %u misses word %u below", name, level, w);
  }
}

/* Ids in FIFOs are followed even when their message is an old one: they must lead somewhere. */
static int check_payload(xmc_checker *c, xmc_u32 cls, xmc_u32 slot, xmc_u64 offset, xmc_u32 payload) {
  if (payload != XMC_NONE && word_number(c->meta, payload) >= word_count(c->meta)) {
    problem(c, XMC_PROBLEM_FIFO, offset, "FIFO %u of class %u holds 0x%x, which is no Superblock", slot, cls,
            payload);
    return 0;
  }
  return payload != XMC_NONE;
}

static void remember(xmc_checker *c, xmc_u32 cls, xmc_u32 slot, xmc_u64 offset, xmc_u32 payload) {
  xmc_u32 n = word_number(c->meta, payload);
  if (check_payload(c, cls, slot, offset, payload))
    c->in_fifo[n >> 3] |= (unsigned char)(1u << (n & 7u));
}

static void check_fifo(xmc_checker *c, xmc_u32 cls, xmc_u32 slot) {
  xmc_fifo *fifo = xmc_fifo_at(c->meta, cls, slot);
  xmc_u64 offset = (xmc_u64)((char *)fifo - (char *)c->meta);
  xmc_u32 tail = xmc_message_number(fifo->tail), used = tail - fifo->head + 1u, n;
  if (used > XMC_FIFO_SIZE) {
    problem(c, XMC_PROBLEM_FIFO, offset, "FIFO %u of class %u: head %u, tail %u", slot, cls, fifo->head,
            tail);
    return;
  }
  remember(c, cls, slot, offset, xmc_active_id(fifo->active));
  if (xmc_class_is_small(cls) && fifo->hint && xmc_slab_page(fifo->hint - 1u) >= c->meta->pages)
    problem(c, XMC_PROBLEM_FIFO, offset, "FIFO %u of class %u remembers 0x%x, which is no slab", slot, cls,
            fifo->hint - 1u);
  for (n = fifo->head; n != tail + 1u; n++) {
    xmc_u64 message = n == tail ? fifo->tail : fifo->message[n % XMC_FIFO_SIZE];
    if (xmc_message_number(message) != n)
      problem(c, XMC_PROBLEM_FIFO, offset, "FIFO %u of class %u: message %u has the number %u", slot, cls, n,
              xmc_message_number(message));
    else
      remember(c, cls, slot, offset, xmc_message_payload(message));
  }
  /* Old messages keep their numbers: an enqueue goes by them. The tail may have been copied ahead. */
  check_payload(c, cls, slot, offset, xmc_message_payload(fifo->tail));
  for (n = 1; n <= XMC_FIFO_SIZE; n++) {
    xmc_u64 message = fifo->message[(tail - n) % XMC_FIFO_SIZE];
    xmc_u32 number = xmc_message_number(message);
    check_payload(c, cls, slot, offset, xmc_message_payload(message));
    if (number != tail - n && !(n == XMC_FIFO_SIZE && number == tail))
      problem(c, XMC_PROBLEM_FIFO, offset, "FIFO %u of class %u: place %u has the number %u", slot, cls,
              (tail - n) % XMC_FIFO_SIZE, number);
  }
  if ((used || xmc_active_id(fifo->active) != XMC_NONE) &&
      !xmc_bitmap_has(c->meta, XMC_BUSY, cls * c->meta->slots + slot))
    problem(c, XMC_PROBLEM_BITMAP, c->meta->bitmaps[XMC_BUSY].level[0],
            "busy bitmap misses FIFO %u of class %u", slot, cls);
}

static xmc_u64 span_offset(xmcHeap *meta, xmc_u32 span) {
  return (xmc_u64)((char *)xmc_span_word(meta, span) - (char *)meta);
}

static void check_span(xmc_checker *c, xmc_u32 span) {
  xmc_u64 word = *xmc_span_word(c->meta, span), offset = span_offset(c->meta, span);
  xmc_u64 whole = xmc_at64(c->meta, c->meta->bitmaps[XMC_WHOLE].level[0])[span];
  xmc_u32 first = span * XMC_SPAN_PAGES, left = c->meta->pages - first, k;
  if (word & ~xmc_run_mask(0, left))
    problem(c, XMC_PROBLEM_FREE_PAGES, offset, "span %u: pages beyond the arena are free", span);
  if ((whole & ~xmc_run_mask(0, left)) || (!c->meta->scarce && whole != xmc_run_mask(0, left)))
    problem(c, XMC_PROBLEM_BITMAP, c->meta->bitmaps[XMC_WHOLE].level[0] + 8u * (xmc_u64)span,
            "span %u has the word 0x%llx in the whole bitmap", span, (unsigned long long)whole);
  for (k = 0; k < XMC_INDEX_LEVELS; k++) {
    xmc_u32 i = span >> 3u * k;
    xmc_u32 missing = xmc_run_orders(word & xmc_run_mask(0, left)) &
                      ~(xmc_u32)(*xmc_index_word(c->meta, k, i) >> (8u * (i & 7u)));
    if (missing)
      problem(c, XMC_PROBLEM_BITMAP, c->meta->index[k] + i,
              "span %u has a free run of %u pages and level %u of the index misses it", span,
              1u << xmc_lowest32(missing), k);
  }
}

/* Words that are not in use */
static void check_retired(xmc_checker *c, xmc_u32 id) {
  xmc_u64 word = *xmc_word_of(c->meta, id);
  if (word != XMC_WORD_RETIRED)
    problem(c, XMC_PROBLEM_STATE_WORD, word_offset(c->meta, id),
            "state word %d is 0x%llx, but nothing uses it", id, (unsigned long long)word);
}

/* Those of a page, but for some rows, and its slab's where `slab` is not 0 */
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
  xmc_u32 page = xmc_any_page(id), n = word_number(c->meta, id);
  xmc_u64 known = xmc_word_make(0xff, 0xff, 0xffffffffu) | XMC_WORD_WHERE | XMC_WORD_WATCHED;
  if (xmc_word_class(w) != cls || xmc_word_count(w) != count || (w & ~known) ||
      (xmc_word_free(w) & ~xmc_full_mask(count))) {
    problem(c, XMC_PROBLEM_STATE_WORD, offset, "state word %d is 0x%llx; class %u with %u blocks expected",
            id, (unsigned long long)w, cls, count);
    return;
  }
  if (xmc_word_free(w) && !(w & XMC_WORD_LISTED))
    problem(c, XMC_PROBLEM_NOT_LISTED, offset, "Superblock %d has free blocks and is not listed", id);
  if ((w & XMC_WORD_LISTED) && !(w & XMC_WORD_PARKED) && !(c->in_fifo[n >> 3] >> (n & 7u) & 1u))
    problem(c, XMC_PROBLEM_NOT_LISTED, offset, "Superblock %d is listed, but no FIFO holds it", id);
  if ((w & XMC_WORD_PARKED) &&
      !xmc_bitmap_has(c->meta, XMC_PARKED, cls * c->meta->spans * XMC_SPAN_PAGES + page))
    problem(c, XMC_PROBLEM_BITMAP, offset, "Superblock %d is parked, but the parked bitmap misses it", id);
  if (!(w & XMC_WORD_WATCHED) && !xmc_bitmap_has(c->meta, XMC_WHOLE, page))
    problem(c, XMC_PROBLEM_BITMAP, offset, "Superblock %d is not watched, and the whole bitmap misses it",
            id);
}

static void check_entry(xmc_checker *c, xmc_u32 page, xmc_u32 low, xmc_u32 inverse) {
  xmc_u64 entry = *xmc_page_entry(c->meta, page), expected = (xmc_u64)inverse << 32 | low;
  if (entry != expected)
    problem(c, XMC_PROBLEM_PAGE_MAP, c->meta->page_map + 8u * (xmc_u64)page,
            "page %u has the entry 0x%llx; 0x%llx expected", page, (unsigned long long)entry,
            (unsigned long long)expected);
}

static void check_used_pages(xmc_checker *c, const xmc_run *run) {
  xmc_u32 i;
  for (i = 1; i < run->pages; i++) {
    xmc_u32 page = run->page + i;
    if (*xmc_span_word(c->meta, page / XMC_SPAN_PAGES) >> (page % XMC_SPAN_PAGES) & 1u)
      problem(c, XMC_PROBLEM_FREE_PAGES, span_offset(c->meta, page / XMC_SPAN_PAGES),
              "page %u is free, and part of what begins at page %u", page, run->page);
    check_others(c, page, 0, 1);
  }
}

static void check_slab(xmc_checker *c, const xmc_run *run) {
  xmc_u32 blocks = xmc_class_blocks(run->cls, 1), slots = (blocks + 31u) / 32u, used = 0, j;
  check_entry(c, run->page, XMC_MAP(run->cls, 0, 0, blocks), xmc_class_inverse(run->cls));
  check_word(c, xmc_slab_id(run->page), xmc_slab_class(run->cls), slots);
  for (j = 0; j < slots; j++)
    if (!(run->word >> j & 1u)) {
      used |= 1u << j;
      check_word(c, xmc_superblock_id(run->page, j), run->cls,
                 blocks - 32u * j < 32u ? blocks - 32u * j : 32u);
    }
  check_others(c, run->page, used, 0);
}

static void check_run(xmc_checker *c, const xmc_run *run) {
  xmc_u32 i, row = 0, id;
  switch (run->kind) {
  case XMC_RUN_FREE:
    for (i = run->page; i < run->page + run->pages; i++) {
      xmc_u64 entry = *xmc_page_entry(c->meta, i);
      id = xmc_superblock_id(i - xmc_map_back(entry), xmc_map_place(entry));
      if (xmc_map_class(entry) < XMC_CLASSES &&
          (xmc_map_back(entry) > i || *xmc_word_of(c->meta, id) != XMC_WORD_RETIRED))
        problem(c, XMC_PROBLEM_PAGE_MAP, c->meta->page_map + 8u * (xmc_u64)i,
                "page %u is free, and its entry 0x%llx leads to what is in use", i,
                (unsigned long long)entry);
      check_others(c, i, 0, 1);
    }
    return;
  case XMC_RUN_LOST:
    problem(c, XMC_PROBLEM_FREE_PAGES, span_offset(c->meta, run->page / XMC_SPAN_PAGES),
            "page %u is not free, and nothing uses it", run->page);
    return;
  case XMC_RUN_SLAB:
    check_slab(c, run);
    return;
  case XMC_RUN_SUPERBLOCK:
    row = XMC_RUN_PLACE + xmc_lowest32(run->pages);
    for (i = 0; i < run->pages; i++)
      check_entry(c, run->page + i, XMC_MAP(run->cls, i, row, xmc_word_count(run->word)),
                  xmc_class_inverse(run->cls));
    check_word(c, xmc_superblock_id(run->page, row), run->cls, xmc_class_blocks(run->cls, run->pages));
    break;
  case XMC_RUN_MEMORYBLOCK:
    check_entry(c, run->page, XMC_MAP(XMC_CLASS_MEMORYBLOCK, 0, 0, 0), 0);
    for (i = 1; i < run->pages; i++)
      check_entry(c, run->page + i, XMC_MAP(XMC_CLASS_BODY, 0, 0, 0), 0);
    if (run->word != xmc_word_memoryblock(run->pages))
      problem(c, XMC_PROBLEM_STATE_WORD, word_offset(c->meta, xmc_superblock_id(run->page, 0)),
              "Memoryblock at page %u: word 0x%llx", run->page, (unsigned long long)run->word);
    break;
  }
  check_others(c, run->page, 1u << row, 1);
  check_used_pages(c, run);
}

static void check_own_slabs(xmc_checker *c) {
  xmc_u32 *slabs = xmc_own_table(c->meta) + XMC_OWN_RUNS * c->meta->own, i;
  for (i = 0; i < XMC_SMALL_CLASSES * c->meta->own; i++)
    if (slabs[i] && xmc_slab_page(slabs[i] - 1u) >= c->meta->pages)
      problem(c, XMC_PROBLEM_FIFO, (xmc_u64)((char *)(slabs + i) - (char *)c->meta),
              "slot %u's own slab of class %u is 0x%x, which is no slab", i % c->meta->own, i / c->meta->own,
              slabs[i] - 1u);
}

/* Bits for what does not exist would lead outside the tables. */
static void check_beyond(xmc_checker *c) {
  xmc_u32 cls, i, k;
  for (cls = 0; cls < XMC_ALL_CLASSES; cls++)
    for (i = xmc_fifos_count(c->meta->fifo_table[cls]); i < c->meta->slots; i++)
      if (xmc_bitmap_has(c->meta, XMC_BUSY, cls * c->meta->slots + i))
        problem(c, XMC_PROBLEM_BITMAP, c->meta->bitmaps[XMC_BUSY].level[0],
                "busy bitmap has FIFO %u of class %u, which has %u", i, cls,
                xmc_fifos_count(c->meta->fifo_table[cls]));
  for (k = 0; k < XMC_INDEX_LEVELS; k++)
    for (i = (c->meta->spans + (1u << 3u * k) - 1u) >> 3u * k; i & 7u; i++)
      if (*xmc_index_word(c->meta, k, i) >> (8u * (i & 7u)) & 0x7fu)
        problem(c, XMC_PROBLEM_BITMAP, c->meta->index[k] + i,
                "level %u of the index has runs beyond the last span", k);
}

cl_int xmc_check_meta(xmcHeap *meta, xmc_heap_report *report) {
  xmc_checker c = {meta, report, calloc(word_count(meta) / 8u + 1u, 1)};
  xmc_u32 cls, i;
  if (!c.in_fifo)
    return CL_OUT_OF_HOST_MEMORY;
  for (cls = 0; cls < XMC_ALL_CLASSES; cls++)
    for (i = 0; i < xmc_fifos_count(meta->fifo_table[cls]); i++)
      check_fifo(&c, cls, i);
  check_own_slabs(&c);
  check_beyond(&c);
  check_levels(&c, "busy", XMC_BUSY);
  check_levels(&c, "parked", XMC_PARKED);
  check_levels(&c, "whole", XMC_WHOLE);
  for (i = 0; i < meta->spans; i++)
    check_span(&c, i);
  for (i = 0; i < meta->pages;) {
    xmc_run run = xmc_walk_run(c.meta, i);
    check_run(&c, &run);
    i += run.pages;
  }
  free(c.in_fifo);
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
  if (!xmc_debug_look(walk->window, meta, plain->ref, plain->usable, &block)) {
    /* one that lanes share by compartments has other headers */
    int shared = meta->coalescing == XMC_COALESCE_COMPARTMENT && walk->window->heap->probe.simt;
    if (walk->window->status == CL_SUCCESS && !shared)
      problem(walk->checker, XMC_PROBLEM_RED_ZONE, plain->ref,
              "the header of the block at 0x%llx was overwritten", (unsigned long long)plain->ref);
  } else if ((at = xmc_debug_overwritten(walk->window, meta, plain->ref, plain->usable, &block)) != 0) {
    problem(walk->checker, XMC_PROBLEM_RED_ZONE, at,
            "the block of %llu bytes at 0x%llx: byte %lld was overwritten", (unsigned long long)block.size,
            (unsigned long long)(plain->ref + block.front), (long long)(at - plain->ref - block.front));
  }
  return walk->window->status != CL_SUCCESS;
}

/* Of all live blocks; the metadata must be right. */
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

cl_int xmcCheckHeapSized(xmc_heap heap, cl_command_queue queue, size_t size, xmc_heap_report *report) {
  xmc_heap_report found = {0};
  xmc_checker c = {NULL, &found, NULL};
  int intact = 0;
  cl_int status;
  if (report && size < XMC_LEAST_REPORT_BYTES)
    return CL_INVALID_VALUE;
  if ((status = xmc_walk_open(heap, queue, &c.meta, &intact)) != CL_SUCCESS)
    goto cleanup;
  if (!intact)
    problem(&c, XMC_PROBLEM_HEADER, 0, "the header is not the one the heap was made with");
  status = xmc_check_meta(c.meta, c.report);
  if (status == CL_SUCCESS && heap->settings.debug >= 2)
    status = check_red_zones(&c, heap, queue);
cleanup:
  free(c.meta);
  if (report)
    xmc_copy_sized(report, size, &found, sizeof found);
  return status;
}
