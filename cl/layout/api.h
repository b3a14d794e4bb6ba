/* SPDX-License-Identifier: MIT */
/* How public functions are declared. */
#ifndef XMC_API_H
#define XMC_API_H
/* 1: on NVIDIA, loops off the fast path are compiled without YIELD, so that work-items of a sub-group stay together in a kernel that calls in a loop
 * of its own (platform/nvidia.h). The fast path takes some 100 cycles more. By default so in programs for heaps that have, for some class, fewer FIFOs than
 * sub-groups, where most requests of mixed sizes leave the fast path; not in programs of so many places that malloc is called. */
#if XMC_NVIDIA && !defined(XMC_NO_YIELDS)
#if (defined(XMC_CALLS) && XMC_CALLS) || (defined(XMC_OWN_PLACES) && !XMC_OWN_PLACES)
#define XMC_NO_YIELDS 0
#else
#define XMC_NO_YIELDS 1
#endif
#elif !defined(XMC_NO_YIELDS)
#define XMC_NO_YIELDS 0
#endif

/* How public functions are declared. Without more, each program has copies of its own. With -DXMC_API= they are external, so that
 * objects which only declare them can be linked with this one (xmalloc_link.cl). */
#ifndef XMC_API
#if XMC_NO_YIELDS /* nor behind a call */
#define XMC_API static inline __attribute__((always_inline, unused))
#else
#define XMC_API XMC_FN
#endif
#if defined(XMC_CALLS) && XMC_CALLS && XMC_NVIDIA
#define XMC_LARGE_API XMC_CALL_FN
#endif
#endif
/* Public functions with much code. With XMC_CALLS they stand in a program once on NVIDIA, and each place that needs one calls it:
 * otherwise its compiler puts them into the first places of each kernel, and takes three times as long or more for several of them. With
 * XMC_CALLS 1 the short way of malloc and free stays in each place (XMC_SHORT_WAY in platform.h), with 2 all is called. */
#ifndef XMC_LARGE_API
#define XMC_LARGE_API XMC_API
#endif
#endif
