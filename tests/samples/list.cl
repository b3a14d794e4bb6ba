/* Kernels of list.c. The root is a block of the heap that the host made; references are 32 bits wide here, which
 * is enough for heaps below 4 GiB. */
#include "xmalloc.cl"

typedef struct node {
  uint next; /* reference */
  uint value;
} node;

/* Work-item i pushes a node of value first + i. */
__kernel void extend(__global xmcHeap *heap, ulong root, uint first, uint count) {
  volatile __global uint *head = (volatile __global uint *)xmcFromRef(heap, root);
  __global node *n;
  if (get_global_id(0) >= count)
    return;
  n = (__global node *)xmcMalloc(heap, sizeof(node));
  if (!n)
    return;
  n->value = first + (uint)get_global_id(0);
  n->next = atomic_xchg(head, (uint)xmcToRef(heap, n));
}

/* out = nodes, sum of values */
__kernel void walk(__global xmcHeap *heap, ulong root, __global ulong *out) {
  uint ref = *(__global uint *)xmcFromRef(heap, root);
  if (get_global_id(0) != 0)
    return;
  while (ref) {
    __global node *n = (__global node *)xmcFromRef(heap, ref);
    out[0]++;
    out[1] += n->value;
    ref = n->next;
  }
}
