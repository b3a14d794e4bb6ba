/* SPDX-License-Identifier: MIT */
/* Kernels of grow.c: the decimal period of 1 / n, whose length nobody knows before it is computed. */
#include "xmalloc.cl"

typedef struct period {
  xmcRef digits; /* a byte each; 0: none yet */
  ulong length;
} period;

/* The remainder with which the period of 1 / n begins: after as many digits as n has factors 2, or 5 */
static uint first_remainder(uint n) {
  uint twos = 0, fives = 0, m, remainder = 1u;
  for (m = n; m % 2u == 0; m /= 2u)
    twos++;
  for (m = n; m % 5u == 0; m /= 5u)
    fives++;
  for (m = twos > fives ? twos : fives; m > 0; m--)
    remainder = remainder * 10u % n;
  return remainder % n;
}

/* Work-item i writes the period of 1 / (i + 1) to a block of just its length, unless an earlier launch did. If there is no room
 * the period has no digits: the next launch tries again. */
__kernel void expand(__global xmcHeap *heap, __global period *periods, uint count) {
  uint i = (uint)get_global_id(0), n = i + 1u, first, remainder;
  ulong length = 0, at;
  __global uchar *digits;
  if (i >= count || periods[i].digits)
    return;
  remainder = first = first_remainder(n);
  do {
    remainder = remainder * 10u % n;
    length++;
  } while (remainder != first);
  digits = (__global uchar *)xmcMalloc(heap, length);
  for (at = 0; digits && at < length; at++) {
    digits[at] = (uchar)(remainder * 10u / n);
    remainder = remainder * 10u % n;
  }
  periods[i].length = length;
  periods[i].digits = xmcToRef(heap, digits);
}

/* Work-item i writes the length and the sum of its digits, and frees them. */
__kernel void sum(__global xmcHeap *heap, __global period *periods, uint count, __global ulong2 *out) {
  uint i = (uint)get_global_id(0);
  __global uchar *digits;
  ulong at, total = 0;
  if (i >= count)
    return;
  digits = (__global uchar *)xmcFromRef(heap, periods[i].digits);
  for (at = 0; digits && at < periods[i].length; at++)
    total += digits[at];
  out[i] = (ulong2)(periods[i].length, total);
  xmcFree(heap, digits);
}
