/* SPDX-License-Identifier: MIT */
/* Numbers as text for people. */
#ifndef XMC_TEXT_H
#define XMC_TEXT_H
#include "../../cl/layout/arena.h"

#define XMC_TEXT_BYTES 32

/* Writes "16 KiB" or "15.7 MiB" to `text`, which has XMC_TEXT_BYTES bytes, and returns it. A number below 100 that is not whole has one
 * decimal. */
const char *xmc_text_size(char *text, xmc_u64 bytes);
/* The same as "1,234,567" */
const char *xmc_text_count(char *text, xmc_u64 number);
#endif
