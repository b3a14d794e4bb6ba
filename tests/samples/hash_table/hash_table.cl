/* SPDX-License-Identifier: MIT */
/* Kernels of hash_table.c: a hash table that all work-items fill, read and empty at the same time.
 *
 *   buckets[hash of a key] -> node -> node -> 0        each node is a block of the heap
 *
 * A new node goes to the front of its chain by one compare-and-exchange, so that a chain changes nowhere else. To delete
 * a key is to mark its node as dead: others may just now stand on the node, so it is not freed yet. When no kernel works
 * on the table, `sweep` unlinks the dead nodes and frees them. */
#include "xmalloc.cl"

typedef struct node {
  xmcRef next;
  uint key;
  uint value;
  uint dead; /* 1 after its key was deleted */
} node;

enum { DONE = 1, NOT_DONE = 2, NO_ROOM = 3 }; /* what insert and delete return */

static uint hash(uint x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

static int is_dead(__global node *n) { return atomic_or((volatile __global uint *)&n->dead, 0u) != 0; }

/* The live node of a key, from the node `ref` on and before the node `end`; or NULL */
static __global node *find(__global xmcHeap *heap, xmcRef ref, xmcRef end, uint key) {
  while (ref != end) {
    __global node *n = (__global node *)xmcFromRef(heap, ref);
    if (n->key == key && !is_dead(n))
      return n;
    ref = n->next;
  }
  return 0;
}

/* Inserts a key; NOT_DONE if the table has it. */
static int table_insert(__global xmcHeap *heap, __global xmcRef *bucket, uint key, uint value) {
  xmcRef first = xmcLoadRef(bucket), looked_at = 0, was;
  __global node *mine = 0;
  for (;;) {
    if (find(heap, first, looked_at, key)) {
      xmcFree(heap, mine); /* NULL is fine */
      return NOT_DONE;
    }
    if (!mine) {
      mine = (__global node *)xmcMalloc(heap, sizeof(node));
      if (!mine)
        return NO_ROOM;
      mine->key = key;
      mine->value = value;
      mine->dead = 0;
    }
    mine->next = first;
    was = xmcCompareExchangeRef(bucket, first, xmcToRef(heap, mine));
    if (was == first)
      return DONE;
    looked_at = first; /* somebody else put nodes in front: only those are new */
    first = was;
  }
}

/* Deletes a key; NOT_DONE if the table lacks it. Of several work-items that delete it at the same time one succeeds. */
static int table_delete(__global xmcHeap *heap, __global xmcRef *bucket, uint key) {
  __global node *n = find(heap, xmcLoadRef(bucket), 0, key);
  return n && atomic_cmpxchg((volatile __global uint *)&n->dead, 0u, 1u) == 0 ? DONE : NOT_DONE;
}

/* The value of a key, or 0 */
static uint table_get(__global xmcHeap *heap, __global xmcRef *bucket, uint key) {
  __global node *n = find(heap, xmcLoadRef(bucket), 0, key);
  return n ? n->value : 0;
}

/* Work-item i does `rounds` operations on four keys that nobody else uses, so that the host can predict each result, in
 * chains that all use. After that it tries to insert a key that many others want, too: wins counts who got one in. */
__kernel void work(__global xmcHeap *heap, __global xmcRef *buckets, uint mask, uint count, uint rounds,
                   uint shared, __global uint *results, volatile __global uint *wins) {
  uint i = (uint)get_global_id(0), round, result = 0, outcome;
  if (i >= count)
    return;
  for (round = 0; round < rounds; round++) {
    uint random = hash(i * rounds + round + 1), key = shared + 4 * i + (random >> 8) % 4;
    __global xmcRef *bucket = &buckets[hash(key) & mask];
    if (random % 4 < 2)
      outcome = (uint)table_insert(heap, bucket, key, random);
    else if (random % 4 == 2)
      outcome = (uint)table_delete(heap, bucket, key);
    else
      outcome = table_get(heap, bucket, key);
    result = 31 * result + outcome;
  }
  results[i] = result;
  if (table_insert(heap, &buckets[hash(i % shared) & mask], i % shared, i) == DONE)
    atomic_inc(wins);
}

/* Work-item i frees the dead nodes of bucket i, or all of its nodes. No other kernel may use the table meanwhile. */
__kernel void sweep(__global xmcHeap *heap, __global xmcRef *buckets, uint count, uint all) {
  uint i = (uint)get_global_id(0);
  __global xmcRef *link = &buckets[i];
  if (i >= count)
    return;
  while (*link) {
    __global node *n = (__global node *)xmcFromRef(heap, *link);
    if (all || n->dead) {
      *link = n->next;
      xmcFree(heap, n);
    } else {
      link = &n->next;
    }
  }
}
