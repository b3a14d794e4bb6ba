/* SPDX-License-Identifier: MIT */
/* test_lanes.c as on devices that have redux.sync (compute capability 8.0 and up) */
#define XMC_NVIDIA_REDUX 1
#include "test_lanes.c"
