/* SPDX-License-Identifier: MIT */
/* The fuzzer's entry (libFuzzer). */
#include "program.h"
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *wrong = fuzz_program(data, size);
  if (wrong) {
    fprintf(stderr, "fuzz: %s\n", wrong);
    abort();
  }
  return 0;
}
