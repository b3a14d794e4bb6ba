/* What the samples share: devices, a heap, a program from the .cl file beside the sample, launches.
 *
 * sample_main runs a sample on every OpenCL device found, or on those whose name or platform's name contains
 * XMC_TEST_DEVICE. Any error ends the program with 1.
 */
#ifndef XMC_SAMPLE_H
#define XMC_SAMPLE_H
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmalloc.h>

#ifndef XMC_SAMPLE_FOLDER
#define XMC_SAMPLE_FOLDER "" /* of the .cl and data files, with a slash at the end */
#endif

typedef struct sample {
  cl_context context;
  cl_device_id device;
  cl_command_queue queue;
  xmc_heap heap;
  cl_program program;
  int argc;
  char **argv;
} sample;

static inline void sample_check(cl_int status, const char *what, int line) {
  if (status == CL_SUCCESS)
    return;
  fprintf(stderr, "line %d: %s: %s\n", line, what, xmcErrorString(status));
  exit(1);
}
#define CHECK(call) sample_check((call), #call, __LINE__)

/* A whole file, with a NUL behind it; *bytes, if not NULL, is its length. */
static inline char *sample_file(const char *path, size_t *bytes) {
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
  if (bytes)
    *bytes = n;
  return text;
}

/* The program in a file of the samples' folder, for the sample's heap */
static inline void sample_program(sample *s, const char *file) {
  char path[1024], log[4096] = "", *source;
  cl_int e;
  snprintf(path, sizeof path, "%s%s", XMC_SAMPLE_FOLDER, file);
  source = sample_file(path, NULL);
  s->program = xmcCreateProgramWithSource(s->heap, 1, (const char **)&source, NULL, &e);
  CHECK(e);
  e = clBuildProgram(s->program, 1, &s->device, xmcGetBuildOptions(s->heap), NULL, NULL);
  if (e != CL_SUCCESS) {
    clGetProgramBuildInfo(s->program, s->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    fprintf(stderr, "%s: %s\n", path, log);
  }
  CHECK(e);
  free(source);
}

/* A buffer with the contents of `from`, or zeroes. */
static inline cl_mem sample_buffer(sample *s, size_t bytes, const void *from) {
  cl_int e;
  void *zeroes = calloc(1, bytes);
  cl_mem buffer = clCreateBuffer(s->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes,
                                 (void *)(uintptr_t)(from ? from : zeroes), &e);
  CHECK(e);
  free(zeroes);
  return buffer;
}

static inline void sample_read(sample *s, cl_mem buffer, void *to, size_t bytes) {
  CHECK(clEnqueueReadBuffer(s->queue, buffer, CL_TRUE, 0, bytes, to, 0, NULL, NULL));
}

/* Runs a kernel over `items` work-items, in groups of 64 if they are as many, and waits. Its first argument
 * is the heap; a letter each for the others: m cl_mem, u cl_uint, U cl_ulong. */
static inline void sample_launch(sample *s, const char *name, size_t items, const char *format, ...) {
  cl_int e;
  cl_kernel kernel = clCreateKernel(s->program, name, &e);
  size_t local = 64, global = (items + local - 1) / local * local;
  cl_uint i;
  va_list list;
  CHECK(e);
  CHECK(xmcSetKernelArgHeap(kernel, 0, s->heap));
  va_start(list, format);
  for (i = 1; *format; format++, i++) {
    cl_mem buffer;
    cl_uint number;
    cl_ulong wide;
    if (*format == 'm') {
      buffer = va_arg(list, cl_mem);
      CHECK(clSetKernelArg(kernel, i, sizeof buffer, &buffer));
    } else if (*format == 'u') {
      number = va_arg(list, cl_uint);
      CHECK(clSetKernelArg(kernel, i, sizeof number, &number));
    } else {
      wide = va_arg(list, cl_ulong);
      CHECK(clSetKernelArg(kernel, i, sizeof wide, &wide));
    }
  }
  va_end(list);
  if (items < local)
    local = global = items;
  CHECK(clEnqueueNDRangeKernel(s->queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
  CHECK(clFinish(s->queue));
  clReleaseKernel(kernel);
}

/* The heap is intact and has this many live blocks; else 1, with a message. */
static inline int sample_heap_differs(sample *s, cl_ulong live) {
  xmc_heap_report report;
  xmc_heap_stats stats;
  cl_int e = xmcCheckHeap(s->heap, s->queue, &report);
  if (e == XMC_HEAP_CORRUPT)
    fprintf(stderr, "heap: %s\n", report.message);
  CHECK(e);
  CHECK(xmcGetHeapStats(s->heap, s->queue, &stats));
  if (stats.live_blocks == live && !stats.double_frees && !stats.invalid_frees && !stats.failed_requests)
    return 0;
  fprintf(stderr, "%llu blocks live, %llu expected; %llu bad frees, %llu failed requests\n",
          (unsigned long long)stats.live_blocks, (unsigned long long)live,
          (unsigned long long)(stats.double_frees + stats.invalid_frees),
          (unsigned long long)stats.failed_requests);
  return 1;
}

/* Runs `run` on one device, on a heap of `bytes`. */
static inline int sample_on(cl_device_id device, const char *file, size_t bytes, int (*run)(sample *s),
                            int argc, char **argv) {
  sample s = {.device = device, .argc = argc, .argv = argv};
  cl_int e;
  int differs;
  s.context = clCreateContext(NULL, 1, &device, NULL, NULL, &e);
  CHECK(e);
  s.queue = clCreateCommandQueue(s.context, device, 0, &e);
  CHECK(e);
  s.heap = xmcCreateHeap(s.context, device, NULL, bytes, &e);
  CHECK(e);
  sample_program(&s, file);
  differs = run(&s);
  clReleaseProgram(s.program);
  CHECK(xmcReleaseHeap(s.heap));
  clReleaseCommandQueue(s.queue);
  clReleaseContext(s.context);
  return differs;
}

static inline int sample_main(int argc, char **argv, const char *file, size_t bytes, int (*run)(sample *s)) {
  const char *wanted = getenv("XMC_TEST_DEVICE");
  cl_platform_id platforms[16];
  cl_uint platform_count = 0, p, i, ran = 0;
  int differs = 0;
  if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "--version"))) {
    printf("%s, a sample of XMalloc %d.%d.%d. It runs on every OpenCL device, or on those whose names contain the\n"
           "environment's XMC_TEST_DEVICE. The head of its source says what it shows and takes.\n",
           file, XMC_VERSION_MAJOR, XMC_VERSION_MINOR, XMC_VERSION_PATCH);
    return 0;
  }
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
      if (wanted && *wanted && !strstr(name, wanted) && !strstr(platform, wanted))
        continue;
      printf("%s: ", name);
      fflush(stdout);
      differs |= sample_on(devices[i], file, bytes, run, argc, argv);
      ran++;
    }
  }
  if (!ran)
    fprintf(stderr, "no such OpenCL device\n");
  return differs || !ran;
}
#endif
