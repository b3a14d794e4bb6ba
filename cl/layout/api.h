/* SPDX-License-Identifier: MIT */
/* How public functions are declared. */
#ifndef XMC_API_H
#define XMC_API_H
/* 1: on NVIDIA, loops off the fast path are compiled without the instruction YIELD, so that the work-items of a sub-group stay together
 * in a kernel that allocates in a loop of its own (platform/nvidia.h). The fast path then takes some 100 cycles more. The default is 1
 * in programs for heaps that have, for some class, fewer FIFOs than sub-groups can run, because most requests of mixed sizes leave the
 * fast path there. It is 0 in programs with so many places that allocate that malloc is called (XMC_CALLS). */
#if XMC_NVIDIA && !defined(XMC_NO_YIELDS)
#if (defined(XMC_CALLS) && XMC_CALLS) || (defined(XMC_OWN_PLACES) && !XMC_OWN_PLACES)
#define XMC_NO_YIELDS 0
#else
#define XMC_NO_YIELDS 1
#endif
#elif !defined(XMC_NO_YIELDS)
#define XMC_NO_YIELDS 0
#endif

/* XMC_API declares public functions. By default they are static, so each program has copies of its own. With -DXMC_API= they are
 * external, so that objects which only declare them (xmalloc_link.h) can be linked with this one. */
#ifndef XMC_API
#define XMC_API_IS_STATIC 1
#if XMC_NO_YIELDS /* never called: a loop in or behind a called function would have a YIELD */
#define XMC_API static inline __attribute__((always_inline, unused))
#else
#define XMC_API XMC_FN
#endif
#if defined(XMC_CALLS) && XMC_CALLS && XMC_NVIDIA
#define XMC_LARGE_API XMC_CALL_FN
#endif
#endif
/* XMC_LARGE_API declares public functions with much code. On NVIDIA with XMC_CALLS, a program contains each of them once, and each
 * place that needs one calls it; otherwise NVIDIA's compiler inlines them into the first places of each kernel that use them, and takes
 * three times as long or more if there are several. With XMC_CALLS 1 the short way of malloc and free stays inlined in each place
 * (XMC_SHORT_WAY in platform.h); with 2 all is called. */
#ifndef XMC_LARGE_API
#define XMC_LARGE_API XMC_API
#endif
#endif
