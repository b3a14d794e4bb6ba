/* SPDX-License-Identifier: MIT */
/* The C library's names (malloc, free and so on) as macros for the default heap. Include this file after all that declares such names.
 * Pointer arguments may be generic or __global; the pointers that are returned are __global.
 */
#ifndef XMC_XMALLOC_STD_H
#define XMC_XMALLOC_STD_H
#include "xmalloc_default.cl"

#define malloc(size) xmcMallocDefault(size)
#define free(ptr) xmcFreeDefault((__global void *)(ptr))
#define calloc(count, size) xmcCallocDefault(count, size)
#define realloc(ptr, size) xmcReallocDefault((__global void *)(ptr), size)
#define aligned_alloc(alignment, size) xmcAlignedAllocDefault(alignment, size)
#endif
