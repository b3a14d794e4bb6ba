/* SPDX-License-Identifier: MIT */
/* Kernel of trie.c: all work-items insert words into one trie. A node is published by a compare-and-exchange that
 * releases, and found by a load that acquires, so whoever finds a node finds it zeroed. */
#include "xmalloc.cl"

typedef struct node {
  xmcRef child[26];
  uint count; /* words that end here */
} node;

/* The child at `place`, which is made if it is not there; NULL if the heap is full. If several work-items make the same
 * child, one wins and the others free theirs. */
static __global node *child_at(__global xmcHeap *heap, __global xmcRef *place) {
  xmcRef ref = xmcLoadRef(place);
  if (!ref) {
    __global node *made = (__global node *)xmcCalloc(heap, 1, sizeof(node));
    if (!made)
      return 0;
    ref = xmcCompareExchangeRef(place, 0, xmcToRef(heap, made));
    if (!ref)
      return made;
    xmcFree(heap, made);
  }
  return (__global node *)xmcFromRef(heap, ref);
}

/* Work-item i inserts word i: the letters a to z from text[start[i]] on. Anything else ends the word. */
__kernel void insert(__global xmcHeap *heap, ulong root, __global const uchar *text,
                     __global const uint *start, uint words) {
  uint i = (uint)get_global_id(0), at;
  __global node *n = (__global node *)xmcFromRef(heap, root);
  if (i >= words)
    return;
  for (at = start[i]; text[at] >= 'a' && text[at] <= 'z' && n; at++)
    n = child_at(heap, &n->child[text[at] - 'a']);
  if (n)
    atomic_inc((volatile __global uint *)&n->count);
}
