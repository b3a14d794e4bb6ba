/* SPDX-License-Identifier: MIT */
/* Regions in the core compiled as C, with threads as work-items: every byte of a block is its owner's, memory comes back wholly,
 * bad regions change nothing, and a free beside requests loses nothing.
 */
#include "support/core.h"
#include "../host/inspect/inspect.h"
#include "support/named.h"

enum { THREADS = 8, MOST = 4096 };

typedef struct item {
  unsigned char *at;
  uint32_t size;
} item;

typedef struct crowd {
  xmcHeap *heap;
  xmcRegion regions[THREADS];
  uint32_t region_count, largest, rounds;
  item items[THREADS][MOST];
  uint32_t count[THREADS], refused[THREADS], misplaced[THREADS];
  xmcRegion made[THREADS][64];
} crowd;

static void stamp(item it, uint32_t tag) {
  uint32_t i;
  for (i = 0; i < it.size; i++)
    it.at[i] = (unsigned char)(tag * 31u + i * 7u);
}
static int is_stamped(item it, uint32_t tag) {
  uint32_t i;
  for (i = 0; i < it.size; i++)
    if (it.at[i] != (unsigned char)(tag * 31u + i * 7u))
      return 0;
  return 1;
}

static void intact(xmcHeap *heap) {
  xmc_heap_report report;
  memset(&report, 0, sizeof report);
  if (xmc_check_meta(heap, &report) != CL_SUCCESS)
    fail_msg("%s", report.message);
}
/* Nothing lives, and one request can have everything. */
static void all_back(xmcHeap *heap) {
  xmc_heap_stats stats;
  void *whole = xmcMalloc(heap, (size_t)xmc_data_bytes(heap));
  assert_non_null(whole);
  xmcFree(heap, whole);
  intact(heap);
  xmc_stats_meta(heap, &stats);
  assert_int_equal(stats.live_blocks, 0);
  assert_int_equal(stats.regions + stats.region_bytes, 0);
  assert_int_equal(core_free_pages(heap), heap->pages);
}
static uint64_t region_bytes(xmcHeap *heap) {
  xmc_heap_stats stats;
  xmc_stats_meta(heap, &stats);
  return stats.region_bytes;
}

/* Sizes of all kinds: mostly small, some as large as a chunk, few beyond it */
static uint32_t any_size(uint64_t *random, uint32_t largest) {
  uint64_t r = core_random(random);
  uint32_t most = r % 64u == 0 ? largest : r % 8u == 0 ? 4000u : 100u;
  return 1u + (uint32_t)(r >> 20) % (most < largest ? most : largest);
}

/* ---- one region, many threads ---- */

static void allocate(int number, void *data) {
  crowd *c = data;
  uint64_t random = 77u + 1000003u * (unsigned)number;
  uint32_t i;
  for (i = 0; i < c->rounds && c->count[number] < MOST; i++) {
    uint32_t which = (uint32_t)(core_random(&random) % c->region_count), size = any_size(&random, c->largest);
    item it = {xmcRegionMalloc(c->heap, c->regions[which], size), size};
    void *other = NULL;
    if (i % 5u == 0) /* ordinary blocks beside it */
      other = xmcMalloc(c->heap, size);
    if (it.at) {
      c->misplaced[number] += ((uintptr_t)it.at & 15u) != 0;
      stamp(it, (uint32_t)number * MOST + c->count[number]);
      c->items[number][c->count[number]++] = it;
    } else {
      c->refused[number]++;
    }
    xmcFree(c->heap, other);
  }
}

static uint32_t check_items(crowd *c) {
  uint32_t n, i, sum = 0, wrong = 0;
  for (n = 0; n < THREADS; n++) {
    wrong += c->misplaced[n];
    for (i = 0; i < c->count[n]; i++) {
      wrong += !is_stamped(c->items[n][i], n * MOST + i);
      sum += c->items[n][i].size;
    }
  }
  assert_int_equal(wrong, 0);
  return sum;
}

static crowd *crowd_new(size_t bytes, uint32_t regions, uint32_t largest) {
  crowd *c = calloc(1, sizeof *c);
  uint32_t i;
  assert_non_null(c);
  c->heap = core_heap(bytes, CORE_SLOTS_DEFAULT, 0, XMC_COALESCE_CLASS);
  c->region_count = regions;
  c->largest = largest;
  c->rounds = 2000;
  for (i = 0; i < regions; i++) {
    c->regions[i] = i % 2u ? xmcRegionCreateFor(c->heap, 1) : xmcRegionCreate(c->heap);
    assert_true(c->regions[i] != 0);
  }
  return c;
}
static void crowd_free(crowd *c) {
  core_heap_free(c->heap);
  free(c);
}

static void shared(void **state) {
  static const uint32_t largest[] = {16, 100000};
  uint32_t i, k, n, regions;
  uint64_t bytes, sum;
  (void)state;
  for (i = 0; i < 4u; i++) {
    regions = i / 2u ? THREADS : 1u;
    crowd *c = crowd_new(256u << 20, regions, largest[i % 2u]);
    core_threads(THREADS, allocate, c);
    sum = check_items(c);
    intact(c->heap);
    for (bytes = 0, k = 0; k < regions; k++)
      bytes += xmcRegionBytes(c->heap, c->regions[k]);
    assert_true(bytes >= sum);
    assert_int_equal(bytes, region_bytes(c->heap));
    for (n = 0; n < THREADS; n++)
      assert_int_equal(c->refused[n], 0);
    for (k = 0; k < regions; k++)
      xmcRegionFree(c->heap, c->regions[k]);
    all_back(c->heap);
    assert_int_equal(c->heap->invalid_frees + c->heap->double_frees + c->heap->failed_requests, 0);
    crowd_free(c);
  }
}

/* A full heap refuses, counts, and gives all back. */
static void full(void **state) {
  crowd *c = crowd_new(4u << 20, 2, 100000);
  uint32_t n, refused = 0;
  (void)state;
  c->rounds = MOST;
  core_threads(THREADS, allocate, c);
  check_items(c);
  intact(c->heap);
  for (n = 0; n < THREADS; n++)
    refused += c->refused[n];
  assert_true(refused > 100u);
  assert_true(c->heap->failed_requests >= refused); /* ordinary blocks, too */
  xmcRegionFree(c->heap, c->regions[0]);
  assert_non_null(xmcRegionMalloc(c->heap, c->regions[1], 1000));
  xmcRegionFree(c->heap, c->regions[1]);
  all_back(c->heap);
  crowd_free(c);
}

/* ---- reset ---- */

static void reset_keeps_chunks(void **state) {
  crowd *c = crowd_new(64u << 20, 1, 60000);
  uint32_t round;
  size_t bytes = 0, least = 0;
  (void)state;
  for (round = 0; round < 20; round++) {
    memset(c->count, 0, sizeof c->count);
    c->rounds = 500;
    core_threads(THREADS, allocate, c);
    check_items(c);
    bytes = xmcRegionBytes(c->heap, c->regions[0]);
    xmcRegionReset(c->heap, c->regions[0]);
    intact(c->heap);
    least = xmcRegionBytes(c->heap, c->regions[0]);
    assert_true(least > 0 && least <= bytes);
  }
  assert_true(least < 16u << 20); /* it did not grow from round to round: one round takes 4 MiB */
  assert_int_equal(region_bytes(c->heap), least);
  xmcRegionFree(c->heap, c->regions[0]);
  all_back(c->heap);
  crowd_free(c);
}

/* ---- bad regions ---- */

typedef struct snapshot {
  xmcHeap *heap;
  unsigned char *before;
} snapshot;
static snapshot look(xmcHeap *heap) {
  snapshot s = {heap, malloc(heap->bytes)};
  assert_non_null(s.before);
  memcpy(s.before, heap, heap->bytes);
  return s;
}
/* The whole arena, users' bytes too, but for the counters */
static void same(snapshot s) {
  const unsigned char *now = (const unsigned char *)s.heap;
  assert_memory_equal(now, s.before, offsetof(xmcHeap, failed_requests));
  assert_memory_equal(now + XMC_HEADER_BYTES, s.before + XMC_HEADER_BYTES, s.heap->bytes - XMC_HEADER_BYTES);
  free(s.before);
}

static void use_bad(xmcHeap *heap, xmcRegion bad, uint32_t *calls) {
  assert_null(xmcRegionMalloc(heap, bad, 16));
  assert_null(xmcRegionMalloc(heap, bad, 100000));
  *calls += 2u;
  if (bad) {
    xmcRegionFree(heap, bad);
    xmcRegionReset(heap, bad);
    *calls += 2u;
  }
  assert_int_equal(xmcRegionBytes(heap, bad), 0);
}

static void bad_regions(void **state) {
  crowd *c = crowd_new(8u << 20, 2, 16), *d = crowd_new(8u << 20, 2, 16);
  xmcRegion stale = xmcRegionCreate(c->heap), bad, *copies;
  uint64_t random = 5;
  uint32_t calls = 0, i;
  snapshot s;
  (void)state;
  allocate(0, c);
  assert_non_null(xmcRegionMalloc(c->heap, c->regions[0], 200000)); /* a chunk of its own */
  for (i = 0; i < 16u * 16u;
       i++) /* each slot gets a chunk, so that a wrong number of slots leads to one, too */
    assert_true(xmc_region_alone(c->heap, i * 2654435769u, c->regions[0], 63u, 0, XMC_REGION_AGAIN) <
                XMC_REGION_AGAIN);
  xmcRegionFree(c->heap, stale);
  copies = xmcMalloc(c->heap, 2 * XMC_PAGE_BYTES); /* a block at a page's begin that is full of handles */
  for (i = 0; i < 2 * XMC_PAGE_BYTES / 8; i++)
    copies[i] = c->regions[i % 2u];
  s = look(c->heap);
  use_bad(c->heap, 0, &calls);
  use_bad(c->heap, stale, &calls);
  for (i = 0; i < 64; i++) { /* one bit of a handle is another */
    bad = c->regions[0] ^ (xmcRegion)1 << i;
    use_bad(c->heap, bad, &calls);
  }
  for (i = 0; i < c->heap->pages + 3u; i++) /* a right generation, at each page */
    if (i != xmc_region_page(c->regions[0]))
      use_bad(c->heap, xmc_region_make(xmc_region_tag(c->regions[0]), xmc_region_log(c->regions[0]), i),
              &calls);
  for (i = 0; i < 2000; i++)
    use_bad(c->heap, core_random(&random), &calls);
  same(s);
  assert_int_equal(c->heap->invalid_frees, calls);
  assert_int_equal(c->heap->double_frees + c->heap->failed_requests, 0);
  /* those of another heap, which has made as many */
  stale = xmcRegionCreate(d->heap);
  stale = xmcRegionCreate(d->heap);
  s = look(c->heap);
  use_bad(c->heap, stale, &calls);
  same(s);
  assert_int_equal(c->heap->invalid_frees, calls);
  crowd_free(d);
  crowd_free(c);
}

/* Free, realloc and usable size of blocks of a region, and of what lies beside them */
static void blocks_are_no_blocks(void **state) {
  crowd *c = crowd_new(8u << 20, 1, 5000);
  uint32_t i, calls = 0;
  unsigned char *large;
  snapshot s;
  (void)state;
  c->rounds = 1000;
  allocate(0, c);
  large = xmcRegionMalloc(c->heap, c->regions[0], 100000);
  s = look(c->heap);
  for (i = 0; i < c->count[0]; i++, calls += 2) {
    assert_int_equal(xmcUsableSize(c->heap, c->items[0][i].at), 0);
    xmcFree(c->heap, c->items[0][i].at);
    assert_null(xmcRealloc(c->heap, c->items[0][i].at, 10));
  }
  xmcFree(c->heap, large);
  for (i = 0; i < c->heap->pages; i++) { /* each page's begin: heads of chunks among them */
    if (xmc_map_class(*xmc_page_entry(c->heap, i)) < XMC_CLASSES)
      continue;
    xmcFree(c->heap, xmc_page_address(c->heap, i));
    calls++;
  }
  same(s);
  assert_int_equal(c->heap->invalid_frees, calls + 1u);
  xmcRegionFree(c->heap, c->regions[0]);
  intact(c->heap);
  crowd_free(c);
}

/* ---- at the same time ---- */

static void free_all(int number, void *data) {
  crowd *c = data;
  uint32_t i;
  (void)number;
  for (i = 0; i < 64; i++)
    xmcRegionFree(c->heap, c->made[0][i]);
}
static void one_of_many_frees(void **state) {
  crowd *c = crowd_new(64u << 20, 0, 16);
  uint32_t round, i, k;
  (void)state;
  core_yield = 20;
  for (round = 0; round < 20; round++) {
    for (i = 0; i < 64; i++) {
      c->made[0][i] = xmcRegionCreateFor(c->heap, i % 9u);
      for (k = 0; k < i; k++)
        assert_non_null(xmcRegionMalloc(c->heap, c->made[0][i], 3000));
    }
    core_threads(THREADS, free_all, c);
    all_back(c->heap);
    assert_int_equal(c->heap->invalid_frees, (round + 1u) * 64u * (THREADS - 1u));
  }
  core_yield = 0;
  crowd_free(c);
}

/* Requests in regions that others free, and make anew: the blocks may be gone at once, so nobody writes there. */
static void beside_frees(int number, void *data) {
  crowd *c = data;
  uint64_t random = 3u + 1000003u * (unsigned)number;
  uint32_t i;
  for (i = 0; i < 3000; i++) {
    xmcRegion *place = &c->regions[core_random(&random) % c->region_count], region;
    switch (core_random(&random) % 32u) {
    case 0:
      region = __atomic_exchange_n(place, xmcRegionCreateFor(c->heap, (xmc_u32)i % 5u), __ATOMIC_ACQ_REL);
      xmcRegionFree(c->heap, region);
      break;
    case 1: /* a second free, or a free of what is in use */
      xmcRegionFree(c->heap, __atomic_load_n(place, __ATOMIC_ACQUIRE));
      break;
    case 2:
      region = xmcToRef(c->heap, xmcMalloc(c->heap, any_size(&random, 60000)));
      xmcFree(c->heap, xmcFromRef(c->heap, region));
      break;
    default:
      xmcRegionMalloc(c->heap, __atomic_load_n(place, __ATOMIC_ACQUIRE), any_size(&random, 60000));
    }
  }
}
static void frees_beside_requests(void **state) {
  uint32_t round, i;
  (void)state;
  for (round = 0; round < 12; round++) {
    crowd *c = crowd_new(round % 2u ? 64u << 20 : 2u << 20, round % 2u ? 4 : 1, 16);
    core_yield = round % 3u ? 10 : 0;
    core_threads(THREADS, beside_frees, c);
    core_yield = 0;
    intact(c->heap);
    for (i = 0; i < c->region_count; i++)
      xmcRegionFree(c->heap, c->regions[i]);
    all_back(c->heap);
    assert_int_equal(c->heap->double_frees, 0);
    crowd_free(c);
  }
}

/* Two free pages are a chunk wherever they begin: its room word is that of the even one. */
static void two_pages(void **state) {
  uint32_t first;
  (void)state;
  for (first = 6; first < 10; first++) {
    xmcHeap *heap = core_heap(1u << 20, 1, 0, XMC_COALESCE_CLASS);
    xmcRegion region;
    unsigned char *block;
    uint32_t blocks = 0;
    while (xmcMalloc(heap, XMC_PAGE_BYTES))
      ;
    xmcFree(heap, xmc_page_address(heap, first));
    xmcFree(heap, xmc_page_address(heap, first + 1u));
    region = xmcRegionCreateFor(heap, 1);
    assert_int_equal(xmc_region_page(region), first);
    while ((block = xmcRegionMalloc(heap, region, 1024)) != NULL) {
      assert_in_range((uintptr_t)block, (uintptr_t)xmc_page_address(heap, first),
                      (uintptr_t)xmc_page_address(heap, first + 2u) - 1024u);
      memset(block, (int)blocks++, 1024);
    }
    assert_int_equal(blocks, 31); /* of 32 KiB less the head and the slot */
    intact(heap);
    xmcRegionFree(heap, region);
    assert_int_equal(core_free_pages(heap), 2);
    core_heap_free(heap);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shared),
      cmocka_unit_test(full),
      cmocka_unit_test(reset_keeps_chunks),
      cmocka_unit_test(two_pages),
      cmocka_unit_test(bad_regions),
      cmocka_unit_test(blocks_are_no_blocks),
      cmocka_unit_test(one_of_many_frees),
      cmocka_unit_test(frees_beside_requests),
  };
  return run_named(tests, argc, argv);
}
