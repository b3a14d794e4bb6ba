/* SPDX-License-Identifier: MIT */
/* Structs whose size the caller states, so that later versions can add members at their ends. */
#include "internal.h"
#include <string.h>

void xmc_copy_sized(void *to, size_t size, const void *from, size_t known) {
  size_t both = size < known ? size : known;
  memcpy(to, from, both);
  memset((char *)to + both, 0, size - both);
}
