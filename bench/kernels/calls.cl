/* SPDX-License-Identifier: MIT */
/* How long each call takes, by the device's clock, while all work-items call. alloc.cl's check looks at the ids.
 *
 * BENCH_NOW() is a 64-bit count of ticks that only grows on one work-item's way; how long a tick is the host finds out by
 * clock_length. Programs for devices without such a clock have none of these kernels.
 */
#include "xmalloc.cl"

#if XMC_NVIDIA
/* The multiprocessor's cycles: %globaltimer moves on in steps that are longer than a call. */
static ulong clock_now(void) {
  ulong now;
  __asm volatile("mov.u64 %0, %%clock64;" : "=l"(now) : : "memory");
  return now;
}
#define BENCH_NOW() clock_now()
#elif defined(cl_khr_kernel_clock)
#pragma OPENCL EXTENSION cl_khr_kernel_clock : enable
#define BENCH_NOW() clock_read_device()
#elif defined(__x86_64__) /* PoCL's CPU devices: the time stamp counter */
#define BENCH_NOW() ((ulong)__builtin_readcyclecounter())
#endif

#ifdef BENCH_NOW
static uint ticks(ulong start) {
  ulong length = BENCH_NOW() - start;
  return length > 0xffffffffu ? 0xffffffffu : (uint)length;
}

/* length: ticks of the call. */
__kernel void calls_malloc(__global xmcHeap *heap, __global ulong *refs, uint low, uint high,
                           __global uint *length, __global uint *failures) {
  uint id = (uint)get_global_id(0), size = bench_size(id, low, high), took;
  ulong start = BENCH_NOW();
  __global uint *p = (__global uint *)xmcMalloc(heap, size);
  took = ticks(start);
  if (p == 0)
    atomic_inc(failures);
  else
    *p = id;
  refs[id] = xmcToRef(heap, p);
  length[id] = took;
}

__kernel void calls_free(__global xmcHeap *heap, __global const ulong *refs, __global uint *length) {
  uint id = (uint)get_global_id(0);
  __global void *p = xmcFromRef(heap, refs[id]);
  ulong start = BENCH_NOW();
  xmcFree(heap, p);
  length[id] = ticks(start);
}

/* What the two readings of the clock take by themselves. */
__kernel void calls_nothing(__global uint *length) {
  ulong start = BENCH_NOW();
  length[get_global_id(0)] = ticks(start);
}

/* One work-item works for a while; *length: ticks from before to after it. */
__kernel void clock_length(__global ulong *length, uint rounds) {
  ulong start = BENCH_NOW();
  uint x = rounds, i;
  for (i = 0; i < rounds; i++)
    x = bench_hash(x + i);
  length[1] = x; /* so that the work is done before the clock is read again */
  length[0] = BENCH_NOW() - start;
}
#endif
