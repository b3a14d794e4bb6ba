/* SPDX-License-Identifier: MIT */
/* The headers of blocks in debug heaps, for kernels and host; debug.cl shows where they lie. */
#ifndef XMC_DEBUG_HEADER_H
#define XMC_DEBUG_HEADER_H
#include "../layout/arena.h"

#define XMC_DEBUG_LIVE 0x4c495645u
#define XMC_DEBUG_FREED 0x46524545u
#define XMC_DEBUG_FIRST 1u /* in the tag of the first of two headers */
#define XMC_DEBUG_NEW_BYTE 0xa5u
#define XMC_DEBUG_RED_BYTE 0xb5u
#define XMC_DEBUG_FREED_BYTE 0xddu
#define XMC_DEBUG_HEADER_BYTES 16u
#define XMC_DEBUG_MIN_RED_ZONE 8u
#define XMC_DEBUG_SIZE_BITS 36 /* of the extent: enough for XMC_MAX_BLOCK_PAGES */
#define XMC_DEBUG_MAX_ALIGN ((xmc_u64)1 << 31)

typedef struct xmc_debug_header {
  xmc_u32 tag;
  xmc_u32 site;
  xmc_u64 extent;
} xmc_debug_header;

XMC_FN xmc_u64 xmc_debug_size(xmc_u64 extent) { return extent & (((xmc_u64)1 << XMC_DEBUG_SIZE_BITS) - 1u); }
XMC_FN xmc_u64 xmc_debug_front(xmc_u64 extent) { return extent >> XMC_DEBUG_SIZE_BITS << 4; }
XMC_FN xmc_u64 xmc_debug_extent(xmc_u64 size, xmc_u64 front) {
  return size | front >> 4 << XMC_DEBUG_SIZE_BITS;
}

/* The site of a call: a hash of the file's name (upper 16 bits) and the line's low 16 bits. 0 means that the site is not known. */
#if XMC_DEBUG >= 3 || XMC_TRACE || !XMC_OPENCL
#if XMC_OPENCL
XMC_FN xmc_u32 xmc_debug_site(__constant const char *file, xmc_u32 line) {
#else
XMC_FN xmc_u32 xmc_debug_site(const char *file, xmc_u32 line) {
#endif
  xmc_u32 hash = 0;
  for (; *file; file++)
    hash = hash * 31u + (xmc_u32)*file;
  return (hash ^ hash >> 16) << 16 | (line & 0xffffu);
}
#endif

/* The kind, XMC_DEBUG_LIVE or XMC_DEBUG_FREED, as the header at the beginning of a plain block has it: with FIRST if a second one
 * follows */
XMC_FN xmc_u32 xmc_debug_first(xmc_u32 kind, xmc_u64 extent) {
  return xmc_debug_front(extent) > XMC_DEBUG_HEADER_BYTES ? kind ^ XMC_DEBUG_FIRST : kind;
}

/* The tag of a header at `offset` bytes in the arena of a heap of this `life`; a heap gets another life by a reset */
XMC_FN xmc_u32 xmc_debug_tag(xmc_u32 kind, xmc_u32 life, xmc_u64 offset, xmc_u32 site, xmc_u64 extent) {
  xmc_u64 x = (offset >> 4 ^ (xmc_u64)site << 32 ^ life) * 0x9e3779b97f4a7c15u ^ extent;
  x = (x ^ x >> 32) * 0xff51afd7ed558ccdu;
  return (xmc_u32)(x >> 32) ^ kind;
}
#endif
