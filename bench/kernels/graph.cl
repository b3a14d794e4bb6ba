/* SPDX-License-Identifier: MIT */
/* A graph that changes: each vertex has a block with its neighbours, of the next power of two of 4 bytes each, at least
 * 16 bytes. refs: the vertices' blocks; degrees: how many neighbours are in each.
 *
 * Edges are inserted and removed in batches that are sorted by their sources: runs[r] is a vertex, starts[r] where its targets
 * begin in `batch`, and starts[r + 1] where they end. One work-item does all of a vertex. failures: requests that found no
 * room; edges that were not there.
 */
#include "xmalloc.cl"

static uint capacity(uint degree) {
  uint bytes = max(degree * 4u, 16u);
  return 1u << (32u - clz(bytes - 1u));
}

static void copy(__global uint *to, __global const uint *from, uint count) {
  uint i;
  for (i = 0; i < count; i++)
    to[i] = from[i];
}

__kernel void graph_init(__global xmcHeap *heap, __global ulong *refs, __global uint *degrees,
                         __global const uint *offsets, __global const uint *targets, uint vertices,
                         __global uint *failures) {
  uint v = (uint)get_global_id(0), degree;
  __global uint *p;
  if (v >= vertices)
    return;
  degree = offsets[v + 1u] - offsets[v];
  p = (__global uint *)xmcMalloc(heap, capacity(degree));
  if (p == 0) {
    atomic_inc(failures);
    degree = 0;
  } else {
    copy(p, targets + offsets[v], degree);
  }
  refs[v] = xmcToRef(heap, p);
  degrees[v] = degree;
}

/* The same where the host has found the places of all blocks. */
__kernel void graph_init_floor(__global uchar *base, __global const ulong *places, __global ulong *refs,
                               __global uint *degrees, __global const uint *offsets,
                               __global const uint *targets, uint vertices) {
  uint v = (uint)get_global_id(0), degree;
  if (v >= vertices)
    return;
  degree = offsets[v + 1u] - offsets[v];
  copy((__global uint *)(base + places[v]), targets + offsets[v], degree);
  refs[v] = places[v];
  degrees[v] = degree;
}

/* The block for `degree` neighbours where `before` were: another one if the size changes. NULL: the old one stays. */
static __global uint *resize(__global xmcHeap *heap, __global ulong *ref, __global uint *p, uint before,
                             uint degree, __global uint *failures) {
  if (capacity(degree) == capacity(before))
    return p;
  p = (__global uint *)xmcRealloc(heap, p, capacity(degree));
  if (p == 0)
    atomic_inc(failures);
  else
    *ref = xmcToRef(heap, p);
  return p;
}

__kernel void graph_insert(__global xmcHeap *heap, __global ulong *refs, __global uint *degrees,
                           __global const uint *runs, __global const uint *starts, __global const uint *batch,
                           uint count, __global uint *failures) {
  uint r = (uint)get_global_id(0), v, degree, more;
  __global uint *p;
  if (r >= count)
    return;
  v = runs[r];
  degree = degrees[v];
  more = starts[r + 1u] - starts[r];
  p = resize(heap, refs + v, (__global uint *)xmcFromRef(heap, refs[v]), degree, degree + more, failures);
  if (p == 0)
    return;
  copy(p + degree, batch + starts[r], more);
  degrees[v] = degree + more;
}

/* The last neighbour takes the place of one that is removed. The newest are looked at first. */
__kernel void graph_remove(__global xmcHeap *heap, __global ulong *refs, __global uint *degrees,
                           __global const uint *runs, __global const uint *starts, __global const uint *batch,
                           uint count, __global uint *failures) {
  uint r = (uint)get_global_id(0), v, before, degree, i, k;
  __global uint *p;
  if (r >= count)
    return;
  v = runs[r];
  before = degree = degrees[v];
  p = (__global uint *)xmcFromRef(heap, refs[v]);
  for (i = starts[r]; i < starts[r + 1u]; i++) {
    for (k = degree; k > 0 && p[k - 1u] != batch[i]; k--)
      ;
    if (k == 0) {
      atomic_inc(&failures[1]);
      continue;
    }
    degree--;
    p[k - 1u] = p[degree];
  }
  degrees[v] = degree;
  resize(heap, refs + v, p, before, degree, failures);
}

/* Writes the neighbours out, to where the host expects them. */
__kernel void graph_export(__global xmcHeap *heap, __global const ulong *refs, __global const uint *degrees,
                           __global const uint *offsets, __global uint *targets, uint vertices,
                           __global uint *failures) {
  uint v = (uint)get_global_id(0);
  if (v >= vertices)
    return;
  if (degrees[v] != offsets[v + 1u] - offsets[v])
    atomic_inc(&failures[1]);
  else
    copy(targets + offsets[v], (__global const uint *)xmcFromRef(heap, refs[v]), degrees[v]);
}

__kernel void graph_free(__global xmcHeap *heap, __global const ulong *refs, uint vertices) {
  uint v = (uint)get_global_id(0);
  if (v < vertices)
    xmcFree(heap, xmcFromRef(heap, refs[v]));
}
