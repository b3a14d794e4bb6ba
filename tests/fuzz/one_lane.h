/* SPDX-License-Identifier: MIT */
/* XMC_HOST_LANES: each work-item is a sub-group of one lane. */
#ifndef XMC_FUZZ_ONE_LANE_H
#define XMC_FUZZ_ONE_LANE_H
typedef xmc_u32 xmc_lanes;
#define XMC_LANES_ARE_32 0
XMC_FN xmc_u32 xmc_caller(void) { return 5u; }
XMC_FN xmc_u32 xmc_slot_hint(xmc_u32 me, xmc_u32 slots) {
  return me < slots ? me : (xmc_u32)(((xmc_u64)(me * 2654435769u) * slots) >> 32);
}
XMC_FN xmc_u32 xmc_near_slot(xmc_u32 me, xmc_u32 slots) { return xmc_slot_hint(me, slots); }
static xmc_u32 fuzz_any_number; /* set to 0 before each run, so that it can be repeated */
XMC_FN xmc_u32 xmc_any_number(xmc_u32 me) {
  (void)me;
  return fuzz_any_number++ * 2654435769u;
}
XMC_FN xmc_u32 xmc_lane(void) { return 0; }
#define xmc_lanes_matching(key) ((void)(key), 1u)
#define xmc_lanes_at(p) xmc_lanes_matching(p)
XMC_FN xmc_u32 xmc_lanes_count(xmc_lanes m) { return m; }
XMC_FN xmc_u32 xmc_lanes_below(xmc_lanes m) { return m & 0; }
XMC_FN xmc_u32 xmc_lanes_first(xmc_lanes m) { return m & 0; }
XMC_FN xmc_lanes xmc_lanes_drop(xmc_lanes m, xmc_u32 n) { return n ? 0 : m; }
XMC_FN xmc_u32 xmc_shuffle32(xmc_lanes m, xmc_u32 value, xmc_u32 lane) { return (void)m, (void)lane, value; }
XMC_FN xmc_u32 xmc_lanes_or32(xmc_lanes m, xmc_u32 value) { return (void)m, value; }
XMC_FN xmc_u32 xmc_lanes_gather32(xmc_lanes m, xmc_u32 value) { return (void)m, value; }
XMC_FN void xmc_lanes_sync(xmc_lanes m) { (void)m; }
XMC_FN xmc_lanes xmc_lanes_ballot(xmc_lanes m, int predicate) { return predicate ? m : 0; }
XMC_FN int xmc_lanes_any(int predicate) { return predicate; }
XMC_FN void xmc_lanes_share(xmc_lanes m, xmc_u32 lane, xmc_u32 *a, xmc_u32 *b) {
  (void)m, (void)lane, (void)a, (void)b;
}
XMC_FN xmc_u32 xmc_full_shuffle32(xmc_lanes m, xmc_u32 value, xmc_u32 n) { return (void)m, (void)n, value; }
XMC_FN int xmc_full_same(xmc_u64 a, xmc_u64 b, xmc_u32 n, int *all_n) {
  (void)a, (void)b, (void)n;
  return *all_n = 0;
}
XMC_FN xmc_u64 xmc_add_hint64_if(int ask, xmc_u64 *p, xmc_u64 value) {
  return ask ? xmc_add_hint64(p, value) : 0;
}
XMC_FN xmc_u64 xmc_cas_claim64_if(int ask, xmc_u64 *p, xmc_u64 expected, xmc_u64 desired) {
  return ask ? xmc_cas_acquire64(p, expected, desired) : expected;
}
XMC_FN xmc_u64 xmc_retire_or_hint64(xmc_u64 *p, xmc_u64 used, xmc_u64 retired, xmc_u64 bits, xmc_u64 *was) {
  *was = xmc_cas_hint64(p, used, retired);
  return xmc_or_hint64(p, bits);
}
#endif
