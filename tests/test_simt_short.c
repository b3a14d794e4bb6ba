/* SPDX-License-Identifier: MIT */
/* test_simt.c as in programs for NVIDIA's GPUs with XMC_CALLS 1: malloc tries the active Superblock first, by a way of its own
 * (xmc_class_malloc_active). */
#define XMC_SHORT_WAY 1
#include "test_simt.c"
