/* SPDX-License-Identifier: MIT */
/* Tests by name. `test_rooms [TEXT]` runs the tests whose names contain TEXT, or XMC_TEST_FILTER of the environment;
 * `--help` lists the names. The main function of a program of cmocka tests that need no device:
 *
 *   return run_named(tests, argc, argv);
 */
#ifndef XMC_TEST_NAMED_H
#define XMC_TEST_NAMED_H
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

/* What a test's name must contain, or NULL */
const char *test_filter(int argc, char **argv);

/* Prints the usage if the first argument asks for it. Returns 1 if so. */
int test_wants_help(int argc, char **argv);

int test_run_named(const struct CMUnitTest *tests, size_t count, int argc, char **argv);
#define run_named(tests, argc, argv) test_run_named(tests, sizeof(tests) / sizeof *(tests), argc, argv)
#endif
