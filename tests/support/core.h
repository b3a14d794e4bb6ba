/* SPDX-License-Identifier: MIT */
/* The device library compiled as C, on an arena in the process's own memory. */
#ifndef XMC_TEST_CORE_H
#define XMC_TEST_CORE_H
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#ifdef CORE_SCHEDULED
/* One of support/schedule.h's threads at a time, by a choice at every atomic */
#include "schedule.h"
#define XMC_HOST_STEP() schedule_step()
#define XMC_HOST_THREAD() ((xmc_u32)schedule_thread() + 1u)
#elif !defined(CORE_OWN_STEPS)
/* Before every atomic a thread may lose its turn: on average once in core_yield steps; 0: never. */
static unsigned core_yield;
static inline void core_step(void) {
  static __thread unsigned state;
  if (core_yield) {
    state = state * 1664525u + 1013904223u + (unsigned)((uintptr_t)&state >> 8);
    if ((state >> 8) % core_yield == 0)
      sched_yield();
  }
}
#define XMC_HOST_STEP() core_step()
#endif
#ifdef CORE_ONE_GEOMETRY
/* As in a program for one geometry: that of the last heap made */
#define CORE_GEOMETRY_NUMBER 1u
static struct {
  uint64_t data, words, index[5], busy, parked, whole;
  uint32_t map, pages, present, lanes, slots, fifos, parked_fifos, own;
} core_geometry;
#define XMC_GEOMETRY CORE_GEOMETRY_NUMBER
#define XMC_GEOMETRY_DATA core_geometry.data
#define XMC_GEOMETRY_WORDS core_geometry.words
#define XMC_GEOMETRY_MAP core_geometry.map
#define XMC_GEOMETRY_PAGES core_geometry.pages
#define XMC_GEOMETRY_PRESENT core_geometry.present
#define XMC_GEOMETRY_LANES core_geometry.lanes
#define XMC_GEOMETRY_SLOTS core_geometry.slots
#define XMC_GEOMETRY_FIFOS core_geometry.fifos
#define XMC_GEOMETRY_PARKED_FIFOS core_geometry.parked_fifos
#define XMC_GEOMETRY_OWN core_geometry.own
#define XMC_GEOMETRY_BUSY core_geometry.busy
#define XMC_GEOMETRY_PARKED core_geometry.parked
#define XMC_GEOMETRY_WHOLE core_geometry.whole
#define XMC_GEOMETRY_INDEX0 core_geometry.index[0]
#define XMC_GEOMETRY_INDEX1 core_geometry.index[1]
#define XMC_GEOMETRY_INDEX2 core_geometry.index[2]
#define XMC_GEOMETRY_INDEX3 core_geometry.index[3]
#define XMC_GEOMETRY_INDEX4 core_geometry.index[4]
#endif
#include "../../cl/xmalloc.cl"
#include "../../cl/superblocks/init.cl"
#include "../../host/heap/layout.h"

#ifndef CORE_SLOTS_DEFAULT
#define CORE_SLOTS_DEFAULT 64u
#endif

#ifdef CORE_ONE_GEOMETRY
static inline void core_geometry_set(const xmcHeap *heap) {
  xmc_u32 i;
  core_geometry.data = heap->data;
  core_geometry.words = heap->words;
  core_geometry.map = heap->page_map;
  core_geometry.pages = heap->pages;
  core_geometry.present = heap->present;
  core_geometry.lanes = heap->lanes;
  core_geometry.slots = heap->slots;
  core_geometry.fifos = xmc_fifos_count(heap->fifo_table[0]);
  core_geometry.parked_fifos = xmc_fifos_count(heap->fifo_table[XMC_PARKED_SLABS]);
  core_geometry.own = heap->own;
  core_geometry.busy = heap->bitmaps[XMC_BUSY].level[0];
  core_geometry.parked = heap->bitmaps[XMC_PARKED].level[0];
  core_geometry.whole = heap->bitmaps[XMC_WHOLE].level[0];
  for (i = 0; i < XMC_INDEX_LEVELS; i++)
    core_geometry.index[i] = heap->index[i];
  for (i = 0; i < XMC_ALL_CLASSES; i++)
    if (xmc_fifos_count(heap->fifo_table[i]) !=
        (i < XMC_PARKED_SLABS ? core_geometry.fifos : core_geometry.parked_fifos))
      core_geometry.fifos = 0;
}
#endif

static xmc_u64 core_max_bytes;                            /* heaps that are made can grow up to this */
static xmc_u32 core_trace_records, core_trace_every = 1u; /* of the ring of heaps that are made; 0: none */

/* The header of a heap as the host library would make it; slots 0 … or CORE_SLOTS_DEFAULT */
static inline xmcHeap core_header(size_t bytes, xmc_u32 slots, xmc_u32 fifo_start, xmc_u32 coalescing) {
  xmc_layout_request request;
  xmcHeap header;
  memset(&request, 0, sizeof request);
  request.slots = slots;
  request.lanes = XMC_SIMT ? CORE_SLOTS_DEFAULT : 8;
  request.slots_exact = slots != CORE_SLOTS_DEFAULT;
  request.simt = XMC_SIMT;
  request.fifo_start = fifo_start;
  request.coalescing = coalescing;
  request.max_bytes = core_max_bytes;
  request.trace_records = core_trace_records;
  request.trace_every = core_trace_every;
  assert_int_equal(xmc_layout(&header, bytes, &request), 1);
  return header;
}

/* Such a heap. Free with core_heap_free. */
static inline xmcHeap *core_heap(size_t bytes, xmc_u32 slots, xmc_u32 fifo_start, xmc_u32 coalescing) {
  xmcHeap header = core_header(bytes, slots, fifo_start, coalescing);
  xmcHeap *heap = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  assert_non_null(heap);
  memset(heap, 0xa5, bytes); /* whatever was there */
  memcpy(heap, &header, sizeof header);
#ifdef CORE_ONE_GEOMETRY
  core_geometry_set(heap);
#endif
  xmc_init_part(heap, 0, 2);
  xmc_init_part(heap, 1, 2);
  xmc_init_open(heap);
  assert_true(heap->magic == XMC_MAGIC);
#ifdef CORE_ONE_GEOMETRY
  core_geometry_set(heap); /* its data was aligned */
  heap->geometry = CORE_GEOMETRY_NUMBER;
#endif
  return heap;
}

static inline void core_heap_free(xmcHeap *heap) { free(heap); }

static inline uint64_t core_random(uint64_t *state) {
  uint64_t x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  *state = x;
  return x * 0x2545f4914f6cdd1du;
}

/* Free pages by their bits */
static inline uint32_t core_free_pages(xmcHeap *heap) {
  uint32_t n = 0, s;
  for (s = 0; s < heap->spans; s++)
    n += (uint32_t)__builtin_popcountll(xmc_load_relaxed64(xmc_span_word(heap, s)));
  return n;
}

/* Runs `run` in `count` threads, each with its number and `data`, and waits. */
typedef struct core_thread {
  pthread_t thread;
  void (*run)(int number, void *data);
  int number;
  void *data;
} core_thread;

static inline void *core_thread_main(void *arg) {
  core_thread *t = arg;
  t->run(t->number, t->data);
  return NULL;
}

static inline void core_threads(int count, void (*run)(int number, void *data), void *data) {
  core_thread threads[64];
  int i;
  assert_true(count >= 1 && count <= 64);
  for (i = 0; i < count; i++) {
    threads[i].run = run;
    threads[i].number = i;
    threads[i].data = data;
    assert_int_equal(pthread_create(&threads[i].thread, NULL, core_thread_main, &threads[i]), 0);
  }
  for (i = 0; i < count; i++)
    assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
}
#endif
