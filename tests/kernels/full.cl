/* SPDX-License-Identifier: MIT */
/* A heap filled to the last block. Every item keeps its blocks in a list whose links lie in the blocks:
 *
 *   heads[item] -> | next ref | owner, number | … | last word: tag |  -> …
 */
#include "xmalloc.cl"

typedef struct full_node {
  ulong next;
  uint owner;
  uint number;
} full_node;

static inline ulong full_tag(uint owner, uint number, uint size) {
  return ((ulong)owner << 32 | number) * 0x9e3779b97f4a7c15ul ^ size;
}

static inline uint full_size(uint size, uint owner, uint number) {
  uint h = (owner * 2654435769u + number) * 0x85ebca6bu;
  h ^= h >> 15;
  return size ? size : 16u + (h >> 4) % (32u << h % 8u);
}

/* Each item takes blocks of `size` bytes (0: all magnitudes to 4 KiB) until one is refused, at most `quota`.
 * numbers[item] counts the item's blocks ever; totals: blocks, bytes, refused items. */
__kernel void full_fill(__global xmcHeap *heap, __global ulong *heads, __global uint *numbers, uint items,
                        uint size, uint quota, __global ulong *taken) {
  uint item = (uint)get_global_id(0), n;
  ulong bytes = 0;
  if (item >= items)
    return;
  for (n = 0; n < quota; n++) {
    uint number = numbers[item], mine = full_size(size, item, number);
    __global full_node *node = (__global full_node *)xmcMalloc(heap, mine);
    if (!node)
      break;
    node->next = heads[item];
    node->owner = item;
    node->number = number;
    if (mine >= 24u)
      ((__global ulong *)node)[mine / 8u - 1u] = full_tag(item, number, mine);
    heads[item] = xmcToRef(heap, node);
    numbers[item] = number + 1u;
    bytes += mine;
  }
  taken[3u * item] += n;
  taken[3u * item + 1u] += bytes;
  taken[3u * item + 2u] = n < quota;
}

/* Each item checks and frees the list of item (item + shift) % items; of every `of` blocks it keeps one
 * (of 0: none). taken counts down; errors counts blocks that are not their owner's. */
__kernel void full_free(__global xmcHeap *heap, __global ulong *heads, uint items, uint size, uint shift,
                        uint of, __global ulong *taken, __global uint *errors) {
  uint item = (uint)get_global_id(0), owner = (item + shift) % items, n = 0, wrong = 0;
  ulong ref, kept = 0;
  if (item >= items)
    return;
  ref = heads[owner];
  while (ref) {
    __global full_node *node = (__global full_node *)xmcFromRef(heap, ref);
    uint mine = full_size(size, owner, node->number);
    ref = node->next;
    if (node->owner != owner ||
        (mine >= 24u && ((__global ulong *)node)[mine / 8u - 1u] != full_tag(owner, node->number, mine))) {
      wrong++;
      break; /* the list is not to be trusted any more */
    }
    n++;
    if (of && n % of == 0) {
      node->next = kept;
      kept = xmcToRef(heap, node);
    } else {
      xmcFree(heap, node);
      taken[3u * owner] -= 1;
      taken[3u * owner + 1u] -= mine;
    }
  }
  heads[owner] = kept;
  if (wrong)
    atomic_add(errors, wrong);
}

/* One block */
__kernel void full_one(__global xmcHeap *heap, ulong size, __global ulong *ref) {
  __global char *p = (__global char *)xmcMalloc(heap, (size_t)size);
  *ref = xmcToRef(heap, p);
  if (p) {
    p[0] = 1;
    p[size / 2] = 2;
    p[size - 1] = 3;
  }
}

__kernel void full_one_free(__global xmcHeap *heap, __global ulong *ref) {
  xmcFree(heap, xmcFromRef(heap, *ref));
}
