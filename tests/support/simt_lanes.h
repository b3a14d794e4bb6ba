/* SPDX-License-Identifier: MIT */
/* XMC_HOST_LANES: the lanes of platform.h by simt.h. */
#ifndef XMC_TEST_SIMT_LANES_H
#define XMC_TEST_SIMT_LANES_H
#include "simt.h"
#define XMC_LANES_ARE_32 (SIMT_LANES == 32)
#if SIMT_LANES > 32 /* as on AMD's GPUs with sub-groups of 64 */
typedef xmc_u64 xmc_lanes;
#else
typedef xmc_u32 xmc_lanes;
#endif
#ifndef SIMT_SLOT
#define SIMT_SLOT(group) (group) /* where sub-group `group` runs */
#endif
XMC_FN xmc_u32 xmc_caller(void) { return SIMT_SLOT(simt_number() / SIMT_LANES); }
XMC_FN xmc_u32 xmc_slot_hint(xmc_u32 me, xmc_u32 slots) {
  return me < slots ? me : (xmc_u32)(((xmc_u64)(me * 2654435769u) * slots) >> 32);
}
XMC_FN xmc_u32 xmc_near_slot(xmc_u32 me, xmc_u32 slots) { return xmc_slot_hint(me, slots); }
XMC_FN xmc_u32 xmc_any_number(xmc_u32 me) {
  (void)me;
  return simt_random();
}
XMC_FN xmc_u32 xmc_lane(void) { return simt_number() % SIMT_LANES; }
/* Each place in the source is one of the program: lanes at two places of one function are not together. */
#define xmc_lanes_matching(key) \
  __extension__({ \
    static char simt_place; \
    (xmc_lanes) simt_matching(&simt_place, key); \
  })
#define xmc_lanes_at(p) xmc_lanes_matching((xmc_u64)(size_t)(p))
XMC_FN xmc_u32 xmc_lanes_count(xmc_lanes m) { return (xmc_u32)__builtin_popcountll(m); }
XMC_FN xmc_u32 xmc_lanes_below(xmc_lanes m) {
  return xmc_lanes_count(m & (((xmc_lanes)1 << xmc_lane()) - 1u));
}
XMC_FN xmc_u32 xmc_lanes_first(xmc_lanes m) { return xmc_lowest64(m); }
XMC_FN xmc_lanes xmc_lanes_drop(xmc_lanes m, xmc_u32 n) {
  for (; n > 0; n--)
    m &= m - 1u;
  return m;
}
XMC_FN xmc_u32 xmc_shuffle32(xmc_lanes m, xmc_u32 value, xmc_u32 lane) {
  return simt_shuffle(m, value, lane);
}
XMC_FN xmc_u32 xmc_lanes_or32(xmc_lanes m, xmc_u32 value) { return simt_or(m, value); }
XMC_FN void xmc_lanes_sync(xmc_lanes m) { simt_or(m, 0); }
XMC_FN xmc_lanes xmc_lanes_ballot(xmc_lanes m, int predicate) {
  xmc_u32 lane = xmc_lane(), low = simt_or(m, predicate && lane < 32u ? 1u << lane : 0);
  if (sizeof m == 4)
    return low;
  return (xmc_lanes)((xmc_u64)simt_or(m, predicate && lane >= 32u ? 1u << (lane - 32u) : 0) << 32 | low);
}
XMC_FN int xmc_lanes_any(int predicate) { return predicate; }
#ifdef SIMT_NVIDIA /* xmc_lanes_gather32 and xmc_lanes_share as on NVIDIA, with more places where lanes wait for each other */
#ifndef SIMT_PART
#define SIMT_PART() ((void)0) /* where a test lets lanes part */
#endif
#define xmc_lanes_here() (SIMT_PART(), xmc_lanes_matching(0))
#define clz(x) ((xmc_u32)__builtin_clz(x))
XMC_FN xmc_lanes xmc_lanes_from_me(void) { return ~(xmc_lanes)0 << xmc_lane(); }
#include "../../cl/platform/nvidia_lanes.h"
#undef clz
/* As on NVIDIA each lane has its fence before the lanes join, and what releases the block has none: the program ends if a lane joins, or
 * releases a Memoryblock, without a fence of its own since the last time that it did. */
#if XMC_COALESCING == XMC_COALESCE_NONE
#error "without coalescing no lanes join"
#endif
#define SIMT_FENCES (1u << 16)
static unsigned char
    simt_fence[SIMT_FENCES]; /* of each lane: 1 after its fence, 2 after it joined, 0 after it released */
static inline void simt_fenced(unsigned char from, unsigned char to) {
  unsigned char *fence = &simt_fence[simt_number() % SIMT_FENCES];
  if (*fence != from) {
    fprintf(stderr, "a free without a fence\n");
    abort();
  }
  *fence = to;
}
/* Nor do claims of blocks acquire there. */
#define xmc_cas_claim64 xmc_cas_hint64
#define SIMT_CLAIM xmc_cas_hint64
#undef xmc_fence_ahead
#undef xmc_lanes_at
#undef xmc_cas_behind64_fast
#undef xmc_cas_behind64
#undef xmc_or_behind64
#define xmc_fence_ahead() ((void)(simt_fence[simt_number() % SIMT_FENCES] = 1))
#define xmc_lanes_at(p) (simt_fenced(1, 2), xmc_lanes_matching((xmc_u64)(size_t)(p)))
#define xmc_cas_behind64_fast(p, expected, desired) (simt_fenced(2, 0), xmc_cas_hint64(p, expected, desired))
#define xmc_or_behind64(p, v) (simt_fenced(2, 0), xmc_or_hint64(p, v))
#define xmc_cas_behind64(p, expected, desired) (simt_fenced(1, 0), xmc_cas_hint64(p, expected, desired))
#else
XMC_FN xmc_u32 xmc_lanes_gather32(xmc_lanes m, xmc_u32 value) {
  value = simt_or(m, value);
  return xmc_lanes_below(m) == 0 ? value : simt_random(); /* only the first lane's counts */
}
XMC_FN void xmc_lanes_share(xmc_lanes m, xmc_u32 lane, xmc_u32 *a, xmc_u32 *b) {
  xmc_lanes_sync(m);
  *a = simt_shuffle(m, *a, lane);
  *b = simt_shuffle(m, *b, lane);
}
#endif
XMC_FN xmc_u32 xmc_full_shuffle32(xmc_lanes m, xmc_u32 value, xmc_u32 n) {
  xmc_lanes_sync(m);
  return simt_shuffle(m, value, xmc_lanes_first(xmc_lanes_drop(m, n)));
}
XMC_FN int xmc_full_same(xmc_u64 a, xmc_u64 b, xmc_u32 n, int *all_n) {
  xmc_lanes same = xmc_lanes_matching(a), also = xmc_lanes_matching(b);
  *all_n = xmc_lanes_count(xmc_lanes_matching(n)) == 32u;
  return XMC_LANES_ARE_32 && xmc_lanes_count(same & also) == 32u;
}
XMC_FN xmc_u64 xmc_add_hint64_if(int ask, xmc_u64 *p, xmc_u64 value) {
  return ask ? xmc_add_hint64(p, value) : 0;
}
#ifndef SIMT_CLAIM
#define SIMT_CLAIM xmc_cas_acquire64
#endif
XMC_FN xmc_u64 xmc_cas_claim64_if(int ask, xmc_u64 *p, xmc_u64 expected, xmc_u64 desired) {
  return ask ? SIMT_CLAIM(p, expected, desired) : expected;
}
XMC_FN xmc_u64 xmc_retire_or_hint64(xmc_u64 *p, xmc_u64 used, xmc_u64 retired, xmc_u64 bits, xmc_u64 *was) {
  *was = xmc_cas_hint64(p, used, retired);
  return xmc_or_hint64(p, bits);
}
#endif
