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
#endif
