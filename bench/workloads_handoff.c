/* SPDX-License-Identifier: MIT */
/* larson, producer, warp: who allocates and who frees. */
#include "bench.h"
#include <stdlib.h>

enum { ROUNDS = 64 };

typedef struct handoff {
  bench *b;
  xmc_heap heap;
  size_t count; /* work-items, and places at which blocks are handed over */
  cl_kernel work, drain;
  cl_mem slots, tally;
} handoff;

static int clear(bench *b, cl_mem memory, size_t bytes) {
  const cl_uint zero = 0;
  int status = 0;
  BENCH_CL(clEnqueueFillBuffer(b->queue, memory, &zero, sizeof zero, 0, bytes, 0, NULL, NULL));
cleanup:
  return status;
}

static int handoff_open(handoff *h, bench *b, const char *kernel) {
  int status = 0;
  cl_int error;
  size_t count = 4096;
  while (2 * count <= b->options.workers / 16)
    count *= 2;
  *h = (handoff){.b = b, .heap = bench_heap(b), .count = count};
  if (h->heap == NULL)
    return 1;
  h->work = bench_kernel(b, h->heap, "handoff.cl", kernel, 0);
  h->drain = bench_kernel(b, h->heap, "handoff.cl", "drain", 0);
  if (!h->work || !h->drain)
    return 1;
  h->slots = clCreateBuffer(b->context, CL_MEM_READ_WRITE, count * sizeof(cl_ulong), NULL, &error);
  BENCH_CL(error);
  h->tally = clCreateBuffer(b->context, CL_MEM_READ_WRITE, 2 * count * sizeof(cl_ulong), NULL, &error);
  BENCH_CL(error);
  BENCH_TRY(clear(b, h->slots, count * sizeof(cl_ulong)));
  BENCH_TRY(clear(b, h->tally, 2 * count * sizeof(cl_ulong)));
  BENCH_TRY(bench_arguments(h->work, "hmuumm", h->heap, h->slots, (cl_uint)count - 1, (cl_uint)ROUNDS,
                            h->tally, b->counters));
  BENCH_TRY(bench_arguments(h->drain, "hmmm", h->heap, h->slots, h->tally, b->counters));
  BENCH_TRY(bench_counters_clear(b));
cleanup:
  return status;
}

static void handoff_close(handoff *h) {
  if (h->work)
    clReleaseKernel(h->work);
  if (h->drain)
    clReleaseKernel(h->drain);
  if (h->slots)
    clReleaseMemObject(h->slots);
  if (h->tally)
    clReleaseMemObject(h->tally);
}

/* Frees the rest. *wrong: NULLs, mismatches, and 1 if the tags found are not those written; *taken: blocks that consumers took. */
static int handoff_end(handoff *h, unsigned long *wrong, unsigned long long *taken) {
  int status = 0;
  cl_uint counters[2];
  cl_ulong balance = 0, *tally = malloc(2 * h->count * sizeof *tally);
  if (tally == NULL)
    return 1;
  BENCH_TRY(bench_launch(h->b, h->drain, h->count, NULL));
  BENCH_TRY(bench_counters_read(h->b, counters));
  BENCH_CL(clEnqueueReadBuffer(h->b->queue, h->tally, CL_TRUE, 0, 2 * h->count * sizeof *tally, tally, 0,
                               NULL, NULL));
  *taken = 0;
  for (size_t i = 0; i < h->count; i++) {
    balance += tally[2 * i];
    *taken += tally[2 * i + 1];
  }
  *wrong = (unsigned long)counters[0] + counters[1] + (balance != 0);
cleanup:
  free(tally);
  return status;
}

static int larson_floor(handoff *h, double *ms) {
  int status = 0;
  bench *b = h->b;
  bench_series series = {0};
  cl_kernel floor = bench_kernel(b, h->heap, "handoff.cl", "larson_floor", 0);
  cl_kernel fill = bench_kernel(b, h->heap, "handoff.cl", "larson_floor_fill", 0);
  cl_mem plain = bench_plain(b, 2 * h->count * BENCH_CHURN_HIGH);
  *ms = 0;
  if (floor == NULL || fill == NULL) {
    status = 1;
    goto cleanup;
  }
  if (plain == NULL)
    goto cleanup;
  BENCH_TRY(
      bench_arguments(floor, "mmuum", plain, h->slots, (cl_uint)h->count - 1, (cl_uint)ROUNDS, h->tally));
  BENCH_TRY(bench_arguments(fill, "mmu", plain, h->slots, (cl_uint)h->count));
  while (bench_more(b, &series)) {
    double sample;
    BENCH_TRY(bench_launch(b, fill, h->count, NULL));
    BENCH_TRY(bench_launch(b, floor, h->count, &sample));
    bench_sample(b, &series, sample);
  }
  *ms = bench_median(&series);
cleanup:
  if (floor)
    clReleaseKernel(floor);
  if (fill)
    clReleaseKernel(fill);
  return status;
}

static int handoff_row(bench *b, const char *name, int with_floor) {
  int status = 0;
  bench_series series = {0};
  unsigned long wrong;
  unsigned long long taken;
  double sample, floor = 0;
  handoff h;
  BENCH_TRY(handoff_open(&h, b, name));
  bench_begin("%s, %zu work-items", name, h.count);
  while (bench_more(b, &series)) {
    BENCH_TRY(bench_launch(b, h.work, h.count, &sample));
    bench_sample(b, &series, sample);
  }
  BENCH_TRY(handoff_end(&h, &wrong, &taken));
  if (with_floor)
    BENCH_TRY(larson_floor(&h, &floor));
  bench_add(b, "xmc", name, name, h.count, BENCH_CHURN_HIGH, bench_median(&series), wrong,
            "rounds=%d;taken=%llu;reps=%d;cold=%.4f", ROUNDS, taken, series.rounds, series.cold)
      ->floor = floor;
cleanup:
  handoff_close(&h);
  return status;
}

int bench_run_larson(bench *b) { return handoff_row(b, "larson", 1); }
int bench_run_producer(bench *b) { return handoff_row(b, "producer", 0); }

/* ---- warp ---- */

static int warp_rows(bench *b, xmc_heap heap, size_t count, cl_uint size) {
  int status = 0;
  bench_series series[2] = {0};
  cl_uint counters[2];
  cl_mem refs = bench_refs(b, count);
  cl_kernel alloc = bench_kernel(b, heap, "warp.cl", "warp_alloc", 0);
  cl_kernel release = bench_kernel(b, heap, "warp.cl", "warp_release", 0);
  cl_kernel check = bench_kernel(b, heap, "alloc.cl", "check", 0);
  if (!refs || !alloc || !release || !check) {
    status = 1;
    goto cleanup;
  }
  BENCH_TRY(bench_arguments(alloc, "hmum", heap, refs, size, b->counters));
  BENCH_TRY(bench_arguments(release, "hm", heap, refs));
  BENCH_TRY(bench_arguments(check, "hmm", heap, refs, b->counters));
  BENCH_TRY(bench_counters_clear(b));
  bench_begin("warp %u bytes, %zu of %zu work-items", size, count, count * BENCH_LANES);
  while (bench_more(b, &series[1])) {
    double sample;
    BENCH_TRY(bench_launch(b, alloc, count * BENCH_LANES, &sample));
    bench_sample(b, &series[0], sample);
    BENCH_TRY(bench_launch(b, check, count, NULL));
    BENCH_TRY(bench_launch(b, release, count * BENCH_LANES, &sample));
    bench_sample(b, &series[1], sample);
  }
  BENCH_TRY(bench_counters_read(b, counters));
  for (int i = 0; i < 2; i++)
    bench_add(b, "xmc", i ? "warpfree" : "warpalloc", i ? "warpfree" : "warpalloc", count, size,
              bench_median(&series[i]), counters[0] + counters[1], "lanes=1;launched=%zu;reps=%d;cold=%.4f",
              count * BENCH_LANES, series[i].rounds, series[i].cold);
cleanup:
  if (alloc)
    clReleaseKernel(alloc);
  if (release)
    clReleaseKernel(release);
  if (check)
    clReleaseKernel(check);
  return status;
}

/* The heap is used by one row after the other, and never reset between rounds. */
int bench_run_warp(bench *b) {
  static const cl_uint sizes[] = {16, 64, 256, 1024, 4096};
  static const size_t counts[] = {10000, 100000, 1000000};
  xmc_heap heap = bench_heap(b);
  if (heap == NULL)
    return 1;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (warp_rows(b, heap, bench_fitting(b, b->options.workers / 8, sizes[i], b->heap_bytes), sizes[i]))
      return 1;
  for (size_t c = 0; c < sizeof counts / sizeof *counts && (c == 0 || counts[c] <= b->options.workers); c++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      size_t count = counts[c] < b->options.workers ? counts[c] : b->options.workers;
      if (bench_alloc(b, heap, "survey", "W2", bench_fitting(b, count, sizes[i], b->heap_bytes), sizes[i],
                      sizes[i]))
        return 1;
    }
  return 0;
}
