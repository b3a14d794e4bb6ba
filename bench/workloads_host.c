/* SPDX-License-Identifier: MIT */
/* latency, init, collective. */
#include "bench.h"
#include <string.h>
#include <time.h>

/* 2010, section 3.1.1: one work-item alone; and what the host pays for a buffer. */
static int device_latency(bench *b, xmc_heap heap, cl_uint size, cl_uint count) {
  static const char *const kernels[] = {"latency_malloc", "latency_free", "latency_malloc_floor",
                                        "latency_free_floor"};
  int status = 0;
  bench_series series[4] = {0};
  double sample, ms[4];
  cl_uint counters[2];
  cl_kernel kernel[4] = {0};
  cl_mem refs = bench_refs(b, count), plain = bench_plain(b, (size_t)count * size);
  for (int i = 0; i < 4; i++)
    if ((kernel[i] = bench_kernel(b, heap, "pair.cl", kernels[i], 0)) == NULL || refs == NULL) {
      status = 1;
      goto cleanup;
    }
  BENCH_TRY(bench_arguments(kernel[0], "hmuum", heap, refs, size, count, b->counters));
  BENCH_TRY(bench_arguments(kernel[1], "hmu", heap, refs, count));
  if (plain)
    BENCH_TRY(bench_arguments(kernel[2], "mmuu", plain, refs, size, count));
  BENCH_TRY(bench_arguments(kernel[3], "mum", refs, count, b->counters));
  BENCH_TRY(bench_counters_clear(b));
  for (int first = 0; first < (plain ? 4 : 2); first += 2) {
    bench_begin("latency %u bytes", size);
    while (bench_more(b, &series[first + 1]))
      for (int i = first; i < first + 2; i++) {
        BENCH_TRY(bench_launch(b, kernel[i], 1, &sample));
        bench_sample(b, &series[i], sample / count);
      }
  }
  BENCH_TRY(bench_counters_read(b, counters));
  for (int i = 0; i < 4; i++)
    ms[i] = bench_median(&series[i]);
  for (int i = 0; i < 3; i++)
    bench_add(b, "xmc", "latency", i < 2 ? kernels[i] : "latency", 1, size, i < 2 ? ms[i] : ms[0] + ms[1],
              counters[0], "op=%s;blocks=%u;reps=%d;cold=%.6f",
              i == 0   ? "malloc"
              : i == 1 ? "free"
                       : "both",
              count, series[0].rounds, i < 2 ? series[i].cold : series[0].cold + series[1].cold)
        ->floor = i < 2 ? ms[i + 2] : ms[2] + ms[3];
cleanup:
  for (int i = 0; i < 4; i++)
    if (kernel[i])
      clReleaseKernel(kernel[i]);
  return status;
}

/* clCreateBuffer and clReleaseMemObject; drivers may put the work off until the buffer is used, so once
 * more with four bytes written to it. */
static int host_latency(bench *b, cl_uint size, int used) {
  int status = 0;
  bench_series series = {0};
  cl_mem memory = NULL;
  cl_int error;
  bench_row *row;
  bench_begin("latency %u bytes on the host", size);
  while (bench_more(b, &series)) {
    enum { TURNS = 16 };
    double start = bench_seconds();
    for (int i = 0; i < TURNS; i++) {
      memory = clCreateBuffer(b->context, CL_MEM_READ_WRITE, size, NULL, &error);
      BENCH_CL(error);
      if (used)
        BENCH_CL(clEnqueueWriteBuffer(b->queue, memory, CL_TRUE, 0, sizeof size, &size, 0, NULL, NULL));
      BENCH_CL(clReleaseMemObject(memory));
      memory = NULL;
    }
    bench_sample(b, &series, (bench_seconds() - start) * 1e3 / TURNS);
  }
  row = bench_add(b, used ? "host_used" : "host_buffer", "latency", "latency", 1, size, bench_median(&series),
                  0, "op=clCreateBuffer+%sclReleaseMemObject;reps=%d;cold=%.6f", used ? "write+" : "",
                  series.rounds, series.cold);
  row->peer = BENCH_ALTERNATIVE;
cleanup:
  if (memory)
    clReleaseMemObject(memory);
  return status;
}

int bench_run_latency(bench *b) {
  static const cl_uint sizes[] = {4, 64, 1024, 65536, 1 << 20, 32 << 20};
  xmc_heap heap = bench_heap(b);
  if (heap == NULL)
    return 1;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    cl_uint count = (cl_uint)bench_fitting(b, 256, sizes[i], b->heap_bytes);
    if (sizes[i] > b->heap_bytes / 2)
      break;
    if (device_latency(b, heap, sizes[i], count) || host_latency(b, sizes[i], 0) ||
        host_latency(b, sizes[i], 1))
      return 1;
  }
  return 0;
}

/* The floor of creating a heap is creating a buffer of its size and using it. */
static int init_floor(bench *b, cl_kernel touch, size_t bytes, bench_series *series) {
  int status = 0;
  cl_mem memory = NULL;
  cl_int error;
  size_t one = 1;
  while (bench_more(b, series)) {
    cl_ulong zero = 0;
    double start = bench_seconds();
    memory = clCreateBuffer(b->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    BENCH_CL(error);
    BENCH_CL(clEnqueueWriteBuffer(b->queue, memory, CL_TRUE, 0, sizeof zero, &zero, 0, NULL, NULL));
    BENCH_TRY(bench_arguments(touch, "mum", memory, 1u, memory));
    BENCH_CL(clEnqueueNDRangeKernel(b->queue, touch, 1, NULL, &one, NULL, 0, NULL, NULL));
    BENCH_CL(clFinish(b->queue));
    bench_sample(b, series, (bench_seconds() - start) * 1e3);
    BENCH_CL(clReleaseMemObject(memory));
    memory = NULL;
  }
cleanup:
  if (memory)
    clReleaseMemObject(memory);
  return status;
}

/* Heaps that stay while further ones are made, after a pause: GPUs' drivers may clear memory that was given back,
 * and who wants it before that is done waits. */
static void init_kept(bench *b, size_t bytes) {
  size_t count = 0;
  bench_series create = {0};
  xmc_heap heaps[BENCH_MAX_REPEAT + 1];
  struct timespec pause = {.tv_nsec = 500000000};
  nanosleep(&pause, NULL);
  while (bench_more(b, &create) && (count + 1) * bytes <= b->memory / 4 * 3) {
    double start = bench_seconds();
    heaps[count] = bench_heap_open(b, bytes, -1, -2);
    if (heaps[count] == NULL)
      break;
    count++;
    bench_sample(b, &create, (bench_seconds() - start) * 1e3);
  }
  if (create.rounds > 0)
    bench_add(b, "xmc", "init", "init", 1, bytes, bench_median(&create), 0,
              "op=create;kept=yes;reps=%d;cold=%.4f", create.rounds, create.cold);
  for (size_t i = 0; i < count; i++)
    xmcReleaseHeap(heaps[i]);
}

int bench_run_init(bench *b) {
  int status = 0;
  xmc_heap heap = NULL;
  cl_kernel touch = NULL;
  if (b->heap) { /* its memory may be wanted */
    heap = b->heap;
    b->heap = NULL;
    BENCH_TRY(bench_heap_close(b, heap));
    heap = NULL;
  }
  for (size_t bytes = (size_t)1 << 20; bytes <= b->max_alloc && bytes <= (size_t)64 << 30; bytes *= 2) {
    bench_series create = {0}, reset = {0}, floor = {0};
    if (bytes > (size_t)1 << 20 && bytes < (size_t)64 << 20)
      continue;
    bench_begin("init %zu MiB", bytes >> 20);
    if (!b->cpu)
      init_kept(b, bytes);
    while (bench_more(b, &create)) {
      double start = bench_seconds();
      heap = bench_heap_open(b, bytes, -1, -2);
      if (heap == NULL) {
        status = bytes == (size_t)1 << 20; /* more than the device has free */
        goto cleanup;
      }
      bench_sample(b, &create, (bench_seconds() - start) * 1e3);
      if (touch == NULL && (touch = bench_kernel(b, heap, "cas.cl", "cas_plain", 0)) == NULL) {
        status = 1;
        goto cleanup;
      }
      start = bench_seconds();
      BENCH_CL(xmcResetHeap(heap, b->queue));
      bench_sample(b, &reset, (bench_seconds() - start) * 1e3);
      BENCH_CL(xmcReleaseHeap(heap));
      heap = NULL;
    }
    BENCH_TRY(init_floor(b, touch, bytes, &floor));
    bench_add(b, "xmc", "init", "init", 1, bytes, bench_median(&create), 0, "op=create;reps=%d;cold=%.4f",
              create.rounds, create.cold)
        ->floor = bench_median(&floor);
    bench_add(b, "xmc", "init", "init", 1, bytes, bench_median(&reset), 0, "op=reset;reps=%d;cold=%.4f",
              reset.rounds, reset.cold);
  }
cleanup:
  if (touch)
    clReleaseKernel(touch);
  return bench_heap_close(b, heap) || status;
}

static int collective_pair(bench *b, xmc_heap heap, const char *call, cl_uint size, double floor) {
  int status = 0;
  char name[32];
  bench_series series = {0};
  xmc_heap_stats before, after;
  cl_kernel kernel;
  snprintf(name, sizeof name, "pair_%s", call);
  if ((kernel = bench_kernel(b, heap, "collective.cl", name, 1)) == NULL)
    return strcmp(call, "subgroup") != 0; /* the program may have none */
  BENCH_TRY(bench_arguments(kernel, "hu", heap, size));
  BENCH_CL(xmcGetHeapStats(heap, b->queue, &before));
  bench_begin("collective pair, %s, %u bytes", call, size);
  while (bench_more(b, &series)) {
    double sample;
    BENCH_TRY(bench_launch(b, kernel, b->options.workers, &sample));
    bench_sample(b, &series, sample);
  }
  BENCH_CL(xmcGetHeapStats(heap, b->queue, &after));
  snprintf(name, sizeof name, "xmc_%s", call);
  bench_add(b, name, "collectivepair", "W1", b->options.workers, size, bench_median(&series),
            (cl_uint)(after.failed_requests - before.failed_requests), "reps=%d;cold=%.4f", series.rounds,
            series.cold)
      ->floor = floor;
cleanup:
  clReleaseKernel(kernel);
  return status;
}

static int collective_alloc(bench *b, xmc_heap heap, const char *call, cl_uint size, size_t count,
                            const double floors[2]) {
  int status = 0;
  char name[32];
  bench_series series[2] = {0};
  cl_uint counters[2], failed;
  xmc_heap_stats before, after;
  cl_kernel alloc = NULL, release = NULL, check = bench_kernel(b, heap, "alloc.cl", "check", 0);
  snprintf(name, sizeof name, "alloc_%s", call);
  alloc = bench_kernel(b, heap, "collective.cl", name, 1);
  snprintf(name, sizeof name, "release_%s", call);
  release = bench_kernel(b, heap, "collective.cl", name, 1);
  if (alloc == NULL || release == NULL || check == NULL) {
    status = check == NULL || strcmp(call, "subgroup") != 0;
    goto cleanup;
  }
  BENCH_TRY(bench_arguments(alloc, "hmu", heap, b->refs, size));
  BENCH_TRY(bench_arguments(check, "hmm", heap, b->refs, b->counters));
  BENCH_TRY(bench_arguments(release, "hm", heap, b->refs));
  BENCH_TRY(bench_counters_clear(b));
  BENCH_CL(xmcGetHeapStats(heap, b->queue, &before));
  bench_begin("collective alloc, %s, %u bytes", call, size);
  while (bench_more(b, &series[1])) {
    double sample;
    BENCH_TRY(bench_launch(b, alloc, count, &sample));
    bench_sample(b, &series[0], sample);
    BENCH_TRY(bench_launch(b, check, count, NULL));
    BENCH_TRY(bench_launch(b, release, count, &sample));
    bench_sample(b, &series[1], sample);
  }
  BENCH_TRY(bench_counters_read(b, counters));
  BENCH_CL(xmcGetHeapStats(heap, b->queue, &after));
  failed = (cl_uint)(after.failed_requests - before.failed_requests) + counters[1];
  snprintf(name, sizeof name, "xmc_%s", call);
  for (int i = 0; i < 2; i++)
    bench_add(b, name, i ? "collectivefree" : "collectivealloc", i ? "W2free" : "W2alloc", count, size,
              bench_median(&series[i]), failed, "reps=%d;cold=%.4f;bad=%u", series[i].rounds, series[i].cold,
              counters[1])
        ->floor = floors[i];
cleanup:
  if (alloc)
    clReleaseKernel(alloc);
  if (release)
    clReleaseKernel(release);
  if (check)
    clReleaseKernel(check);
  return status;
}

int bench_run_collective(bench *b) {
  static const cl_uint sizes[] = {4, 64, 256, 1024};
  static const char *const calls[] = {"plain", "workgroup", "subgroup"};
  xmc_heap heap = bench_heap(b);
  if (heap == NULL)
    return 1;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    double floor;
    if (bench_pair(b, heap, "collectivepair", "W1", b->options.workers, sizes[i], BENCH_LANES, ""))
      return 1;
    floor = b->rows[b->row_count - 1].floor;
    for (int c = 0; c < 3; c++)
      if (collective_pair(b, heap, calls[c], sizes[i], floor))
        return 1;
  }
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t count = bench_fitting(b, b->options.workers, sizes[i], b->heap_bytes);
    double floors[2];
    if (bench_alloc(b, heap, "collective", "W2", count, sizes[i], sizes[i]))
      return 1;
    floors[0] = b->rows[b->row_count - 2].floor;
    floors[1] = b->rows[b->row_count - 1].floor;
    for (int c = 1; c < 3; c++) /* the plain calls' kernels are alloc.cl's, which do the same */
      if (collective_alloc(b, heap, calls[c], sizes[i], count, floors))
        return 1;
  }
  return 0;
}
