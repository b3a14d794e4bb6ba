/* SPDX-License-Identifier: MIT */
/* Size classes: which class serves a request, and what its blocks and Superblocks look like. Sizes are in bytes.
 *
 *   class   0 … 7           16, 32 … 128 B            steps of 16
 *   class   8 + 4 e + m     (5 + m) * 32 << e B       e = 0 … 5, m = 0 … 3: 160 … 8,192 B
 *
 * So the size of a block is k * 2^s with k in 1 … 8; its natural alignment is 2^s >= 16; and rounding up a request
 * wastes less than a fifth of a block above 64 B. Larger requests get Memoryblocks.
 *
 * A Superblock has up to 32 Basicblocks, as many as fit into its pages:
 *   small class (< 512 B)   a slab is one page; Superblock j of it holds Basicblocks 32 j … of the page
 *   others                  2^e' pages, e' = floor(log2(size / 512)): 1 page at 512 B, 16 at 8 KiB
 */
#ifndef XMC_SIZE_CLASS_CL
#define XMC_SIZE_CLASS_CL
#include "arena.h"
#include "../platform/platform.h"

/* Returns the class for a request of 1 <= size <= XMC_MAX_CLASS_BYTES. */
XMC_FN xmc_u32 xmc_class_of(xmc_u32 size) {
  xmc_u32 s, e;
  if (size <= 128u)
    return (size - 1u) >> 4;
  s = size - 1u;
  e = xmc_highest32(s) - 7u; /* e = 0 is the doubling 128 … 255 */
  return 8u + 4u * e + ((s >> (5u + e)) & 3u);
}

/* Two tables, indexed by class: bytes of a block, and 2^32 / bytes, rounded up */
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

/* log2 of the pages of a Superblock of full size; 0 for small classes, whose slabs have one page */
XMC_FN xmc_u32 xmc_class_order(xmc_u32 cls) { return cls < 15u ? 0u : (cls - 15u) >> 2; }
#define XMC_PAGE_CLASSES 19u /* number of the classes whose slabs or Superblocks have one page */
XMC_FN int xmc_class_is_long(xmc_u32 cls) { return cls >= XMC_PAGE_CLASSES; } /* 2 pages or more */
XMC_FN int xmc_class_is_wide(xmc_u32 cls) { return cls >= 23u; }              /* 4 pages or more */
XMC_FN int xmc_class_is_largest(xmc_u32 cls) { return cls >= 28u; }           /* blocks of more than 4 KiB */

/* 1 if a Superblock of the class that becomes wholly free always stays where it is listed, unless it is parked: if it has less than a page,
 * or, on CPU devices, one page. For the others xmc_stays_whole decides. */
XMC_FN int xmc_class_stays(xmc_u32 cls) {
  return XMC_SIMT ? xmc_class_is_small(cls) : !xmc_class_is_long(cls);
}

/* Returns how many Basicblocks a Superblock of full size has; the last Superblock of a slab may have fewer. */
XMC_FN xmc_u32 xmc_class_count(xmc_u32 cls) {
  return cls < 16u ? 32u : 0x20121519u >> 8u * (cls & 3u) & 0xffu; /* 128 / 5, 6, 7; 32 */
}

XMC_FN xmc_u32 xmc_class_inverse(xmc_u32 cls) { return xmc_class_inverses[cls]; }

/* Divides r < 2^18, an offset in bytes in a run of blocks, by the size of a block. The upper half of the result is the number of the
 * block; the lower half is less than `inverse` if and only if a block begins at r. (inverse = (2^32 + e) / bytes with e < bytes, so r =
 * n * bytes + rest gives n * 2^32 + n * e + rest * inverse; n * e is at most r, less than any inverse.) */
XMC_FN xmc_u64 xmc_class_divide(xmc_u32 r, xmc_u32 inverse) { return (xmc_u64)r * inverse; }

/* Returns how many Basicblocks a slab has, in all its Superblocks together. */
XMC_FN xmc_u32 xmc_slab_blocks(xmc_u32 cls) { return xmc_class_inverse(cls) >> (32u - XMC_PAGE_SHIFT); }
/* Returns the same for the slab of a page with this entry, which on CPU devices has 0 if there are joined blocks (calls/joined.cl). */
XMC_PART_FN xmc_u32 xmc_slab_of_entry(xmc_u64 entry) {
  return XMC_SIMT ? xmc_map_blocks(entry) : xmc_slab_blocks(xmc_map_class(entry));
}

/* Returns how many Basicblocks of a class a run of `pages` pages has: in a slab all of them, otherwise at most 32. */
XMC_FN xmc_u32 xmc_class_blocks(xmc_u32 cls, xmc_u32 pages) {
  xmc_u32 n = (xmc_u32)(xmc_class_divide(pages << XMC_PAGE_SHIFT, xmc_class_inverse(cls)) >> 32);
  return xmc_class_is_small(cls) || n < 32u ? n : 32u;
}
#endif
