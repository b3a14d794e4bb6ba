/* SPDX-License-Identifier: MIT */
/* Declarations of the kernels' functions, for objects that are linked with the device library instead of including it: of
 * OpenCL C, C++ for OpenCL, and C++ for SPIR-V (HIP, SYCL). The host links by xmcLinkProgram, a toolchain with the modules
 * that are installed beside this file (include/guides/plug-in.md).
 *
 * What each function does is said where it is defined: cl/xmalloc.cl, cl/calls, cl/regions, and include/README.md.
 */
#ifndef XMC_XMALLOC_LINK_H
#define XMC_XMALLOC_LINK_H
#ifdef XMC_XMALLOC_CL
#error "XMalloc: an object either includes xmalloc.cl, or xmalloc_link.h and is linked with the library."
#endif

#if defined(__OPENCL_C_VERSION__) || defined(__OPENCL_CPP_VERSION__)
#include "layout/arena.h"
#undef xmcHeap /* the name says nothing of debug levels and coalescing here: those are the library's */
#define XMC_LINK_GLOBAL __global
#define XMC_LINK_LOCAL __local
typedef ulong xmcRef;
typedef uint xmcRef32;
#else
#include <stddef.h>
#define XMC_LINK_GLOBAL __attribute__((opencl_global))
#define XMC_LINK_LOCAL __attribute__((opencl_local))
typedef struct xmcHeap xmcHeap;
typedef unsigned long long xmcRef;
typedef unsigned int xmcRef32;
#endif
typedef xmcRef xmcRegion;

#ifdef __cplusplus
extern "C" {
#endif

/* Local memory for the work-group calls, as large as any device needs it */
typedef struct xmcGroupScratch {
  xmcRef of[1024];
  unsigned char cls[1024];
} xmcGroupScratch;
typedef struct xmcRegionScratch {
  xmcRef of[4];
} xmcRegionScratch;

XMC_LINK_GLOBAL void *xmcMalloc(XMC_LINK_GLOBAL xmcHeap *heap, size_t size);
void xmcFree(XMC_LINK_GLOBAL xmcHeap *heap, XMC_LINK_GLOBAL void *ptr);
XMC_LINK_GLOBAL void *xmcCalloc(XMC_LINK_GLOBAL xmcHeap *heap, size_t count, size_t size);
XMC_LINK_GLOBAL void *xmcRealloc(XMC_LINK_GLOBAL xmcHeap *heap, XMC_LINK_GLOBAL void *ptr, size_t size);
XMC_LINK_GLOBAL void *xmcAlignedAlloc(XMC_LINK_GLOBAL xmcHeap *heap, size_t alignment, size_t size);
size_t xmcUsableSize(XMC_LINK_GLOBAL xmcHeap *heap, XMC_LINK_GLOBAL void *ptr);

XMC_LINK_GLOBAL void *xmcMallocWorkGroup(XMC_LINK_GLOBAL xmcHeap *heap, size_t size,
                                         XMC_LINK_LOCAL xmcGroupScratch *scratch);
void xmcFreeWorkGroup(XMC_LINK_GLOBAL xmcHeap *heap, XMC_LINK_GLOBAL void *ptr,
                      XMC_LINK_LOCAL xmcGroupScratch *scratch);
/* These two where the device has sub-groups (XMC_HEAP_SUB_GROUPS) */
XMC_LINK_GLOBAL void *xmcMallocSubGroup(XMC_LINK_GLOBAL xmcHeap *heap, size_t size);
void xmcFreeSubGroup(XMC_LINK_GLOBAL xmcHeap *heap, XMC_LINK_GLOBAL void *ptr);

xmcRegion xmcRegionCreate(XMC_LINK_GLOBAL xmcHeap *heap);
xmcRegion xmcRegionCreateFor(XMC_LINK_GLOBAL xmcHeap *heap, unsigned int sub_groups);
XMC_LINK_GLOBAL void *xmcRegionMalloc(XMC_LINK_GLOBAL xmcHeap *heap, xmcRegion region, size_t size);
void xmcRegionFree(XMC_LINK_GLOBAL xmcHeap *heap, xmcRegion region);
void xmcRegionReset(XMC_LINK_GLOBAL xmcHeap *heap, xmcRegion region);
size_t xmcRegionBytes(XMC_LINK_GLOBAL xmcHeap *heap, xmcRegion region);
void xmcRegionOpenWorkGroup(XMC_LINK_LOCAL xmcRegionScratch *scratch);
XMC_LINK_GLOBAL void *xmcRegionMallocWorkGroup(XMC_LINK_GLOBAL xmcHeap *heap, xmcRegion region, size_t size,
                                               XMC_LINK_LOCAL xmcRegionScratch *scratch);
void xmcRegionFreeWorkGroup(XMC_LINK_GLOBAL xmcHeap *heap, xmcRegion region,
                            XMC_LINK_LOCAL xmcRegionScratch *scratch);
void xmcRegionResetWorkGroup(XMC_LINK_GLOBAL xmcHeap *heap, xmcRegion region,
                             XMC_LINK_LOCAL xmcRegionScratch *scratch);

xmcRef xmcToRef(XMC_LINK_GLOBAL xmcHeap *heap, XMC_LINK_GLOBAL void *ptr);
XMC_LINK_GLOBAL void *xmcFromRef(XMC_LINK_GLOBAL xmcHeap *heap, xmcRef ref);
xmcRef32 xmcToRef32(XMC_LINK_GLOBAL xmcHeap *heap, XMC_LINK_GLOBAL void *ptr);
XMC_LINK_GLOBAL void *xmcFromRef32(XMC_LINK_GLOBAL xmcHeap *heap, xmcRef32 ref);
xmcRef xmcLoadRef(volatile XMC_LINK_GLOBAL const xmcRef *place);
xmcRef xmcExchangeRef(volatile XMC_LINK_GLOBAL xmcRef *place, xmcRef ref);
xmcRef xmcCompareExchangeRef(volatile XMC_LINK_GLOBAL xmcRef *place, xmcRef expected, xmcRef desired);

/* On the default heap: linked with XMC_LINK_DEFAULT_HEAP, or with the module xmalloc-std */
XMC_LINK_GLOBAL xmcHeap *xmcDefaultHeap(void);
XMC_LINK_GLOBAL void *xmcMallocDefault(size_t size);
void xmcFreeDefault(XMC_LINK_GLOBAL void *ptr);
XMC_LINK_GLOBAL void *xmcCallocDefault(size_t count, size_t size);
XMC_LINK_GLOBAL void *xmcReallocDefault(XMC_LINK_GLOBAL void *ptr, size_t size);
XMC_LINK_GLOBAL void *xmcAlignedAllocDefault(size_t alignment, size_t size);

#ifdef __cplusplus
}
#endif
#endif
