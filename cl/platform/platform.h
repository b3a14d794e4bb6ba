/* SPDX-License-Identifier: MIT */
/* Picks ONE platform: atomics with the order in their names, lanes (who is calling with me), the slot.
 *
 * Every platform_*.h defines the same functions:
 *   xmc_load_relaxed32/64, xmc_load_acquire32/64, xmc_store_relaxed32/64, xmc_store_release64,
 *   xmc_cas_relaxed32/64, xmc_cas_acquire64, xmc_cas_release32/64, xmc_cas_acq_rel64,
 *   xmc_load_row(p, &a, &b, &c): relaxed, a word at a multiple of 16 bytes and the two halves of the next, all at once
 *   xmc_store_two64(p, a, b): relaxed, two words at a multiple of 16 bytes
 *   xmc_load_four (plain; four words at a multiple of 16 bytes, all at once),
 *   xmc_load_fixed64 (plain: fields of the header that never change), xmc_load_near32/64 (relaxed, but may be as old as
 *   the caller's last acquire), xmc_load_four_if(ask, …): zeros unless ask
 *   xmc_or_release64, xmc_and_acquire64, xmc_exchange_acq_rel64, xmc_exchange_hint64,
 *   xmc_cas_hint32/64, xmc_or_hint64, xmc_and_hint64, xmc_add_hint64, xmc_add_relaxed64,
 *   xmc_add_acq_rel64
 *     at device scope; read-modify-writes return the old value; hints order as acquire and release do, for
 *     callers whose next access depends on that value
 *   xmc_mul_high64, xmc_popcount32, xmc_lowest32, xmc_lowest64, xmc_highest32 (argument not 0)
 *   xmc_caller()          who calls, for the next two: taken once at the top of a call and handed down as `me`
 *                         (PoCL inlines whatever asks for ids, so that nothing below may)
 *   xmc_slot_hint(me, slots)  the FIFO slot of the caller, below `slots`: two work-items that run at the same
 *                         time should get two; only speed depends on it
 *   xmc_near_slot(me, slots)  the same for `slots`, a power of two, where all that share a first cache get one slot
 *   xmc_any_number(me)    differs between callers, on NVIDIA also between calls, to spread searches; 0 on CPU devices
 *   xmc_clock()           traced programs: the device's time in XMC_CLOCK_UNIT (layout/ring.h); 0 where kernels can read none
 *   xmc_work_item()       global linear id, for reports; but for XMC_SIMT, xmc_group_work_item(): of the group's first one
 * and, where XMC_SIMT is 1, for work-items in lock step, from any control flow:
 *   xmc_lanes             set of lanes
 *   XMC_LANES_ARE_32      has a sub-group 32 lanes? Then a group of 32 is all of it, which full_group.cl relies on
 *   xmc_lanes_matching(key), xmc_lanes_count(m), xmc_lanes_below(m): lanes of m before me
 *   xmc_lanes_first(m), xmc_lanes_drop(m, n): without the n lowest; xmc_lane()
 *   xmc_cas_acquire64_if(ask, …): only if ask, else it returns `expected`
 *   xmc_add_hint64_if(ask, p, value): only if ask, else it returns 0
 *   xmc_retire_or_hint64(p, used, retired, bits, &was): a CAS and a fetch-or on one word, at the same time, as hints
 *   xmc_lanes_share(m, lane, &a, &b): a and b of that lane of m, and what it acquired; m is the set of callers
 *   xmc_full_shuffle32(m, value, n): value of m's n-th lane (from 0), and what it acquired; m is the set of callers, 32
 *   xmc_full_same(a, b, n, &all_n): are these all lanes of a sub-group of 32, with the same a and b? If so, is n the same? The
 *                         same answers for all of them
 *   xmc_lanes_ballot(m, predicate): lanes of m, the set of callers, for which it is so
 *   xmc_lanes_any(predicate): for lanes that leave a loop together; may be the lane's own predicate
 *   xmc_shuffle32(m, value, lane), xmc_lanes_or32(m, value), xmc_lanes_sync(m): m is the set of callers
 *
 * Feature macros are always defined, 0 or 1; each can be set by -D. Scope is the device (all SVM
 * devices on the host); nothing in the core waits for another work-item.
 */
#ifndef XMC_PLATFORM_H
#define XMC_PLATFORM_H

/* C11 atomics with orders at device scope. Macros lie (Oclgrind takes 3.0 and builds nothing), so the
 * host library probes and passes -DXMC_C11_ATOMICS; this is the guess without it. */
#ifndef XMC_C11_ATOMICS
#if XMC_OPENCL && !XMC_NVIDIA && \
    ((XMC_OPENCL >= 200 && XMC_OPENCL < 300) || \
     (defined(__opencl_c_atomic_scope_device) && defined(__opencl_c_atomic_order_acq_rel)))
#define XMC_C11_ATOMICS 1
#else
#define XMC_C11_ATOMICS 0
#endif
#endif

/* Work-items of a sub-group run in lock step and ballot works in divergent flow: true on GPUs only.
 * On CPU devices a ballot in divergent flow silently rewrites the caller's branches, so this is never
 * guessed from macros but those of NVIDIA's and AMD's compilers; the host library sets it for these, and for GPU devices with
 * cl_khr_subgroup_ballot, after it has tried them. */
#ifndef XMC_SIMT
#define XMC_SIMT (XMC_NVIDIA || XMC_AMDGCN)
#endif

/* Are there sub-groups, and so their calls? The host library sets it where the device declares ballots. In lock step they are
 * always there. */
#ifndef XMC_HAS_SUBGROUPS
#define XMC_HAS_SUBGROUPS XMC_SIMT
#endif

/* xmc_prefetch(p): on CPU devices p is written soon, if it is anything. PoCL's prefetch does nothing. */
#if XMC_SIMT
#define xmc_prefetch(p) ((void)(p))
#elif defined(POCL_DEVICE_ADDRESS_BITS) || !XMC_OPENCL
#define xmc_prefetch(p) __builtin_prefetch((const void *)(size_t)(p), 1)
#else
#define xmc_prefetch(p) prefetch((p), 1)
#endif

/* New Superblocks by what asks for them (xmc_carve_order) */
#ifndef XMC_CARVE_TO_FIT
#define XMC_CARVE_TO_FIT XMC_SIMT
#endif

/* Where an access whose value was used has been done for every work-item of the device: an access behind it is later. */
#ifndef XMC_USED_IS_DONE
#define XMC_USED_IS_DONE XMC_NVIDIA
#endif

/* Before loops off the fast path: unrolled they would cost registers and instruction cache. For the same
 * reason the core declares its variables at the head of functions: a declaration inside a loop makes a
 * return from that loop a join, where NVIDIA's compiler keeps values of other turns alive (132 registers
 * instead of 60). */
#if XMC_NVIDIA
#define XMC_ROLLED _Pragma("unroll 1")
#else
#define XMC_ROLLED
#endif
/* XMC_AFRESH: off the fast path, where a value is used again much later. Makes the compiler derive anew what
 * it would otherwise compute once and keep in registers all the way (masks, addresses, a class's size and
 * order).
 *
 * XMC_OWN: at the top of each public call that is not only others. Adds 0 to the heap's address, in a way
 * that ptxas takes for different lanes' different numbers. It keeps what is the same for a whole sub-group in
 * uniform registers, also over branches, where a diverged part of the sub-group overwrites them (seen with
 * CUDA 13.0: the upper half of an address was a mask of lanes). */
#if XMC_NVIDIA
#define XMC_AFRESH(x) __asm volatile("mov.b32 %0, %0;" : "+r"(x))
#define XMC_AFRESH64(x) __asm volatile("mov.b64 %0, %0;" : "+l"(x))
#define XMC_OWN(x) \
  __asm volatile( \
      "{ .reg .u32 z; .reg .u64 y; mov.u32 z, %%lanemask_lt; shr.u32 z, z, 31; cvt.u64.u32 y, z; " \
      "add.u64 %0, %0, y; }" \
      : "+l"(x))
#else
#define XMC_AFRESH(x) ((void)0)
#define XMC_AFRESH64(x) ((void)0)
#define XMC_OWN(x) ((void)0)
#endif
/* XMC_HIDDEN, XMC_HIDE_BOTH, XMC_NO_YIELD: a value, two of 32 bits, and a condition that ptxas must not know to depend on an atomic
 * (nvidia.h). Such a condition is the only way out of a loop, or leads from the fast path to loops. */
#if !XMC_NVIDIA || !XMC_NO_YIELDS
#define XMC_HIDDEN(x) (x)
#define XMC_HIDE_BOTH(a, b) ((void)0)
#define XMC_NO_YIELD(condition) (condition)
#endif
#if !XMC_NVIDIA
#define xmc_cas_release64_fast xmc_cas_release64
#define xmc_cas_acquire64_fast xmc_cas_acquire64
#define xmc_cas_hint64_fast xmc_cas_hint64
#define xmc_or_hint64_fast xmc_or_hint64
#define xmc_load_row_fast xmc_load_row
#define xmc_load_relaxed32_fast xmc_load_relaxed32
#define xmc_load_relaxed64_fast xmc_load_relaxed64
#endif

/* Intel's runtime for CPUs makes variants of functions for several work-items at a time, in which these run through every branch together:
 * a pair of malloc and free took over 30 times as long (bench/experiments.md). It makes none of functions that are not to be optimised, which
 * are called for one work-item after the other. The host library sets XMC_SCALAR_CALLS there. XMC_SCALAR_FN: what stands between a kernel
 * and what it calls for each work-item alone. XMC_APART_FN: what is called and need not be fast: programs so build in half the time;
 * what such a function calls in turn must be put into it (XMC_FN in layout/arena.h), or it would be optimised all the same. */
#ifndef XMC_SCALAR_CALLS
#define XMC_SCALAR_CALLS 0
#endif
#if XMC_SCALAR_CALLS
#define XMC_SCALAR_FN static __attribute__((noinline, optnone, unused))
#define XMC_APART_FN static __attribute__((noinline, optnone, unused))
#else
#define XMC_SCALAR_FN XMC_FN
#define XMC_APART_FN static __attribute__((noinline, unused))
#endif
/* Functions off the fast path. On CPU devices they are called: a kernel with all of them in every place that
 * allocates takes minutes to compile. PoCL inlines every function that asks for a work-item's id, and all of its callers up to
 * the kernel, so only the public calls ask, and hand the answer down as `me`. On NVIDIA's and AMD's GPUs calls cost more registers than
 * they save. Where lanes are those of OpenCL's sub-groups they are called, too: Intel's compiler for CPUs takes no large function for
 * several work-items at a time, and a sub-group's calls in one that it takes for each alone end the program.
 * XMC_HOT_FN: where these are called, so are the functions that serve most requests, those that walk through bytes, and those that many others
 * use, for each copy takes PoCL time to compile; but they are optimised everywhere. */
#if XMC_SIMT && (XMC_NVIDIA || XMC_AMDGCN) && !XMC_DEBUG
#define XMC_COLD_FN XMC_FN
#define XMC_HOT_FN XMC_FN
#else
#define XMC_COLD_FN XMC_APART_FN
#define XMC_HOT_FN static __attribute__((noinline, unused))
#endif
/* Cold functions that are called on NVIDIA as well, where a program so has them once. Each was chosen by its effect: the public calls
 * keep their registers (tests/code_size), and nothing is slower. A call from where many values are alive, or one that most
 * requests make, costs more than it saves (bench/experiments.md). */
#ifndef XMC_CALL_FN
#if XMC_SIMT && XMC_AMDGCN && !XMC_DEBUG
#define XMC_CALL_FN XMC_FN
#else
#define XMC_CALL_FN static __attribute__((noinline, unused))
#endif
#endif
/* With XMC_CALLS 1 each place on NVIDIA has what most requests and frees need: a claim of the active Superblock, and a release. The rest is
 * called, and so stands in a program once. A request that the active Superblock cannot serve begins anew in the rest, and so pays
 * twice; bench/performance.md has the figures.
 * XMC_SHORT_API: public functions that are such a short way; XMC_REST_FN: what is behind it. */
#ifndef XMC_SHORT_WAY
#if XMC_SIMT && XMC_NVIDIA && defined(XMC_CALLS) && XMC_COALESCING == XMC_COALESCE_CLASS && !XMC_DEBUG
#define XMC_SHORT_WAY (XMC_CALLS == 1)
#else
#define XMC_SHORT_WAY 0
#endif
#endif
#if XMC_SHORT_WAY
#define XMC_SHORT_API XMC_API
#define XMC_REST_FN XMC_CALL_FN
#else
#define XMC_SHORT_API XMC_LARGE_API
#define XMC_REST_FN XMC_FN
#endif
/* What follows a free: called on CPU devices. On NVIDIA lanes part at calls of functions with atomics, and at loops behind them (nvidia.h). */
#if XMC_NO_YIELDS
#define XMC_SETTLE_FN XMC_FN
#else
#define XMC_SETTLE_FN XMC_CALL_FN
#endif
/* A part of one other function, which stands by itself for its readers only: compilers must put it there. */
#define XMC_PART_FN static inline __attribute__((always_inline))
/* Stands behind XMC_API or XMC_FN of a function that takes a pointer to a kernel's __local variable: on CPU devices compilers must put
 * the function into the kernel. If they called it, at two places with the same variable, LLVM could write the variable's address into the
 * function. PoCL 3.1 makes such variables arguments of the kernel, does not find that use, and crashes. (Functions that have to be calls
 * take the pointer as a number: XMC_GROUP_FN.) */
#if XMC_SIMT
#define XMC_IN_KERNEL
#else
#define XMC_IN_KERNEL __attribute__((always_inline))
#endif
/* Debug calls, which would take compilers minutes to put into every place that allocates. */
#define XMC_DEBUG_FN XMC_APART_FN

#if !XMC_OPENCL
#include "host.h"
#elif XMC_NVIDIA
#include "nvidia.h"
#elif XMC_C11_ATOMICS
#include "opencl2.h"
#else
#include "opencl12.h"
#endif

#if XMC_OPENCL
#include "opencl.h"
#endif

/* A number below n that depends on `any`, of which the low bits alone may differ between callers, as those of xmc_any_number do on some
 * devices; 0 if `any` is 0. A product, because a division takes 25 instructions on NVIDIA. */
XMC_FN xmc_u32 xmc_any_below(xmc_u32 any, xmc_u32 n) {
  return (xmc_u32)((xmc_u64)(any * 2654435769u) * n >> 32);
}

#ifndef XMC_HAS_ROWS
XMC_FN void xmc_load_row(XMC_GLOBAL const xmc_u64 *p, xmc_u64 *a, xmc_u32 *b, xmc_u32 *c) {
  XMC_GLOBAL const xmc_u32 *halves = (XMC_GLOBAL const xmc_u32 *)(p + 1);
  *b = xmc_load_relaxed32(halves);
  *c = xmc_load_relaxed32(halves + 1);
  *a = xmc_load_relaxed64(p);
}
XMC_FN void xmc_store_two64(XMC_GLOBAL xmc_u64 *p, xmc_u64 a, xmc_u64 b) {
  xmc_store_relaxed64(p, a);
  xmc_store_relaxed64(p + 1, b);
}
#endif

#endif
