/* SPDX-License-Identifier: MIT */
/* Sizes and classes.
 *
 *   class   0 … 7           16, 32 … 128 B            steps of 16
 *   class   8 + 4 e + m     (5 + m) * 32 << e B       e = 0 … 5, m = 0 … 3: 160 … 8,192 B
 *
 * So a block's size is k * 2^s with k in 1 … 8, natural alignment is 2^s >= 16, and less than a fifth of
 * a block above 64 B is lost to rounding. Larger requests are Memoryblocks.
 *
 * A Superblock has as many of its 32 Basicblocks as fit its pages:
 *   small class (< 512 B)   a slab is one page; Superblock j of it holds Basicblocks 32 j … of the page
 *   others                  2^e' pages, e' = floor(log2(size / 512)): 1 page at 512 B, 16 at 8 KiB
 */
#ifndef XMC_SIZE_CLASS_CL
#define XMC_SIZE_CLASS_CL
#include "arena.h"
#include "../platform/platform.h"

/* 1 <= size <= XMC_MAX_CLASS_BYTES */
XMC_FN xmc_u32 xmc_class_of(xmc_u32 size) {
  xmc_u32 s, e;
  if (size <= 128u)
    return (size - 1u) >> 4;
  s = size - 1u;
  e = xmc_highest32(s) - 7u; /* 128 … 255 is doubling 0 */
  return 8u + 4u * e + ((s >> (5u + e)) & 3u);
}

/* Of each class: its bytes, and 2^32 / bytes, rounded up */
#define XMC_CLASS_TABLE(f) \
  f(16u), f(32u), f(48u), f(64u), XMC_CLASS_FOUR(f, 16u), XMC_CLASS_FOUR(f, 32u), XMC_CLASS_FOUR(f, 64u), \
      XMC_CLASS_FOUR(f, 128u), XMC_CLASS_FOUR(f, 256u), XMC_CLASS_FOUR(f, 512u), XMC_CLASS_FOUR(f, 1024u)
#define XMC_CLASS_FOUR(f, step) f(5u * (step)), f(6u * (step)), f(7u * (step)), f(8u * (step))
#define XMC_CLASS_SIZE(bytes) (bytes)
#define XMC_CLASS_INVERSE(bytes) (0xffffffffu / (bytes) + 1u)
static XMC_CONSTANT xmc_u32 xmc_class_sizes[XMC_CLASSES] = {XMC_CLASS_TABLE(XMC_CLASS_SIZE)};
static XMC_CONSTANT xmc_u32 xmc_class_inverses[XMC_CLASSES] = {XMC_CLASS_TABLE(XMC_CLASS_INVERSE)};
XMC_FN xmc_u32 xmc_class_bytes(xmc_u32 cls) { return xmc_class_sizes[cls]; }

XMC_FN int xmc_class_is_small(xmc_u32 cls) { return cls < XMC_SMALL_CLASSES; }

/* log2 of the pages of a full Superblock; 0 for slabs */
XMC_FN xmc_u32 xmc_class_order(xmc_u32 cls) { return cls < 15u ? 0u : (cls - 15u) >> 2; }
#define XMC_PAGE_CLASSES 19u /* slabs' and Superblocks' of one page */
XMC_FN int xmc_class_is_long(xmc_u32 cls) { return cls >= XMC_PAGE_CLASSES; } /* several pages */
XMC_FN int xmc_class_is_wide(xmc_u32 cls) { return cls >= 23u; }              /* four and more */
XMC_FN int xmc_class_is_largest(xmc_u32 cls) { return cls >= 28u; }           /* more than 4 KiB a block */

/* Basicblocks in a Superblock that has all its pages; the last one of a slab may have fewer */
XMC_FN xmc_u32 xmc_class_count(xmc_u32 cls) {
  return cls < 16u ? 32u : 0x20121519u >> 8u * (cls & 3u) & 0xffu; /* 128 / 5, 6, 7; 32 */
}

XMC_FN xmc_u32 xmc_class_inverse(xmc_u32 cls) { return xmc_class_inverses[cls]; }

/* An offset r < 2^18 in a run of blocks: the block's number above, and below it a number less than `inverse` if the block
 * begins there. (inverse = (2^32 + e) / bytes with e < bytes, so r = n * bytes + rest gives n * 2^32 + n * e + rest *
 * inverse; n * e is at most r, less than any inverse.) */
XMC_FN xmc_u64 xmc_class_divide(xmc_u32 r, xmc_u32 inverse) { return (xmc_u64)r * inverse; }

/* Basicblocks in a slab, of all its Superblocks */
XMC_FN xmc_u32 xmc_slab_blocks(xmc_u32 cls) { return xmc_class_inverse(cls) >> (32u - XMC_PAGE_SHIFT); }

/* Basicblocks in a run of 2^order pages or part of it: all those of a slab, at most 32 otherwise */
XMC_FN xmc_u32 xmc_class_blocks(xmc_u32 cls, xmc_u32 pages) {
  xmc_u32 n = (xmc_u32)(xmc_class_divide(pages << XMC_PAGE_SHIFT, xmc_class_inverse(cls)) >> 32);
  return xmc_class_is_small(cls) || n < 32u ? n : 32u;
}
#endif
