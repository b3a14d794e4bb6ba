/* SPDX-License-Identifier: MIT */
/* What the kernels use of OpenCL C, for nvcc: tests/code_size compiles them as CUDA where there is no GPU to ask. */
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned char uchar;
typedef unsigned short ushort;
#define __kernel extern "C" __global__
#define __global
#define __local
#define __constant __constant__ const
#define AS_CUDA static __device__ __forceinline__
AS_CUDA size_t get_local_id(int) { return threadIdx.x; }
AS_CUDA size_t get_local_size(int) { return blockDim.x; }
AS_CUDA size_t get_group_id(int) { return blockIdx.x; }
AS_CUDA size_t get_num_groups(int) { return gridDim.x; }
AS_CUDA size_t get_global_size(int) { return gridDim.x * (size_t)blockDim.x; }
AS_CUDA size_t get_global_offset(int) { return 0; }
AS_CUDA size_t get_global_id(int) { return blockIdx.x * (size_t)blockDim.x + threadIdx.x; }
AS_CUDA uint atomic_inc(uint *p) { return atomicAdd(p, 1u); }
AS_CUDA uint atomic_add(volatile uint *p, uint n) { return atomicAdd((uint *)p, n); }
AS_CUDA uint clz(uint x) { return __clz(x); }
AS_CUDA ulong clz(ulong x) { return __clzll(x); }
AS_CUDA uint popcount(uint x) { return __popc(x); }
AS_CUDA ulong popcount(ulong x) { return __popcll(x); }
AS_CUDA uint mul_hi(uint a, uint b) { return __umulhi(a, b); }
AS_CUDA ulong mul_hi(ulong a, ulong b) { return __umul64hi(a, b); }
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define barrier(fences) __syncthreads()
#define inline inline __device__
#define XMC_CALL_FN static __device__ __attribute__((noinline))
