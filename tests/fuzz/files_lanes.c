/* SPDX-License-Identifier: MIT */
#define FUZZ_CORE fuzz_core_lanes
#define XMC_SIMT 1
#define XMC_USED_IS_DONE 1
#define XMC_HOST_LANES "fuzz/one_lane.h"
#include "files_core.h"
