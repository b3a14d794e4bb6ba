/* SPDX-License-Identifier: MIT */
/* Yardsticks of the core on a GPU: the lanes of many sub-groups in lock step (support/simt.h) on a device with room for 256 sub-groups. A heap of 31
 * MiB has as many pages for each of them as one of 1 GiB on a GPU with room for 8,448. */
#ifndef XMC_YARDSTICK_LANES_H
#define XMC_YARDSTICK_LANES_H
#include "support/simt.h"
#define XMC_COALESCING 2
#define XMC_SIMT 1
#define XMC_MANY_PAGES 6951u /* as 3.5 GiB */
#define XMC_USED_IS_DONE 1
#define XMC_HOST_LANES "../../tests/support/simt_lanes.h"
#define CORE_SLOTS_DEFAULT 256u
#define SIMT_SLOT(group) ((group) / 48u * 64u + (group) % 48u)
#define XMC_HOST_STEP() simt_step()
#define XMC_HOST_THREAD() (simt_number() + 1u)
#define YARDSTICK_OWN_STEPS
#include "yardstick.h"

/* Runs what(number, data) in every lane of so many sub-groups, and returns how many ticks that took. */
static inline uint64_t yardstick_lanes(uint32_t groups, void (*what)(uint32_t, void *), void *data,
                                       uint64_t seed) {
  simt s;
  memset(&s, 0, sizeof s);
  s.groups = groups;
  s.seed = seed;
  s.most_ticks = (uint64_t)1 << 40;
  simt_run(&s, what, data);
  return s.ticks;
}
#endif
