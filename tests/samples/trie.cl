/* Kernel of trie.c: all work-items insert into one trie.
 *
 * A child's reference is published by a CAS with release order and read with acquire order (the device
 * library's own), so whoever finds a node finds it zeroed.
 */
#include "xmalloc.cl"

typedef struct node {
  uint child[26]; /* references */
  uint count;     /* words that end here */
} node;

/* The child's reference; made if it is not there. Of several that make one, one wins and the others free theirs. */
static uint child_of(__global xmcHeap *heap, __global uint *place) {
  uint ref = xmc_load_acquire32(place), mine, seen;
  __global node *made;
  if (ref)
    return ref;
  made = (__global node *)xmcCalloc(heap, 1, sizeof(node));
  mine = (uint)xmcToRef(heap, made);
  if (!made)
    return 0;
  seen = xmc_cas_release32(place, 0, mine);
  if (seen == 0)
    return mine;
  xmcFree(heap, made);
  return xmc_load_acquire32(place);
}

/* Work-item i inserts word i, the letters a … z from text[start[i]] on, ended by anything else. */
__kernel void insert(__global xmcHeap *heap, ulong root, __global const uchar *text, __global const uint *start,
                     uint words) {
  uint i = (uint)get_global_id(0), ref = (uint)root, at;
  if (i >= words)
    return;
  for (at = start[i]; text[at] >= 'a' && text[at] <= 'z' && ref; at++)
    ref = child_of(heap, &((__global node *)xmcFromRef(heap, ref))->child[text[at] - 'a']);
  if (ref)
    atomic_inc((volatile __global uint *)&((__global node *)xmcFromRef(heap, ref))->count);
}
