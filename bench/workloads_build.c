/* SPDX-License-Identifier: MIT */
/* build: what a program's compilation costs, by the number of places in it that allocate. */
#include "bench.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUILD_MOST_PLACES = 256, BUILD_GREATEST = 256 };

/* A kernel with so many places, each of which one work-item runs. `salt` is a number that no program had before, so that neither the
 * driver's cache nor PoCL's has this one. The caller frees the text. */
static char *build_source(unsigned places, unsigned long salt) {
  size_t room = 1024 + 64u * places, used;
  char *text = malloc(room);
  if (text == NULL)
    return NULL;
  used = (size_t)snprintf(text, room,
                          "#include \"xmalloc.cl\"\n"
                          "#define PLACE(n, block) \\\n"
                          "  if (id == n) { \\\n"
                          "    __global uint *p = (__global uint *)block; \\\n"
                          "    if (p == 0) { \\\n"
                          "      atomic_inc(failures); \\\n"
                          "    } else { \\\n"
                          "      *p = id + %luu; \\\n"
                          "      xmcFree(heap, p); \\\n"
                          "    } \\\n"
                          "  }\n"
                          "__kernel void places(__global xmcHeap *heap, __global uint *failures) {\n"
                          "  uint id = (uint)get_global_id(0);\n",
                          salt & 0xffffffffu);
  for (unsigned i = 0; i < places; i++)
    used += (size_t)snprintf(text + used, room - used, "  PLACE(%u, xmcMalloc(heap, %u))\n", i,
                             16u * (i % (BUILD_GREATEST / 16u) + 1u));
  snprintf(text + used, room - used, "}\n");
  return text;
}

/* Builds the program and launches its kernel for the first time. */
static int build_once(bench *b, xmc_heap heap, unsigned places, unsigned long salt, double *ms) {
  int status = 0;
  char options[2048], *text = build_source(places, salt);
  const char *source = text;
  cl_program program = NULL;
  cl_kernel kernel = NULL;
  cl_int error;
  double start;
  if (text == NULL)
    return 1;
  bench_build_options(b, heap, options, sizeof options);
  start = bench_seconds();
  program = xmcCreateProgramWithSource(heap, 1, &source, NULL, &error);
  BENCH_CL(error);
  BENCH_CL(clBuildProgram(program, 1, &b->device, options, NULL, NULL));
  kernel = clCreateKernel(program, "places", &error);
  BENCH_CL(error);
  BENCH_TRY(bench_arguments(kernel, "hm", heap, b->counters));
  BENCH_TRY(bench_launch(b, kernel, places, NULL));
  *ms = (bench_seconds() - start) * 1e3;
  if (b->options.build_options)
    bench_build_log(b, program);
cleanup:
  if (kernel)
    clReleaseKernel(kernel);
  if (program)
    clReleaseProgram(program);
  free(text);
  return status;
}

int bench_run_build(bench *b) {
  xmc_heap heap = bench_heap(b);
  unsigned long salt = (unsigned long)time(NULL) * 1000003u + (unsigned long)(bench_seconds() * 1e6);
  if (heap == NULL)
    return 1;
  for (unsigned places = 1; places <= BUILD_MOST_PLACES; places *= 4) {
    bench_series series = {0};
    cl_uint counters[2];
    double ms;
    if (bench_counters_clear(b))
      return 1;
    bench_begin("build %u places", places);
    while (bench_more(b, &series)) {
      if (build_once(b, heap, places, salt++, &ms))
        return 1;
      bench_sample(b, &series, ms);
    }
    if (bench_counters_read(b, counters))
      return 1;
    bench_add(b, "xmc", "build", "build", places, BUILD_GREATEST, bench_median(&series), counters[0],
              "places=%u;reps=%d;cold=%.4f", places, series.rounds, series.cold);
  }
  return 0;
}
