/* SPDX-License-Identifier: MIT */
/* Chooses ONE platform, which defines atomics with the memory order in their names, lanes (who calls together with me), and the slot.
 *
 * Every platform defines the same functions:
 *   xmc_load_relaxed32/64, xmc_load_acquire32/64, xmc_store_relaxed32/64, xmc_store_release64,
 *   xmc_cas_relaxed32/64, xmc_cas_acquire64, xmc_cas_release32/64, xmc_cas_acq_rel64,
 *   xmc_load_row(p, &a, &b, &c): relaxed; the word at p and the two halves of the next word, on NVIDIA by one load, elsewhere in any order
 *   xmc_store_two64(p, a, b): relaxed; two words, on NVIDIA by one store. Here and above p is a multiple of 16 bytes
 *   xmc_load_four(p, …)   plain; four words at p, a multiple of 16 bytes, issued together
 *   xmc_load_four_if(ask, …)  the same if ask is not 0, otherwise zeros
 *   xmc_load_fixed32, …64 plain (…32 on NVIDIA: relaxed, work-group scope), for fields of the header that never change
 *   xmc_load_near32/64    relaxed, but the value may be as old as the caller's last acquire (xmc_cas_claim64 is none on NVIDIA)
 *   xmc_or_release64, xmc_and_acquire64, xmc_exchange_acq_rel64, xmc_exchange_hint64,
 *   xmc_cas_hint32/64, xmc_or_hint64, xmc_and_hint64, xmc_add_hint64, xmc_add_relaxed64,
 *   xmc_add_acq_rel64
 *     Their scope is the device, or all SVM devices (XMC_SCOPE). Read-modify-writes return the old value. Hints order like acquire and
 *     release, but only for callers whose next access depends on that value.
 *   xmc_cas_claim64       acquires; on NVIDIA it only orders what the former owner of the claimed block did with it before what the new
 *                         one does
 *   xmc_fence_ahead(), xmc_cas_behind64, xmc_or_behind64: the release of a block. What any lane of the group did before its fence is
 *                         ordered before the read-modify-write of the group's first lane. xmc_cas_behind64 acquires as well, but not on
 *                         NVIDIA; xmc_cas_behind64_fast does not
 *   xmc_mul_high64, xmc_popcount32, xmc_lowest32, xmc_lowest64, xmc_highest32 (argument not 0)
 *   xmc_caller()          the caller's number `me` for the next three. Public calls read it and pass it on: PoCL inlines
 *                         each function that asks for ids, so no function below the public calls may ask
 *   xmc_slot_hint(me, slots)  the slot of the caller, below `slots`: two work-items that run at the same time should get
 *                         different slots, but only speed depends on it
 *   xmc_near_slot(me, slots)  the same, for `slots` a power of two, with few slots for callers that share a first-level cache
 *   xmc_any_number(me)    to spread searches: differs between callers, on NVIDIA also between calls; 0 on CPU devices
 *   xmc_clock()           traced programs: the device's time in XMC_CLOCK_UNIT (layout/ring.h); 0 if kernels can read no clock
 *   xmc_work_item()       the global linear id, for reports
 *   xmc_group_work_item() that of the work-group's first work-item; only OpenCL with XMC_SIMT 0
 * and, if XMC_SIMT is 1, for lanes in lock step, from any control flow; from xmc_lanes_share on, m must be the set of the lanes that call:
 *   xmc_lanes             a set of lanes
 *   XMC_LANES_ARE_32      1 if a sub-group has 32 lanes: then a group of 32 is all of it, which full_group.cl relies on
 *   xmc_lanes_matching(key)  the lanes that call now with the same key;  xmc_lanes_at(p): those with the same address
 *   xmc_lanes_count(m), xmc_lanes_below(m): how many lanes of m there are, and how many of them before me
 *   xmc_lanes_first(m), xmc_lanes_drop(m, n): the first lane of m, and m without its n first lanes
 *   xmc_lane()            the caller's own lane
 *   xmc_cas_claim64_if(ask, …): xmc_cas_claim64 if ask is not 0, otherwise only `expected`
 *   xmc_add_hint64_if(ask, p, value): the fetch-add if ask is not 0, otherwise only 0
 *   xmc_retire_or_hint64(p, used, retired, bits, &was): a CAS and a fetch-or on one word, issued together, both hints
 *   xmc_lanes_share(m, lane, &a, &b): sets a and b to those of that lane of m; what that lane acquired holds for all lanes
 *   xmc_full_shuffle32(m, value, n): the value of m's n-th lane (from 0), and what it acquired; m must be 32 lanes
 *   xmc_full_same(a, b, n, &all_n): 1 if all lanes of a sub-group of 32 call with the same a and b; then all_n is 1 if n is
 *                         the same, too, else 0. All of these lanes get the same results
 *   xmc_lanes_ballot(m, predicate): the lanes of m for which the predicate is true
 *   xmc_lanes_any(predicate): lets lanes leave a loop together; the result may be the lane's own predicate
 *   xmc_shuffle32(m, value, lane): the value of that lane of m;  xmc_lanes_or32(m, value): the values of all lanes of m, by or
 *   xmc_lanes_gather32(m, value): the same to the first lane of m, any value to the others; orders as xmc_lanes_sync
 *   xmc_lanes_sync(m)     orders what the lanes of m did before it before what they do after it
 *
 * Feature macros are always defined, 0 or 1; each can be set by -D. No function in the core waits for another work-item.
 */
#ifndef XMC_PLATFORM_H
#define XMC_PLATFORM_H

/* 1: C11 atomics with orders at device scope (opencl2.h). The macros that announce them are not reliable (Oclgrind accepts 3.0 but
 * cannot build them), so the host library tries them and passes -DXMC_C11_ATOMICS; otherwise this guesses. */
#ifndef XMC_C11_ATOMICS
#if XMC_OPENCL && !XMC_NVIDIA && \
    ((XMC_OPENCL >= 200 && XMC_OPENCL < 300) || \
     (defined(__opencl_c_atomic_scope_device) && defined(__opencl_c_atomic_order_acq_rel)))
#define XMC_C11_ATOMICS 1
#else
#define XMC_C11_ATOMICS 0
#endif
#endif

/* 1: the work-items of a sub-group run in lock step, and ballots work in divergent control flow; true on GPUs only. On CPU devices a
 * ballot in divergent control flow silently changes the branches of the caller. So this is guessed only from the macros of NVIDIA's and
 * AMD's compilers; the host library sets it for these, and for GPU devices with cl_khr_subgroup_ballot, after it has tried ballots. */
#ifndef XMC_SIMT
#define XMC_SIMT (XMC_NVIDIA || XMC_AMDGCN)
#endif

/* 1: NVIDIA's device has redux.sync (compute capability 8.0 and up). The host library sets it. */
#ifndef XMC_NVIDIA_REDUX
#define XMC_NVIDIA_REDUX 0
#endif

/* 1: NVIDIA's device has fence.release (compute capability 9.0 and up, PTX 8.6). The host library sets it. */
#ifndef XMC_NVIDIA_FENCE
#define XMC_NVIDIA_FENCE 0
#endif

/* 1: there are sub-groups, and so the sub-group calls. The host library sets it if the device declares ballots. With XMC_SIMT it is
 * always 1. */
#ifndef XMC_HAS_SUBGROUPS
#define XMC_HAS_SUBGROUPS XMC_SIMT
#endif

/* xmc_prefetch(p), on CPU devices: p, which may be any address, will probably be written soon. PoCL's prefetch does nothing. */
#if XMC_SIMT
#define xmc_prefetch(p) ((void)(p))
#elif defined(POCL_DEVICE_ADDRESS_BITS) || !XMC_OPENCL
#define xmc_prefetch(p) __builtin_prefetch((const void *)(size_t)(p), 1)
#else
#define xmc_prefetch(p) prefetch((p), 1)
#endif

/* 1: a new Superblock has as many pages as suit the number of blocks requested (xmc_carve_order) */
#ifndef XMC_CARVE_TO_FIT
#define XMC_CARVE_TO_FIT XMC_SIMT
#endif

/* 1 if using the value that a relaxed atomic returned guarantees that the atomic is visible to every work-item before any later access
 * is issued. This is true of NVIDIA hardware, but not promised by the PTX memory model. It lets a plain load that finds a bit set
 * replace setting it. */
#ifndef XMC_USED_IS_DONE
#define XMC_USED_IS_DONE XMC_NVIDIA
#endif

/* XMC_ROLLED stands before loops off the fast path, which must not be unrolled, because that would cost registers and instruction
 * cache. To save registers, the core also declares variables at the head of functions: if a variable is declared inside a loop, a
 * return from that loop becomes a join, at which NVIDIA's compiler keeps values of other iterations alive (132 registers instead of
 * 60). */
#if XMC_NVIDIA
#define XMC_ROLLED _Pragma("unroll 1")
#else
#define XMC_ROLLED
#endif
/* XMC_AFRESH(x) stands off the fast path, where a value is used again much later. It makes the compiler compute again what it derives
 * from x (masks, addresses, a class's size and order) instead of keeping that in registers all the way.
 *
 * XMC_OWN(heap) stands at the top of every public function that does more than call other public functions. It adds 0 to the heap's address
 * in such a way that ptxas must assume different numbers in different lanes. Otherwise ptxas keeps what is the same for a whole sub-group
 * in uniform registers, also across branches, and there a diverged part of the sub-group overwrites them (seen with CUDA 13.0: the upper
 * half of an address was a mask of lanes). */
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
/* XMC_HIDDEN hides from ptxas that a value depends on an atomic (nvidia.h), XMC_HIDE_BOTH two values of 32 bits, XMC_NO_YIELD a
 * condition. Such a condition is the only way out of a loop, or leads from the fast path to loops. */
#if !XMC_NVIDIA || !XMC_NO_YIELDS
#define XMC_HIDDEN(x) (x)
#define XMC_HIDE_BOTH(a, b) ((void)0)
#define XMC_NO_YIELD(condition) (condition)
#endif
#if !XMC_NVIDIA
#define xmc_cas_release64_fast xmc_cas_release64
#define xmc_cas_acquire64_fast xmc_cas_acquire64
#define xmc_and_acquire64_fast xmc_and_acquire64
#define xmc_exchange_hint64_fast xmc_exchange_hint64
#define xmc_or_hint64_fast xmc_or_hint64
#define xmc_load_row_fast xmc_load_row
#define xmc_load_relaxed32_fast xmc_load_relaxed32
#define xmc_load_relaxed64_fast xmc_load_relaxed64
#define xmc_cas_claim64_fast xmc_cas_claim64
#define xmc_fence_ahead() ((void)0)
#define xmc_cas_behind64_fast xmc_cas_release64
#define xmc_cas_behind64 xmc_cas_acq_rel64
#define xmc_or_behind64 xmc_or_release64
#endif

/* Intel's runtime for CPUs compiles variants of functions for several work-items at a time, which then go through every branch together:
 * a pair of malloc and free took over 30 times as long (bench/experiments.md). It makes no variant of a function that must not be
 * optimised (optnone), but calls it for one work-item after the other. The host library sets XMC_SCALAR_CALLS there. XMC_SCALAR_FN
 * declares a function through which a kernel calls what must run for each work-item alone. XMC_APART_FN declares functions that are
 * called and need not be fast, so that programs build in half the time; the functions that such a function calls must be inlined into it
 * (XMC_FN in layout/arena.h), because otherwise they would be compiled apart and optimised. */
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
/* XMC_COLD_FN declares functions off the fast path. On CPU devices they are called, because a kernel that has all of them inlined in
 * every place that allocates takes minutes to compile. PoCL inlines every function that asks for a work-item's id, and all its callers up
 * to the kernel; so only public calls ask, and pass the answer on as `me`. On NVIDIA's and AMD's GPUs these functions are inlined,
 * because calls cost more registers than they save. If the lanes are those of OpenCL's sub-groups they are called: Intel's compiler for
 * CPUs compiles no large function for several work-items at a time, and sub-group functions in one that it compiles for a single
 * work-item end the program. XMC_HOT_FN declares functions that are called in the same cases but must be fast: those that serve most
 * requests, walk through bytes, or have many callers, since PoCL takes time to compile each copy. They are optimised everywhere. */
#if XMC_SIMT && (XMC_NVIDIA || XMC_AMDGCN) && !XMC_DEBUG
#define XMC_COLD_FN XMC_FN
#define XMC_HOT_FN XMC_FN
#else
#define XMC_COLD_FN XMC_APART_FN
#define XMC_HOT_FN static __attribute__((noinline, unused))
#endif
/* XMC_CALL_FN declares cold functions that are called on NVIDIA as well, so that a program contains them once. Each was chosen by
 * measurement: the public calls keep their number of registers (tests/code_size), and nothing is slower. A call where many values are
 * alive, or one that most requests make, costs more than it saves (bench/experiments.md). */
#ifndef XMC_CALL_FN
#if XMC_SIMT && XMC_AMDGCN && !XMC_DEBUG
#define XMC_CALL_FN XMC_FN
#else
#define XMC_CALL_FN static __attribute__((noinline, unused))
#endif
#endif
/* XMC_SHORT_WAY, on NVIDIA with XMC_CALLS 1: the code that most requests and frees need, a claim from the active Superblock and a
 * release, is inlined in each place; the rest is called, so that a program contains it once. A request that the active Superblock
 * cannot serve starts again in the called rest, and so costs both (figures: bench/performance.md). XMC_SHORT_API declares public
 * functions that are such a short way, XMC_REST_FN the rest behind it. */
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
#elif XMC_OPENCL && !XMC_SIMT && !XMC_DEBUG && defined(XMC_API_IS_STATIC)
/* On CPU devices they are a few lines that call others. Inlined at once, they show what a constant size does not need before that is
 * optimised: a program with 16 places builds in 0.92 of the time on PoCL, which would inline them later. */
#define XMC_SHORT_API static inline __attribute__((always_inline, unused))
#define XMC_REST_FN XMC_FN
#else
#define XMC_SHORT_API XMC_LARGE_API
#define XMC_REST_FN XMC_FN
#endif
/* XMC_SETTLE_FN declares what follows a free. It is called like XMC_CALL_FN; but with XMC_NO_YIELDS it is inlined, because on NVIDIA
 * lanes part at calls of functions with atomics, and at loops behind such calls (nvidia.h). */
#if XMC_NO_YIELDS
#define XMC_SETTLE_FN XMC_FN
#else
#define XMC_SETTLE_FN XMC_CALL_FN
#endif
/* XMC_PART_FN declares a part of one other function, into which it must be inlined; it is a function only to be easier to read. */
#define XMC_PART_FN static inline __attribute__((always_inline))
/* XMC_IN_KERNEL stands behind XMC_API or XMC_FN of a function that takes a pointer to a kernel's __local variable: on CPU devices it
 * must be inlined into the kernel. If two places called the function with the same variable, LLVM could write the variable's address
 * into the function itself; PoCL 3.1 makes such variables arguments of the kernel, does not find that use, and crashes. (Functions that
 * must be calls take the pointer as a number: XMC_GROUP_FN.) */
#if XMC_SIMT
#define XMC_IN_KERNEL
#else
#define XMC_IN_KERNEL __attribute__((always_inline))
#endif
/* XMC_DEBUG_FN declares debug calls: compilers would take minutes to inline them in every place that allocates. */
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

/* Returns a number below n that depends on `any`, also if only the low bits of `any` differ between callers, as on some devices those
 * of xmc_any_number do; returns 0 if `any` is 0. This is a product because a division takes 25 instructions on NVIDIA. */
XMC_FN xmc_u32 xmc_any_below(xmc_u32 any, xmc_u32 n) {
  return (xmc_u32)((xmc_u64)(any * 2654435769u) * n >> 32);
}

#if !XMC_NVIDIA && !defined(xmc_cas_claim64) /* a test may define it */
XMC_FN xmc_u64 xmc_cas_claim64(XMC_GLOBAL xmc_u64 *p, xmc_u64 expected, xmc_u64 desired) {
  return xmc_cas_acquire64(p, expected, desired);
}
#endif

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
