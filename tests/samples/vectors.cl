/* Kernels of vectors.c: a vector a work-item, whose length nobody knows before. */
#include "xmalloc.cl"

typedef struct vector {
  uint ref; /* of the items, ulong each */
  uint count;
  uint room;
} vector;

static int push(__global xmcHeap *heap, vector *v, ulong value) {
  __global ulong *items = (__global ulong *)xmcFromRef(heap, v->ref);
  if (v->count == v->room) {
    uint room = v->room ? 2u * v->room : 2u;
    items = (__global ulong *)xmcRealloc(heap, items, room * sizeof(ulong));
    if (!items)
      return 0; /* the old items are as they were */
    v->ref = (uint)xmcToRef(heap, items);
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
  v.ref = v.count = v.room = 0;
  while (push(heap, &v, n) && n != 1u)
    n = n & 1u ? 3u * n + 1u : n / 2u;
  vectors[i] = v;
}

/* Work-item i: out = items, their sum; frees them. */
__kernel void sum(__global xmcHeap *heap, __global vector *vectors, uint count, __global ulong2 *out) {
  uint i = (uint)get_global_id(0), k;
  __global ulong *items;
  ulong total = 0;
  if (i >= count)
    return;
  items = (__global ulong *)xmcFromRef(heap, vectors[i].ref);
  for (k = 0; k < vectors[i].count; k++)
    total += items[k];
  out[i] = (ulong2)(vectors[i].count, total);
  xmcFree(heap, items);
}
