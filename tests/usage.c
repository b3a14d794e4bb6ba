/* SPDX-License-Identifier: MIT */
/* -h, --help and --version of every test program. It runs before main, which the C library of Linux and the
 * BSDs makes possible: they hand the program's arguments to constructors as well. So no test needs code for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmalloc.h>

/* A program that is more than a test defines its own. */
extern const char test_usage[] __attribute__((weak));

__attribute__((constructor)) static void answer(int argc, char **argv) {
  const char *name = argc > 0 && strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : "test";
  if (argc != 2)
    return;
  if (strcmp(argv[1], "--version") == 0) {
    printf("%s of XMalloc %d.%d.%d\n", name, XMC_VERSION_MAJOR, XMC_VERSION_MINOR, XMC_VERSION_PATCH);
    exit(0);
  }
  if (strcmp(argv[1], "-h") != 0 && strcmp(argv[1], "--help") != 0)
    return;
  if (test_usage)
    fputs(test_usage, stdout);
  else
    printf("usage: %s [PART]\n"
           "Runs the tests whose names contain PART, or all. Device tests run on each OpenCL device whose name or\n"
           "platform's name contains the environment's XMC_TEST_DEVICE, or on all. Exit 0: all passed.\n",
           name);
  exit(0);
}
