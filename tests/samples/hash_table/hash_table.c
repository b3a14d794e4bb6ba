/* SPDX-License-Identifier: MIT */
/* A hash table that 20,000 work-items fill, read and empty at the same time. Each result is compared with what the host
 * predicts, and so is what the table holds in the end. */
#include "sample.h"
#include "hash_table.cl.h"

typedef struct node {
  xmcRef next;
  cl_uint key, value, dead;
} node;

enum { ITEMS = 20000, ROUNDS = 16, SHARED = 1000, BUCKETS = 1 << 14, KEYS = SHARED + 4 * ITEMS };

static cl_uint hash(cl_uint x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

/* Does what the kernel does, one work-item after the other. values[key] is 0 where the table lacks the key. */
static void predict(cl_uint *results, cl_uint *values) {
  cl_uint i, round;
  for (i = 0; i < ITEMS; i++)
    for (round = 0; round < ROUNDS; round++) {
      cl_uint random = hash(i * ROUNDS + round + 1), *value = &values[SHARED + 4 * i + (random >> 8) % 4],
              outcome;
      if (random % 4 < 2) {
        outcome = *value ? 2 : 1;
        *value = *value ? *value : random;
      } else if (random % 4 == 2) {
        outcome = *value ? 1 : 2;
        *value = 0;
      } else {
        outcome = *value;
      }
      results[i] = 31 * results[i] + outcome;
    }
}

/* Compares the table, as the host sees it, with the prediction. A shared key may have any value. Returns the number of
 * differences; *keys is how many keys the table has. */
static cl_uint compare(sample *s, const xmcRef *buckets, const cl_uint *values, cl_uint *keys) {
  cl_uint i, wrong = 0, expected = SHARED;
  CHECK(xmcMapHeap(s->heap, s->queue));
  for (i = 0, *keys = 0; i < BUCKETS; i++) {
    const node *n = xmcHostFromRef(s->heap, buckets[i]);
    for (; n; n = xmcHostFromRef(s->heap, n->next)) {
      ++*keys;
      wrong += n->dead || n->key >= KEYS || (n->key >= SHARED && values[n->key] != n->value);
    }
  }
  CHECK(xmcUnmapHeap(s->heap, s->queue));
  for (i = SHARED; i < KEYS; i++)
    expected += values[i] != 0;
  return wrong + (*keys != expected);
}

static int run(sample *s) {
  xmcRef *buckets = calloc(BUCKETS, sizeof *buckets);
  cl_uint *values = calloc(KEYS, sizeof *values), *expected = calloc(ITEMS, sizeof *expected),
          *found = calloc(ITEMS, sizeof *found), wins, keys, i, wrong = 0;
  cl_mem table = sample_buffer(s, BUCKETS * sizeof *buckets, NULL);
  cl_mem results = sample_buffer(s, ITEMS * sizeof *found, NULL),
         win_count = sample_buffer(s, sizeof wins, NULL);

  sample_launch(s, "work", ITEMS, "muuuumm", table, (cl_uint)BUCKETS - 1, (cl_uint)ITEMS, (cl_uint)ROUNDS,
                (cl_uint)SHARED, results, win_count);
  sample_launch(s, "sweep", BUCKETS, "muu", table, (cl_uint)BUCKETS, 0u);
  sample_read(s, results, found, ITEMS * sizeof *found);
  sample_read(s, win_count, &wins, sizeof wins);
  sample_read(s, table, buckets, BUCKETS * sizeof *buckets);

  predict(expected, values);
  for (i = 0; i < ITEMS; i++)
    wrong += found[i] != expected[i];
  wrong += wins != SHARED;
  wrong += compare(s, buckets, values, &keys);
  wrong += (cl_uint)sample_heap_differs(s, keys);
  sample_launch(s, "sweep", BUCKETS, "muu", table, (cl_uint)BUCKETS, 1u);
  wrong += (cl_uint)sample_heap_differs(s, 0);
  printf("%u operations, %u keys left, %u wrong\n", (cl_uint)(ITEMS * (ROUNDS + 1)), keys, wrong);

  clReleaseMemObject(table);
  clReleaseMemObject(results);
  clReleaseMemObject(win_count);
  free(buckets);
  free(values);
  free(expected);
  free(found);
  return wrong != 0;
}

int main(int argc, char **argv) {
  static const sample_description hash_table = {
      "sample_hash_table\n"
      "Work-items insert, look up and delete keys in one hash table.",
      hash_table_cl, 64, run};
  return sample_main(argc, argv, &hash_table);
}
