/* SPDX-License-Identifier: MIT */
/* Counts words in a hash table whose nodes and strings are xmcMalloc'ed where they are needed.
 *
 *   heads[bucket] -> node -> node -> 0        references, so that the table means the same in every launch
 *                    text -> the word in lower case
 *
 * A new word's node is put at the head of its chain by one compare-and-swap. Who loses looks at the nodes
 * that came before it did: if one has the word, the loser frees its own node and string. A node that can be
 * found never changes but for its count, and stays until the table is freed.
 */
#include "xmalloc.cl"
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

typedef struct wc_node {
  xmcRef next;
  xmcRef text;
  ulong count;
  uint hash;
  uint length;
} wc_node;

typedef struct wc_entry {
  ulong count;
  ulong at; /* of the word in the list of words */
  ulong length;
} wc_entry;

/* counters */
#define WC_WORDS 0
#define WC_DISTINCT 1
#define WC_BYTES 2  /* of distinct words */
#define WC_LOST 3   /* nodes freed because another work-item was faster */
#define WC_FAILED 4 /* words not counted: no room in the heap */

/* What stands before a store of a head is seen by who loads that head and then passes the fence, on the
 * whole device. OpenCL 1.2 has no such fence by name. */
#if XMC_NVIDIA
#define WC_FENCE() __asm volatile("fence.acq_rel.gpu;" : : : "memory")
#elif XMC_C11_ATOMICS
#define WC_FENCE() atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device)
#else
#define WC_FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif

static int wc_is_word(uchar c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '\'' || c >= 0x80;
}

static uchar wc_lower(uchar c) { return c >= 'A' && c <= 'Z' ? (uchar)(c + ('a' - 'A')) : c; }

/* The nodes from `ref` on, up to `end`, are looked through for the word. */
static __global wc_node *wc_find(__global xmcHeap *heap, xmcRef ref, xmcRef end, __global const uchar *word,
                                 uint length, uint hash) {
  while (ref != end) {
    __global wc_node *node = (__global wc_node *)xmcFromRef(heap, ref);
    if (node->hash == hash && node->length == length) {
      __global const uchar *text = (__global const uchar *)xmcFromRef(heap, node->text);
      uint i = 0;
      while (i < length && text[i] == wc_lower(word[i]))
        i++;
      if (i == length)
        return node;
    }
    ref = node->next;
  }
  return 0;
}

static __global wc_node *wc_make(__global xmcHeap *heap, __global const uchar *word, uint length, uint hash) {
  __global wc_node *node = (__global wc_node *)xmcMalloc(heap, sizeof(wc_node));
  __global uchar *text = (__global uchar *)xmcMalloc(heap, length);
  uint i;
  if (node == 0 || text == 0) {
    xmcFree(heap, node);
    xmcFree(heap, text);
    return 0;
  }
  for (i = 0; i < length; i++)
    text[i] = wc_lower(word[i]);
  node->text = xmcToRef(heap, text);
  node->hash = hash;
  node->length = length;
  node->count = 1;
  return node;
}

static void wc_add(__global xmcHeap *heap, __global ulong *heads, uint mask, __global const uchar *word,
                   uint length, uint hash, __global ulong *counters) {
  volatile __global ulong *head = heads + (hash & mask);
  __global wc_node *node = 0, *found;
  xmcRef seen = *head, old, end = 0;
  for (;;) {
    WC_FENCE();
    found = wc_find(heap, seen, end, word, length, hash);
    if (found)
      break;
    if (node == 0 && (node = wc_make(heap, word, length, hash)) == 0) {
      atom_inc(&counters[WC_FAILED]);
      return;
    }
    node->next = seen;
    WC_FENCE();
    old = atom_cmpxchg(head, seen, xmcToRef(heap, node));
    if (old == seen) {
      atom_inc(&counters[WC_DISTINCT]);
      atom_add(&counters[WC_BYTES], (ulong)length);
      return;
    }
    end = seen;
    seen = old;
  }
  atom_inc(&found->count);
  if (node) {
    xmcFree(heap, xmcFromRef(heap, node->text));
    xmcFree(heap, node);
    atom_inc(&counters[WC_LOST]);
  }
}

/* Each work-item takes the words that start in its `segment` bytes. The text starts and ends between words. */
__kernel void wc_count(__global xmcHeap *heap, __global ulong *heads, uint mask, __global const uchar *text,
                       uint length, uint segment, __global ulong *counters) {
  uint at = (uint)get_global_id(0) * segment, end = min(at + segment, length);
  ulong words = 0;
  while (at < end) {
    uint start = at, hash = 2166136261u;
    if (!wc_is_word(text[at]) || (at > 0 && wc_is_word(text[at - 1]))) {
      at++;
      continue;
    }
    for (; at < length && wc_is_word(text[at]); at++)
      hash = (hash ^ wc_lower(text[at])) * 16777619u;
    wc_add(heap, heads, mask, text + start, at - start, bench_hash(hash), counters);
    words++;
  }
  if (words)
    atom_add(&counters[WC_WORDS], words);
}

/* One bucket a work-item: writes the table out. next[0]: entries so far, next[1]: bytes so far. */
__kernel void wc_collect(__global xmcHeap *heap, __global const ulong *heads, __global wc_entry *entries,
                         __global uchar *words, __global ulong *next) {
  xmcRef ref = heads[get_global_id(0)];
  while (ref) {
    __global wc_node *node = (__global wc_node *)xmcFromRef(heap, ref);
    __global const uchar *text = (__global const uchar *)xmcFromRef(heap, node->text);
    __global wc_entry *entry = entries + atom_inc(&next[0]);
    ulong at = atom_add(&next[1], (ulong)node->length);
    uint i;
    entry->count = node->count;
    entry->at = at;
    entry->length = node->length;
    for (i = 0; i < node->length; i++)
      words[at + i] = text[i];
    ref = node->next;
  }
}

__kernel void wc_free(__global xmcHeap *heap, __global ulong *heads) {
  xmcRef ref = heads[get_global_id(0)];
  heads[get_global_id(0)] = 0;
  while (ref) {
    __global wc_node *node = (__global wc_node *)xmcFromRef(heap, ref);
    ref = node->next;
    xmcFree(heap, xmcFromRef(heap, node->text));
    xmcFree(heap, node);
  }
}
