/* SPDX-License-Identifier: MIT */
/* A program of allocator operations from bytes, run on the core by scheduled threads beside a shadow allocator.
 * Returns NULL if all agreed, or what did not. The same bytes give the same run. */
#ifndef XMC_FUZZ_PROGRAM_H
#define XMC_FUZZ_PROGRAM_H
#include <stddef.h>
#include <stdint.h>
const char *fuzz_program(const uint8_t *data, size_t size);
#endif
