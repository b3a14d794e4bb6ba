/* SPDX-License-Identifier: MIT */
/* XMC_HOST_LANES: threads as on the host, whose searches begin where the test's thread says. */
#ifndef XMC_TEST_ANY_NUMBER_H
#define XMC_TEST_ANY_NUMBER_H
static __thread xmc_u32 any_number;
XMC_FN xmc_u32 xmc_caller(void) { return XMC_HOST_THREAD() * 2654435769u; }
XMC_FN xmc_u32 xmc_slot_hint(xmc_u32 me, xmc_u32 slots) { return (xmc_u32)(((xmc_u64)me * slots) >> 32); }
XMC_FN xmc_u32 xmc_near_slot(xmc_u32 me, xmc_u32 slots) { return xmc_slot_hint(me, slots); }
XMC_FN xmc_u32 xmc_any_number(xmc_u32 me) {
  (void)me;
  return any_number;
}
#endif
