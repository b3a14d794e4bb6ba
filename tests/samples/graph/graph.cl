/* SPDX-License-Identifier: MIT */
/* Kernels of graph.c: each vertex has a list of cells, one for each neighbour. The references in it have 32 bits, so that a
 * cell has 12 bytes and takes a block of 16. */
#include "xmalloc.cl"

typedef struct cell {
  xmcRef32 next;
  uint to;
  uint gone; /* to be removed by the next sweep */
} cell;

#define CELL(ref) ((__global cell *)xmcFromRef32(heap, ref))

/* Work-item i adds one direction of edge i / 2. */
__kernel void add_edges(__global xmcHeap *heap, volatile __global xmcRef32 *lists,
                        __global const uint2 *edges, uint count) {
  uint i = (uint)get_global_id(0);
  __global cell *c;
  if (i >= 2u * count)
    return;
  c = (__global cell *)xmcMalloc(heap, sizeof(cell));
  if (!c)
    return;
  c->to = i & 1u ? edges[i / 2u].x : edges[i / 2u].y;
  c->gone = 0;
  c->next = atomic_xchg(&lists[i & 1u ? edges[i / 2u].y : edges[i / 2u].x], xmcToRef32(heap, c));
}

/* Work-item i marks one direction of edge i / 2 as gone. The lists do not change meanwhile. */
__kernel void mark_edges(__global xmcHeap *heap, __global const xmcRef32 *lists, __global const uint2 *edges,
                         uint count) {
  uint i = (uint)get_global_id(0), to;
  xmcRef32 ref;
  if (i >= 2u * count)
    return;
  to = i & 1u ? edges[i / 2u].x : edges[i / 2u].y;
  ref = lists[i & 1u ? edges[i / 2u].y : edges[i / 2u].x];
  while (ref) {
    __global cell *c = CELL(ref);
    if (c->to == to && atomic_cmpxchg((volatile __global uint *)&c->gone, 0u, 1u) == 0)
      return;
    ref = c->next;
  }
}

/* Work-item v frees the marked cells of vertex v. */
__kernel void sweep(__global xmcHeap *heap, __global xmcRef32 *lists, uint vertices) {
  uint v = (uint)get_global_id(0);
  __global xmcRef32 *link = &lists[v];
  if (v >= vertices)
    return;
  while (*link) {
    __global cell *c = CELL(*link);
    if (c->gone) {
      *link = c->next;
      xmcFree(heap, c);
    } else {
      link = &c->next;
    }
  }
}

/* Work-item v writes the degree of vertex v, and in how many triangles it is the smallest vertex. */
__kernel void measure(__global xmcHeap *heap, __global const xmcRef32 *lists, uint vertices,
                      __global uint2 *out) {
  uint v = (uint)get_global_id(0), degree = 0, triangles = 0;
  xmcRef32 a, b, c;
  if (v >= vertices)
    return;
  for (a = lists[v]; a; a = CELL(a)->next) {
    degree++;
    if (CELL(a)->to <= v)
      continue;
    for (b = lists[v]; b; b = CELL(b)->next)
      if (CELL(b)->to > CELL(a)->to)
        for (c = lists[CELL(a)->to]; c; c = CELL(c)->next)
          triangles += CELL(c)->to == CELL(b)->to;
  }
  out[v] = (uint2)(degree, triangles);
}
