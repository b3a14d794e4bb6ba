/* SPDX-License-Identifier: MIT */
/* calls: how long single calls take while all work-items call: the median, the 99th of 100, the worst. */
#include "bench.h"
#include <stdlib.h>

typedef struct calls {
  bench *b;
  xmc_heap heap;
  size_t count;
  double tick; /* milliseconds */
  cl_kernel malloc_kernel, free_kernel, nothing, check;
  cl_mem lengths;
  cl_uint *sorted;
} calls;

/* Of two runs, a short and a long one, so that what a launch costs besides falls out. */
static int find_tick(calls *c) {
  enum { ROUNDS = 2000000, LONGER = 4 };
  int status = 0;
  bench *b = c->b;
  cl_ulong ticks[2];
  double ms[2];
  cl_kernel kernel = bench_kernel(b, c->heap, "calls.cl", "clock_length", 0);
  if (kernel == NULL)
    return 1;
  for (int i = -1; i < 2; i++) { /* the first one may be compiled */
    int k = i < 0 ? 0 : i;
    cl_ulong both[2];
    BENCH_TRY(bench_arguments(kernel, "mu", c->lengths, (cl_uint)(k ? LONGER * ROUNDS : ROUNDS)));
    BENCH_TRY(bench_launch(b, kernel, 1, &ms[k]));
    BENCH_CL(clEnqueueReadBuffer(b->queue, c->lengths, CL_TRUE, 0, sizeof both, both, 0, NULL, NULL));
    ticks[k] = both[0];
  }
  if (!(ms[1] > ms[0]) || ticks[1] <= ticks[0]) {
    fprintf(stderr, "\nxmc-bench: calls: the device's clock does not move\n");
    status = 1;
    goto cleanup;
  }
  c->tick = (ms[1] - ms[0]) / (double)(ticks[1] - ticks[0]);
cleanup:
  clReleaseKernel(kernel);
  return status;
}

static int by_number(const void *x, const void *y) {
  cl_uint a = *(const cl_uint *)x, b = *(const cl_uint *)y;
  return (a > b) - (a < b);
}

enum { AT = 3 };
static const char *const at_names[AT] = {"median", "p99", "worst"};

/* The three figures of what the last launch wrote, one more sample of each. */
static int take_samples(calls *c, bench_series *series) {
  int status = 0;
  size_t at[AT] = {c->count / 2, c->count - 1 - c->count / 100, c->count - 1};
  BENCH_CL(clEnqueueReadBuffer(c->b->queue, c->lengths, CL_TRUE, 0, c->count * sizeof *c->sorted, c->sorted,
                               0, NULL, NULL));
  qsort(c->sorted, c->count, sizeof *c->sorted, by_number);
  for (int i = 0; i < AT; i++)
    bench_sample(c->b, &series[i], c->tick * c->sorted[at[i]]);
cleanup:
  return status;
}

/* Each round on a heap as the one before left it, the first one on an empty one. The floor: two readings of the clock. */
static int calls_rows(calls *c, cl_uint low, cl_uint high) {
  static const char *const halves[] = {"callmalloc", "callfree"};
  int status = 0;
  bench *b = c->b;
  bench_series series[3][AT] = {0};
  cl_uint counters[2];
  char range[32] = "";
  c->count = bench_fitting(b, b->options.workers, (low + high) / 2 + 16, b->heap_bytes);
  if (bench_heap_fresh(b) == NULL)
    return 1;
  BENCH_TRY(
      bench_arguments(c->malloc_kernel, "hmuumm", c->heap, b->refs, low, high, c->lengths, b->counters));
  BENCH_TRY(bench_arguments(c->check, "hmm", c->heap, b->refs, b->counters));
  BENCH_TRY(bench_arguments(c->free_kernel, "hmm", c->heap, b->refs, c->lengths));
  BENCH_TRY(bench_arguments(c->nothing, "m", c->lengths));
  BENCH_TRY(bench_counters_clear(b));
  bench_begin("calls %u to %u bytes, %zu work-items", low, high, c->count);
  while (bench_more(b, &series[2][AT - 1])) {
    BENCH_TRY(bench_launch(b, c->malloc_kernel, c->count, NULL) || take_samples(c, series[0]));
    BENCH_TRY(bench_launch(b, c->check, c->count, NULL));
    BENCH_TRY(bench_launch(b, c->free_kernel, c->count, NULL) || take_samples(c, series[1]));
    BENCH_TRY(bench_launch(b, c->nothing, c->count, NULL) || take_samples(c, series[2]));
  }
  BENCH_TRY(bench_counters_read(b, counters));
  if (low != high)
    snprintf(range, sizeof range, "range=%u-%u;", low, high);
  for (int half = 0; half < 2; half++)
    for (int i = 0; i < AT; i++)
      bench_add(b, "xmc", halves[half], at_names[i], c->count, high, bench_median(&series[half][i]),
                counters[0] + counters[1], "%sat=%s;tick_ns=%.4f;reps=%d;cold=%.6f", range, at_names[i],
                1e6 * c->tick, series[half][i].rounds, series[half][i].cold)
          ->floor = bench_median(&series[2][i]);
cleanup:
  return status;
}

static void calls_close(calls *c) {
  cl_kernel kernels[] = {c->malloc_kernel, c->free_kernel, c->nothing, c->check};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (kernels[i])
      clReleaseKernel(kernels[i]);
  if (c->lengths)
    clReleaseMemObject(c->lengths);
  free(c->sorted);
}

int bench_run_calls(bench *b) {
  static const cl_uint lows[] = {16, 256, 4096, 4, 4}, highs[] = {16, 256, 4096, 64, 4096};
  int status = 0;
  cl_int error;
  calls c = {.b = b, .heap = bench_heap(b), .sorted = malloc(b->options.workers * sizeof *c.sorted)};
  BENCH_TRY(c.heap == NULL || c.sorted == NULL || bench_refs(b, b->options.workers) == NULL);
  c.malloc_kernel = bench_kernel(b, c.heap, "calls.cl", "calls_malloc", 1);
  if (c.malloc_kernel == NULL) {
    fprintf(stderr, "\nxmc-bench: calls: left out, for kernels cannot read a clock on this device\n");
    goto cleanup;
  }
  c.free_kernel = bench_kernel(b, c.heap, "calls.cl", "calls_free", 0);
  c.nothing = bench_kernel(b, c.heap, "calls.cl", "calls_nothing", 0);
  c.check = bench_kernel(b, c.heap, "alloc.cl", "check", 0);
  BENCH_TRY(!c.free_kernel || !c.nothing || !c.check);
  c.lengths =
      clCreateBuffer(b->context, CL_MEM_READ_WRITE, b->options.workers * sizeof(cl_uint), NULL, &error);
  BENCH_CL(error);
  BENCH_TRY(find_tick(&c));
  for (size_t i = 0; i < sizeof lows / sizeof *lows; i++)
    BENCH_TRY(calls_rows(&c, lows[i], highs[i]));
cleanup:
  calls_close(&c);
  return status;
}
