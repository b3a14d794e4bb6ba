/* SPDX-License-Identifier: MIT */
/* pair, alloc, free, mixed, scaling, large, filled: rows of two shapes, pairs in one kernel and allocation
 * and freeing in one kernel each. */
#include "bench.h"

/* As many blocks as work-items run at the same time, since pairs need no more. On a CPU the work-items of a
 * group run one after the other, each with the block of the one before, in a cache line of its own. */
static int pair_floor(bench *b, xmc_heap heap, cl_uint bytes, cl_uint lanes, size_t launched, double *ms) {
  int status = 0;
  bench_series series = {0};
  cl_uint stride = b->cpu && bytes < 64 ? 64 : bytes, shift = b->cpu ? 8 : 0, slots = 1;
  size_t running = (size_t)b->units * (b->cpu ? 8u : 2048u);
  cl_mem plain;
  cl_kernel kernel = bench_kernel(b, heap, "pair.cl", "pair_floor", 0);
  *ms = 0;
  if (kernel == NULL)
    return 1;
  while (2 * slots <= running && 2 * (size_t)slots * stride <= b->max_alloc / 4)
    slots *= 2;
  plain = bench_plain(b, (size_t)slots * stride);
  if (plain == NULL)
    goto cleanup;
  BENCH_TRY(bench_arguments(kernel, "muuuu", plain, stride, lanes, shift, slots - 1));
  BENCH_TRY(bench_repeat(b, &series, kernel, launched));
  *ms = bench_median(&series);
cleanup:
  clReleaseKernel(kernel);
  return status;
}

int bench_pair(bench *b, xmc_heap heap, const char *workload, const char *as, size_t count, cl_uint bytes,
               cl_uint lanes, const char *params) {
  int status = 0;
  bench_series series = {0};
  cl_uint counters[2];
  size_t launched = count / lanes * BENCH_LANES;
  double floor, floor2;
  bench_row *row;
  cl_kernel pair = bench_kernel(b, heap, "pair.cl", "pair", 0);
  cl_kernel check = bench_kernel(b, heap, "pair.cl", "pair_check", 0);
  if (pair == NULL || check == NULL) {
    status = 1;
    goto cleanup;
  }
  BENCH_TRY(bench_arguments(pair, "huum", heap, bytes, lanes, b->counters));
  BENCH_TRY(bench_arguments(check, "huum", heap, bytes, lanes, b->counters));
  BENCH_TRY(bench_counters_clear(b));
  bench_begin("%s %s%u bytes, %u of %u lanes", workload, params, bytes, lanes, BENCH_LANES);
  BENCH_TRY(bench_repeat(b, &series, pair, launched));
  BENCH_TRY(bench_launch(b, check, launched, NULL));
  BENCH_TRY(bench_counters_read(b, counters));
  BENCH_TRY(pair_floor(b, heap, bytes, lanes, launched, &floor));
  BENCH_TRY(bench_pair_floor2(b, heap, bytes, lanes, launched, &floor2));
  row = bench_add(b, "xmc", workload, as, count, bytes, bench_median(&series), counters[0] + counters[1],
                  "%slanes=%u;launched=%zu;reps=%d;cold=%.4f", params, lanes, launched, series.rounds,
                  series.cold);
  row->floor = floor;
  row->floor2 = floor2;
cleanup:
  if (pair)
    clReleaseKernel(pair);
  if (check)
    clReleaseKernel(check);
  return status;
}

static int alloc_floor(bench *b, xmc_heap heap, size_t count, cl_uint low, cl_uint high, double *alloc_ms,
                       double *free_ms) {
  int status = 0, mixed = low != high;
  bench_series allocs = {0}, frees = {0};
  cl_uint stride = mixed ? ((low + high) / 2 + 3) & ~3u : high;
  cl_mem plain = bench_plain(b, count * stride);
  cl_kernel alloc = bench_kernel(b, heap, "alloc.cl", mixed ? "alloc_mixed_floor" : "alloc_floor", 0);
  cl_kernel release = bench_kernel(b, heap, "alloc.cl", "release_floor", 0);
  *alloc_ms = *free_ms = 0;
  if (alloc == NULL || release == NULL) {
    status = 1;
    goto cleanup;
  }
  if (plain == NULL)
    goto cleanup;
  if (mixed)
    BENCH_TRY(bench_arguments(alloc, "mmuuu", plain, b->refs, stride, low, high));
  else
    BENCH_TRY(bench_arguments(alloc, "mmu", plain, b->refs, stride));
  BENCH_TRY(bench_arguments(release, "mm", b->refs, b->counters));
  while (bench_more(b, &frees)) {
    double sample;
    BENCH_TRY(bench_launch(b, alloc, count, &sample));
    bench_sample(b, &allocs, sample);
    BENCH_TRY(bench_launch(b, release, count, &sample));
    bench_sample(b, &frees, sample);
  }
  *alloc_ms = bench_median(&allocs);
  *free_ms = bench_median(&frees);
cleanup:
  if (alloc)
    clReleaseKernel(alloc);
  if (release)
    clReleaseKernel(release);
  return status;
}

static void add_alloc_rows(bench *b, const char *workload, const char *as, size_t count, cl_uint low,
                           cl_uint high, const bench_series series[2], const double floors[2],
                           const double floors2[2], const cl_uint counters[2]) {
  static const char *const halves[] = {"alloc", "free"};
  char name[24], like[24], range[32] = "";
  bench_row *row;
  if (low != high)
    snprintf(range, sizeof range, "range=%u-%u;", low, high);
  for (int i = 0; i < 2; i++) {
    snprintf(name, sizeof name, "%s%s", workload, halves[i]);
    snprintf(like, sizeof like, "%s%s", as, halves[i]);
    row = bench_add(b, "xmc", name, like, count, high, bench_median(&series[i]), counters[0] + counters[1],
                    "%sreps=%d;cold=%.4f;bad=%u", range, series[i].rounds, series[i].cold, counters[1]);
    row->floor = floors[i];
    row->floor2 = floors2[i];
  }
}

/* The ids are read again between allocating and freeing, every round. counters: NULLs, mismatches. */
int bench_alloc(bench *b, xmc_heap heap, const char *workload, const char *as, size_t count, cl_uint low,
                cl_uint high) {
  int status = 0, mixed = low != high;
  bench_series series[2] = {0};
  cl_uint counters[2];
  double sample, floors[2], floors2[2];
  cl_mem refs = bench_refs(b, count);
  cl_kernel alloc = bench_kernel(b, heap, "alloc.cl", mixed ? "alloc_mixed" : "alloc", 0);
  cl_kernel check = bench_kernel(b, heap, "alloc.cl", "check", 0);
  cl_kernel release = bench_kernel(b, heap, "alloc.cl", "release", 0);
  if (refs == NULL || alloc == NULL || check == NULL || release == NULL) {
    status = 1;
    goto cleanup;
  }
  if (mixed)
    BENCH_TRY(bench_arguments(alloc, "hmuuuum", heap, refs, 0u, low, high, 0u, b->counters));
  else
    BENCH_TRY(bench_arguments(alloc, "hmuum", heap, refs, 0u, high, b->counters));
  BENCH_TRY(bench_arguments(check, "hmm", heap, refs, b->counters));
  BENCH_TRY(bench_arguments(release, "hm", heap, refs));
  BENCH_TRY(bench_counters_clear(b));
  bench_begin("%s %u to %u bytes, %zu work-items", workload, low, high, count);
  while (bench_more(b, &series[1])) {
    BENCH_TRY(bench_launch(b, alloc, count, &sample));
    bench_sample(b, &series[0], sample);
    BENCH_TRY(bench_launch(b, check, count, NULL));
    BENCH_TRY(bench_launch(b, release, count, &sample));
    bench_sample(b, &series[1], sample);
  }
  BENCH_TRY(bench_counters_read(b, counters));
  BENCH_TRY(alloc_floor(b, heap, count, low, high, &floors[0], &floors[1]));
  BENCH_TRY(bench_alloc_floor2(b, heap, count, mixed ? ((low + high) / 2 + 3) & ~3u : high, floors2));
  add_alloc_rows(b, workload, as, count, low, high, series, floors, floors2, counters);
cleanup:
  if (alloc)
    clReleaseKernel(alloc);
  if (check)
    clReleaseKernel(check);
  if (release)
    clReleaseKernel(release);
  return status;
}

/* `count` halved until the blocks take at most three quarters of the heap. */
size_t bench_fitting(const bench *b, size_t count, size_t bytes, size_t heap_bytes) {
  (void)b;
  while (count > 1 && count * bytes > heap_bytes / 4 * 3)
    count /= 2;
  return count;
}

int bench_run_pair(bench *b) {
  static const cl_uint sizes[] = {8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
  xmc_heap heap = bench_heap(b);
  if (heap == NULL)
    return 1;
  for (cl_uint lanes = BENCH_LANES; lanes >= 1; lanes /= 2)
    if (bench_pair(b, heap, "W1", "W1", b->options.workers, 4, lanes, ""))
      return 1;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (bench_pair(b, heap, "W1", "W1", b->options.workers, sizes[i], BENCH_LANES, ""))
      return 1;
  return 0;
}

xmc_heap bench_heap_fresh(bench *b) {
  xmc_heap heap = bench_heap(b);
  int status = 0;
  if (heap != NULL)
    BENCH_CL(xmcResetHeap(heap, b->queue));
cleanup:
  return status ? NULL : heap;
}

/* Each size on an empty heap, then once more on the heap that all sizes before have used. */
int bench_run_alloc(bench *b) {
  for (int used = 0; used < 2; used++)
    for (cl_uint size = 4; size <= 65536; size *= size == 4 ? 4 : 2) {
      size_t count = b->options.workers / (size >= 65536 ? 16 : size >= 8192 ? 8 : 1);
      xmc_heap heap = used ? bench_heap(b) : bench_heap_fresh(b);
      if (heap == NULL || bench_alloc(b, heap, used ? "W2used" : "W2", "W2",
                                      bench_fitting(b, count, size, b->heap_bytes), size, size))
        return 1;
    }
  return 0;
}

/* Each range on an empty heap, then once more on the heap that all ranges before have used. */
int bench_run_mixed(bench *b) {
  for (int used = 0; used < 2; used++)
    for (cl_uint high = 64; high <= 4096; high *= 4) {
      size_t count = bench_fitting(b, b->options.workers, high / 2, b->heap_bytes);
      xmc_heap heap = used ? bench_heap(b) : bench_heap_fresh(b);
      if (heap == NULL || bench_alloc(b, heap, used ? "W3used" : "W3", "W3", count, 4, high))
        return 1;
    }
  return 0;
}

int bench_run_scaling(bench *b) {
  static const cl_uint sizes[] = {16, 512};
  for (int i = 0; i < 2; i++)
    for (size_t count = 1024; count <= b->options.workers; count *= 4) {
      xmc_heap heap;
      if (count * sizes[i] > b->heap_bytes / 4 * 3)
        continue;
      heap = bench_heap_fresh(b);
      if (heap == NULL || bench_alloc(b, heap, "W4", "W2", count, sizes[i], sizes[i]))
        return 1;
    }
  return 0;
}

int bench_run_large(bench *b) {
  for (cl_uint size = 65536; size <= 16u << 20; size *= 16) {
    size_t count = bench_fitting(b, b->options.workers / 16, size, b->heap_bytes);
    xmc_heap heap = bench_heap_fresh(b);
    if (heap == NULL || bench_alloc(b, heap, "large", "W2", count, size, size))
      return 1;
  }
  return 0;
}

/* Fills a quarter of the heap with 1 KiB blocks. */
static int filled_fill(bench *b, xmc_heap heap, cl_kernel alloc, cl_mem refs, size_t blocks,
                       cl_uint *failed) {
  int status = 0;
  cl_uint counters[2];
  BENCH_TRY(bench_counters_clear(b));
  BENCH_TRY(bench_arguments(alloc, "hmuum", heap, refs, 0u, 1024u, b->counters));
  BENCH_TRY(bench_launch(b, alloc, blocks, NULL));
  BENCH_TRY(bench_counters_read(b, counters));
  *failed = counters[0];
cleanup:
  return status;
}

/* 2011, section 5: pairs on a heap a quarter of which 1 KiB blocks take, beside the same on an empty one. Fresh: nothing else
 * was there before; used: the rows before, on the same heap. */
int bench_run_filled(bench *b) {
  static const cl_uint sizes[] = {4, 64, 1024};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  int status = 0;
  size_t bytes = b->options.heap ? b->options.heap : (size_t)512 << 20;
  size_t blocks = bytes / 4 / 1024 / BENCH_LOCAL_SIZE * BENCH_LOCAL_SIZE;
  cl_kernel alloc = NULL, release = NULL;
  cl_uint failed = 0;
  char params[96];
  xmc_heap heap = bench_heap_open(b, bytes, -1, -2);
  cl_mem refs = bench_refs(b, blocks);
  if (heap == NULL || refs == NULL || blocks == 0 ||
      (alloc = bench_kernel(b, heap, "alloc.cl", "alloc", 0)) == NULL ||
      (release = bench_kernel(b, heap, "alloc.cl", "release", 0)) == NULL) {
    status = 1;
    goto cleanup;
  }
  for (int row = 0; row < 4 * SIZES; row++) {
    int used = row >= 2 * SIZES, full = row / SIZES % 2, first = row % SIZES == 0;
    if (!used || (first && !full))
      BENCH_CL(xmcResetHeap(heap, b->queue));
    if (full && (!used || first))
      BENCH_TRY(filled_fill(b, heap, alloc, refs, blocks, &failed));
    snprintf(params, sizeof params, "heap=%zu;state=%s;blocks=%zu;", bytes, used ? "used" : "fresh",
             full ? blocks - failed : 0);
    BENCH_TRY(
        bench_pair(b, heap, "filled", "filled", b->options.workers, sizes[row % SIZES], BENCH_LANES, params));
  }
  BENCH_TRY(bench_arguments(release, "hm", heap, refs));
  BENCH_TRY(bench_launch(b, release, blocks, NULL));
cleanup:
  if (alloc)
    clReleaseKernel(alloc);
  if (release)
    clReleaseKernel(release);
  return bench_heap_close(b, heap) || status;
}
