/* SPDX-License-Identifier: MIT */
/* write, range: where blocks lie. What that costs who writes to them, and how much of the heap they span. */
#include "bench.h"
#include <stdlib.h>

enum { LAUNCHES = 100, RANGE_BLOCKS = 100000, RANGE_ROUNDS = 100 };

typedef struct place {
  bench *b;
  xmc_heap heap;
  cl_kernel alloc, mixed, check, release, usable, blocks, packed, check_packed;
  cl_mem sizes, places; /* a uint and a ulong for each block */
  size_t count;
  cl_uint low, high;
} place;

static int place_open(place *p, bench *b, size_t most) {
  int status = 0;
  cl_int error;
  *p = (place){.b = b, .heap = bench_heap(b)};
  if (p->heap == NULL || bench_refs(b, most) == NULL)
    return 1;
  p->alloc = bench_kernel(b, p->heap, "alloc.cl", "alloc", 0);
  p->mixed = bench_kernel(b, p->heap, "alloc.cl", "alloc_mixed", 0);
  p->check = bench_kernel(b, p->heap, "alloc.cl", "check", 0);
  p->release = bench_kernel(b, p->heap, "alloc.cl", "release", 0);
  p->usable = bench_kernel(b, p->heap, "place.cl", "usable", 0);
  p->blocks = bench_kernel(b, p->heap, "place.cl", "write_blocks", 0);
  p->packed = bench_kernel(b, p->heap, "place.cl", "write_packed", 0);
  p->check_packed = bench_kernel(b, p->heap, "place.cl", "check_packed", 0);
  if (!p->alloc || !p->mixed || !p->check || !p->release || !p->usable || !p->blocks || !p->packed ||
      !p->check_packed)
    return 1;
  p->sizes = clCreateBuffer(b->context, CL_MEM_READ_WRITE, most * sizeof(cl_uint), NULL, &error);
  BENCH_CL(error);
  p->places = clCreateBuffer(b->context, CL_MEM_READ_WRITE, most * sizeof(cl_ulong), NULL, &error);
  BENCH_CL(error);
cleanup:
  return status;
}

static void place_close(place *p) {
  cl_kernel kernels[] = {p->alloc,  p->mixed,  p->check,  p->release,
                         p->usable, p->blocks, p->packed, p->check_packed};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (kernels[i])
      clReleaseKernel(kernels[i]);
  if (p->sizes)
    clReleaseMemObject(p->sizes);
  if (p->places)
    clReleaseMemObject(p->places);
}

/* Blocks for all work-items on an empty heap, and the class size of each on the host; the caller frees *sizes. */
static int place_allocate(place *p, cl_uint **sizes) {
  int status = 0;
  bench *b = p->b;
  *sizes = malloc(p->count * sizeof **sizes);
  if (*sizes == NULL || bench_heap_fresh(b) == NULL)
    return 1;
  BENCH_TRY(bench_counters_clear(b));
  if (p->low == p->high)
    BENCH_TRY(bench_arguments(p->alloc, "hmuum", p->heap, b->refs, 0u, p->high, b->counters));
  else
    BENCH_TRY(bench_arguments(p->mixed, "hmuuuum", p->heap, b->refs, 0u, p->low, p->high, 0u, b->counters));
  BENCH_TRY(bench_launch(b, p->low == p->high ? p->alloc : p->mixed, p->count, NULL));
  BENCH_TRY(bench_arguments(p->check, "hmm", p->heap, b->refs, b->counters));
  BENCH_TRY(bench_arguments(p->release, "hm", p->heap, b->refs));
  BENCH_TRY(bench_arguments(p->usable, "hmm", p->heap, b->refs, p->sizes));
  BENCH_TRY(bench_launch(b, p->usable, p->count, NULL));
  BENCH_CL(
      clEnqueueReadBuffer(b->queue, p->sizes, CL_TRUE, 0, p->count * sizeof **sizes, *sizes, 0, NULL, NULL));
cleanup:
  return status;
}

/* ---- write ---- */

/* Buffers of those sizes end to end. *base: the memory that they lie in. */
static int write_pack(place *p, const cl_uint *sizes, cl_mem *base) {
  int status = 0;
  cl_ulong at = 0, *places = malloc(p->count * sizeof *places);
  if (places == NULL)
    return 1;
  for (size_t i = 0; i < p->count; i++) {
    places[i] = at;
    at += sizes[i];
  }
  *base = bench_plain(p->b, at ? at : 16);
  if (*base == NULL)
    fprintf(stderr, "\nxmc-bench: write: no memory for %llu bytes\n", (unsigned long long)at);
  status = *base == NULL;
  BENCH_CL(clEnqueueWriteBuffer(p->b->queue, p->places, CL_TRUE, 0, p->count * sizeof *places, places, 0,
                                NULL, NULL));
cleanup:
  free(places);
  return status;
}

/* The device's time of 100 launches. */
static int write_hundred(place *p, cl_kernel kernel, bench_series *series) {
  int status = 0;
  double ms = 0, one;
  for (int i = 0; i < LAUNCHES; i++) {
    BENCH_TRY(bench_launch(p->b, kernel, p->count, &one));
    ms += one;
  }
  bench_sample(p->b, series, ms);
cleanup:
  return status;
}

static int write_row(place *p) {
  int status = 0;
  bench *b = p->b;
  bench_series blocks = {0}, packed = {0};
  cl_uint counters[2], *sizes = NULL;
  cl_mem base = NULL;
  char range[32] = "";
  bench_begin("write %u to %u bytes, %zu work-items", p->low, p->high, p->count);
  BENCH_TRY(place_allocate(p, &sizes));
  BENCH_TRY(write_pack(p, sizes, &base));
  BENCH_TRY(bench_arguments(p->blocks, "hm", p->heap, b->refs));
  BENCH_TRY(bench_arguments(p->packed, "mm", base, p->places));
  BENCH_TRY(bench_arguments(p->check_packed, "mmm", base, p->places, b->counters));
  while (bench_more(b, &packed))
    BENCH_TRY(write_hundred(p, p->blocks, &blocks) || write_hundred(p, p->packed, &packed));
  BENCH_TRY(bench_launch(b, p->check, p->count, NULL));
  BENCH_TRY(bench_launch(b, p->check_packed, p->count, NULL));
  BENCH_TRY(bench_launch(b, p->release, p->count, NULL));
  BENCH_TRY(bench_counters_read(b, counters));
  if (p->low != p->high)
    snprintf(range, sizeof range, "range=%u-%u;", p->low, p->high);
  bench_add(b, "xmc", "write", "write", p->count, p->high, bench_median(&blocks), counters[0] + counters[1],
            "%slaunches=%d;reps=%d;cold=%.4f", range, LAUNCHES, blocks.rounds, blocks.cold)
      ->floor = bench_median(&packed);
cleanup:
  free(sizes);
  return status;
}

int bench_run_write(bench *b) {
  static const cl_uint lows[] = {16, 32, 64, 256, 4, 4}, highs[] = {16, 32, 64, 256, 64, 4096};
  place p;
  int status = place_open(&p, b, b->options.workers);
  for (size_t i = 0; i < sizeof lows / sizeof *lows && !status; i++) {
    p.low = lows[i];
    p.high = highs[i];
    p.count = bench_fitting(b, b->options.workers, (p.low + p.high) / 2 + 16, b->heap_bytes);
    status = write_row(&p);
  }
  place_close(&p);
  return status;
}

/* ---- range ---- */

static int by_address(const void *x, const void *y) {
  cl_ulong a = *(const cl_ulong *)x, b = *(const cl_ulong *)y;
  return (a > b) - (a < b);
}

/* From the start of the lowest block to the end of the highest; *overlaps: blocks that begin before the end of another. */
static int range_span(place *p, cl_ulong *refs, cl_uint size, cl_ulong *span, unsigned long *overlaps) {
  int status = 0;
  size_t first = 0;
  BENCH_CL(
      clEnqueueReadBuffer(p->b->queue, p->b->refs, CL_TRUE, 0, p->count * sizeof *refs, refs, 0, NULL, NULL));
  qsort(refs, p->count, sizeof *refs, by_address);
  while (first + 1 < p->count && refs[first] == 0) /* NULLs */
    first++;
  for (size_t i = first + 1; i < p->count; i++)
    *overlaps += refs[i] - refs[i - 1] < size;
  *span = refs[p->count - 1] + size - refs[first];
cleanup:
  return status;
}

/* The first round is on an empty heap, the others on what the rounds before left; of those the worst counts. */
static int range_rows(place *p) {
  int status = 0, rounds = 0;
  bench *b = p->b;
  cl_uint counters[2], *sizes = NULL;
  cl_ulong span[2] = {0}, now, *refs = malloc(p->count * sizeof *refs);
  unsigned long overlaps = 0;
  double ends = 0;
  if (refs == NULL)
    return 1;
  bench_begin("range %u bytes, %zu work-items", p->high, p->count);
  BENCH_TRY(place_allocate(p, &sizes));
  for (;;) {
    BENCH_TRY(bench_launch(b, p->check, p->count, NULL));
    BENCH_TRY(range_span(p, refs, sizes[0], &now, &overlaps));
    BENCH_TRY(bench_launch(b, p->release, p->count, NULL));
    span[rounds > 0] = now > span[rounds > 0] ? now : span[rounds > 0];
    if (rounds == 0) /* kernels may have been compiled until now */
      ends = bench_seconds() + b->options.seconds;
    if (++rounds == RANGE_ROUNDS || (rounds > 1 && bench_seconds() > ends))
      break;
    BENCH_TRY(bench_launch(b, p->alloc, p->count, NULL));
  }
  BENCH_TRY(bench_counters_read(b, counters));
  for (int used = 0; used < 2; used++)
    bench_add(b, "xmc", "range", "range", p->count, p->high,
              (double)span[used] / ((double)p->count * sizes[0]), counters[0] + counters[1] + overlaps,
              "state=%s;rounds=%d;class=%u;span=%llu", used ? "used" : "fresh", used ? rounds - 1 : 1,
              sizes[0], (unsigned long long)span[used]);
cleanup:
  free(refs);
  free(sizes);
  return status;
}

int bench_run_range(bench *b) {
  size_t most = b->options.workers < RANGE_BLOCKS ? b->options.workers : RANGE_BLOCKS;
  place p;
  int status = place_open(&p, b, most);
  for (cl_uint size = 4; size <= 8192 && !status; size *= 2) {
    p.low = p.high = size;
    p.count = bench_fitting(b, most, size, b->heap_bytes);
    status = range_rows(&p);
  }
  place_close(&p);
  return status;
}
