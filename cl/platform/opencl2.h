/* SPDX-License-Identifier: MIT */
/* OpenCL C 2.0 and 3.0 with acquire and release at device scope: C11 atomics with the orders of the standard. */
#ifndef XMC_PLATFORM_OPENCL2_H
#define XMC_PLATFORM_OPENCL2_H

#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

/* The scope is wider for a heap in fine-grained SVM, on which host threads may work at the same time: the host library passes it. */
#ifndef XMC_SCOPE
#define XMC_SCOPE memory_scope_device
#endif
#define XMC_A32(p) ((volatile XMC_GLOBAL atomic_uint *)(p))
#define XMC_A64(p) ((volatile XMC_GLOBAL atomic_ulong *)(p))

#define XMC_C11_LOAD(name, type, cast, order) \
  XMC_FN type name(XMC_GLOBAL const type *p) { return atomic_load_explicit(cast(p), order, XMC_SCOPE); }
#define XMC_C11_STORE(name, type, cast, order) \
  XMC_FN void name(XMC_GLOBAL type *p, type v) { atomic_store_explicit(cast(p), v, order, XMC_SCOPE); }
#define XMC_C11_RMW(name, op, order) \
  XMC_FN xmc_u64 name(XMC_GLOBAL xmc_u64 *p, xmc_u64 v) { \
    return atomic_fetch_##op##_explicit(XMC_A64(p), v, order, XMC_SCOPE); \
  }
#define XMC_C11_CAS(name, type, cast, success, failure) \
  XMC_FN type name(XMC_GLOBAL type *p, type expected, type desired) { \
    atomic_compare_exchange_strong_explicit(cast(p), &expected, desired, success, failure, XMC_SCOPE); \
    return expected; \
  }

XMC_C11_LOAD(xmc_load_relaxed32, xmc_u32, XMC_A32, memory_order_relaxed)
XMC_C11_LOAD(xmc_load_relaxed64, xmc_u64, XMC_A64, memory_order_relaxed)
XMC_C11_LOAD(xmc_load_acquire32, xmc_u32, XMC_A32, memory_order_acquire)
XMC_C11_LOAD(xmc_load_acquire64, xmc_u64, XMC_A64, memory_order_acquire)
XMC_C11_STORE(xmc_store_relaxed32, xmc_u32, XMC_A32, memory_order_relaxed)
XMC_C11_STORE(xmc_store_relaxed64, xmc_u64, XMC_A64, memory_order_relaxed)
XMC_C11_STORE(xmc_store_release64, xmc_u64, XMC_A64, memory_order_release)
XMC_C11_CAS(xmc_cas_relaxed32, xmc_u32, XMC_A32, memory_order_relaxed, memory_order_relaxed)
XMC_C11_CAS(xmc_cas_relaxed64, xmc_u64, XMC_A64, memory_order_relaxed, memory_order_relaxed)
XMC_C11_CAS(xmc_cas_acquire64, xmc_u64, XMC_A64, memory_order_acquire, memory_order_relaxed)
XMC_C11_CAS(xmc_cas_release32, xmc_u32, XMC_A32, memory_order_release, memory_order_relaxed)
XMC_C11_CAS(xmc_cas_release64, xmc_u64, XMC_A64, memory_order_release, memory_order_relaxed)
XMC_C11_CAS(xmc_cas_acq_rel64, xmc_u64, XMC_A64, memory_order_acq_rel, memory_order_relaxed)
XMC_C11_RMW(xmc_and_acquire64, and, memory_order_acquire)
XMC_C11_RMW(xmc_or_release64, or, memory_order_release)
XMC_FN xmc_u64 xmc_exchange_acq_rel64(XMC_GLOBAL xmc_u64 *p, xmc_u64 v) {
  return atomic_exchange_explicit(XMC_A64(p), v, memory_order_acq_rel, XMC_SCOPE);
}
XMC_FN xmc_u64 xmc_exchange_hint64(XMC_GLOBAL xmc_u64 *p, xmc_u64 v) { return xmc_exchange_acq_rel64(p, v); }
XMC_C11_CAS(xmc_cas_hint32, xmc_u32, XMC_A32, memory_order_acq_rel, memory_order_relaxed)
XMC_C11_CAS(xmc_cas_hint64, xmc_u64, XMC_A64, memory_order_acq_rel, memory_order_relaxed)
XMC_C11_RMW(xmc_or_hint64, or, memory_order_acq_rel)
XMC_C11_RMW(xmc_and_hint64, and, memory_order_acq_rel)
XMC_C11_RMW(xmc_add_relaxed64, add, memory_order_relaxed)
XMC_C11_RMW(xmc_add_acq_rel64, add, memory_order_acq_rel)
XMC_C11_RMW(xmc_add_hint64, add, memory_order_acq_rel)
#endif
