/* SPDX-License-Identifier: MIT */
/* test_simt.c with NVIDIA's joins of lanes (cl/platform/nvidia_lanes.h) and with frees that settle what is due in their end, as on NVIDIA
 * without YIELD (cl/layout/api.h) */
#define SIMT_NVIDIA
#define XMC_NO_YIELDS 1
#include "test_simt.c"
