/* SPDX-License-Identifier: MIT */
/* generate: work-items that each want a buffer of a size they draw, by the allocator and by what programs without one do. The
 * time is the host's, from the first enqueue until all is done, because the ways need different numbers of launches. */
#include "bench.h"

enum {
  MAKE,
  DROP,
  MAKE_GROUP,
  DROP_GROUP,
  REGION_CREATE,
  REGION_MAKE,
  REGION_MAKE_GROUP,
  REGION_RESET,
  REGION_FREE,
  COUNT,
  SCAN,
  FILL,
  BUMP,
  BUMP_GROUP,
  CHECK_MARKS,
  CHECK_WHOLE,
  KERNELS
};
static const char *const kernel_names[KERNELS] = {"make",
                                                  "drop",
                                                  "make_group",
                                                  "drop_group",
                                                  "region_create",
                                                  "region_make",
                                                  "region_make_group",
                                                  "region_reset",
                                                  "region_free",
                                                  "count",
                                                  "scan",
                                                  "fill",
                                                  "bump",
                                                  "bump_group",
                                                  "check_marks",
                                                  "check_whole"};

typedef struct generate {
  bench *b;
  xmc_heap heap;
  size_t count, launched; /* work-items that want a buffer; in whole groups */
  size_t counted, groups; /* work-items of the first pass, and their groups */
  cl_uint low, high;
  size_t room;                         /* bytes of base */
  cl_mem base, offsets, shares, words; /* words: the sum of all sizes, or the bump pointer; then the region */
  cl_kernel kernels[KERNELS];
} generate;

/* ---- one round of each way; check: with a look at what was written, where it can still be seen ---- */

static int look(generate *g, cl_uint blocks, int check) {
  int status = 0;
  if (check) {
    cl_uint where[] = {blocks};
    for (int k = CHECK_MARKS; k <= CHECK_WHOLE; k++) {
      BENCH_CL(clSetKernelArg(g->kernels[k], 2, sizeof where, where));
      BENCH_TRY(bench_launch(g->b, g->kernels[k], g->launched, NULL));
    }
  }
cleanup:
  return status;
}

static int round_calls(generate *g, int make, int drop, size_t drops, int check) {
  return bench_enqueue(g->b, g->kernels[make], g->launched, NULL) || look(g, 1, check) ||
         bench_enqueue(g->b, g->kernels[drop], drops, NULL);
}
static int round_plain(generate *g, int check) { return round_calls(g, MAKE, DROP, g->launched, check); }
static int round_group(generate *g, int check) {
  return round_calls(g, MAKE_GROUP, DROP_GROUP, g->launched, check);
}
static int round_region(generate *g, int check) {
  return round_calls(g, REGION_MAKE, REGION_RESET, BENCH_LOCAL_SIZE, check);
}
static int round_region_group(generate *g, int check) {
  return round_calls(g, REGION_MAKE_GROUP, REGION_RESET, BENCH_LOCAL_SIZE, check);
}

static int first_pass(generate *g) {
  return bench_enqueue(g->b, g->kernels[COUNT], g->counted, NULL) ||
         (g->groups > 1 && bench_enqueue(g->b, g->kernels[SCAN], BENCH_LOCAL_SIZE, NULL));
}

static int round_scan(generate *g, int check) {
  return first_pass(g) || bench_enqueue(g->b, g->kernels[FILL], g->launched, NULL) || look(g, 0, check);
}

/* The sum comes to the host, which creates a buffer of that size and releases it in the end. */
static int round_scan_create(generate *g, int check) {
  int status = 0;
  cl_ulong bytes = 0;
  cl_mem memory = NULL;
  cl_int error;
  bench *b = g->b;
  BENCH_TRY(first_pass(g));
  BENCH_CL(clEnqueueReadBuffer(b->queue, g->words, CL_TRUE, 0, sizeof bytes, &bytes, 0, NULL, NULL));
  memory = clCreateBuffer(b->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
  BENCH_CL(error);
  BENCH_CL(clSetKernelArg(g->kernels[FILL], 2, sizeof memory, &memory));
  for (int k = CHECK_MARKS; check && k <= CHECK_WHOLE; k++)
    BENCH_CL(clSetKernelArg(g->kernels[k], 1, sizeof memory, &memory));
  BENCH_TRY(bench_enqueue(b, g->kernels[FILL], g->launched, NULL));
  BENCH_TRY(look(g, 0, check));
  BENCH_CL(clFinish(b->queue));
cleanup:
  if (memory)
    clReleaseMemObject(memory);
  return status;
}

static int round_bumps(generate *g, int kernel, int check) {
  int status = 0;
  const cl_ulong zero = 0;
  BENCH_CL(clEnqueueFillBuffer(g->b->queue, g->words, &zero, sizeof zero, 0, sizeof zero, 0, NULL, NULL));
  BENCH_TRY(bench_enqueue(g->b, g->kernels[kernel], g->launched, NULL));
  BENCH_TRY(look(g, 0, check));
cleanup:
  return status;
}
static int round_bump(generate *g, int check) { return round_bumps(g, BUMP, check); }
static int round_bump_scan(generate *g, int check) { return round_bumps(g, BUMP_GROUP, check); }

typedef struct way {
  const char *name;
  int (*round)(generate *g, int check);
  int alternative,
      launches; /* launches: kernels and fills of a round, one fewer where one group counts all */
} way;
static const way ways[] = {
    {"xmc", round_plain, 0, 2},
    {"xmc_workgroup", round_group, 0, 2},
    {"scan_create", round_scan_create, 1, 3},
    {"scan", round_scan, 1, 3},
    {"bump_scan", round_bump_scan, 1, 2},
    {"bump", round_bump, 1, 2},
    {"xmc_region", round_region, 0, 2},
    {"xmc_regiongroup", round_region_group, 0, 2},
};
enum { WAYS = sizeof ways / sizeof *ways, REGIONS = 6 /* the first that needs the region */ };

/* ---- rows ---- */

/* All arguments, for the sizes of one seed. */
static int prepare(generate *g, cl_uint seed) {
  cl_kernel *k = g->kernels;
  cl_mem refs = g->b->refs, counters = g->b->counters, base = g->base, words = g->words;
  cl_uint low = g->low, high = g->high, items = (cl_uint)g->count;
  cl_ulong room = g->room;
  return bench_arguments(k[MAKE], "hmuuuum", g->heap, refs, items, seed, low, high, counters) ||
         bench_arguments(k[MAKE_GROUP], "hmuuuum", g->heap, refs, items, seed, low, high, counters) ||
         bench_arguments(k[DROP], "hm", g->heap, refs) ||
         bench_arguments(k[DROP_GROUP], "hm", g->heap, refs) ||
         bench_arguments(k[REGION_CREATE], "hmm", g->heap, words, counters) ||
         bench_arguments(k[REGION_MAKE], "hmmuuuum", g->heap, words, refs, items, seed, low, high,
                         counters) ||
         bench_arguments(k[REGION_MAKE_GROUP], "hmmuuuum", g->heap, words, refs, items, seed, low, high,
                         counters) ||
         bench_arguments(k[REGION_RESET], "hm", g->heap, words) ||
         bench_arguments(k[REGION_FREE], "hm", g->heap, words) ||
         bench_arguments(k[COUNT], "mmmuuuu", g->offsets, g->shares, words, items, seed, low, high) ||
         bench_arguments(k[SCAN], "mmu", g->shares, words, (cl_uint)g->groups) ||
         bench_arguments(k[FILL], "mmmmuuuu", g->offsets, g->shares, base, refs, items, seed, low, high) ||
         bench_arguments(k[BUMP], "mmlmuuuum", words, base, room, refs, items, seed, low, high, counters) ||
         bench_arguments(k[BUMP_GROUP], "mmlmuuuum", words, base, room, refs, items, seed, low, high,
                         counters) ||
         bench_arguments(k[CHECK_MARKS], "hmumuuuum", g->heap, base, 0u, refs, items, seed, low, high,
                         counters) ||
         bench_arguments(k[CHECK_WHOLE], "hmumuuuum", g->heap, base, 0u, refs, items, seed, low, high,
                         counters);
}

/* Rounds of some ways in turn, so that all meet the same moods of the machine; before them a round of each that is checked. */
static int measure(generate *g, size_t first, size_t end, bench_series *series, unsigned long *failures) {
  int status = 0;
  bench *b = g->b;
  cl_uint seed = 1, counters[2];
  for (size_t w = first; w < end; w++) {
    BENCH_TRY(bench_counters_clear(b));
    BENCH_TRY(prepare(g, 0) || ways[w].round(g, 1));
    BENCH_TRY(bench_counters_read(b, counters));
    failures[w] = counters[0] + counters[1];
  }
  for (; bench_more(b, &series[end - 1]); seed += 0x9e3779b9u)
    for (size_t w = first; w < end; w++) {
      double start;
      BENCH_TRY(bench_counters_clear(b));
      BENCH_TRY(prepare(g, seed));
      start = bench_seconds();
      BENCH_TRY(ways[w].round(g, 0));
      BENCH_CL(clFinish(b->queue));
      bench_sample(b, &series[w], 1e3 * (bench_seconds() - start));
      BENCH_TRY(bench_counters_read(b, counters));
      failures[w] += counters[0];
    }
cleanup:
  return status;
}

/* The ways that need no region come first, so that its chunks do not take the heap's room meanwhile. Afterwards the heap is reset: once
 * room was scarce in it, which a region of large requests makes it, requests take other ways until then. */
static int generate_rows(generate *g) {
  int status = 0;
  bench_series series[WAYS] = {0};
  unsigned long failures[WAYS] = {0};
  g->launched = (g->count + BENCH_LOCAL_SIZE - 1) / BENCH_LOCAL_SIZE * BENCH_LOCAL_SIZE;
  g->counted = (g->count + 1023) / 1024 * BENCH_LOCAL_SIZE;
  g->groups = g->counted / BENCH_LOCAL_SIZE;
  bench_begin("generate %u to %u bytes, %zu work-items", g->low, g->high, g->count);
  BENCH_TRY(measure(g, 0, REGIONS, series, failures));
  BENCH_TRY(prepare(g, 0) || bench_launch(g->b, g->kernels[REGION_CREATE], 1, NULL));
  BENCH_TRY(measure(g, REGIONS, WAYS, series, failures));
  BENCH_TRY(bench_launch(g->b, g->kernels[REGION_FREE], 1, NULL));
  BENCH_CL(xmcResetHeap(g->heap, g->b->queue));
  for (size_t w = 0; w < WAYS; w++)
    bench_add(g->b, ways[w].name, "generate", "generate", g->count, g->high, bench_median(&series[w]),
              failures[w], "range=%u-%u;launches=%d;reps=%d;cold=%.4f", g->low, g->high,
              ways[w].launches - (ways[w].launches == 3 && g->groups == 1), series[w].rounds, series[w].cold)
        ->peer = ways[w].alternative ? BENCH_ALTERNATIVE : 0;
cleanup:
  return status;
}

static int generate_open(generate *g, bench *b, size_t most) {
  int status = 0;
  cl_int error;
  size_t counted = (most + 1023) / 1024 * 1024;
  *g = (generate){.b = b, .heap = bench_heap(b)};
  if (g->heap == NULL || bench_refs(b, counted) == NULL)
    return 1;
  for (int k = 0; k < KERNELS; k++)
    if ((g->kernels[k] = bench_kernel(b, g->heap, "generate.cl", kernel_names[k], 0)) == NULL)
      return 1;
  g->offsets = clCreateBuffer(b->context, CL_MEM_READ_WRITE, counted * sizeof(cl_uint), NULL, &error);
  BENCH_CL(error);
  g->shares = clCreateBuffer(b->context, CL_MEM_READ_WRITE, counted / 1024 * sizeof(cl_ulong), NULL, &error);
  BENCH_CL(error);
  g->words = clCreateBuffer(b->context, CL_MEM_READ_WRITE, sizeof(cl_ulong), NULL, &error);
  BENCH_CL(error);
cleanup:
  return status;
}

static void generate_close(generate *g) {
  cl_mem memory[] = {g->offsets, g->shares, g->words};
  for (int k = 0; k < KERNELS; k++)
    if (g->kernels[k])
      clReleaseKernel(g->kernels[k]);
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
    if (memory[i])
      clReleaseMemObject(memory[i]);
}

int bench_run_generate(bench *b) {
  static const cl_uint highs[] = {64, 4096};
  generate g;
  int status = generate_open(&g, b, b->options.workers);
  for (int r = 0; r < 2 && !status; r++) {
    size_t most = b->options.workers, mean;
    g.low = 4;
    g.high = highs[r];
    mean = (g.low + g.high) / 2 + 16; /* with the padding */
    while (bench_fitting(b, most, mean, b->heap_bytes) < most)
      most /= 2;
    g.room =
        most <= 4096 ? most * g.high : most * mean / 8 * 9; /* the sizes are random: no round comes near */
    g.base = bench_plain(b, g.room);
    if (g.base == NULL) {
      fprintf(stderr, "\nxmc-bench: generate: no memory for %zu bytes\n", g.room);
      status = 1;
    }
    for (g.count = 1; g.count <= most && !status; g.count *= 2)
      status = generate_rows(&g);
  }
  generate_close(&g);
  return status;
}
