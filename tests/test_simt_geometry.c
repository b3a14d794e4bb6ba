/* SPDX-License-Identifier: MIT */
/* test_simt.c as a program for heaps of one geometry (XMC_GEOMETRY) */
#define CORE_ONE_GEOMETRY 1
#include "test_simt.c"
