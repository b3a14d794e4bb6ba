/* SPDX-License-Identifier: MIT */
/* NVIDIA: lanes and memory order by inline PTX (compute capability 7.0 and up).
 *
 * NVIDIA's OpenCL declares neither sub-groups nor device-scope orders, but its compiler takes PTX. An
 * OpenCL mem_fence is work-group scope there and never enough; the .gpu scope below is.
 */
#ifndef XMC_PLATFORM_NVIDIA_H
#define XMC_PLATFORM_NVIDIA_H

/* Where a loop with atomics ends by what an atomic or a load of gpu scope returned, or where a branch on such a value leads to the loop, ptxas
 * takes it for one that waits for other lanes, and puts YIELD at its head. Lanes that wait for the one in the loop are let go on by
 * that, and often never come together with it again (bench/experiments.md). No loop here waits for others. ptxas follows values through registers,
 * not through memory: so results are written to private memory in two halves and read back whole, some 30 cycles. ptxas makes one store of the two
 * halves, but does not put the value in place of the load. (C, because PTX here would need a register for the address.) Not on the fast path:
 * functions whose name ends in _fast or _if, and xmc_retire_or_hint64, return what they got; a condition on such a value that leads to the rest is
 * hidden instead (XMC_NO_YIELD). `cell` is an array because compilers let those of all inlined functions share their place. */
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
/* Where all sub-groups read the same field of the header, the first caches must serve them: a strong load asks the second
 * each time, and one after the other (10 % of an allocation). */
XMC_FN xmc_u64 xmc_load_fixed64(XMC_GLOBAL const xmc_u64 *p) {
  xmc_u64 v;
  __asm volatile("ld.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
XMC_PTX_LOAD(xmc_load_near32, xmc_u32, "r", "ld.relaxed.cta.global.u32")
XMC_PTX_LOAD(xmc_load_near64, xmc_u64, "l", "ld.relaxed.cta.global.u64")
XMC_FN void xmc_load_four(XMC_GLOBAL const xmc_u64 *p, xmc_u64 *a, xmc_u64 *b, xmc_u64 *c, xmc_u64 *d) {
  xmc_u64 w, x, y, z;
  __asm volatile("ld.global.v2.u64 {%0, %1}, [%4]; ld.global.v2.u64 {%2, %3}, [%4 + 16];"
                 : "=l"(w), "=l"(x), "=l"(y), "=l"(z)
                 : "l"(p));
  *a = w;
  *b = x;
  *c = y;
  *d = z;
}
XMC_FN void xmc_load_four_if(int ask, XMC_GLOBAL const xmc_u64 *p, xmc_u64 *a, xmc_u64 *b, xmc_u64 *c,
                             xmc_u64 *d) {
  xmc_u64 w, x, y, z;
  __asm volatile("{ .reg .pred q; setp.ne.s32 q, %5, 0; mov.b64 %0, 0; mov.b64 %1, 0; mov.b64 %2, 0; mov.b64 "
                 "%3, 0; @q ld.global.v2.u64 {%0, %1}, [%4]; @q ld.global.v2.u64 {%2, %3}, [%4 + 16]; }"
                 : "=&l"(w), "=&l"(x), "=&l"(y), "=&l"(z)
                 : "l"(p), "r"(ask));
  *a = w;
  *b = x;
  *c = y;
  *d = z;
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
/* Hints: a caller uses the old value before it goes on, so the next access is not issued before this one
 * was done; no fence is paid. Two callers do not: xmc_spans_give, which has a release before and behind them, and xmc_spans_claim, which
 * uses the values of several together. */
XMC_PTX_CAS(xmc_cas_hint32, xmc_u32, "r", "atom.relaxed.gpu.global.cas.b32")
XMC_PTX_CAS(xmc_cas_hint64, xmc_u64, "l", "atom.relaxed.gpu.global.cas.b64")
XMC_PTX_RMW(xmc_or_hint64, xmc_u64, "l", "atom.relaxed.gpu.global.or.b64")
/* Acquires, because not every caller looks at the old value, and without that the access would not be waited for. */
XMC_PTX_RMW(xmc_and_hint64, xmc_u64, "l", "atom.acquire.gpu.global.and.b64")
XMC_PTX_RMW(xmc_add_relaxed64, xmc_u64, "l", "atom.relaxed.gpu.global.add.u64")
XMC_PTX_RMW(xmc_add_acq_rel64, xmc_u64, "l", "atom.acq_rel.gpu.global.add.u64")
XMC_PTX_RMW(xmc_add_hint64, xmc_u64, "l", "atom.relaxed.gpu.global.add.u64")
XMC_PTX_RMW(xmc_exchange_hint64, xmc_u64, "l", "atom.relaxed.gpu.global.exch.b64")

/* The multiprocessor and its warp: one FIFO for each resident sub-group. Both may change while a kernel
 * runs (preemption), which only costs speed. */
XMC_FN xmc_u32 xmc_caller(void) { return 0; } /* read where it is needed: it costs no register */
XMC_FN xmc_u32 xmc_slot_hint(xmc_u32 me, xmc_u32 slots) {
  xmc_u32 sm, warp, slot;
  __asm volatile("mov.u32 %0, %%smid; mov.u32 %1, %%warpid;" : "=r"(sm), "=r"(warp));
  (void)me;
  slot = sm * 64u + warp;
  return slot < slots ? slot : mul_hi(slot * 2654435769u, slots); /* no division: it costs five registers */
}
/* Two slots for each multiprocessor: of up to 144 of them few share one, where there are 256. */
XMC_FN xmc_u32 xmc_near_slot(xmc_u32 me, xmc_u32 slots) {
  xmc_u32 sm, warp;
  __asm volatile("mov.u32 %0, %%smid; mov.u32 %1, %%warpid;" : "=r"(sm), "=r"(warp));
  (void)me;
  return (sm * 2u + (warp & 1u)) & (slots - 1u);
}
/* A number that differs between callers and calls (paper 2011, section 5.2: thread, block and clock) */
XMC_FN xmc_u32 xmc_any_number(xmc_u32 me) {
  xmc_u32 x, lane;
  __asm volatile("mov.u32 %0, %%clock;" : "=r"(x));
  /* Volatile: else the compiler reads it when the call begins and keeps it in a register. */
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
XMC_FN xmc_lanes xmc_lanes_matching(xmc_u64 key) {
  xmc_lanes active, same;
  __asm volatile("activemask.b32 %0;" : "=r"(active));
  __asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(same) : "l"(key), "r"(active) : "memory");
  return same;
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
/* For a mask that ptxas does not know to be the same in all lanes it compares the lanes' masks first, and where they
 * differ it goes through the groups one by one. So here all that are together shuffle at once; a group that is not
 * all together, which is rare, does it a second time. */
XMC_FN void xmc_lanes_sync(xmc_lanes m) { __asm volatile("bar.warp.sync %0;" : : "r"(m) : "memory"); }
XMC_FN void xmc_lanes_share(xmc_lanes m, xmc_u32 lane, xmc_u32 *a, xmc_u32 *b) {
  xmc_lanes here;
  xmc_u32 x, y;
  __asm volatile("activemask.b32 %0;" : "=r"(here));
  xmc_lanes_sync(here);
  x = xmc_shuffle32(here, *a, lane);
  y = xmc_shuffle32(here, *b, lane);
  if (m & ~here) {
    xmc_lanes_sync(m);
    x = xmc_shuffle32(m, *a, lane);
    y = xmc_shuffle32(m, *b, lane);
  }
  *a = x;
  *b = y;
}
/* `value` of lane n, where m is all lanes of the sub-group: ptxas knows the mask to be the same in all */
XMC_FN xmc_u32 xmc_full_shuffle32(xmc_lanes m, xmc_u32 value, xmc_u32 n) {
  xmc_u32 r;
  (void)m;
  __asm volatile("bar.warp.sync 0xffffffff; shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;"
                 : "=r"(r)
                 : "r"(value), "r"(n)
                 : "memory");
  return r;
}
/* match.all with all lanes costs one instruction each; match.any, with a set that ptxas does not know, more than ten. */
XMC_FN int xmc_full_same(xmc_u64 a, xmc_u64 b, xmc_u32 n, int *all_n) {
  xmc_lanes here, x, y, z;
  __asm volatile("activemask.b32 %0;" : "=r"(here));
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
/* Is there a lane here for which it is so? Whoever leaves a loop by this leaves it together with the others: so the
 * compiler needs no YIELD in it, and the lanes wait for each other afterwards. */
XMC_FN int xmc_lanes_any(int predicate) {
  xmc_lanes here, r;
  __asm volatile("activemask.b32 %0;" : "=r"(here));
  __asm volatile("{ .reg .pred q; setp.ne.s32 q, %1, 0; vote.sync.ballot.b32 %0, q, %2; }"
                 : "=r"(r)
                 : "r"(predicate), "r"(here)
                 : "memory");
  return r != 0;
}
/* The lanes of m, which all call, for which it is so */
XMC_FN xmc_lanes xmc_lanes_ballot(xmc_lanes m, int predicate) {
  xmc_lanes r;
  __asm volatile("{ .reg .pred q; setp.ne.s32 q, %1, 0; vote.sync.ballot.b32 %0, q, %2; }"
                 : "=r"(r)
                 : "r"(predicate), "r"(m)
                 : "memory");
  return r;
}
/* Only if `ask`; else it returns `expected`. Without a branch: no lane leaves the others. */
XMC_FN xmc_u64 xmc_cas_acquire64_if(int ask, XMC_GLOBAL xmc_u64 *p, xmc_u64 expected, xmc_u64 desired) {
  xmc_u64 old;
  __asm volatile("{ .reg .pred q; setp.ne.s32 q, %4, 0; mov.b64 %0, %2; "
                 "@q atom.acquire.gpu.global.cas.b64 %0, [%1], %2, %3; }"
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
/* A CAS from `used` to `retired`, in which all of `bits` are set, and a fetch-or of them: if the CAS succeeds the fetch-or
 * changes nothing. Both are on their way at once. *was: what the CAS found. */
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
  while (rest) { /* every lane of m runs this loop alike */
    r |= xmc_shuffle32(m, value, 31u - clz(rest & -rest));
    rest &= rest - 1u;
  }
#endif
  return r;
}
#define XMC_HAS_LANES 1
#endif
