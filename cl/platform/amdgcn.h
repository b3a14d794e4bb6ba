/* SPDX-License-Identifier: MIT */
/* AMD's GPUs: lanes by clang's builtins, for sub-groups of 32 and of 64 lanes. Atomics are those of C11 (opencl2.h).
 *
 * AMD's OpenCL declares sub-groups, but neither cl_khr_subgroup_ballot nor cl_khr_subgroup_shuffle; its compiler is clang. Lanes of a
 * sub-group run in lock step: what all lanes wrote before is issued before the first lane's next atomic, and if that atomic is a
 * release it waits for all these writes. So only the compiler must be kept from changing the order.
 */
#ifndef XMC_PLATFORM_AMDGCN_H
#define XMC_PLATFORM_AMDGCN_H

/* How many lanes a sub-group has: 32 or 64. The macro __AMDGCN_WAVEFRONT_SIZE gives the number; clang 21 warns that it will be removed.
 * Without that macro this is the GPU's default; if the compiler is asked for the other size, pass -DXMC_AMDGCN_LANES. */
#ifndef XMC_AMDGCN_LANES
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-pragma"
#ifdef __AMDGCN_WAVEFRONT_SIZE
#if __AMDGCN_WAVEFRONT_SIZE == 32
#define XMC_AMDGCN_LANES 32
#endif
#elif defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
#define XMC_AMDGCN_LANES 32
#endif
#ifndef XMC_AMDGCN_LANES
#define XMC_AMDGCN_LANES 64
#endif
#pragma clang diagnostic pop
#endif

typedef xmc_u64 xmc_lanes;
#define XMC_LANES_ARE_32 (XMC_AMDGCN_LANES == 32)
XMC_FN xmc_u32 xmc_lanes_below(xmc_lanes m) {
#if XMC_AMDGCN_LANES == 32
  return __builtin_amdgcn_mbcnt_lo((xmc_u32)m, 0u);
#else
  return __builtin_amdgcn_mbcnt_hi((xmc_u32)(m >> 32), __builtin_amdgcn_mbcnt_lo((xmc_u32)m, 0u));
#endif
}
XMC_FN xmc_u32 xmc_lane(void) { return xmc_lanes_below(~(xmc_lanes)0); }
XMC_FN xmc_lanes xmc_lanes_that(int predicate) {
#if !__has_builtin(__builtin_amdgcn_ballot_w64) /* before clang 16; 33 means "not equal" to the 0 */
  return __builtin_amdgcn_uicmp((xmc_u32)(predicate != 0), 0u, 33);
#elif XMC_AMDGCN_LANES == 32
  return __builtin_amdgcn_ballot_w32(predicate != 0);
#else
  return __builtin_amdgcn_ballot_w64(predicate != 0);
#endif
}
/* Returns, to all lanes that call, the key of the first of them. */
XMC_FN xmc_u64 xmc_lanes_first_key(xmc_u64 key) {
  xmc_u32 low = (xmc_u32)__builtin_amdgcn_readfirstlane((int)(xmc_u32)key);
  xmc_u32 high = (xmc_u32)__builtin_amdgcn_readfirstlane((int)(xmc_u32)(key >> 32));
  return (xmc_u64)high << 32 | low;
}
#if XMC_AMDGCN_LANES == 32 || defined(__GFX9__) || defined(__GFX12__)
XMC_FN xmc_u32 xmc_shuffle32(xmc_lanes m, xmc_u32 value, xmc_u32 lane) {
  (void)m;
  return (xmc_u32)__builtin_amdgcn_ds_bpermute((int)(lane << 2), (int)value);
}
#else
/* On GPUs that run 64 lanes as two halves of 32, ds_bpermute does not reach the other half. One turn for each different `lane`. */
XMC_FN xmc_u32 xmc_shuffle32(xmc_lanes m, xmc_u32 value, xmc_u32 lane) {
  xmc_u32 r = 0, from;
  int open = 1;
  (void)m;
  while (open) {
    from = (xmc_u32)__builtin_amdgcn_readfirstlane((int)lane);
    r = (xmc_u32)__builtin_amdgcn_readlane((int)value, (int)from);
    open = lane != from;
  }
  return r;
}
#endif
XMC_FN void xmc_lanes_sync(xmc_lanes m) {
  (void)m;
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  __builtin_amdgcn_wave_barrier();
}
#endif
