/* SPDX-License-Identifier: MIT */
/* What GPUs do while room is short: Superblocks that become wholly free go back instead of staying in a seat, and used memory is looked
 * for first as long as such searches find some; before that, of slots that share a FIFO one carves. Here one sub-group acts as many: it runs
 * in the slot `slot`. */
#include "support/simt.h"
static uint32_t slot;
enum { SHARERS = 24, ASKERS = 8, ASKED = 40 };
static uint32_t shares, sharer[SHARERS]; /* if set, sub-groups run in these slots instead */
#define SIMT_SLOT(group) (shares ? sharer[group] : (group) + slot)
#define XMC_SIMT 1
#define XMC_MANY_PAGES 2048u
#define XMC_USED_IS_DONE 1
#define XMC_HOST_LANES "support/simt_lanes.h"
#define XMC_HOST_STEP() simt_step()
#define XMC_HOST_THREAD() (simt_number() + 1u)
#define CORE_OWN_STEPS
#define CORE_SLOTS_DEFAULT 64u
#include "support/core.h"
#include "../host/inspect/inspect.h"
#include "support/named.h"

enum { MIB = 64, ALL = 32 };
static xmcHeap *heap;
static char *block[SIMT_LANES];
static uint64_t seed;
static uint32_t size, first, last; /* lanes [first, last) ask for `size` bytes each, or free what they got */

static void take(uint32_t number, void *unused) {
  (void)unused;
  if (number >= first && number < last) {
    block[number] = xmcMalloc(heap, size);
    assert_non_null(block[number]);
  }
}
static void give(uint32_t number, void *unused) {
  (void)unused;
  if (number >= first && number < last)
    xmcFree(heap, block[number]);
}
static void fill(uint32_t number, void *unused) {
  (void)unused;
  while (number == 0 && core_free_pages(heap) > 330)
    assert_non_null(xmcMalloc(heap, XMC_PAGE_BYTES));
}
static void run_groups(uint32_t groups, uint32_t in, void (*what)(uint32_t, void *), uint32_t from,
                       uint32_t to) {
  simt s;
  memset(&s, 0, sizeof s);
  s.groups = groups;
  s.seed = ++seed;
  slot = in;
  first = from;
  last = to;
  simt_run(&s, what, NULL);
  assert_int_equal(s.hung, 0);
}
static void run(uint32_t in, void (*what)(uint32_t, void *), uint32_t from, uint32_t to) {
  run_groups(1, in, what, from, to);
}
static void intact(void) {
  xmc_heap_report report;
  memset(&report, 0, sizeof report);
  if (xmc_check_meta(heap, &report) != CL_SUCCESS)
    fail_msg("%s", report.message);
}

/* How blocks of one Superblock come back: all by one release; in three by three slots; or those that were taken of a Superblock which still
 * has the seat of the slot that made it, by another slot. */
enum { WHOLE, IN_PARTS, SEATED, WAYS };

/* Returns how many pages stay in use then. */
static uint32_t kept(uint32_t bytes, int way, xmc_u64 room) {
  uint32_t left, lanes = way == SEATED ? 8 : ALL;
  heap = core_heap((size_t)MIB << 20, CORE_SLOTS_DEFAULT, 0, XMC_COALESCING);
  assert_true(xmc_heap_present(heap) >= XMC_MANY_PAGES);
  size = bytes;
  run(0, take, 0, lanes);
  heap->scarce = room;
  if (way == IN_PARTS) {
    run(1, give, 0, 20);
    run(2, give, 20, 31);
    run(3, give, 31, 32);
  } else {
    run(1, give, 0, lanes);
  }
  intact();
  left = heap->pages - core_free_pages(heap);
  core_heap_free(heap);
  return left;
}

static void goes_back_while_short(void **state) {
  static const struct {
    uint32_t bytes, stay[WAYS]; /* pages that stay while room is not short */
  } tries[] = {{512, {1, 1, 1}},  {896, {2, 2, 1}},  {1024, {2, 2, 2}},
               {1792, {4, 4, 2}}, {2048, {0, 0, 4}}, {4096, {0, 0, 8}}};
  size_t i;
  int way;
  (void)state;
  for (i = 0; i < sizeof tries / sizeof *tries; i++)
    for (way = 0; way < WAYS; way++) {
      assert_int_equal(kept(tries[i].bytes, way, 0), tries[i].stay[way]);
      assert_int_equal(kept(tries[i].bytes, way, XMC_ROOM_SHORT), 0);
    }
}

/* A heap most of which is in use, so that room is short by samples, and in which `parked` Superblocks of blocks of `bytes`, each with one
 * free block, are parked. */
static void nearly_full(uint32_t bytes, uint32_t parked) {
  xmc_u32 cls = xmc_class_of(bytes), id, i;
  heap = core_heap((size_t)MIB << 20, CORE_SLOTS_DEFAULT, 0, XMC_COALESCING);
  size = bytes;
  for (i = 0; i < parked; i++) {
    run(0, take, 0, ALL);
    run(1 + i, give, 5, 6);
    id = xmc_active_id(xmc_fifo_at(heap, cls, xmc_fifo_slot(heap, 1 + i, cls))->active);
    assert_true(id != XMC_NONE);
    xmc_park(heap, cls, id);
  }
  run(0, fill, 0, ALL);
  assert_int_equal(heap->scarce, 0);
  heap->room_used = XMC_ROOM_WORD(XMC_ROOM_SCALE * XMC_SPAN_PAGES, 0);
}

/* Requests of 1 KiB while the only used memory is of blocks of 3 KiB: searches for used memory find none, so that soon most requests take
 * new memory at once; but now and then some search again. Where nothing is parked, none ever searches. */
static void searches_that_find_nothing(void **state) {
  uint32_t parked, i, first_without, sought, began;
  (void)state;
  for (parked = 0; parked < 2; parked++) {
    nearly_full(3072, parked);
    if (parked) {
      heap->scarce = XMC_ROOM_BITS;
      heap->room_used = XMC_ROOM_WORD(XMC_ROOM_SCALE * XMC_SPAN_PAGES, XMC_ROOM_MOST_TRIES);
    }
    size = 1024;
    first_without = sought = began = 0;
    for (i = 1; i <= 150; i++) {
      uint32_t before = heap->scarce & XMC_USED_FIRST;
      run(i % 60, take, 0, ALL);
      if (!(heap->scarce & XMC_USED_FIRST) && !first_without)
        first_without = i;
      sought += first_without && before;
      began += first_without && !before && (heap->scarce & XMC_USED_FIRST);
    }
    print_message(
        "           %u parked: without a search from request %u on, then %u of %u search, %u times anew\n",
        parked, first_without, sought, 150 - first_without, began);
    assert_true(heap->scarce & XMC_ROOM_SHORT);
    if (parked) {
      assert_in_range(first_without, XMC_ROOM_MOST_TRIES - 8, XMC_ROOM_MOST_TRIES + 8);
      /* The request that takes the last try searches, too. */
      assert_true(began > 0 && sought <= (XMC_ROOM_FEW_TRIES + 1u) * began);
    } else {
      assert_true(first_without == 1 && sought == 0 && began == 0);
    }
    intact();
    core_heap_free(heap);
  }
}

/* While they find some, they go on, and what they find is used. */
static void searches_that_find_some(void **state) {
  enum { PARKED = 24 };
  uint32_t i, pages, slots;
  (void)state;
  nearly_full(1024, PARKED);
  heap->scarce = XMC_ROOM_BITS;
  heap->room_used = XMC_ROOM_WORD(XMC_ROOM_SCALE * XMC_SPAN_PAGES, XMC_ROOM_FEW_TRIES);
  pages = core_free_pages(heap);
  slots = xmc_fifos_count(heap->fifo_table[xmc_class_of(1024)]);
  assert_true(slots > PARKED + 1u);
  for (i = 0; i < PARKED; i++) {
    run(slots - 1u, take, 0, 1);
    assert_true(XMC_ROOM_TRIES(heap->room_used) >= XMC_ROOM_MOST_TRIES / 2u);
    assert_true(heap->scarce & XMC_USED_FIRST);
  }
  assert_int_equal(core_free_pages(heap), pages);
  intact();
  core_heap_free(heap);
}

/* A heap some of whose slots share the first FIFO of the class of `size`: the sub-groups run in these slots. */
static xmc_fifo *shared(void) {
  xmc_u32 cls = xmc_class_of(size), count, i, n = 0;
  heap = core_heap((size_t)32 << 20, 256, 0, XMC_COALESCING);
  count = xmc_fifos_count(heap->fifo_table[cls]);
  for (i = count; n < SHARERS; i++)
    if (xmc_slot_hint(i, count) == 0)
      sharer[n++] = i;
  return xmc_fifo_at(heap, cls, 0);
}
/* Returns how many pages come into use. */
static uint32_t share(xmc_fifo *fifo, uint32_t groups, void (*what)(uint32_t, void *)) {
  xmc_u32 pages = core_free_pages(heap);
  shares = 1;
  run_groups(groups, 0, what, 0, 0);
  shares = 0;
  pages -= core_free_pages(heap);
  assert_int_equal(fifo->carving, 0);
  intact();
  core_heap_free(heap);
  return pages;
}

/* They ask for a block each while the FIFO has no active Superblock: one of them carves, the others look at the seat and claim blocks of what
 * it put there. Where a work-item has stopped while it carved, they look in vain, and all carve. */
static void one_asks(uint32_t number, void *unused) {
  (void)unused;
  if (number % SIMT_LANES == 0)
    assert_non_null(xmcMalloc(heap, size));
}
static uint32_t pages_for_one_each(int stopped) {
  xmc_fifo *fifo = shared();
  fifo->carving = stopped;
  return share(fifo, ASKERS, one_asks);
}
static void one_carves_for_all(void **state) {
  enum { TIMES = 50 };
  static const uint32_t sizes[] = {128, 256, 512, 1024, 2048};
  uint32_t i, n;
  (void)state;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (n = 0; n < TIMES; n++) {
      size = sizes[i];
      assert_int_equal(pages_for_one_each(0), 1);
      assert_int_equal(pages_for_one_each(1), ASKERS);
    }
}

/* 1 to 3 lanes of each ask again and again. Who comes to carve just after another one did finds that one's Superblock in the seat, so that
 * all blocks of all Superblocks but the last are used. */
static uint32_t lanes_that_ask(uint32_t group, uint32_t time) { return 1 + (group * 5 + time * 3) % 3; }
static void some_ask(uint32_t number, void *unused) {
  uint32_t lane = number % SIMT_LANES, group = number / SIMT_LANES, n, k;
  (void)unused;
  for (n = 0; n < ASKED; n++) {
    for (k = (group * 37 + n * 101 + (uint32_t)seed * 13) % 61; k--;)
      simt_step();
    if (lane < lanes_that_ask(group, n))
      assert_non_null(xmcMalloc(heap, size));
  }
}
static void who_comes_late_does_not_carve(void **state) {
  uint32_t n, blocks = 0;
  (void)state;
  size = 512;
  for (n = 0; n < SHARERS * ASKED; n++)
    blocks += lanes_that_ask(n / ASKED, n % ASKED);
  for (n = 0; n < 20; n++)
    assert_int_equal(share(shared(), SHARERS, some_ask),
                     (blocks * size + XMC_PAGE_BYTES - 1) / XMC_PAGE_BYTES);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(goes_back_while_short), cmocka_unit_test(searches_that_find_nothing),
      cmocka_unit_test(searches_that_find_some), cmocka_unit_test(one_carves_for_all),
      cmocka_unit_test(who_comes_late_does_not_carve)};
  return run_named(tests, argc, argv);
}
