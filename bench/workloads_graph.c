/* SPDX-License-Identifier: MIT */
/* graph: adjacency lists in blocks of their own. They are made, and edges are inserted and removed in batches. */
#include "bench.h"
#include "graph.h"
#include <stdlib.h>
#include <string.h>

enum { INIT, INSERT, REMOVE, EXPORT, FREE, FLOOR, KERNELS };
static const char *const kernel_names[KERNELS] = {"graph_init",   "graph_insert", "graph_remove",
                                                  "graph_export", "graph_free",   "graph_init_floor"};

/* A batch of edges, sorted by their sources, of which each is one run. */
typedef struct batch {
  size_t edges, runs;
  uint64_t *pairs, *sorting; /* source << 32 | target */
  cl_uint *sources, *starts, *targets;
} batch;

typedef struct graph_bench {
  bench *b;
  xmc_heap heap;
  bench_graph graph;
  size_t launched; /* work-items for all vertices */
  batch edges;
  cl_kernel kernels[KERNELS];
  cl_mem degrees, offsets, targets, runs, starts, batch; /* uints */
  cl_mem expected, exported;                             /* as offsets and targets, with room for a batch */
} graph_bench;

static size_t whole_groups(size_t count) {
  return (count + BENCH_LOCAL_SIZE - 1) / BENCH_LOCAL_SIZE * BENCH_LOCAL_SIZE;
}

static cl_uint capacity(cl_uint degree) {
  cl_uint bytes = 16;
  while (bytes < 4 * degree)
    bytes *= 2;
  return bytes;
}

/* ---- batches ---- */

static void batch_close(batch *e) {
  free(e->pairs);
  free(e->sorting);
  free(e->sources);
  free(e->starts);
  free(e->targets);
}

static int batch_open(batch *e, size_t most) {
  e->pairs = malloc(most * sizeof *e->pairs);
  e->sorting = malloc(most * sizeof *e->sorting);
  e->sources = malloc(most * sizeof *e->sources);
  e->starts = malloc((most + 1) * sizeof *e->starts);
  e->targets = malloc(most * sizeof *e->targets);
  return !e->pairs || !e->sorting || !e->sources || !e->starts || !e->targets;
}

/* By sources, 11 bits at a time from the lowest. */
static void batch_sort(batch *e) {
  for (unsigned shift = 32; shift < 64; shift += 11) {
    size_t next[2049] = {0};
    uint64_t *swap = e->pairs;
    for (size_t i = 0; i < e->edges; i++)
      next[(e->pairs[i] >> shift & 2047) + 1]++;
    for (size_t d = 1; d < 2048; d++)
      next[d] += next[d - 1];
    for (size_t i = 0; i < e->edges; i++)
      e->sorting[next[e->pairs[i] >> shift & 2047]++] = e->pairs[i];
    e->pairs = e->sorting;
    e->sorting = swap;
  }
}

/* Random edges; the sources lie in a window of so many vertices, which moves with each batch. An edge may be there already. */
static void batch_draw(batch *e, cl_uint vertices, cl_uint window, cl_uint number) {
  cl_uint seed = bench_hash(number + 1), first = (cl_uint)((uint64_t)window * number % vertices);
  for (size_t i = 0; i < e->edges; i++) {
    uint64_t source = (first + (uint64_t)(bench_hash(seed + 2 * (cl_uint)i) % window)) % vertices;
    e->pairs[i] = source << 32 | bench_hash(seed + 2 * (cl_uint)i + 1) % vertices;
  }
  batch_sort(e);
  e->runs = 0;
  for (size_t i = 0; i < e->edges; i++) {
    cl_uint source = (cl_uint)(e->pairs[i] >> 32);
    if (i == 0 || source != e->sources[e->runs - 1]) {
      e->sources[e->runs] = source;
      e->starts[e->runs++] = (cl_uint)i;
    }
    e->targets[i] = (cl_uint)e->pairs[i];
  }
  e->starts[e->runs] = (cl_uint)e->edges;
}

/* ---- checks ---- */

/* What all vertices should have: the graph, and the edges of a batch if there is one. *offsets and *targets are the caller's. */
static int expect(const bench_graph *g, const batch *e, cl_uint **offsets, cl_uint **targets) {
  size_t edges = g->edges + (e ? e->edges : 0), run = 0, at = 0;
  *offsets = malloc(((size_t)g->vertices + 1) * sizeof **offsets);
  *targets = malloc(edges * sizeof **targets + 1);
  if (!*offsets || !*targets)
    return 1;
  for (cl_uint v = 0; v < g->vertices; v++) {
    size_t count = g->offsets[v + 1] - g->offsets[v];
    (*offsets)[v] = (cl_uint)at;
    memcpy(*targets + at, g->targets + g->offsets[v], count * sizeof **targets);
    at += count;
    if (e && run < e->runs && e->sources[run] == v) {
      count = e->starts[run + 1] - e->starts[run];
      memcpy(*targets + at, e->targets + e->starts[run++], count * sizeof **targets);
      at += count;
    }
  }
  (*offsets)[g->vertices] = (cl_uint)at;
  bench_graph_sort(*offsets, *targets, g->vertices);
  return 0;
}

static int upload(bench *b, cl_mem memory, const void *from, size_t bytes) {
  int status = 0;
  if (bytes)
    BENCH_CL(clEnqueueWriteBuffer(b->queue, memory, CL_TRUE, 0, bytes, from, 0, NULL, NULL));
cleanup:
  return status;
}

/* Compares the device's graph with the host's. Vertices that differ, and failures that the kernels counted since the last look,
 * are added to *wrong. */
static int check(graph_bench *t, const batch *e, unsigned long *wrong) {
  int status = 0;
  bench *b = t->b;
  cl_uint *offsets = NULL, *targets = NULL, *found = NULL, counters[2], vertices = t->graph.vertices;
  size_t bytes;
  BENCH_TRY(expect(&t->graph, e, &offsets, &targets));
  bytes = offsets[vertices] * sizeof *found;
  BENCH_TRY((found = malloc(bytes + 1)) == NULL);
  BENCH_TRY(upload(b, t->expected, offsets, (vertices + 1) * sizeof *offsets));
  memset(found, 0xff, bytes);
  BENCH_TRY(upload(b, t->exported, found, bytes));
  BENCH_TRY(bench_launch(b, t->kernels[EXPORT], t->launched, NULL));
  BENCH_TRY(bench_counters_read(b, counters));
  if (bytes)
    BENCH_CL(clEnqueueReadBuffer(b->queue, t->exported, CL_TRUE, 0, bytes, found, 0, NULL, NULL));
  bench_graph_sort(offsets, found, vertices);
  for (cl_uint v = 0; v < vertices; v++)
    *wrong +=
        memcmp(targets + offsets[v], found + offsets[v], (offsets[v + 1] - offsets[v]) * sizeof *found) != 0;
  *wrong += counters[0] + counters[1];
  BENCH_TRY(bench_counters_clear(b));
cleanup:
  free(offsets);
  free(targets);
  free(found);
  return status;
}

/* ---- rows ---- */

/* The same without an allocator; *bytes is what all blocks take. */
static int init_floor(graph_bench *t, double *ms, size_t *bytes) {
  int status = 0;
  bench *b = t->b;
  bench_series series = {0};
  cl_uint vertices = t->graph.vertices;
  cl_mem base, places = NULL;
  cl_int error;
  cl_ulong *at = malloc(vertices * sizeof *at);
  *ms = 0;
  *bytes = 0;
  if (at == NULL)
    return 1;
  for (cl_uint v = 0; v < vertices; v++) {
    at[v] = *bytes;
    *bytes += capacity(t->graph.offsets[v + 1] - t->graph.offsets[v]);
  }
  base = bench_plain(b, *bytes);
  if (base == NULL)
    goto cleanup;
  places = clCreateBuffer(b->context, CL_MEM_READ_WRITE, vertices * sizeof *at, NULL, &error);
  BENCH_CL(error);
  BENCH_TRY(upload(b, places, at, vertices * sizeof *at));
  BENCH_TRY(bench_arguments(t->kernels[FLOOR], "mmmmmmu", base, places, b->refs, t->degrees, t->offsets,
                            t->targets, vertices));
  while (bench_more(b, &series)) {
    double sample;
    BENCH_TRY(bench_launch(b, t->kernels[FLOOR], t->launched, &sample));
    bench_sample(b, &series, sample);
  }
  *ms = bench_median(&series);
cleanup:
  if (places)
    clReleaseMemObject(places);
  free(at);
  return status;
}

/* The last round's lists stay. */
static int init_row(graph_bench *t) {
  int status = 0;
  bench *b = t->b;
  bench_series series = {0};
  unsigned long wrong = 0;
  cl_uint vertices = t->graph.vertices;
  double floor;
  size_t bytes;
  bench_begin("graph %s, %u vertices, %u edges", t->graph.name, vertices, t->graph.edges);
  BENCH_TRY(init_floor(t, &floor, &bytes));
  BENCH_TRY(bench_counters_clear(b));
  for (;;) {
    double sample;
    BENCH_TRY(bench_launch(b, t->kernels[INIT], t->launched, &sample));
    bench_sample(b, &series, sample);
    if (!bench_more(b, &series))
      break;
    BENCH_TRY(bench_launch(b, t->kernels[FREE], t->launched, NULL));
  }
  BENCH_TRY(check(t, NULL, &wrong));
  bench_add(b, "xmc", "graphinit", "graphinit", vertices, bytes / vertices, bench_median(&series), wrong,
            "graph=%s;edges=%u;reps=%d;cold=%.4f", t->graph.name, t->graph.edges, series.rounds, series.cold)
      ->floor = floor;
cleanup:
  return status;
}

/* Inserts one batch, with a check if `wrong` is not NULL, and removes it. */
static int batch_round(graph_bench *t, bench_series *inserts, bench_series *removes, unsigned long *wrong) {
  int status = 0;
  bench *b = t->b;
  batch *e = &t->edges;
  double sample;
  BENCH_TRY(upload(b, t->runs, e->sources, e->runs * sizeof *e->sources));
  BENCH_TRY(upload(b, t->starts, e->starts, (e->runs + 1) * sizeof *e->starts));
  BENCH_TRY(upload(b, t->batch, e->targets, e->edges * sizeof *e->targets));
  for (int k = INSERT; k <= REMOVE; k++)
    BENCH_TRY(bench_arguments(t->kernels[k], "hmmmmmum", t->heap, b->refs, t->degrees, t->runs, t->starts,
                              t->batch, (cl_uint)e->runs, b->counters));
  BENCH_TRY(bench_launch(b, t->kernels[INSERT], whole_groups(e->runs), &sample));
  bench_sample(b, inserts, sample);
  if (wrong)
    BENCH_TRY(check(t, e, wrong) || bench_save_trace(b, t->heap, ""));
  BENCH_TRY(bench_launch(b, t->kernels[REMOVE], whole_groups(e->runs), &sample));
  bench_sample(b, removes, sample);
cleanup:
  return status;
}

/* 100 batches, fewer if their time is over or few rounds are asked for. After them one more, which is checked: what went wrong
 * before shows there, for nothing is made anew. window 0: all vertices. */
static int batch_rows(graph_bench *t, size_t edges, cl_uint window) {
  int status = 0, rounds = 15 * t->b->options.repeat < 100 ? 15 * t->b->options.repeat : 100;
  bench *b = t->b;
  bench_series series[2] = {0}, unused[2] = {0};
  unsigned long wrong = 0;
  cl_uint vertices = t->graph.vertices, number = 0;
  char where[16] = "all";
  if (window)
    snprintf(where, sizeof where, "%u", window);
  if (window == 0 || window > vertices)
    window = vertices;
  t->edges.edges = edges;
  bench_begin("graph %s, batches of %zu edges, window %s", t->graph.name, edges, where);
  while (!series[1].started ||
         (series[1].rounds < rounds && bench_seconds() - series[1].since < b->options.seconds)) {
    batch_draw(&t->edges, vertices, window, number++);
    BENCH_TRY(batch_round(t, &series[0], &series[1], NULL));
  }
  batch_draw(&t->edges, vertices, window, number);
  BENCH_TRY(batch_round(t, &unused[0], &unused[1], &wrong));
  BENCH_TRY(check(t, NULL, &wrong));
  for (int i = 0; i < 2; i++)
    bench_add(b, "xmc", i ? "graphremove" : "graphinsert", i ? "graphremove" : "graphinsert", edges, 4,
              bench_median(&series[i]), wrong, "graph=%s;vertices=%u;window=%s;reps=%d;cold=%.4f",
              t->graph.name, vertices, where, series[i].rounds, series[i].cold);
cleanup:
  return status;
}

static int graph_memory(graph_bench *t, size_t most) {
  int status = 0;
  bench *b = t->b;
  size_t vertices = t->graph.vertices, edges = t->graph.edges;
  cl_mem *memory[] = {&t->degrees, &t->offsets, &t->targets,  &t->runs,
                      &t->starts,  &t->batch,   &t->expected, &t->exported};
  size_t counts[] = {vertices, vertices + 1, edges + 1, most, most + 1, most, vertices + 1, edges + most};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
    cl_int error;
    *memory[i] = clCreateBuffer(b->context, CL_MEM_READ_WRITE, counts[i] * sizeof(cl_uint), NULL, &error);
    BENCH_CL(error);
  }
  BENCH_TRY(upload(b, t->offsets, t->graph.offsets, (vertices + 1) * sizeof(cl_uint)));
  BENCH_TRY(upload(b, t->targets, t->graph.targets, edges * sizeof(cl_uint)));
  BENCH_TRY(batch_open(&t->edges, most) || bench_refs(b, vertices) == NULL);
  BENCH_TRY(bench_arguments(t->kernels[INIT], "hmmmmum", t->heap, b->refs, t->degrees, t->offsets, t->targets,
                            (cl_uint)vertices, b->counters));
  BENCH_TRY(bench_arguments(t->kernels[EXPORT], "hmmmmum", t->heap, b->refs, t->degrees, t->expected,
                            t->exported, (cl_uint)vertices, b->counters));
  BENCH_TRY(bench_arguments(t->kernels[FREE], "hmu", t->heap, b->refs, (cl_uint)vertices));
cleanup:
  return status;
}

static void graph_close(graph_bench *t) {
  cl_mem memory[] = {t->degrees, t->offsets, t->targets,  t->runs,
                     t->starts,  t->batch,   t->expected, t->exported};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
    if (memory[i])
      clReleaseMemObject(memory[i]);
  for (int k = 0; k < KERNELS; k++)
    if (t->kernels[k])
      clReleaseKernel(t->kernels[k]);
  batch_close(&t->edges);
}

static int graph_rows(bench *b, const bench_graph *graph) {
  static const size_t edges[] = {10000, 1000000, 10000, 10000, 1000000};
  static const cl_uint windows[] = {0, 0, 100, 10000, 10000};
  int status = 0;
  size_t most = 16 * (size_t)graph->vertices < 1000000 ? 16 * (size_t)graph->vertices : 1000000;
  graph_bench t = {.b = b, .heap = bench_heap(b), .graph = *graph, .launched = whole_groups(graph->vertices)};
  BENCH_TRY(t.heap == NULL);
  for (int k = 0; k < KERNELS; k++)
    BENCH_TRY((t.kernels[k] = bench_kernel(b, t.heap, "graph.cl", kernel_names[k], 0)) == NULL);
  BENCH_TRY(graph_memory(&t, most));
  BENCH_TRY(init_row(&t));
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
    BENCH_TRY(batch_rows(&t, edges[i] < most ? edges[i] : most, windows[i]));
  BENCH_TRY(bench_launch(b, t.kernels[FREE], t.launched, NULL) || bench_save_trace(b, t.heap, ".end"));
cleanup:
  graph_close(&t);
  return status;
}

/* The graph of a file, or two that are made here, on CPU devices of a 16th of the size; the first one only, if it is traced. */
int bench_run_graph(bench *b) {
  cl_uint vertices = (cl_uint)(b->options.workers / (b->cpu ? 16 : 1));
  bench_graph graph;
  int status = 0;
  for (int i = 0; i < (b->options.graph || b->options.trace_path ? 1 : 2) && !status; i++) {
    bench_begin("graph: making it");
    status = b->options.graph ? bench_graph_read(&graph, b->options.graph)
             : i == 0         ? bench_graph_geometric(&graph, vertices, 1)
                              : bench_graph_triangulation(&graph, vertices, 1);
    status = status || graph_rows(b, &graph);
    bench_graph_free(&graph);
  }
  return status;
}
