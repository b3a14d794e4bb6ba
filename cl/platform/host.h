/* SPDX-License-Identifier: MIT */
/* The host: C11 atomics (builtins of GCC and Clang on plain words). Each thread is a work-item of its own. Tests may define:
 *
 *   XMC_HOST_STEP()              runs before every atomic, to switch threads there
 *   XMC_HOST_STEP_CAS(p)         runs instead before a compare-and-swap of the word at p
 *   XMC_HOST_ACQUIRED()          runs after each load, CAS and fetch-and that acquires; not after what releases as well, nor after hints
 *   XMC_HOST_THREAD()            the number of the thread, from 1
 *   XMC_HOST_LANES               a header with the lanes of sub-groups, xmc_caller, xmc_slot_hint, xmc_near_slot and xmc_any_number,
 *                                for tests that run threads in lock step (XMC_SIMT 1)
 *   XMC_HOST_NEAR(p), …64(p)     what xmc_load_near32 and xmc_load_near64 return: on devices it may be older than the last store
 */
#ifndef XMC_PLATFORM_HOST_H
#define XMC_PLATFORM_HOST_H

#ifndef XMC_HOST_STEP
#define XMC_HOST_STEP() ((void)0)
#endif
#ifndef XMC_HOST_ACQUIRED
#define XMC_HOST_ACQUIRED() ((void)0)
#endif
#ifndef XMC_HOST_STEP_CAS
#define XMC_HOST_STEP_CAS(p) XMC_HOST_STEP()
#endif
#define XMC_CONSTANT const
#ifndef XMC_HOST_LANES
#undef XMC_SIMT
#define XMC_SIMT 0
#endif

#define XMC_HOST_LOAD(name, type, order) \
  XMC_FN type name(const type *p) { \
    XMC_HOST_STEP(); \
    type v = __atomic_load_n(p, order); \
    if ((order) == __ATOMIC_ACQUIRE) \
      XMC_HOST_ACQUIRED(); \
    return v; \
  }
#define XMC_HOST_STORE(name, type, order) \
  XMC_FN void name(type *p, type v) { \
    XMC_HOST_STEP(); \
    __atomic_store_n(p, v, order); \
  }
#define XMC_HOST_RMW(name, op, order) \
  XMC_FN xmc_u64 name(xmc_u64 *p, xmc_u64 v) { \
    XMC_HOST_STEP(); \
    v = __atomic_fetch_##op(p, v, order); \
    if ((order) == __ATOMIC_ACQUIRE) \
      XMC_HOST_ACQUIRED(); \
    return v; \
  }
#define XMC_HOST_CAS(name, type, success) \
  XMC_FN type name(type *p, type expected, type desired) { \
    XMC_HOST_STEP_CAS(p); \
    __atomic_compare_exchange_n(p, &expected, desired, 0, success, __ATOMIC_RELAXED); \
    if ((success) == __ATOMIC_ACQUIRE) \
      XMC_HOST_ACQUIRED(); \
    return expected; \
  }
XMC_HOST_LOAD(xmc_load_relaxed32, xmc_u32, __ATOMIC_RELAXED)
XMC_HOST_LOAD(xmc_load_relaxed64, xmc_u64, __ATOMIC_RELAXED)
XMC_HOST_LOAD(xmc_load_acquire32, xmc_u32, __ATOMIC_ACQUIRE)
XMC_HOST_LOAD(xmc_load_acquire64, xmc_u64, __ATOMIC_ACQUIRE)
XMC_HOST_STORE(xmc_store_relaxed32, xmc_u32, __ATOMIC_RELAXED)
XMC_HOST_STORE(xmc_store_relaxed64, xmc_u64, __ATOMIC_RELAXED)
XMC_HOST_STORE(xmc_store_release64, xmc_u64, __ATOMIC_RELEASE)
XMC_HOST_CAS(xmc_cas_relaxed32, xmc_u32, __ATOMIC_RELAXED)
XMC_HOST_CAS(xmc_cas_relaxed64, xmc_u64, __ATOMIC_RELAXED)
XMC_HOST_CAS(xmc_cas_acquire64, xmc_u64, __ATOMIC_ACQUIRE)
XMC_HOST_CAS(xmc_cas_release32, xmc_u32, __ATOMIC_RELEASE)
XMC_HOST_CAS(xmc_cas_release64, xmc_u64, __ATOMIC_RELEASE)
XMC_HOST_CAS(xmc_cas_acq_rel64, xmc_u64, __ATOMIC_ACQ_REL)
XMC_HOST_RMW(xmc_and_acquire64, and, __ATOMIC_ACQUIRE)
XMC_HOST_RMW(xmc_or_release64, or, __ATOMIC_RELEASE)
XMC_FN xmc_u64 xmc_exchange_acq_rel64(xmc_u64 *p, xmc_u64 v) {
  XMC_HOST_STEP();
  return __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL);
}
XMC_FN xmc_u64 xmc_exchange_hint64(xmc_u64 *p, xmc_u64 v) { return xmc_exchange_acq_rel64(p, v); }
XMC_HOST_CAS(xmc_cas_hint32, xmc_u32, __ATOMIC_ACQ_REL)
XMC_HOST_CAS(xmc_cas_hint64, xmc_u64, __ATOMIC_ACQ_REL)
XMC_HOST_RMW(xmc_or_hint64, or, __ATOMIC_ACQ_REL)
XMC_HOST_RMW(xmc_and_hint64, and, __ATOMIC_ACQ_REL)
XMC_HOST_RMW(xmc_add_relaxed64, add, __ATOMIC_RELAXED)
XMC_HOST_RMW(xmc_add_acq_rel64, add, __ATOMIC_ACQ_REL)
XMC_HOST_RMW(xmc_add_hint64, add, __ATOMIC_ACQ_REL)

XMC_FN xmc_u32 xmc_load_fixed32(const xmc_u32 *p) { return *p; }
XMC_FN xmc_u64 xmc_load_fixed64(const xmc_u64 *p) { return *p; }
#ifndef XMC_HOST_NEAR
#define XMC_HOST_NEAR(p) xmc_load_relaxed32(p)
#endif
XMC_FN xmc_u32 xmc_load_near32(const xmc_u32 *p) { return XMC_HOST_NEAR(p); }
#ifndef XMC_HOST_NEAR64
#define XMC_HOST_NEAR64(p) xmc_load_relaxed64(p)
#endif
XMC_FN xmc_u64 xmc_load_near64(const xmc_u64 *p) { return XMC_HOST_NEAR64(p); }
XMC_FN void xmc_load_four(XMC_GLOBAL const xmc_u64 *p, xmc_u64 *a, xmc_u64 *b, xmc_u64 *c, xmc_u64 *d) {
  *a = p[0];
  *b = p[1];
  *c = p[2];
  *d = p[3];
}
XMC_FN void xmc_load_four_if(int ask, const xmc_u64 *p, xmc_u64 *a, xmc_u64 *b, xmc_u64 *c, xmc_u64 *d) {
  *a = *b = *c = *d = 0;
  if (ask)
    xmc_load_four(p, a, b, c, d);
}
XMC_FN xmc_u64 xmc_mul_high64(xmc_u64 x, xmc_u64 y) { return (xmc_u64)((unsigned __int128)x * y >> 64); }
XMC_FN xmc_u32 xmc_popcount32(xmc_u32 x) { return (xmc_u32)__builtin_popcount(x); }
XMC_FN xmc_u32 xmc_lowest32(xmc_u32 x) { return (xmc_u32)__builtin_ctz(x); }
XMC_FN xmc_u32 xmc_lowest64(xmc_u64 x) { return (xmc_u32)__builtin_ctzll(x); }
XMC_FN xmc_u32 xmc_highest32(xmc_u32 x) { return 31u - (xmc_u32)__builtin_clz(x); }

#ifndef XMC_HOST_THREAD
#define XMC_HOST_THREAD() xmc_host_thread()
/* Each thread gets its number when it first calls. */
XMC_FN xmc_u32 xmc_host_thread(void) {
  static xmc_u32 next;
  static __thread xmc_u32 mine;
  if (mine == 0)
    mine = __atomic_add_fetch(&next, 1u, __ATOMIC_RELAXED);
  return mine;
}
#endif
XMC_FN xmc_u64 xmc_work_item(void) { return XMC_HOST_THREAD(); }
#define XMC_CLOCK_UNIT XMC_CLOCK_NONE
XMC_FN xmc_u64 xmc_clock(void) { return 0; } /* the host's clock is not that of the device */
#ifdef XMC_HOST_LANES
#include XMC_HOST_LANES
#else
XMC_FN xmc_u32 xmc_caller(void) { return XMC_HOST_THREAD() * 2654435769u; }
XMC_FN xmc_u32 xmc_slot_hint(xmc_u32 me, xmc_u32 slots) { return (xmc_u32)(((xmc_u64)me * slots) >> 32); }
XMC_FN xmc_u32 xmc_near_slot(xmc_u32 me, xmc_u32 slots) { return xmc_slot_hint(me, slots); }
XMC_FN xmc_u32 xmc_any_number(xmc_u32 me) {
  (void)me;
  return 0;
}
#endif
#endif
