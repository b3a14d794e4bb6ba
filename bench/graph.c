/* SPDX-License-Identifier: MIT */
#include "graph.h"
#include "kernels/common.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int out_of_memory(void) {
  fprintf(stderr, "\nxmc-bench: graph: out of memory\n");
  return 1;
}

static int by_number(const void *x, const void *y) {
  uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
  return (a > b) - (a < b);
}

/* Most lists are short. */
static void sort_list(uint32_t *list, size_t count) {
  if (count > 32) {
    qsort(list, count, sizeof *list, by_number);
    return;
  }
  for (size_t i = 1; i < count; i++) {
    uint32_t value = list[i];
    size_t k = i;
    for (; k > 0 && list[k - 1] > value; k--)
      list[k] = list[k - 1];
    list[k] = value;
  }
}

void bench_graph_sort(const uint32_t *offsets, uint32_t *targets, uint32_t vertices) {
  for (uint32_t v = 0; v < vertices; v++)
    sort_list(targets + offsets[v], offsets[v + 1] - offsets[v]);
}

void bench_graph_free(bench_graph *g) {
  free(g->offsets);
  free(g->targets);
  *g = (bench_graph){0};
}

/* Room for `more` further targets; `room` is what there is. */
static int reserve(bench_graph *g, size_t *room, size_t more) {
  uint32_t *targets;
  if (g->edges + more > UINT32_MAX) {
    fprintf(stderr, "\nxmc-bench: graph: more than 2^32 edges\n");
    return 1;
  }
  if (g->edges + more <= *room)
    return 0;
  *room = 2 * (g->edges + more);
  targets = realloc(g->targets, *room * sizeof *targets);
  if (targets == NULL)
    return out_of_memory();
  g->targets = targets;
  return 0;
}

/* ---- random geometric graphs ---- */

typedef struct points {
  double *x, *y;
  uint32_t *cells; /* the first point of each cell, and one more */
  uint32_t side;   /* cells in a row */
  double radius;
} points;

static double coordinate(uint32_t point, uint32_t seed, uint32_t axis) {
  uint64_t high = bench_hash(2 * point + axis + bench_hash(seed)),
           low = bench_hash((uint32_t)high ^ 0x9e3779b9u);
  return (double)((high << 32 | low) >> 11) * 0x1p-53; /* below 1 */
}

static uint32_t cell_of(const points *p, double x, double y) {
  return (uint32_t)(y * p->side) * p->side + (uint32_t)(x * p->side);
}

/* Points in the order of their cells, by counting. */
static int place_points(points *p, uint32_t vertices, uint32_t seed) {
  size_t cells = (size_t)p->side * p->side;
  p->x = malloc(vertices * sizeof *p->x);
  p->y = malloc(vertices * sizeof *p->y);
  p->cells = calloc(cells + 2, sizeof *p->cells);
  if (!p->x || !p->y || !p->cells)
    return out_of_memory();
  for (uint32_t i = 0; i < vertices; i++)
    p->cells[cell_of(p, coordinate(i, seed, 0), coordinate(i, seed, 1)) + 2]++;
  for (size_t c = 2; c < cells + 2; c++)
    p->cells[c] += p->cells[c - 1];
  for (uint32_t i = 0; i < vertices; i++) {
    double x = coordinate(i, seed, 0), y = coordinate(i, seed, 1);
    uint32_t at = p->cells[cell_of(p, x, y) + 1]++;
    p->x[at] = x;
    p->y[at] = y;
  }
  return 0;
}

static int near_points(bench_graph *g, size_t *room, const points *p, uint32_t v) {
  uint32_t column = (uint32_t)(p->x[v] * p->side), row = (uint32_t)(p->y[v] * p->side);
  for (uint32_t y = row ? row - 1 : 0; y <= row + 1 && y < p->side; y++)
    for (uint32_t x = column ? column - 1 : 0; x <= column + 1 && x < p->side; x++) {
      uint32_t cell = y * p->side + x, first = p->cells[cell], end = p->cells[cell + 1];
      if (reserve(g, room, end - first))
        return 1;
      for (uint32_t other = first; other < end; other++) {
        double dx = p->x[other] - p->x[v], dy = p->y[other] - p->y[v];
        if (other != v && dx * dx + dy * dy < p->radius * p->radius)
          g->targets[g->edges++] = other;
      }
    }
  return 0;
}

int bench_graph_geometric(bench_graph *g, uint32_t vertices, uint32_t seed) {
  points p = {.radius = vertices > 1 ? 0.55 * sqrt(log(vertices) / vertices) : 1};
  size_t room = 0;
  int status;
  *g = (bench_graph){.name = "rgg", .vertices = vertices};
  p.side = p.radius < 1 ? (uint32_t)(1 / p.radius) : 1;
  g->offsets = calloc((size_t)vertices + 1, sizeof *g->offsets);
  status = g->offsets == NULL ? out_of_memory() : place_points(&p, vertices, seed);
  for (uint32_t v = 0; v < vertices && !status; v++) {
    status = near_points(g, &room, &p, v);
    g->offsets[v + 1] = g->edges;
  }
  if (!status)
    bench_graph_sort(g->offsets, g->targets, vertices);
  free(p.x);
  free(p.y);
  free(p.cells);
  return status;
}

/* ---- triangulations ---- */

int bench_graph_triangulation(bench_graph *g, uint32_t vertices, uint32_t seed) {
  uint32_t width = (uint32_t)sqrt(vertices), height = width ? vertices / width : 0;
  *g = (bench_graph){.name = "delaunay", .vertices = width * height};
  g->offsets = calloc((size_t)g->vertices + 1, sizeof *g->offsets);
  g->targets = malloc((size_t)g->vertices * 8 * sizeof *g->targets + 1);
  if (!g->offsets || !g->targets)
    return out_of_memory();
  for (uint32_t v = 0; v < g->vertices; v++) {
    int x = (int)(v % width), y = (int)(v / width);
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        int column = dx < 0 ? x - 1 : x, row = dy < 0 ? y - 1 : y; /* of the cell between them */
        int falling = bench_hash((uint32_t)row * width + (uint32_t)column + bench_hash(seed)) & 1;
        if (x + dx < 0 || x + dx >= (int)width || y + dy < 0 || y + dy >= (int)height || (dx == 0 && dy == 0))
          continue;
        if (dx != 0 && dy != 0 && (dx == dy) != falling) /* the other diagonal */
          continue;
        g->targets[g->edges++] = (uint32_t)(y + dy) * width + (uint32_t)(x + dx);
      }
    g->offsets[v + 1] = g->edges;
  }
  return 0;
}

/* ---- the Matrix Market's files ---- */

typedef struct market {
  FILE *file;
  const char *path;
  char line[1024];
  unsigned long number; /* of the line */
  unsigned long rows, columns, entries;
  int both; /* each entry stands for two */
} market;

static int market_error(const market *m, const char *what) {
  fprintf(stderr, "\nxmc-bench: %s, line %lu: %s\n", m->path, m->number, what);
  return 1;
}

/* The next line that is no comment. */
static int market_line(market *m) {
  do {
    m->number++;
    if (fgets(m->line, sizeof m->line, m->file) == NULL)
      return market_error(m, "the file ends early");
    if (strchr(m->line, '\n') == NULL && !feof(m->file))
      return market_error(m, "the line is too long");
  } while (m->line[0] == '%' || m->line[strspn(m->line, " \t\r\n")] == 0);
  return 0;
}

static int market_head(market *m) {
  char object[32], format[32], field[32], symmetry[32];
  m->number = 1;
  if (fgets(m->line, sizeof m->line, m->file) == NULL ||
      sscanf(m->line, "%%%%MatrixMarket %31s %31s %31s %31s", object, format, field, symmetry) != 4 ||
      strcasecmp(object, "matrix") != 0 || strcasecmp(format, "coordinate") != 0)
    return market_error(m, "`%%MatrixMarket matrix coordinate …` is wanted");
  m->both = strcasecmp(symmetry, "general") != 0;
  if (market_line(m))
    return 1;
  if (sscanf(m->line, "%lu %lu %lu", &m->rows, &m->columns, &m->entries) != 3 || m->rows == 0 ||
      m->columns == 0)
    return market_error(m, "rows, columns and entries are wanted");
  if (m->rows > UINT32_MAX / 2 || m->columns > UINT32_MAX / 2 || m->entries > UINT32_MAX / 2)
    return market_error(m, "more than 2^31 rows, columns or entries");
  return 0;
}

/* Pairs of vertices, from 0. */
static int market_pairs(market *m, uint32_t *pairs) {
  for (unsigned long i = 0; i < m->entries; i++) {
    unsigned long row, column;
    if (market_line(m))
      return 1;
    if (sscanf(m->line, "%lu %lu", &row, &column) != 2 || row == 0 || row > m->rows || column == 0 ||
        column > m->columns)
      return market_error(m, "a row and a column of the matrix are wanted");
    pairs[2 * i] = (uint32_t)row - 1;
    pairs[2 * i + 1] = (uint32_t)column - 1;
  }
  return 0;
}

/* Counts the targets of each vertex, then puts them where they belong. Loops and symmetric entries on the diagonal count once. */
static int market_rows(bench_graph *g, const market *m, const uint32_t *pairs) {
  size_t edges = 0;
  uint32_t *next = calloc((size_t)g->vertices + 1, sizeof *next);
  g->offsets = calloc((size_t)g->vertices + 1, sizeof *g->offsets);
  if (!next || !g->offsets) {
    free(next);
    return out_of_memory();
  }
  for (unsigned long i = 0; i < m->entries; i++)
    for (int side = 0; side <= (m->both && pairs[2 * i] != pairs[2 * i + 1]); side++, edges++)
      next[pairs[2 * i + (unsigned)side] + 1]++;
  for (uint32_t v = 0; v < g->vertices; v++)
    g->offsets[v + 1] = next[v + 1] += next[v];
  g->edges = (uint32_t)edges;
  g->targets = malloc(edges * sizeof *g->targets + 1);
  if (g->targets == NULL) {
    free(next);
    return out_of_memory();
  }
  for (unsigned long i = 0; i < m->entries; i++)
    for (int side = 0; side <= (m->both && pairs[2 * i] != pairs[2 * i + 1]); side++)
      g->targets[next[pairs[2 * i + (unsigned)side]]++] = pairs[2 * i + !side];
  free(next);
  bench_graph_sort(g->offsets, g->targets, g->vertices);
  return 0;
}

int bench_graph_read(bench_graph *g, const char *path) {
  const char *base = strrchr(path, '/');
  market m = {.file = fopen(path, "r"), .path = path};
  uint32_t *pairs = NULL;
  int status = 1;
  *g = (bench_graph){0};
  if (m.file == NULL) {
    fprintf(stderr, "\nxmc-bench: cannot read %s: %s\n", path, strerror(errno));
    return 1;
  }
  base = base ? base + 1 : path;
  snprintf(g->name, sizeof g->name, "%.*s", (int)strcspn(base, ".,;"), base);
  if (market_head(&m) == 0) {
    g->vertices = (uint32_t)(m.rows > m.columns ? m.rows : m.columns);
    pairs = malloc(m.entries * 2 * sizeof *pairs + 1);
    status = pairs == NULL ? out_of_memory() : market_pairs(&m, pairs) || market_rows(g, &m, pairs);
  }
  free(pairs);
  fclose(m.file);
  return status;
}
