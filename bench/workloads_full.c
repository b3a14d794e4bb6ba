/* SPDX-License-Identifier: MIT */
/* full: what requests cost that a full heap refuses, and that it grants when something was freed just before. */
#include "bench.h"
#include <pthread.h>
#include <sched.h>

enum { HOST_THREADS = 8, MOST_REQUESTS = 16, REFUSED = 8, ROUNDS = 16 };

typedef struct full {
  bench *b;
  xmc_heap heap;
  size_t bytes; /* of the heap */
  cl_uint size; /* of the blocks */
  size_t items;
  cl_kernel take, swap, end;
  cl_mem heads, failures;
} full;

static void full_close(full *f) {
  cl_kernel kernels[] = {f->take, f->swap, f->end};
  cl_mem memory[] = {f->heads, f->failures};
  for (size_t i = 0; i < 3; i++)
    if (kernels[i])
      clReleaseKernel(kernels[i]);
  for (size_t i = 0; i < 2; i++)
    if (memory[i])
      clReleaseMemObject(memory[i]);
}

static int full_open(full *f, bench *b, size_t bytes, cl_uint size) {
  const cl_uint none = 0;
  int status = 0;
  cl_int error;
  *f = (full){.b = b, .bytes = bytes, .size = size, .items = b->options.workers / (b->cpu ? 256 : 16)};
  if (f->items < 256)
    f->items = 256;
  if ((f->heap = bench_heap_open(b, bytes, -1, -2)) == NULL)
    return 1;
  f->take = bench_kernel(b, f->heap, "full.cl", "full_take", 0);
  f->swap = bench_kernel(b, f->heap, "full.cl", "full_swap", 0);
  f->end = bench_kernel(b, f->heap, "full.cl", "full_end", 0);
  BENCH_TRY(!f->take || !f->swap || !f->end);
  f->heads = clCreateBuffer(b->context, CL_MEM_READ_WRITE, f->items * sizeof(cl_ulong), NULL, &error);
  BENCH_CL(error);
  f->failures = clCreateBuffer(b->context, CL_MEM_READ_WRITE, 2 * sizeof none, NULL, &error);
  BENCH_CL(error);
  BENCH_CL(clEnqueueFillBuffer(b->queue, f->heads, &none, sizeof none, 0, f->items * sizeof(cl_ulong), 0,
                               NULL, NULL));
  BENCH_CL(clEnqueueFillBuffer(b->queue, f->failures, &none, sizeof none, 0, 2 * sizeof none, 0, NULL, NULL));
cleanup:
  return status;
}

/* A launch of full_take. counts: granted, refused */
static int take(full *f, size_t items, cl_uint requests, int until_refused, double *ms, cl_uint counts[2]) {
  int status = 0;
  BENCH_TRY(bench_counters_clear(f->b));
  BENCH_TRY(bench_arguments(f->take, "hmuuum", f->heap, f->heads, f->size, requests, (cl_uint)until_refused,
                            f->b->counters));
  BENCH_TRY(bench_launch(f->b, f->take, items, ms));
  BENCH_TRY(bench_counters_read(f->b, counts));
cleanup:
  return status;
}

static void row(full *f, const char *op, double ms, size_t granted, size_t refused, unsigned long failures,
                const char *more) {
  bench_add(f->b, "xmc", "full", "full", f->items, f->size, ms, failures,
            "op=%s;heap_mib=%zu;%sgranted=%zu;refused=%zu;operations=%zu", op, f->bytes >> 20, more, granted,
            refused, granted + refused);
}

/* Fills the heap, at the end by one work-item while nobody else asks. What then is free all the same is an error: *lost counts
 * blocks' sizes in free blocks, which all are of the one class, and a run of pages that is long enough. */
static int fill(full *f, unsigned long *lost) {
  int status = 0;
  cl_uint counts[2], requests, ignored[2];
  size_t granted = 0, refused = 0, each = f->bytes / f->size / f->items;
  double sum = 0, ms;
  xmc_heap_stats stats;
  requests = (cl_uint)(each < 1 ? 1 : each > MOST_REQUESTS ? MOST_REQUESTS : each);
  do {
    BENCH_TRY(take(f, f->items, requests, 0, &ms, counts));
    sum += ms;
    granted += counts[0];
    refused += counts[1];
  } while (counts[0]);
  BENCH_TRY(take(f, 1, (cl_uint)1 << 30, 1, NULL, ignored));
  BENCH_CL(xmcGetHeapStats(f->heap, f->b->queue, &stats));
  *lost = (unsigned long)(stats.free_block_bytes / f->size) + (stats.largest_free_bytes >= f->size);
  row(f, "fill", sum, granted, refused, *lost, "");
cleanup:
  return status;
}

/* The heap is full: who is granted a block now was refused it before. */
static int refuse(full *f) {
  int status = 0;
  bench_series series = {0};
  cl_uint counts[2];
  unsigned long granted = 0;
  char reps[64];
  while (bench_more(f->b, &series)) {
    double ms;
    BENCH_TRY(take(f, f->items, REFUSED, 0, &ms, counts));
    granted += counts[0];
    bench_sample(f->b, &series, ms);
  }
  snprintf(reps, sizeof reps, "reps=%d;cold=%.4f;", series.rounds, series.cold);
  row(f, "refuse", bench_median(&series), 0, f->items * REFUSED, granted, reps);
cleanup:
  return status;
}

/* Each work-item frees a block, if it has one, and asks for another; others may have been faster. The row has the last round's
 * counts. */
static int swap(full *f) {
  int status = 0;
  bench_series series = {0};
  cl_uint counts[2] = {0, 0}, wrong[2];
  char reps[64];
  BENCH_TRY(bench_arguments(f->swap, "hmuumm", f->heap, f->heads, f->size, (cl_uint)ROUNDS, f->b->counters,
                            f->failures));
  while (bench_more(f->b, &series)) {
    double ms;
    BENCH_TRY(bench_counters_clear(f->b));
    BENCH_TRY(bench_launch(f->b, f->swap, f->items, &ms));
    BENCH_TRY(bench_counters_read(f->b, counts));
    bench_sample(f->b, &series, ms);
  }
  BENCH_CL(clEnqueueReadBuffer(f->b->queue, f->failures, CL_TRUE, 0, sizeof wrong, wrong, 0, NULL, NULL));
  snprintf(reps, sizeof reps, "reps=%d;cold=%.4f;bad=%u;", series.rounds, series.cold, wrong[1]);
  row(f, "free+malloc", bench_median(&series), counts[0], counts[1], wrong[1], reps);
cleanup:
  return status;
}

/* Checks and frees all blocks: a mismatch is a failure of the row before. */
static int end(full *f) {
  int status = 0;
  cl_uint wrong[2];
  BENCH_TRY(bench_arguments(f->end, "hmm", f->heap, f->heads, f->failures));
  BENCH_TRY(bench_launch(f->b, f->end, f->items, NULL));
  BENCH_CL(clEnqueueReadBuffer(f->b->queue, f->failures, CL_TRUE, 0, sizeof wrong, wrong, 0, NULL, NULL));
  f->b->rows[f->b->row_count - 1].failures += wrong[1];
cleanup:
  return status;
}

/* ---- by threads of the host ---- */

typedef struct asker {
  pthread_t thread;
  const full *f;
  const int *stop; /* atomic */
  unsigned long granted, refused;
} asker;

static void *ask(void *data) {
  asker *a = data;
  while (!__atomic_load_n(a->stop, __ATOMIC_RELAXED))
    for (int i = 0; i < 16; i++)
      xmcHostMalloc(a->f->heap, a->f->size, NULL) ? a->granted++ : a->refused++;
  return NULL;
}

static int host_refuse(full *f) {
  int status = 0, stop = 0, threads = 0;
  asker askers[HOST_THREADS] = {0};
  size_t refused = 0, granted = 0;
  double began, seconds = f->b->options.seconds < 0.5 ? f->b->options.seconds : 0.5;
  BENCH_CL(xmcMapHeap(f->heap, f->b->queue));
  began = bench_seconds();
  for (; threads < HOST_THREADS; threads++) {
    askers[threads] = (asker){.f = f, .stop = &stop};
    if (pthread_create(&askers[threads].thread, NULL, ask, &askers[threads]) != 0)
      break;
  }
  while (bench_seconds() - began < seconds)
    sched_yield();
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < threads; i++) {
    pthread_join(askers[i].thread, NULL);
    refused += askers[i].refused;
    granted += askers[i].granted;
  }
  seconds = bench_seconds() - began;
  BENCH_CL(xmcUnmapHeap(f->heap, f->b->queue));
  bench_add(f->b, "xmc", "full", "full", HOST_THREADS, f->size, 1e3 * seconds, granted,
            "op=refuse;host_threads=%d;heap_mib=%zu;granted=%zu;refused=%zu;operations=%zu", threads,
            f->bytes >> 20, granted, refused, refused);
cleanup:
  return status;
}

static int full_rows(bench *b, size_t bytes, cl_uint size) {
  int status = 0;
  unsigned long lost;
  full f;
  bench_begin("full, %zu MiB, %u bytes", bytes >> 20, size);
  BENCH_TRY(full_open(&f, b, bytes, size));
  BENCH_TRY(fill(&f, &lost));
  if (!lost) {
    BENCH_TRY(refuse(&f));
    if (b->cpu)
      BENCH_TRY(host_refuse(&f));
  }
  BENCH_TRY(swap(&f));
  BENCH_TRY(end(&f));
cleanup:
  full_close(&f);
  return bench_heap_close(b, f.heap) || status;
}

int bench_run_full(bench *b) {
  static const size_t mib[] = {1, 16, 256, 1024, 8192};
  static const cl_uint sizes[] = {16, 20000};
  size_t least = 0;
  int status = 0;
  BENCH_CL(xmcGetHeapLimits(b->context, b->device, NULL, &least, NULL));
  for (size_t i = 0; i < sizeof mib / sizeof *mib && mib[i] << 20 <= b->heap_bytes; i++)
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
      if (mib[i] << 20 >= least)
        BENCH_TRY(full_rows(b, mib[i] << 20, sizes[s]));
cleanup:
  return status;
}
