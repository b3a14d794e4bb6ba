/* SPDX-License-Identifier: MIT */
/* The trace by call sites: folded stacks for flame graphs, and a table for people. */
#include "trace.h"
#include "inspect/text.h"
#include <stdlib.h>
#include <string.h>

#define XMC_TOP_SHOWN 20u

/* The sums of a call site, for blocks of one kind of room; in the table, for all blocks */
typedef struct xmc_site_sum {
  xmc_u32 site, room;
  xmc_u64 live_blocks, live_bytes, allocations, frees, failures;
} xmc_site_sum;

typedef struct xmc_sites {
  xmc_site_sum *sums;
  size_t count;
} xmc_sites;

/* *sum gets what one event adds to a site; a free counts for the site of the block's request. Returns 0 if the event adds nothing. */
static int sum_of(const xmc_trace *trace, const xmc_trace_event *e, int by_room, xmc_site_sum *sum) {
  const xmc_trace_event *begin = xmc_trace_ends(e) && e->origin ? &trace->events[e->origin - 1u] : e;
  *sum = (xmc_site_sum){.site = begin->site, .room = by_room ? xmc_trace_room_kind(begin) : 0};
  if (xmc_trace_begins(e)) {
    sum->allocations = 1;
    sum->live_blocks = e->live;
    sum->live_bytes = !e->live ? 0 : e->kind == XMC_TRACE_REGION_MALLOC ? e->size : e->room;
    return 1;
  }
  sum->frees = begin != e;
  sum->failures = e->kind == XMC_TRACE_FAILURE;
  return sum->frees || sum->failures;
}

static int by_site(const void *a, const void *b) {
  const xmc_site_sum *x = a, *y = b;
  return x->site != y->site ? (x->site < y->site ? -1 : 1) : (x->room > y->room) - (x->room < y->room);
}

static int by_live(const void *a, const void *b) {
  const xmc_site_sum *x = a, *y = b;
  if (x->live_bytes != y->live_bytes)
    return x->live_bytes < y->live_bytes ? 1 : -1;
  return x->allocations != y->allocations ? (x->allocations < y->allocations ? 1 : -1) : by_site(a, b);
}

static int by_allocations(const void *a, const void *b) {
  const xmc_site_sum *x = a, *y = b;
  return x->allocations != y->allocations ? (x->allocations < y->allocations ? 1 : -1) : by_live(a, b);
}

/* Merges sums that are sorted by site: neighbours of one site and room become one. Returns how many are left. */
static size_t merge(xmc_site_sum *sums, size_t count) {
  size_t i, used = 0;
  for (i = 0; i < count; i++) {
    xmc_site_sum *to = &sums[used ? used - 1u : 0];
    if (!used || by_site(to, &sums[i]) != 0) {
      sums[used++] = sums[i];
      continue;
    }
    to->live_blocks += sums[i].live_blocks;
    to->live_bytes += sums[i].live_bytes;
    to->allocations += sums[i].allocations;
    to->frees += sums[i].frees;
    to->failures += sums[i].failures;
  }
  return used;
}

/* Sums all events by site. The buffer is merged when it is full, and grows if it is then still more than half full. */
static cl_int read_sites(const xmc_trace *trace, int by_room, xmc_sites *sites) {
  size_t room = 4096, i;
  sites->count = 0;
  sites->sums = malloc(room * sizeof *sites->sums);
  for (i = 0; sites->sums && i < trace->count; i++) {
    sites->count += (size_t)sum_of(trace, &trace->events[i], by_room, &sites->sums[sites->count]);
    if (sites->count < room)
      continue;
    qsort(sites->sums, sites->count, sizeof *sites->sums, by_site);
    sites->count = merge(sites->sums, sites->count);
    if (sites->count > room / 2u) {
      xmc_site_sum *more = realloc(sites->sums, (room *= 2u) * sizeof *more);
      if (!more)
        free(sites->sums);
      sites->sums = more;
    }
  }
  if (!sites->sums)
    return CL_OUT_OF_HOST_MEMORY;
  qsort(sites->sums, sites->count, sizeof *sites->sums, by_site);
  sites->count = merge(sites->sums, sites->count);
  return CL_SUCCESS;
}

/* ---- folded stacks ---- */

static void put_folded(const xmc_sites *sites, int live, FILE *file) {
  char site[XMC_SITE_BYTES], room[XMC_TEXT_BYTES];
  const char *name;
  size_t i;
  for (i = 0; i < sites->count; i++) {
    const xmc_site_sum *s = &sites->sums[i];
    xmc_u64 number = live ? s->live_bytes : s->allocations;
    if (!number)
      continue;
    name = xmc_trace_site_name(s->site, site);
    fprintf(file, "%.*s;%s;%s %llu\n", (int)strcspn(name, ":"), name, name,
            xmc_trace_room_name(s->room, room), (unsigned long long)number);
  }
}

static cl_int folded(xmcHeap *meta, int live, FILE *file) {
  xmc_trace trace;
  xmc_sites sites = {NULL, 0};
  cl_int status = xmc_trace_open(meta, &trace);
  if (status != CL_SUCCESS)
    return status;
  status = read_sites(&trace, 1, &sites);
  if (status == CL_SUCCESS)
    put_folded(&sites, live, file);
  free(sites.sums);
  xmc_trace_close(&trace);
  return status;
}

cl_int xmc_trace_folded(xmcHeap *meta, FILE *file) { return folded(meta, 1, file); }
cl_int xmc_trace_allocations(xmcHeap *meta, FILE *file) { return folded(meta, 0, file); }

/* ---- the table ---- */

static void put_rows(xmc_sites *sites, const char *title, int (*order)(const void *, const void *),
                     FILE *file) {
  char site[XMC_SITE_BYTES], text[4][XMC_TEXT_BYTES];
  size_t i;
  qsort(sites->sums, sites->count, sizeof *sites->sums, order);
  fprintf(file, "\n  %-24s %12s %12s %14s %14s %9s\n", title, "live bytes", "live blocks", "allocations",
          "frees", "failures");
  for (i = 0; i < sites->count && i < XMC_TOP_SHOWN; i++) {
    const xmc_site_sum *s = &sites->sums[i];
    fprintf(file, "  %-24s %12s %12s %14s %14s %9llu\n", xmc_trace_site_name(s->site, site),
            xmc_text_size(text[0], s->live_bytes), xmc_text_count(text[1], s->live_blocks),
            xmc_text_count(text[2], s->allocations), xmc_text_count(text[3], s->frees),
            (unsigned long long)s->failures);
  }
  if (sites->count > XMC_TOP_SHOWN)
    fprintf(file, "  and %s more\n", xmc_text_count(text[0], sites->count - XMC_TOP_SHOWN));
}

/* Writes what the figures leave out: lost events and blocks. */
static void put_limits(xmcHeap *meta, const xmc_trace *trace, FILE *file) {
  char a[XMC_TEXT_BYTES], b[XMC_TEXT_BYTES];
  xmc_trace_totals totals;
  xmc_heap_stats stats;
  xmc_u64 live, known;
  xmc_trace_sum(trace, &totals);
  xmc_stats_meta(meta, &stats);
  fprintf(file, "XMalloc: %s events", xmc_text_count(a, trace->taken));
  if (trace->lost)
    fprintf(file, ", the first of which are lost: the trace has the last %s",
            xmc_text_count(b, trace->count));
  if (trace->every > 1u)
    fprintf(file, "\n  of one place in %s: for all places multiply the figures by that",
            xmc_text_count(a, trace->every));
  live = stats.live_bytes - stats.region_bytes;
  known = totals.live_bytes;
  if (trace->every == 1u && live > known)
    fprintf(file, "\n  %s of live blocks are of requests that are not in the trace",
            xmc_text_size(a, live - known));
  fprintf(file, "\n");
}

cl_int xmc_trace_top(xmcHeap *meta, FILE *file) {
  xmc_trace trace;
  xmc_sites sites = {NULL, 0};
  cl_int status = xmc_trace_open(meta, &trace);
  if (status != CL_SUCCESS)
    return status;
  status = read_sites(&trace, 0, &sites);
  if (status == CL_SUCCESS) {
    put_limits(meta, &trace, file);
    put_rows(&sites, "by live bytes", by_live, file);
    put_rows(&sites, "by allocations", by_allocations, file);
  }
  free(sites.sums);
  xmc_trace_close(&trace);
  return status;
}
