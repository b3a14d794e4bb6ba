/* SPDX-License-Identifier: MIT */
/* Each work-item holds up to 8 blocks. A round picks a slot: a full one is checked and freed, an empty one
 * gets 8 to 512 bytes with a tag. At the end all are freed. failures: NULLs, mismatches.
 */
#include "xmalloc.cl"

#define CHURN_TAG(id, slot, round) ((id)*BENCH_SLOTS + (slot) + (round)*0x10001u)
#define CHURN_SIZE(seed) (BENCH_CHURN_LOW + ((seed) >> 8) % (BENCH_CHURN_HIGH - BENCH_CHURN_LOW + 1u))

__kernel void churn(__global xmcHeap *heap, uint rounds, __global uint *failures) {
  uint id = (uint)get_global_id(0), seed = bench_hash(id), round, s, nulls = 0, wrong = 0;
  __global uint *slot[BENCH_SLOTS];
  uint tag[BENCH_SLOTS];
  for (s = 0; s < BENCH_SLOTS; s++)
    slot[s] = 0;
  for (round = 0; round < rounds; round++) {
    seed = bench_next(seed);
    s = seed >> 29;
    if (slot[s] != 0) {
      wrong += *slot[s] != tag[s];
      xmcFree(heap, slot[s]);
      slot[s] = 0;
    } else {
      slot[s] = (__global uint *)xmcMalloc(heap, CHURN_SIZE(seed));
      tag[s] = CHURN_TAG(id, s, round);
      if (slot[s] == 0)
        nulls++;
      else
        *slot[s] = tag[s];
    }
  }
  for (s = 0; s < BENCH_SLOTS; s++) {
    if (slot[s] != 0)
      wrong += *slot[s] != tag[s];
    xmcFree(heap, slot[s]);
  }
  if (nulls)
    atomic_add(&failures[0], nulls);
  if (wrong)
    atomic_add(&failures[1], wrong);
}

__kernel void churn_floor(__global char *base, uint rounds, __global uint *failures) {
  uint id = (uint)get_global_id(0), seed = bench_hash(id), round, s, wrong = 0;
  __global uint *slot[BENCH_SLOTS];
  uint tag[BENCH_SLOTS];
  for (s = 0; s < BENCH_SLOTS; s++)
    slot[s] = 0;
  for (round = 0; round < rounds; round++) {
    seed = bench_next(seed);
    s = seed >> 29;
    if (slot[s] != 0) {
      wrong += *slot[s] != tag[s];
      slot[s] = 0;
    } else {
      slot[s] = (__global uint *)(base + ((size_t)id * BENCH_SLOTS + s) * BENCH_CHURN_HIGH +
                                  CHURN_SIZE(seed) % 4u * 4u);
      tag[s] = CHURN_TAG(id, s, round);
      *slot[s] = tag[s];
    }
  }
  for (s = 0; s < BENCH_SLOTS; s++)
    if (slot[s] != 0)
      wrong += *slot[s] != tag[s];
  if (wrong)
    atomic_add(&failures[1], wrong);
}
