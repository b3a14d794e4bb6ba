/* SPDX-License-Identifier: MIT */
/* test_large.c with sub-groups in lock step, as on GPUs (support/simt.h) */
#include "support/simt.h"
#define XMC_SIMT 1
#define XMC_HOST_LANES "support/simt_lanes.h"
#define XMC_HOST_STEP() simt_step()
#define XMC_HOST_THREAD() (simt_number() + 1u)
#define CORE_OWN_STEPS
#include "test_large.c"
