/* SPDX-License-Identifier: MIT */
/* On NVIDIA a sub-group may learn late that room became scarce: near loads (xmc_load_near32) return what was there when it last acquired, and
 * claims of blocks do not acquire. Here each sub-group has such a view of its own, as old as it can be, in 25 schedules. What a sub-group
 * starts that has not acquired since the heap was made must be watched, or be shown to the next search.
 */
#include "support/simt.h"
#define SIMT_NVIDIA
#define XMC_SIMT 1
#define XMC_USED_IS_DONE 1
#define XMC_HOST_LANES "support/simt_lanes.h"
#define XMC_HOST_STEP() simt_step()
#define XMC_HOST_THREAD() (simt_number() + 1u)
enum { GROUPS = 24 };
static uint64_t *scarce;
static uint32_t view[GROUPS], old_views; /* old_views: near loads of values that were no longer there */
static uint32_t *my_view(void) { return &view[simt_number() / SIMT_LANES % GROUPS]; }
static uint32_t near_load(const uint32_t *p) {
  simt_step();
  if (!scarce)
    return *p;
  old_views += *my_view() != (uint32_t)*scarce;
  return *my_view();
}
#define XMC_HOST_ACQUIRED() (scarce ? (void)(*my_view() = (uint32_t)*scarce) : (void)0)
#define XMC_HOST_NEAR(p) near_load(p)
#define CORE_OWN_STEPS
#include "support/core.h"
#include "../host/inspect/inspect.h"
#include "support/named.h"

typedef struct act {
  xmcHeap *heap;
  uint32_t size, late; /* late: the sub-group that learns late */
  /* 1: the row is made; 2: room is scarce; 3: the late sub-group is done; 4: the row is freed */
  uint32_t phase;
  char *row[SIMT_LANES];
  void *pages[2048];
  uint32_t held, refused;
  int between; /* what the check said after the late sub-group freed its block */
} act;

static void wait_for(const act *a, uint32_t phase) {
  while (a->phase < phase)
    simt_step();
}

/* Called by a lane, which must not leave by a failed assertion. */
static int check(xmcHeap *heap) {
  xmc_heap_report report;
  memset(&report, 0, sizeof report);
  if (xmc_check_meta(heap, &report) == CL_SUCCESS)
    return 0;
  printf("%s\n", report.message);
  return 1;
}

static void play(uint32_t number, void *data) {
  act *a = data;
  uint32_t group = number / SIMT_LANES, lane = number % SIMT_LANES, i;
  if (group == GROUPS - 1) { /* frees the row, all lanes together */
    wait_for(a, 3);
    xmcFree(a->heap, a->row[lane]);
    if (lane == SIMT_LANES - 1)
      a->phase = 4;
    return;
  }
  if (lane)
    return;
  if (group == 0) { /* a Superblock of a slab, which has other places */
    for (i = 0; i < SIMT_LANES; i++)
      a->row[i] = xmcMalloc(a->heap, a->size);
    a->phase = 1;
  } else if (group == 1) {
    /* takes all pages, and then searches in vain, so that room is scarce and all pages are watched */
    wait_for(a, 1);
    while (a->held < 2048 && (a->pages[a->held] = xmcMalloc(a->heap, XMC_PAGE_BYTES)))
      a->held++;
    xmcMalloc(a->heap, a->size - 16u);
    a->phase = 2;
    wait_for(a, 4);
    for (i = 0; i < 1000; i++)
      simt_step();
    for (i = 0; i < a->held; i++)
      xmcFree(a->heap, a->pages[i]);
    for (i = 0; i < 3; i++) {
      void *all = xmcMalloc(a->heap, (size_t)xmc_data_bytes(a->heap));
      a->refused += !all;
      xmcFree(a->heap, all);
    }
  } else if (group == a->late) { /* starts a Superblock in a place of that slab */
    wait_for(a, 2);
    xmcFree(a->heap, xmcMalloc(a->heap, a->size));
    a->between = check(a->heap);
    a->phase = 3;
  }
}

static void learns_late(void **state) {
  act *a = calloc(1, sizeof *a);
  simt s;
  (void)state;
  assert_non_null(a);
  for (a->size = 48; a->size <= 112; a->size += 16)
    for (a->late = 2; a->late < GROUPS - 1; a->late += 5) {
      scarce = NULL;
      a->heap = core_heap(8u << 20, CORE_SLOTS_DEFAULT, 0, XMC_COALESCING);
      a->phase = a->held = a->refused = 0;
      a->between = 0;
      memset(view, 0, sizeof view);
      scarce = (uint64_t *)&a->heap->scarce;
      memset(&s, 0, sizeof s);
      s.groups = GROUPS;
      s.seed = a->late;
      simt_run(&s, play, a);
      scarce = NULL;
      assert_int_equal(s.hung, 0);
      if (a->between || check(a->heap) || a->refused)
        fail_msg("%u B, sub-group %u: the heap is %s, and %u of 3 requests for all of it are refused",
                 a->size, a->late, a->between ? "damaged between two calls" : "as said above in the end",
                 a->refused);
      assert_true(old_views > 0);
      old_views = 0;
      core_heap_free(a->heap);
    }
  free(a);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(learns_late)};
  return run_named(tests, argc, argv);
}
