/* SPDX-License-Identifier: MIT */
/* ageing: how much memory a program needs whose sizes drift, on the device and, on CPU devices, by threads of the host. */
#include "ageing.h"
#include "bench.h"
#include <stdlib.h>

/* Heaps, by how many times the bytes that may be live they have: 512 MiB may be live on a GPU unless --workers says otherwise */
static const double heaps[] = {1.5, 2, 2.25, 2.5, 3, 5};
enum { HEAPS = sizeof heaps / sizeof *heaps, STEPS = 5 };

static size_t item_count(const bench *b) {
  size_t items = b->options.workers / (b->cpu ? 256 : 16);
  return items < 64 ? 64 : items;
}

static const char *frees(const ageing_form *f) { return f->others ? "others" : "own"; }

/* The form as a row's parameters */
static const char *parameters(const ageing_form *f) {
  static char text[48];
  int used = snprintf(text, sizeof text, "frees=%s;", frees(f));
  if (f->threads)
    snprintf(text + used, sizeof text - (size_t)used, "host_threads=%u;", f->threads);
  return text;
}

/* ---- by the device ---- */

typedef struct tables {
  bench *b;
  cl_kernel age, end;
  cl_mem refs, state, places, tally;
  cl_uint *rows; /* the host's copy of the state */
  size_t items, place_count;
} tables;

static int zero(bench *b, cl_mem *memory, size_t bytes) {
  const cl_uint none = 0;
  int status = 0;
  cl_int error;
  *memory = clCreateBuffer(b->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
  BENCH_CL(error);
  BENCH_CL(clEnqueueFillBuffer(b->queue, *memory, &none, sizeof none, 0, bytes, 0, NULL, NULL));
cleanup:
  return status;
}

static void tables_close(tables *t) {
  cl_mem memory[] = {t->state, t->places, t->tally};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
    if (memory[i])
      clReleaseMemObject(memory[i]);
  if (t->age)
    clReleaseKernel(t->age);
  if (t->end)
    clReleaseKernel(t->end);
  free(t->rows);
}

static int tables_open(tables *t, bench *b, xmc_heap heap, size_t items) {
  int status = 0;
  *t = (tables){.b = b, .items = items, .place_count = ageing_places((uint32_t)items)};
  t->age = bench_kernel(b, heap, "ageing.cl", "age", 0);
  t->end = bench_kernel(b, heap, "ageing.cl", "age_end", 0);
  t->refs = bench_refs(b, items * BENCH_AGEING_BLOCKS);
  t->rows = calloc(3 * items, sizeof *t->rows);
  if (!t->age || !t->end || !t->refs || !t->rows)
    return 1;
  BENCH_TRY(zero(b, &t->state, 3 * items * sizeof(cl_uint)));
  BENCH_TRY(zero(b, &t->places, t->place_count * sizeof(cl_ulong)));
  BENCH_TRY(zero(b, &t->tally, items * sizeof(cl_ulong)));
  for (size_t i = 0; i < items; i++)
    t->rows[i] = bench_ageing_seed((cl_uint)i);
  BENCH_CL(
      clEnqueueWriteBuffer(b->queue, t->state, CL_TRUE, 0, items * sizeof *t->rows, t->rows, 0, NULL, NULL));
cleanup:
  return status;
}

/* The blocks that did not hold their tags, and 1 if not every tag that was written was found once */
static int count_wrong(tables *t, unsigned long *wrong) {
  int status = 0;
  cl_uint counters[2];
  cl_ulong balance = 0, *tally = malloc(t->items * sizeof *tally);
  if (tally == NULL)
    return 1;
  BENCH_TRY(bench_counters_read(t->b, counters));
  BENCH_CL(
      clEnqueueReadBuffer(t->b->queue, t->tally, CL_TRUE, 0, t->items * sizeof *tally, tally, 0, NULL, NULL));
  for (size_t i = 0; i < t->items; i++)
    balance += tally[i];
  *wrong = (unsigned long)counters[1] + (balance != 0);
cleanup:
  free(tally);
  return status;
}

static int by_device(bench *b, xmc_heap heap, const ageing_form *f, size_t items, ageing_result *result) {
  int status = 0;
  cl_uint counters[2], before = 0, mask;
  tables t;
  BENCH_TRY(tables_open(&t, b, heap, items));
  mask = (cl_uint)t.place_count - 1;
  BENCH_TRY(bench_counters_clear(b));
  for (cl_uint phase = 0; phase < BENCH_AGEING_PHASES && !(f->stops && before); phase++) {
    BENCH_TRY(bench_arguments(t.age, "hmmmuuumm", heap, t.refs, t.state, t.places, mask, (cl_uint)f->others,
                              phase, t.tally, b->counters));
    BENCH_TRY(bench_launch(b, t.age, items, &result->ms[phase]));
    BENCH_TRY(bench_counters_read(b, counters));
    result->refused[phase] = counters[0] - before;
    before = counters[0];
    BENCH_CL(clEnqueueReadBuffer(b->queue, t.state, CL_TRUE, 0, 3 * items * sizeof *t.rows, t.rows, 0, NULL,
                                 NULL));
    for (size_t i = 0; i < items; i++)
      result->live[phase] += t.rows[2 * items + i];
  }
  BENCH_TRY(bench_arguments(t.end, "hmmmumm", heap, t.refs, t.state, t.places, mask, t.tally, b->counters));
  BENCH_TRY(bench_launch(b, t.end, items, NULL));
  BENCH_TRY(count_wrong(&t, &result->wrong));
cleanup:
  tables_close(&t);
  return status;
}

/* ---- by threads of the host ---- */

static void *host_allocate(void *heap, size_t bytes) { return xmcHostMalloc(heap, bytes, NULL); }
static void host_release(void *heap, void *block) { xmcHostFree(heap, block); }

static int by_host(bench *b, xmc_heap heap, const ageing_form *f, size_t items, ageing_result *result) {
  const ageing_allocator allocator = {host_allocate, host_release, heap};
  int status = 0;
  BENCH_CL(xmcMapHeap(heap, b->queue));
  status = ageing_run(&allocator, (uint32_t)items, f, NULL, NULL, result);
  BENCH_CL(xmcUnmapHeap(heap, b->queue));
cleanup:
  return status;
}

/* ---- rows ---- */

static unsigned long refusals(const ageing_result *r) {
  unsigned long sum = 0;
  for (unsigned p = 0; p < BENCH_AGEING_PHASES; p++)
    sum += r->refused[p];
  return sum;
}

/* Runs the program on a heap of its own, which is checked when all is freed. */
static int age(bench *b, const ageing_form *f, double times, ageing_result *result, size_t *bytes) {
  size_t items = item_count(b);
  xmc_heap heap;
  int status;
  *result = (ageing_result){0};
  *bytes = (size_t)(times * (double)(items * BENCH_AGEING_LIVE)) & ~(size_t)65535;
  bench_begin("ageing, frees by %s, %s%.0u%s, heap %.2f times what may be live", frees(f),
              f->threads ? "" : "the device", f->threads, f->threads ? " threads" : "", times);
  heap = bench_heap_open(b, *bytes, -1, -2);
  if (heap == NULL)
    return 1;
  status = (f->threads ? by_host : by_device)(b, heap, f, items, result);
  return bench_heap_close(b, heap) || status;
}

/* A line a phase by the device, and one for all phases. Refused requests are what is measured, not failures of the row. */
static void add_rows(bench *b, const ageing_form *f, double times, size_t bytes, const ageing_result *r) {
  size_t items = item_count(b), operations = items * BENCH_AGEING_ROUNDS, most_live = 0;
  double ms = 0;
  for (unsigned p = 0; p < BENCH_AGEING_PHASES; p++) {
    ms += r->ms[p];
    most_live = r->live[p] > most_live ? r->live[p] : most_live;
    if (!f->threads)
      bench_add(b, "xmc", "ageing", "ageing", items, BENCH_AGEING_LIVE, r->ms[p], 0,
                "%stimes=%.3f;phase=%u;refused=%lu;operations=%zu;live=%zu;heap=%zu", parameters(f), times, p,
                r->refused[p], operations, r->live[p], bytes);
  }
  bench_add(b, "xmc", "ageing", "ageing", items, BENCH_AGEING_LIVE, ms, r->wrong,
            "%stimes=%.3f;phase=all;refused=%lu;operations=%zu;live=%zu;heap=%zu;bad=%lu", parameters(f),
            times, refusals(r), BENCH_AGEING_PHASES * operations, most_live, bytes, r->wrong);
}

/* The smallest heap in which nothing is refused: halves STEPS times between a heap that refused and a larger one that did not, as
 * if more memory always served at least as well. */
static int least_heap(bench *b, const ageing_form *f, double refuses, double serves) {
  const ageing_form brief = {.threads = f->threads, .others = f->others, .stops = 1};
  size_t bytes;
  unsigned long wrong = 0;
  for (int step = 0; step < STEPS; step++) {
    double times = (refuses + serves) / 2;
    ageing_result result;
    if (age(b, &brief, times, &result, &bytes))
      return 1;
    wrong += result.wrong;
    if (refusals(&result))
      refuses = times;
    else
      serves = times;
  }
  bench_add(b, "xmc", "ageingleast", f->threads ? "ageingpeak" : "ageingleast", item_count(b),
            BENCH_AGEING_LIVE, serves, wrong, "%srefuses=%.3f;steps=%d", parameters(f), refuses, STEPS);
  return 0;
}

static int run_form(bench *b, const ageing_form *f) {
  double refuses = 1, serves = 0;
  for (int i = 0; i < HEAPS; i++) {
    ageing_result result;
    size_t bytes;
    if (heaps[i] < 2 && !b->cpu) /* where most is refused a GPU takes long */
      continue;
    if (age(b, f, heaps[i], &result, &bytes))
      return 1;
    add_rows(b, f, heaps[i], bytes, &result);
    if (b->options.csv && bench_write_csv(b, b->options.csv)) /* for whoever does not wait to the end */
      return 1;
    if (refusals(&result)) {
      refuses = heaps[i];
      serves = 0;
    } else if (serves == 0) {
      serves = heaps[i];
    }
  }
  if (serves == 0) {
    fprintf(stderr, "\nxmc-bench: ageing: the largest heap refuses, too: no row of the smallest one\n");
    return 0;
  }
  return least_heap(b, f, refuses, serves);
}

int bench_run_ageing(bench *b) {
  static const ageing_form forms[] = {{0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 0}, {8, 0, 0}, {8, 1, 0}};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    if ((forms[i].threads == 0 || b->cpu) && run_form(b, &forms[i]))
      return 1;
  return 0;
}
