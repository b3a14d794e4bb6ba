/* SPDX-License-Identifier: MIT */
/* A bad free beside others who take the same memory anew: before each step of xmcFree(stale) in turn, another
 * work-item's requests fill the page that the stale pointer leads to with blocks of another size.
 *
 * Between the look at the page map and the release of the block there is a window. A bad free whose page is used anew
 * just then is counted at once, or releases one of the new owner's blocks, as the free of a pointer that was handed out
 * again does. What holds in every case: at most one block is lost to its owner, whose own free of it is counted then
 * instead; no block's contents change; xmcCheckHeap finds nothing but that a Superblock which has free blocks again is
 * in no FIFO; and when all is freed all of the heap can be had.
 */
static int armed = -1; /* steps until the others run; -1: they do not */
static void others(void);
#define CORE_OWN_STEPS
#define XMC_HOST_STEP() \
  do { \
    if (armed >= 0 && armed-- == 0) \
      others(); \
  } while (0)
#include "support/core.h"
#include "support/named.h"
#include "inspect/walk.h"

enum { MOST_BLOCKS = 8192, MOST_STEPS = 200 };

static struct {
  xmcHeap *heap;
  char *stale;
  size_t size; /* of the others' blocks */
  unsigned char *block[MOST_BLOCKS];
  unsigned count, meet; /* how many lie where the stale pointer leads */
} g;

static uint64_t page_of(const void *block) {
  return ((uint64_t)((const char *)block - (const char *)g.heap) - g.heap->data) >> XMC_PAGE_SHIFT;
}

/* The others' requests, until the stale pointer's page is full again */
static void others(void) {
  while (g.count < MOST_BLOCKS && g.meet < XMC_PAGE_BYTES / g.size) {
    unsigned char *p = xmcMalloc(g.heap, g.size);
    if (!p)
      return;
    memset(p, (int)g.count, g.size);
    g.meet += page_of(p) == page_of(g.stale);
    g.block[g.count++] = p;
  }
}

/* A pointer whose page went back to the heap: all of its blocks were freed. */
static void make_stale(size_t size) {
  static char *block[MOST_BLOCKS];
  unsigned count = (unsigned)(4 * XMC_PAGE_BYTES / size), i;
  g.stale = NULL;
  for (i = 0; i < count; i++)
    assert_non_null(block[i] = xmcMalloc(g.heap, size));
  for (i = 0; i < count; i++)
    xmcFree(g.heap, block[i]);
  for (i = 0; i + 5 < count && !g.stale; i++) {
    xmc_u64 free_pages = *xmc_span_word(g.heap, (xmc_u32)(page_of(block[i]) / 64));
    if (free_pages >> (page_of(block[i]) % 64) & 1u)
      g.stale = block[i + 5];
  }
  assert_non_null(g.stale);
}

static uint64_t counted(void) { return g.heap->double_frees + g.heap->invalid_frees; }

static void is_intact(uint64_t lost) {
  xmc_heap_report report = {0};
  if (xmc_check_meta(g.heap, &report) != CL_SUCCESS && !(lost && report.code == XMC_PROBLEM_NOT_LISTED))
    fail_msg("%s", report.message);
}

/* 1 if the stale pointer has become the first byte of a live block: then it is a good pointer. */
static int is_handed_out(void) {
  unsigned i;
  for (i = 0; i < g.count; i++)
    if ((char *)g.block[i] == g.stale)
      return 1;
  return 0;
}

static void check_others(void) {
  unsigned i;
  size_t j;
  for (i = 0; i < g.count; i++)
    for (j = 0; j < g.size; j++)
      if (g.block[i][j] != (unsigned char)i)
        fail_msg("byte %zu of block %u was overwritten", j, i);
}

/* Frees a block of `from` bytes a second time, with the others before step `at`. 0: the free has fewer steps. */
static int race(size_t from, size_t to, int at, unsigned *missed) {
  uint64_t before, bad, lost;
  xmc_heap_stats stats;
  unsigned i;
  int reached;
  memset(&g, 0, sizeof g);
  g.heap = core_heap(4u << 20, 1, 0xfffffffdu, XMC_COALESCE_CLASS);
  g.size = to;
  make_stale(from);
  before = counted();
  armed = at;
  xmcFree(g.heap, g.stale);
  reached = armed < 0;
  armed = -1;
  bad = counted() - before;
  if (reached && !is_handed_out()) {
    xmc_stats_meta(g.heap, &stats);
    lost = g.count - stats.live_blocks;
    assert_true(bad + lost == 1); /* counted, or one block is no longer its owner's */
    assert_true(at > 0 || bad == 1);
    *missed += (unsigned)lost;
    is_intact(lost);
    check_others();
    for (i = 0; i < g.count; i++)
      xmcFree(g.heap, g.block[i]);
    is_intact(lost);
    assert_int_equal(counted(), before + 1);
    assert_non_null(xmcMalloc(g.heap, (size_t)g.heap->pages << XMC_PAGE_SHIFT));
  } else if (!reached) {
    assert_int_equal(bad, 1); /* nobody beside: always counted */
  }
  core_heap_free(g.heap);
  return reached;
}

static void bad_free_beside_reuse(void **state) {
  static const size_t from[] = {16, 64, 16, 1024}, to[] = {32, 48, 48, 2048};
  unsigned pair, missed = 0;
  int at;
  (void)state;
  for (pair = 0; pair < sizeof from / sizeof *from; pair++) {
    for (at = 0; race(from[pair], to[pair], at, &missed); at++)
      assert_true(at < MOST_STEPS);
    print_message("%zu B, then %zu B: %d steps, %u bad frees in the window so far\n", from[pair], to[pair],
                  at, missed);
  }
}

/* A slab of 16-byte blocks in the first page of what was a run of several, and in every other case a slab of 32-byte blocks in between: some
 * of its state words were the run's, to which the run's other pages, that nobody has used since, must not lead any more. */
static void bad_free_in_an_old_run(void **state) {
  static const size_t sizes[] = {1024, 2048, 4096, 8192, 1024, 2048, 4096, 8192};
  static unsigned char *block[32];
  unsigned k, i, n;
  (void)state;
  for (k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    xmc_u32 first, page;
    xmc_u64 seen;
    void *between;
    memset(&g, 0, sizeof g);
    g.heap = core_heap(4u << 20, 1, 0, XMC_COALESCE_CLASS);
    xmc_say_scarce(g.heap); /* else what xmc_reclaim looked at once it does not find again */
    n = (unsigned)xmc_class_count(xmc_class_of((xmc_u32)sizes[k]));
    for (i = 0; i < n; i++)
      assert_non_null(block[i] = xmcMalloc(g.heap, sizes[k]));
    first = (xmc_u32)page_of(block[0]);
    for (i = 0; i < n; i++)
      xmcFree(g.heap, block[i]);
    assert_true(xmc_reclaim(g.heap, 0, XMC_MAX_PAGES));
    for (page = 0; page < g.heap->pages; page++)
      assert_int_equal(page == first || xmc_run_claim_at(g.heap, xmc_heap_map(g.heap), 1, page, &seen), 1);
    if (k >= 4) {
      assert_non_null(between = xmcMalloc(g.heap, 32));
      assert_int_equal(page_of(between), first);
      xmcFree(g.heap, between);
      assert_true(xmc_reclaim(g.heap, 0, XMC_MAX_PAGES));
    }
    for (g.size = 16; (g.block[g.count] = xmcMalloc(g.heap, 16)) != NULL; g.count++)
      memset(g.block[g.count], (int)g.count, 16);
    assert_int_equal(g.count, XMC_PAGE_BYTES / 16);
    for (i = 0, n = 0; i < 32; i++)
      if (block[i] && page_of(block[i]) != first) {
        xmcFree(g.heap, block[i]);
        assert_int_equal(counted(), ++n);
      }
    assert_true(n > 0);
    for (i = 0; i < g.count; i++)
      xmcFree(g.heap, g.block[i]);
    assert_int_equal(counted(), n);
    core_heap_free(g.heap);
    memset(block, 0, sizeof block);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bad_free_beside_reuse),
                                     cmocka_unit_test(bad_free_in_an_old_run)};
  return run_named(tests, argc, argv);
}
