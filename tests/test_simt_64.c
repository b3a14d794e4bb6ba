/* SPDX-License-Identifier: MIT */
/* test_simt.c with sub-groups of 64 lanes, as some of AMD's GPUs have them */
#define SIMT_LANES 64u
#include "support/simt.c"
#include "test_simt.c"
