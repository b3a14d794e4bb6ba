/* SPDX-License-Identifier: MIT */
/* The host API by itself: what it refuses and how, what it tells, programs from every form of source. */
#include "support/harness.h"
#include <pthread.h>

static cl_int create_status(test_env *env, const xmc_heap_properties *properties, size_t bytes) {
  cl_int status = 1;
  xmc_heap heap = xmcCreateHeap(env->context, env->device->id, properties, bytes, &status);
  assert_true((heap != NULL) == (status == CL_SUCCESS));
  if (heap)
    CL_OK(xmcReleaseHeap(heap));
  return status;
}

static void creation_refused(test_env *env) {
  static const xmc_heap_properties unknown[] = {0x1234, 1, 0};
  static const xmc_heap_properties twice[] = {XMC_HEAP_FIFOS, 4, XMC_HEAP_DEBUG, 0, XMC_HEAP_FIFOS, 4, 0};
  static const xmc_heap_properties values[][3] = {
      {XMC_HEAP_BACKING, 0, 0},     {XMC_HEAP_BACKING, 4, 0},
      {XMC_HEAP_COALESCING, 3, 0},  {XMC_HEAP_COALESCING, -1, 0},
      {XMC_HEAP_FIFOS, -2, 0},      {XMC_HEAP_DEBUG, XMC_DEBUG_MAX + 1, 0},
      {XMC_HEAP_FIFO_START, -1, 0}, {XMC_HEAP_FIFO_START, (xmc_heap_properties)1 << 32, 0}};
  static const size_t small[] = {0, 1, 1000, 16384};
  cl_int status;
  size_t i;
  assert_int_equal(create_status(env, unknown, 16 << 20), CL_INVALID_PROPERTY);
  assert_int_equal(create_status(env, twice, 16 << 20), CL_INVALID_PROPERTY);
  for (i = 0; i < sizeof values / sizeof *values; i++)
    assert_int_equal(create_status(env, values[i], 16 << 20), CL_INVALID_PROPERTY);
  for (i = 0; i < sizeof small / sizeof *small; i++)
    assert_int_equal(create_status(env, NULL, small[i]), XMC_HEAP_TOO_SMALL);
  assert_int_equal(create_status(env, NULL, (size_t)env->device->max_alloc + 1), XMC_HEAP_TOO_LARGE);
  assert_int_equal(create_status(env, NULL, ~(size_t)0), XMC_HEAP_TOO_LARGE);
  assert_null(xmcCreateHeap(NULL, env->device->id, NULL, 16 << 20, &status));
  assert_int_equal(status, CL_INVALID_CONTEXT);
  assert_null(xmcCreateHeap(env->context, NULL, NULL, 16 << 20, &status));
  assert_int_equal(status, CL_INVALID_DEVICE);
  assert_null(xmcCreateHeap(env->context, NULL, NULL, 16 << 20, NULL));
}

/* A backing works, or is refused by its own code, as the device says. */
static void backings(test_env *env) {
  xmc_heap_properties properties[] = {XMC_HEAP_BACKING, XMC_BACKING_SVM, 0};
  cl_device_svm_capabilities svm = env->device->svm;
  assert_int_equal(create_status(env, properties, 16 << 20),
                   svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER ? CL_SUCCESS : XMC_SVM_UNAVAILABLE);
  properties[1] = XMC_BACKING_SVM_FINE;
  assert_int_equal(create_status(env, properties, 16 << 20),
                   svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER ? CL_SUCCESS : XMC_SVM_UNAVAILABLE);
}

static xmc_heap_properties property(xmc_heap heap, xmc_heap_info name) {
  xmc_heap_properties value = -100;
  size_t size = 0;
  CL_OK(xmcGetHeapInfo(heap, name, sizeof value, &value, &size));
  assert_int_equal(size, sizeof value);
  return value;
}

static void info(test_env *env) {
  const xmc_heap_properties extra[] = {XMC_HEAP_FIFO_START, 0xfffffff0u, XMC_HEAP_DEBUG, 1, 0};
  size_t bytes = 16 << 20, size = 0, metadata = 0, told = 0;
  xmc_heap heap = test_heap_with(env, bytes, extra);
  cl_context context = NULL;
  cl_device_id device = NULL;
  cl_mem buffer = NULL;
  void *svm = NULL;
  cl_uint count = 0;
  char text[4096];
  assert_int_equal(property(heap, XMC_HEAP_BACKING), env->config.backing);
  assert_int_equal(property(heap, XMC_HEAP_COALESCING), env->config.coalescing);
  if (env->config.fifos != FIFOS_DEFAULT)
    assert_int_equal(property(heap, XMC_HEAP_FIFOS), env->config.fifos);
  else
    assert_true(property(heap, XMC_HEAP_FIFOS) > 0);
  assert_int_equal(property(heap, XMC_HEAP_FIFO_START), 0xfffffff0u);
  assert_int_equal(property(heap, XMC_HEAP_DEBUG), 1);
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_CONTEXT, sizeof context, &context, NULL));
  assert_ptr_equal(context, env->context);
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_DEVICE, sizeof device, &device, NULL));
  assert_ptr_equal(device, env->device->id);
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_BYTES, sizeof told, &told, NULL));
  assert_int_equal(told, bytes);
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_METADATA_BYTES, sizeof metadata, &metadata, NULL));
  assert_true(metadata > 0 && metadata < bytes / 8);
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_MEM_OBJECT, sizeof buffer, &buffer, NULL));
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_SVM_POINTER, sizeof svm, &svm, NULL));
  assert_true((buffer != NULL) == (env->config.backing == XMC_BACKING_BUFFER));
  assert_true((svm != NULL) == (env->config.backing != XMC_BACKING_BUFFER));
  if (buffer) {
    cl_mem argument = NULL;
    CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_ARGUMENT, sizeof argument, &argument, NULL));
    assert_ptr_equal(argument, buffer);
  }
  CL_OK(xmcRetainHeap(heap));
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_REFERENCE_COUNT, sizeof count, &count, NULL));
  assert_int_equal(count, 2);
  CL_OK(xmcReleaseHeap(heap));
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_REFERENCE_COUNT, sizeof count, &count, NULL));
  assert_int_equal(count, 1);
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_PATH, sizeof text, text, &size));
  assert_int_equal(size, strlen(text) + 1);
  assert_non_null(strstr(text, "OpenCL C"));
  assert_int_equal(xmcGetHeapInfo(heap, XMC_HEAP_PATH, size - 1, text, NULL), CL_INVALID_VALUE);
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_WHY, sizeof text, text, NULL));
  assert_non_null(strstr(text, "taken"));
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_WHY, 0, NULL, &size));
  assert_int_equal(size, strlen(text) + 1);
  assert_int_equal(xmcGetHeapInfo(heap, 0x1234, sizeof text, text, NULL), CL_INVALID_VALUE);
}

static void no_heap(test_env *env) {
  xmc_heap_stats stats;
  const char *text = "";
  size_t size;
  cl_int status = CL_SUCCESS;
  (void)env;
  assert_int_equal(xmcRetainHeap(NULL), XMC_INVALID_HEAP);
  assert_int_equal(xmcReleaseHeap(NULL), XMC_INVALID_HEAP);
  assert_int_equal(xmcResetHeap(NULL, NULL), XMC_INVALID_HEAP);
  assert_int_equal(xmcSetKernelArgHeap(NULL, 0, NULL), XMC_INVALID_HEAP);
  assert_int_equal(xmcGetHeapInfo(NULL, XMC_HEAP_BYTES, 0, NULL, &size), XMC_INVALID_HEAP);
  assert_int_equal(xmcGetHeapStats(NULL, NULL, &stats), XMC_INVALID_HEAP);
  assert_int_equal(xmcCheckHeap(NULL, NULL, NULL), XMC_INVALID_HEAP);
  assert_null(xmcCreateProgramWithSource(NULL, 1, &text, NULL, &status));
  assert_int_equal(status, XMC_INVALID_HEAP);
  assert_null(xmcGetBuildOptions(NULL));
}

static const char plain_kernel[] =
    "__kernel void touch(__global xmcHeap *heap) { xmcFree(heap, xmcMalloc(heap, 16)); }\n";

static cl_program build(cl_context context, cl_device_id device, const char *source, const char *options) {
  cl_int status;
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
  CL_OK(status);
  CL_OK(clBuildProgram(program, 1, &device, options, NULL, NULL));
  return program;
}

/* Kernels and queues of another context, and programs of another kind of heap, are refused. */
static void mismatches(test_env *env) {
  xmc_heap heap = test_heap(env, 16 << 20), other;
  const xmc_heap_properties extra[] = {XMC_HEAP_COALESCING, (env->config.coalescing + 1) % 3, 0};
  const char *text = plain_kernel;
  cl_int status;
  cl_device_id device = env->device->id;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  cl_command_queue queue;
  cl_program program;
  cl_kernel kernel;
  xmc_heap_stats stats;
  CL_OK(status);
  queue = clCreateCommandQueue(context, device, 0, &status);
  CL_OK(status);
  assert_int_equal(xmcResetHeap(heap, queue), XMC_HEAP_MISMATCH);
  assert_int_equal(xmcGetHeapStats(heap, queue, &stats), XMC_HEAP_MISMATCH);
  assert_int_equal(xmcCheckHeap(heap, queue, NULL), XMC_HEAP_MISMATCH);
  clReleaseCommandQueue(queue);

  program = build(context, device, "__kernel void touch(__global int *heap) { *heap = 1; }", "");
  kernel = clCreateKernel(program, "touch", &status);
  CL_OK(status);
  assert_int_equal(xmcSetKernelArgHeap(kernel, 0, heap), XMC_HEAP_MISMATCH);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseContext(context);

  other = xmcCreateHeap(env->context, device, extra, 16 << 20, &status);
  CL_OK(status);
  program = xmcCreateProgramWithSource(other, 1, &text, NULL, &status);
  CL_OK(status);
  CL_OK(clBuildProgram(program, 1, &device, xmcGetBuildOptions(other), NULL, NULL));
  kernel = clCreateKernel(program, "touch", &status);
  CL_OK(status);
  assert_int_equal(xmcSetKernelArgHeap(kernel, 0, heap), XMC_HEAP_MISMATCH);
  CL_OK(xmcSetKernelArgHeap(kernel, 0, other));
  assert_int_equal(xmcSetKernelArgHeap(kernel, 1, other), CL_INVALID_ARG_INDEX);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  CL_OK(xmcReleaseHeap(other));
}

/* Programs for one geometry serve that heap, and are refused for others. */
static void geometries(test_env *env) {
  xmc_heap heap = test_heap(env, 64 << 20), other = test_heap(env, 80 << 20);
  char options[2048];
  cl_program program;
  cl_kernel kernel;
  cl_ulong ref = 1;
  cl_mem buffer = NULL, out = test_buffer(env, sizeof ref, &ref);
  cl_int status;
  const char *text = "__kernel void take(__global xmcHeap *heap, __global ulong *out) {"
                     "  out[0] = xmcToRef(heap, xmcMalloc(heap, 16)); }\n";
  snprintf(options, sizeof options, "%s %s", xmcGetBuildOptions(heap), xmcGetGeometryOptions(heap));
  program = xmcCreateProgramWithSource(heap, 1, &text, NULL, &status);
  CL_OK(status);
  CL_OK(clBuildProgram(program, 1, &env->device->id, options, NULL, NULL));
  kernel = clCreateKernel(program, "take", &status);
  CL_OK(status);
  assert_int_equal(xmcSetKernelArgHeap(kernel, 0, other), XMC_HEAP_MISMATCH);
  CL_OK(xmcGetHeapInfo(other, XMC_HEAP_ARGUMENT, sizeof buffer, &buffer, NULL));
  if (buffer) { /* past the host library */
    test_launch(env, kernel, 1, 1, "mm", buffer, out);
    test_read(env, out, &ref, sizeof ref);
    assert_int_equal(ref, 0);
    test_empty(env, other);
    assert_int_equal(test_intact(env, other).failed_requests, 0);
  }
  test_launch(env, kernel, 1, 1, "hm", heap, out);
  test_read(env, out, &ref, sizeof ref);
  assert_true(ref > 1);
  assert_int_equal(test_intact(env, heap).live_blocks, 1);
  CL_OK(xmcResetHeap(heap, env->queue));
  test_launch(env, kernel, 1, 1, "hm", heap, out);
  assert_int_equal(test_intact(env, heap).live_blocks, 1);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  assert_null(xmcGetGeometryOptions(NULL));
}

/* Builds the strings and returns the line number that kernel `where` writes. */
static int line_seen(test_env *env, xmc_heap heap, cl_uint count, const char **strings,
                     const size_t *lengths) {
  cl_int status, line = -1;
  cl_mem out = test_buffer(env, sizeof line, &line);
  cl_program program = xmcCreateProgramWithSource(heap, count, strings, lengths, &status);
  cl_kernel kernel;
  CL_OK(status);
  CL_OK(clBuildProgram(program, 1, &env->device->id, xmcGetBuildOptions(heap), NULL, NULL));
  kernel = clCreateKernel(program, "where", &status);
  CL_OK(status);
  test_launch(env, kernel, 1, 1, "hm", heap, out);
  test_read(env, out, &line, sizeof line);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  return line;
}

#define WHERE \
  "__kernel void where(__global xmcHeap *heap, __global int *out) {" \
  " __global void *p = xmcMalloc(heap, 8); if (p) *out = __LINE__; xmcFree(heap, p); }"

static void program_sources(test_env *env) {
  static const struct {
    const char *text;
    int line;
  } sources[] = {
      {WHERE, 1},
      {"\n\n" WHERE "\n", 3},
      {"#include \"xmalloc.cl\"\n" WHERE, 2},
      {"/* one\n two */\n  #  include  <path/to/xmalloc.cl> /* three */\n\n" WHERE "\n", 5},
      {"#include \"xmalloc.cl\"\r\n#include \"xmalloc.cl\"\n" WHERE, 3},
      {"/*\n#include \"xmalloc.cl\"\n*/\n" WHERE, 4},
      {"// /* no comment\n#include \"xmalloc.cl\"\n__constant char quote[] = \"/*\";\n" WHERE, 4},
  };
  static const char *const pieces[] = {"#include \"xma", "lloc.cl\"\nGARBAGE", WHERE};
  static const size_t lengths[] = {0, 9, 0};
  xmc_heap heap = test_heap(env, 16 << 20);
  const char *null = NULL;
  cl_int status;
  size_t i;
  for (i = 0; i < sizeof sources / sizeof *sources; i++) {
    const char *text = sources[i].text;
    assert_int_equal(line_seen(env, heap, 1, &text, NULL), sources[i].line);
  }
  assert_int_equal(line_seen(env, heap, 3, (const char **)(uintptr_t)pieces, lengths), 2);
  assert_null(xmcCreateProgramWithSource(heap, 0, NULL, NULL, &status));
  assert_int_equal(status, CL_INVALID_VALUE);
  assert_null(xmcCreateProgramWithSource(heap, 1, &null, NULL, &status));
  assert_int_equal(status, CL_INVALID_VALUE);
  test_empty(env, heap);
}

/* The library is one string that needs no other file. */
static void whole_source(test_env *env) {
  xmc_heap heap = test_heap(env, 16 << 20);
  size_t size = strlen(xmcGetSource()) + sizeof plain_kernel;
  char *source = test_alloc(env, size);
  assert_null(strstr(xmcGetSource(), "#include"));
  snprintf(source, size, "%s%s", xmcGetSource(), plain_kernel);
  clReleaseProgram(build(env->context, env->device->id, source, xmcGetBuildOptions(heap)));
}

static void error_strings(test_env *env) {
  static const cl_int ours[] = {XMC_HEAP_TOO_SMALL,  XMC_HEAP_TOO_LARGE,  XMC_NO_INT64_ATOMICS,
                                XMC_SVM_UNAVAILABLE, XMC_DEVICE_UNUSABLE, XMC_INVALID_HEAP,
                                XMC_HEAP_CORRUPT,    XMC_HEAP_MISMATCH};
  size_t i;
  cl_int status;
  (void)env;
  for (i = 0; i < sizeof ours / sizeof *ours; i++) {
    assert_int_equal(strncmp(xmcErrorString(ours[i]), "XMC_", 4), 0);
    assert_non_null(strchr(xmcErrorString(ours[i]), ':'));
  }
  for (status = -72; status <= 0; status++)
    if (status < -19 ? status <= -30 : 1)
      assert_int_equal(strncmp(xmcErrorString(status), "CL_", 3), 0);
  assert_string_equal(xmcErrorString(12345), "unknown status 12345");
  assert_string_equal(xmcErrorString(-77777), "unknown status -77777");
}

/* Many threads make, use and release heaps at once; the device is probed by whoever is first. */
static void *create_and_release(void *data) {
  test_env *env = data;
  intptr_t failures = 0;
  int i;
  for (i = 0; i < 4; i++) {
    cl_int status;
    xmc_heap heap = xmcCreateHeap(env->context, env->device->id, NULL, 4 << 20, &status);
    xmc_heap_stats stats;
    if (!heap || xmcRetainHeap(heap) != CL_SUCCESS || xmcGetHeapStats(heap, NULL, &stats) != CL_SUCCESS ||
        stats.live_blocks != 0 || xmcReleaseHeap(heap) != CL_SUCCESS || xmcReleaseHeap(heap) != CL_SUCCESS)
      failures++;
  }
  return (void *)failures;
}

static void host_threads(test_env *env) {
  pthread_t threads[4];
  void *failures;
  int count = test_has_threads(env) ? 4 : 1;
  int i;
  for (i = 0; i < count; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, create_and_release, env), 0);
  for (i = 0; i < count; i++) {
    pthread_join(threads[i], &failures);
    assert_null(failures);
  }
}

int main(int argc, char **argv) {
  static const test_case cases[] = {
      TEST(host_threads, SPREAD_ONE), /* first, so that they find the device not yet probed */
      TEST(creation_refused, SPREAD_ONE), TEST(backings, SPREAD_ONE),     TEST(info, SPREAD_AXES),
      TEST(no_heap, SPREAD_ONE),          TEST(mismatches, SPREAD_AXES),  TEST(geometries, SPREAD_AXES),
      TEST(program_sources, SPREAD_ONE),  TEST(whole_source, SPREAD_ONE), TEST(error_strings, SPREAD_ONE),
  };
  return test_main("host_api", cases, sizeof cases / sizeof *cases, argc, argv);
}
