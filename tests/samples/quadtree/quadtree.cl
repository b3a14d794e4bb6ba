/* SPDX-License-Identifier: MIT */
/* Kernels of quadtree.c: a quadtree over points, which grows from its root. A node stands for a square. It has either
 * four children, which are one block of the heap, or a list of the points in the square, which is a block of its own. */
#include "xmalloc.cl"

#define MOST 4u /* points in a leaf */

typedef struct node {
  xmcRef children; /* four nodes: lower left, lower right, upper left, upper right; 0 in a leaf */
  xmcRef points;   /* a leaf's points, by their numbers; 0 if there are none */
  uint count;      /* of points in the square */
  uint x, y, size; /* the square: from x to x + size - 1, and from y to y + size - 1 */
} node;

#define NODES(ref) ((__global node *)xmcFromRef(heap, ref))
#define POINTS(ref) ((__global uint *)xmcFromRef(heap, ref))

static uint quadrant(__global const node *n, uint2 p) {
  return (p.x >= n->x + n->size / 2 ? 1u : 0u) + (p.y >= n->y + n->size / 2 ? 2u : 0u);
}

/* Four children for a leaf, each with room for counts[q] points; NULL if the heap is full */
static __global node *make_children(__global xmcHeap *heap, __global const node *n, const uint *counts) {
  __global node *children = (__global node *)xmcMalloc(heap, 4 * sizeof(node));
  uint q, failed = 0;
#pragma unroll 1 /* most compilers put a whole xmcMalloc into each turn of an unrolled loop */
  for (q = 0; q < 4 && children; q++) {
    node child = {0, 0, 0, 0, 0, n->size / 2};
    child.points = xmcToRef(heap, xmcMalloc(heap, counts[q] * sizeof(uint))); /* of 0 bytes: NULL */
    child.x = n->x + (q & 1u) * child.size;
    child.y = n->y + (q >> 1) * child.size;
    children[q] = child;
    failed |= counts[q] && !child.points;
  }
  if (!failed)
    return children;
#pragma unroll 1
  for (q = 0; q < 4; q++)
    xmcFree(heap, POINTS(children[q].points));
  xmcFree(heap, children);
  return 0;
}

/* Work-item i looks at the leaf in[i]. If it has too many points, it gets children, which take the points. Those of them
 * that have too many points again are put into `out`, whose length is *out_count. */
__kernel void split(__global xmcHeap *heap, __global const uint2 *points, __global const xmcRef *in,
                    uint count, __global xmcRef *out, volatile __global uint *out_count) {
  uint i = (uint)get_global_id(0), counts[4] = {0, 0, 0, 0}, k, q;
  __global node *n, *children;
  __global uint *list;
  if (i >= count)
    return;
  n = NODES(in[i]);
  if (n->count <= MOST || n->size == 1)
    return;
  list = POINTS(n->points);
  for (k = 0; k < n->count; k++)
    counts[quadrant(n, points[list[k]])]++;
  children = make_children(heap, n, counts);
  if (!children)
    return; /* it stays a leaf, if a large one */
  for (k = 0; k < n->count; k++) {
    __global node *child = &children[quadrant(n, points[list[k]])];
    POINTS(child->points)[child->count++] = list[k];
  }
  xmcFree(heap, list);
  n->points = 0;
  n->children = xmcToRef(heap, children);
  for (q = 0; q < 4; q++)
    if (counts[q] > MOST)
      out[atomic_inc(out_count)] = xmcToRef(heap, &children[q]);
}

static ulong square(ulong x) { return x * x; }

/* The square of the distance from p to the node's square */
static ulong distance_to(__global const node *n, uint2 p) {
  uint dx = p.x < n->x ? n->x - p.x : p.x >= n->x + n->size ? p.x - (n->x + n->size - 1) : 0;
  uint dy = p.y < n->y ? n->y - p.y : p.y >= n->y + n->size ? p.y - (n->y + n->size - 1) : 0;
  return square(dx) + square(dy);
}

/* Work-item i finds the point nearest to point i; of several the one with the lowest number. */
__kernel void nearest(__global xmcHeap *heap, __global const uint2 *points, uint count, ulong root,
                      __global uint *out) {
  uint i = (uint)get_global_id(0), depth = 1, best = 0, k;
  ulong best_distance = ~(ulong)0;
  xmcRef stack[3 * 16 + 1]; /* a square of 2^16 can be halved 16 times; three children of each node wait */
  uint2 p;
  if (i >= count)
    return;
  p = points[i];
  stack[0] = root;
  while (depth > 0) {
    __global const node *n = NODES(stack[--depth]);
    if (distance_to(n, p) > best_distance)
      continue;
    if (n->children) {
      uint first = quadrant(n, p); /* the child with p in it comes off the stack first */
      for (k = 4; k-- > 0;)
        stack[depth++] = n->children + (first ^ k) * sizeof(node); /* references are offsets */
      continue;
    }
    for (k = 0; k < n->count; k++) {
      uint other = POINTS(n->points)[k];
      ulong d = square(abs_diff(points[other].x, p.x)) + square(abs_diff(points[other].y, p.y));
      if (other != i && (d < best_distance || (d == best_distance && other < best))) {
        best = other;
        best_distance = d;
      }
    }
  }
  out[i] = best;
}

/* Frees four children and all below them. */
__kernel void fell(__global xmcHeap *heap, ulong children) {
  xmcRef stack[3 * 16 + 1];
  uint depth = 0, q;
  if (get_global_id(0) != 0 || !children)
    return;
  stack[depth++] = children;
  while (depth > 0) {
    __global node *four = NODES(stack[--depth]);
#pragma unroll 1
    for (q = 0; q < 4; q++) {
      if (four[q].children)
        stack[depth++] = four[q].children;
      xmcFree(heap, POINTS(four[q].points));
    }
    xmcFree(heap, four);
  }
}
