/* SPDX-License-Identifier: MIT */
/* Requests in regions that others free and make anew, one thread at a time, with a choice at every atomic: each page must be back
 * in the end. What the requests get may be gone at once, so nobody writes there. */
#define CORE_SCHEDULED
#include "support/core.h"
#include "inspect/walk.h"
#include "support/named.h"

enum { REGIONS = 4, THREADS = 6, OPERATIONS = 150, PARTS = 10, HEAPS = 30 };

typedef struct crowd {
  xmcHeap *heap;
  xmcRegion regions[REGIONS];
  uint64_t seed;
} crowd;

static void member(int number, void *data) {
  crowd *c = data;
  uint64_t seed = c->seed + (uint64_t)number * 7919u;
  uint32_t i;
  for (i = 0; i < OPERATIONS; i++) {
    xmcRegion *place = &c->regions[core_random(&seed) % REGIONS], region, old;
    switch (core_random(&seed) % 32u) {
    case 0:
    case 1:
      region = xmcRegionCreateFor(c->heap, (xmc_u32)(core_random(&seed) % 5u));
      old = *place; /* nobody else runs before the next atomic */
      *place = region;
      xmcRegionFree(c->heap, old);
      break;
    case 2: /* a second free, or a free of what is in use */
      xmcRegionFree(c->heap, *place);
      break;
    default:
      xmcRegionMalloc(c->heap, *place, 1 + core_random(&seed) % (core_random(&seed) % 4u ? 9000 : 60000));
    }
  }
}

static void intact(xmcHeap *heap) {
  xmc_heap_report report;
  memset(&report, 0, sizeof report);
  if (xmc_check_meta(heap, &report) != CL_SUCCESS)
    fail_msg("%s", report.message);
}

static void frees_beside_requests(void **state) {
  static const unsigned switch_one_in[] = {1, 2, 4, 20, 100};
  uint64_t seed = 1;
  crowd c;
  int heaps, part, i;
  (void)state;
  for (heaps = 0; heaps < HEAPS; heaps++) {
    c.heap = core_heap(2u << 20, 4, 0, XMC_COALESCE_CLASS);
    for (i = 0; i < REGIONS; i++)
      c.regions[i] = xmcRegionCreateFor(c.heap, 4u);
    for (part = 0; part < PARTS; part++) {
      schedule s;
      memset(&s, 0, sizeof s);
      c.seed = core_random(&seed);
      s.seed = core_random(&seed);
      s.switch_one_in = switch_one_in[core_random(&seed) % 5u];
      s.stop_thread = -1;
      schedule_run(&s, THREADS, member, &c);
      assert_false(s.hung);
      intact(c.heap);
    }
    for (i = 0; i < REGIONS; i++)
      xmcRegionFree(c.heap, c.regions[i]);
    assert_non_null(xmcMalloc(c.heap, (size_t)c.heap->present * XMC_PAGE_BYTES));
    core_heap_free(c.heap);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(frees_beside_requests)};
  return run_named(tests, argc, argv);
}
