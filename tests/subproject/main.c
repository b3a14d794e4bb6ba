/* SPDX-License-Identifier: MIT */
/* A program of a project that has XMalloc inside and its asserts on. */
#include <xmalloc.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>

#ifdef NDEBUG
#error "the parent project's asserts were switched off"
#endif

int main(void) {
  assert(xmcGetVersion() == XMC_VERSION);
  assert(strstr(xmcGetSource(), "xmcMalloc"));
  printf("XMalloc %d.%d.%d inside\n", XMC_VERSION_MAJOR, XMC_VERSION_MINOR, XMC_VERSION_PATCH);
  return 0;
}
