/* SPDX-License-Identifier: MIT */
/* Much at once: random lifetimes, blocks that change hands, two queues, two heaps, reset, release. */
#include "support/blocks.h"
#include "support/churn.h"

static void churn_alone(test_env *env) {
  size_t items = test_scaled(env, 64, 4096, 65536), launch;
  xmc_heap heap = test_heap(env, test_scaled(env, 8u << 20, 64u << 20, 1024u << 20));
  test_churn c = churn_new(env, heap, items, 8, (cl_uint)test_scaled(env, 8, 24, 64), 3000, 1);
  cl_uint counts[CHURN_COUNTS];
  for (launch = 0; launch < 4; launch++) {
    churn_enqueue(&c, env->queue);
    CL_OK(clFinish(env->queue));
    assert_int_equal(churn_result(&c, counts), 0);
    test_live(env, test_intact(env, heap).live_blocks, counts[CHURN_MALLOCS] - counts[CHURN_FREES]);
  }
  churn_enqueue_end(&c, env->queue);
  CL_OK(clFinish(env->queue));
  churn_result(&c, counts);
  assert_int_equal(counts[CHURN_MALLOCS], counts[CHURN_FREES]);
  test_empty(env, heap);
}

/* The heap is too small for what lives: requests fail and others go on. */
static void churn_starved(test_env *env) {
  size_t items = test_scaled(env, 256, 2048, 16384), launch;
  xmc_heap heap = test_heap(env, test_scaled(env, 1u << 20, 4u << 20, 32u << 20));
  test_churn c = churn_new(env, heap, items, 16, (cl_uint)test_scaled(env, 24, 48, 64), 6000, 2);
  cl_uint counts[CHURN_COUNTS], failures = 0;
  for (launch = 0; launch < 3; launch++) {
    churn_enqueue(&c, env->queue);
    CL_OK(clFinish(env->queue));
    failures = churn_result(&c, counts);
    test_live(env, test_intact(env, heap).live_blocks, counts[CHURN_MALLOCS] - counts[CHURN_FREES]);
  }
  assert_true(failures > 0);
  assert_int_equal(test_intact(env, heap).failed_requests, failures);
  churn_enqueue_end(&c, env->queue);
  CL_OK(clFinish(env->queue));
  churn_result(&c, counts);
  test_empty(env, heap);
}

static void exchange(test_env *env) {
  size_t items = test_scaled(env, 256, 4096, 131072), places = items / 2, launch;
  xmc_heap heap = test_heap(env, test_scaled(env, 4u << 20, 16u << 20, 256u << 20));
  cl_kernel kernel = test_kernel(env, heap, "exchange.cl", "exchange", NULL);
  cl_kernel end = test_kernel(env, heap, "exchange.cl", "exchange_end", NULL);
  cl_mem table = test_buffer(env, places * sizeof(cl_ulong), NULL);
  cl_mem count_buffer = test_buffer(env, 2 * sizeof(cl_uint), NULL);
  cl_uint counts[2];
  for (launch = 0; launch < 3; launch++)
    test_launch(env, kernel, items, 64, "hmuuum", heap, table, (cl_uint)places,
                (cl_uint)test_scaled(env, 8, 32, 64), (cl_uint)launch * 77u, count_buffer);
  test_intact(env, heap);
  test_launch(env, end, places, 64, "hmum", heap, table, (cl_uint)places, count_buffer);
  test_read(env, count_buffer, counts, sizeof counts);
  assert_int_equal(counts[0], 0);
  assert_int_equal(counts[1], 0);
  test_empty(env, heap);
}

static void two_queues(test_env *env) {
  size_t items = test_scaled(env, 64, 4096, 32768), launch;
  xmc_heap heap = test_heap(env, test_scaled(env, 8u << 20, 64u << 20, 1024u << 20));
  cl_command_queue other = test_queue(env);
  test_churn a = churn_new(env, heap, items, 8, (cl_uint)test_scaled(env, 8, 24, 64), 2000, 3);
  test_churn b = churn_new(env, heap, items, 8, (cl_uint)test_scaled(env, 8, 24, 64), 500, 4);
  cl_uint counts[CHURN_COUNTS];
  for (launch = 0; launch < 4; launch++) {
    churn_enqueue(&a, env->queue);
    churn_enqueue(&b, other);
    CL_OK(clFlush(env->queue));
    CL_OK(clFlush(other));
  }
  CL_OK(clFinish(env->queue));
  CL_OK(clFinish(other));
  test_intact(env, heap);
  churn_enqueue_end(&a, env->queue);
  churn_enqueue_end(&b, other);
  CL_OK(clFinish(env->queue));
  CL_OK(clFinish(other));
  assert_int_equal(churn_result(&a, counts), 0);
  assert_int_equal(counts[CHURN_MALLOCS], counts[CHURN_FREES]);
  assert_int_equal(churn_result(&b, counts), 0);
  assert_int_equal(counts[CHURN_MALLOCS], counts[CHURN_FREES]);
  test_empty(env, heap);
}

static void two_heaps(test_env *env) {
  size_t count = test_scaled(env, 512, 4096, 65536), i, in_a = 0, round;
  xmc_heap heaps[2];
  test_blocks a, b;
  cl_kernel kernel, end;
  heaps[0] = test_heap(env, test_scaled(env, 4u << 20, 16u << 20, 256u << 20));
  heaps[1] = test_heap(env, test_scaled(env, 2u << 20, 24u << 20, 128u << 20));
  a = blocks_new(env, heaps[0], count, 64);
  b = blocks_new(env, heaps[1], count, 64);
  kernel = test_kernel(env, heaps[0], "exchange.cl", "two_heaps_malloc", ANY_GEOMETRY);
  end = test_kernel(env, heaps[0], "exchange.cl", "two_heaps_free", ANY_GEOMETRY);
  for (round = 0; round < 3; round++) {
    test_launch(env, kernel, count, 64, "hhmmuu", heaps[0], heaps[1], a.records, b.records, (cl_uint)count,
                (cl_uint)(round * count));
    blocks_fetch(&a, count);
    blocks_fetch(&b, count);
    for (i = 0, in_a = 0; i < count; i++) {
      assert_int_equal((a.host[i].ref != 0) + (b.host[i].ref != 0), 1);
      in_a += a.host[i].ref != 0;
    }
    blocks_check(&a);
    blocks_check(&b);
    test_live(env, test_intact(env, heaps[0]).live_blocks, in_a);
    test_live(env, test_intact(env, heaps[1]).live_blocks, count - in_a);
    test_launch(env, end, count, 64, "hhmmu", heaps[0], heaps[1], a.records, b.records, (cl_uint)count);
    test_empty(env, heaps[0]);
    test_empty(env, heaps[1]);
  }
}

/* Forgets blocks and counts, whatever state the heap is in, and serves as new. */
static void reset(test_env *env) {
  size_t count = test_scaled(env, 256, 2048, 16384), i, round, filled = 0;
  xmc_heap heap = test_heap(env, test_scaled(env, 2u << 20, 8u << 20, 64u << 20));
  test_blocks b = blocks_new(env, heap, count, 64);
  cl_ulong *sizes = test_alloc(env, count * sizeof *sizes);
  for (round = 0; round < 6; round++) {
    size_t failures;
    xmc_heap_stats stats;
    for (i = 0; i < count; i++)
      sizes[i] = round % 2 ? 9000 : 200;
    failures = blocks_malloc(&b, sizes, count);
    blocks_check(&b);
    stats = test_intact(env, heap);
    assert_int_equal(stats.failed_requests, failures);
    test_live(env, stats.live_blocks, count - failures);
    if (round % 2 == 1 && round > 1)
      assert_int_equal(filled, failures); /* as much fits as the last time */
    if (round % 2 == 1) {
      filled = failures;
      assert_true(failures > 0);
    }
    if (round == 2)
      blocks_free(&b, 1, 3); /* a third stays */
    CL_OK(xmcResetHeap(heap, round % 3 ? env->queue : NULL));
    test_empty(env, heap);
    stats = test_intact(env, heap);
    assert_int_equal(stats.failed_requests, 0);
    assert_int_equal(stats.first_failure_size, 0);
    assert_int_equal(stats.superblocks, 0);
  }
}

static void release_with_work_queued(test_env *env) {
  size_t items = test_scaled(env, 256, 4096, 16384), launch;
  xmc_heap heap = test_heap(env, test_scaled(env, 4u << 20, 64u << 20, 256u << 20));
  test_churn c = churn_new(env, heap, items, 8, 32, 500, 5);
  cl_bool deferred = CL_FALSE;
  cl_uint counts[CHURN_COUNTS];
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_DEFERRED_RELEASE, sizeof deferred, &deferred, NULL));
  for (launch = 0; launch < 4; launch++)
    churn_enqueue(&c, env->queue);
  churn_enqueue_end(&c, env->queue);
  CL_OK(clFlush(env->queue));
  if (!deferred)
    CL_OK(clFinish(env->queue));
  test_heap_forget(env, heap);
  CL_OK(xmcReleaseHeap(heap));
  CL_OK(clFinish(env->queue));
  assert_int_equal(churn_result(&c, counts), 0);
  assert_true(counts[CHURN_MALLOCS] > items);
  assert_int_equal(counts[CHURN_MALLOCS], counts[CHURN_FREES]);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {
      TEST(churn_alone, SPREAD_MATRIX),
      TEST(churn_starved, SPREAD_MATRIX),
      TEST(exchange, SPREAD_MATRIX),
      TEST(two_queues, SPREAD_AXES),
      TEST(two_heaps, SPREAD_AXES),
      TEST(reset, SPREAD_AXES),
      TEST(release_with_work_queued, SPREAD_AXES),
  };
  return test_main("concurrent", cases, sizeof cases / sizeof *cases, argc, argv);
}
