/* SPDX-License-Identifier: MIT */
/* Draws the tree of quadtree.c, which lies in the heap, as SVG: its squares by their depth, the points, and a line from
 * each point to its nearest neighbour. The heap is mapped to the host meanwhile. */
#ifndef DRAW_H
#define DRAW_H
#include <stdio.h>
#include <xmalloc.h>

/* As in quadtree.cl */
typedef struct node {
  xmcRef children, points;
  cl_uint count, x, y, size;
} node;

typedef struct tree_size {
  cl_uint leaves, points; /* the points in the leaves */
  cl_uint blocks;         /* what the tree has from the heap, without its root */
} tree_size;

enum { DRAW_DEPTHS = 17, DRAW_WIDTH = 1024 };

/* The squares of the leaves `depth` levels below a node, as a path; counts them and what they hold. */
static inline void draw_leaves(FILE *f, xmc_heap heap, const node *n, double scale, int depth,
                               tree_size *size) {
  const node *children = xmcHostFromRef(heap, n->children);
  int q;
  if (children) {
    size->blocks += depth == 1;
    for (q = 0; q < 4 && depth > 0; q++)
      draw_leaves(f, heap, &children[q], scale, depth - 1, size);
  } else if (depth == 0) {
    size->leaves++;
    size->points += n->count;
    size->blocks += n->points != 0;
    fprintf(f, "M%g %gh%gv%gh-%gz", n->x * scale, n->y * scale, n->size * scale, n->size * scale,
            n->size * scale);
  }
}

/* Returns 0 if the file cannot be written. */
static inline int draw_tree(const char *path, xmc_heap heap, const node *root, const cl_uint2 *points,
                            const cl_uint *nearest, cl_uint count, tree_size *size) {
  /* From the night sky to the galaxy's core: a square's colour by its depth */
  static const char *const colours[DRAW_DEPTHS] = {
      "#0b1026", "#0b1026", "#0e1433", "#131b45", "#1c2560", "#2f2f7d", "#4f3a94", "#7a479c", "#a85697",
      "#d36c86", "#ee8f74", "#f9b872", "#fddc8c", "#fff3b8", "#fff8d8", "#fffbe8", "#ffffff"};
  const double scale = (double)DRAW_WIDTH / root->size;
  FILE *f = fopen(path, "w");
  cl_uint i;
  int depth;
  if (!f)
    return 0;
  fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\">\n", DRAW_WIDTH, DRAW_WIDTH);
  fprintf(f,
          "<title>A quadtree over %u points</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"%s\"/>\n",
          count, colours[0]);
  fprintf(f, "<g stroke=\"#8fa3d9\" stroke-opacity=\".35\" stroke-width=\".5\">\n");
  for (depth = 0; depth < DRAW_DEPTHS; depth++) {
    fprintf(f, "<path fill=\"%s\" d=\"", colours[depth]);
    draw_leaves(f, heap, root, scale, depth, size);
    fprintf(f, "\"/>\n");
  }
  fprintf(f, "</g>\n<path fill=\"none\" stroke=\"#fff\" stroke-opacity=\".55\" stroke-width=\".7\" d=\"");
  for (i = 0; i < count; i++)
    if (nearest[nearest[i]] != i || nearest[i] > i) /* two that are each other's nearest get one line */
      fprintf(f, "M%.1f %.1fL%.1f %.1f", points[i].s[0] * scale, points[i].s[1] * scale,
              points[nearest[i]].s[0] * scale, points[nearest[i]].s[1] * scale);
  fprintf(f, "\"/>\n<path fill=\"none\" stroke=\"#fff\" stroke-width=\"2\" stroke-linecap=\"round\" d=\"");
  for (i = 0; i < count; i++)
    fprintf(f, "M%.1f %.1fh0", points[i].s[0] * scale, points[i].s[1] * scale);
  fprintf(f, "\"/>\n</svg>\n");
  return fclose(f) == 0;
}
#endif
