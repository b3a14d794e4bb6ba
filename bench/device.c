/* SPDX-License-Identifier: MIT */
#include "bench.h"
#include "bench_kernels.h"
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A built program: one kernel file with one set of options. */
struct bench_program {
  bench_program *next;
  const char *file;
  char *options;
  cl_program program;
};

double bench_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void bench_error(const char *what, cl_int status) {
  fprintf(stderr, "\n%s: %.60s: %s\n", program_invocation_short_name, what, xmcErrorString(status));
}

int bench_parse_bytes(const char *text, size_t *bytes) {
  char *end;
  unsigned long long n;
  unsigned shift = 0;
  if (*text < '0' || *text > '9')
    return 1;
  errno = 0;
  n = strtoull(text, &end, 0);
  if (*end == 'K' || *end == 'k')
    shift = 10;
  else if (*end == 'M' || *end == 'm')
    shift = 20;
  else if (*end == 'G' || *end == 'g')
    shift = 30;
  end += shift != 0;
  if (errno != 0 || *end != 0 || n == 0 || n > (SIZE_MAX >> shift))
    return 1;
  *bytes = (size_t)n << shift;
  return 0;
}

static int contains(const char *text, const char *part) {
  size_t length = strlen(part);
  for (; *text; text++) {
    size_t i = 0;
    while (i < length && text[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
      i++;
    if (i == length)
      return 1;
  }
  return length == 0;
}

/* How much a device is wanted: 0 not at all. */
static int preference(const bench *b, cl_platform_id platform, cl_device_id device) {
  char name[128] = "", platform_name[128] = "";
  cl_device_type type = 0;
  cl_bool available = CL_FALSE;
  clGetDeviceInfo(device, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
  clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL);
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name, platform_name, NULL);
  if (!available)
    return 0;
  if (b->options.device && !contains(name, b->options.device) && !contains(platform_name, b->options.device))
    return 0;
  return type & CL_DEVICE_TYPE_GPU ? 2 : 1;
}

static int pick_device(bench *b) {
  cl_platform_id platforms[16];
  cl_uint platform_count = 0;
  int best = 0;
  if (clGetPlatformIDs(16, platforms, &platform_count) != CL_SUCCESS)
    platform_count = 0;
  for (cl_uint p = 0; p < platform_count && p < 16; p++) {
    cl_device_id devices[32];
    cl_uint count = 0;
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 32, devices, &count) != CL_SUCCESS)
      continue;
    for (cl_uint d = 0; d < count && d < 32; d++) {
      int wanted = preference(b, platforms[p], devices[d]);
      if (wanted > best) {
        best = wanted;
        b->platform = platforms[p];
        b->device = devices[d];
      }
    }
  }
  if (best == 0 && b->options.device)
    fprintf(stderr, "%s: no OpenCL device whose name holds `%s`\n", program_invocation_short_name,
            b->options.device);
  else if (best == 0)
    fprintf(stderr, "%s: no OpenCL device found\n", program_invocation_short_name);
  return best == 0;
}

static void query_device(bench *b) {
  cl_device_type type = 0;
  cl_ulong size = 0;
  clGetDeviceInfo(b->device, CL_DEVICE_NAME, sizeof b->device_name, b->device_name, NULL);
  clGetDeviceInfo(b->device, CL_DRIVER_VERSION, sizeof b->driver, b->driver, NULL);
  clGetPlatformInfo(b->platform, CL_PLATFORM_NAME, sizeof b->platform_name, b->platform_name, NULL);
  clGetDeviceInfo(b->device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  clGetDeviceInfo(b->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof b->units, &b->units, NULL);
  clGetDeviceInfo(b->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof size, &size, NULL);
  b->max_alloc = (size_t)size;
  clGetDeviceInfo(b->device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof size, &size, NULL);
  b->memory = (size_t)size;
  b->cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  b->nvidia = contains(b->platform_name, "nvidia");
  b->heap_bytes = b->options.heap;
  if (b->heap_bytes == 0) {
    b->heap_bytes = (size_t)(b->cpu ? 1 : 8) << 30;
    while (b->heap_bytes > b->max_alloc)
      b->heap_bytes /= 2;
  }
}

int bench_open(bench *b) {
  int status = 0;
  cl_int error;
  BENCH_TRY(pick_device(b));
  query_device(b);
  b->context = clCreateContext(NULL, 1, &b->device, NULL, NULL, &error);
  BENCH_CL(error);
  b->queue = clCreateCommandQueue(b->context, b->device, CL_QUEUE_PROFILING_ENABLE, &error);
  BENCH_CL(error);
  b->counters = clCreateBuffer(b->context, CL_MEM_READ_WRITE, 2 * sizeof(cl_uint), NULL, &error);
  BENCH_CL(error);
cleanup:
  return status;
}

void bench_close(bench *b) {
  while (b->programs) {
    bench_program *next = b->programs->next;
    clReleaseProgram(b->programs->program);
    free(b->programs->options);
    free(b->programs);
    b->programs = next;
  }
  cl_mem memory[] = {b->counters, b->refs, b->plain};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
    if (memory[i])
      clReleaseMemObject(memory[i]);
  if (b->queue)
    clReleaseCommandQueue(b->queue);
  if (b->context)
    clReleaseContext(b->context);
  free(b->rows);
}

/* ---- heaps ---- */

xmc_heap bench_heap_open(bench *b, size_t bytes, int coalescing, long fifos) {
  xmc_heap_properties list[] = {XMC_HEAP_BACKING,
                                b->options.backing,
                                XMC_HEAP_COALESCING,
                                coalescing < 0 ? b->options.coalescing : coalescing,
                                XMC_HEAP_FIFOS,
                                fifos < XMC_FIFOS_DEFAULT ? b->options.fifos : fifos,
                                XMC_HEAP_TRACE_BYTES,
                                (xmc_heap_properties)b->options.trace,
                                0};
  cl_int error;
  xmc_heap heap = xmcCreateHeap(b->context, b->device, list, bytes, &error);
  if (heap == NULL) {
    bench_error("xmcCreateHeap", error);
    fprintf(stderr, "%s: the heap was to have %zu bytes\n", program_invocation_short_name, bytes);
  } else if (b->path[0] == 0) {
    xmcGetHeapInfo(heap, XMC_HEAP_PATH, sizeof b->path, b->path, NULL);
  }
  return heap;
}

/* Workloads free all they allocate: a block left is as bad as damage. */
static int check_heap(bench *b, xmc_heap heap) {
  int status = 0;
  xmc_heap_report report = {0};
  xmc_heap_stats stats = {0};
  cl_int result = xmcCheckHeap(heap, b->queue, &report);
  if (result == XMC_HEAP_CORRUPT) {
    fprintf(stderr, "\n%s: heap damaged, %lu problems, the first at %lu: %s\n", program_invocation_short_name,
            (unsigned long)report.problems, (unsigned long)report.offset, report.message);
    b->corrupt++;
  } else {
    BENCH_CL(result);
  }
  BENCH_CL(xmcGetHeapStats(heap, b->queue, &stats));
  if (stats.live_blocks || stats.double_frees || stats.invalid_frees) {
    fprintf(stderr, "\n%s: after all frees: %lu blocks live, %lu double frees, %lu invalid frees\n",
            program_invocation_short_name, (unsigned long)stats.live_blocks,
            (unsigned long)stats.double_frees, (unsigned long)stats.invalid_frees);
    b->corrupt++;
  }
cleanup:
  return status;
}

int bench_heap_close(bench *b, xmc_heap heap) {
  int status;
  if (heap == NULL)
    return 0;
  status = check_heap(b, heap);
  xmcReleaseHeap(heap);
  return status;
}

int bench_save_trace(bench *b, xmc_heap heap, const char *end) {
  int status = 0;
  char path[4096];
  if (!b->options.trace_path)
    return 0;
  snprintf(path, sizeof path, "%s%s", b->options.trace_path, end);
  BENCH_CL(xmcSaveHeap(heap, b->queue, path));
cleanup:
  return status;
}

xmc_heap bench_heap(bench *b) {
  cl_int error;
  if (b->heap == NULL)
    return b->heap = bench_heap_open(b, b->heap_bytes, -1, -2);
  if (check_heap(b, b->heap) != 0)
    return NULL;
  error = xmcResetHeap(b->heap, b->queue);
  if (error != CL_SUCCESS) {
    bench_error("xmcResetHeap", error);
    return NULL;
  }
  return b->heap;
}

/* ---- programs and launches ---- */

static const char *kernel_source(const char *file) {
  for (size_t i = 0; i < bench_source_count; i++)
    if (strcmp(bench_sources[i].name, file) == 0)
      return bench_sources[i].text;
  return NULL;
}

void bench_build_options(const bench *b, xmc_heap heap, char *options, size_t room) {
  snprintf(options, room, "%s %s %s", xmcGetBuildOptions(heap),
           b->options.one_geometry ? xmcGetGeometryOptions(heap) : "",
           b->options.build_options ? b->options.build_options : "");
}

void bench_build_log(const bench *b, cl_program program) {
  static char log[1 << 16];
  if (clGetProgramBuildInfo(program, b->device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL) == CL_SUCCESS)
    fprintf(stderr, "%s\n", log);
}

static cl_program get_program(bench *b, xmc_heap heap, const char *file) {
  char options[2048];
  const char *sources[2] = {kernel_source("common.h"), kernel_source(file)};
  bench_program *p;
  cl_int error;
  bench_build_options(b, heap, options, sizeof options);
  for (p = b->programs; p; p = p->next)
    if (strcmp(p->file, file) == 0 && strcmp(p->options, options) == 0)
      return p->program;
  bench_begin("building %s", file);
  p = calloc(1, sizeof *p);
  if (p == NULL || (p->options = malloc(strlen(options) + 1)) == NULL) {
    free(p);
    return NULL;
  }
  p->file = file;
  memcpy(p->options, options, strlen(options) + 1);
  p->program = xmcCreateProgramWithSource(heap, 2, sources, NULL, &error);
  if (p->program)
    error = clBuildProgram(p->program, 1, &b->device, options, NULL, NULL);
  if (p->program && (error != CL_SUCCESS || b->options.build_options))
    bench_build_log(b, p->program);
  if (error != CL_SUCCESS) {
    bench_error(file, error);
    if (p->program)
      clReleaseProgram(p->program);
    free(p->options);
    free(p);
    return NULL;
  }
  p->next = b->programs;
  b->programs = p;
  return p->program;
}

cl_kernel bench_kernel(bench *b, xmc_heap heap, const char *file, const char *name, int optional) {
  cl_program program = get_program(b, heap, file);
  cl_int error;
  cl_kernel kernel;
  if (program == NULL)
    return NULL;
  kernel = clCreateKernel(program, name, &error);
  if (kernel == NULL && !(optional && error == CL_INVALID_KERNEL_NAME))
    bench_error(name, error);
  return kernel;
}

int bench_arguments(cl_kernel kernel, const char *letters, ...) {
  va_list list;
  cl_int error = CL_SUCCESS;
  va_start(list, letters);
  for (cl_uint i = 0; letters[i] && error == CL_SUCCESS; i++) {
    if (letters[i] == 'h') {
      error = xmcSetKernelArgHeap(kernel, i, va_arg(list, xmc_heap));
    } else if (letters[i] == 'm') {
      cl_mem memory = va_arg(list, cl_mem);
      error = clSetKernelArg(kernel, i, sizeof memory, &memory);
    } else if (letters[i] == 'u') {
      cl_uint value = va_arg(list, cl_uint);
      error = clSetKernelArg(kernel, i, sizeof value, &value);
    } else {
      cl_ulong value = va_arg(list, cl_ulong);
      error = clSetKernelArg(kernel, i, sizeof value, &value);
    }
  }
  va_end(list);
  if (error != CL_SUCCESS)
    bench_error("setting a kernel's arguments", error);
  return error != CL_SUCCESS;
}

int bench_enqueue(bench *b, cl_kernel kernel, size_t global, cl_event *event) {
  int status = 0;
  size_t local = global < BENCH_LOCAL_SIZE ? global : BENCH_LOCAL_SIZE;
  while (global % local) /* OpenCL C 1.2 takes no rest */
    local--;
  BENCH_CL(clEnqueueNDRangeKernel(b->queue, kernel, 1, NULL, &global, &local, 0, NULL, event));
cleanup:
  return status;
}

int bench_launch(bench *b, cl_kernel kernel, size_t global, double *ms) {
  int status = 0;
  cl_event event = NULL;
  cl_ulong start = 0, end = 0;
  BENCH_TRY(bench_enqueue(b, kernel, global, &event));
  BENCH_CL(clWaitForEvents(1, &event));
  BENCH_CL(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL));
  BENCH_CL(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
  if (ms)
    *ms = 1e-6 * (double)(end - start);
cleanup:
  if (event)
    clReleaseEvent(event);
  return status;
}

int bench_counters_clear(bench *b) {
  int status = 0;
  cl_uint zero[2] = {0, 0};
  BENCH_CL(clEnqueueWriteBuffer(b->queue, b->counters, CL_TRUE, 0, sizeof zero, zero, 0, NULL, NULL));
cleanup:
  return status;
}

int bench_counters_read(bench *b, cl_uint counters[2]) {
  int status = 0;
  BENCH_CL(
      clEnqueueReadBuffer(b->queue, b->counters, CL_TRUE, 0, 2 * sizeof *counters, counters, 0, NULL, NULL));
cleanup:
  return status;
}

/* Grows *memory to at least `bytes`; what it held is lost. */
static cl_mem grown(bench *b, cl_mem *memory, size_t *size, size_t bytes) {
  cl_int error;
  if (bytes <= *size)
    return *memory;
  if (*memory)
    clReleaseMemObject(*memory);
  *memory = bytes <= b->max_alloc ? clCreateBuffer(b->context, CL_MEM_READ_WRITE, bytes, NULL, &error) : NULL;
  *size = *memory ? bytes : 0;
  return *memory;
}

cl_mem bench_refs(bench *b, size_t count) {
  size_t bytes = b->refs_count * sizeof(cl_ulong);
  cl_mem memory = grown(b, &b->refs, &bytes, count * sizeof(cl_ulong));
  b->refs_count = bytes / sizeof(cl_ulong);
  return memory;
}

cl_mem bench_plain(bench *b, size_t bytes) { return grown(b, &b->plain, &b->plain_bytes, bytes); }
