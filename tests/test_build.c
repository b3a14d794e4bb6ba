/* SPDX-License-Identifier: MIT */
/* How a program's build grows with the number of places that allocate, on PoCL: 64 places take at most three times what one takes,
 * building and first launch together. What is compared is the CPU time of this process and of those that it starts, the least of
 * three builds each, of programs that no cache has. */
#include "support/harness.h"
#include <sys/resource.h>
#include <time.h>

enum { BUILDS = 3, PLACES = 64, MOST_TIMES = 3 };

static double cpu_seconds(void) {
  static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
  double seconds = 0;
  int i;
  for (i = 0; i < 2; i++) {
    struct rusage used;
    assert_int_equal(getrusage(whose[i], &used), 0);
    seconds += (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  }
  return seconds;
}

/* The salt is a number in the program that no other one has. */
static char *source_of(unsigned places, unsigned long salt) {
  size_t room = 512 + 32u * places, used;
  char *text = malloc(room);
  unsigned i;
  assert_non_null(text);
  used = (size_t)snprintf(text, room,
                          "#include \"xmalloc.cl\"\n"
                          "#define PLACE(n, size) if (id == n) { "
                          "__global uint *p = (__global uint *)xmcMalloc(heap, size); "
                          "if (p) { *p = id; served[n] = *p + %luu; xmcFree(heap, p); } }\n"
                          "__kernel void places(__global xmcHeap *heap, __global uint *served) {\n"
                          "  uint id = (uint)get_global_id(0);\n",
                          salt);
  for (i = 0; i < places; i++)
    used += (size_t)snprintf(text + used, room - used, "  PLACE(%u, %u)\n", i, 16u * (i % 16u + 1u));
  snprintf(text + used, room - used, "}\n");
  return text;
}

static double build(test_env *env, xmc_heap heap, unsigned places) {
  static unsigned long salt;
  char *text;
  const char *source;
  cl_mem served = test_buffer(env, PLACES * sizeof(cl_uint), NULL);
  cl_uint told[PLACES];
  cl_program program;
  cl_kernel kernel;
  cl_int status;
  double start;
  unsigned i;
  if (salt == 0)
    salt = (unsigned long)(test_hash((uint64_t)time(NULL) ^ (uint64_t)(cpu_seconds() * 1e6)) >> 40);
  salt++;
  source = text = source_of(places, salt);
  start = cpu_seconds();
  program = xmcCreateProgramWithSource(heap, 1, &source, NULL, &status);
  CL_OK(status);
  CL_OK(clBuildProgram(program, 1, &env->device->id, xmcGetBuildOptions(heap), NULL, NULL));
  kernel = clCreateKernel(program, "places", &status);
  CL_OK(status);
  test_launch(env, kernel, places, 1, "hm", heap, served);
  start = cpu_seconds() - start;
  test_read(env, served, told, sizeof told);
  for (i = 0; i < places; i++)
    assert_int_equal(told[i], i + salt);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  free(text);
  return start;
}

static void places(test_env *env) {
  xmc_heap heap = test_heap(env, 16 << 20);
  double one = 1e9, many = 1e9, seconds;
  char name[64] = "";
  int i;
  CL_OK(clGetPlatformInfo(env->device->platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL));
  if (strcmp(name, "Portable Computing Language") != 0)
    skip();
  for (i = 0; i <= BUILDS; i++) { /* the first one loads the compiler */
    seconds = build(env, heap, 1);
    one = i > 0 && seconds < one ? seconds : one;
    seconds = build(env, heap, PLACES);
    many = i > 0 && seconds < many ? seconds : many;
  }
  print_message("%d places: %.2f times one (at most %d)\n", PLACES, many / one, MOST_TIMES);
  assert_true(many <= MOST_TIMES * one);
  test_empty(env, heap);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {TEST(places, SPREAD_ONE)};
  return test_main("build", cases, sizeof cases / sizeof *cases, argc, argv);
}
