/* SPDX-License-Identifier: MIT */
/* Bits of a word: the n-th one, the lowest ones, runs of them. */
#ifndef XMC_BITS_CL
#define XMC_BITS_CL
#include "../platform/platform.h"

/* Returns the place of the n-th set bit of x, from 0; n must be less than popcount(x). To shift a copy of x instead would keep two more
 * values alive, at the point where kernels that allocate have the most. */
XMC_FN xmc_u32 xmc_nth_bit(xmc_u32 x, xmc_u32 n) {
  xmc_u32 place = xmc_lowest32(x), width;
  if (!(x & (x + (x & -x)))) /* all set bits are adjacent */
    return place + n;
  place = 0;
  for (width = 16; width > 0; width >>= 1)
    if (xmc_popcount32(x & ((1u << (place + width)) - 1u)) <= n)
      place += width;
  return place;
}

/* Returns the lowest n set bits of x, or all of them if it has fewer. */
XMC_FN xmc_u32 xmc_lowest_bits(xmc_u32 x, xmc_u32 n) {
  if (n == 1u)
    return x & -x;
  if (n >= xmc_popcount32(x))
    return x;
  return x & ((1u << xmc_nth_bit(x, n)) - 1u);
}
/* Returns the same, computed bit by bit, which takes fewer registers. */
XMC_FN xmc_u32 xmc_lowest_bits_slowly(xmc_u32 x, xmc_u32 n) {
  xmc_u32 left = x;
  XMC_ROLLED
  for (; n > 0 && left; n--)
    left &= left - 1u;
  return x & ~left;
}

/* Returns a mask of n bits from bit `first` upwards. */
XMC_FN xmc_u64 xmc_run_mask(xmc_u32 first, xmc_u32 n) {
  return (n >= 64u ? ~(xmc_u64)0 : ((xmc_u64)1 << n) - 1u) << first;
}

/* Returns what xmc_run_mask(0, 2^order) does, in fewer instructions and registers, for the orders of classes, which are at most 4: a
 * Superblock has up to 16 pages. */
XMC_FN xmc_u64 xmc_class_run(xmc_u32 order) { return (1u << (1u << order)) - 1u; }

/* Returns the bits of x at which runs of n set bits start; 1 <= n <= 64. */
XMC_FN xmc_u64 xmc_run_starts(xmc_u64 x, xmc_u32 n) {
  xmc_u32 have = 1, step;
  XMC_ROLLED
  while (have < n) {
    step = have < n - have ? have : n - have;
    x &= x >> step;
    have += step;
  }
  return x;
}

/* Returns the lowest n set bits of x, or all of them if it has fewer. */
XMC_FN xmc_u64 xmc_lowest_bits64(xmc_u64 x, xmc_u32 n) {
  xmc_u32 low = (xmc_u32)x, have = xmc_popcount32(low);
  if (have >= n)
    return xmc_lowest_bits(low, n);
  return (xmc_u64)xmc_lowest_bits((xmc_u32)(x >> 32), n - have) << 32 | low;
}
#endif
