/* SPDX-License-Identifier: MIT */
/* A dynamic graph: edges come and go in batches, and adjacency lists grow and shrink in the heap. After each batch the
 * degrees and the number of triangles are compared with the host's. */
#include "sample.h"
#include "graph.cl.h"
#include "karate.txt.h"

typedef struct graph {
  cl_uint2 *edge;
  unsigned char *present; /* which edges the graph has now */
  cl_uint count, vertices;
} graph;

/* Reads a line for each edge; an edge that is there already and one from a vertex to itself are left out. */
static graph read_graph(const char *text) {
  const char *line, *next;
  graph g = {0};
  size_t room = strlen(text) / 4 + 1;
  cl_uint i, a, b;
  g.edge = calloc(room, sizeof *g.edge);
  g.present = calloc(room, 1);
  for (line = text; *line; line = next) {
    next = line + strcspn(line, "\n");
    next += *next == '\n';
    if (*line == '#' || *line == '%' || sscanf(line, "%u %u", &a, &b) != 2 || a == b)
      continue;
    for (i = 0;
         i < g.count && !((g.edge[i].x == a && g.edge[i].y == b) || (g.edge[i].x == b && g.edge[i].y == a));)
      i++;
    if (i < g.count)
      continue;
    g.edge[g.count].x = a;
    g.edge[g.count++].y = b;
    g.vertices = a >= g.vertices ? a + 1 : g.vertices;
    g.vertices = b >= g.vertices ? b + 1 : g.vertices;
  }
  return g;
}

/* The host's result: degrees, then the number of triangles */
static cl_uint host_measure(const graph *g, cl_uint *degree) {
  unsigned char *has = calloc(g->vertices, g->vertices);
  cl_uint i, v, triangles = 0;
  memset(degree, 0, g->vertices * sizeof *degree);
  for (i = 0; i < g->count; i++)
    if (g->present[i]) {
      degree[g->edge[i].x]++;
      degree[g->edge[i].y]++;
      has[(size_t)g->edge[i].x * g->vertices + g->edge[i].y] = 1;
      has[(size_t)g->edge[i].y * g->vertices + g->edge[i].x] = 1;
    }
  for (i = 0; i < g->count; i++)
    for (v = 0; g->present[i] && v < g->vertices; v++)
      triangles += has[(size_t)g->edge[i].x * g->vertices + v] && has[(size_t)g->edge[i].y * g->vertices + v];
  free(has);
  return triangles / 3;
}

static int differs(sample *s, const graph *g, cl_mem lists, cl_uint *triangles) {
  cl_uint *degree = calloc(g->vertices, sizeof *degree), v, found = 0, edges = 0, wrong = 0;
  cl_uint2 *out = calloc(g->vertices, sizeof *out);
  cl_mem buffer = sample_buffer(s, g->vertices * sizeof *out, NULL);
  sample_launch(s, "measure", g->vertices, "mum", lists, g->vertices, buffer);
  sample_read(s, buffer, out, g->vertices * sizeof *out);
  *triangles = host_measure(g, degree);
  for (v = 0; v < g->vertices; v++) {
    wrong += out[v].x != degree[v];
    found += out[v].y;
    edges += degree[v];
  }
  clReleaseMemObject(buffer);
  free(out);
  free(degree);
  return wrong || found != *triangles || sample_heap_differs(s, edges);
}

/* Adds (or removes) every edge i with i % parts == part. */
static void batch(sample *s, graph *g, cl_mem lists, cl_uint parts, cl_uint part, int add) {
  cl_uint2 *edges = calloc(g->count + 1, sizeof *edges);
  cl_uint i, n = 0;
  cl_mem buffer;
  for (i = part; i < g->count; i += parts) {
    g->present[i] = (unsigned char)add;
    edges[n++] = g->edge[i];
  }
  buffer = sample_buffer(s, (n + 1) * sizeof *edges, edges);
  if (n && add) {
    sample_launch(s, "add_edges", 2 * n, "mmu", lists, buffer, n);
  } else if (n) {
    sample_launch(s, "mark_edges", 2 * n, "mmu", lists, buffer, n);
    sample_launch(s, "sweep", g->vertices, "mu", lists, g->vertices);
  }
  clReleaseMemObject(buffer);
  free(edges);
}

static int run(sample *s) {
  char *text = s->argc > 0 ? sample_file(s->argv[0]) : NULL;
  graph g = read_graph(text ? text : karate_txt);
  cl_mem lists;
  cl_uint part, triangles = 0, whole = 0;
  int wrong = 0;
  free(text);
  CHECK(xmcCheckRef32(s->heap)); /* the kernels rely on 32-bit references */
  if (!g.count) {
    fprintf(stderr, "no edges\n");
    return 1;
  }
  lists = sample_buffer(s, g.vertices * sizeof(xmcRef32), NULL);
  for (part = 0; part < 4; part++) { /* grows */
    batch(s, &g, lists, 4, part, 1);
    wrong |= differs(s, &g, lists, &whole);
  }
  for (part = 0; part < 3; part++) { /* loses a third, gets it back, loses the next */
    batch(s, &g, lists, 3, part, 0);
    wrong |= differs(s, &g, lists, &triangles);
    batch(s, &g, lists, 3, part, 1);
    wrong |= differs(s, &g, lists, &triangles);
  }
  wrong |= triangles != whole;
  batch(s, &g, lists, 1, 0, 0);
  wrong |= differs(s, &g, lists, &triangles) || triangles != 0;
  printf("%u edges, %u triangles\n", g.count, whole);
  clReleaseMemObject(lists);
  free(g.edge);
  free(g.present);
  return wrong;
}

int main(int argc, char **argv) {
  static const sample_description graph = {
      "sample_graph [FILE]\n"
      "Adds and removes the edges of a graph in batches and counts its triangles.\n"
      "  FILE  a line with two vertex numbers for each edge; # and % begin comments; default: Zachary's "
      "karate\n"
      "        club (1977), 34 members and 78 friendships",
      graph_cl, 32, run};
  return sample_main(argc, argv, &graph);
}
