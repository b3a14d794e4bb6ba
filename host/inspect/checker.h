/* SPDX-License-Identifier: MIT */
/* Declarations that the files of xmcCheckHeap share: check.c and check_tables.c. */
#ifndef XMC_CHECKER_H
#define XMC_CHECKER_H
#include "heap/regions.h"

typedef struct xmc_checker {
  xmcHeap *meta;
  xmc_heap_report *report;
  unsigned char *in_fifo;  /* a bit for each state word: 1 if a FIFO of its class holds its id */
  xmc_region_sum *regions; /* sorted by tags */
  size_t region_count;
} xmc_checker;

/* Counts a problem. The report describes the first one. `offset`: its place in the arena, in bytes */
void xmc_report_problem(xmc_checker *c, xmc_problem code, cl_ulong offset, const char *format, ...);

/* All state words are numbered from the last slab's on. */
static inline xmc_u32 xmc_word_number(xmcHeap *meta, xmc_u32 id) {
  return id - xmc_slab_id(meta->pages - 1u);
}
static inline xmc_u32 xmc_all_words(xmcHeap *meta) {
  return xmc_word_number(meta, meta->spans * XMC_SPAN_WORDS);
}

static inline xmc_u64 xmc_span_offset(xmcHeap *meta, xmc_u32 span) {
  return (xmc_u64)((char *)xmc_span_word(meta, span) - (char *)meta);
}

/* check_tables.c: checks FIFOs, own places, bitmaps and the span index. Sets c->in_fifo. */
void xmc_check_tables(xmc_checker *c);
#endif
