/* SPDX-License-Identifier: MIT */
/* Devices: what the library tells of one, parts of one (sub-devices), and two in one context. */
#include "support/harness.h"
#include "inspect/text.h"
#include <sys/wait.h>
#include <unistd.h>

#define ITEMS 512u
#define MAX_PARTS 3

/* A context of some devices, and for each of those tried a queue, or NULL where the context refuses it */
typedef struct setting {
  cl_context context;
  cl_uint count;
  cl_device_id devices[MAX_PARTS];
  cl_command_queue queues[MAX_PARTS];
} setting;

static setting open_setting(cl_uint listed, const cl_device_id *list, cl_uint tried,
                            const cl_device_id *devices) {
  setting s = {0};
  cl_int status;
  cl_uint i;
  s.context = clCreateContext(NULL, listed, list, NULL, NULL, &status);
  CL_OK(status);
  s.count = tried;
  for (i = 0; i < tried; i++) {
    s.devices[i] = devices[i];
    s.queues[i] = clCreateCommandQueue(s.context, devices[i], 0, &status);
    if (status != CL_SUCCESS)
      s.queues[i] = NULL;
  }
  return s;
}

static void close_setting(setting *s) {
  cl_uint i;
  for (i = 0; i < s->count; i++)
    if (s->queues[i])
      clReleaseCommandQueue(s->queues[i]);
  clReleaseContext(s->context);
}

static cl_mem new_buffer(cl_context context, size_t bytes) {
  cl_int status;
  void *zeros = calloc(1, bytes);
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, zeros, &status);
  free(zeros);
  CL_OK(status);
  return buffer;
}

static cl_uint first_word(cl_command_queue queue, cl_mem buffer) {
  cl_uint word = 0;
  CL_OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof word, &word, 0, NULL, NULL));
  return word;
}

/* tests/kernels/devices.cl for a heap, built for `device`, or if that is NULL for all of the context's */
static cl_program build(xmc_heap heap, cl_device_id device, const char *more) {
  char *text = test_read_kernel_file("devices.cl"), options[2048];
  cl_int status;
  cl_program program = xmcCreateProgramWithSource(heap, 1, (const char **)&text, NULL, &status);
  free(text);
  CL_OK(status);
  snprintf(options, sizeof options, "%s%s", xmcGetBuildOptions(heap), more);
  CL_OK(clBuildProgram(program, device != NULL, device ? &device : NULL, options, NULL, NULL));
  return program;
}

static cl_kernel new_kernel(cl_program program, const char *name) {
  cl_int status;
  cl_kernel kernel = clCreateKernel(program, name, &status);
  CL_OK(status);
  return kernel;
}

static void launch(cl_command_queue queue, cl_kernel kernel) { test_enqueue(queue, kernel, ITEMS, 16); }

static xmc_heap_stats intact(xmc_heap heap, cl_command_queue queue) {
  xmc_heap_report report;
  xmc_heap_stats stats;
  if (xmcCheckHeap(heap, queue, &report) != CL_SUCCESS)
    fail_msg("the heap is damaged: %s", report.message);
  CL_OK(xmcGetHeapStats(heap, queue, &stats));
  assert_int_equal(stats.double_frees + stats.invalid_frees + stats.failed_requests, 0);
  return stats;
}

/* ---- sizes and the report ---- */

static cl_int try_bytes(test_env *env, const xmc_heap_properties *properties, size_t bytes) {
  cl_int status;
  xmc_heap heap = xmcCreateHeap(env->context, env->device->id, properties, bytes, &status);
  if (heap)
    CL_OK(xmcReleaseHeap(heap));
  return status;
}

/* The limits are true, to the byte. */
static void limits(test_env *env) {
  static const xmc_heap_properties lists[][3] = {
      {0, 0, 0}, {XMC_HEAP_FIFOS, 64, 0}, {XMC_HEAP_FIFOS, 0, 0}, {XMC_HEAP_DEBUG, 2, 0}};
  static const xmc_heap_properties unknown[] = {0x1234, 1, 0}, huge[] = {XMC_HEAP_FIFOS, 1 << 20, 0};
  size_t i, step, least, most;
  for (i = 0; i < sizeof lists / sizeof *lists; i++) {
    const xmc_heap_properties *properties = lists[i];
    least = most = 0;
    CL_OK(xmcGetHeapLimits(env->context, env->device->id, properties, &least, &most));
    assert_true(least > 4 * 16384 && least < most);
    assert_int_equal(try_bytes(env, properties, least - 1), XMC_HEAP_TOO_SMALL);
    for (step = 0; step < 4; step++)
      CL_OK(try_bytes(env, properties, least + step * (least / 7 + 1)));
    assert_int_equal(try_bytes(env, properties, most + 1), XMC_HEAP_TOO_LARGE);
  }
  CL_OK(xmcGetHeapLimits(NULL, env->device->id, NULL, NULL, &most));
  assert_int_equal(most, env->device->max_alloc);
  CL_OK(xmcGetHeapLimits(NULL, env->device->id, huge, &least, NULL));
  assert_true(least > (size_t)1 << 32); /* its FIFOs alone take 3 GB */
  assert_int_equal(xmcGetHeapLimits(NULL, env->device->id, unknown, &least, NULL), CL_INVALID_PROPERTY);
  assert_int_equal(xmcGetHeapLimits(NULL, NULL, NULL, &least, NULL), CL_INVALID_DEVICE);
  assert_non_null(strstr(xmcErrorString(XMC_HEAP_TOO_SMALL), "xmcGetHeapLimits"));
  assert_non_null(strstr(xmcErrorString(XMC_HEAP_TOO_LARGE), "xmcGetHeapLimits"));
}

/* A usable device's: test_report.c has the others. */
static void report(test_env *env) {
  char text[8192], sizes[128], a[XMC_TEXT_BYTES], b[XMC_TEXT_BYTES];
  size_t size = 0, least = 0, most = 0;
  CL_OK(xmcGetDeviceReport(env->context, env->device->id, sizeof text, text, &size));
  assert_int_equal(size, strlen(text) + 1);
  assert_non_null(strstr(text, env->device->name));
  assert_non_null(strstr(text, "computes right: taken"));
  assert_non_null(strstr(text, "-cl-std="));
  CL_OK(xmcGetHeapLimits(NULL, env->device->id, NULL, &least, &most));
  snprintf(sizes, sizeof sizes, "of %s to %s,", xmc_text_size(a, least), xmc_text_size(b, most));
  assert_non_null(strstr(text, sizes));
  assert_null(strstr(text, "XMC_DEVICE_UNUSABLE"));
}

/* ---- sub-devices ---- */

/* Blocks that one queue's kernels took, another's give back; each sees the heap by all calls that take a queue. */
static void hand_over(xmc_heap heap, const setting *s, cl_program program, cl_command_queue from,
                      cl_command_queue to) {
  cl_kernel take = new_kernel(program, "take"), give = new_kernel(program, "give");
  cl_mem refs = new_buffer(s->context, ITEMS * sizeof(cl_ulong)), wrong = new_buffer(s->context, 4);
  xmc_heap_stats stats;
  test_args(take, "hm", heap, refs);
  launch(from, take);
  CL_OK(clFinish(from));
  stats = intact(heap, to);
  assert_true(stats.live_blocks > 0 && stats.live_blocks <= ITEMS);
  test_args(give, "hmm", heap, refs, wrong);
  launch(to, give);
  CL_OK(clFinish(to));
  assert_int_equal(first_word(to, wrong), 0);
  assert_int_equal(intact(heap, from).live_blocks, 0);
  launch(from, take);
  CL_OK(xmcResetHeap(heap, from));
  assert_int_equal(intact(heap, to).live_blocks, 0);
  CL_OK(xmcMapHeap(heap, to));
  CL_OK(xmcUnmapHeap(heap, from));
  clReleaseMemObject(refs);
  clReleaseMemObject(wrong);
  clReleaseKernel(take);
  clReleaseKernel(give);
}

static void all_pairs(xmc_heap heap, const setting *s, cl_uint on) {
  cl_program program = build(heap, NULL, "");
  cl_uint a, b;
  for (a = 0; a < MAX_PARTS; a++)
    for (b = 0; b < MAX_PARTS; b++)
      if (s->queues[a] && s->queues[b] && (a == on || b == on))
        hand_over(heap, s, program, s->queues[a], s->queues[b]);
  clReleaseProgram(program);
}

/* A heap on `device`, if the context takes queues of it; else creating one says why not. */
static xmc_heap heap_on(test_env *env, const setting *s, cl_uint device) {
  const xmc_heap_properties properties[] = {XMC_HEAP_BACKING, env->config.backing, XMC_HEAP_COALESCING,
                                            env->config.coalescing, 0};
  cl_device_id told = NULL;
  cl_int status;
  xmc_heap heap = xmcCreateHeap(s->context, s->devices[device], properties, 8 << 20, &status);
  if (!s->queues[device]) {
    assert_int_equal(status, CL_INVALID_DEVICE);
    assert_null(heap);
    return NULL;
  }
  CL_OK(status);
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_DEVICE, sizeof told, &told, NULL));
  assert_ptr_equal(told, s->devices[device]);
  return heap;
}

static cl_uint split(test_env *env, cl_device_id *parts, cl_uint most) {
  const cl_device_partition_property by_units[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  cl_uint count = 0;
  if (clCreateSubDevices(env->device->id, by_units, 0, NULL, &count) != CL_SUCCESS || count < most) {
    print_message("skipped: %s cannot be split\n", env->device->name);
    return 0;
  }
  {
    cl_device_id *all = test_alloc(env, count * sizeof *all);
    cl_uint i;
    CL_OK(clCreateSubDevices(env->device->id, by_units, count, all, NULL));
    for (i = 0; i < count; i++)
      if (i < most)
        parts[i] = all[i];
      else
        clReleaseDevice(all[i]);
  }
  return most;
}

/* Contexts of two parts, of one, of the whole, of both kinds: wherever a queue can be made, so can a heap, and all
 * of the context's queues serve it. */
static void sub_devices(test_env *env) {
  cl_device_id parts[MAX_PARTS]; /* two of them, and the whole */
  unsigned lists[][3] = {{2, 0, 1}, {1, 0, 0}, {1, 2, 2}, {2, 2, 0}}, i;
  cl_uint on, heaps = 0;
  if (!split(env, parts, 2))
    return;
  parts[2] = env->device->id;
  for (i = 0; i < sizeof lists / sizeof *lists; i++) {
    cl_device_id list[2];
    setting s;
    list[0] = parts[lists[i][1]];
    list[1] = parts[lists[i][2]];
    s = open_setting(lists[i][0], list, MAX_PARTS, parts);
    for (on = 0; on < MAX_PARTS; on++) {
      xmc_heap heap = heap_on(env, &s, on);
      if (heap) {
        heaps++;
        all_pairs(heap, &s, on);
        CL_OK(xmcReleaseHeap(heap));
      }
    }
    close_setting(&s);
  }
  assert_true(heaps >= 4);
  clReleaseDevice(parts[0]);
  clReleaseDevice(parts[1]);
}

/* Two parts of a device whose memory is one work on one heap at the same time. */
static void side_by_side(test_env *env) {
  cl_device_id parts[2];
  cl_uint rounds = (cl_uint)test_scaled(env, 4, 40, 200), i;
  setting s;
  xmc_heap heap;
  cl_program program;
  cl_kernel churn;
  cl_mem wrong;
  if (env->device->gpu || !split(env, parts, 2))
    return;
  s = open_setting(2, parts, 2, parts);
  heap = heap_on(env, &s, 0);
  program = build(heap, NULL, "");
  churn = new_kernel(program, "churn");
  wrong = new_buffer(s.context, 4);
  for (i = 0; i < 8; i++) {
    test_args(churn, "huum", heap, i, rounds, wrong);
    launch(s.queues[i % 2], churn);
    CL_OK(clFlush(s.queues[i % 2]));
  }
  CL_OK(clFinish(s.queues[0]));
  CL_OK(clFinish(s.queues[1]));
  assert_int_equal(first_word(s.queues[0], wrong), 0);
  assert_int_equal(intact(heap, s.queues[1]).live_blocks, 0);
  clReleaseMemObject(wrong);
  clReleaseKernel(churn);
  clReleaseProgram(program);
  /* The heap keeps its device: the last reference to it may go before. */
  clReleaseDevice(parts[0]);
  clReleaseDevice(parts[1]);
  CL_OK(xmcResetHeap(heap, NULL));
  CL_OK(xmcReleaseHeap(heap));
  close_setting(&s);
}

/* ---- two devices in one context ---- */

static int two_of_platform(test_env *env, cl_device_id *devices) {
  cl_uint count = 0;
  cl_device_id all[16];
  devices[0] = env->device->id;
  if (clGetDeviceIDs(env->device->platform, CL_DEVICE_TYPE_ALL, 16, all, &count) != CL_SUCCESS || count < 2) {
    print_message("skipped: %s is the only device of its platform\n", env->device->name);
    return 0;
  }
  devices[1] = all[0] == env->device->id ? all[1] : all[0];
  return 1;
}

/* A heap and its device's kernels and queues are refused by the other device's. */
static void strangers(xmc_heap a, xmc_heap b, const setting *s) {
  cl_program program = build(a, s->devices[0], "");
  cl_kernel kernel = new_kernel(program, "take");
  xmc_heap_stats stats;
  CL_OK(xmcSetKernelArgHeap(kernel, 0, a));
  assert_int_equal(xmcSetKernelArgHeap(kernel, 0, b), XMC_HEAP_MISMATCH);
  assert_int_equal(xmcGetHeapStats(a, s->queues[1], &stats), XMC_HEAP_MISMATCH);
  assert_int_equal(xmcCheckHeap(b, s->queues[0], NULL), XMC_HEAP_MISMATCH);
  assert_int_equal(xmcResetHeap(a, s->queues[1]), XMC_HEAP_MISMATCH);
  assert_int_equal(xmcMapHeap(b, s->queues[0]), XMC_HEAP_MISMATCH);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

/* Built for all devices at once a program serves heaps of each, if it is said to be for none in particular. */
static void for_both(xmc_heap a, xmc_heap b) {
  cl_program program = build(a, NULL, "");
  cl_kernel kernel = new_kernel(program, "take");
  assert_int_equal(xmcSetKernelArgHeap(kernel, 0, b), XMC_HEAP_MISMATCH);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  program = build(a, NULL, " -D XMC_DEVICE=-1");
  kernel = new_kernel(program, "take");
  CL_OK(xmcSetKernelArgHeap(kernel, 0, a));
  CL_OK(xmcSetKernelArgHeap(kernel, 0, b));
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

static void two_devices(test_env *env) {
  cl_uint rounds = (cl_uint)test_scaled(env, 4, 40, 200), turn;
  cl_device_id devices[2];
  cl_program programs[2];
  cl_kernel churns[2];
  xmc_heap heaps[2];
  cl_mem wrongs[2];
  setting s;
  int i;
  if (!two_of_platform(env, devices))
    return;
  s = open_setting(2, devices, 2, devices);
  for (i = 0; i < 2; i++) {
    heaps[i] = heap_on(env, &s, (cl_uint)i);
    assert_non_null(heaps[i]);
    programs[i] = build(heaps[i], devices[i], "");
    churns[i] = new_kernel(programs[i], "churn");
    wrongs[i] = new_buffer(s.context, 4);
  }
  strangers(heaps[0], heaps[1], &s);
  for_both(heaps[0], heaps[1]);
  for (turn = 0; turn < 8; turn++) {
    i = (int)turn % 2;
    test_args(churns[i], "huum", heaps[i], turn, rounds, wrongs[i]);
    launch(s.queues[i], churns[i]);
    CL_OK(clFlush(s.queues[i]));
  }
  for (i = 0; i < 2; i++) {
    CL_OK(clFinish(s.queues[i]));
    assert_int_equal(first_word(s.queues[i], wrongs[i]), 0);
    assert_int_equal(intact(heaps[i], s.queues[i]).live_blocks, 0);
    clReleaseMemObject(wrongs[i]);
    clReleaseKernel(churns[i]);
    clReleaseProgram(programs[i]);
    CL_OK(xmcReleaseHeap(heaps[i]));
  }
  close_setting(&s);
}

/* Two devices of PoCL's, where there is PoCL: it makes as many as the environment names, under names that differ
 * between versions. Which of them this version knows a child finds out, since OpenCL reads the environment once. */
static void ask_for_two(void) {
  static const char *const names[] = {"cpu cpu", "pthread pthread"};
  size_t i;
  for (i = 0; i < 2 && !getenv("POCL_DEVICES"); i++) {
    int seen = 0;
    pid_t child = fork();
    if (child == 0) {
      cl_platform_id platforms[8];
      cl_uint count = 0, devices = 0, p;
      setenv("POCL_DEVICES", names[i], 1);
      clGetPlatformIDs(8, platforms, &count);
      for (p = 0; p < count && p < 8 && devices < 2; p++)
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 0, NULL, &devices) != CL_SUCCESS)
          devices = 0;
      _exit(devices < 2);
    }
    if (child > 0 && waitpid(child, &seen, 0) == child && WIFEXITED(seen) && WEXITSTATUS(seen) == 0)
      setenv("POCL_DEVICES", names[i], 1);
  }
}

int main(int argc, char **argv) {
  static const test_case cases[] = {TEST(limits, SPREAD_ONE), TEST(report, SPREAD_ONE),
                                    TEST(sub_devices, SPREAD_ONE), TEST(side_by_side, SPREAD_AXES),
                                    TEST(two_devices, SPREAD_ONE)};
  ask_for_two();
  return test_main("devices", cases, sizeof cases / sizeof *cases, argc, argv);
}
