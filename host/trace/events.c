/* SPDX-License-Identifier: MIT */
/* Reads the events of a ring and finds the block of each. A ring that comes from a file may hold any values: a record that does not
 * belong to the event of its place, or holds impossible values, counts as lost.
 */
#include "trace.h"
#include "inspect/text.h"
#include "../../cl/calls/debug_header.h"
#include "../../cl/layout/size_class.cl"
#include <stdlib.h>
#include <string.h>

/* ---- the ring ---- */

/* Reads the event of this place. Returns 1, or 0 if the event is lost. */
static int read_event(xmcHeap *meta, xmc_u64 place, xmc_trace_event *event) {
  const xmc_trace_record *record = xmc_trace_record_of(meta, place);
  xmc_u32 kind = xmc_trace_kind(record->what);
  if (record->state != xmc_trace_state(place) || kind == 0 || kind >= XMC_TRACE_KINDS)
    return 0;
  *event = (xmc_trace_event){.time = record->time,
                             .ref = xmc_trace_ref(record->what),
                             .size = record->size,
                             .room = record->room,
                             .site = record->site,
                             .item = record->item,
                             .track = (uint16_t)xmc_trace_track(record->what),
                             .kind = (uint8_t)kind};
  if (xmc_trace_begins(event) && event->size > meta->bytes)
    return 0;
  return kind == XMC_TRACE_REGION_MALLOC || !(xmc_trace_begins(event) || xmc_trace_ends(event)) ||
         event->room <= meta->bytes;
}

/* Makes times ascend, because sub-groups may read their clocks in another order than they take places, and a text has one order. An event
 * without a time, such as a host call, gets that of the event before it. */
static void order_times(xmc_trace *trace) {
  xmc_u64 first = 0, last = 0, time;
  size_t i;
  for (i = 0; i < trace->count; i++) {
    time = trace->events[i].time;
    if (!first)
      first = last = time;
    last = time > last ? time : last;
    trace->events[i].time = last - first;
  }
}

static cl_int read_ring(xmcHeap *meta, xmc_trace *trace) {
  xmc_u64 n = meta->trace_records, taken = xmc_trace_ring_of(meta)->taken, place;
  n = taken < n ? taken : n;
  trace->taken = taken;
  trace->every = meta->trace_every;
  trace->clock = (xmc_u32)xmc_trace_ring_of(meta)->clock;
  if (trace->clock > XMC_CLOCK_TICKS)
    trace->clock = XMC_CLOCK_NONE;
  trace->events = calloc((size_t)n + 1u, sizeof *trace->events);
  if (!trace->events)
    return CL_OUT_OF_HOST_MEMORY;
  for (place = taken - n; place != taken; place++) {
    xmc_trace_event *event = &trace->events[trace->count];
    if (!read_event(meta, place, event))
      continue;
    if (trace->clock == XMC_CLOCK_NONE)
      event->time = place + 1u;
    trace->count++;
  }
  trace->lost = taken - trace->count;
  order_times(trace);
  return CL_SUCCESS;
}

/* ---- blocks: the live block at a reference, or those of a region ---- */

typedef struct xmc_trace_map {
  xmc_u64 *keys;   /* key + 1; 0: the place is empty */
  xmc_u32 *values; /* 1 + index of an event; 0: no live block */
  size_t mask;
} xmc_trace_map;

static int map_open(xmc_trace_map *map, size_t items) {
  size_t n = 16;
  while (n < 2u * items)
    n *= 2u;
  map->mask = n - 1u;
  map->keys = calloc(n, sizeof *map->keys);
  map->values = calloc(n, sizeof *map->values);
  return map->keys && map->values;
}

static void map_close(xmc_trace_map *map) {
  free(map->keys);
  free(map->values);
}

/* Returns the value of a key; it is 0 if the key is new. There is always room, because a map has at least twice as many places as
 * there are events. */
static xmc_u32 *map_at(xmc_trace_map *map, xmc_u64 key) {
  size_t i = (size_t)(((key ^ key >> 32) * 0x9e3779b97f4a7c15u) >> 20) & map->mask;
  while (map->keys[i] && map->keys[i] != key + 1u)
    i = (i + 1u) & map->mask;
  map->keys[i] = key + 1u;
  return &map->values[i];
}

/* Ends all blocks of a region with the event `end`. `list`: 1 + index of the region's last block */
static void end_region_blocks(xmc_trace *trace, xmc_trace_event *end, xmc_u32 *list) {
  xmc_u32 i;
  end->next = *list;
  for (i = *list; i; i = trace->events[i - 1u].next)
    trace->events[i - 1u].live = 0;
  *list = 0;
}

static void follow(xmc_trace *trace, xmc_trace_map *refs, xmc_trace_map *regions, xmc_trace_map *lists) {
  xmc_u32 i, *at;
  for (i = 0; i < trace->count; i++) {
    xmc_trace_event *e = &trace->events[i];
    if (e->kind == XMC_TRACE_REGION_MALLOC) {
      at = map_at(lists, e->room);
      e->next = *at; /* the region's blocks before this one that have not ended */
    } else if (xmc_trace_begins(e)) {
      at = map_at(refs, e->ref);
      if (*at) /* the free of the earlier block there is lost */
        trace->events[*at - 1u].live = 0;
    } else if (xmc_trace_ends(e)) {
      at = map_at(refs, e->ref);
      e->origin = *at;
    } else if (e->kind == XMC_TRACE_REGION_CREATE) {
      at = map_at(regions, e->room);
    } else if (e->kind == XMC_TRACE_REGION_FREE) {
      end_region_blocks(trace, e, map_at(lists, e->room));
      at = map_at(regions, e->room);
      e->origin = *at;
    } else {
      if (e->kind == XMC_TRACE_REGION_RESET)
        end_region_blocks(trace, e, map_at(lists, e->room));
      continue;
    }
    if (e->origin)
      trace->events[e->origin - 1u].live = 0;
    e->live = xmc_trace_begins(e) || e->kind == XMC_TRACE_REGION_CREATE;
    *at = e->live ? i + 1u : 0;
  }
}

/* ---- the whole ---- */

cl_int xmc_trace_open(xmcHeap *meta, xmc_trace *trace) {
  xmc_trace_map refs = {0}, regions = {0}, lists = {0};
  cl_int status;
  memset(trace, 0, sizeof *trace);
  if (!meta->trace_records)
    return XMC_HEAP_NOT_TRACED;
  status = read_ring(meta, trace);
  if (status == CL_SUCCESS && (!map_open(&refs, trace->count) || !map_open(&regions, trace->count) ||
                               !map_open(&lists, trace->count)))
    status = CL_OUT_OF_HOST_MEMORY;
  if (status == CL_SUCCESS)
    follow(trace, &refs, &regions, &lists);
  map_close(&refs);
  map_close(&regions);
  map_close(&lists);
  if (status != CL_SUCCESS)
    xmc_trace_close(trace);
  return status;
}

void xmc_trace_close(xmc_trace *trace) {
  free(trace->events);
  trace->events = NULL;
}

void xmc_trace_sum(const xmc_trace *trace, xmc_trace_totals *t) {
  size_t i;
  memset(t, 0, sizeof *t);
  for (i = 0; i < trace->count; i++) {
    const xmc_trace_event *e = &trace->events[i];
    if (e->kind == XMC_TRACE_REGION_MALLOC) {
      t->region_blocks += e->live;
      t->region_bytes += e->live ? e->size : 0;
    } else if (xmc_trace_begins(e)) {
      t->allocations++;
      t->allocated_bytes += e->size;
      t->live_blocks += e->live;
      t->live_bytes += e->live ? e->room : 0;
    } else if (xmc_trace_ends(e)) {
      t->frees += e->origin != 0;
      t->other_frees += e->origin == 0;
    }
    t->failures += e->kind == XMC_TRACE_FAILURE;
    t->bad_frees += e->kind == XMC_TRACE_BAD_FREE;
    t->regions += e->kind == XMC_TRACE_REGION_CREATE && e->live;
  }
}

/* ---- names ---- */

xmc_u32 xmc_trace_room_kind(const xmc_trace_event *e) {
  if (e->kind == XMC_TRACE_REGION_MALLOC)
    return XMC_TRACE_REGIONS;
  if (e->room == 0 || e->room > XMC_MAX_CLASS_BYTES)
    return XMC_TRACE_PAGES;
  return xmc_class_of((xmc_u32)e->room);
}

const char *xmc_trace_room_name(xmc_u32 kind, char *name) {
  if (kind >= XMC_CLASSES)
    return kind == XMC_TRACE_PAGES ? "whole pages" : "regions";
  snprintf(name, XMC_TEXT_BYTES, "%u B", xmc_class_bytes(kind));
  return name;
}

const char *xmc_trace_site_name(xmc_u32 site, char *name) {
  char file[32];
  if (site == 0)
    return "unknown";
  if (site & 0xffffu)
    snprintf(name, XMC_SITE_BYTES, "%s:%u", xmc_debug_file(site, file), site & 0xffffu);
  else
    snprintf(name, XMC_SITE_BYTES, "%s", xmc_debug_file(site, file));
  return name;
}
