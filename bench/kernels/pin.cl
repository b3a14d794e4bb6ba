/* SPDX-License-Identifier: MIT */
#include "xmalloc.cl"

/* Frees all blocks but one in `one_in`: at random, or each one_in-th. kept[0]: how many stay. Their references stay, too; the others
 * become 0. */
__kernel void thin(__global xmcHeap *heap, __global ulong *refs, uint one_in, uint random,
                   __global uint *kept) {
  uint id = (uint)get_global_id(0);
  if (refs[id] == 0)
    return;
  if ((random ? bench_hash(id + 88172645u) : id) % one_in == 0u) {
    atomic_inc(kept);
  } else {
    xmcFree(heap, xmcFromRef(heap, refs[id]));
    refs[id] = 0;
  }
}
