/* SPDX-License-Identifier: MIT */
/* NVIDIA: lanes and memory order by inline PTX (compute capability 7.0 and up).
 * NVIDIA's OpenCL declares neither sub-groups nor orders at device scope, but its compiler accepts inline PTX. OpenCL's
 * mem_fence has work-group scope there, which is never enough; the atomics below have .gpu scope, which is the device.
 */
#ifndef XMC_PLATFORM_NVIDIA_H
#define XMC_PLATFORM_NVIDIA_H

/* ptxas puts the instruction YIELD at the head of a loop with atomics if the value of an atomic, or of a load of gpu scope, decides when
 * the loop ends or whether it is reached, because such a loop could wait for other lanes. At a YIELD the lanes that wait for the lane in
 * the loop continue without it, and often never come together with it again (bench/experiments.md). No loop here waits for other lanes.
 * Therefore XMC_HIDDEN hides from ptxas where a value comes from: ptxas follows values through registers but not through memory, so the
 * value is written to private memory in two halves and read back whole, which takes some 30 cycles. ptxas joins the two stores, but does
 * not replace the load by the value. (This is C, because PTX would need a register for the address.) Nothing is hidden on the fast path:
 * functions whose names end in _fast or _if, and xmc_retire_or_hint64, return the plain value, and XMC_NO_YIELD hides the condition by
 * which such a value leads off the fast path. `cell` is an array because compilers let the arrays of all inlined functions share one
 * place on the stack. */
#if XMC_NO_YIELDS
#define XMC_HIDDEN_FN(name, type, half) \
  XMC_FN type name(type x) { \
    xmc_u64 cell[1]; \
    ((volatile half *)cell)[0] = (half)x; \
    ((volatile half *)cell)[1] = (half)(x >> sizeof x * 4u); \
    return *(volatile type *)cell; \
  }
XMC_HIDDEN_FN(xmc_hidden_r, xmc_u32, unsigned short)
XMC_HIDDEN_FN(xmc_hidden_l, xmc_u64, xmc_u32)
#define XMC_HIDDEN(x) (sizeof(x) == 8 ? xmc_hidden_l(x) : xmc_hidden_r((xmc_u32)(x)))
#define XMC_HIDE_BOTH(a, b) \
  do { \
    xmc_u64 both = xmc_hidden_l((xmc_u64)(b) << 32 | (a)); \
    a = (xmc_u32)both; \
    b = (xmc_u32)(both >> 32); \
  } while (0)
#define XMC_NO_YIELD(condition) xmc_hidden_r((condition) != 0)
#endif

#define XMC_PTX_LOAD(name, type, reg, op) \
  XMC_FN type name##_fast(XMC_GLOBAL const type *p) { \
    type v; \
    __asm volatile(op " %0, [%1];" : "=" reg(v) : "l"(p) : "memory"); \
    return v; \
  } \
  XMC_FN type name(XMC_GLOBAL const type *p) { return XMC_HIDDEN(name##_fast(p)); }
#define XMC_PTX_STORE(name, type, reg, op) \
  XMC_FN void name(XMC_GLOBAL type *p, type v) { \
    __asm volatile(op " [%0], %1;" : : "l"(p), reg(v) : "memory"); \
  }
#define XMC_PTX_RMW(name, type, reg, op) \
  XMC_FN type name##_fast(XMC_GLOBAL type *p, type v) { \
    type old; \
    __asm volatile(op " %0, [%1], %2;" : "=" reg(old) : "l"(p), reg(v) : "memory"); \
    return old; \
  } \
  XMC_FN type name(XMC_GLOBAL type *p, type v) { return XMC_HIDDEN(name##_fast(p, v)); }
#define XMC_PTX_CAS(name, type, reg, op) \
  XMC_FN type name##_fast(XMC_GLOBAL type *p, type expected, type desired) { \
    type old; \
    __asm volatile(op " %0, [%1], %2, %3;" : "=" reg(old) : "l"(p), reg(expected), reg(desired) : "memory"); \
    return old; \
  } \
  XMC_FN type name(XMC_GLOBAL type *p, type expected, type desired) { \
    return XMC_HIDDEN(name##_fast(p, expected, desired)); \
  }

XMC_PTX_LOAD(xmc_load_relaxed32, xmc_u32, "r", "ld.relaxed.gpu.global.u32")
XMC_PTX_LOAD(xmc_load_relaxed64, xmc_u64, "l", "ld.relaxed.gpu.global.u64")
XMC_PTX_LOAD(xmc_load_acquire32, xmc_u32, "r", "ld.acquire.gpu.global.u32")
XMC_PTX_LOAD(xmc_load_acquire64, xmc_u64, "l", "ld.acquire.gpu.global.u64")
/* All sub-groups read the same field of the header, so the first-level caches must serve these loads. A strong load would go to the
 * second-level cache each time, and the loads would wait for each other (10 % of an allocation). */
XMC_FN xmc_u64 xmc_load_fixed64(XMC_GLOBAL const xmc_u64 *p) {
  xmc_u64 v;
  __asm volatile("ld.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
XMC_PTX_LOAD(xmc_load_fixed32, xmc_u32, "r", "ld.relaxed.cta.global.u32")
XMC_PTX_LOAD(xmc_load_near32, xmc_u32, "r", "ld.relaxed.cta.global.u32")
XMC_PTX_LOAD(xmc_load_near64, xmc_u64, "l", "ld.relaxed.cta.global.u64")
XMC_FN void xmc_load_four(XMC_GLOBAL const xmc_u64 *p, xmc_u64 *a, xmc_u64 *b, xmc_u64 *c, xmc_u64 *d) {
  __asm volatile("ld.global.v2.u64 {%0, %1}, [%4]; ld.global.v2.u64 {%2, %3}, [%4 + 16];"
                 : "=l"(*a), "=l"(*b), "=l"(*c), "=l"(*d)
                 : "l"(p));
}
XMC_FN void xmc_load_four_if(int ask, XMC_GLOBAL const xmc_u64 *p, xmc_u64 *a, xmc_u64 *b, xmc_u64 *c,
                             xmc_u64 *d) {
  __asm volatile("{ .reg .pred q; setp.ne.s32 q, %5, 0; mov.b64 %0, 0; mov.b64 %1, 0; mov.b64 %2, 0; mov.b64 "
                 "%3, 0; @q ld.global.v2.u64 {%0, %1}, [%4]; @q ld.global.v2.u64 {%2, %3}, [%4 + 16]; }"
                 : "=&l"(*a), "=&l"(*b), "=&l"(*c), "=&l"(*d)
                 : "l"(p), "r"(ask));
}
XMC_FN void xmc_load_row_fast(XMC_GLOBAL const xmc_u64 *p, xmc_u64 *a, xmc_u32 *b, xmc_u32 *c) {
  xmc_u64 w;
  xmc_u32 x, y;
  __asm volatile("{ .reg .b64 v; ld.relaxed.gpu.global.v2.b64 {%0, v}, [%3]; mov.b64 {%1, %2}, v; }"
                 : "=l"(w), "=r"(x), "=r"(y)
                 : "l"(p)
                 : "memory");
  *a = w;
  *b = x;
  *c = y;
}
XMC_FN void xmc_load_row(XMC_GLOBAL const xmc_u64 *p, xmc_u64 *a, xmc_u32 *b, xmc_u32 *c) {
  xmc_load_row_fast(p, a, b, c);
  *a = XMC_HIDDEN(*a);
  XMC_HIDE_BOTH(*b, *c);
}
XMC_FN void xmc_store_two64(XMC_GLOBAL xmc_u64 *p, xmc_u64 a, xmc_u64 b) {
  __asm volatile("st.relaxed.gpu.global.v2.b64 [%0], {%1, %2};" : : "l"(p), "l"(a), "l"(b) : "memory");
}
#define XMC_HAS_ROWS 1
XMC_PTX_STORE(xmc_store_relaxed32, xmc_u32, "r", "st.relaxed.gpu.global.u32")
XMC_PTX_STORE(xmc_store_relaxed64, xmc_u64, "l", "st.relaxed.gpu.global.u64")
XMC_PTX_STORE(xmc_store_release64, xmc_u64, "l", "st.release.gpu.global.u64")
XMC_PTX_CAS(xmc_cas_relaxed32, xmc_u32, "r", "atom.relaxed.gpu.global.cas.b32")
XMC_PTX_CAS(xmc_cas_relaxed64, xmc_u64, "l", "atom.relaxed.gpu.global.cas.b64")
XMC_PTX_CAS(xmc_cas_acquire64, xmc_u64, "l", "atom.acquire.gpu.global.cas.b64")
XMC_PTX_CAS(xmc_cas_release32, xmc_u32, "r", "atom.release.gpu.global.cas.b32")
XMC_PTX_CAS(xmc_cas_release64, xmc_u64, "l", "atom.release.gpu.global.cas.b64")
XMC_PTX_CAS(xmc_cas_acq_rel64, xmc_u64, "l", "atom.acq_rel.gpu.global.cas.b64")
XMC_PTX_RMW(xmc_and_acquire64, xmc_u64, "l", "atom.acquire.gpu.global.and.b64")
XMC_PTX_RMW(xmc_or_release64, xmc_u64, "l", "atom.release.gpu.global.or.b64")
XMC_PTX_RMW(xmc_exchange_acq_rel64, xmc_u64, "l", "atom.acq_rel.gpu.global.exch.b64")
/* Hints: the caller uses the returned value before it continues, so its next access is not issued before the hint was done, and no
 * fence is needed. Some callers do not: xmc_spans_give has a release before and after its hints; xmc_spans_claim uses the values of
 * several hints together; in xmc_fifo_claim and xmc_release_whole other accesses may be issued before the value is used; xmc_spans_claim,
 * where it gives back, reads the same word again by a load, which sees at least its own hint, and goes on with what that load returned;
 * and xmc_say_scarce, xmc_room_look and xmc_runs_forget do not use the value at all. */
XMC_PTX_CAS(xmc_cas_hint32, xmc_u32, "r", "atom.relaxed.gpu.global.cas.b32")
XMC_PTX_CAS(xmc_cas_hint64, xmc_u64, "l", "atom.relaxed.gpu.global.cas.b64")
XMC_PTX_RMW(xmc_or_hint64, xmc_u64, "l", "atom.relaxed.gpu.global.or.b64")
/* This hint acquires, because some callers do not use the old value, so that nothing else would wait for the access. */
XMC_PTX_RMW(xmc_and_hint64, xmc_u64, "l", "atom.acquire.gpu.global.and.b64")
/* Claims of blocks, and of room that one call hands out wholly, are relaxed: an acquire would empty the first-level cache, and with it
 * the header that all calls read. What the former owner did with the block is done for the device since its release, and the new owner's
 * accesses depend on the value of the claim; so what the new owner writes comes after. What the new owner reads before it writes is not
 * specified. Debug heaps read what lies in a new block, so they acquire. */
#if XMC_DEBUG
#define XMC_PTX_CLAIM "atom.acquire.gpu.global.cas.b64"
#else
#define XMC_PTX_CLAIM "atom.relaxed.gpu.global.cas.b64"
#endif
XMC_PTX_CAS(xmc_cas_claim64, xmc_u64, "l", XMC_PTX_CLAIM)
XMC_PTX_RMW(xmc_add_relaxed64, xmc_u64, "l", "atom.relaxed.gpu.global.add.u64")
XMC_PTX_RMW(xmc_add_acq_rel64, xmc_u64, "l", "atom.acq_rel.gpu.global.add.u64")
XMC_PTX_RMW(xmc_add_hint64, xmc_u64, "l", "atom.relaxed.gpu.global.add.u64")
XMC_PTX_RMW(xmc_exchange_hint64, xmc_u64, "l", "atom.relaxed.gpu.global.exch.b64")

/* The fence of a free stands behind the load of the page map's entry, which takes as long: so both are waited for at the same time, and
 * the release that follows needs no fence. Each lane waits until what it wrote is done for the device, and then the lanes join. (A
 * fence.acq_rel would also empty the first-level cache.) */
#if XMC_NVIDIA_FENCE
XMC_FN void xmc_fence_ahead(void) { __asm volatile("fence.release.gpu;" : : : "memory"); }
#define xmc_cas_behind64_fast xmc_cas_hint64_fast
#define xmc_cas_behind64 xmc_cas_hint64
#define xmc_or_behind64 xmc_or_hint64
#else
#define xmc_fence_ahead() ((void)0)
#define xmc_cas_behind64_fast xmc_cas_release64_fast
#define xmc_cas_behind64 xmc_cas_release64
#define xmc_or_behind64 xmc_or_release64
#endif

/* The slot is computed from the numbers of the multiprocessor and of the warp in it, so that each resident sub-group has a slot of its
 * own if there are as many slots. Both numbers may change while a kernel runs (preemption), which only costs speed. */
XMC_FN xmc_u32 xmc_caller(void) { return 0; } /* not used: slots read their numbers when needed */
XMC_FN xmc_u32 xmc_slot_hint(xmc_u32 me, xmc_u32 slots) {
  xmc_u32 sm, warp, slot;
  __asm volatile("mov.u32 %0, %%smid; mov.u32 %1, %%warpid;" : "=r"(sm), "=r"(warp));
  (void)me;
  slot = sm * 64u + warp;
  return slot < slots ? slot : mul_hi(slot * 2654435769u, slots); /* a division takes five registers */
}
/* Two slots for each multiprocessor. If there are 256 slots, few of up to 144 multiprocessors share one. */
XMC_FN xmc_u32 xmc_near_slot(xmc_u32 me, xmc_u32 slots) {
  xmc_u32 sm, warp;
  __asm volatile("mov.u32 %0, %%smid; mov.u32 %1, %%warpid;" : "=r"(sm), "=r"(warp));
  (void)me;
  return (sm * 2u + (warp & 1u)) & (slots - 1u);
}
/* Returns a number that differs between callers and between calls (paper 2011, section 5.2: thread, block and clock). */
XMC_FN xmc_u32 xmc_any_number(xmc_u32 me) {
  xmc_u32 x, lane;
  __asm volatile("mov.u32 %0, %%clock;" : "=r"(x));
  /* Volatile: otherwise the compiler reads laneid when the call begins and keeps it in a register. */
  __asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  x = (x ^ lane ^ xmc_slot_hint(me, 0x10000u) << 12) * 0x2c1b3c6du;
  x = (x ^ x >> 15) * 0x297a2d39u;
  return x ^ x >> 15;
}
#define XMC_HAS_SLOT 1
#if XMC_TRACE
#define XMC_CLOCK_UNIT XMC_CLOCK_NS
XMC_FN xmc_u64 xmc_clock(void) {
  xmc_u64 now;
  __asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
#endif
typedef xmc_u32 xmc_lanes;
#define XMC_LANES_ARE_32 1
XMC_FN xmc_u32 xmc_lane(void) {
  xmc_u32 lane;
  __asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
/* Returns the lanes that run together now. ptxas knows that it is the same for all of them, until the next branch. */
XMC_FN xmc_lanes xmc_lanes_here(void) {
  xmc_lanes here;
  __asm volatile("activemask.b32 %0;" : "=r"(here));
  return here;
}
XMC_FN xmc_lanes xmc_lanes_matching(xmc_u64 key) {
  xmc_lanes here = xmc_lanes_here(), same;
  __asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(same) : "l"(key), "r"(here) : "memory");
  return same;
}
/* In frees two matches of 32 bits take less time than one of 64. */
XMC_FN xmc_lanes xmc_lanes_at(XMC_GLOBAL xmc_u64 *p) {
  xmc_u64 at = (xmc_u64)(size_t)p;
  xmc_lanes here = xmc_lanes_here(), high, low;
  __asm volatile("match.any.sync.b32 %0, %2, %4; match.any.sync.b32 %1, %3, %4;"
                 : "=&r"(high), "=r"(low)
                 : "r"((xmc_u32)(at >> 32)), "r"((xmc_u32)at), "r"(here)
                 : "memory");
  return high & low;
}
XMC_FN xmc_u32 xmc_lanes_below(xmc_lanes m) {
  xmc_u32 below;
  __asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  return popcount(m & below);
}
XMC_FN xmc_u32 xmc_shuffle32(xmc_lanes m, xmc_u32 value, xmc_u32 lane) {
  xmc_u32 r;
  __asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;"
                 : "=r"(r)
                 : "r"(value), "r"(lane), "r"(m)
                 : "memory");
  return r;
}
XMC_FN void xmc_lanes_sync(xmc_lanes m) { __asm volatile("bar.warp.sync %0;" : : "r"(m) : "memory"); }
/* Returns `value` of lane n. m must be all 32 lanes of the sub-group: so the mask is a constant, the same in all lanes for ptxas. */
XMC_FN xmc_u32 xmc_full_shuffle32(xmc_lanes m, xmc_u32 value, xmc_u32 n) {
  xmc_u32 r;
  (void)m;
  __asm volatile("bar.warp.sync 0xffffffff; shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;"
                 : "=r"(r)
                 : "r"(value), "r"(n)
                 : "memory");
  return r;
}
/* A match.all with the constant mask of all lanes is one instruction; a match.any with a mask unknown to ptxas is more than ten. */
XMC_FN int xmc_full_same(xmc_u64 a, xmc_u64 b, xmc_u32 n, int *all_n) {
  xmc_lanes here = xmc_lanes_here(), x, y, z;
  if (here != 0xffffffffu)
    return 0;
  __asm volatile("match.all.sync.b64 %0, %3, 0xffffffff; match.all.sync.b64 %1, %4, 0xffffffff; "
                 "match.all.sync.b32 %2, %5, 0xffffffff;"
                 : "=&r"(x), "=&r"(y), "=r"(z)
                 : "l"(a), "l"(b), "r"(n)
                 : "memory");
  *all_n = z != 0;
  return (x & y) != 0;
}
/* Returns the lanes of m for which the predicate is true. All lanes of m must call. */
XMC_FN xmc_lanes xmc_lanes_ballot(xmc_lanes m, int predicate) {
  xmc_lanes r;
  __asm volatile("{ .reg .pred q; setp.ne.s32 q, %1, 0; vote.sync.ballot.b32 %0, q, %2; }"
                 : "=r"(r)
                 : "r"(predicate), "r"(m)
                 : "memory");
  return r;
}
/* Returns 1, to all lanes that run together, if the predicate is true for one of them. Lanes that leave a loop by this result leave it
 * together: so ptxas puts no YIELD into the loop, and the lanes come together again behind it. */
XMC_FN int xmc_lanes_any(int predicate) { return xmc_lanes_ballot(xmc_lanes_here(), predicate) != 0; }
/* A claim if `ask` is not 0; otherwise it only returns `expected`. There is no branch, so that no lane leaves the others. */
XMC_FN xmc_u64 xmc_cas_claim64_if(int ask, XMC_GLOBAL xmc_u64 *p, xmc_u64 expected, xmc_u64 desired) {
  xmc_u64 old;
  __asm volatile("{ .reg .pred q; setp.ne.s32 q, %4, 0; mov.b64 %0, %2; "
                 "@q " XMC_PTX_CLAIM " %0, [%1], %2, %3; }"
                 : "=&l"(old)
                 : "l"(p), "l"(expected), "l"(desired), "r"(ask)
                 : "memory");
  return old;
}
XMC_FN xmc_u64 xmc_add_hint64_if(int ask, XMC_GLOBAL xmc_u64 *p, xmc_u64 value) {
  xmc_u64 old;
  __asm volatile("{ .reg .pred q; setp.ne.s32 q, %3, 0; mov.b64 %0, 0; @q atom.relaxed.gpu.global.add.u64 "
                 "%0, [%1], %2; }"
                 : "=&l"(old)
                 : "l"(p), "l"(value), "r"(ask)
                 : "memory");
  return old;
}
/* Issues a CAS from `used` to `retired` and right behind it a fetch-or of `bits`, without waiting for the CAS. All of `bits` must be
 * set in `retired`, so that the fetch-or changes nothing if the CAS succeeds. Returns the word before the fetch-or, and in *was the
 * word before the CAS. */
XMC_FN xmc_u64 xmc_retire_or_hint64(XMC_GLOBAL xmc_u64 *p, xmc_u64 used, xmc_u64 retired, xmc_u64 bits,
                                    xmc_u64 *was) {
  xmc_u64 old, seen;
  __asm volatile(
      "atom.relaxed.gpu.global.cas.b64 %1, [%2], %3, %4; atom.relaxed.gpu.global.or.b64 %0, [%2], %5;"
      : "=&l"(old), "=&l"(seen)
      : "l"(p), "l"(used), "l"(retired), "l"(bits)
      : "memory");
  *was = seen;
  return old;
}
XMC_FN xmc_u32 xmc_lanes_or32(xmc_lanes m, xmc_u32 value) {
  xmc_u32 r;
#if XMC_NVIDIA_REDUX
  __asm volatile("redux.sync.or.b32 %0, %1, %2;" : "=r"(r) : "r"(value), "r"(m) : "memory");
#else
  xmc_lanes rest = m;
  r = 0;
  while (rest) { /* all lanes of m run this loop in the same way */
    r |= xmc_shuffle32(m, value, 31u - clz(rest & -rest));
    rest &= rest - 1u;
  }
#endif
  return r;
}
/* The lanes from the caller's on */
XMC_FN xmc_lanes xmc_lanes_from_me(void) {
  xmc_lanes from;
  __asm("mov.u32 %0, %%lanemask_ge;" : "=r"(from));
  return from;
}
#include "nvidia_lanes.h"
#define XMC_HAS_LANES 1
#endif
