/* SPDX-License-Identifier: MIT */
/* What all OpenCL devices share: bit functions, ids, the slot as a hash, and lanes by ballots (on GPUs; those of AMD: amdgcn.h). */
#ifndef XMC_PLATFORM_OPENCL_H
#define XMC_PLATFORM_OPENCL_H

#define XMC_CONSTANT __constant
#if XMC_SIMT && XMC_AMDGCN
#include "amdgcn.h"
#endif

#if !XMC_NVIDIA
XMC_FN xmc_u32 xmc_load_fixed32(XMC_GLOBAL const xmc_u32 *p) { return *p; }
XMC_FN xmc_u64 xmc_load_fixed64(XMC_GLOBAL const xmc_u64 *p) { return *p; }
XMC_FN xmc_u32 xmc_load_near32(XMC_GLOBAL const xmc_u32 *p) { return xmc_load_relaxed32(p); }
XMC_FN xmc_u64 xmc_load_near64(XMC_GLOBAL const xmc_u64 *p) { return xmc_load_relaxed64(p); }
XMC_FN void xmc_load_four(XMC_GLOBAL const xmc_u64 *p, xmc_u64 *a, xmc_u64 *b, xmc_u64 *c, xmc_u64 *d) {
  *a = p[0];
  *b = p[1];
  *c = p[2];
  *d = p[3];
}
XMC_FN void xmc_load_four_if(int ask, XMC_GLOBAL const xmc_u64 *p, xmc_u64 *a, xmc_u64 *b, xmc_u64 *c,
                             xmc_u64 *d) {
  *a = *b = *c = *d = 0;
  if (ask)
    xmc_load_four(p, a, b, c, d);
}
#endif
XMC_FN xmc_u64 xmc_mul_high64(xmc_u64 x, xmc_u64 y) { return mul_hi(x, y); }
XMC_FN xmc_u32 xmc_popcount32(xmc_u32 x) { return popcount(x); }
XMC_FN xmc_u32 xmc_lowest32(xmc_u32 x) { return 31u - clz(x & -x); }
XMC_FN xmc_u32 xmc_lowest64(xmc_u64 x) { return 63u - (xmc_u32)clz(x & -x); }
XMC_FN xmc_u32 xmc_highest32(xmc_u32 x) { return 31u - clz(x); }

XMC_FN xmc_u32 xmc_group_id(void) {
  return (xmc_u32)((get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) +
                   get_group_id(0));
}
XMC_FN xmc_u32 xmc_local_id(void) {
  return (xmc_u32)((get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) +
                   get_local_id(0));
}
XMC_FN xmc_u64 xmc_work_item(void) {
  xmc_u64 x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1);
  xmc_u64 z = get_global_id(2) - get_global_offset(2);
  return (z * get_global_size(1) + y) * get_global_size(0) + x;
}

#if !XMC_SIMT
/* Returns the global linear id of the work-group's first work-item. */
XMC_FN xmc_u64 xmc_group_work_item(void) {
#if XMC_OPENCL >= 200 /* the last group may be smaller than the others there */
  xmc_u64 x = get_enqueued_local_size(0), y = get_enqueued_local_size(1), z = get_enqueued_local_size(2);
#else
  xmc_u64 x = get_local_size(0), y = get_local_size(1), z = get_local_size(2);
#endif
  return (get_group_id(2) * z * get_global_size(1) + get_group_id(1) * y) * get_global_size(0) +
         get_group_id(0) * x;
}
#endif

#if XMC_TRACE && !XMC_NVIDIA
#if defined(cl_khr_kernel_clock) && defined(__opencl_c_kernel_clock_scope_device)
#pragma OPENCL EXTENSION cl_khr_kernel_clock : enable
#define XMC_CLOCK_UNIT XMC_CLOCK_TICKS
XMC_FN xmc_u64 xmc_clock(void) { return clock_read_device(); }
#elif defined(POCL_DEVICE_ADDRESS_BITS) && defined(__x86_64__)
#define XMC_CLOCK_UNIT XMC_CLOCK_TICKS /* of the time-stamp counter, which is the same on all cores */
XMC_FN xmc_u64 xmc_clock(void) { return (xmc_u64)__builtin_readcyclecounter(); }
#else
#define XMC_CLOCK_UNIT XMC_CLOCK_NONE
XMC_FN xmc_u64 xmc_clock(void) { return 0; }
#endif
#endif

#ifndef XMC_HAS_SLOT
/* Returns a number that differs between callers which run at the same time. On GPUs it comes from the number of the sub-group, because
 * work-groups that run at the same time usually have adjacent numbers. On CPU devices a slot belongs to a thread, because the thread's
 * caches hold the slot's blocks; an address on the stack tells the threads apart, because their stacks are a MiB or more from each
 * other. The number is only a hint, so any other address is right, too. PoCL would inline a function that asks for a work-item's or
 * group's id, and would keep the variable `here` for each work-item and each place that calls; so there the address is that of the
 * frame. The multiplier, 2^32 divided by the golden ratio, spreads the numbers. */
XMC_FN xmc_u32 xmc_caller(void) {
#if XMC_SIMT && XMC_AMDGCN
  return (xmc_group_id() * 32u + xmc_local_id() / XMC_AMDGCN_LANES) * 2654435769u;
#elif XMC_SIMT
  return (xmc_group_id() * 32u + (xmc_local_id() >> 5)) * 2654435769u;
#elif defined(POCL_DEVICE_ADDRESS_BITS) && (defined(__x86_64__) || defined(__aarch64__))
  return (xmc_u32)((size_t)__builtin_frame_address(0) >> 20) * 2654435769u;
#else
  xmc_u32 here;
  return (xmc_u32)((size_t)&here >> 20) * 2654435769u;
#endif
}
XMC_FN xmc_u32 xmc_slot_hint(xmc_u32 me, xmc_u32 slots) { return (xmc_u32)((xmc_u64)me * slots >> 32); }
XMC_FN xmc_u32 xmc_near_slot(xmc_u32 me, xmc_u32 slots) { return xmc_slot_hint(me, slots); }
#if !XMC_SIMT
/* On CPU devices few work-items search at the same time, and the lowest pages are most likely in the caches: all start at 0. */
XMC_FN xmc_u32 xmc_any_number(xmc_u32 me) {
  (void)me;
  return 0;
}
#endif
#endif

#if XMC_SIMT && !defined(XMC_HAS_LANES)
#if !XMC_AMDGCN
/* Intel's and other GPUs with cl_khr_subgroup_ballot and cl_khr_subgroup_shuffle, whose lanes run in lock step */
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
typedef xmc_u64 xmc_lanes;
#define XMC_LANES_ARE_32 (get_max_sub_group_size() == 32u)
XMC_FN xmc_u32 xmc_lane(void) { return get_sub_group_local_id(); }
XMC_FN xmc_u32 xmc_lanes_below(xmc_lanes m) {
  return (xmc_u32)popcount(m & (((xmc_lanes)1 << xmc_lane()) - 1u));
}
XMC_FN xmc_lanes xmc_lanes_that(int predicate) {
  uint4 b = sub_group_ballot(predicate);
  return (xmc_lanes)b.y << 32 | b.x;
}
XMC_FN xmc_u64 xmc_lanes_first_key(xmc_u64 key) { return sub_group_broadcast_first(key); }
XMC_FN xmc_u32 xmc_shuffle32(xmc_lanes m, xmc_u32 value, xmc_u32 lane) {
  (void)m;
  return sub_group_shuffle(value, lane);
}
XMC_FN void xmc_lanes_sync(xmc_lanes m) {
  (void)m; /* the lanes run in lock step: only the order of memory is needed */
  mem_fence(CLK_GLOBAL_MEM_FENCE);
}
#endif
XMC_FN xmc_lanes xmc_lanes_matching(xmc_u64 key) {
  xmc_lanes same = 0;
  int open = 1;
  while (open) { /* one turn for each different key */
    xmc_u64 first = xmc_lanes_first_key(key);
    same = xmc_lanes_that(key == first);
    open = key != first;
  }
  return same;
}
XMC_FN xmc_lanes xmc_lanes_at(XMC_GLOBAL xmc_u64 *p) { return xmc_lanes_matching((xmc_u64)(size_t)p); }
XMC_FN int xmc_lanes_any(int predicate) { return predicate; }
XMC_FN xmc_lanes xmc_lanes_ballot(xmc_lanes m, int predicate) { return m & xmc_lanes_that(predicate); }
XMC_FN void xmc_lanes_share(xmc_lanes m, xmc_u32 lane, xmc_u32 *a, xmc_u32 *b) {
  xmc_lanes_sync(m);
  *a = xmc_shuffle32(m, *a, lane);
  *b = xmc_shuffle32(m, *b, lane);
}
XMC_FN xmc_u64 xmc_cas_claim64_if(int ask, XMC_GLOBAL xmc_u64 *p, xmc_u64 expected, xmc_u64 desired) {
  return ask ? xmc_cas_acquire64(p, expected, desired) : expected;
}
XMC_FN xmc_u64 xmc_add_hint64_if(int ask, XMC_GLOBAL xmc_u64 *p, xmc_u64 value) {
  return ask ? xmc_add_hint64(p, value) : 0;
}
XMC_FN xmc_u64 xmc_retire_or_hint64(XMC_GLOBAL xmc_u64 *p, xmc_u64 used, xmc_u64 retired, xmc_u64 bits,
                                    xmc_u64 *was) {
  *was = xmc_cas_hint64(p, used, retired);
  return xmc_or_hint64(p, bits);
}
XMC_FN xmc_u32 xmc_lanes_or32(xmc_lanes m, xmc_u32 value) {
  xmc_u32 r = 0;
  xmc_lanes rest = m;
  while (rest) {
    r |= xmc_shuffle32(m, value, xmc_lowest64(rest)); /* all lanes of m run this loop in the same way */
    rest &= rest - 1u;
  }
  return r;
}
XMC_FN xmc_u32 xmc_lanes_gather32(xmc_lanes m, xmc_u32 value) {
  xmc_lanes_sync(m);
  return xmc_lanes_or32(m, value);
}
#define XMC_HAS_LANES 1
#endif

#if XMC_SIMT
XMC_FN xmc_u32 xmc_lanes_count(xmc_lanes m) { return (xmc_u32)popcount(m); }
XMC_FN xmc_u32 xmc_lanes_first(xmc_lanes m) { return xmc_lowest64((xmc_u64)m); }
XMC_FN xmc_lanes xmc_lanes_drop(xmc_lanes m, xmc_u32 n) {
  xmc_lanes low = m & (0u - m);
  if (!(m & (m + low))) /* the lanes are adjacent */
    return m & ~((low << n) - low);
  for (; n > 0; n--)
    m &= m - 1u;
  return m;
}
#if !XMC_NVIDIA
XMC_FN xmc_u32 xmc_any_number(xmc_u32 me) { return me + xmc_lane(); }
XMC_FN int xmc_full_same(xmc_u64 a, xmc_u64 b, xmc_u32 n, int *all_n) {
  xmc_lanes same = xmc_lanes_matching(a), also = xmc_lanes_matching(b);
  *all_n = xmc_lanes_count(xmc_lanes_matching(n)) == 32u;
  return XMC_LANES_ARE_32 && xmc_lanes_count(same & also) == 32u;
}
XMC_FN xmc_u32 xmc_full_shuffle32(xmc_lanes m, xmc_u32 value, xmc_u32 n) {
  xmc_lanes_sync(m);
  return xmc_shuffle32(m, value, xmc_lanes_first(xmc_lanes_drop(m, n)));
}
#endif
#endif
#endif
