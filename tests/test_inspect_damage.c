/* SPDX-License-Identifier: MIT */
/* Inspectors on a heap whose state words a kernel overwrote: of what they would tell, some cannot be, so they tell nothing.
 * (test_damage.c does the same to every bit of the tables, without a device.)
 */
#include "support/harness.h"
#include "inspect/inspect.h"

static int CL_CALLBACK count(const xmc_block *block, void *data) {
  (void)block;
  ++*(unsigned *)data;
  return 0;
}

/* A kernel overwrote state words: of what is told then, some cannot be, so nothing is. */
static void impossible_words(test_env *env) {
  static const xmc_u64 words[] = {(xmc_u64)16 << XMC_WORD_CLASS_SHIFT | (xmc_u64)32 << XMC_WORD_COUNT_SHIFT |
                                      XMC_WORD_SEATED,
                                  (xmc_u64)16 << XMC_WORD_CLASS_SHIFT | (xmc_u64)0xff << XMC_WORD_COUNT_SHIFT,
                                  (xmc_u64)16 << XMC_WORD_CLASS_SHIFT};
  xmc_heap heap = test_heap(env, 1 << 20);
  xmcHeap *meta;
  xmc_heap_stats stats;
  xmc_run run = {XMC_RUN_LOST, 0, 0, 0, 0, 0};
  size_t bytes = 0;
  FILE *f = tmpfile();
  unsigned blocks = 0, i;
  assert_non_null(f);
  CL_OK(xmcMapHeap(heap, env->queue));
  while (xmcHostMalloc(heap, 640, NULL)) /* class 16: up to 25 blocks a page */
    ;
  CL_OK(xmcUnmapHeap(heap, env->queue));
  CL_OK(xmc_walk_open(heap, NULL, &meta, NULL));
  env->blocks[env->block_count++] = meta;
  while (run.kind != XMC_RUN_SUPERBLOCK || run.cls != 16u)
    run = xmc_walk_run(meta, run.page + run.pages);
  CL_OK(xmcForEachBlock(heap, NULL, count, &blocks));
  assert_true(blocks > 100);
  for (i = 0; i < sizeof words / sizeof *words; i++) {
    test_write_arena(env, heap, (size_t)((char *)xmc_word_of(meta, run.id) - (char *)meta), sizeof *words,
                     words + i);
    blocks = 0;
    assert_int_equal(xmcForEachBlock(heap, NULL, count, &blocks), XMC_HEAP_CORRUPT);
    assert_int_equal(blocks, 0);
    assert_int_equal(xmcGetHeapStats(heap, NULL, &stats), XMC_HEAP_CORRUPT);
    assert_int_equal(xmcReportLeaks(heap, NULL, f), XMC_HEAP_CORRUPT);
    assert_int_equal(xmcWriteHeapStats(heap, NULL, f), XMC_HEAP_CORRUPT);
    assert_int_equal(xmcWriteHeapMap(heap, NULL, f), XMC_HEAP_CORRUPT);
    assert_int_equal(xmcGetHeapText(heap, NULL, XMC_TEXT_STATS_TABLE, 0, NULL, &bytes), XMC_HEAP_CORRUPT);
    assert_int_equal(ftell(f), 0);
    assert_int_equal(xmcCheckHeap(heap, NULL, NULL), XMC_HEAP_CORRUPT);
  }
  fclose(f);
}

/* What the host library writes by a queue of its own the next command of any other queue sees. */
static void writes_are_seen(test_env *env) {
  xmc_heap heap = test_heap(env, 1 << 20);
  size_t at = (1 << 20) - 4096;
  cl_ulong i, seen = 0;
  for (i = 1; i <= 200; i++) {
    CL_OK(xmc_arena_write(heap, NULL, at, sizeof i, &i));
    test_read_arena(env, heap, at, sizeof seen, &seen);
    assert_int_equal(seen, i);
  }
}

int main(int argc, char **argv) {
  static const test_case cases[] = {TEST(impossible_words, SPREAD_ONE), TEST(writes_are_seen, SPREAD_AXES)};
  return test_main("inspect_damage", cases, sizeof cases / sizeof *cases, argc, argv);
}
