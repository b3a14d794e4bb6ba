/* SPDX-License-Identifier: MIT */
/* Traced calls by sub-groups in lock step, as on GPUs (support/simt.h): lanes that are served together record each its own block, and
 * the events come to what the statistics say.
 */
#include "support/simt.h"
#include <stdint.h>
#define XMC_SIMT 1
#define XMC_TRACE 1
#define XMC_HOST_LANES "support/simt_lanes.h"
#define XMC_HOST_STEP() simt_step()
#define XMC_HOST_THREAD() (simt_number() + 1u)
#define CORE_OWN_STEPS
#include "support/core.h"
#include "support/named.h"
#include "trace/trace.h"

enum { GROUPS = 8, LANES = GROUPS * SIMT_LANES, BYTES = 16 << 20, ROUNDS = 12 };

typedef struct crowd {
  xmcHeap *heap;
  uint64_t seed;
} crowd;

/* All lanes of a sub-group ask for one size in one round, each for its own in the next. */
static void live(uint32_t number, void *data) {
  const crowd *c = data;
  uint64_t own = c->seed + 1000003u * (number + 1u), group = c->seed + 7919u * (number / SIMT_LANES + 1u);
  void *held[ROUNDS] = {NULL};
  uint32_t i;
  for (i = 0; i < ROUNDS; i++) {
    uint64_t mine = core_random(&own), ours = core_random(&group);
    size_t size = 1u + (i % 2u ? mine : ours) % (ours % 8u ? 200u : 20000u);
    held[i] = xmcMalloc(c->heap, size);
    if (i % 3u == 2u) {
      xmcFree(c->heap, held[i - 2u]);
      held[i - 2u] = NULL;
    }
    if (mine % 16u == 0)
      held[i] = xmcRealloc(c->heap, held[i], size / 2u + 1u);
  }
}

static void totals(void **state) {
  uint64_t seed;
  (void)state;
  for (seed = 1; seed <= 3; seed++) {
    crowd c = {NULL, seed};
    simt s = {.groups = GROUPS, .seed = seed, .diverge_one_in = seed == 2 ? 4u : 0};
    xmc_heap_stats stats;
    xmc_trace_totals t;
    xmc_trace trace;
    core_trace_records = 1u << 15;
    c.heap = core_heap(BYTES, CORE_SLOTS_DEFAULT, 0, XMC_COALESCE_CLASS);
    simt_run(&s, live, &c);
    assert_int_equal(s.hung, 0);
    xmc_stats_meta(c.heap, &stats);
    assert_int_equal(xmc_trace_open(c.heap, &trace), CL_SUCCESS);
    xmc_trace_sum(&trace, &t);
    xmc_trace_close(&trace);
    assert_int_equal(trace.lost + t.other_frees + t.failures + t.bad_frees, 0);
    assert_int_equal(t.live_blocks, stats.live_blocks);
    assert_int_equal(t.live_bytes, stats.live_bytes);
    assert_int_equal(t.live_blocks, LANES * (ROUNDS - ROUNDS / 3));
    assert_true(t.allocations > LANES * ROUNDS);
    core_heap_free(c.heap);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(totals)};
  return run_named(tests, argc, argv);
}
