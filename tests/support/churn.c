/* SPDX-License-Identifier: MIT */
#include "churn.h"

#define SLOT_BYTES 16
#define LOCAL 64

test_churn churn_new(test_env *env, xmc_heap heap, size_t items, cl_uint slots, cl_uint rounds,
                     cl_uint max_size, cl_uint seed) {
  test_churn c;
  memset(&c, 0, sizeof c);
  c.env = env;
  c.heap = heap;
  c.items = (cl_uint)items;
  c.slots = slots;
  c.rounds = rounds;
  c.max_size = max_size;
  c.seed = seed;
  c.table = test_buffer(env, items * slots * SLOT_BYTES, NULL);
  c.counts = test_buffer(env, CHURN_COUNTS * sizeof(cl_uint), NULL);
  c.kernel = test_kernel(env, heap, "churn.cl", "churn", NULL);
  return c;
}

static void enqueue(test_churn *c, cl_command_queue queue, cl_uint rounds, cl_uint finish) {
  test_args(c->kernel, "hmuuuuuuum", c->heap, c->table, c->items, c->slots, rounds, c->max_size,
            c->seed + 7919u * c->launches, c->launches * 5u * LOCAL, finish, c->counts);
  c->launches++;
  test_enqueue(queue, c->kernel, c->items, LOCAL);
}

void churn_enqueue(test_churn *c, cl_command_queue queue) { enqueue(c, queue, c->rounds, 0); }
void churn_enqueue_end(test_churn *c, cl_command_queue queue) { enqueue(c, queue, c->slots, 1); }

cl_uint churn_result(test_churn *c, cl_uint counts[CHURN_COUNTS]) {
  test_read(c->env, c->counts, counts, CHURN_COUNTS * sizeof(cl_uint));
  if (counts[CHURN_ERRORS])
    fail_msg("%u words of blocks were not their owner's", counts[CHURN_ERRORS]);
  return counts[CHURN_FAILURES];
}
