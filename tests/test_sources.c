/* SPDX-License-Identifier: MIT */
/* User sources as people write and store them: each gets the library once, and keeps its line numbers; where only the
 * compiler can find the library, it does with -I, or its log says what to do. */
#include "support/harness.h"

#define WHERE \
  "__kernel void where(__global xmcHeap *heap, __global int *out) { *out = xmcToRef(heap, heap) ? 0 : " \
  "__LINE__; }"
#define MARK "\xef\xbb\xbf"
#define CL_FOLDER " -I" XMC_TEST_KERNELS "../../cl"
#define HEADERS " -I" XMC_TEST_KERNELS

typedef struct built {
  cl_program program;
  cl_int status;
  char log[16384];
} built;

static built build(test_env *env, xmc_heap heap, cl_uint count, const char **strings, const size_t *lengths,
                   const char *more) {
  built b;
  char options[4096];
  cl_int status;
  b.log[0] = '\0';
  b.program = xmcCreateProgramWithSource(heap, count, strings, lengths, &status);
  CL_OK(status);
  snprintf(options, sizeof options, "%s%s", xmcGetBuildOptions(heap), more);
  b.status = clBuildProgram(b.program, 1, &env->device->id, options, NULL, NULL);
  clGetProgramBuildInfo(b.program, env->device->id, CL_PROGRAM_BUILD_LOG, sizeof b.log, b.log, NULL);
  return b;
}

/* The line number that kernel `where` writes */
static int line_seen(test_env *env, xmc_heap heap, cl_uint count, const char **strings,
                     const size_t *lengths) {
  cl_int status, line = -1;
  cl_mem out = test_buffer(env, sizeof line, &line);
  built b = build(env, heap, count, strings, lengths, "");
  cl_kernel kernel;
  if (b.status != CL_SUCCESS)
    fail_msg("%s\n%s", strings[0], b.log);
  kernel = clCreateKernel(b.program, "where", &status);
  CL_OK(status);
  test_launch(env, kernel, 1, 1, "hm", heap, out);
  test_read(env, out, &line, sizeof line);
  clReleaseKernel(kernel);
  clReleaseProgram(b.program);
  return line;
}

static void lines(test_env *env) {
  static const struct {
    const char *text;
    int line;
  } sources[] = {
      {MARK "#include \"xmalloc.cl\"\n" WHERE, 2},
      {MARK WHERE, 1},
      {"/* memory */ #include \"xmalloc.cl\"\n" WHERE, 2},
      {"#include /* memory */ \"xmalloc.cl\" // of ours\n" WHERE, 2},
      {"# /* over\n lines */ include \"xmalloc.cl\"\n" WHERE, 3},
      {"/* over\n lines */ #include \"xmalloc.cl\"\n\n" WHERE, 4},
      {"#include \\\n \"xmalloc.cl\"\n" WHERE, 3},
      {"#inc\\\nlude \"xmal\\\nloc.cl\"\n" WHERE, 4},
      {"#include \\\r\n \"xmalloc.cl\"\r\n" WHERE "\r\n", 3},
      {"#include \"..\\xmalloc.cl\"\n" WHERE, 2},
      {"#include <xmalloc/xmalloc.cl>\r\n\r\n" WHERE "\r\n", 3},
      {"// see \\\n#include \"xmalloc.cl\"\n" WHERE, 3},
      {"// see \\\n   /* \\\n\n" WHERE, 4},
      {"/* \"\n#include \"xmalloc.cl\"\n*/\n" WHERE, 4},
      {"/*/ still */ /**/ #include \"xmalloc.cl\"\n" WHERE, 2},
      {"__constant char a[] = \"\\\"/*\";\n#include \"xmalloc.cl\"\n__constant char b = '\\'';\n" WHERE, 4},
      {"#if 0\nit isn't /* fine\n#endif\n#include \"xmalloc.cl\"\n" WHERE, 5},
      {"#if 0\n#include \"xmalloc.cl\"\n#endif\n#include \"xmalloc.cl\"\n" WHERE, 5},
      {"#include \"xmalloc.cl\"\n#include \"xmalloc.cl\"\n" WHERE, 3},
      {"#define NOT_OURS \"#include \\\"xmalloc.cl\\\"\"\n" WHERE, 2},
      {WHERE "\n// ends in a comment, without a line end", 1},
      {WHERE "\n/* ends\nin */ // \\", 1},
  };
  xmc_heap heap = test_heap(env, 8 << 20);
  size_t i;
  for (i = 0; i < sizeof sources / sizeof *sources; i++) {
    const char *text = sources[i].text;
    int line = line_seen(env, heap, 1, &text, NULL);
    if (line != sources[i].line)
      fail_msg("line %d instead of %d:\n%s", line, sources[i].line, text);
  }
}

/* Strings that end in the middle of a line or of a joint, lengths that are 0 or count the NUL in, a mark in each file */
static void pieces(test_env *env) {
  static const char *const cut[] = {"#incl", "ude \"xmalloc.c", "l\"", "\n", "", WHERE};
  static const char *const joint[] = {"#include \\", "\n\"xmalloc.cl\"", "\n" WHERE};
  static const char *const files[] = {MARK "#include \"xmalloc.cl\"\n", MARK "// two\n", MARK WHERE};
  static const char *const with_nul[] = {"#include \"xmalloc.cl\"\n", "\n" WHERE "GARBAGE"};
  static const size_t zeros[] = {0, 0, 0, 0, 0, 0}, nul[] = {23, sizeof WHERE};
  xmc_heap heap = test_heap(env, 8 << 20);
  assert_int_equal(line_seen(env, heap, 6, (const char **)(uintptr_t)cut, NULL), 2);
  assert_int_equal(line_seen(env, heap, 6, (const char **)(uintptr_t)cut, zeros), 2);
  assert_int_equal(line_seen(env, heap, 3, (const char **)(uintptr_t)joint, NULL), 3);
  assert_int_equal(line_seen(env, heap, 3, (const char **)(uintptr_t)files, NULL), 3);
  assert_int_equal(strlen(with_nul[0]) + 1, nul[0]);
  assert_int_equal(line_seen(env, heap, 2, (const char **)(uintptr_t)with_nul, nul), 3);
}

static built build_text(test_env *env, xmc_heap heap, const char *text, const char *more) {
  return build(env, heap, 1, &text, NULL, more);
}

/* A header of the user's that includes the library: with -I, and a second time in the program, it is there once. */
static void own_headers(test_env *env) {
  static const char *const texts[] = {"#include \"own_header.h\"\n" WHERE,
                                      "#include \"xmalloc.cl\"\n#include \"own_header.h\"\n" WHERE,
                                      "#include \"own_header.h\"\n#include \"xmalloc.cl\"\n" WHERE};
  xmc_heap heap = test_heap(env, 8 << 20);
  built b;
  size_t i;
  if (strpbrk(XMC_TEST_KERNELS, " \t'\"\\")) {
    print_message("skipped: not every compiler takes -I for %s\n", XMC_TEST_KERNELS);
    return;
  }
  for (i = 0; i < sizeof texts / sizeof *texts; i++) {
    b = build_text(env, heap, texts[i], HEADERS CL_FOLDER);
    if (b.status != CL_SUCCESS)
      fail_msg("%s\n%s", texts[i], b.log);
    clReleaseProgram(b.program);
    b = build_text(env, heap, texts[i], HEADERS);
    assert_int_equal(b.status, CL_BUILD_PROGRAM_FAILURE);
    assert_non_null(strstr(b.log, "xmalloc.cl"));
    assert_non_null(strstr(xmcErrorString(b.status), "-I"));
    clReleaseProgram(b.program);
  }
  b = build_text(env, heap, "#include \"guarded_header.h\"\n" WHERE, HEADERS);
  if (b.status != CL_SUCCESS)
    fail_msg("guarded_header.h: %s", b.log);
  clReleaseProgram(b.program);
}

/* An include by a macro */
static void by_macro(test_env *env) {
  static const char text[] = "#define FILE \"xmalloc.cl\"\n\n#include FILE /* by name */\n" WHERE;
  xmc_heap heap = test_heap(env, 8 << 20);
  built b = build_text(env, heap, text, "");
  assert_int_equal(b.status, CL_BUILD_PROGRAM_FAILURE);
  clReleaseProgram(b.program);
  if (strstr(b.log, "XMalloc: no such file is found")) {
    assert_non_null(strstr(b.log, "xmalloc_CL_DIR"));
    if (!strstr(env->device->name, "Oclgrind") &&
        !strstr(env->device->name, "NVIDIA")) /* their messages do not heed #line */
      assert_non_null(strstr(b.log, "<kernel>:3:"));
  } else { /* only a compiler that cannot ask may leave it out */
    b = build_text(env, heap, "#ifdef __has_include\n#error \"it can\"\n#endif\n" WHERE, "");
    assert_int_equal(b.status, CL_SUCCESS);
    clReleaseProgram(b.program);
  }
  if (strpbrk(XMC_TEST_KERNELS, " \t'\"\\"))
    return;
  b = build_text(env, heap, text, CL_FOLDER);
  if (b.status != CL_SUCCESS)
    fail_msg("by a macro: %s", b.log);
  clReleaseProgram(b.program);
}

/* A program with several places that allocate gets XMC_CALLS 1, one with many 2, unless it or its options say what that shall be. */
static void many_places(test_env *env) {
  static const char calls[] = "\n#ifndef XMC_CALLS\n#define XMC_CALLS 0\n#endif\n#if XMC_CALLS != EXPECTED\n"
                              "#error \"other calls\"\n#endif\n" WHERE;
  static const char place[] = "// xmcMalloc(heap, 1)\n", kernel[] = "// __kernel void my_alloc(void)\n";
  static const struct {
    const char *first, *options;
    int places, each, expected; /* each: so many in a kernel */
  } programs[] = {
      {"#include \"xmalloc.cl\"\n", "", 2, 2, 0},
      {"#include \"xmalloc.cl\"\n", "", 3, 3, 1},
      {"#include \"xmalloc.cl\"\n", "", 8, 2, 0},
      {"#include \"xmalloc.cl\"\n", "", 9, 1, 1},
      {"#include \"xmalloc.cl\"\n", "", 16, 16, 1},
      {"#include \"xmalloc.cl\"\n", "", 17, 2, 2},
      {"", "", 2, 2, 0},
      {"", "", 3, 3, 1},
      {"", "", 17, 3, 2},
      {"#include \"xmalloc.cl\"\n// malloc (1), alloc, (Alloc), a lloc(1)\n", "", 1, 3, 0},
      {"#include \"xmalloc.cl\"\n// malloc (1), MY_Allocator(1), alloc, alloc_(1)\n", "", 0, 3, 1},
      {"#include \"xmalloc.cl\"\n// kernel __attribute__((x(1))) void alloc(1) { alloc(1); alloc(1); }\n", "",
       0, 3, 0},
      {"#define XMC_CALLS 0\n#include \"xmalloc.cl\"\n", "", 17, 9, 0},
      {"#include \"xmalloc.cl\"\n", " -DXMC_CALLS=0", 17, 9, 0},
      {"#include \"xmalloc.cl\"\n", " -DXMC_CALLS=2", 1, 1, 2}};
  xmc_heap heap = test_heap(env, 8 << 20);
  size_t i;
  int n;
  for (i = 0; i < sizeof programs / sizeof *programs; i++) {
    char text[4096], options[64];
    built b;
    snprintf(text, sizeof text, "%s", programs[i].first);
    for (n = 0; n < programs[i].places; n++) {
      strcat(text, n % programs[i].each == 0 ? kernel : "");
      strcat(text, place);
    }
    strcat(text, calls);
    snprintf(options, sizeof options, " -DEXPECTED=%d%s", programs[i].expected, programs[i].options);
    b = build_text(env, heap, text, options);
    if (b.status != CL_SUCCESS)
      fail_msg("program %d: %s", (int)i, b.log);
    clReleaseProgram(b.program);
  }
}

int main(int argc, char **argv) {
  static const test_case cases[] = {TEST(lines, SPREAD_ONE), TEST(pieces, SPREAD_ONE),
                                    TEST(own_headers, SPREAD_ONE), TEST(by_macro, SPREAD_ONE),
                                    TEST(many_places, SPREAD_ONE)};
  return test_main("sources", cases, sizeof cases / sizeof *cases, argc, argv);
}
