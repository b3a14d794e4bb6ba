/* SPDX-License-Identifier: MIT */
/* Random lifetimes over a table of blocks that outlives launches (kernels/churn.cl). */
#ifndef XMC_TEST_CHURN_H
#define XMC_TEST_CHURN_H
#include "harness.h"

enum { CHURN_ERRORS, CHURN_FAILURES, CHURN_MALLOCS, CHURN_FREES, CHURN_COUNTS };

typedef struct test_churn {
  test_env *env;
  xmc_heap heap;
  cl_kernel kernel;
  cl_mem table, counts;
  cl_uint items, slots, rounds, max_size, launches, seed;
} test_churn;

test_churn churn_new(test_env *env, xmc_heap heap, size_t items, cl_uint slots, cl_uint rounds,
                     cl_uint max_size, cl_uint seed);
/* Enqueues one launch of `rounds` random operations an item; each launch another item owns a place. */
void churn_enqueue(test_churn *c, cl_command_queue queue);
/* Enqueues a launch that checks and frees everything. */
void churn_enqueue_end(test_churn *c, cl_command_queue queue);
/* After the queues have finished: no wrong tag; returns the failures. */
cl_uint churn_result(test_churn *c, cl_uint counts[CHURN_COUNTS]);
#endif
