/* SPDX-License-Identifier: MIT */
/* What the host library runs once on each device to see whether a path works: the platform's atomics and
 * lanes. The host checks the results (host/device/probe.c).
 */
#include "layout/arena.h"
#include "platform/platform.h"

/* out[0] gets 2^32 + 1 a work-item by addition, out[1] 2^40 by compare-and-swap, out[2] bit id % 64 set,
 * out[3] bit id % 64 cleared likewise, the two halves of out[4] 1 each by 32-bit compare-and-swap; out[8 + id] is
 * id + 1. */
__kernel void xmc_probe_atomics(__global ulong *out) {
  uint id = (uint)get_global_id(0);
  __global uint *part = (__global uint *)(out + 4) + (id & 1u);
  ulong bit = (ulong)1 << (id & 63u), seen;
  uint seen32;
  xmc_add_relaxed64(out, ((ulong)1 << 32) + 1u);
  do
    seen = xmc_load_relaxed64(out + 1);
  while (xmc_cas_acq_rel64(out + 1, seen, seen + ((ulong)1 << 40)) != seen);
  xmc_or_release64(out + 2, bit);
  do
    seen = xmc_load_relaxed64(out + 3);
  while (xmc_cas_release64(out + 3, seen, seen & ~bit) != seen);
  do
    seen32 = xmc_load_acquire32(part);
  while (xmc_cas_release32(part, seen32, seen32 + 1u) != seen32);
  xmc_store_release64(out + 8 + id, id + 1u);
}

/* From divergent flow: out[0] counts the lanes that took part, once by themselves and (out[1]) once by
 * the first of each group of equal keys; out[2] counts wrong answers. */
__kernel void xmc_probe_lanes(__global ulong *out) {
#if XMC_SIMT
  uint id = (uint)get_global_id(0);
  if (id % 5u != 2u) {
    uint key = id % 3u, turn;
    for (turn = 0; turn <= id % 4u; turn++) {
      xmc_lanes same = xmc_lanes_matching(key);
      uint first = xmc_lanes_first(same);
      uint bit = 1u << (id & 31u);
      int right = xmc_shuffle32(same, key, first) == key && (xmc_lanes_or32(same, bit) & bit) != 0;
      xmc_add_relaxed64(out, 1u);
      if (xmc_lanes_below(same) == 0)
        xmc_add_relaxed64(out + 1, xmc_lanes_count(same));
      if (!right || (xmc_lanes_below(same) == 0) != (xmc_lane() == first))
        xmc_add_relaxed64(out + 2, 1u);
    }
  }
#endif
}

/* The address of an arena in kernels, and a write to it */
__kernel void xmc_probe_address(__global ulong *arena, __global ulong *out) {
  if (get_global_id(0) == 0) {
    out[0] = (ulong)(size_t)arena;
    arena[1] = arena[0] + 1;
  }
}

#if XMC_PROGRAM_SCOPE
#if XMC_PROGRAM_SCOPE > 1
__attribute__((weak))
#endif
__global ulong *__global xmc_probe_kept = 0;

/* The first launch keeps an address, the second writes there. */
__kernel void xmc_probe_keep(__global ulong *arena) {
  if (get_global_id(0) == 0)
    xmc_probe_kept = arena;
}
__kernel void xmc_probe_use_kept(__global ulong *out) {
  if (get_global_id(0) == 0 && xmc_probe_kept) {
    out[0] = 1;
    xmc_probe_kept[1] = xmc_probe_kept[0] + 1;
  }
}
#endif
