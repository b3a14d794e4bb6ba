/* SPDX-License-Identifier: MIT */
/* Blocks change hands while the kernel runs: each item allocates, stamps, puts the block's reference in a
 * random place of a table and frees what it finds there, another group's more often than not. The place is
 * exchanged by an acquire-release CAS of the device library, so that the contents are handed over too.
 */
#include "xmalloc.cl"

static void exchange_rounds(__global xmcHeap *heap, __global ulong *table, uint places, uint rounds,
                            uint seed, __global uint *counts) {
  uint id = (uint)get_global_id(0), round, errors = 0, failures = 0;
  uint state = (id + 1u) * 2654435769u ^ seed;
  for (round = 0; round < rounds; round++) {
    uint size, place;
    ulong ref = 0, old, seen;
    __global uint *p;
    state = state * 1664525u + 1013904223u;
    size = 16u + (state >> 8) % (16u << (state >> 28) % 8u);
    place = (state >> 4) % places;
    p = (__global uint *)xmcMalloc(heap, size);
    if (p) {
      p[0] = size;
      p[1] = state;
      pattern_fill((__global char *)(p + 2), size - 8u, state, 0, 1);
      ref = xmcToRef(heap, p);
    } else
      failures++;
    seen = xmc_load_relaxed64(&table[place]);
    do { /* again only when another item exchanged here */
      old = seen;
      seen = xmc_cas_acq_rel64(&table[place], old, ref);
    } while (seen != old);
    if (old) {
      p = (__global uint *)xmcFromRef(heap, old);
      errors += pattern_errors((__global char *)(p + 2), p[0] - 8u, p[1], 0, 1);
      xmcFree(heap, p);
    }
  }
  if (errors)
    atomic_add(&counts[0], errors);
  if (failures)
    atomic_add(&counts[1], failures);
}

__kernel void exchange(__global xmcHeap *heap, __global ulong *table, uint places, uint rounds, uint seed,
                       __global uint *counts) {
  exchange_rounds(heap, table, places, rounds, seed, counts);
}

/* The table is a block of the heap, and the host exchanges with it too. */
__kernel void exchange_in_heap(__global xmcHeap *heap, ulong table, uint places, uint rounds, uint seed,
                               __global uint *counts) {
  exchange_rounds(heap, (__global ulong *)xmcFromRef(heap, table), places, rounds, seed, counts);
}

__kernel void exchange_end(__global xmcHeap *heap, __global ulong *table, uint places,
                           __global uint *counts) {
  uint place = (uint)get_global_id(0);
  if (place < places && table[place]) {
    __global uint *p = (__global uint *)xmcFromRef(heap, table[place]);
    uint errors = pattern_errors((__global char *)(p + 2), p[0] - 8u, p[1], 0, 1);
    if (errors)
      atomic_add(&counts[0], errors);
    xmcFree(heap, p);
    table[place] = 0;
  }
}

/* Lanes of one sub-group on two heaps, at one place in the program. */
__kernel void two_heaps_malloc(__global xmcHeap *a, __global xmcHeap *b, __global test_block *blocks_a,
                               __global test_block *blocks_b, uint count, uint tag) {
  uint id = (uint)get_global_id(0), which = (id * 2654435769u >> 13) & 1u;
  if (id < count) {
    __global xmcHeap *heap = which ? b : a;
    __global test_block *mine = (which ? blocks_b : blocks_a) + id;
    __global char *p;
    test_block block;
    block.size = 16u + id % 5u * 40u;
    block.tag = tag + id;
    block.errors = 0;
    p = (__global char *)xmcMalloc(heap, (size_t)block.size);
    block.address = (ulong)p;
    block.offset = p ? (ulong)(p - (__global char *)heap) : 0;
    block.ref = xmcToRef(heap, p);
    block.usable = xmcUsableSize(heap, p);
    if (p)
      pattern_fill(p, block.usable, block.tag, 0, 1);
    *mine = block;
  }
}

/* Frees in both at once, in another order. */
__kernel void two_heaps_free(__global xmcHeap *a, __global xmcHeap *b, __global test_block *blocks_a,
                             __global test_block *blocks_b, uint count) {
  uint id = (uint)get_global_id(0);
  if (id < count) {
    uint j = count - 1u - id, which = (j * 2654435769u >> 13) & 1u;
    __global xmcHeap *heap = which ? b : a;
    __global test_block *mine = (which ? blocks_b : blocks_a) + j;
    xmcFree(heap, xmcFromRef(heap, mine->ref));
    mine->ref = 0;
  }
}
