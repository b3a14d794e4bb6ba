/* SPDX-License-Identifier: MIT */
/* Full heaps. Each work-item keeps its blocks in a list: a block begins with the reference of the next one and its owner's number,
 * with all bits turned in the last of its first 16 bytes. counts: granted, refused. failures: blocks that are not their owner's.
 */
#include "xmalloc.cl"

/* A block's head */
typedef struct link {
  ulong next;
  uint owner, turned;
} link;

/* 1; 0 without a block. */
static uint push(__global xmcHeap *heap, __global ulong *head, __global void *block, uint id) {
  __global link *l = (__global link *)block;
  if (l == 0)
    return 0;
  l->next = *head;
  l->owner = id;
  l->turned = ~id;
  *head = xmcToRef(heap, l);
  return 1;
}

/* Frees the first block of the list. A list that was overwritten ends. */
static uint pop(__global xmcHeap *heap, __global ulong *head, uint id) {
  __global link *l = (__global link *)xmcFromRef(heap, *head);
  uint wrong = l != 0 && (l->owner != id || l->turned != ~id);
  *head = l == 0 || wrong ? 0 : l->next;
  if (!wrong)
    xmcFree(heap, l);
  return wrong;
}

/* Asks for `requests` blocks; with `until_refused` until one is refused. */
__kernel void full_take(__global xmcHeap *heap, __global ulong *heads, uint size, uint requests,
                        uint until_refused, __global uint *counts) {
  uint id = (uint)get_global_id(0), asked, granted = 0;
  for (asked = 0; asked < requests && !(until_refused && granted < asked); asked++)
    granted += push(heap, heads + id, xmcMalloc(heap, size), id);
  bench_count(counts, granted, asked - granted);
}

/* Frees a block and asks for another, again and again. */
__kernel void full_swap(__global xmcHeap *heap, __global ulong *heads, uint size, uint rounds,
                        __global uint *counts, __global uint *failures) {
  uint id = (uint)get_global_id(0), i, granted = 0, wrong = 0;
  for (i = 0; i < rounds; i++) {
    wrong += pop(heap, heads + id, id);
    granted += push(heap, heads + id, xmcMalloc(heap, size), id);
  }
  bench_count(counts, granted, rounds - granted);
  bench_count(failures, 0, wrong);
}

__kernel void full_end(__global xmcHeap *heap, __global ulong *heads, __global uint *failures) {
  uint id = (uint)get_global_id(0), wrong = 0;
  while (heads[id])
    wrong += pop(heap, heads + id, id);
  bench_count(failures, 0, wrong);
}
