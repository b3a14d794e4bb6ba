/* SPDX-License-Identifier: MIT */
/* The ring of a traced heap, in the core compiled as C: whole events or none, by any schedule and with a writer that was stopped for
 * ever; and the calls by threads, whose events come to what the statistics say.
 */
#define CORE_SCHEDULED
#define XMC_TRACE 1
#include "support/core.h"
#include "support/named.h"
#include "trace/trace.h"

enum { BYTES = 8 << 20, WRITERS = 3, THREADS = 8 };

static xmcHeap *traced_heap(xmc_u32 records) {
  xmcHeap *heap;
  core_trace_records = records;
  heap = core_heap(BYTES, CORE_SLOTS_DEFAULT, 0, XMC_COALESCE_CLASS);
  core_trace_records = 0;
  return heap;
}

/* ---- the ring alone ---- */

typedef struct writers {
  xmcHeap *heap;
  uint32_t each; /* events of each writer */
} writers;

/* Events whose words all follow from one number, which no other event has */
static void write_events(int number, void *data) {
  writers *w = data;
  uint32_t i;
  for (i = 0; i < w->each; i++) {
    xmc_u32 n = 1u + (xmc_u32)number * 1000u + i;
    xmc_trace_write(w->heap, xmc_trace_what(XMC_TRACE_MALLOC, n, n), n + 1u, n + 2u, n + 3u, n + 4u);
  }
}

/* The events in the ring are whole, each once; returns how many there are. `ends`: 1 if every writer came to its end. */
static uint32_t whole_events(const writers *w, int ends) {
  static unsigned char seen[WRITERS * 1000 + 1];
  xmc_trace trace;
  size_t i;
  uint32_t count;
  memset(seen, 0, sizeof seen);
  assert_int_equal(xmc_trace_open(w->heap, &trace), CL_SUCCESS);
  for (i = 0; i < trace.count; i++) {
    const xmc_trace_event *e = &trace.events[i];
    xmc_u32 n = (xmc_u32)e->ref;
    assert_true(n >= 1 && n < sizeof seen);
    assert_int_equal(seen[n]++, 0);
    assert_int_equal(e->track, n);
    assert_int_equal(e->size, n + 1u);
    assert_int_equal(e->room, n + 2u);
    assert_int_equal(e->site, n + 3u);
    assert_int_equal(e->item, n + 4u);
  }
  assert_int_equal(trace.lost, trace.taken - trace.count);
  if (ends)
    assert_int_equal(trace.taken, WRITERS * w->each);
  count = (uint32_t)trace.count;
  xmc_trace_close(&trace);
  return count;
}

/* A ring that begins shortly before it comes round, so that the writers meet in its records */
static void set_off(xmcHeap *heap) {
  xmc_u32 i;
  for (i = 0; i < XMC_TRACE_LEAST_RECORDS; i++)
    xmc_trace_record_of(heap, i)->state = 0;
  xmc_trace_ring_of(heap)->taken = 0;
}

/* All schedules of many seeds. Two records are all that the writers use: the ring of the header is made smaller. */
static void any_schedule(void **state) {
  writers w = {traced_heap(XMC_TRACE_LEAST_RECORDS), 4};
  uint64_t seed;
  uint32_t lost = 0;
  (void)state;
  w.heap->trace_records = 2;
  for (seed = 1; seed <= 20000; seed++) {
    schedule s;
    uint32_t whole;
    memset(&s, 0, sizeof s);
    s.seed = seed;
    s.switch_one_in = 1u + (unsigned)(seed % 3u);
    s.stop_thread = -1;
    set_off(w.heap);
    schedule_run(&s, WRITERS, write_events, &w);
    assert_int_equal(s.hung, 0);
    whole = whole_events(&w, 1);
    assert_true(whole <= 2);
    lost += 2u - whole;
  }
  assert_true(lost > 0); /* writers did meet */
  core_heap_free(w.heap);
}

/* One writer is stopped before each of its steps: the others come to their end, and all but its record stays in use. */
static void stopped_writer(void **state) {
  writers w = {traced_heap(XMC_TRACE_LEAST_RECORDS), 100};
  uint64_t step, seed;
  (void)state;
  for (step = 1; step <= 40; step++)
    for (seed = 1; seed <= 20; seed++) {
      schedule s;
      memset(&s, 0, sizeof s);
      s.seed = seed * 77u + step;
      s.switch_one_in = 3;
      s.stop_step = step;
      s.stop_thread = 1;
      set_off(w.heap);
      schedule_run(&s, WRITERS, write_events, &w);
      assert_int_equal(s.hung, 0);
      assert_int_equal(s.stopped, 1);
      /* at most the record of the stopped one, and those of writers that were overtaken by a whole round, of which there is none */
      assert_true(whole_events(&w, 0) >= XMC_TRACE_LEAST_RECORDS - 1u);
    }
  core_heap_free(w.heap);
}

/* A record in another writer's hands, or with a later event, stays as it is: the event is lost. */
static void taken_record(void **state) {
  writers w = {traced_heap(XMC_TRACE_LEAST_RECORDS), 0};
  xmc_trace_record before, *record = xmc_trace_record_of(w.heap, 5);
  const xmc_u64 states[] = {xmc_trace_state(5u + XMC_TRACE_LEAST_RECORDS),
                            xmc_trace_state(5u + XMC_TRACE_LEAST_RECORDS) | 1u, 1u};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof states / sizeof *states; i++) {
    record->state = states[i];
    before = *record;
    xmc_trace_ring_of(w.heap)->taken = 5;
    xmc_trace_write(w.heap, xmc_trace_what(XMC_TRACE_MALLOC, 1, 16), 1, 2, 3, 4);
    assert_memory_equal(record, &before, sizeof before);
    assert_int_equal(xmc_trace_ring_of(w.heap)->taken, 6);
  }
  core_heap_free(w.heap);
}

/* ---- the calls ---- */

typedef struct crowd {
  xmcHeap *heap;
  uint32_t rounds;
  uint64_t seed;
} crowd;

static void churn(int number, void *data) {
  const crowd *c = data;
  xmcHeap *heap = c->heap;
  uint64_t random = c->seed + 1000003u * (unsigned)number;
  void *held[64] = {NULL};
  uint32_t i;
  for (i = 0; i < c->rounds; i++) {
    uint64_t r = core_random(&random);
    void **at = &held[r % 64u];
    size_t size = 1u + (r >> 8) % (r % 16u ? 300u : 40000u);
    if (r >> 32 & 1u)
      *at = *at ? xmcRealloc(heap, *at, size) : xmcCalloc(heap, 1, size);
    else if (*at)
      xmcFree(heap, *at), *at = NULL;
    else
      *at = xmcMalloc(heap, size);
    if (i % 100u == 0)
      xmcFree(heap, (char *)heap + 8u * i);
    if (i % 250u == 0)
      xmcMalloc(heap, (size_t)1 << 50);
  }
}

static void come_to_the_statistics(xmcHeap *heap, xmc_trace_totals *t) {
  xmc_heap_stats stats;
  xmc_trace trace;
  xmc_stats_meta(heap, &stats);
  assert_int_equal(xmc_trace_open(heap, &trace), CL_SUCCESS);
  xmc_trace_sum(&trace, t);
  xmc_trace_close(&trace);
  assert_int_equal(trace.lost, 0);
  assert_int_equal(t->other_frees, 0);
  assert_int_equal(t->live_blocks, stats.live_blocks);
  assert_int_equal(t->live_bytes, stats.live_bytes);
  assert_int_equal(t->allocations - t->frees, stats.live_blocks);
  assert_int_equal(t->failures, stats.failed_requests);
  assert_int_equal(t->bad_frees, stats.double_frees + stats.invalid_frees);
}

static void totals(void **state) {
  crowd c = {traced_heap(1u << 16), 2000, 7};
  xmc_trace_totals t;
  (void)state;
  core_threads(THREADS, churn, &c);
  come_to_the_statistics(c.heap, &t);
  assert_true(t.failures >= THREADS * 8u && t.bad_frees == THREADS * 20u && t.live_blocks > 0);
  core_heap_free(c.heap);
}

/* The same where places go from one work-item to the next all the time: a block is recorded as freed before another one is there. */
static void totals_by_any_schedule(void **state) {
  uint64_t seed;
  (void)state;
  for (seed = 1; seed <= 300; seed++) {
    crowd c = {traced_heap(1u << 11), 150, seed};
    xmc_trace_totals t;
    schedule s;
    memset(&s, 0, sizeof s);
    s.seed = seed;
    s.switch_one_in = 1u + (unsigned)(seed % 5u);
    s.stop_thread = -1;
    schedule_run(&s, WRITERS, churn, &c);
    assert_int_equal(s.hung, 0);
    come_to_the_statistics(c.heap, &t);
    core_heap_free(c.heap);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_schedule),           cmocka_unit_test(stopped_writer),
      cmocka_unit_test(taken_record),           cmocka_unit_test(totals),
      cmocka_unit_test(totals_by_any_schedule),
  };
  return run_named(tests, argc, argv);
}
