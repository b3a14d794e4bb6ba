/* SPDX-License-Identifier: MIT */
/* The default heap, for code that cannot pass a heap as an argument, such as ports and generated kernels.
 *
 * A variable at program scope holds the address of the heap; each program has one. The host sets it once, by xmcBindDefaultHeap, which
 * runs the kernel below; every later kernel of the program uses that heap. Until then requests return NULL and frees do nothing. The
 * device must have variables at program scope, an optional feature of OpenCL C 3.0.
 */
#ifndef XMC_XMALLOC_DEFAULT_CL
#define XMC_XMALLOC_DEFAULT_CL
#include "xmalloc.cl"

/* 0: variables at program scope do not work; 1: they work unless they are weak; 2: weak ones work, too. The host library tries it on the
 * device and passes the result; otherwise the macros below guess it. */
#ifndef XMC_PROGRAM_SCOPE
#if defined(__opencl_c_program_scope_global_variables) || (XMC_OPENCL >= 200 && XMC_OPENCL < 300)
#define XMC_PROGRAM_SCOPE 2
#else
#define XMC_PROGRAM_SCOPE 0
#endif
#endif

#if !XMC_PROGRAM_SCOPE
#error "XMalloc: no default heap on this device: it has no variables at program scope. Give the kernel an \
argument __global xmcHeap *heap, and call xmcMalloc(heap, size) and xmcFree(heap, ptr) instead."
#else

/* The variable and the kernel are weak, so that a program linked from several objects that include this file has one of each. Where weak
 * variables do not work (PoCL 6.0), all but one are compiled with -DXMC_DEFAULT_HEAP_EXTERN. */
#if XMC_PROGRAM_SCOPE > 1
#define XMC_ONE_OF_ALL __attribute__((weak))
#else
#define XMC_ONE_OF_ALL
#endif

#ifdef XMC_DEFAULT_HEAP_EXTERN
extern __global xmcHeap *__global xmc_default_heap;
#else
XMC_ONE_OF_ALL __global xmcHeap *__global xmc_default_heap = 0;

XMC_ONE_OF_ALL __kernel void xmc_bind_default_heap(__global xmcHeap *heap) {
  if (get_global_id(0) == 0)
    xmc_default_heap = heap;
}
#endif

/* xmcDefaultHeap returns the default heap, or NULL before it was set. The others do what the functions of the same names without Default
 * do, on that heap. Convergence: any lanes. */
XMC_API __global xmcHeap *xmcDefaultHeap(void) { return xmc_default_heap; }
XMC_API __global void *xmcMallocDefault(size_t size) { return xmcMalloc(xmc_default_heap, size); }
XMC_API void xmcFreeDefault(__global void *ptr) { xmcFree(xmc_default_heap, ptr); }
XMC_API __global void *xmcCallocDefault(size_t count, size_t size) {
  return xmcCalloc(xmc_default_heap, count, size);
}
XMC_API __global void *xmcReallocDefault(__global void *ptr, size_t size) {
  return xmcRealloc(xmc_default_heap, ptr, size);
}
XMC_API __global void *xmcAlignedAllocDefault(size_t alignment, size_t size) {
  return xmcAlignedAlloc(xmc_default_heap, alignment, size);
}

#if XMC_DEBUG >= 3 || XMC_TRACE /* so that debug_site.h and trace/site.h see the place of the call */
#define xmcMallocDefault(size) xmcMalloc(xmcDefaultHeap(), size)
#define xmcCallocDefault(count, size) xmcCalloc(xmcDefaultHeap(), count, size)
#define xmcReallocDefault(ptr, size) xmcRealloc(xmcDefaultHeap(), ptr, size)
#define xmcAlignedAllocDefault(alignment, size) xmcAlignedAlloc(xmcDefaultHeap(), alignment, size)
#endif
#if XMC_TRACE
#define xmcFreeDefault(ptr) xmcFree(xmcDefaultHeap(), ptr)
#endif
#endif
#endif
