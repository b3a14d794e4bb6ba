/* SPDX-License-Identifier: MIT */
/* oom, churn, overlap: how much of the heap is handed out, and what happens while it fills and empties. */
#include "bench.h"
#include <stdlib.h>

/* One row: the heap fresh, or used: filled and emptied with sizes from 16 to 4,096 bytes and then with one
 * other power of two. The requests that fail at the end are what is measured, not failures of the row. */
static int oom_row(bench *b, xmc_heap heap, size_t bytes, cl_uint size, int used) {
  int status = 0;
  bench_fill o = {0};
  cl_uint failed = 0, wrong = 0, other = size >= 16384 ? size / 64 : size * 4;
  double free_ms, share;
  size_t handed;
  BENCH_TRY(bench_fill_open(&o, b, heap, NULL, bytes / 16));
  BENCH_CL(xmcResetHeap(heap, b->queue));
  bench_begin("oom %u bytes, %s heap", size, used ? "used" : "fresh");
  if (used) {
    BENCH_TRY(bench_fill_run(&o, 16, 4096, &failed, &wrong));
    BENCH_TRY(bench_fill_empty(&o, NULL));
    BENCH_TRY(bench_fill_run(&o, other, other, &failed, &wrong));
    BENCH_TRY(bench_fill_empty(&o, NULL));
  }
  failed = 0;
  BENCH_TRY(bench_fill_run(&o, size, size, &failed, &wrong));
  handed = o.handed - failed;
  BENCH_TRY(bench_fill_empty(&o, &free_ms));
  share = (double)handed * size / (double)bytes;
  bench_add(b, "xmc", "W5util", used ? "W5used" : "W5util", o.items, size, share, wrong,
            "heap=%zu;state=%s;kernels=%zu;stop=half_failed;refused=%u;free_s=%.4f;s=%.4f", bytes,
            used ? "used" : "fresh", o.kernels, failed, free_ms / 1e3, o.ms / 1e3);
cleanup:
  bench_fill_close(&o);
  return status;
}

int bench_run_oom(bench *b) {
  size_t bytes = b->options.heap ? b->options.heap : (size_t)1 << 30;
  xmc_heap heap;
  int status = 0;
  if (bytes > b->max_alloc && b->options.heap == 0)
    bytes = b->heap_bytes;
  heap = bench_heap_open(b, bytes, -1, -2);
  if (heap == NULL)
    return 1;
  for (int used = 0; used < 2 && !status; used++)
    for (cl_uint size = 16; size <= 65536 && !status; size *= 2)
      status = oom_row(b, heap, bytes, size, used);
  return bench_heap_close(b, heap) || status;
}

int bench_run_churn(bench *b) {
  enum { ROUNDS = 64, SLOTS = 8, HIGH = 512 };
  int status = 0;
  bench_series series = {0}, floor = {0};
  size_t count = b->options.workers / 16;
  double sample;
  cl_uint counters[2];
  xmc_heap heap = bench_heap(b);
  cl_mem plain = bench_plain(b, count * SLOTS * HIGH);
  cl_kernel churn = NULL, churn_floor = NULL;
  if (heap == NULL || (churn = bench_kernel(b, heap, "churn.cl", "churn", 0)) == NULL ||
      (churn_floor = bench_kernel(b, heap, "churn.cl", "churn_floor", 0)) == NULL) {
    status = 1;
    goto cleanup;
  }
  BENCH_TRY(bench_arguments(churn, "hum", heap, (cl_uint)ROUNDS, b->counters));
  BENCH_TRY(bench_counters_clear(b));
  bench_begin("churn, %zu work-items", count);
  BENCH_TRY(bench_repeat(b, &series, churn, count));
  BENCH_TRY(bench_counters_read(b, counters));
  while (plain && bench_more(b, &floor)) {
    BENCH_TRY(bench_arguments(churn_floor, "mum", plain, (cl_uint)ROUNDS, b->counters));
    BENCH_TRY(bench_launch(b, churn_floor, count, &sample));
    bench_sample(b, &floor, sample);
  }
  bench_add(b, "xmc", "W6churn", "W6churn", count, HIGH, bench_median(&series), counters[0] + counters[1],
            "rounds=%d;slots=%d;reps=%d;cold=%.4f;nulls=%u;bad=%u", ROUNDS, SLOTS, series.rounds, series.cold,
            counters[0], counters[1])
      ->floor = bench_median(&floor);
cleanup:
  if (churn)
    clReleaseKernel(churn);
  if (churn_floor)
    clReleaseKernel(churn_floor);
  return status;
}

static int by_address(const void *x, const void *y) {
  cl_ulong a = *(const cl_ulong *)x, b = *(const cl_ulong *)y;
  return (a > b) - (a < b);
}

/* Sorts the references: blocks nearer than 24 bytes overlap. References count from the arena's start, which
 * is aligned to 128 bytes at least, so they show the blocks' alignment. */
static int inspect(bench *b, size_t count, unsigned *overlaps, unsigned *align) {
  int status = 0;
  cl_ulong all = 0;
  cl_ulong *refs = malloc(count * sizeof *refs);
  if (refs == NULL)
    return 1;
  BENCH_CL(clEnqueueReadBuffer(b->queue, b->refs, CL_TRUE, 0, count * sizeof *refs, refs, 0, NULL, NULL));
  qsort(refs, count, sizeof *refs, by_address);
  *overlaps = 0;
  for (size_t i = 0; i < count; i++) {
    all |= refs[i];
    if (i > 0 && refs[i - 1] != 0 && refs[i] - refs[i - 1] < 24)
      ++*overlaps;
  }
  *align = (unsigned)(all & -all);
cleanup:
  free(refs);
  return status;
}

int bench_run_overlap(bench *b) {
  enum { BYTES = 24 };
  int status = 0;
  bench_series series = {0}, floors = {0};
  size_t count = b->options.workers / 4;
  double sample;
  cl_uint counters[2];
  unsigned overlaps = 0, worst = 0, align = 0;
  xmc_heap heap = bench_heap(b);
  cl_mem plain = bench_plain(b, count * BYTES), refs = bench_refs(b, count);
  cl_kernel alloc = NULL, check = NULL, release = NULL, floor = NULL;
  if (heap == NULL || refs == NULL ||
      (alloc = bench_kernel(b, heap, "alloc.cl", "overlap_alloc", 0)) == NULL ||
      (check = bench_kernel(b, heap, "alloc.cl", "overlap_check", 0)) == NULL ||
      (release = bench_kernel(b, heap, "alloc.cl", "release", 0)) == NULL ||
      (floor = bench_kernel(b, heap, "alloc.cl", "overlap_floor", 0)) == NULL) {
    status = 1;
    goto cleanup;
  }
  BENCH_TRY(bench_arguments(alloc, "hmm", heap, refs, b->counters));
  BENCH_TRY(bench_arguments(check, "hmm", heap, refs, b->counters));
  BENCH_TRY(bench_arguments(release, "hm", heap, refs));
  BENCH_TRY(bench_counters_clear(b));
  bench_begin("overlap, %zu work-items", count);
  while (bench_more(b, &series)) {
    BENCH_TRY(bench_launch(b, alloc, count, &sample));
    bench_sample(b, &series, sample);
    BENCH_TRY(bench_launch(b, check, count, NULL));
    BENCH_TRY(inspect(b, count, &overlaps, &align));
    worst = overlaps > worst ? overlaps : worst;
    BENCH_TRY(bench_launch(b, release, count, NULL));
  }
  BENCH_TRY(bench_counters_read(b, counters));
  while (plain && bench_more(b, &floors)) {
    BENCH_TRY(bench_arguments(floor, "mm", plain, refs));
    BENCH_TRY(bench_launch(b, floor, count, &sample));
    bench_sample(b, &floors, sample);
  }
  bench_add(b, "xmc", "W7overlap", "W7overlap", count, BYTES, bench_median(&series),
            counters[0] + counters[1] + worst,
            "reps=%d;cold=%.4f;nulls=%u;bad=%u;overlapping_ptrs=%u;align=%u", series.rounds, series.cold,
            counters[0], counters[1], worst, align)
      ->floor = bench_median(&floors);
cleanup:
  if (alloc)
    clReleaseKernel(alloc);
  if (check)
    clReleaseKernel(check);
  if (release)
    clReleaseKernel(release);
  if (floor)
    clReleaseKernel(floor);
  return status;
}
