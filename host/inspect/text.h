/* SPDX-License-Identifier: MIT */
/* Numbers as people read them. */
#ifndef XMC_TEXT_H
#define XMC_TEXT_H
#include "../../cl/layout/arena.h"

#define XMC_TEXT_BYTES 32

/* "16 KiB", "15.7 MiB": one decimal below 100 where the number is not whole. Returns `text`, XMC_TEXT_BYTES long. */
const char *xmc_text_size(char *text, xmc_u64 bytes);
/* "1,234,567" */
const char *xmc_text_count(char *text, xmc_u64 number);
#endif
