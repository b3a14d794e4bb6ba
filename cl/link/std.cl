/* SPDX-License-Identifier: MIT */
/* The default heap as an object of its own. It is linked with the library (xmalloc.cl, compiled with -DXMC_API=) and with objects that have
 * no heap to pass and allocate by other names than the library's:
 *
 *   malloc free calloc realloc aligned_alloc          C
 *   operator new, new[], delete, delete[]             C++, as C++ for OpenCL mangles them, and HIP and SYCL
 *   __chip_malloc __chip_free                         HIP kernels that chipStar compiles
 *   gpu_malloc gpu_free                               Julia, by GPUCompiler
 *
 * The pointers of these functions are generic, or __global if the device has no generic address space. If the implementation has weak
 * symbols, all of them are weak, so that an object's own function of the same name takes precedence. A variable at program scope holds
 * the heap's address, which the host sets by xmcBindDefaultHeap; until then requests return NULL and frees do nothing. Convergence: any
 * lanes.
 */
#ifndef XMC_LINK_STD_CL
#define XMC_LINK_STD_CL
#include "../xmalloc_link.h"

#ifndef XMC_PROGRAM_SCOPE
#define XMC_PROGRAM_SCOPE 2
#endif
#if XMC_PROGRAM_SCOPE > 1 /* as in xmalloc_default.cl */
#define XMC_WEAK __attribute__((weak))
#else
#define XMC_WEAK
#endif

#ifndef XMC_GENERIC
#if defined(__opencl_c_generic_address_space) || (__OPENCL_C_VERSION__ >= 200 && __OPENCL_C_VERSION__ < 300)
#define XMC_GENERIC 1
#else
#define XMC_GENERIC 0
#endif
#endif
#if XMC_GENERIC
#define XMC_ANY
#define XMC_TO_GLOBAL(ptr) to_global(ptr) /* NULL for local and private memory, in which no heap lies */
#else
#define XMC_ANY __global
#define XMC_TO_GLOBAL(ptr) (ptr)
#endif

XMC_WEAK __global xmcHeap *__global xmc_default_heap = 0;

XMC_WEAK __kernel void xmc_bind_default_heap(__global xmcHeap *heap) {
  if (get_global_id(0) == 0)
    xmc_default_heap = heap;
}

/* ---- the library's names ---- */
XMC_WEAK __global xmcHeap *xmcDefaultHeap(void) { return xmc_default_heap; }
XMC_WEAK __global void *xmcMallocDefault(size_t size) { return xmcMalloc(xmc_default_heap, size); }
XMC_WEAK void xmcFreeDefault(__global void *ptr) { xmcFree(xmc_default_heap, ptr); }
XMC_WEAK __global void *xmcCallocDefault(size_t count, size_t size) {
  return xmcCalloc(xmc_default_heap, count, size);
}
XMC_WEAK __global void *xmcReallocDefault(__global void *ptr, size_t size) {
  return xmcRealloc(xmc_default_heap, ptr, size);
}
XMC_WEAK __global void *xmcAlignedAllocDefault(size_t alignment, size_t size) {
  return xmcAlignedAlloc(xmc_default_heap, alignment, size);
}

/* ---- C ---- */
XMC_WEAK XMC_ANY void *malloc(size_t size) { return xmcMalloc(xmc_default_heap, size); }
XMC_WEAK void free(XMC_ANY void *ptr) { xmcFree(xmc_default_heap, XMC_TO_GLOBAL(ptr)); }
XMC_WEAK XMC_ANY void *calloc(size_t count, size_t size) { return xmcCalloc(xmc_default_heap, count, size); }
XMC_WEAK XMC_ANY void *realloc(XMC_ANY void *ptr, size_t size) {
  return xmcRealloc(xmc_default_heap, XMC_TO_GLOBAL(ptr), size);
}
XMC_WEAK XMC_ANY void *aligned_alloc(size_t alignment, size_t size) {
  return xmcAlignedAlloc(xmc_default_heap, alignment, size);
}

/* ---- C++, where a request of 0 bytes must return an address of its own ---- */
#define XMC_NEW(symbol) \
  XMC_WEAK XMC_ANY void *symbol(size_t size) { return xmcMalloc(xmc_default_heap, size ? size : 1u); }
#define XMC_DELETE(symbol) \
  XMC_WEAK void symbol(XMC_ANY void *ptr) { xmcFree(xmc_default_heap, XMC_TO_GLOBAL(ptr)); }
#define XMC_DELETE_SIZED(symbol) \
  XMC_WEAK void symbol(XMC_ANY void *ptr, size_t size) { \
    (void)size; \
    xmcFree(xmc_default_heap, XMC_TO_GLOBAL(ptr)); \
  }
XMC_NEW(_Znwm)
XMC_NEW(_Znam)
XMC_DELETE(_ZdlPv)
XMC_DELETE(_ZdaPv)
XMC_DELETE_SIZED(_ZdlPvm)
XMC_DELETE_SIZED(_ZdaPvm)
/* C++ for OpenCL, whose pointers are generic: names on targets that number their address spaces, then on others */
XMC_DELETE(_ZdlPU3AS4v)
XMC_DELETE(_ZdaPU3AS4v)
XMC_DELETE_SIZED(_ZdlPU3AS4vm)
XMC_DELETE_SIZED(_ZdaPU3AS4vm)
XMC_DELETE(_ZdlPU9CLgenericv)
XMC_DELETE(_ZdaPU9CLgenericv)
XMC_DELETE_SIZED(_ZdlPU9CLgenericvm)
XMC_DELETE_SIZED(_ZdaPU9CLgenericvm)

/* ---- names that compilers use ---- */
XMC_WEAK XMC_ANY void *__chip_malloc(uint size) { return xmcMalloc(xmc_default_heap, size); }
XMC_WEAK void __chip_free(XMC_ANY void *ptr) { xmcFree(xmc_default_heap, XMC_TO_GLOBAL(ptr)); }
XMC_WEAK XMC_ANY void *gpu_malloc(ulong size) { return xmcMalloc(xmc_default_heap, (size_t)size); }
XMC_WEAK void gpu_free(XMC_ANY void *ptr) { xmcFree(xmc_default_heap, XMC_TO_GLOBAL(ptr)); }
#endif
