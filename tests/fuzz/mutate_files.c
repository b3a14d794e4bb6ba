/* SPDX-License-Identifier: MIT */
/* Half of the inputs are new ones with few edits: such files are accepted more often than what libFuzzer makes of old ones,
 * and each edit is tried alone. */
#include "files.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  fuzz_input random = {NULL, 0, seed};
  uint32_t edits = fuzz_random(&random) % 8u < 4u ? 1u : 1u + fuzz_random(&random) % 4u;
  size_t wanted = 2u + 7u * edits + fuzz_random(&random) % 64u, i;
  if (fuzz_random(&random) % 2u || wanted > most)
    return LLVMFuzzerMutate(data, size, most);
  for (i = 0; i < wanted; i++)
    data[i] = (uint8_t)fuzz_byte(&random);
  if (fuzz_random(&random) % 8u)
    data[0] &= (uint8_t)~32u; /* seldom the file itself */
  data[1] = (uint8_t)(edits | (fuzz_random(&random) & 96u));
  for (i = 0; i < edits; i++) /* small values and large ones */
    if (fuzz_random(&random) % 2u)
      data[2u + 7u * i + 4u] = data[2u + 7u * i + 5u] = data[2u + 7u * i + 6u] = 0;
  return wanted;
}
