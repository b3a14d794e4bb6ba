/* SPDX-License-Identifier: MIT */
/* Kernels of vectors.c: each work-item has a vector whose length nobody knows in advance. */
#include "xmalloc.cl"

typedef struct vector {
  xmcRef items; /* the items, a ulong each */
  uint count;
  uint room;
} vector;

/* Appends a value. 0 if there is no room for it: the vector is as it was. */
static int push(__global xmcHeap *heap, vector *v, ulong value) {
  __global ulong *items = (__global ulong *)xmcFromRef(heap, v->items);
  if (v->count == v->room) {
    uint room = v->room ? 2u * v->room : 2u;
    items = (__global ulong *)xmcRealloc(heap, items, room * sizeof(ulong));
    if (!items)
      return 0;
    v->items = xmcToRef(heap, items);
    v->room = room;
  }
  items[v->count++] = value;
  return 1;
}

/* Work-item i keeps the Collatz sequence of i + 1: n / 2 if n is even, else 3 n + 1, down to 1. */
__kernel void collect(__global xmcHeap *heap, __global vector *vectors, uint count) {
  uint i = (uint)get_global_id(0);
  ulong n = (ulong)i + 1u;
  vector v;
  if (i >= count)
    return;
  v.items = v.count = v.room = 0;
  while (push(heap, &v, n) && n != 1u)
    n = n & 1u ? 3u * n + 1u : n / 2u;
  vectors[i] = v;
}

/* Work-item i writes the number and the sum of its items, and frees them. */
__kernel void sum(__global xmcHeap *heap, __global vector *vectors, uint count, __global ulong2 *out) {
  uint i = (uint)get_global_id(0), k;
  __global ulong *items;
  ulong total = 0;
  if (i >= count)
    return;
  items = (__global ulong *)xmcFromRef(heap, vectors[i].items);
  for (k = 0; k < vectors[i].count; k++)
    total += items[k];
  out[i] = (ulong2)(vectors[i].count, total);
  xmcFree(heap, items);
}
