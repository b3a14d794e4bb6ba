/* SPDX-License-Identifier: MIT */
/* The core compiled as C11, with 8 threads as work-items on an arena in the process's memory. Meant to be
 * built with -fsanitize=thread, address or undefined as well: all shared words are atomics, and a block's
 * contents are handed over by the allocator's own acquire and release.
 */
#include "support/core.h"
#include "support/named.h"

#define THREADS 8
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ROUNDS 20000u
#else
#define ROUNDS 100000u
#endif

typedef struct crowd {
  xmcHeap *heap;
  uint32_t max_size, rounds;
  uint32_t errors, failures;
  uint64_t table[256]; /* references of blocks that change hands; 0: none */
} crowd;

/* Every block starts with its size; the rest is a pattern of its tag. */
static void stamp(unsigned char *p, uint32_t size, uint32_t tag) {
  uint32_t i;
  memcpy(p, &size, 4);
  memcpy(p + 4, &tag, 4);
  for (i = 8; i < size; i++)
    p[i] = (unsigned char)(tag + i * 31u);
}

static int is_stamped(const unsigned char *p) {
  uint32_t size, tag, i;
  memcpy(&size, p, 4);
  memcpy(&tag, p + 4, 4);
  if (size > 1u << 20)
    return 0;
  for (i = 8; i < size; i++)
    if (p[i] != (unsigned char)(tag + i * 31u))
      return 0;
  return 1;
}

static uint32_t some_size(uint64_t *seed, uint32_t max_size) {
  uint64_t r = core_random(seed);
  uint32_t top = max_size >> (r >> 32) % 10;
  return 8u + (uint32_t)r % (top > 8u ? top - 7u : 1u);
}

static void *get(crowd *c, uint64_t *seed) {
  uint32_t size = some_size(seed, c->max_size);
  unsigned char *p = xmcMalloc(c->heap, size);
  if (!p) {
    __atomic_add_fetch(&c->failures, 1, __ATOMIC_RELAXED);
    return NULL;
  }
  if ((uintptr_t)p % 16 != 0 || xmcUsableSize(c->heap, p) < size)
    __atomic_add_fetch(&c->errors, 1, __ATOMIC_RELAXED);
  stamp(p, size, (uint32_t)core_random(seed));
  return p;
}

static void put(crowd *c, void *p) {
  if (!is_stamped(p))
    __atomic_add_fetch(&c->errors, 1, __ATOMIC_RELAXED);
  xmcFree(c->heap, p);
}

/* Blocks of its own, freed in random order */
static void keeper(int number, void *data) {
  enum { HELD = 100 };
  crowd *c = data;
  void *held[HELD];
  uint64_t seed = (uint64_t)number + 1;
  uint32_t round, i;
  memset(held, 0, sizeof held);
  for (round = 0; round < c->rounds; round++) {
    i = (uint32_t)(core_random(&seed) % HELD);
    if (held[i])
      put(c, held[i]);
    held[i] = held[i] ? NULL : get(c, &seed);
  }
  for (i = 0; i < HELD; i++)
    if (held[i])
      put(c, held[i]);
}

/* Blocks that other threads free */
static void trader(int number, void *data) {
  crowd *c = data;
  uint64_t seed = (uint64_t)number + 100;
  uint32_t round;
  for (round = 0; round < c->rounds; round++) {
    uint64_t *place = &c->table[core_random(&seed) % 256];
    uint64_t old = __atomic_exchange_n(place, xmcToRef(c->heap, get(c, &seed)), __ATOMIC_ACQ_REL);
    if (old)
      put(c, xmcFromRef(c->heap, old));
  }
}

/* Heaps alternate between threads that run freely and threads that lose their turn between any two steps. */
static crowd crowd_new(size_t bytes, xmc_u32 slots, xmc_u32 fifo_start, uint32_t max_size) {
  crowd c;
  memset(&c, 0, sizeof c);
  c.heap = core_heap(bytes, slots, fifo_start, XMC_COALESCE_CLASS);
  c.max_size = max_size;
  c.rounds = ROUNDS;
  core_yield = core_yield ? 0 : 20;
  if (core_yield)
    c.rounds /= 5;
  return c;
}

static int free_table(crowd *c) {
  int n = 0, i;
  for (i = 0; i < 256; i++)
    if (c->table[i]) {
      put(c, xmcFromRef(c->heap, c->table[i]));
      c->table[i] = 0;
      n++;
    }
  return n;
}

/* After all frees: nothing bad was counted, and the whole arena can be had as one block. */
static void crowd_end(crowd *c) {
  size_t all = (size_t)c->heap->pages << XMC_PAGE_SHIFT;
  void *p;
  assert_int_equal(c->errors, 0);
  assert_int_equal(c->heap->failed_requests, c->failures);
  assert_int_equal(c->heap->double_frees, 0);
  assert_int_equal(c->heap->invalid_frees, 0);
  p = xmcMalloc(c->heap, all);
  assert_non_null(p);
  assert_int_equal(xmcUsableSize(c->heap, p), all);
  assert_int_equal(core_free_pages(c->heap), 0);
  xmcFree(c->heap, p);
  assert_int_equal(core_free_pages(c->heap), c->heap->pages);
  core_heap_free(c->heap);
}

static void threads_keep(void **state) {
  static const xmc_u32 slots[] = {CORE_SLOTS_DEFAULT, 0, 1, 4};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof slots / sizeof *slots; i++) {
    crowd c = crowd_new(64u << 20, slots[i], 0xffffff00u, 8192);
    core_threads(THREADS, keeper, &c);
    assert_int_equal(c.failures, 0);
    crowd_end(&c);
  }
}

static void threads_trade(void **state) {
  static const xmc_u32 slots[] = {CORE_SLOTS_DEFAULT, 0, 1, 4};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof slots / sizeof *slots; i++) {
    crowd c = crowd_new(64u << 20, slots[i], 0, 8192);
    core_threads(THREADS, trader, &c);
    assert_int_equal(c.failures, 0);
    assert_true(free_table(&c) > 200);
    crowd_end(&c);
  }
}

/* Hardly room for anything: requests fail, reclaim runs all the time, pages change their use. */
static void threads_starve(void **state) {
  static const xmc_u32 slots[] = {CORE_SLOTS_DEFAULT, 0, 1};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof slots / sizeof *slots; i++) {
    crowd c = crowd_new(1u << 20, slots[i], 0, 40000);
    c.rounds /= 8;
    core_threads(THREADS, keeper, &c);
    assert_true(c.failures > 0);
    core_threads(THREADS, trader, &c);
    free_table(&c);
    crowd_end(&c);
  }
}

/* Blocks of many spans beside small ones */
static void threads_large(void **state) {
  crowd c;
  (void)state;
  c = crowd_new(256u << 20, CORE_SLOTS_DEFAULT, 0, 1000000);
  c.rounds = ROUNDS / 40;
  core_threads(THREADS, trader, &c);
  free_table(&c);
  crowd_end(&c);
}

/* Bad frees from all sides while others work: counted, to the last one, and nothing else. */
static uint64_t victim;
static void vandal(int number, void *data) {
  crowd *c = data;
  uint64_t seed = (uint64_t)number + 1;
  uint32_t round;
  if (number >= THREADS / 2) {
    keeper(number, data);
    return;
  }
  for (round = 0; round < c->rounds; round++) {
    char *base = (char *)c->heap, *inside = (char *)xmcFromRef(c->heap, victim);
    switch (core_random(&seed) % 4) {
    case 0:
      xmcFree(c->heap, base - 1 - core_random(&seed) % 100000);
      break;
    case 1:
      xmcFree(c->heap, base + c->heap->bytes + core_random(&seed) % 100000);
      break;
    case 2:
      xmcFree(c->heap, base + core_random(&seed) % c->heap->data);
      break;
    default:
      xmcFree(c->heap, inside + 1 + core_random(&seed) % 99);
    }
  }
}

static void threads_misbehave(void **state) {
  crowd c;
  void *block;
  (void)state;
  c = crowd_new(16u << 20, CORE_SLOTS_DEFAULT, 0, 4000);
  block = xmcMalloc(c.heap, 100);
  assert_non_null(block);
  stamp(block, 100, 1);
  victim = xmcToRef(c.heap, block);
  core_threads(THREADS, vandal, &c);
  assert_int_equal(c.heap->invalid_frees, THREADS / 2 * c.rounds);
  c.heap->invalid_frees = 0;
  put(&c, block);
  crowd_end(&c);
}

/* All threads free the same blocks: each is freed once, every other free is counted. */
static void double_freer(int number, void *data) {
  crowd *c = data;
  int i;
  (void)number;
  for (i = 0; i < 256; i++)
    xmcFree(c->heap, xmcFromRef(c->heap, c->table[i]));
}

static void threads_free_the_same(void **state) {
  static const uint32_t sizes[] = {16, 300, 5000, 40000};
  size_t s, i;
  (void)state;
  for (s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    crowd c = crowd_new(16u << 20, CORE_SLOTS_DEFAULT, 0, 64);
    for (i = 0; i < 256; i++) {
      c.table[i] = xmcToRef(c.heap, xmcMalloc(c.heap, sizes[s]));
      assert_true(c.table[i] != 0);
    }
    core_threads(THREADS, double_freer, &c);
    /* of which kind depends on whether the block's pages had gone back by then */
    assert_int_equal(c.heap->double_frees + c.heap->invalid_frees, (THREADS - 1) * 256);
    assert_true(c.heap->double_frees > 0);
    c.heap->double_frees = c.heap->invalid_frees = 0;
    crowd_end(&c);
  }
}

/* The other calls, one thread */
static void calls(void **state) {
  xmcHeap *heap = core_heap(4u << 20, CORE_SLOTS_DEFAULT, 0, XMC_COALESCE_CLASS);
  unsigned char *p, *q;
  size_t i, alignment;
  (void)state;
  assert_null(xmcMalloc(heap, 0));
  assert_int_equal(heap->failed_requests, 0);
  assert_null(xmcMalloc(heap, SIZE_MAX));
  assert_null(xmcCalloc(heap, SIZE_MAX / 2, 3));
  assert_null(xmcAlignedAlloc(heap, 24, 8));
  assert_int_equal(heap->failed_requests, 3);
  assert_true(heap->first_failure_size == SIZE_MAX);
  p = xmcMalloc(heap, 3000);
  memset(p, 0xff, 3000);
  xmcFree(heap, p);
  p = xmcCalloc(heap, 30, 100);
  for (i = 0; i < 3000; i++)
    assert_int_equal(p[i], 0);
  stamp(p, 3000, 7);
  q = xmcRealloc(heap, p, 100000);
  assert_true(q && q != p);
  assert_true(is_stamped(q));
  p = xmcRealloc(heap, q, 3000);
  assert_true(p && is_stamped(p));
  assert_null(xmcRealloc(heap, p, (size_t)1 << 40));
  assert_true(is_stamped(p));
  assert_null(xmcRealloc(heap, p, 0));
  for (alignment = 1; alignment <= 1u << 20; alignment *= 2) {
    p = xmcAlignedAlloc(heap, alignment, 100);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % alignment, 0);
    stamp(p, 100, 3);
    xmcFree(heap, p);
  }
  xmcFree(heap, NULL);
  assert_int_equal(heap->double_frees + heap->invalid_frees, 0);
  core_heap_free(heap);
}

/* In a full heap: blocks of a larger class stand in for smaller ones, but not where the alignment forbids it;
 * a realloc that stays where it is has not failed. */
static void calls_when_full(void **state) {
  xmcHeap *heap = core_heap(1u << 20, 1, 0, XMC_COALESCE_CLASS);
  unsigned char *p, *last = NULL, *first = NULL, *before = NULL;
  xmc_u64 failures;
  size_t i;
  (void)state;
  while ((p = xmcMalloc(heap, 5000)) != NULL) { /* 5,120 bytes each */
    if (!first)
      first = p;
    before = last;
    last = p;
  }
  failures = heap->failed_requests;
  p = xmcRealloc(heap, first, 100);
  assert_ptr_equal(p, first);
  assert_int_equal(heap->failed_requests, failures);
  xmcFree(heap, last);
  xmcFree(heap, before);
  for (i = 0; i < 2; i++) {
    p = xmcAlignedAlloc(heap, 4096, 4096);
    assert_true((uintptr_t)p % 4096 == 0);
    if (!p)
      assert_int_equal(heap->failed_requests, ++failures);
  }
  p = xmcMalloc(heap, 4096); /* the block that was not aligned is still there */
  assert_non_null(p);
  core_heap_free(heap);
}

/* Single pages are free and no run of two is: an aligned request gets one of them or fails, and returns. */
static void aligned_when_frayed(void **state) {
  xmcHeap *heap = core_heap(1u << 20, 1, 0, XMC_COALESCE_CLASS);
  unsigned char *page[64], *p;
  uint32_t n = 0, i, odd;
  (void)state;
  while ((page[n] = xmcMalloc(heap, XMC_PAGE_BYTES)) != NULL)
    n++;
  for (odd = 0; odd < 2; odd++) { /* in one of the two turns the free pages lie at multiples of two */
    for (i = odd; i < n; i += 2)
      xmcFree(heap, page[i]);
    p = xmcAlignedAlloc(heap, 2 * XMC_PAGE_BYTES, 20000);
    assert_null(p); /* two pages */
    p = xmcAlignedAlloc(heap, 2 * XMC_PAGE_BYTES, 100);
    assert_true((uintptr_t)p % (2 * XMC_PAGE_BYTES) == 0);
    xmcFree(heap, p);
    assert_int_equal(core_free_pages(heap), (n + 1 - odd) / 2);
    for (i = odd; i < n; i += 2)
      page[i] = xmcMalloc(heap, XMC_PAGE_BYTES);
  }
  core_heap_free(heap);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls),
      cmocka_unit_test(aligned_when_frayed),
      cmocka_unit_test(calls_when_full),
      cmocka_unit_test(threads_keep),
      cmocka_unit_test(threads_trade),
      cmocka_unit_test(threads_starve),
      cmocka_unit_test(threads_large),
      cmocka_unit_test(threads_misbehave),
      cmocka_unit_test(threads_free_the_same),
  };
  return run_named(tests, argc, argv);
}
