/* SPDX-License-Identifier: MIT */
/* region: blocks of one region by all work-items, and their free all at once. */
#include "bench.h"

/* What is timed, in the order of a round. Odd rounds free by one work-group, even ones by one work-item. */
enum { FRESH, KEPT, GROUP, RESET_GROUP, FREE_GROUP, FREE_ITEM, CASES };
static const char *const cases[CASES] = {"regionfresh",      "regionkept",      "regiongroup",
                                         "regionresetgroup", "regionfreegroup", "regionfreeitem"};

typedef struct region_kernels {
  cl_kernel create, alloc, group, check, reset, release[2], floor;
} region_kernels;

static int open_kernels(bench *b, xmc_heap heap, region_kernels *k, size_t count, cl_uint size) {
  int status = 0;
  cl_mem plain = bench_plain(b, count * size);
  k->create = bench_kernel(b, heap, "region.cl", "region_create", 0);
  k->alloc = bench_kernel(b, heap, "region.cl", "region_alloc", 0);
  k->group = bench_kernel(b, heap, "region.cl", "region_alloc_group", 0);
  k->reset = bench_kernel(b, heap, "region.cl", "region_reset", 0);
  k->release[0] = bench_kernel(b, heap, "region.cl", "region_free_group", 0);
  k->release[1] = bench_kernel(b, heap, "region.cl", "region_free", 0);
  k->check = bench_kernel(b, heap, "alloc.cl", "check", 0);
  k->floor = bench_kernel(b, heap, "alloc.cl", "alloc_floor", 0);
  if (!k->create || !k->alloc || !k->group || !k->reset || !k->release[0] || !k->release[1] || !k->check ||
      !k->floor || !plain)
    return 1;
  BENCH_TRY(bench_arguments(k->create, "hmum", heap, b->refs, (cl_uint)count, b->counters));
  BENCH_TRY(bench_arguments(k->alloc, "hmuum", heap, b->refs, (cl_uint)count, size, b->counters));
  BENCH_TRY(bench_arguments(k->group, "hmuum", heap, b->refs, (cl_uint)count, size, b->counters));
  BENCH_TRY(bench_arguments(k->reset, "hmu", heap, b->refs, (cl_uint)count));
  BENCH_TRY(bench_arguments(k->release[0], "hmu", heap, b->refs, (cl_uint)count));
  BENCH_TRY(bench_arguments(k->release[1], "hmu", heap, b->refs, (cl_uint)count));
  BENCH_TRY(bench_arguments(k->check, "hmm", heap, b->refs, b->counters));
  BENCH_TRY(bench_arguments(k->floor, "mmu", plain, b->refs, size));
cleanup:
  return status;
}

static void close_kernels(region_kernels *k) {
  cl_kernel all[] = {k->create, k->alloc,      k->group,      k->check,
                     k->reset,  k->release[0], k->release[1], k->floor};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i])
      clReleaseKernel(all[i]);
}

/* Times one launch, and checks the ids that it wrote. */
static int timed_alloc(bench *b, const region_kernels *k, cl_kernel alloc, size_t count,
                       bench_series *series) {
  int status = 0;
  double sample;
  BENCH_TRY(bench_launch(b, alloc, count, &sample));
  bench_sample(b, series, sample);
  BENCH_TRY(bench_launch(b, k->check, count, NULL));
cleanup:
  return status;
}

static int region_round(bench *b, const region_kernels *k, size_t count, int by_item, bench_series *series) {
  int status = 0;
  double sample;
  BENCH_TRY(bench_launch(b, k->create, 1, NULL));
  BENCH_TRY(timed_alloc(b, k, k->alloc, count, &series[FRESH]));
  BENCH_TRY(bench_launch(b, k->reset, BENCH_LOCAL_SIZE, &sample));
  bench_sample(b, &series[RESET_GROUP], sample);
  BENCH_TRY(timed_alloc(b, k, k->alloc, count, &series[KEPT]));
  BENCH_TRY(bench_launch(b, k->reset, BENCH_LOCAL_SIZE, NULL));
  BENCH_TRY(timed_alloc(b, k, k->group, count, &series[GROUP]));
  BENCH_TRY(bench_launch(b, k->release[by_item], by_item ? 1 : BENCH_LOCAL_SIZE, &sample));
  bench_sample(b, &series[by_item ? FREE_ITEM : FREE_GROUP], sample);
cleanup:
  return status;
}

static int region_rows(bench *b, xmc_heap heap, size_t count, cl_uint size) {
  int status = 0;
  bench_series series[CASES] = {0}, floor = {0};
  region_kernels k = {0};
  cl_uint counters[2];
  xmc_heap_stats stats;
  cl_ulong chunks = 0;
  if (bench_refs(b, count + 1) == NULL)
    return 1;
  BENCH_TRY(open_kernels(b, heap, &k, count, size));
  BENCH_TRY(bench_counters_clear(b));
  bench_begin("region %u bytes", size);
  BENCH_TRY(bench_launch(b, k.create, 1, NULL));
  BENCH_TRY(bench_launch(b, k.alloc, count, NULL));
  BENCH_CL(xmcGetHeapStats(heap, b->queue, &stats));
  chunks = stats.region_chunks;
  BENCH_TRY(bench_launch(b, k.release[1], 1, NULL));
  for (int round = 0; bench_more(b, &series[FREE_ITEM]); round++)
    BENCH_TRY(region_round(b, &k, count, round % 2, series));
  BENCH_TRY(bench_repeat(b, &floor, k.floor, count));
  BENCH_TRY(bench_counters_read(b, counters));
  for (int i = 0; i < CASES; i++)
    bench_add(b, "xmc", cases[i], i < RESET_GROUP ? "W2alloc" : "W2free", count, size,
              bench_median(&series[i]), counters[0] + counters[1], "chunks=%llu;reps=%d;cold=%.4f",
              (unsigned long long)chunks, series[i].rounds, series[i].cold)
        ->floor = i < RESET_GROUP ? bench_median(&floor) : 0;
cleanup:
  close_kernels(&k);
  return status;
}

int bench_run_region(bench *b) {
  static const cl_uint sizes[] = {16, 64, 256};
  xmc_heap heap = bench_heap(b);
  if (heap == NULL)
    return 1;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t count = bench_fitting(b, b->options.workers, 2u * sizes[i], b->heap_bytes);
    if (bench_alloc(b, heap, "regionplain", "W2", count, sizes[i], sizes[i]) ||
        region_rows(b, heap, count, sizes[i]))
      return 1;
  }
  return 0;
}
