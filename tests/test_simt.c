/* SPDX-License-Identifier: MIT */
/* Sub-groups in lock step, as on GPUs, on the host (support/simt.h): the calls of cl/calls/coalesce.cl as they are there. Lanes
 * of one sub-group ask together, part, and come together again; the heap is full again and again. Every word of a
 * block has its owner's tag. test_simt_compartment.c is this with the papers' compartments, test_simt_geometry.c for one geometry.
 */
#include "support/simt.h"
#define XMC_SIMT 1
#define XMC_MANY_PAGES 4096u /* 64 MiB: what large heaps keep is tried, too */
#define XMC_USED_IS_DONE 1
#define XMC_HOST_LANES "support/simt_lanes.h"
#define XMC_HOST_STEP() simt_step()
#define XMC_HOST_THREAD() (simt_number() + 1u)
#define CORE_OWN_STEPS
#include "support/core.h"
#include "../host/inspect/inspect.h"
#include "support/named.h"

enum { GROUPS = SIMT_LANES == 32u ? 24 : 18, ROW = 6 };

typedef struct block {
  uint64_t *words;
  uint64_t tag;
  uint32_t count;
} block;

typedef struct crowd {
  xmcHeap *heap;
  block rows[GROUPS * SIMT_LANES][ROW];
  uint64_t random[GROUPS * SIMT_LANES], group_random[GROUPS * SIMT_LANES];
  uint32_t rounds, largest, own_one_in; /* in one of so many rounds each lane does something else */
  uint64_t refused, wrong, bad;
} crowd;

static void fill(block *b) {
  uint32_t i;
  for (i = 0; i < b->count; i++)
    b->words[i] = b->tag + i;
}

static uint64_t check_and_clear(block *b) {
  uint64_t wrong = 0;
  uint32_t i;
  for (i = 0; i < b->count; i++) {
    wrong += b->words[i] != b->tag + i;
    b->words[i] = 0;
  }
  return wrong;
}

/* Taken first: no other lane runs in between. */
static void drop(crowd *c, block *b) {
  block mine = *b;
  b->words = NULL;
  c->wrong += check_and_clear(&mine);
  xmcFree(c->heap, mine.words);
}

/* In most rounds all lanes of a sub-group do the same; one free in four is by a lane of another sub-group. */
static void live(uint32_t number, void *data) {
  crowd *c = data;
  uint32_t round, bytes;
  for (round = 0; round < c->rounds; round++) {
    uint64_t own = core_random(&c->random[number]), r = core_random(&c->group_random[number]);
    block *b, made;
    if (r % c->own_one_in == 0)
      r = own;
    b = &c->rows[r >> 8 & 3u ? number : (number + 77u) % (GROUPS * SIMT_LANES)][(r >> 10) % ROW];
    if (b->words) {
      drop(c, b);
      continue;
    }
    b = &c->rows[number][(r >> 10) % ROW];
    if (b->words)
      continue;
    bytes = 8u + (uint32_t)(r >> 20) % (r >> 16 & 15u ? c->largest / 16u : c->largest);
    made.words = xmcMalloc(c->heap, bytes);
    if (!made.words) {
      c->refused++;
      continue;
    }
    made.count = (uint32_t)(xmcUsableSize(c->heap, made.words) / 8u);
    c->wrong += made.count < bytes / 8u || made.count > 65536u;
    made.tag = own;
    fill(&made);
    if (own % 64u == 5u && made.count > 1u) { /* a bad one, of the inside of a block */
      xmcFree(c->heap, made.words + 1);
      c->bad++;
    }
    *b = made;
  }
}

static void drop_row(uint32_t number, void *data) {
  crowd *c = data;
  uint32_t k;
  for (k = 0; k < ROW; k++)
    if (c->rows[number][k].words)
      drop(c, &c->rows[number][k]);
}

static void whole(uint32_t number, void *data) {
  crowd *c = data;
  if (number == 0)
    xmcFree(c->heap, xmcMalloc(c->heap, (size_t)xmc_data_bytes(c->heap)));
}

static void run(simt *s, void (*what)(uint32_t, void *), crowd *c) {
  simt_run(s, what, c);
  assert_int_equal(s->hung, 0);
  assert_int_equal(c->wrong, 0);
}

static void intact(crowd *c) {
  xmc_heap_report report;
  memset(&report, 0, sizeof report);
  if (xmc_check_meta(c->heap, &report) != CL_SUCCESS)
    fail_msg("%s", report.message);
}

/* In a heap of 4 MiB, which is full most of the time, or with room for all. */
static void crowds(size_t bytes, xmc_u32 slots, uint32_t largest, uint32_t diverge_one_in) {
  crowd *c = calloc(1, sizeof *c);
  simt s;
  uint32_t i, launch;
  assert_non_null(c);
  memset(&s, 0, sizeof s);
  s.groups = GROUPS;
  s.diverge_one_in = diverge_one_in;
  c->heap = core_heap(bytes, slots, 0xfffffff0u, XMC_COALESCING);
  c->largest = largest;
  c->own_one_in = bytes > (8u << 20) ? 64 : 4;
  c->rounds = 40;
  for (i = 0; i < GROUPS * SIMT_LANES; i++) {
    c->random[i] = 1000003u + 7u * i;
    c->group_random[i] = 2000003u + 11u * (i / SIMT_LANES);
  }
  for (launch = 0; launch < 5; launch++) {
    s.seed = 100u * launch + slots + diverge_one_in;
    run(&s, live, c);
    intact(c);
  }
  assert_true(c->bad > 0 && (c->refused > 0) == (bytes <= 8u << 20));
  assert_int_equal(c->heap->failed_requests, c->refused);
  assert_int_equal(c->heap->invalid_frees + c->heap->double_frees, c->bad);
  run(&s, drop_row, c);
  intact(c);
  run(&s, whole, c);
  assert_int_equal(core_free_pages(c->heap), c->heap->pages);
  assert_int_equal(c->heap->failed_requests, c->refused);
  core_heap_free(c->heap);
  free(c);
}

static void few_fifos(void **state) {
  (void)state;
  crowds(4u << 20, 1, 24000, 0);
  crowds(4u << 20, 4, 24000, 5);
}
static void no_fifos(void **state) {
  (void)state;
  crowds(4u << 20, 0, 24000, 3);
}
/* Sub-groups that free what they took together: whole Superblocks, and slabs, go back with their release. */
static void whole_superblocks(void **state) {
  uint32_t k;
  (void)state;
  for (k = 0; k < 12; k += SIMT_LANES / 32u)
    crowds(96u << 20, 1u << k % 6, k % 2 ? 8192 : 40000, k % 3 * 40);
}
static void many_fifos(void **state) {
  (void)state;
  crowds(4u << 20, CORE_SLOTS_DEFAULT, 24000, 0);
  crowds(4u << 20, CORE_SLOTS_DEFAULT, 120000, 7);
}

/* A word that cannot be so is reported. */
static void damaged(xmcHeap *heap, xmc_u32 *word) {
  xmc_heap_report report;
  xmc_u32 was = *word;
  memset(&report, 0, sizeof report);
  assert_int_equal(xmc_check_meta(heap, &report), CL_SUCCESS);
  *word = 0x7fffffffu;
  assert_int_equal(xmc_check_meta(heap, &report), XMC_HEAP_CORRUPT);
  *word = was;
}

/* Fewer FIFOs of slabs and of large classes than sub-groups: who takes whole Superblocks has slabs of its own. */
static void own_slabs(void **state) {
  uint32_t k;
  (void)state;
  for (k = 0; k < 4; k++) {
    xmcHeap *heap = core_heap(k < 2 ? 8u << 20 : 24u << 20, CORE_SLOTS_DEFAULT, 0, XMC_COALESCING);
    assert_int_equal(heap->own, 64);
    assert_true(xmc_fifos_count(heap->fifo_table[XMC_CLASSES - 1u]) < GROUPS &&
                xmc_fifos_count(heap->fifo_table[XMC_CLASSES]) <= (k < 2 ? GROUPS / 3u : GROUPS));
    damaged(heap, &xmc_own_table(heap)[XMC_OWN_RUNS * heap->own + 15u * k]);
    core_heap_free(heap);
    crowds(k < 2 ? 8u << 20 : 24u << 20, CORE_SLOTS_DEFAULT, k < 2 ? 60000 : 8000, k % 2 * 9);
  }
}

/* What the others of a sub-group see of one claim: the blocks side by side */
static char *together[SIMT_LANES];
static void ask(uint32_t number, void *data) {
  static const uint32_t sizes[] = {56, 56, 40, 120}; /* the example of 2011, figure 3 */
  crowd *c = data;
  if (number < c->rounds)
    together[number] = xmcMalloc(c->heap, c->largest ? c->largest : sizes[number]);
}
static void lanes_ask_together(void **state) {
  crowd c;
  simt s;
  uint32_t i;
  (void)state;
  memset(&c, 0, sizeof c);
  memset(&s, 0, sizeof s);
  s.groups = 1;
  c.heap = core_heap(4u << 20, 4, 0, XMC_COALESCING);
  c.rounds = 32;
  c.largest = 48;
  run(&s, ask, &c);
  for (i = 1; i < 32; i++)
    assert_int_equal(together[i] - together[0], (XMC_COALESCING == XMC_COALESCE_CLASS ? 48u : 64u) * i);
  c.rounds = 4;
  c.largest = 0;
  run(&s, ask, &c);
  if (XMC_COALESCING == XMC_COALESCE_COMPARTMENT) { /* 64, 64, 48, 128 bytes with their headers */
    assert_int_equal(together[1] - together[0], 64);
    assert_int_equal(together[2] - together[0], 128);
    assert_int_equal(together[3] - together[0], 176);
  }
  core_heap_free(c.heap);
}

/* A Superblock of several pages that others make wholly free, bit by bit, stays where it is active: in a large heap, and as
 * long as room is not scarce. */
static void give(uint32_t number, void *data) {
  crowd *c = data;
  if (number / SIMT_LANES == 1 && number % SIMT_LANES < c->rounds)
    xmcFree(c->heap, together[number % SIMT_LANES]);
}
static void active_ones_stay(void **state) {
  static const struct {
    size_t bytes;
    uint32_t size, scarce, kept;
  } tries[] = {{96u << 20, 2048, 0, 4},
               {96u << 20, 4096, 0, 8},
               {96u << 20, 8192, 0, 0},
               {96u << 20, 2048, 1, 0},
               {32u << 20, 2048, 0, 0}};
  char *before[SIMT_LANES];
  crowd c;
  simt s;
  uint32_t i;
  (void)state;
  if (XMC_COALESCING != XMC_COALESCE_CLASS)
    skip();
  for (i = 0; i < sizeof tries / sizeof *tries; i++) {
    memset(&c, 0, sizeof c);
    memset(&s, 0, sizeof s);
    s.groups = 2;
    c.heap = core_heap(tries[i].bytes, CORE_SLOTS_DEFAULT, 0, XMC_COALESCING);
    c.rounds = 7;
    c.largest = tries[i].size;
    run(&s, ask, &c);
    memcpy(before, together, sizeof before);
    c.heap->scarce = tries[i].scarce ? XMC_SCARCE_NOW : 0;
    run(&s, give, &c);
    c.heap->scarce = 0;
    intact(&c);
    assert_int_equal(c.heap->pages - core_free_pages(c.heap), tries[i].kept);
    run(&s, ask, &c);
    assert_true(!tries[i].kept || memcmp(before, together, 7 * sizeof *before) == 0);
    core_heap_free(c.heap);
  }
}

/* Whole sub-groups, each of whose requests is for one size, and which free what others took: most are served by the way of whole sub-groups
 * (cl/calls/full_group.cl), side by side in the lanes' order. On heaps with a FIFO for each sub-group, and with places of the slots' own;
 * on one that is used up in between, so that searches watch what that way takes from. */
static void take(uint32_t number, void *data) {
  static const uint32_t sizes[] = {16, 64,  480,   512,  40,  4096,  256, 16384,
                                   8,  448, 32768, 1024, 128, 65536, 8192};
  crowd *c = data;
  uint32_t round;
  for (round = 0; round < 3; round++) {
    block *b = &c->rows[number][round];
    uint32_t half = number % SIMT_LANES / 32u * c->own_one_in;
    uint32_t bytes = sizes[(c->rounds * 3u + round + half) % (sizeof sizes / sizeof *sizes)];
    b->words = xmcMalloc(c->heap, bytes);
    if (!b->words) {
      c->refused++;
      continue;
    }
    b->count = (uint32_t)(xmcUsableSize(c->heap, b->words) / 8u);
    c->wrong += b->count < bytes / 8u;
    b->tag = (uint64_t)c->rounds << 32 | number << 2 | round;
    fill(b);
  }
}
static void give_to_others(uint32_t number, void *data) {
  crowd *c = data;
  uint32_t other = (number + (c->rounds + 1u) * 5u * SIMT_LANES) % (GROUPS * SIMT_LANES), round;
  for (round = 0; round < 3; round++)
    if (c->rows[other][round].words)
      drop(c, &c->rows[other][round]);
}
/* `apart`: in sub-groups of 64, how far the two halves' sizes are apart in the list; 0: all lanes ask for the same */
static void full(uint32_t apart) {
  static const struct {
    size_t bytes;
    xmc_u32 slots;
    int full; /* whether some are refused */
  } tries[] = {{400u << 20, CORE_SLOTS_DEFAULT, 0},
               {160u << 20, 8, 0},
               {160u << 20, 0, 0},
               {24u << 20, CORE_SLOTS_DEFAULT, 1}};
  crowd *c = calloc(1, sizeof *c);
  uint32_t i, n, round;
  assert_non_null(c);
  for (i = 0; i < sizeof tries / sizeof *tries; i++) {
    uint32_t side_by_side = 0, groups = 0;
    simt s;
    memset(c, 0, sizeof *c);
    memset(&s, 0, sizeof s);
    s.groups = GROUPS;
    c->own_one_in = apart;
    c->heap = core_heap(tries[i].bytes, tries[i].slots, 0, XMC_COALESCING);
    for (c->rounds = 0; c->rounds < 15; c->rounds++) {
      s.seed = 10u * i + c->rounds;
      run(&s, take, c);
      intact(c);
      for (n = 0; n < GROUPS * SIMT_LANES; n += 32u)
        for (round = 0; round < 3; round++) {
          block *last = &c->rows[n + 31u][round], *first = &c->rows[n][round];
          if (!first->words || !last->words || first->count > XMC_MAX_CLASS_BYTES / 8u)
            continue;
          groups++;
          side_by_side += last->words - first->words == (ptrdiff_t)31 * first->count;
        }
      run(&s, give_to_others, c);
      intact(c);
    }
    if (XMC_COALESCING == XMC_COALESCE_CLASS && tries[i].slots && !tries[i].full && SIMT_LANES == 32u)
      assert_true(side_by_side > groups * 3u / 4u);
    assert_int_equal(c->refused > 0, tries[i].full);
    assert_int_equal(c->heap->failed_requests, c->refused);
    assert_int_equal(c->heap->invalid_frees + c->heap->double_frees, 0);
    run(&s, whole, c);
    assert_int_equal(core_free_pages(c->heap), c->heap->pages);
    core_heap_free(c->heap);
  }
  free(c);
}

static void full_groups(void **state) {
  (void)state;
  full(0);
}
/* In a sub-group of 64 two groups of 32 ask at the same time: neither is served by the way of whole sub-groups, which is for all lanes. */
static void full_halves(void **state) {
  (void)state;
  if (SIMT_LANES == 32u)
    skip();
  full(1);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lanes_ask_together), cmocka_unit_test(few_fifos),
      cmocka_unit_test(no_fifos),           cmocka_unit_test(many_fifos),
      cmocka_unit_test(active_ones_stay),   cmocka_unit_test(whole_superblocks),
      cmocka_unit_test(own_slabs),          cmocka_unit_test(full_groups),
      cmocka_unit_test(full_halves)};
  return run_named(tests, argc, argv);
}
