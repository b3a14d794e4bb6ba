/* SPDX-License-Identifier: MIT */
/* One version everywhere: the header's, the library's and the project's. */
#include "xmalloc.h"
#include "support/named.h"

static void header_has_the_projects_version(void **state) {
  char version[32];
  (void)state;
  snprintf(version, sizeof version, "%d.%d.%d", XMC_VERSION_MAJOR, XMC_VERSION_MINOR, XMC_VERSION_PATCH);
  assert_string_equal(version, XMC_TEST_VERSION);
}

static void library_has_the_headers_version(void **state) {
  (void)state;
  assert_int_equal(xmcGetVersion(), XMC_VERSION);
#ifdef CL_VERSION_MAJOR /* OpenCL 3.0's own macros take it apart. */
  assert_int_equal(CL_VERSION_MAJOR(xmcGetVersion()), XMC_VERSION_MAJOR);
  assert_int_equal(CL_VERSION_MINOR(xmcGetVersion()), XMC_VERSION_MINOR);
  assert_int_equal(CL_VERSION_PATCH(xmcGetVersion()), XMC_VERSION_PATCH);
#endif
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(header_has_the_projects_version),
                                     cmocka_unit_test(library_has_the_headers_version)};
  return run_named(tests, argc, argv);
}
