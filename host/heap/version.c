/* SPDX-License-Identifier: MIT */
/* Which version of the library is this? */
#include "internal.h"

cl_uint xmcGetVersion(void) { return XMC_VERSION; }
