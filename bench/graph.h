/* SPDX-License-Identifier: MIT */
/* Graphs for the workload graph, in compressed sparse rows: the neighbours of vertex v are targets[offsets[v]] up to
 * targets[offsets[v + 1]], this one excluded, in ascending order.
 */
#ifndef BENCH_GRAPH_H
#define BENCH_GRAPH_H
#include <stddef.h>
#include <stdint.h>

typedef struct bench_graph {
  char name[64];
  uint32_t vertices, edges; /* edges in both directions count twice */
  uint32_t *offsets, *targets;
} bench_graph;

/* All return 0, or 1 after a message. A graph that could not be made is to be freed, too. */

/* Points at random in the unit square, whose numbers follow the square's cells; neighbours are nearer than 0.55 *
 * sqrt(ln n / n), as in the graphs rgg_n_2_k_s0 of the DIMACS challenges. */
int bench_graph_geometric(bench_graph *g, uint32_t vertices, uint32_t seed);
/* A grid whose cells are halved by one of their diagonals at random: a triangulation of the plane, with the mean degree of the graphs
 * delaunay_nk of these challenges. `vertices` is rounded down to a full grid. */
int bench_graph_triangulation(bench_graph *g, uint32_t vertices, uint32_t seed);
/* A file of the Matrix Market, in coordinates; what values it has are skipped. An entry of a symmetric matrix is an edge in
 * both directions. */
int bench_graph_read(bench_graph *g, const char *path);
void bench_graph_free(bench_graph *g);

/* Puts each vertex's targets in ascending order. */
void bench_graph_sort(const uint32_t *offsets, uint32_t *targets, uint32_t vertices);
#endif
