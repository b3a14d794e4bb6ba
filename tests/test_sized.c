/* SPDX-License-Identifier: MIT */
/* Structs whose size the caller states: programs that know fewer or more members than the library. */
#include "support/harness.h"
#include "heap/internal.h"

#define GUARD 0xa5
enum { ROOM = 2048, MORE = 96 }; /* bytes around a struct; a member that only a later version knows */

/* A struct of `size` bytes in the middle of guards */
typedef struct guarded {
  unsigned char room[ROOM];
  size_t size;
} guarded;

static void *guard(guarded *g, size_t size) {
  assert_true(size + 128 <= ROOM);
  memset(g->room, GUARD, ROOM);
  g->size = size;
  return g->room + 64;
}

static void all_are(const unsigned char *bytes, size_t count, unsigned char value) {
  size_t i;
  for (i = 0; i < count; i++)
    assert_int_equal(bytes[i], value);
}

/* The first bytes are those of a struct of `known` bytes, zeros follow, and nothing beside was written. */
static void holds(const guarded *g, const void *expected, size_t known) {
  size_t both = g->size < known ? g->size : known;
  all_are(g->room, 64, GUARD);
  assert_memory_equal(g->room + 64, expected, both);
  all_are(g->room + 64 + both, g->size - both, 0);
  all_are(g->room + 64 + g->size, ROOM - 64 - g->size, GUARD);
}

/* A library that knows more than the program, as well */
static void copies(test_env *env) {
  unsigned char known[100];
  guarded g;
  size_t size;
  (void)env;
  memset(known, 7, sizeof known);
  for (size = 0; size <= 150; size++) {
    xmc_copy_sized(guard(&g, size), size, known, sizeof known);
    holds(&g, known, sizeof known);
  }
}

/* A heap with blocks, a failed request and a bad free */
static xmc_heap used_heap(test_env *env) {
  xmc_heap heap = test_heap(env, 1 << 20);
  void *block;
  CL_OK(xmcMapHeap(heap, env->queue));
  assert_non_null(xmcHostMalloc(heap, 100, NULL));
  assert_non_null(xmcHostMalloc(heap, 40000, NULL));
  assert_null(xmcHostMalloc(heap, 1 << 30, NULL));
  block = xmcHostMalloc(heap, 1000, NULL);
  CL_OK(xmcHostFree(heap, block));
  CL_OK(xmcHostFree(heap, block));
  CL_OK(xmcUnmapHeap(heap, env->queue));
  return heap;
}

static void stats(test_env *env) {
  xmc_heap heap = used_heap(env);
  xmc_heap_stats known;
  const size_t sizes[] = {XMC_LEAST_STATS_BYTES, sizeof known, sizeof known + 1, sizeof known + MORE};
  guarded g;
  size_t i;
  CL_OK(xmcGetHeapStats(heap, env->queue, &known));
  assert_int_equal(known.live_blocks, 2);
  assert_int_equal(known.failed_requests, 1);
  assert_int_equal(known.double_frees, 1);
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    CL_OK(xmcGetHeapStatsSized(heap, env->queue, sizes[i], guard(&g, sizes[i])));
    holds(&g, &known, sizeof known);
  }
  for (i = 0; i < XMC_LEAST_STATS_BYTES; i += i + 8 < XMC_LEAST_STATS_BYTES ? 8 : 1) {
    assert_int_equal(xmcGetHeapStatsSized(heap, env->queue, i, guard(&g, i)), CL_INVALID_VALUE);
    all_are(g.room, ROOM, GUARD);
  }
  assert_int_equal(xmcGetHeapStatsSized(heap, env->queue, sizeof known, NULL), CL_INVALID_VALUE);
}

static void report(test_env *env) {
  xmc_heap heap = used_heap(env);
  xmc_heap_report known;
  const size_t sizes[] = {XMC_LEAST_REPORT_BYTES, sizeof known, sizeof known + 1, sizeof known + MORE};
  cl_int expected = CL_SUCCESS;
  cl_uint nonsense = 0x12345678;
  guarded g;
  size_t i;
  for (;;) {
    assert_int_equal(xmcCheckHeap(heap, env->queue, &known), expected);
    assert_true((known.problems > 0) == (expected == XMC_HEAP_CORRUPT));
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      assert_int_equal(xmcCheckHeapSized(heap, env->queue, sizes[i], guard(&g, sizes[i])), expected);
      holds(&g, &known, sizeof known);
    }
    for (i = 0; i < XMC_LEAST_REPORT_BYTES; i++) {
      assert_int_equal(xmcCheckHeapSized(heap, env->queue, i, guard(&g, i)), CL_INVALID_VALUE);
      all_are(g.room, ROOM, GUARD);
    }
    assert_int_equal(xmcCheckHeapSized(heap, env->queue, 0, NULL), expected);
    if (expected == XMC_HEAP_CORRUPT)
      break;
    test_write_arena(env, heap, 0, sizeof nonsense, &nonsense); /* the magic number */
    expected = XMC_HEAP_CORRUPT;
  }
}

typedef struct seen {
  size_t size;
  unsigned count;
  xmc_block known[4];
} seen;

static int CL_CALLBACK remember(const xmc_block *block, void *data) {
  seen *s = data;
  assert_true(s->count < 4);
  s->known[s->count++] = *block;
  return 0;
}

/* AddressSanitizer sees what of `size` bytes is not there. */
static int CL_CALLBACK compare(const xmc_block *block, void *data) {
  seen *s = data;
  const unsigned char *bytes = (const unsigned char *)block;
  size_t both = s->size < sizeof *block ? s->size : sizeof *block;
  assert_true(s->count < 4);
  assert_memory_equal(bytes, &s->known[s->count++], both);
  all_are(bytes + both, s->size - both, 0);
  return 0;
}

static void blocks(test_env *env) {
  xmc_heap heap = used_heap(env);
  const size_t sizes[] = {XMC_LEAST_BLOCK_BYTES, sizeof(xmc_block), sizeof(xmc_block) + 1,
                          sizeof(xmc_block) + MORE};
  seen s = {0};
  size_t i;
  CL_OK(xmcForEachBlock(heap, env->queue, remember, &s));
  assert_int_equal(s.count, 2);
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    s.count = 0;
    s.size = sizes[i];
    CL_OK(xmcForEachBlockSized(heap, env->queue, s.size, compare, &s));
    assert_int_equal(s.count, 2);
  }
  s.count = 0;
  for (i = 0; i < XMC_LEAST_BLOCK_BYTES; i++)
    assert_int_equal(xmcForEachBlockSized(heap, env->queue, i, compare, &s), CL_INVALID_VALUE);
  assert_int_equal(s.count, 0);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {TEST(copies, SPREAD_ONE), TEST(stats, SPREAD_ONE),
                                    TEST(report, SPREAD_ONE), TEST(blocks, SPREAD_ONE)};
  return test_main("sized", cases, sizeof cases / sizeof *cases, argc, argv);
}
