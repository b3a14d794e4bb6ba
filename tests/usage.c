/* SPDX-License-Identifier: MIT */
/* --version of every test program, and -h and --help of those that are more than tests by name. It runs before main, which
 * the C library of Linux makes possible: it hands the program's arguments to constructors as well. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmalloc.h>

/* Defined by programs whose --help is not that of the tests by name (support/named.h) */
extern const char test_usage[] __attribute__((weak));

__attribute__((constructor)) static void answer(int argc, char **argv) {
  const char *name = argc > 0 && strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : "test";
  if (argc != 2)
    return;
  if (strcmp(argv[1], "--version") == 0) {
    printf("%s of XMalloc %d.%d.%d\n", name, XMC_VERSION_MAJOR, XMC_VERSION_MINOR, XMC_VERSION_PATCH);
    exit(0);
  }
  if (test_usage && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)) {
    fputs(test_usage, stdout);
    exit(0);
  }
}
