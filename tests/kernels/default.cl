/* SPDX-License-Identifier: MIT */
/* Kernels without a heap argument */
#include "xmalloc_std.h"

/* A helper as a port would have it, deep in the code */
static __global uint *make(uint count, uint value) {
  __global uint *p = (__global uint *)malloc(count * sizeof(uint));
  uint i;
  for (i = 0; p && i < count; i++)
    p[i] = value + i;
  return p;
}

/* Work-item i: counts[0] blocks got and still right after the others ran, counts[1] all others. */
__kernel void use_default(__global uint *counts, uint rounds) {
  uint id = (uint)get_global_id(0), round, i, right = 0, wrong = 0;
  for (round = 0; round < rounds; round++) {
    uint n = 4u + (id * 7u + round) % 300u, same = 0;
    __global uint *p = make(n, id * 1000u + round);
    if (!p) {
      wrong++;
      continue;
    }
    p = (__global uint *)realloc(p, 2u * n * sizeof(uint));
    for (i = 0; p && i < n; i++)
      same += p[i] == id * 1000u + round + i;
    if (same == n)
      right++;
    else
      wrong++;
    free(p);
  }
  atomic_add(&counts[0], right);
  atomic_add(&counts[1], wrong);
}

/* Leaves a block allocated. */
__kernel void leave_one(__global ulong *ref) {
  if (get_global_id(0) == 0)
    *ref = xmcToRef(xmcDefaultHeap(), calloc(1, 100));
}
