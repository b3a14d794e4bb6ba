/* SPDX-License-Identifier: MIT */
#define FUZZ_CORE fuzz_core_debug
#define XMC_DEBUG 2
#include "files_core.h"
