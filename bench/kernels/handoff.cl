/* SPDX-License-Identifier: MIT */
/* Blocks that another work-item frees than the one that allocated them, within one launch. They are handed over in
 * `slots` by xmcExchangeRef, at places drawn at random, so nobody waits for anybody.
 *
 * A block begins and ends with a tag that no other block of the launch has. tally[2 * id] gets the sum of the tags that a
 * work-item wrote less the sum of those that it found, modulo 2^64; over all work-items, and the blocks left in the slots, that
 * is 0 if every block was freed once and held what was written to it. tally[2 * id + 1]: blocks that a consumer took.
 * failures: NULLs, mismatches.
 */
#include "xmalloc.cl"
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

static uint place_of(uint seed, uint mask) { return bench_hash(seed) & mask; }

/* Word 0: the tag; 1: the number of words; the last one: the tag. */
static void put_tag(__global uint *p, uint words, uint tag) {
  p[0] = tag;
  p[1] = words;
  p[words - 1u] = tag;
}

/* Allocates a block and puts it at a place. Returns what was there. */
static xmcRef produce(__global xmcHeap *heap, __global ulong *slots, uint mask, uint seed, uint tag,
                      ulong *balance, uint *nulls) {
  uint words = bench_larson_size(seed) / 4u;
  __global uint *p = (__global uint *)xmcMalloc(heap, words * 4u);
  if (p == 0) {
    *nulls += 1u;
    return 0;
  }
  put_tag(p, words, tag);
  *balance += tag;
  return xmcExchangeRef(slots + place_of(seed, mask), xmcToRef(heap, p));
}

/* Frees a block that somebody made. */
static void consume(__global xmcHeap *heap, xmcRef ref, ulong *balance, uint *wrong) {
  __global uint *p = (__global uint *)xmcFromRef(heap, ref);
  uint words;
  if (p == 0)
    return;
  words = p[1];
  *wrong += words < BENCH_LARSON_LOW / 4u || words > BENCH_CHURN_HIGH / 4u || p[0] != p[words - 1u];
  *balance -= p[0];
  xmcFree(heap, p);
}

/* Each round: a new block goes to a place, the block that was there is freed. */
__kernel void larson(__global xmcHeap *heap, __global ulong *slots, uint mask, uint rounds,
                     __global ulong *tally, __global uint *failures) {
  uint id = (uint)get_global_id(0), seed = bench_hash(id), round, nulls = 0, wrong = 0;
  ulong balance = 0;
  for (round = 0; round < rounds; round++) {
    seed = bench_next(seed);
    consume(heap, produce(heap, slots, mask, seed, id * rounds + round + 1u, &balance, &nulls), &balance,
            &wrong);
  }
  tally[2u * id] += balance;
  bench_count(failures, nulls, wrong);
}

/* Even work-groups are producers, who free what they find at the place of a new block. The others are consumers, who empty a
 * place a round. */
__kernel void producer(__global xmcHeap *heap, __global ulong *slots, uint mask, uint rounds,
                       __global ulong *tally, __global uint *failures) {
  uint id = (uint)get_global_id(0), seed = bench_hash(id), round, nulls = 0, wrong = 0, taken = 0;
  uint consumer = (uint)get_group_id(0) & 1u;
  ulong balance = 0;
  for (round = 0; round < rounds; round++) {
    xmcRef ref;
    seed = bench_next(seed);
    if (consumer) {
      ref = xmcExchangeRef(slots + place_of(seed, mask), 0);
      taken += ref != 0;
    } else {
      ref = produce(heap, slots, mask, seed, id * rounds + round + 1u, &balance, &nulls);
    }
    consume(heap, ref, &balance, &wrong);
  }
  tally[2u * id] += balance;
  tally[2u * id + 1u] += taken;
  bench_count(failures, nulls, wrong);
}

/* Frees what is left, one place a work-item. */
__kernel void drain(__global xmcHeap *heap, __global ulong *slots, __global ulong *tally,
                    __global uint *failures) {
  uint id = (uint)get_global_id(0), wrong = 0;
  ulong balance = 0;
  consume(heap, slots[id], &balance, &wrong);
  slots[id] = 0;
  tally[2u * id] += balance;
  bench_count(failures, 0, wrong);
}

/* larson without an allocator: each work-item has a buffer, which it exchanges for the one at a place. */
__kernel void larson_floor(__global uchar *base, __global ulong *slots, uint mask, uint rounds,
                           __global ulong *tally) {
  uint id = (uint)get_global_id(0), seed = bench_hash(id), round;
  ulong own = (ulong)id * BENCH_CHURN_HIGH, balance = 0;
  for (round = 0; round < rounds; round++) {
    __global uint *p;
    seed = bench_next(seed);
    put_tag((__global uint *)(base + own), bench_larson_size(seed) / 4u, id * rounds + round + 1u);
    own = atom_xchg(slots + place_of(seed, mask), own);
    p = (__global uint *)(base + own);
    balance += p[0] + p[1];
  }
  tally[2u * id] = balance;
}

/* Buffers for the places, behind those of `count` work-items; the launch before has left them anywhere. */
__kernel void larson_floor_fill(__global uchar *base, __global ulong *slots, uint count) {
  uint id = (uint)get_global_id(0);
  ulong at = (ulong)(count + id) * BENCH_CHURN_HIGH;
  put_tag((__global uint *)(base + at), BENCH_LARSON_LOW / 4u, 0);
  slots[id] = at;
}
