/* SPDX-License-Identifier: MIT */
/* xmcGetVersion: the version of the library. */
#include "internal.h"

cl_uint xmcGetVersion(void) { return XMC_VERSION; }
