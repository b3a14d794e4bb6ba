/* SPDX-License-Identifier: MIT */
/* What kernels, CUDA kernels and host threads of the benchmark share, in the common subset of OpenCL C,
 * CUDA and C: so that every allocator is asked for the same sizes in the same order. */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H
#ifndef BENCH_FN
#define BENCH_FN static inline
#endif

#define BENCH_LOCAL_SIZE 256u
#define BENCH_SLOTS 8u /* churn: blocks that one work-item holds at most */
#define BENCH_CHURN_LOW 8u
#define BENCH_CHURN_HIGH 512u /* larson, too */
#define BENCH_LARSON_LOW 16u
#define BENCH_OVERLAP_WORDS 6u /* overlap: 24 bytes */
#define BENCH_SETTLE 0.2       /* seconds: rounds on several threads of the host do not count before */

/* Every bit of x moves every bit of the result (the finish of MurmurHash3). */
BENCH_FN unsigned int bench_hash(unsigned int x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ (x >> 16);
}

/* mixed: the size of work-item `id`, from low to high bytes, both included. */
BENCH_FN unsigned int bench_size(unsigned int id, unsigned int low, unsigned int high) {
  return low + bench_hash(id) % (high - low + 1u);
}

/* generate: the same in whole words, anew for each seed. */
BENCH_FN unsigned int bench_wanted(unsigned int id, unsigned int seed, unsigned int low, unsigned int high) {
  return bench_size(id + seed, low, high) & ~3u;
}

/* larson: the bytes of a block, whole words. */
BENCH_FN unsigned int bench_larson_size(unsigned int seed) {
  return (BENCH_LARSON_LOW + (seed >> 8) % (BENCH_CHURN_HIGH - BENCH_LARSON_LOW + 1u)) & ~3u;
}

/* churn, larson: the next random number of a work-item. */
BENCH_FN unsigned int bench_next(unsigned int seed) { return seed * 1664525u + 1013904223u; }

/* ---- ageing ---- */

#define BENCH_AGEING_PHASES 9u
#define BENCH_AGEING_ROUNDS 512u /* operations of a work-item in a phase */
#define BENCH_AGEING_LIVE 8192u  /* bytes that a work-item keeps at most */
#define BENCH_AGEING_BLOCKS 128u /* blocks that it keeps at most */
#define BENCH_AGEING_LOW 16u     /* the smallest and the largest block of all phases */
#define BENCH_AGEING_HIGH 4063u
#define BENCH_AGEING_SHARERS 16u /* frees by others: one place for so many work-items */

/* What a work-item's random numbers start from; never 0. */
BENCH_FN unsigned int bench_ageing_seed(unsigned int id) { return (id * 2654435761u + 12345u) | 1u; }

BENCH_FN unsigned int bench_ageing_next(unsigned int seed) {
  seed ^= seed << 13;
  seed ^= seed >> 17;
  return seed ^ (seed << 5);
}

/* Bytes of a block: half of them are among the smallest 64 sizes of their phase, and after four phases the sizes come again. */
BENCH_FN unsigned int bench_ageing_size(unsigned int phase, unsigned int seed) {
  unsigned int kind = phase % 4u;
  unsigned int low = kind == 0u ? BENCH_AGEING_LOW : kind == 1u ? 200u : kind == 2u ? 1500u : 64u;
  unsigned int spread = kind == 0u ? 300u : kind == 1u ? 1000u : kind == 2u ? 2500u : 4000u;
  return low + (seed >> 8) % (seed & 1u ? spread : 64u);
}

/* Does a work-item that has `count` blocks of `live` bytes free one before it may ask for `bytes`? */
BENCH_FN int bench_ageing_frees(unsigned int seed, unsigned int count, unsigned int live,
                                unsigned int bytes) {
  return count != 0u &&
         (live + bytes > BENCH_AGEING_LIVE || count >= BENCH_AGEING_BLOCKS || (seed & 6u) == 0u);
}

/* What a block begins and ends with: no other block of the run has it. */
BENCH_FN unsigned int bench_ageing_tag(unsigned int id, unsigned int items, unsigned int phase,
                                       unsigned int round) {
  return (phase * BENCH_AGEING_ROUNDS + round) * items + id + 1u;
}

#ifdef __OPENCL_C_VERSION__
/* Adds to a kernel's two counters; few work-items have something to add. */
BENCH_FN void bench_count(__global uint *counters, uint first, uint second) {
  if (first)
    atomic_add(&counters[0], first);
  if (second)
    atomic_add(&counters[1], second);
}
#endif
#endif
