/* SPDX-License-Identifier: MIT */
/* Regions by sub-groups in lock step, as on GPUs (support/simt.h): lanes that ask together, with one size and with many, part and
 * come together again; many sub-groups on few slots; what leads to a chunk may be as old as a first cache keeps it. Every word of a
 * block is its owner's.
 */
#include "support/simt.h"
#include <stdint.h>
#define XMC_SIMT 1
#define XMC_HOST_LANES "support/simt_lanes.h"
#define XMC_HOST_STEP() step()
#define XMC_HOST_THREAD() (simt_number() + 1u)
#define XMC_HOST_NEAR64(p) old_value(p)
#define CORE_OWN_STEPS
static uint64_t old_value(const uint64_t *p);
static void step(void);
#include "support/core.h"
#include "../host/inspect/inspect.h"
#include "support/named.h"

enum { GROUPS = 24, LANES = GROUPS * SIMT_LANES, MOST = 48 };

/* Where the first lane of the second sub-group stops, before its atomic number `before`, until another work-item has had its turn */
static struct { uint32_t counts, before, stopped, goes_on; } stop;
static void step(void) {
  simt_step();
  if (!stop.counts || simt_number() != SIMT_LANES || stop.before-- != 0)
    return;
  stop.counts = 0;
  stop.stopped = 1;
  while (!stop.goes_on)
    simt_step();
}

/* A cache that no acquire empties: each place keeps a value until chance takes it away. */
static struct {
  const uint64_t *at;
  uint64_t value;
} cache[64];
static uint32_t cache_one_in; /* 0: no cache */
static uint64_t old_value(const uint64_t *p) {
  uint32_t i = (uint32_t)((uintptr_t)p / 8u) % 64u;
  uint64_t now = xmc_load_relaxed64(p);
  if (!cache_one_in)
    return now;
  if (cache[i].at != p || simt_random() % cache_one_in == 0) {
    cache[i].at = p;
    cache[i].value = now;
  }
  return cache[i].value;
}

typedef struct block {
  uint64_t *words;
  uint32_t count;
} block;

typedef struct crowd {
  xmcHeap *heap;
  xmcRegion regions[2];
  uint32_t rounds, largest, same_one_in; /* all lanes ask for one size in one of so many rounds */
  block blocks[LANES][MOST];
  uint32_t count[LANES];
  uint64_t random[LANES], group_random[LANES];
  uint64_t refused, misplaced, bad;
  uint32_t free_one_in;
} crowd;

static void live(uint32_t number, void *data) {
  crowd *c = data;
  uint32_t round, i;
  for (round = 0; round < c->rounds && c->count[number] < MOST; round++) {
    uint64_t own = core_random(&c->random[number]), group = core_random(&c->group_random[number]);
    uint64_t r = group % c->same_one_in ? own : group;
    uint32_t bytes = 8u + (uint32_t)(r >> 20) % (r >> 12 & 7u ? c->largest / 16u + 8u : c->largest);
    block b;
    if (own % 8u == 0 && group % 2u) /* some ask no more in this round */
      continue;
    b.words = xmcRegionMalloc(c->heap, c->regions[(group >> 9) % 16u ? 0 : own >> 10 & 1u], bytes);
    if (!b.words) {
      c->refused++;
      continue;
    }
    b.count = (bytes + 7u) / 8u;
    c->misplaced += ((uintptr_t)b.words & 15u) != 0;
    for (i = 0; i < b.count; i++)
      b.words[i] = (uint64_t)number << 32 | round << 16 | (i & 0xffffu);
    b.words[0] = (uint64_t)number << 32 | 0xabcdu;
    c->blocks[number][c->count[number]++] = b;
  }
}

static uint64_t wrong_words(const crowd *c) {
  uint64_t wrong = 0;
  uint32_t n, k, i;
  for (n = 0; n < LANES; n++)
    for (k = 0; k < c->count[n]; k++) {
      const block *b = &c->blocks[n][k];
      wrong += b->words[0] != ((uint64_t)n << 32 | 0xabcdu);
      for (i = 1; i < b->count; i++)
        wrong += b->words[i] >> 32 != n || (b->words[i] & 0xffffu) != (i & 0xffffu);
    }
  return wrong;
}

static void run(simt *s, void (*what)(uint32_t, void *), crowd *c) {
  simt_run(s, what, c);
  assert_int_equal(s->hung, 0);
}

static void intact(xmcHeap *heap) {
  xmc_heap_report report;
  memset(&report, 0, sizeof report);
  if (xmc_check_meta(heap, &report) != CL_SUCCESS)
    fail_msg("%s", report.message);
}

static void whole(uint32_t number, void *data) {
  crowd *c = data;
  if (number == 0)
    xmcFree(c->heap, xmcMalloc(c->heap, (size_t)xmc_data_bytes(c->heap)));
}

/* One lane of each sub-group tries to free both regions: one succeeds, and the others are counted. */
static void free_both(uint32_t number, void *data) {
  crowd *c = data;
  if (number % SIMT_LANES == 3u) {
    xmcRegionFree(c->heap, c->regions[0]);
    xmcRegionFree(c->heap, c->regions[1]);
  }
}

static void all_back(simt *s, crowd *c) {
  run(s, whole, c);
  intact(c->heap);
  assert_int_equal(core_free_pages(c->heap), c->heap->pages);
}

static crowd *crowd_new(size_t bytes, uint32_t groups, uint32_t largest, simt *s, uint32_t diverge_one_in) {
  crowd *c = calloc(1, sizeof *c);
  uint32_t i;
  assert_non_null(c);
  memset(s, 0, sizeof *s);
  memset(cache, 0, sizeof cache);
  s->groups = GROUPS;
  s->diverge_one_in = diverge_one_in;
  s->seed = bytes + groups + largest;
  s->most_ticks = 20000000u;
  c->heap = core_heap(bytes, CORE_SLOTS_DEFAULT, 0, XMC_COALESCING);
  c->regions[0] = xmcRegionCreateFor(c->heap, groups);
  c->regions[1] = xmcRegionCreateFor(c->heap, 1);
  assert_true(c->regions[0] && c->regions[1]);
  c->largest = largest;
  c->same_one_in = 3;
  c->rounds = 12;
  for (i = 0; i < LANES; i++) {
    c->random[i] = 1000003u + 7u * i;
    c->group_random[i] = 2000003u + 11u * (i / SIMT_LANES);
  }
  return c;
}

static void tags(size_t bytes, uint32_t groups, uint32_t largest, uint32_t diverge_one_in, uint32_t old) {
  simt s;
  crowd *c = crowd_new(bytes, groups, largest, &s, diverge_one_in);
  uint32_t launch, before = 0;
  cache_one_in = old;
  for (launch = 0; launch < 4; launch++) {
    memset(c->count, 0, sizeof c->count);
    run(&s, live, c);
    assert_int_equal(c->misplaced, 0);
    assert_int_equal(wrong_words(c), 0);
    intact(c->heap);
    xmcRegionReset(c->heap, c->regions[0]);
    xmcRegionReset(c->heap, c->regions[1]);
    if (bytes > 32u << 20)
      assert_int_equal(c->refused, 0);
    before += c->count[0];
  }
  assert_true(before > 0);
  run(&s, free_both, c);
  cache_one_in = 0;
  assert_int_equal(c->heap->invalid_frees, 2u * (GROUPS - 1u));
  all_back(&s, c);
  core_heap_free(c->heap);
  free(c);
}

static void owners(void **state) {
  static const uint32_t largest[] = {32, 700, 20000, 50000};
  static const uint32_t groups[] = {1, 64, 256, 64 * GROUPS};
  uint32_t i, k;
  (void)state;
  for (i = 0; i < 4; i++)
    for (k = i % 2u; k < 4; k += 2)
      tags(192u << 20, groups[k], largest[i], i == k ? 0 : 16, k == 2u ? 16 : 0);
}

static void owners_in_a_full_heap(void **state) {
  (void)state;
  tags(4u << 20, 256, 700, 16, 0);
  tags(4u << 20, 64, 20000, 16, 16);
  tags(6u << 20, 64 * GROUPS, 3000, 0, 64);
}

/* ---- requests beside a free ---- */

static void beside_frees(uint32_t number, void *data) {
  crowd *c = data;
  uint32_t round;
  for (round = 0; round < 24; round++) {
    uint64_t own = core_random(&c->random[number]), group = core_random(&c->group_random[number]);
    xmcRegion region = __atomic_load_n(&c->regions[0], __ATOMIC_ACQUIRE);
    if (own % 97u == 0) {
      xmcRegionFree(c->heap, region);
      region = xmcRegionCreateFor(c->heap, own >> 10 & 1u ? 64 * GROUPS : 1);
      if (region)
        xmcRegionFree(c->heap, __atomic_exchange_n(&c->regions[0], region, __ATOMIC_ACQ_REL));
      continue;
    }
    xmcRegionMalloc(c->heap, region, 1u + (group % 3u ? group >> 8 : own >> 8) % (own % 61u ? 300u : 40000u));
  }
}
static void frees_beside_requests(void **state) {
  uint32_t round;
  (void)state;
  for (round = 0; round < 6; round++) {
    simt s;
    crowd *c = crowd_new(round % 2u ? 8u << 20 : 256u << 20, 64 * GROUPS, 16, &s, 8);
    cache_one_in = round % 3u ? 16 : 0;
    s.seed = round;
    run(&s, beside_frees, c);
    cache_one_in = 0;
    intact(c->heap);
    xmcRegionFree(c->heap, c->regions[0]);
    xmcRegionFree(c->heap, c->regions[1]);
    all_back(&s, c);
    assert_int_equal(c->heap->double_frees, 0);
    core_heap_free(c->heap);
    free(c);
  }
}

/* ---- pages that go back, and become a chunk at once ---- */

enum { REGIONS = 20, SUPERBLOCKS = 4, BLOCK = 31000, BLOCK_UNITS = (BLOCK + 15) / 16 };

typedef struct scene {
  xmcHeap *heap;
  xmcRegion regions[REGIONS];
  uint32_t superblock, filled, chunked;
} scene;

/* The second sub-group frees one of its Superblocks of 32 blocks of 512 B, and stops on its way. Meanwhile the first work-item fills all free
 * pages with chunks of two pages. */
static void free_beside_chunks(uint32_t number, void *data) {
  scene *s = data;
  void *block[SUPERBLOCKS];
  uint32_t i;
  if (number >= SIMT_LANES) {
    for (i = 0; i < SUPERBLOCKS; i++)
      block[i] = xmcMalloc(s->heap, 512);
    s->filled = 1;
    while (!s->chunked)
      simt_step();
    if (number == SIMT_LANES)
      stop.counts = 1;
    xmcFree(s->heap, block[s->superblock]);
    if (number == SIMT_LANES && stop.counts) { /* it has no such atomic */
      stop.counts = 0;
      stop.stopped = 2;
    }
    while (!stop.goes_on)
      simt_step();
    for (i = 0; i < SUPERBLOCKS; i++)
      if (i != s->superblock)
        xmcFree(s->heap, block[i]);
  } else if (number == 0) {
    while (!s->filled)
      simt_step();
    for (i = 0; i < REGIONS; i++) {
      s->regions[i] = xmcRegionCreateFor(s->heap, 1);
      xmcRegionMalloc(s->heap, s->regions[i], BLOCK);
    }
    s->chunked = 1;
    while (!stop.stopped)
      simt_step();
    for (i = 0; i < REGIONS; i++)
      xmcRegionMalloc(s->heap, s->regions[i], BLOCK);
    stop.goes_on = 1;
  }
}
static void free_regions(uint32_t number, void *data) {
  scene *s = data;
  uint32_t i;
  for (i = 0; number == 0 && i < REGIONS; i++)
    xmcRegionFree(s->heap, s->regions[i]);
}

/* Each chunk's room word has a region's tag, and in its lower half a number near XMC_ROOM_BASE. */
static void rooms_are_whole(xmcHeap *heap) {
  uint32_t page;
  for (page = 0; page < heap->present; page++) {
    uint64_t room = *xmc_room_of(heap, page), entry = *xmc_page_entry(heap, page);
    if (entry == XMC_MAP(XMC_CLASS_CHUNK, 0, 0, 0) || entry == XMC_MAP(XMC_CLASS_REGION, 0, 0, 0)) {
      assert_in_range(xmc_room_tag(room), 1, REGIONS);
      assert_in_range((uint32_t)room, XMC_ROOM_BASE - 2u * BLOCK_UNITS,
                      XMC_ROOM_BASE + xmc_chunk_units(XMC_CHUNK_MOST_PAGES));
    }
  }
}

/* What a free still writes after the pages are given back must not change the room word of a new chunk there. */
static void a_free_beside_chunks(void **state) {
  uint32_t before, superblock, most, atomics = 0;
  simt s;
  scene c;
  (void)state;
  for (superblock = 0; superblock < SUPERBLOCKS; superblock++)
    for (before = 0, most = 100; before < most; before++) {
      memset(&s, 0, sizeof s);
      memset(&c, 0, sizeof c);
      memset(&stop, 0, sizeof stop);
      s.groups = 2;
      s.seed = 7;
      s.most_ticks = 5000000;
      stop.before = before;
      c.superblock = superblock;
      c.heap = core_heap(1300000, 1, 0, XMC_COALESCE_CLASS);
      simt_run(&s, free_beside_chunks, &c);
      assert_false(s.hung);
      if (stop.stopped == 2)
        most = before; /* the last */
      intact(c.heap);
      rooms_are_whole(c.heap);
      simt_run(&s, free_regions, &c);
      intact(c.heap);
      assert_int_equal(c.heap->invalid_frees + c.heap->double_frees, 0);
      assert_true(core_free_pages(c.heap) + 3u >= c.heap->present); /* the rest may be kept for the class */
      atomics += before < most;
      core_heap_free(c.heap);
    }
  assert_true(atomics >= 4u * SUPERBLOCKS);
}

/* ---- what a request waits for ---- */

static void ask_16(uint32_t number, void *data) {
  crowd *c = data;
  c->blocks[number][0].words = xmcRegionMalloc(c->heap, c->regions[0], 16);
}
static void ask_any(uint32_t number, void *data) {
  crowd *c = data;
  c->blocks[number][0].words = xmcRegionMalloc(c->heap, c->regions[0], 16u + number % 7u * 24u);
}

/* Accesses one behind the other: what leads to the chunk, two, and the subtraction; and the blocks of a sub-group lie side by side. */
static void one_atomic(void **state) {
  simt s;
  crowd *c = crowd_new(256u << 20, 64 * GROUPS, 16, &s, 0);
  uint32_t i;
  (void)state;
  run(&s, ask_16, c); /* each slot has a chunk from the start */
  assert_true(s.ticks >= 3 && s.ticks <= 8);
  for (i = 1; i < SIMT_LANES; i++)
    assert_ptr_equal(c->blocks[i][0].words, c->blocks[0][0].words + 2u * i);
  run(&s, ask_any, c);
  assert_true(s.ticks >= 3 && s.ticks <= 8);
  for (i = 1; i < SIMT_LANES; i++) /* 16, 40 … 160 bytes, in lanes' order, each rounded up to 16 */
    assert_ptr_equal(c->blocks[i][0].words,
                     c->blocks[i - 1u][0].words + (16u + (i - 1u) % 7u * 24u + 15u) / 16u * 2u);
  core_heap_free(c->heap);
  free(c);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(owners),
      cmocka_unit_test(owners_in_a_full_heap),
      cmocka_unit_test(frees_beside_requests),
      cmocka_unit_test(a_free_beside_chunks),
      cmocka_unit_test(one_atomic),
  };
  return run_named(tests, argc, argv);
}
