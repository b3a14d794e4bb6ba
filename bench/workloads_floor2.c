/* SPDX-License-Identifier: MIT */
/* The second floor of pair, alloc, free and mixed: kernels/floor2.cl. */
#include "bench.h"

int bench_pair_floor2(bench *b, xmc_heap heap, cl_uint bytes, cl_uint lanes, size_t launched, double *ms) {
  enum { WORKERS = 16384, WORD_BYTES = 32 };
  int status = 0;
  bench_series series = {0};
  cl_uint stride = b->cpu && bytes < 64 ? 64 : bytes, blocks = 32, first = WORKERS * WORD_BYTES;
  cl_mem plain;
  cl_kernel kernel = bench_kernel(b, heap, "floor2.cl", "pair_floor2", 0);
  *ms = 0;
  if (kernel == NULL)
    return 1;
  while (2 * blocks <= WORKERS * 32u && 2 * (size_t)blocks * stride <= b->max_alloc / 4)
    blocks *= 2;
  plain = bench_plain(b, first + (size_t)blocks * stride);
  if (plain == NULL)
    goto cleanup;
  BENCH_TRY(bench_arguments(kernel, "muuuuum", plain, first, stride, lanes, (cl_uint)WORKERS, blocks - 1,
                            b->counters));
  BENCH_TRY(bench_repeat(b, &series, kernel, launched));
  *ms = bench_median(&series);
cleanup:
  clReleaseKernel(kernel);
  return status;
}

int bench_alloc_floor2(bench *b, xmc_heap heap, size_t count, cl_uint stride, double ms[2]) {
  int status = 0;
  bench_series allocs = {0}, frees = {0};
  cl_uint first = (cl_uint)(count + 31) & ~31u; /* 32 bytes for 32 neighbours */
  cl_mem plain = bench_plain(b, first + count * stride);
  cl_kernel alloc = bench_kernel(b, heap, "floor2.cl", "alloc_floor2", 0);
  cl_kernel release = bench_kernel(b, heap, "floor2.cl", "release_floor2", 0);
  ms[0] = ms[1] = 0;
  if (alloc == NULL || release == NULL) {
    status = 1;
    goto cleanup;
  }
  if (plain == NULL)
    goto cleanup;
  BENCH_TRY(bench_arguments(alloc, "mumu", plain, first, b->refs, stride));
  BENCH_TRY(bench_arguments(release, "mmm", plain, b->refs, b->counters));
  while (bench_more(b, &frees)) {
    double sample;
    BENCH_TRY(bench_launch(b, alloc, count, &sample));
    bench_sample(b, &allocs, sample);
    BENCH_TRY(bench_launch(b, release, count, &sample));
    bench_sample(b, &frees, sample);
  }
  ms[0] = bench_median(&allocs);
  ms[1] = bench_median(&frees);
cleanup:
  if (alloc)
    clReleaseKernel(alloc);
  if (release)
    clReleaseKernel(release);
  return status;
}
