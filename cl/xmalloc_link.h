/* SPDX-License-Identifier: MIT */
/* Declarations of the functions that kernels call, for objects that are linked with the device library instead of including it. The
 * objects may be in OpenCL C, C++ for OpenCL, or C++ for SPIR-V (HIP, SYCL). A host program links them by xmcLinkProgram; a toolchain
 * links them with the modules that are installed beside this file (include/guides/plug-in.md).
 *
 * Each function is documented where it is defined (cl/xmalloc.cl, cl/calls, cl/regions), and in include/README.md.
 */
#ifndef XMC_XMALLOC_LINK_H
#define XMC_XMALLOC_LINK_H
#ifdef XMC_XMALLOC_CL
#error "XMalloc: an object either includes xmalloc.cl, or xmalloc_link.h and is linked with the library."
#endif

#if defined(__OPENCL_C_VERSION__) || defined(__OPENCL_CPP_VERSION__)
#include "layout/arena.h"
#undef xmcHeap /* plain here: debug level and coalescing, which the name would hold (arena.h), are those of the library */
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

/* Local memory for the work-group calls: as many bytes as they take on the device that needs most */
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
/* These two exist only if the device has sub-groups (XMC_HEAP_SUB_GROUPS). */
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

/* These use the default heap. The program must be linked with XMC_LINK_DEFAULT_HEAP, or with the module xmalloc-std. */
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
