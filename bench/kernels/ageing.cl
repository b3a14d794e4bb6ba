/* SPDX-License-Identifier: MIT */
/* Blocks with random lifetimes whose sizes drift from phase to phase. Each work-item keeps up to 8 KiB in up to 128 blocks, and each
 * of its operations frees one of them or asks for a new one.
 *
 * A block holds its tag, its bytes, and its tag again at its end. tally[id] gets the sum of the tags that a work-item wrote less
 * the sum of those that it found, modulo 2^64: over all work-items that is 0 if every block was freed once and held what was
 * written to it. state: the random number, the blocks and the bytes of each work-item. failures: NULLs, mismatches.
 */
#include "xmalloc.cl"

/* Bytes of a block as it says itself; 0 for one that does not hold what was written. */
static uint bytes_of(__global const uint *p) {
  uint bytes = p[1];
  return bytes < BENCH_AGEING_LOW || bytes > BENCH_AGEING_HIGH || p[0] != p[bytes / 4u - 1u] ? 0u : bytes;
}

static void consume(__global xmcHeap *heap, xmcRef ref, ulong *balance, uint *wrong) {
  __global uint *p = (__global uint *)xmcFromRef(heap, ref);
  if (p == 0)
    return;
  *wrong += bytes_of(p) == 0u;
  *balance -= p[0];
  xmcFree(heap, p);
}

/* One phase. With `others` a block that is to be freed goes to one of `mask` + 1 places, and the block that was there, most likely
 * another work-item's, is freed. */
__kernel void age(__global xmcHeap *heap, __global ulong *refs, __global uint *state, __global ulong *places,
                  uint mask, uint others, uint phase, __global ulong *tally, __global uint *failures) {
  uint id = (uint)get_global_id(0), items = (uint)get_global_size(0), round, nulls = 0, wrong = 0;
  uint seed = state[id], count = state[items + id], live = state[2u * items + id];
  ulong balance = 0;
  for (round = 0; round < BENCH_AGEING_ROUNDS; round++) {
    uint bytes;
    seed = bench_ageing_next(seed);
    bytes = bench_ageing_size(phase, seed);
    if (bench_ageing_frees(seed, count, live, bytes)) {
      __global ulong *at = refs + (size_t)((seed >> 4) % count) * items + id;
      xmcRef ref = *at;
      live -= min(live, bytes_of((__global uint *)xmcFromRef(heap, ref)));
      *at = refs[(size_t)--count * items + id];
      if (others)
        ref = xmcExchangeRef(places + (bench_hash(seed) & mask), ref);
      consume(heap, ref, &balance, &wrong);
    } else {
      __global uint *p = (__global uint *)xmcMalloc(heap, bytes);
      uint tag = bench_ageing_tag(id, items, phase, round);
      if (p == 0) {
        nulls++;
        continue;
      }
      p[0] = tag;
      p[1] = bytes;
      p[bytes / 4u - 1u] = tag;
      balance += tag;
      refs[(size_t)count++ * items + id] = xmcToRef(heap, p);
      live += bytes;
    }
  }
  state[id] = seed;
  state[items + id] = count;
  state[2u * items + id] = live;
  tally[id] += balance;
  bench_count(failures, nulls, wrong);
}

/* Frees all: each work-item its own blocks, and the first ones what the places hold. */
__kernel void age_end(__global xmcHeap *heap, __global const ulong *refs, __global const uint *state,
                      __global ulong *places, uint mask, __global ulong *tally, __global uint *failures) {
  uint id = (uint)get_global_id(0), items = (uint)get_global_size(0), count = state[items + id], wrong = 0;
  ulong balance = 0;
  while (count)
    consume(heap, refs[(size_t)--count * items + id], &balance, &wrong);
  if (id <= mask)
    consume(heap, places[id], &balance, &wrong);
  tally[id] += balance;
  bench_count(failures, 0, wrong);
}
