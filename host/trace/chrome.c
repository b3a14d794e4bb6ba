/* SPDX-License-Identifier: MIT */
/* The trace as JSON of the Trace Event Format:
 *
 *   {"displayTimeUnit": "ns", "otherData": {totals}, "traceEvents": [
 *     {"ph": "M", ...}   the names of the process and of its threads: a thread for each track
 *     {"ph": "i", ...}   each event, on its thread
 *     {"ph": "C", ...}   live bytes of each size class, at most COUNTERS times
 *   ]}
 *
 * Times are in microseconds. A tick of a clock whose unit is not known counts as a nanosecond; without a clock an event counts as a
 * microsecond. Live bytes are computed back from the statistics at the end to the first event, so that they are right even if the ring
 * has lost the beginning. If only some places are traced, live bytes are counted from 0, for these places only.
 */
#include "trace.h"
#include "inspect/text.h"
#include <stdlib.h>

#define COUNTERS 1000u

static const char *const kinds[XMC_TRACE_KINDS] = {
    "",         "malloc",        "free",          "realloc: end", "realloc: begin", "failed request",
    "bad free", "region create", "region malloc", "region reset", "region free"};

typedef struct xmc_chrome {
  FILE *file;
  const xmc_trace *trace;
  const char *comma;
  xmc_u64 live[XMC_TRACE_ROOMS];
  unsigned char used[XMC_TRACE_ROOMS]; /* 1: an event is about this kind of room, or blocks of it are live */
  xmc_u32 threads, *thread;            /* for each track its thread's number, from 1; 0: not seen yet */
} xmc_chrome;

/* ---- live bytes ---- */

/* Returns the live bytes that an event adds, modulo 2^64; *kind gets the kind of room. */
static xmc_u64 change_of(const xmc_trace *trace, const xmc_trace_event *e, xmc_u32 *kind) {
  *kind = xmc_trace_room_kind(e);
  if (e->kind == XMC_TRACE_REGION_MALLOC)
    return e->size;
  if (xmc_trace_begins(e))
    return e->room;
  /* If only some places are traced, live bytes are counted from 0, so the end of a block that began before the trace does not count. */
  return xmc_trace_ends(e) && (e->origin || trace->every == 1u) ? 0u - e->room : 0;
}

/* Computes the live bytes before the first event: those at the end minus all changes. */
static void begin_counters(xmc_chrome *c, xmcHeap *meta) {
  xmc_heap_stats stats;
  xmc_u32 kind;
  size_t i;
  xmc_stats_meta(meta, &stats);
  for (kind = 0; kind < XMC_CLASSES && c->trace->every == 1u; kind++)
    c->live[kind] = stats.class_bytes[kind] * stats.class_live_blocks[kind];
  if (c->trace->every == 1u)
    c->live[XMC_TRACE_PAGES] = stats.memoryblock_bytes;
  for (i = 0; i < c->trace->count; i++) {
    xmc_u64 change = change_of(c->trace, &c->trace->events[i], &kind);
    c->used[kind] |= change != 0;
    if (c->trace->every == 1u && kind != XMC_TRACE_REGIONS)
      c->live[kind] -= change;
  }
  for (kind = 0; kind < XMC_TRACE_ROOMS; kind++) {
    if (c->live[kind] >> 63) /* negative: compartments, or a damaged ring */
      c->live[kind] = 0;
    c->used[kind] |= c->live[kind] != 0;
  }
}

/* Returns the bytes asked for by the region's blocks that end with this event, as far as the trace has them. */
static xmc_u64 region_bytes(const xmc_trace *trace, const xmc_trace_event *end) {
  xmc_u64 bytes = 0;
  xmc_u32 i;
  for (i = end->next; i; i = trace->events[i - 1u].next)
    bytes += trace->events[i - 1u].size;
  return bytes;
}

static void count(xmc_chrome *c, const xmc_trace_event *e) {
  xmc_u32 kind;
  xmc_u64 change = change_of(c->trace, e, &kind);
  if (e->kind == XMC_TRACE_REGION_FREE || e->kind == XMC_TRACE_REGION_RESET) {
    kind = XMC_TRACE_REGIONS;
    change = 0u - region_bytes(c->trace, e);
  }
  c->live[kind] = (c->live[kind] + change) >> 63 ? 0 : c->live[kind] + change;
}

/* ---- JSON ---- */

static void begin_entry(xmc_chrome *c) {
  fprintf(c->file, "%s\n", c->comma);
  c->comma = ",";
}

/* Writes a time in microseconds. */
static void put_time(const xmc_chrome *c, xmc_u64 time) {
  if (c->trace->clock)
    fprintf(c->file, "%llu.%03u", (unsigned long long)(time / 1000u), (unsigned)(time % 1000u));
  else
    fprintf(c->file, "%llu", (unsigned long long)time);
}

static void put_counters(xmc_chrome *c, xmc_u64 time) {
  const char *comma = "";
  char name[XMC_TEXT_BYTES];
  xmc_u32 kind;
  begin_entry(c);
  fprintf(c->file, "{\"name\": \"live bytes\", \"ph\": \"C\", \"pid\": 1, \"ts\": ");
  put_time(c, time);
  fprintf(c->file, ", \"args\": {");
  for (kind = 0; kind < XMC_TRACE_ROOMS; kind++)
    if (c->used[kind]) {
      fprintf(c->file, "%s\"%s\": %llu", comma, xmc_trace_room_name(kind, name),
              (unsigned long long)c->live[kind]);
      comma = ", ";
    }
  fprintf(c->file, "}}");
}

static void put_name(xmc_chrome *c, const char *what, xmc_u32 thread) {
  begin_entry(c);
  fprintf(c->file, "{\"name\": \"%s\", \"ph\": \"M\", \"pid\": 1, \"tid\": %u, \"args\": {\"name\": \"", what,
          thread ? thread + 1u : 0); /* viewers show the thread with the process's number as main thread */
  fprintf(c->file, thread ? "callers %u\"}}" : "XMalloc heap\"}}", thread);
}

static void put_event(xmc_chrome *c, const xmc_trace_event *e) {
  char site[XMC_SITE_BYTES];
  int bad = e->kind == XMC_TRACE_BAD_FREE; /* its `room` is the pointer */
  xmc_u64 ref = bad ? e->room : e->ref, room = bad ? 0 : e->room;
  if (!c->thread[e->track]) {
    c->thread[e->track] = ++c->threads;
    put_name(c, "thread_name", c->threads);
  }
  begin_entry(c);
  fprintf(
      c->file,
      "{\"name\": \"%s\", \"cat\": \"heap\", \"ph\": \"i\", \"s\": \"t\", \"pid\": 1, \"tid\": %u, \"ts\": ",
      kinds[e->kind], c->thread[e->track] + 1u);
  put_time(c, e->time);
  fprintf(c->file, ", \"args\": {\"site\": \"%s\", \"work-item\": %u", xmc_trace_site_name(e->site, site),
          e->item);
  if (ref)
    fprintf(c->file, ", \"ref\": \"0x%llx\"", (unsigned long long)ref);
  if (e->size) /* a failed request's size may be any number */
    fprintf(c->file, e->size >> 53 ? ", \"size\": \"%llu\"" : ", \"size\": %llu",
            (unsigned long long)e->size);
  if (room && e->kind < XMC_TRACE_REGION_CREATE)
    fprintf(c->file, ", \"block\": %llu", (unsigned long long)room);
  else if (room)
    fprintf(c->file, ", \"region\": \"0x%llx\"", (unsigned long long)room);
  fprintf(c->file, "}}");
}

static void put_totals(const xmc_chrome *c) {
  const xmc_trace *trace = c->trace;
  xmc_trace_totals t;
  size_t i;
  xmc_trace_sum(trace, &t);
  {
    const struct {
      const char *name;
      xmc_u64 value;
    } fields[] = {{"events", trace->taken},
                  {"lost", trace->lost},
                  {"every", trace->every},
                  {"allocations", t.allocations},
                  {"allocated_bytes", t.allocated_bytes},
                  {"frees", t.frees},
                  {"other_frees", t.other_frees},
                  {"live_blocks", t.live_blocks},
                  {"live_bytes", t.live_bytes},
                  {"failed_requests", t.failures},
                  {"bad_frees", t.bad_frees},
                  {"regions", t.regions},
                  {"region_blocks", t.region_blocks},
                  {"region_bytes", t.region_bytes}};
    fprintf(c->file, "\"otherData\": {\n  \"clock\": \"%s\"",
            trace->clock == XMC_CLOCK_NS ? "ns"
            : trace->clock               ? "ticks"
                                         : "events");
    for (i = 0; i < sizeof fields / sizeof *fields; i++)
      fprintf(c->file, ",\n  \"%s\": %llu", fields[i].name, (unsigned long long)fields[i].value);
  }
  fprintf(c->file, "},\n");
}

cl_int xmc_trace_chrome(xmcHeap *meta, FILE *file) {
  xmc_trace trace;
  xmc_chrome c = {.file = file, .trace = &trace, .comma = ""};
  size_t i, step;
  cl_int status = xmc_trace_open(meta, &trace);
  if (status != CL_SUCCESS)
    return status;
  c.thread = calloc(0x10000u, sizeof *c.thread);
  if (c.thread) {
    step = trace.count / COUNTERS + 1u;
    fprintf(file, "{\"displayTimeUnit\": \"ns\",\n");
    put_totals(&c);
    fprintf(file, "\"traceEvents\": [");
    put_name(&c, "process_name", 0);
    begin_counters(&c, meta);
    if (trace.count)
      put_counters(&c, 0);
    for (i = 0; i < trace.count && !ferror(file); i++) {
      put_event(&c, &trace.events[i]);
      count(&c, &trace.events[i]);
      if (i % step == step - 1u || i + 1u == trace.count)
        put_counters(&c, trace.events[i].time);
    }
    fprintf(file, "\n]}\n");
  }
  status = c.thread ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
  free(c.thread);
  xmc_trace_close(&trace);
  return status;
}
