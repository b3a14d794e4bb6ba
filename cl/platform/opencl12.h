/* SPDX-License-Identifier: MIT */
/* OpenCL C 1.2 with cl_khr_int64_*_atomics, whose functions atom_* promise no memory order.
 *
 * The implementations for which this file is used (PoCL, Oclgrind) run atom_* sequentially consistently. Beside each atomic that
 * must be ordered there is a fence, so that the compiler moves no access across it.
 */
#ifndef XMC_PLATFORM_OPENCL12_H
#define XMC_PLATFORM_OPENCL12_H

#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

#define XMC_V32(p) ((volatile XMC_GLOBAL xmc_u32 *)(p))
#define XMC_V64(p) ((volatile XMC_GLOBAL xmc_u64 *)(p))
#define XMC_FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)

/* -DXMC_LOAD_BY_RMW=1 makes a load a read-modify-write that changes nothing, because race checkers accept that. By default loads are
 * aligned volatile ones, which are single accesses on all devices that use this file, and much cheaper. */
#ifndef XMC_LOAD_BY_RMW
#define XMC_LOAD_BY_RMW 0
#endif
#if XMC_LOAD_BY_RMW
XMC_FN xmc_u32 xmc_load_relaxed32(XMC_GLOBAL const xmc_u32 *p) { return atomic_or(XMC_V32(p), 0u); }
XMC_FN xmc_u64 xmc_load_relaxed64(XMC_GLOBAL const xmc_u64 *p) { return atom_or(XMC_V64(p), (xmc_u64)0); }
XMC_FN void xmc_store_relaxed32(XMC_GLOBAL xmc_u32 *p, xmc_u32 v) { atomic_xchg(XMC_V32(p), v); }
XMC_FN void xmc_store_relaxed64(XMC_GLOBAL xmc_u64 *p, xmc_u64 v) { atom_xchg(XMC_V64(p), v); }
#else
XMC_FN xmc_u32 xmc_load_relaxed32(XMC_GLOBAL const xmc_u32 *p) { return *XMC_V32(p); }
XMC_FN xmc_u64 xmc_load_relaxed64(XMC_GLOBAL const xmc_u64 *p) { return *XMC_V64(p); }
XMC_FN void xmc_store_relaxed32(XMC_GLOBAL xmc_u32 *p, xmc_u32 v) { *XMC_V32(p) = v; }
XMC_FN void xmc_store_relaxed64(XMC_GLOBAL xmc_u64 *p, xmc_u64 v) { *XMC_V64(p) = v; }
#endif
XMC_FN xmc_u32 xmc_load_acquire32(XMC_GLOBAL const xmc_u32 *p) {
  xmc_u32 v = xmc_load_relaxed32(p);
  XMC_FENCE();
  return v;
}
XMC_FN xmc_u64 xmc_load_acquire64(XMC_GLOBAL const xmc_u64 *p) {
  xmc_u64 v = xmc_load_relaxed64(p);
  XMC_FENCE();
  return v;
}
XMC_FN void xmc_store_release64(XMC_GLOBAL xmc_u64 *p, xmc_u64 v) {
  XMC_FENCE();
  xmc_store_relaxed64(p, v);
}

#define XMC_ATOM_CAS(name, type, cast, op, before, after) \
  XMC_FN type name(XMC_GLOBAL type *p, type expected, type desired) { \
    type old; \
    before; \
    old = op(cast(p), expected, desired); \
    after; \
    return old; \
  }
#define XMC_ATOM_RMW(name, op, before, after) \
  XMC_FN xmc_u64 name(XMC_GLOBAL xmc_u64 *p, xmc_u64 v) { \
    xmc_u64 old; \
    before; \
    old = op(XMC_V64(p), v); \
    after; \
    return old; \
  }
XMC_ATOM_CAS(xmc_cas_relaxed32, xmc_u32, XMC_V32, atomic_cmpxchg, , )
XMC_ATOM_CAS(xmc_cas_relaxed64, xmc_u64, XMC_V64, atom_cmpxchg, , )
XMC_ATOM_CAS(xmc_cas_acquire64, xmc_u64, XMC_V64, atom_cmpxchg, , XMC_FENCE())
XMC_ATOM_CAS(xmc_cas_release32, xmc_u32, XMC_V32, atomic_cmpxchg, XMC_FENCE(), )
XMC_ATOM_CAS(xmc_cas_release64, xmc_u64, XMC_V64, atom_cmpxchg, XMC_FENCE(), )
XMC_ATOM_CAS(xmc_cas_acq_rel64, xmc_u64, XMC_V64, atom_cmpxchg, XMC_FENCE(), XMC_FENCE())
XMC_ATOM_RMW(xmc_and_acquire64, atom_and, , XMC_FENCE())
XMC_ATOM_RMW(xmc_or_release64, atom_or, XMC_FENCE(), )
XMC_ATOM_RMW(xmc_exchange_acq_rel64, atom_xchg, XMC_FENCE(), XMC_FENCE())
XMC_ATOM_RMW(xmc_exchange_hint64, atom_xchg, XMC_FENCE(), XMC_FENCE())
XMC_ATOM_CAS(xmc_cas_hint32, xmc_u32, XMC_V32, atomic_cmpxchg, XMC_FENCE(), XMC_FENCE())
XMC_ATOM_CAS(xmc_cas_hint64, xmc_u64, XMC_V64, atom_cmpxchg, XMC_FENCE(), XMC_FENCE())
XMC_ATOM_RMW(xmc_or_hint64, atom_or, XMC_FENCE(), XMC_FENCE())
XMC_ATOM_RMW(xmc_and_hint64, atom_and, XMC_FENCE(), XMC_FENCE())
XMC_ATOM_RMW(xmc_add_relaxed64, atom_add, , )
XMC_ATOM_RMW(xmc_add_acq_rel64, atom_add, XMC_FENCE(), XMC_FENCE())
XMC_ATOM_RMW(xmc_add_hint64, atom_add, XMC_FENCE(), XMC_FENCE())
#endif
