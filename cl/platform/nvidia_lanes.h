/* SPDX-License-Identifier: MIT */
/* NVIDIA: what the lanes of a group do together, by the instructions of nvidia.h. The lanes of a group may run apart, any of them at any
 * point. There is no PTX here, so that tests run this on the host, too (tests/support/simt_lanes.h).
 */
#ifndef XMC_PLATFORM_NVIDIA_LANES_H
#define XMC_PLATFORM_NVIDIA_LANES_H

/* xmc_lanes_share: if ptxas does not know that a mask is the same in all lanes, a shuffle first compares the lanes' masks, and if they
 * differ it runs for one group after the other. So here all lanes that run together shuffle at once, by a mask of their own; only if
 * some lanes of the group m are not among them, which is rare, the group shuffles again. */
XMC_FN void xmc_lanes_share(xmc_lanes m, xmc_u32 lane, xmc_u32 *a, xmc_u32 *b) {
  xmc_lanes here = xmc_lanes_here();
  xmc_u32 x, y;
  xmc_lanes_sync(here);
  x = xmc_shuffle32(here, *a, lane);
  y = xmc_shuffle32(here, *b, lane);
  if (m & ~here) {
    xmc_lanes_sync(m);
    x = xmc_shuffle32(m, *a, lane);
    y = xmc_shuffle32(m, *b, lane);
  }
  *a = x;
  *b = y;
}

/* As in xmc_lanes_share, all lanes that run together take part at once, here those of several groups. Each lane joins the values of the
 * lanes 1, 2, 4, 8 and 16 behind it in its group, or of the last one, so that the first has all. In a loop ptxas would not know that the
 * mask is the same in all lanes. */
XMC_FN xmc_u32 xmc_lanes_gather32(xmc_lanes m, xmc_u32 value) {
  xmc_lanes here = xmc_lanes_here(), behind;
  xmc_u32 next, all;
  if (XMC_NVIDIA_REDUX) { /* without redux the steps are faster */
    xmc_lanes_sync(here);
    all = xmc_lanes_or32(here, value);
    if (m == here)
      return all;
    here = xmc_lanes_here();
  }
  xmc_lanes_sync(here);
  next = xmc_lanes_from_me() & m & here;
  behind = next & (next - 1u);
  behind = behind ? behind : next; /* the last lane joins its own value */
  next = 31u - clz(behind & -behind);
  value |= xmc_shuffle32(here, value, next);
  next = xmc_shuffle32(here, next, next);
  value |= xmc_shuffle32(here, value, next);
  next = xmc_shuffle32(here, next, next);
  value |= xmc_shuffle32(here, value, next);
  next = xmc_shuffle32(here, next, next);
  value |= xmc_shuffle32(here, value, next);
  next = xmc_shuffle32(here, next, next);
  value |= xmc_shuffle32(here, value, next);
  if (m & ~here) { /* rare: none of the group may go on before the others took part */
    xmc_lanes_sync(m);
    value = xmc_lanes_or32(m, value);
  }
  return value;
}
#endif
