/* SPDX-License-Identifier: MIT */
/* What the samples share: a device, a heap, a program, launches. Nothing in it is special to XMalloc but the calls that
 * begin with xmc. Any error ends the program with 1 and a message.
 *
 * sample_main runs a sample on each OpenCL device that it finds. Every sample knows these options:
 *   --device TEXT   only devices whose name or platform's name contains TEXT; default: the environment's
 *                   XMC_TEST_DEVICE, which this project's tests set
 *   --heap MIB      the size of the heap
 *   -h, --help      says what the sample does and which arguments it takes
 */
#ifndef SAMPLE_H
#define SAMPLE_H
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue works on every version */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmalloc.h>

typedef struct sample {
  cl_context context;
  cl_device_id device;
  cl_command_queue queue;
  xmc_heap heap;
  cl_program program;
  int argc; /* the command line without the program's name and the options above */
  char **argv;
} sample;

/* What a sample tells sample_main about itself */
typedef struct sample_description {
  const char *about;     /* for --help */
  const char *source;    /* of its kernels */
  double heap_mib;       /* unless --heap says otherwise */
  int (*run)(sample *s); /* returns 0 if the result is right */
} sample_description;

/* How large the heap can grow, for samples that set this before sample_main; 0: it cannot */
static double sample_max_mib;

#define CHECK(call) sample_check((call), #call)
static inline void sample_check(cl_int status, const char *call) {
  if (status == CL_SUCCESS)
    return;
  fprintf(stderr, "%s: %s\n", call, xmcErrorString(status));
  if (status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == XMC_HEAP_TOO_SMALL)
    fprintf(stderr, "out of memory: use a larger heap (--heap MIB)\n");
  exit(1);
}

/* Ends the program if the heap had no room for a request: what kernels made of the others is whole, but no result. */
static inline void sample_check_room(sample *s, const char *who) {
  xmc_heap_stats stats;
  CHECK(xmcCheckHeap(s->heap, s->queue, NULL));
  CHECK(xmcGetHeapStats(s->heap, s->queue, &stats));
  if (stats.failed_requests == 0)
    return;
  fprintf(stderr,
          "out of memory: %llu requests of %s found no room in %.3g MiB; use a larger heap (--heap MIB)\n",
          (unsigned long long)stats.failed_requests, who, (double)stats.heap_bytes / (1 << 20));
  exit(1);
}

/* A whole file, with a NUL behind it */
static inline char *sample_file(const char *path) {
  FILE *f = fopen(path, "rb");
  size_t room = 1 << 16, n = 0, got;
  char *text = malloc(room + 1);
  if (!f || !text) {
    perror(path);
    exit(1);
  }
  while ((got = fread(text + n, 1, room - n, f)) > 0) {
    n += got;
    if (n == room && !(text = realloc(text, (room *= 2) + 1)))
      exit(1);
  }
  fclose(f);
  text[n] = '\0';
  return text;
}

/* A buffer with the contents of `from`, or zeroes */
static inline cl_mem sample_buffer(sample *s, size_t bytes, const void *from) {
  cl_int e;
  void *copy = calloc(1, bytes);
  cl_mem buffer;
  if (copy && from)
    memcpy(copy, from, bytes);
  buffer = clCreateBuffer(s->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, copy, &e);
  CHECK(e);
  free(copy);
  return buffer;
}

static inline void sample_read(sample *s, cl_mem buffer, void *to, size_t bytes) {
  CHECK(clEnqueueReadBuffer(s->queue, buffer, CL_TRUE, 0, bytes, to, 0, NULL, NULL));
}

static inline void sample_vlaunch(sample *s, const char *name, size_t items, const char *format,
                                  va_list list) {
  cl_int e;
  cl_kernel kernel = clCreateKernel(s->program, name, &e);
  size_t local = items < 64 ? items : 64, global = (items + local - 1) / local * local;
  cl_uint i;
  CHECK(e);
  CHECK(xmcSetKernelArgHeap(kernel, 0, s->heap));
  for (i = 1; *format; format++, i++) {
    if (*format == 'm') {
      cl_mem buffer = va_arg(list, cl_mem);
      CHECK(clSetKernelArg(kernel, i, sizeof buffer, &buffer));
    } else if (*format == 'u') {
      cl_uint number = va_arg(list, cl_uint);
      CHECK(clSetKernelArg(kernel, i, sizeof number, &number));
    } else {
      cl_ulong wide = va_arg(list, cl_ulong);
      CHECK(clSetKernelArg(kernel, i, sizeof wide, &wide));
    }
  }
  CHECK(clEnqueueNDRangeKernel(s->queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
  CHECK(clFinish(s->queue));
  clReleaseKernel(kernel);
}

/* Runs a kernel over at least `items` work-items and waits. Its first argument is the heap. The others follow, and
 * `format` has a letter for each: m cl_mem, u cl_uint, U cl_ulong. Requests may find no room. */
static inline void sample_try(sample *s, const char *name, size_t items, const char *format, ...) {
  va_list list;
  va_start(list, format);
  sample_vlaunch(s, name, items, format, list);
  va_end(list);
}

/* The same for a kernel whose requests all have to be granted */
static inline void sample_launch(sample *s, const char *name, size_t items, const char *format, ...) {
  va_list list;
  va_start(list, format);
  sample_vlaunch(s, name, items, format, list);
  va_end(list);
  sample_check_room(s, name);
}

/* 0 if the heap has this many live blocks and nobody freed what is no block; else 1, with a message */
static inline int sample_heap_differs(sample *s, cl_ulong live) {
  xmc_heap_stats stats;
  CHECK(xmcGetHeapStats(s->heap, s->queue, &stats));
  if (stats.live_blocks == live && stats.double_frees + stats.invalid_frees == 0)
    return 0;
  fprintf(stderr, "%llu blocks live, %llu expected; %llu bad frees\n", (unsigned long long)stats.live_blocks,
          (unsigned long long)live, (unsigned long long)(stats.double_frees + stats.invalid_frees));
  return 1;
}

static inline void sample_build(sample *s, const char *source) {
  char log[4096] = "";
  cl_int e;
  s->program = xmcCreateProgramWithSource(s->heap, 1, &source, NULL, &e);
  CHECK(e);
  e = clBuildProgram(s->program, 1, &s->device, xmcGetBuildOptions(s->heap), NULL, NULL);
  if (e != CL_SUCCESS) {
    clGetProgramBuildInfo(s->program, s->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    fprintf(stderr, "%s\n", log);
  }
  CHECK(e);
}

static inline int sample_on(cl_device_id device, const sample_description *d, double mib, int argc,
                            char **argv) {
  const xmc_heap_properties properties[] = {
      XMC_HEAP_MAX_BYTES, (xmc_heap_properties)((sample_max_mib > mib ? sample_max_mib : 0) * (1 << 20)), 0};
  sample s = {.device = device, .argc = argc, .argv = argv};
  cl_int e;
  int differs;
  s.context = clCreateContext(NULL, 1, &device, NULL, NULL, &e);
  CHECK(e);
  s.queue = clCreateCommandQueue(s.context, device, 0, &e);
  CHECK(e);
  s.heap = xmcCreateHeap(s.context, device, properties, (size_t)(mib * (1 << 20)), &e);
  CHECK(e);
  sample_build(&s, d->source);
  differs = d->run(&s);
  clReleaseProgram(s.program);
  CHECK(xmcReleaseHeap(s.heap));
  clReleaseCommandQueue(s.queue);
  clReleaseContext(s.context);
  if (differs)
    fprintf(stderr, "the result is wrong\n");
  return differs != 0;
}

static inline int sample_on_all(const sample_description *d, const char *wanted, double mib, int argc,
                                char **argv) {
  cl_platform_id platforms[16];
  cl_uint platform_count = 0, p, i, ran = 0;
  int differs = 0;
  CHECK(clGetPlatformIDs(16, platforms, &platform_count));
  for (p = 0; p < platform_count && p < 16; p++) {
    cl_device_id devices[16];
    cl_uint count = 0;
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 16, devices, &count) != CL_SUCCESS)
      continue;
    for (i = 0; i < count && i < 16; i++) {
      char name[256] = "", platform[256] = "";
      clGetDeviceInfo(devices[i], CL_DEVICE_NAME, sizeof name - 1, name, NULL);
      clGetPlatformInfo(platforms[p], CL_PLATFORM_NAME, sizeof platform - 1, platform, NULL);
      if (wanted && !strstr(name, wanted) && !strstr(platform, wanted))
        continue;
      printf("%s: ", name);
      fflush(stdout);
      differs |= sample_on(devices[i], d, mib, argc, argv);
      ran++;
    }
  }
  if (!ran)
    fprintf(stderr, "no such OpenCL device\n");
  return differs || !ran;
}

static inline int sample_main(int argc, char **argv, const sample_description *d) {
  const char *wanted = getenv("XMC_TEST_DEVICE");
  double mib = d->heap_mib;
  int i, rest = 0;
  for (i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
      printf("%s\n  --device TEXT  only devices whose name or platform's name contains TEXT\n"
             "  --heap MIB     the size of the heap; default %g\n",
             d->about, d->heap_mib);
      return 0;
    }
    if (!strcmp(argv[i], "--version")) {
      printf("a sample of XMalloc %d.%d.%d\n", XMC_VERSION_MAJOR, XMC_VERSION_MINOR, XMC_VERSION_PATCH);
      return 0;
    }
    if (!strcmp(argv[i], "--device") && i + 1 < argc)
      wanted = argv[++i];
    else if (!strcmp(argv[i], "--heap") && i + 1 < argc)
      mib = atof(argv[++i]);
    else
      argv[rest++] = argv[i];
  }
  return sample_on_all(d, wanted && *wanted ? wanted : NULL, mib, rest, argv);
}
#endif
