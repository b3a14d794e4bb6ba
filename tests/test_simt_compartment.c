/* SPDX-License-Identifier: MIT */
/* test_simt.c with the papers' compartments, and every third sub-group as in a program that leaves own places alone
 * (cl/superblocks/own.cl) */
#define XMC_COALESCING 1
#define XMC_OWN_PLACES (simt_number() / SIMT_LANES % 3u != 0)
#include "test_simt.c"
