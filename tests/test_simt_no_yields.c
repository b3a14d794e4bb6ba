/* SPDX-License-Identifier: MIT */
/* test_simt.c with frees that settle what is due in their end, as on NVIDIA without YIELD (cl/layout/api.h) */
#define SIMT_NVIDIA
#define XMC_NO_YIELDS 1
#include "test_simt.c"
