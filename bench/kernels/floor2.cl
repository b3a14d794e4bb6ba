/* SPDX-License-Identifier: MIT */
/* floor2: the least that an allocator does which finds bad frees. A malloc is one fetch-and on a word at a place that is computed, a
 * free one fetch-or there, with release, whose old value is looked at; the n-th bit stands for the block of the n-th lane. The words
 * lie in front of the blocks, 32 bytes each, with anything in them at first. On GPUs the first lane of those that come together
 * works for all.
 */
#include "xmalloc.cl"

#define FLOOR2_WORD(memory, i) ((__global xmc_u64 *)(memory) + 4u * (size_t)(i))
#if XMC_SIMT
#define FLOOR2_GROUP() \
  xmc_lanes group = xmc_lanes_matching(1u); \
  uint rank = xmc_lanes_below(group), bits = xmc_full_mask(xmc_lanes_count(group))
#define FLOOR2_SHARE(a, b) xmc_lanes_share(group, xmc_lanes_first(group), a, b)
#define FLOOR2_SYNC() xmc_lanes_sync(group)
#else
#define FLOOR2_GROUP() uint rank = 0, bits = 1u << (get_global_id(0) & 31u)
#define FLOOR2_SHARE(a, b)
#define FLOOR2_SYNC()
#endif
/* Never so; but then the value has to be waited for. */
#define FLOOR2_USED(value) ((value) == 0x9e3779b9u)

__kernel void pair_floor2(__global char *memory, uint first, uint stride, uint lanes, uint slots, uint mask,
                          __global uint *failures) {
  uint id = (uint)get_global_id(0), slot = xmc_slot_hint(xmc_caller(), slots), old = 0, place;
  if ((id & 31u) >= lanes)
    return;
  FLOOR2_GROUP();
  if (rank == 0)
    old = (uint)xmc_and_acquire64(FLOOR2_WORD(memory, slot), ~(xmc_u64)bits);
  FLOOR2_SHARE(&old, &slot);
  place = slot * 32u + rank + FLOOR2_USED(old);
  *(volatile __global uint *)(memory + first + (size_t)(place & mask) * stride) = id;
  FLOOR2_SYNC();
  if (rank == 0 && (xmc_or_release64(FLOOR2_WORD(memory, slot), bits) & bits))
    atomic_inc(failures);
}

__kernel void alloc_floor2(__global char *memory, uint first, __global ulong *refs, uint stride) {
  uint id = (uint)get_global_id(0), old = 0, unused = 0;
  ulong at;
  FLOOR2_GROUP();
  if (rank == 0)
    old = (uint)xmc_and_acquire64(FLOOR2_WORD(memory, id >> 5), ~(xmc_u64)bits);
  FLOOR2_SHARE(&old, &unused);
  at = first + ((ulong)id + FLOOR2_USED(old)) * stride;
  *(__global uint *)(memory + at) = id;
  refs[id] = at;
}

__kernel void release_floor2(__global char *memory, __global const ulong *refs, __global uint *failures) {
  uint id = (uint)get_global_id(0);
  int bad = refs[id] == ~(ulong)0;
  FLOOR2_GROUP();
  FLOOR2_SYNC();
  if (rank == 0)
    bad |= (xmc_or_release64(FLOOR2_WORD(memory, id >> 5), bits) & bits) != 0;
  if (bad)
    atomic_inc(failures);
}
