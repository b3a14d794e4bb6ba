/* SPDX-License-Identifier: MIT */
/* 2010, figure 2.2: every worker takes a number from one shared word.
 *
 * plain:    one CAS a lane. Lanes of a sub-group spoil each other's CAS.
 * scalable: the lowest lane that is active takes numbers for all who came along, by one CAS.
 */
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

__kernel void cas_plain(__global ulong *word, uint lanes, __global uint *taken) {
  volatile __global ulong *shared_word = word;
  ulong old;
  if (((uint)get_global_id(0) & 31u) >= lanes)
    return;
  do
    old = *shared_word;
  while (atom_cmpxchg(shared_word, old, old + 1u) != old);
  taken[old] = 1u;
}

/* NVIDIA's OpenCL tells of itself by one of these. */
#if defined(__NV_CL_C_VERSION) || defined(cl_nv_pragma_unroll)
__kernel void cas_scalable(__global ulong *word, uint lanes, __global uint *taken) {
  volatile __global ulong *shared_word = word;
  uint active, below, leader, low, high;
  ulong old = 0;
  if (((uint)get_global_id(0) & 31u) >= lanes)
    return;
  __asm volatile("activemask.b32 %0;" : "=r"(active));
  __asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  leader = 31u - clz(active & -active);
  if ((active & below) == 0u)
    do
      old = *shared_word;
    while (atom_cmpxchg(shared_word, old, old + popcount(active)) != old);
  __asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;"
                 : "=r"(low)
                 : "r"((uint)old), "r"(leader), "r"(active)
                 : "memory");
  __asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;"
                 : "=r"(high)
                 : "r"((uint)(old >> 32)), "r"(leader), "r"(active)
                 : "memory");
  taken[((ulong)high << 32 | low) + popcount(active & below)] = 1u;
}
#endif
