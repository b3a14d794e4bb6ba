/* SPDX-License-Identifier: MIT */
/* Blocks of whole pages that grow into the pages behind them and give their ends back (xmc_memoryblock_resize): step by step
 * beside another work-item, and by threads.
 */
static void before_step(void);
#define CORE_OWN_STEPS
#define XMC_HOST_STEP() before_step()
#include "support/core.h"
#include "support/named.h"
#include "inspect/walk.h"

enum { THREADS = 8, PAGE = XMC_PAGE_BYTES };

/* What another work-item does before one step of a call; threads lose their turn now and then instead. */
static int armed = -1;
static void (*other)(void);
static int threads_run;

static void before_step(void) {
  static __thread unsigned state;
  if (threads_run) {
    state = state * 1664525u + 1013904223u + (unsigned)((uintptr_t)&state >> 8);
    if ((state >> 8) % 50 == 0)
      sched_yield();
  } else if (armed >= 0 && armed-- == 0) {
    other();
  }
}

static uint64_t counted(xmcHeap *heap) { return heap->double_frees + heap->invalid_frees; }

static void is_intact(xmcHeap *heap, xmc_u32 free_pages) {
  xmc_heap_report report = {0};
  if (xmc_check_meta(heap, &report) != CL_SUCCESS)
    fail_msg("%s", report.message);
  assert_int_equal(core_free_pages(heap), free_pages);
}

/* ---- alone ---- */

static void stamp(char *block, size_t bytes, unsigned tag) {
  size_t i;
  for (i = 0; i < bytes; i += 4096)
    block[i] = (char)(tag + i / 4096);
  block[bytes - 1] = (char)(tag + 77);
}

static void has_stamps(const char *block, size_t bytes, unsigned tag) {
  size_t i;
  for (i = 0; i < bytes; i += 4096)
    assert_int_equal(block[i], (char)(tag + i / 4096));
}

/* Every length to every other, over ends of spans, where the pages behind are free: the block never moves, and what it does not
 * have is free. */
static void in_place(void **state) {
  static const xmc_u32 pages[] = {1, 2, 3, 17, 63, 64, 65, 100, 128, 129, 200, 300};
  enum { COUNT = sizeof pages / sizeof *pages };
  xmcHeap *heap = core_heap(8u << 20, CORE_SLOTS_DEFAULT, 0, XMC_COALESCE_CLASS);
  xmc_u32 all = heap->pages;
  size_t i, j;
  char *block;
  (void)state;
  for (i = 0; i < COUNT; i++)
    for (j = 0; j < COUNT; j++) {
      size_t from = (size_t)pages[i] * PAGE, to = (size_t)pages[j] * PAGE - 100;
      assert_non_null(block = xmcMalloc(heap, from));
      stamp(block, from, (unsigned)i);
      assert_ptr_equal(xmcRealloc(heap, block, to), block);
      assert_int_equal(xmcUsableSize(heap, block), (size_t)pages[j] * PAGE);
      has_stamps(block, from < to ? from : to, (unsigned)i);
      is_intact(heap, all - pages[j]);
      xmcFree(heap, block);
      is_intact(heap, all);
    }
  core_heap_free(heap);
}

/* What a block gave back is not its own any more: bad frees there are counted and change nothing, and others can have it. */
static void old_tail(void **state) {
  xmcHeap *heap = core_heap(8u << 20, CORE_SLOTS_DEFAULT, 0, XMC_COALESCE_CLASS);
  xmc_u32 all = heap->pages, i;
  char *block = xmcMalloc(heap, (size_t)all * PAGE), *second;
  (void)state;
  assert_non_null(block);
  assert_null(xmcMalloc(heap, PAGE));
  assert_ptr_equal(xmcRealloc(heap, block, 70 * PAGE), block);
  for (i = 1; i < all; i++)
    xmcFree(heap, block + (size_t)i * PAGE);
  assert_int_equal(counted(heap), all - 1);
  is_intact(heap, all - 70);
  assert_null(xmcRealloc(heap, block + 80 * PAGE, 100000)); /* no block */
  assert_int_equal(counted(heap), all);
  second = xmcMalloc(heap, (size_t)(all - 128) * PAGE); /* from a span's beginning on */
  assert_ptr_equal(second, block + 128 * PAGE);
  assert_ptr_equal(xmcRealloc(heap, block, 128 * PAGE), block);
  assert_int_equal(core_free_pages(heap), 0);
  i = (xmc_u32)heap->failed_requests;
  assert_null(xmcRealloc(heap, block, 129 * PAGE)); /* in use behind it, and nowhere else is room */
  assert_int_equal(heap->failed_requests, i + 1);
  assert_int_equal(xmcUsableSize(heap, block), 128 * PAGE);
  assert_null(xmcRealloc(heap, block, (size_t)all * PAGE + 1));
  assert_null(xmcRealloc(heap, block, ~(size_t)0));
  xmcFree(heap, second);
  xmcFree(heap, block);
  is_intact(heap, all);
  core_heap_free(heap);
}

/* A block of pages that is to be small moves to its class, or, where there is no room for that, keeps one page. */
static void to_a_class(void **state) {
  xmcHeap *heap = core_heap(4u << 20, CORE_SLOTS_DEFAULT, 0, XMC_COALESCE_CLASS);
  xmc_u32 all = heap->pages;
  char *block = xmcMalloc(heap, (size_t)all * PAGE), *small;
  (void)state;
  stamp(block, (size_t)all * PAGE, 3);
  small = xmcRealloc(heap, block, 100);
  assert_ptr_equal(small, block);
  assert_int_equal(xmcUsableSize(heap, block), PAGE);
  is_intact(heap, all - 1);
  small = xmcRealloc(heap, block, 100); /* now there is */
  assert_ptr_not_equal(small, block);
  has_stamps(small, 100, 3);
  assert_int_equal(xmcUsableSize(heap, small), 112);
  xmcFree(heap, small);
  assert_int_equal(counted(heap), 0);
  core_heap_free(heap);
}

/* ---- another work-item, before each step ---- */

static struct {
  xmcHeap *heap;
  char *block;
  char *taken;
  size_t want;
} g;

/* The pages behind the block, or a part of them */
static void take_pages_behind(void) { g.taken = xmcMalloc(g.heap, g.want); }
static void free_the_block(void) { xmcFree(g.heap, g.block); }
static void free_inside(void) { xmcFree(g.heap, g.block + 66 * PAGE); }

/* xmcRealloc from `from` to `to` pages with the other before step `at`: whether there is such a step */
static int beside(void (*what)(void), xmc_u32 from, xmc_u32 to, int at, size_t want) {
  char *now;
  xmc_u32 all, bad;
  int reached;
  memset(&g, 0, sizeof g);
  g.heap = core_heap(8u << 20, 1, 0xfffffffdu, XMC_COALESCE_CLASS);
  all = g.heap->pages;
  g.want = want;
  g.block = xmcMalloc(g.heap, (size_t)from * PAGE);
  stamp(g.block, (size_t)from * PAGE, 9);
  other = what;
  armed = at;
  now = xmcRealloc(g.heap, g.block, (size_t)to * PAGE);
  reached = armed < 0;
  armed = -1;
  bad = (xmc_u32)counted(g.heap);
  if (what == free_the_block && reached) {
    /* Before the realloc saw the block, which is counted then; in its middle, and the owner has another block now, perhaps at the
     * same place; or behind it, and the owner's own free is what is counted. */
    xmcFree(g.heap, now);
    assert_true(counted(g.heap) == 1 || (counted(g.heap) == 0 && now == g.block));
  } else {
    assert_non_null(now);
    has_stamps(now, (size_t)(from < to ? from : to) * PAGE, 9);
    stamp(now, (size_t)to * PAGE, 10);
    if (g.taken)
      stamp(g.taken, want, 20);
    has_stamps(now, (size_t)to * PAGE, 10);
    assert_int_equal(bad, what == free_inside && reached);
    assert_int_equal(xmcUsableSize(g.heap, now), (size_t)to * PAGE);
    is_intact(g.heap, all - to - (g.taken ? (xmc_u32)(want / PAGE) : 0));
    xmcFree(g.heap, now);
    if (g.taken)
      xmcFree(g.heap, g.taken);
    assert_int_equal(counted(g.heap), bad);
  }
  is_intact(g.heap, all);
  core_heap_free(g.heap);
  return reached;
}

static void beside_another(void **state) {
  static const struct {
    void (*what)(void);
    xmc_u32 from, to, want;
  } cases[] = {
      {take_pages_behind, 10, 30, 1},   {take_pages_behind, 60, 140, 64}, {take_pages_behind, 60, 70, 300},
      {take_pages_behind, 140, 60, 80}, {free_the_block, 10, 30, 0},      {free_the_block, 140, 60, 0},
      {free_the_block, 60, 140, 0},     {free_inside, 60, 140, 0},        {free_inside, 140, 60, 0}};
  size_t i;
  int at;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (at = 0; beside(cases[i].what, cases[i].from, cases[i].to, at, (size_t)cases[i].want * PAGE); at++)
      ;
    assert_true(at > 5);
  }
}

/* ---- threads ---- */

typedef struct crowd {
  xmcHeap *heap;
  uint32_t rounds, most;
  uint32_t wrong, grown, shrunk, failures;
} crowd;

/* Each page of a block carries its owner's tag at both ends. */
static void mark(char *block, size_t bytes, uint32_t tag) {
  size_t at;
  for (at = 0; at < bytes; at += PAGE) {
    *(uint32_t *)(block + at) = tag;
    *(uint32_t *)(block + (at + PAGE < bytes ? at + PAGE : bytes) - 4) = tag;
  }
}

/* How many tags are wrong in the first `bytes` of a block of `all`: at the ends of pages that lie in them whole */
static uint32_t wrong_marks(const char *block, size_t bytes, size_t all, uint32_t tag) {
  uint32_t wrong = 0;
  size_t at;
  for (at = 0; at < bytes; at += PAGE) {
    wrong += *(const uint32_t *)(block + at) != tag;
    if (at + PAGE <= bytes || bytes == all)
      wrong += *(const uint32_t *)(block + (at + PAGE < bytes ? at + PAGE : bytes) - 4) != tag;
  }
  return wrong;
}

static size_t some_bytes(uint64_t *seed, uint32_t most) {
  uint64_t r = core_random(seed), n = core_random(seed);
  return r % 8 == 0 ? 64 + n % 120 * 64 : (1 + n % (r % 4 ? most / 8 : most)) * (size_t)PAGE;
}

static void member(int number, void *data) {
  enum { HELD = 6 };
  crowd *c = data;
  uint64_t seed = (uint64_t)number * 7919 + 3;
  char *block[HELD] = {NULL}, *now;
  size_t bytes[HELD] = {0};
  uint32_t round, wrong = 0, grown = 0, shrunk = 0, failures = 0, i, tag;
  for (round = 0; round < c->rounds + HELD; round++) {
    size_t want = some_bytes(&seed, c->most);
    i = round % HELD;
    tag = (uint32_t)number << 8 | (i + 1);
    if (round >= c->rounds || core_random(&seed) % 8 == 0) {
      wrong += block[i] ? wrong_marks(block[i], bytes[i], bytes[i], tag) : 0;
      xmcFree(c->heap, block[i]);
      block[i] = NULL;
      bytes[i] = 0;
      continue;
    }
    now = xmcRealloc(c->heap, block[i], want);
    if (!now) {
      failures++;
      continue;
    }
    wrong += wrong_marks(now, bytes[i] < want ? bytes[i] : want, bytes[i], tag);
    grown += now == block[i] && want > bytes[i] && bytes[i] >= PAGE;
    shrunk += now == block[i] && want < bytes[i] && want >= PAGE;
    block[i] = now;
    bytes[i] = want;
    mark(now, want, tag);
  }
  __atomic_add_fetch(&c->wrong, wrong, __ATOMIC_RELAXED);
  __atomic_add_fetch(&c->grown, grown, __ATOMIC_RELAXED);
  __atomic_add_fetch(&c->shrunk, shrunk, __ATOMIC_RELAXED);
  __atomic_add_fetch(&c->failures, failures, __ATOMIC_RELAXED);
}

/* Every page its owner's, whoever takes the pages behind meanwhile; and nothing is lost. */
static void by_threads(void **state) {
  static const struct {
    size_t bytes;
    uint32_t rounds, most;
  } cases[] = {{(size_t)32 << 20, 6000, 64}, {(size_t)64 << 20, 3000, 200}, {(size_t)8 << 20, 6000, 40}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    crowd c;
    xmc_u32 all;
    memset(&c, 0, sizeof c);
    c.heap = core_heap(cases[i].bytes, CORE_SLOTS_DEFAULT, 0, XMC_COALESCE_CLASS);
    all = c.heap->present;
    c.rounds = cases[i].rounds;
    c.most = cases[i].most;
    threads_run = 1;
    core_threads(THREADS, member, &c);
    threads_run = 0;
    assert_int_equal(c.wrong, 0);
    assert_int_equal(counted(c.heap), 0);
    assert_int_equal(c.failures, c.heap->failed_requests);
    assert_true(c.grown > c.rounds / 4 && c.shrunk > c.rounds / 4);
    assert_non_null(xmcMalloc(c.heap, (size_t)all * PAGE)); /* what Superblocks kept is taken back */
    is_intact(c.heap, 0);
    core_heap_free(c.heap);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_place),       cmocka_unit_test(old_tail),   cmocka_unit_test(to_a_class),
      cmocka_unit_test(beside_another), cmocka_unit_test(by_threads),
  };
  return run_named(tests, argc, argv);
}
