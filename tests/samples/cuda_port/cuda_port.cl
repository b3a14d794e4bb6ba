/* SPDX-License-Identifier: MIT */
/* The port of cuda_port.cu. Four things changed for memory: each function that allocates gets the heap; pointers to
 * blocks are __global; those that are kept between launches are references, because a buffer may have another address in
 * the next launch; and malloc(n) is xmcMalloc(heap, n). Where the device has variables at program scope, "xmalloc_std.h"
 * saves the first and the last of these changes. */
#include "xmalloc.cl"

#define POINTS 3000
#define RADIUS 700

typedef struct list {
  xmcRef items;
  int count;
  int room;
} list;

static void push(__global xmcHeap *heap, list *l, int item) {
  __global int *items = (__global int *)xmcFromRef(heap, l->items);
  if (l->count == l->room) {
    int room = l->room ? 2 * l->room : 4;
    __global int *larger = (__global int *)xmcMalloc(heap, room * sizeof(int));
    if (!larger)
      return;
    for (int i = 0; i < l->count; i++)
      larger[i] = items[i];
    xmcFree(heap, items);
    items = larger;
    l->items = xmcToRef(heap, items);
    l->room = room;
  }
  items[l->count++] = item;
}

__kernel void find(__global xmcHeap *heap, __global const int2 *points, __global list *lists) {
  int i = (int)get_global_id(0);
  list l = {0, 0, 0};
  if (i >= POINTS)
    return;
  for (int j = 0; j < POINTS; j++) {
    int dx = points[i].x - points[j].x, dy = points[i].y - points[j].y;
    if (j != i && dx * dx + dy * dy < RADIUS * RADIUS)
      push(heap, &l, j);
  }
  lists[i] = l;
}

__kernel void consume(__global xmcHeap *heap, __global list *lists, __global uint *sums) {
  int i = (int)get_global_id(0);
  uint sum = 0;
  if (i >= POINTS)
    return;
  __global int *items = (__global int *)xmcFromRef(heap, lists[i].items);
  for (int k = 0; k < lists[i].count; k++)
    sum = sum * 31u + (uint)items[k];
  sums[i] = sum;
  xmcFree(heap, items);
}
