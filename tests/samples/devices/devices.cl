/* SPDX-License-Identifier: MIT */
/* Kernels of devices.c: words are counted in a table of one heap, and the table of another heap is added to it.
 *
 *   heads[hash of a word] -> node -> node -> 0        each node is a block of the heap, the word's letters at its end
 *
 * A node is put at the front of its chain by one compare-and-exchange; from then on only its count changes. */
#include "xmalloc.cl"

typedef struct node {
  xmcRef next;
  uint count;
  uint length; /* of the word, whose letters stand behind the node */
} node;

static __global uchar *letters(__global node *n) { return (__global uchar *)(n + 1); }

static int is_letter(uchar c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* The node of a word, from the node `ref` on and before the node `end`; or NULL */
static __global node *find(__global xmcHeap *heap, xmcRef ref, xmcRef end, __global const uchar *word,
                           uint length) {
  while (ref != end) {
    __global node *n = (__global node *)xmcFromRef(heap, ref);
    uint i = 0;
    if (n->length == length)
      while (i < length && letters(n)[i] == (word[i] | 0x20)) /* in lower case */
        i++;
    if (i == length)
      return n;
    ref = n->next;
  }
  return 0;
}

/* Adds `count` to that of a word. Words for which there is no room are not counted: the heap counts the request. */
static void add(__global xmcHeap *heap, __global xmcRef *heads, uint mask, __global const uchar *word,
                uint length, uint count) {
  uint hash = 2166136261u, i;
  __global xmcRef *head;
  __global node *mine = 0, *found;
  xmcRef first, looked_at = 0, was;
  for (i = 0; i < length; i++)
    hash = (hash ^ (word[i] | 0x20)) * 16777619u;
  head = &heads[(hash ^ hash >> 15) & mask];
  first = xmcLoadRef(head);
  for (;;) {
    found = find(heap, first, looked_at, word, length);
    if (found) {
      atomic_add((volatile __global uint *)&found->count, count);
      xmcFree(heap, mine); /* NULL is fine */
      return;
    }
    if (!mine) {
      mine = (__global node *)xmcMalloc(heap, sizeof(node) + length);
      if (!mine)
        return;
      mine->count = count;
      mine->length = length;
      for (i = 0; i < length; i++)
        letters(mine)[i] = word[i] | 0x20;
    }
    mine->next = first;
    was = xmcCompareExchangeRef(head, first, xmcToRef(heap, mine));
    if (was == first)
      return;
    looked_at = first; /* somebody else put nodes in front: only those are new */
    first = was;
  }
}

/* Counts the words that begin in the work-item's share of the text. */
__kernel void count_words(__global xmcHeap *heap, __global xmcRef *heads, uint mask,
                          __global const uchar *text, uint bytes, uint share) {
  uint at = (uint)get_global_id(0) * share, end = at + share < bytes ? at + share : bytes, length;
  for (; at < end; at += length) {
    length = 1;
    if (!is_letter(text[at]) || (at > 0 && is_letter(text[at - 1])))
      continue;
    while (at + length < bytes && is_letter(text[at + length]))
      length++;
    add(heap, heads, mask, text + at, length, 1);
  }
}

/* Work-item i adds chain i of the table in the heap `from` to the table in `heap`. */
__kernel void merge(__global xmcHeap *heap, __global xmcRef *heads, uint mask, __global xmcHeap *from,
                    __global const xmcRef *from_heads) {
  uint i = (uint)get_global_id(0);
  xmcRef ref = i <= mask ? from_heads[i] : 0;
  while (ref) {
    __global node *n = (__global node *)xmcFromRef(from, ref);
    add(heap, heads, mask, letters(n), n->length, n->count);
    ref = n->next;
  }
}
