/* SPDX-License-Identifier: MIT */
/* A linked list in the heap that nothing but references leads through: begun, extended, walked, shortened in
 * different launches, processes and places. The root is a block of one reference; a node is
 *
 *   reference of the next node | value | bytes | a pattern made of the value, to the end
 */
#include "xmalloc.cl"

typedef struct list_node {
  ulong next;
  uint value;
  uint bytes;
} list_node;

/* out: the root's reference */
__kernel void list_begin(__global xmcHeap *heap, __global ulong *out) {
  __global ulong *root = (__global ulong *)xmcCalloc(heap, 1, sizeof(ulong));
  if (get_global_id(0) == 0)
    *out = xmcToRef(heap, root);
}

/* Work-item i pushes a node of value first + i. */
__kernel void list_push(__global xmcHeap *heap, ulong root_ref, uint first, uint count,
                        __global uint *errors) {
  uint value = first + (uint)get_global_id(0), bytes;
  __global ulong *root = (__global ulong *)xmcFromRef(heap, root_ref);
  __global list_node *node;
  ulong seen, old;
  if (get_global_id(0) >= count)
    return;
  bytes = 16u + (value * 2654435769u >> 20) % (value % 50u == 0 ? 40000u : 600u);
  node = (__global list_node *)xmcMalloc(heap, bytes);
  if (!node) {
    atomic_inc(errors);
    return;
  }
  node->value = value;
  node->bytes = bytes;
  pattern_fill((__global char *)(node + 1), bytes - 16u, value, 0, 1);
  seen = xmc_load_relaxed64(root);
  do { /* again only when another item pushed */
    old = seen;
    node->next = old;
    seen = xmc_cas_acq_rel64(root, old, xmcToRef(heap, node));
  } while (seen != old);
}

/* One work-item: out = nodes, sum of values, errors; frees every second node on the way if `thin`. */
__kernel void list_walk(__global xmcHeap *heap, ulong root_ref, uint thin, __global ulong *out) {
  __global ulong *link = (__global ulong *)xmcFromRef(heap, root_ref);
  ulong nodes = 0, sum = 0, errors = 0;
  while (*link) {
    __global list_node *node = (__global list_node *)xmcFromRef(heap, *link);
    errors += pattern_errors((__global char *)(node + 1), node->bytes - 16u, node->value, 0, 1);
    if (thin && nodes % 2u) {
      *link = node->next;
      xmcFree(heap, node);
    } else {
      sum += node->value;
      link = &node->next;
    }
    nodes++;
  }
  out[0] = nodes;
  out[1] = sum;
  out[2] = errors;
}
