/* SPDX-License-Identifier: MIT */
#include "named.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *test_filter(int argc, char **argv) { return argc > 1 ? argv[1] : getenv("XMC_TEST_FILTER"); }

int test_wants_help(int argc, char **argv) {
  if (argc < 2 || (strcmp(argv[1], "-h") != 0 && strcmp(argv[1], "--help") != 0))
    return 0;
  printf("%s [TEXT]\nRuns the tests whose names contain TEXT (or XMC_TEST_FILTER of the environment).\n",
         argv[0]);
  return 1;
}

int test_run_named(const struct CMUnitTest *tests, size_t count, int argc, char **argv) {
  const char *filter = test_filter(argc, argv);
  struct CMUnitTest *chosen;
  size_t n = 0, i;
  int failed = 1;
  if (test_wants_help(argc, argv)) {
    for (i = 0; i < count; i++)
      printf("  %s\n", tests[i].name);
    return 0;
  }
  chosen = calloc(count, sizeof *chosen);
  if (!chosen)
    return 1;
  for (i = 0; i < count; i++)
    if (!filter || strstr(tests[i].name, filter))
      chosen[n++] = tests[i];
  if (n == 0)
    fprintf(stderr, "%s: no test's name contains %s\n", argv[0], filter ? filter : "");
  else
    failed = _cmocka_run_group_tests(argv[0], chosen, n, NULL, NULL) != 0;
  free(chosen);
  return failed;
}
