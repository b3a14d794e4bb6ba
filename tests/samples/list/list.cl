/* SPDX-License-Identifier: MIT */
/* Kernels of list.c. The list's root is a block of the heap that the host made: it holds the reference of the first
 * node. */
#include "xmalloc.cl"

typedef struct node {
  xmcRef next;
  ulong value;
} node;

/* Work-item i pushes a node of value first + i. */
__kernel void extend(__global xmcHeap *heap, ulong root, uint first, uint count) {
  __global xmcRef *head = (__global xmcRef *)xmcFromRef(heap, root);
  __global node *n;
  if (get_global_id(0) >= count)
    return;
  n = (__global node *)xmcMalloc(heap, sizeof(node));
  if (!n)
    return; /* the heap counts the failed request, and the host asks for the count */
  n->value = first + (uint)get_global_id(0);
  n->next = xmcExchangeRef(head, xmcToRef(heap, n));
}

/* out[0] is the number of nodes, out[1] the sum of their values. */
__kernel void walk(__global xmcHeap *heap, ulong root, __global ulong *out) {
  xmcRef ref = *(__global xmcRef *)xmcFromRef(heap, root);
  if (get_global_id(0) != 0)
    return;
  while (ref) {
    __global node *n = (__global node *)xmcFromRef(heap, ref);
    out[0]++;
    out[1] += n->value;
    ref = n->next;
  }
}
