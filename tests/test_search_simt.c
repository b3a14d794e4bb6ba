/* SPDX-License-Identifier: MIT */
/* What test_search.c is for the way of GPUs: a slab that a sub-group takes out of the FIFO of slabs is out of sight for a moment; and
 * what a whole sub-group starts in a page that a search looked at is shown to the next search. On devices a sub-group may
 * not have seen yet that room became scarce (xmc_load_near32): here the first so many looks at it say so.
 */
#include "support/simt.h"
static void look(void);
static int stale; /* so many looks still see plenty of room */
#define XMC_SIMT 1
#define XMC_USED_IS_DONE 1
#define XMC_HOST_LANES "support/simt_lanes.h"
#define XMC_HOST_NEAR(p) (stale > 0 ? (stale--, 0u) : xmc_load_relaxed32(p))
#define XMC_HOST_STEP() \
  do { \
    look(); \
    simt_step(); \
  } while (0)
#define XMC_HOST_THREAD() (simt_number() + 1u)
#define CORE_OWN_STEPS
#include "support/core.h"
#include "support/look.h"
#include "../host/inspect.h"
#include "support/named.h"

enum { ROUNDS = 24 };

static char *got[ROUNDS][SIMT_LANES];
static uint32_t round_now;

static void take(uint32_t number, void *size) {
  got[round_now][number] = xmcMalloc(view.heap, *(uint32_t *)size);
}
static void give(uint32_t number, void *unused) {
  (void)unused;
  xmcFree(view.heap, got[round_now][number]);
}
static void fill_pages(uint32_t number, void *unused) {
  (void)unused;
  while (number == 0 && xmcMalloc(view.heap, XMC_PAGE_BYTES))
    ;
}

static void group(uint32_t round, void (*what)(uint32_t, void *), void *data) {
  simt s;
  memset(&s, 0, sizeof s);
  s.groups = 1;
  round_now = round;
  simt_run(&s, what, data);
  assert_int_equal(s.hung, 0);
}

static void intact(void) {
  xmc_heap_report report;
  memset(&report, 0, sizeof report);
  if (xmc_check_meta(view.heap, &report) != CL_SUCCESS)
    fail_msg("%s (round %u)", report.message, round_now);
}

/* Slabs are used up; some Superblocks of the first one go back, and are taken again. */
static void adopted_slab(void **state) {
  uint32_t size = 64, i, hidden = 0;
  int late;
  (void)state;
  for (late = 0; late < 6; late++) {
    look_open(8u << 20, CORE_SLOTS_DEFAULT, size);
    assert_int_equal(view.heap->own, 64);
    for (i = 0; i < 16; i++)
      group(i, take, &size);
    group(0, fill_pages, NULL);
    for (i = 1; i < 5; i++)
      group(i, give, NULL);
    for (i = 16; i < ROUNDS; i++) {
      int before = has_room();
      view.heap->scarce = XMC_SCARCE_ONCE; /* as a new Superblock leaves it */
      stale = late;
      look_begin();
      group(i, take, &size);
      stale = 0;
      hidden += look_end("a slab out of the FIFO", before);
      if (!got[i][0])
        break;
    }
    intact();
    look_close();
  }
  assert_true(hidden > 0);
}

/* Whole Superblocks of every size; a search looks at all pages, and a sub-group that does not know of it takes another one. */
static void shown(void **state) {
  static const uint32_t sizes[] = {16, 48, 64, 128, 256, 512, 1024, 2048, 4096};
  uint32_t i, r, size, shown = 0;
  int late, kept;
  (void)state;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (kept = 0; kept < 2; kept++)
      for (late = 0; late < 2; late++) {
        size = sizes[i];
        look_open(8u << 20, CORE_SLOTS_DEFAULT, size);
        for (r = 0; r < 4; r++)
          group(r, take, &size);
        for (r = 4; r-- > (kept ? 3u : 0u);)
          group(r, give, NULL);
        xmc_say_scarce(view.heap);
        xmc_reclaim(view.heap, 0, XMC_NONE);
        intact();
        stale = late;
        group(5, take, &size);
        stale = 0;
        for (r = 0; r < SIMT_LANES; r++)
          assert_non_null(got[5][r]);
        intact();
        shown++;
        look_close();
      }
  assert_true(shown > 0);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(adopted_slab), cmocka_unit_test(shown)};
  return run_named(tests, argc, argv);
}
