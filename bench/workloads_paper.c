/* SPDX-License-Identifier: MIT */
/* modes, fifos, threads, cas: the papers' figures. */
#include "bench.h"
#include <stdlib.h>

static const char *const mode_names[] = {"none", "compartment", "class"};

/* Requests that are not coalesced or not buffered can take a hundred times as long. A small launch tells,
 * and the row gets fewer workers, so that all rounds fit its time; its `threads` says how many. */
static size_t bounded(bench *b, xmc_heap heap, cl_uint lanes) {
  size_t count = b->options.workers, small = count / 64;
  double ms = 0;
  cl_kernel pair = bench_kernel(b, heap, "pair.cl", "pair", 0);
  if (pair == NULL)
    return count;
  for (int i = 0; i < 2; i++) /* the first builds Superblocks */
    if (bench_arguments(pair, "huum", heap, 4u, lanes, b->counters) ||
        bench_launch(b, pair, small / lanes * BENCH_LANES, &ms))
      break;
  clReleaseKernel(pair);
  for (ms *= 64; ms * (b->options.repeat + 2) > 1e3 * b->options.seconds && count > small; ms /= 2)
    count /= 2;
  return count;
}

/* Pairs of 4 bytes with 1 to 32 active lanes on a heap of its own. */
static int lanes_series(bench *b, const char *workload, int mode, long fifos, const char *params) {
  int status = 0;
  xmc_heap heap = bench_heap_open(b, b->heap_bytes, mode, fifos);
  if (heap == NULL)
    return 1;
  for (cl_uint lanes = 1; lanes <= BENCH_LANES; lanes *= 2)
    BENCH_TRY(bench_pair(b, heap, workload, workload, bounded(b, heap, lanes), 4, lanes, params));
cleanup:
  return bench_heap_close(b, heap) || status;
}

/* 2011, figures 2 and 5: each way to coalesce, buffered and not. */
int bench_run_modes(bench *b) {
  char params[64];
  for (int buffered = 1; buffered >= 0; buffered--)
    for (int mode = XMC_COALESCE_NONE; mode <= XMC_COALESCE_CLASS; mode++) {
      snprintf(params, sizeof params, "mode=%s;fifos=%s;", mode_names[mode], buffered ? "default" : "0");
      if (lanes_series(b, "modes", mode, buffered ? XMC_FIFOS_DEFAULT : 0, params))
        return 1;
    }
  return 0;
}

/* 2011, figure 6: the number of FIFOs a size class. */
int bench_run_fifos(bench *b) {
  static const long counts[] = {0, 1, 2, 4, 16, 64, 256, 1024, XMC_FIFOS_DEFAULT};
  char params[64];
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    if (counts[i] == XMC_FIFOS_DEFAULT)
      snprintf(params, sizeof params, "fifos=default;");
    else
      snprintf(params, sizeof params, "fifos=%ld;", counts[i]);
    if (lanes_series(b, "fifos", -1, counts[i], params))
      return 1;
  }
  return 0;
}

static int threads_row(bench *b, xmc_heap heap, size_t threads, const char *params) {
  enum { BYTES = 8, TOTAL = 16384 };
  int status = 0;
  bench_series series = {0}, floors = {0};
  cl_uint rounds = threads >= TOTAL / 16 ? 16u : (cl_uint)(TOTAL / threads), counters[2], slots = 1;
  cl_mem plain;
  cl_kernel kernel = bench_kernel(b, heap, "pair.cl", "pair_loop", 0);
  cl_kernel floor = bench_kernel(b, heap, "pair.cl", "pair_loop_floor", 0);
  while (slots < threads)
    slots *= 2;
  plain = bench_plain(b, (size_t)slots * BYTES);
  if (kernel == NULL || floor == NULL || plain == NULL) {
    status = 1;
    goto cleanup;
  }
  BENCH_TRY(bench_arguments(kernel, "huum", heap, (cl_uint)BYTES, rounds, b->counters));
  BENCH_TRY(bench_arguments(floor, "muuu", plain, (cl_uint)BYTES, rounds, slots - 1));
  BENCH_TRY(bench_counters_clear(b));
  bench_begin("threads %s%zu", params, threads);
  BENCH_TRY(bench_repeat(b, &series, kernel, threads));
  BENCH_TRY(bench_counters_read(b, counters));
  BENCH_TRY(bench_repeat(b, &floors, floor, threads));
  bench_add(b, "xmc", "threads", "threads", threads, BYTES, bench_median(&series), counters[0],
            "%srounds=%u;reps=%d;cold=%.4f", params, rounds, series.rounds, series.cold)
      ->floor = bench_median(&floors);
cleanup:
  if (kernel)
    clReleaseKernel(kernel);
  if (floor)
    clReleaseKernel(floor);
  return status;
}

/* 2010, figures 3.1 and 3.2: pairs of 8 bytes by the number of work-items, with the FIFOs and without. */
int bench_run_threads(bench *b) {
  int status = 0;
  for (int buffered = 1; buffered >= 0 && !status; buffered--) {
    xmc_heap heap = bench_heap_open(b, b->heap_bytes, -1, buffered ? -2 : 0);
    if (heap == NULL)
      return 1;
    for (size_t threads = 1; threads <= 65536 && !status; threads *= 2)
      status = threads_row(b, heap, threads, buffered ? "fifos=default;" : "fifos=0;");
    status |= bench_heap_close(b, heap);
  }
  return status;
}

/* `taken` has a 1 for each number that a worker took: each number must be there once. */
static int cas_row(bench *b, cl_kernel kernel, const char *name, cl_mem word, cl_mem taken, size_t count,
                   cl_uint lanes) {
  int status = 0;
  bench_series series = {0};
  unsigned long failures = 0;
  cl_uint *numbers = malloc(count * sizeof *numbers);
  if (numbers == NULL)
    return 1;
  BENCH_TRY(bench_arguments(kernel, "mum", word, lanes, taken));
  bench_begin("cas %s, %u of %u lanes", name, lanes, BENCH_LANES);
  while (bench_more(b, &series)) {
    cl_ulong zero = 0, last;
    cl_uint none = 0;
    double sample;
    BENCH_CL(clEnqueueFillBuffer(b->queue, word, &zero, sizeof zero, 0, sizeof zero, 0, NULL, NULL));
    BENCH_CL(clEnqueueFillBuffer(b->queue, taken, &none, sizeof none, 0, count * sizeof none, 0, NULL, NULL));
    BENCH_TRY(bench_launch(b, kernel, count / lanes * BENCH_LANES, &sample));
    bench_sample(b, &series, sample);
    BENCH_CL(clEnqueueReadBuffer(b->queue, word, CL_TRUE, 0, sizeof last, &last, 0, NULL, NULL));
    BENCH_CL(clEnqueueReadBuffer(b->queue, taken, CL_TRUE, 0, count * sizeof none, numbers, 0, NULL, NULL));
    failures += last != count;
    for (size_t i = 0; i < count; i++)
      failures += numbers[i] != 1;
  }
  bench_add(b, name, "cas", "cas", count, 8, bench_median(&series), failures,
            "lanes=%u;launched=%zu;reps=%d;cold=%.4f", lanes, count / lanes * BENCH_LANES, series.rounds,
            series.cold);
cleanup:
  free(numbers);
  return status;
}

/* 2010, figure 2.3. Every lane's failed CAS is a turn through memory, so that the time of the plain loop
 * grows with the square of the workers: few of them are enough. */
int bench_run_cas(bench *b) {
  static const char *const names[] = {"cas_plain", "cas_scalable"};
  int status = 0;
  size_t count = b->options.workers / 64;
  cl_mem word = NULL, taken = NULL;
  cl_kernel kernels[2] = {NULL, NULL};
  cl_int error;
  xmc_heap heap = bench_heap(b);
  if (heap == NULL)
    return 1;
  word = clCreateBuffer(b->context, CL_MEM_READ_WRITE, sizeof(cl_ulong), NULL, &error);
  BENCH_CL(error);
  taken = clCreateBuffer(b->context, CL_MEM_READ_WRITE, count * sizeof(cl_uint), NULL, &error);
  BENCH_CL(error);
  for (int i = 0; i < 2; i++) { /* no scalable one where lanes do not run in lock step */
    if ((kernels[i] = bench_kernel(b, heap, "cas.cl", names[i], i == 1)) == NULL) {
      status = i == 0;
      goto cleanup;
    }
    for (cl_uint lanes = 1; lanes <= BENCH_LANES; lanes *= 2)
      BENCH_TRY(cas_row(b, kernels[i], names[i], word, taken, count, lanes));
  }
cleanup:
  for (int i = 0; i < 2; i++)
    if (kernels[i])
      clReleaseKernel(kernels[i]);
  if (word)
    clReleaseMemObject(word);
  if (taken)
    clReleaseMemObject(taken);
  return status;
}
