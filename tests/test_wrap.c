/* SPDX-License-Identifier: MIT */
/* 32-bit sequence numbers of FIFOs wrap: FIFOs started near the end of their range behave the same. */
#include "support/churn.h"
#include "../cl/layout/arena.h"

/* How far the heads of the heap's FIFOs went from `start`: the furthest, and whether any passed 2^32 */
static cl_uint furthest(test_env *env, xmc_heap heap, cl_uint start, int *wrapped) {
  xmcHeap header;
  xmc_fifo *fifos;
  cl_uint far = 0, c, count = 0;
  test_read_arena(env, heap, 0, sizeof header, &header);
  for (c = 0; c < XMC_ALL_CLASSES; c++)
    if (xmc_fifos_first(header.fifo_table[c]) + xmc_fifos_count(header.fifo_table[c]) > count)
      count = xmc_fifos_first(header.fifo_table[c]) + xmc_fifos_count(header.fifo_table[c]);
  assert_true(count > XMC_FIRST_FIFO(header.own));
  count -= XMC_FIRST_FIFO(header.own);
  fifos = test_alloc(env, count * sizeof *fifos);
  test_read_arena(env, heap, XMC_FIRST_FIFO(header.own) * sizeof *fifos, count * sizeof *fifos, fifos);
  *wrapped = 0;
  for (c = 0; c < count; c++) {
    cl_uint moved = fifos[c].head - start, number = (cl_uint)(fifos[c].tail >> 32);
    assert_true(moved < 1u << 30);
    assert_true(number - fifos[c].head + 1u <= XMC_FIFO_SIZE);
    far = moved > far ? moved : far;
    *wrapped |= fifos[c].head < start;
  }
  return far;
}

static void churn_over_the_end(test_env *env) {
  static const cl_uint starts[] = {0, 0xffffffffu, 0xfffffffeu, 0xfffffffcu, 0xfffffff0u, 0x7fffffffu};
  size_t items = test_scaled(env, 160, 2048, 16384), s;
  if (env->config.fifos == 0)
    skip();
  for (s = 0; s < sizeof starts / sizeof *starts; s++) {
    xmc_heap_properties extra[] = {XMC_HEAP_FIFO_START, (xmc_heap_properties)starts[s], XMC_HEAP_FIFOS, 1, 0};
    xmc_heap heap;
    test_churn c;
    cl_uint counts[CHURN_COUNTS], launch, far;
    int wrapped;
    extra[2] = env->config.fifos == FIFOS_DEFAULT ? XMC_HEAP_FIFOS : 0; /* few FIFOs move far */
    heap = test_heap_with(env, test_scaled(env, 4u << 20, 32u << 20, 256u << 20), extra);
    c = churn_new(env, heap, items, 8, (cl_uint)test_scaled(env, 24, 48, 64), 1000, 11);
    for (launch = 0; launch < 12; launch++)
      churn_enqueue(&c, env->queue);
    churn_enqueue_end(&c, env->queue);
    CL_OK(clFinish(env->queue));
    assert_int_equal(churn_result(&c, counts), 0);
    assert_int_equal(counts[CHURN_MALLOCS], counts[CHURN_FREES]);
    test_empty(env, heap);
    far = furthest(env, heap, starts[s], &wrapped);
    if (far <= 16)
      fail_msg("FIFOs moved by only %u messages: nothing was tested", far);
    assert_int_equal(wrapped, starts[s] > 0xfffff000u);
  }
}

/* The whole life of a heap, after reset too, does not depend on where the numbers start. */
static void same_from_everywhere(test_env *env) {
  static const cl_uint starts[] = {0, 0xfffffffdu};
  xmc_heap_stats stats[2];
  cl_uint counts[2][CHURN_COUNTS];
  size_t s;
  for (s = 0; s < 2; s++) {
    xmc_heap_properties extra[] = {XMC_HEAP_FIFO_START, 0, 0};
    xmc_heap heap;
    test_churn c;
    extra[1] = (xmc_heap_properties)starts[s];
    heap = test_heap_with(env, 8u << 20, extra);
    CL_OK(xmcResetHeap(heap, env->queue));
    /* one work-group, so that a CPU device's order is the same twice; contents are compared by count only */
    c = churn_new(env, heap, 64, 32, 256, 2000, 13);
    churn_enqueue(&c, env->queue);
    CL_OK(clFinish(env->queue));
    assert_int_equal(churn_result(&c, counts[s]), 0);
    stats[s] = test_intact(env, heap);
  }
  assert_memory_equal(counts[0], counts[1], sizeof counts[0]);
  if (env->config.coalescing == XMC_COALESCE_COMPARTMENT)
    return; /* who shares a block with whom differs from run to run */
  assert_int_equal(stats[0].live_blocks, stats[1].live_blocks);
  assert_memory_equal(stats[0].class_live_blocks, stats[1].class_live_blocks,
                      sizeof stats[0].class_live_blocks);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {
      TEST(churn_over_the_end, SPREAD_AXES),
      TEST(same_from_everywhere, SPREAD_AXES),
  };
  return test_main("wrap", cases, sizeof cases / sizeof *cases, argc, argv);
}
