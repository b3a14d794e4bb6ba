/* SPDX-License-Identifier: MIT */
/* Kernels of test_refs.c: references in 32 bits, and references that work-items hand to each other. */
#include "xmalloc.cl"

/* out[i] is the 32-bit reference of the address `offsets[i]` bytes behind the arena's start. Nothing is read there. */
__kernel void refs_edges(__global xmcHeap *heap, __global const ulong *offsets, __global uint *out,
                         uint count) {
  uint i = (uint)get_global_id(0);
  if (i < count)
    out[i] = xmcToRef32(heap, (__global char *)heap + offsets[i]);
  if (i == 0) {
    out[count] = xmcToRef32(heap, 0);
    out[count + 1] = xmcFromRef32(heap, 0) != 0;
    out[count + 2] = xmcFromRef32(heap, 0xffffffffu) != (__global char *)heap + 0xffffffff0ul;
  }
}

/* Takes blocks of `size` bytes until none is left. out[0] counts them, out[1] those whose 32-bit reference does not
 * lead back to them, out[2] is the highest 32-bit reference. They stay. */
__kernel void refs_fill(__global xmcHeap *heap, ulong size, volatile __global uint *out) {
  __global void *p;
  while ((p = xmcMalloc(heap, (size_t)size)) != 0) {
    uint ref = xmcToRef32(heap, p);
    atomic_inc(&out[0]);
    if (ref == 0 || (ulong)ref << 4 != xmcToRef(heap, p) || xmcFromRef32(heap, ref) != p)
      atomic_inc(&out[1]);
    atomic_max(&out[2], ref);
  }
}

typedef struct refs_node {
  ulong next;
  ulong value;
  ulong check; /* ~value, written before the node's reference is handed on */
} refs_node;

static __global refs_node *refs_new(__global xmcHeap *heap, ulong value) {
  __global refs_node *node = (__global refs_node *)xmcMalloc(heap, sizeof(refs_node));
  if (node) {
    node->next = 0;
    node->value = value;
    node->check = ~value;
  }
  return node;
}

/* Each work-item puts nodes into places that all share, and frees what it finds there. sums[0] is the sum of the values
 * put there, sums[1] of those found, sums[2] counts nodes that were not whole. */
__kernel void refs_exchange(__global xmcHeap *heap, __global ulong *places, uint count, uint rounds,
                            volatile __global uint *sums) {
  uint id = (uint)get_global_id(0), round;
  for (round = 0; round < rounds; round++) {
    __global refs_node *node = refs_new(heap, id * rounds + round), *found;
    if (!node)
      return;
    atomic_add(&sums[0], (uint)node->value);
    found = (__global refs_node *)xmcFromRef(
        heap, xmcExchangeRef(&places[(id + round) % count], xmcToRef(heap, node)));
    if (found) {
      atomic_add(&sums[1], (uint)found->value);
      if (found->check != ~found->value)
        atomic_inc(&sums[2]);
      xmcFree(heap, found);
    }
  }
}

/* Each work-item pushes nodes onto one stack and looks at its first nodes. sums[0] and sums[2] as above. */
__kernel void refs_push(__global xmcHeap *heap, __global ulong *head, uint rounds,
                        volatile __global uint *sums) {
  uint id = (uint)get_global_id(0), round, i;
  for (round = 0; round < rounds; round++) {
    __global refs_node *node = refs_new(heap, id * rounds + round);
    ulong seen = xmcLoadRef(head), was;
    if (!node)
      return;
    atomic_add(&sums[0], (uint)node->value);
    for (;;) {
      node->next = seen;
      was = xmcCompareExchangeRef(head, seen, xmcToRef(heap, node));
      if (was == seen)
        break;
      seen = was;
    }
    for (i = 0; i < 4 && seen; i++) {
      __global refs_node *other = (__global refs_node *)xmcFromRef(heap, seen);
      if (other->check != ~other->value)
        atomic_inc(&sums[2]);
      seen = other->next;
    }
  }
}

/* One work-item frees a list. sums[1] is the sum of its values. */
__kernel void refs_free(__global xmcHeap *heap, __global ulong *head, volatile __global uint *sums) {
  ulong ref = *head;
  while (get_global_id(0) == 0 && ref) {
    __global refs_node *node = (__global refs_node *)xmcFromRef(heap, ref);
    ref = node->next;
    sums[1] += (uint)node->value;
    xmcFree(heap, node);
  }
}
