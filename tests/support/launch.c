/* SPDX-License-Identifier: MIT */
/* Heaps, programs, buffers and launches of one test. */
#include "harness.h"

#ifndef XMC_TEST_KERNELS
#error "define XMC_TEST_KERNELS as the folder of the kernels, with a slash at the end"
#endif

struct test_program {
  char *key; /* file, build options */
  cl_program program;
  test_program *next;
};

void test_check_cl(cl_int status, const char *call, const char *file, int line) {
  if (status != CL_SUCCESS) {
    print_error("%s: %d (%s)\n", call, (int)status, xmcErrorString(status));
    _fail(file, line);
  }
}

xmc_heap test_heap_with(test_env *env, size_t bytes, const xmc_heap_properties *extra) {
  xmc_heap_properties properties[32];
  size_t n = 0;
  cl_int status;
  xmc_heap heap;
  properties[n++] = XMC_HEAP_BACKING;
  properties[n++] = env->config.backing;
  properties[n++] = XMC_HEAP_COALESCING;
  properties[n++] = env->config.coalescing;
  if (env->config.fifos != FIFOS_DEFAULT) {
    properties[n++] = XMC_HEAP_FIFOS;
    properties[n++] = (xmc_heap_properties)env->config.fifos;
  }
  for (; extra && *extra; extra += 2) {
    properties[n++] = extra[0];
    properties[n++] = extra[1];
  }
  properties[n] = 0;
  heap = xmcCreateHeap(env->context, env->device->id, properties, bytes, &status);
  test_check_cl(status, "xmcCreateHeap", __FILE__, __LINE__);
  assert_non_null(heap);
  if (getenv("XMC_TEST_AS_GPU"))
    assert_non_null(strstr(xmcGetBuildOptions(heap), "XMC_SIMT=1"));
  assert_true(env->heap_count < sizeof env->heaps / sizeof *env->heaps);
  env->heaps[env->heap_count++] = heap;
  return heap;
}

xmc_heap test_heap(test_env *env, size_t bytes) { return test_heap_with(env, bytes, NULL); }

void test_heap_forget(test_env *env, xmc_heap heap) {
  unsigned i;
  for (i = 0; i < env->heap_count; i++)
    if (env->heaps[i] == heap)
      env->heaps[i] = NULL;
}

char *test_read_kernel_file(const char *file) {
  char path[1024], *text;
  FILE *f;
  size_t size, capacity = 1 << 20;
  snprintf(path, sizeof path, "%s%s", XMC_TEST_KERNELS, file);
  f = fopen(path, "rb");
  if (!f)
    fail_msg("cannot open %s", path);
  text = malloc(capacity);
  assert_non_null(text);
  size = fread(text, 1, capacity - 1, f);
  fclose(f);
  text[size] = 0;
  return text;
}

static void print_build_log(cl_program program, cl_device_id device) {
  size_t size = 0;
  char *log;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  log = calloc(1, size + 1);
  if (log && clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL) == CL_SUCCESS)
    fprintf(stderr, "%s\n", log);
  free(log);
}

static cl_program build(test_env *env, xmc_heap heap, const char *file, const char *options) {
  const char *strings[2];
  char *pattern = test_read_kernel_file("pattern.h"), *text = test_read_kernel_file(file);
  cl_program program;
  cl_int status;
  strings[0] = pattern;
  strings[1] = text;
  program = xmcCreateProgramWithSource(heap, 2, strings, NULL, &status);
  free(pattern);
  free(text);
  CL_OK(status);
  status = clBuildProgram(program, 1, &env->device->id, options, NULL, NULL);
  if (status != CL_SUCCESS)
    print_build_log(program, env->device->id);
  CL_OK(status);
  return program;
}

static cl_program find_program(test_env *env, xmc_heap heap, const char *file, const char *options) {
  char key[2048];
  const char *own = xmcGetBuildOptions(heap);
  test_program *p;
  /* 1,024 work-items of a work-group have 64 registers each on NVIDIA: the local sizes of the tests. */
  snprintf(key, sizeof key, "%s %s %s %s%s", file, own,
           env->config.one_geometry ? xmcGetGeometryOptions(heap) : "", options ? options : "",
           strstr(own, "-DXMC_NVIDIA=1") ? " -cl-nv-maxrregcount=64" : "");
  for (p = env->device->programs; p; p = p->next)
    if (!strcmp(p->key, key))
      return p->program;
  p = malloc(sizeof *p);
  assert_non_null(p);
  p->program = build(env, heap, file, key + strlen(file) + 1);
  p->key = strcpy(malloc(strlen(key) + 1), key);
  p->next = env->device->programs;
  env->device->programs = p;
  return p->program;
}

void test_programs_release(test_device *device) {
  while (device->programs) {
    test_program *p = device->programs;
    device->programs = p->next;
    clReleaseProgram(p->program);
    free(p->key);
    free(p);
  }
}

cl_kernel test_kernel(test_env *env, xmc_heap heap, const char *file, const char *name, const char *options) {
  cl_int status;
  cl_kernel kernel = clCreateKernel(find_program(env, heap, file, options), name, &status);
  CL_OK(status);
  assert_true(env->kernel_count < sizeof env->kernels / sizeof *env->kernels);
  env->kernels[env->kernel_count++] = kernel;
  return kernel;
}

cl_command_queue test_queue(test_env *env) {
  cl_int status;
  cl_command_queue queue = clCreateCommandQueue(env->context, env->device->id, 0, &status);
  CL_OK(status);
  assert_true(env->queue_count < sizeof env->queues / sizeof *env->queues);
  env->queues[env->queue_count++] = queue;
  return queue;
}

cl_mem test_buffer(test_env *env, size_t bytes, const void *contents) {
  cl_int status;
  void *zeros = contents ? NULL : calloc(1, bytes);
  cl_mem buffer = clCreateBuffer(env->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes,
                                 contents ? (void *)(uintptr_t)contents : zeros, &status);
  free(zeros);
  CL_OK(status);
  assert_true(env->buffer_count < sizeof env->buffers / sizeof *env->buffers);
  env->buffers[env->buffer_count++] = buffer;
  return buffer;
}

void test_read(test_env *env, cl_mem buffer, void *to, size_t bytes) {
  CL_OK(clEnqueueReadBuffer(env->queue, buffer, CL_TRUE, 0, bytes, to, 0, NULL, NULL));
}

void test_write(test_env *env, cl_mem buffer, const void *from, size_t bytes) {
  CL_OK(clEnqueueWriteBuffer(env->queue, buffer, CL_TRUE, 0, bytes, from, 0, NULL, NULL));
}

void *test_alloc(test_env *env, size_t bytes) {
  void *p = calloc(1, bytes ? bytes : 1);
  assert_non_null(p);
  assert_true(env->block_count < sizeof env->blocks / sizeof *env->blocks);
  env->blocks[env->block_count++] = p;
  return p;
}

void test_vargs(cl_kernel kernel, const char *format, va_list arguments) {
  cl_uint i;
  for (i = 0; format[i]; i++) {
    cl_mem buffer;
    cl_uint word;
    cl_ulong wide;
    size_t bytes;
    switch (format[i]) {
    case 'h':
      CL_OK(xmcSetKernelArgHeap(kernel, i, va_arg(arguments, xmc_heap)));
      break;
    case 'm':
      buffer = va_arg(arguments, cl_mem);
      CL_OK(clSetKernelArg(kernel, i, sizeof buffer, &buffer));
      break;
    case 'u':
      word = va_arg(arguments, cl_uint);
      CL_OK(clSetKernelArg(kernel, i, sizeof word, &word));
      break;
    case 'U':
      wide = va_arg(arguments, cl_ulong);
      CL_OK(clSetKernelArg(kernel, i, sizeof wide, &wide));
      break;
    case 'l':
      bytes = va_arg(arguments, size_t);
      CL_OK(clSetKernelArg(kernel, i, bytes, NULL));
      break;
    default:
      fail_msg("argument letter %c", format[i]);
    }
  }
}

void test_args(cl_kernel kernel, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  test_vargs(kernel, format, arguments);
  va_end(arguments);
}

void test_enqueue(cl_command_queue queue, cl_kernel kernel, size_t count, size_t local) {
  size_t global = (count + local - 1) / local * local;
  CL_OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
}

void test_launch(test_env *env, cl_kernel kernel, size_t count, size_t local, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  test_vargs(kernel, format, arguments);
  va_end(arguments);
  test_enqueue(env->queue, kernel, count, local);
  CL_OK(clFinish(env->queue));
}

void test_read_arena(test_env *env, xmc_heap heap, size_t offset, size_t bytes, void *to) {
  cl_mem buffer = NULL;
  char *svm = NULL;
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_MEM_OBJECT, sizeof buffer, &buffer, NULL));
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_SVM_POINTER, sizeof svm, &svm, NULL));
  if (buffer) {
    CL_OK(clEnqueueReadBuffer(env->queue, buffer, CL_TRUE, offset, bytes, to, 0, NULL, NULL));
  } else {
    CL_OK(clEnqueueSVMMemcpy(env->queue, CL_TRUE, to, svm + offset, bytes, 0, NULL, NULL));
  }
}

void test_write_arena(test_env *env, xmc_heap heap, size_t offset, size_t bytes, const void *from) {
  cl_mem buffer = NULL;
  char *svm = NULL;
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_MEM_OBJECT, sizeof buffer, &buffer, NULL));
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_SVM_POINTER, sizeof svm, &svm, NULL));
  if (buffer) {
    CL_OK(clEnqueueWriteBuffer(env->queue, buffer, CL_TRUE, offset, bytes, from, 0, NULL, NULL));
  } else {
    CL_OK(clEnqueueSVMMemcpy(env->queue, CL_TRUE, svm + offset, from, bytes, 0, NULL, NULL));
  }
  CL_OK(clFinish(env->queue)); /* other queues see it (host/heap/arena_io.c) */
}

xmc_heap_stats test_intact(test_env *env, xmc_heap heap) {
  xmc_heap_report report;
  xmc_heap_stats stats;
  cl_int status = xmcCheckHeap(heap, env->queue, &report);
  if (status == XMC_HEAP_CORRUPT)
    print_error("heap corrupt: %s\n", report.message);
  CL_OK(status);
  CL_OK(xmcGetHeapStats(heap, env->queue, &stats));
  return stats;
}

void test_live(test_env *env, cl_ulong live, cl_ulong expected) {
  if (env->config.coalescing == XMC_COALESCE_COMPARTMENT)
    assert_true(live >= (expected + 31) / 32 && live <= expected);
  else
    assert_int_equal(live, expected);
}

void test_empty(test_env *env, xmc_heap heap) {
  xmc_heap_stats stats = test_intact(env, heap);
  assert_int_equal(stats.live_blocks, 0);
  assert_int_equal(stats.live_bytes, 0);
  assert_int_equal(stats.double_frees, 0);
  assert_int_equal(stats.invalid_frees, 0);
}
