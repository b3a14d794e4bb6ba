/* SPDX-License-Identifier: MIT */
#define FUZZ_CORE fuzz_core_plain
#include "files_core.h"
