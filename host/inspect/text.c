/* SPDX-License-Identifier: MIT */
#include "text.h"
#include <stdio.h>
#include <string.h>

const char *xmc_text_size(char *text, xmc_u64 bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = (double)bytes;
  unsigned unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    unit++;
  }
  snprintf(text, XMC_TEXT_BYTES, value >= 100 || value == (double)(xmc_u64)value ? "%.0f %s" : "%.1f %s",
           value, units[unit]);
  return text;
}

const char *xmc_text_count(char *text, xmc_u64 number) {
  char digits[24];
  int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number), i, used = 0;
  for (i = 0; i < n; i++) {
    if (i > 0 && (n - i) % 3 == 0)
      text[used++] = ',';
    text[used++] = digits[i];
  }
  text[used] = '\0';
  return text;
}
