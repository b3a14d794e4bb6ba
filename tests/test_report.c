/* SPDX-License-Identifier: MIT */
/* Devices that cannot be used, and none at all: what the library says then. Every build of this program fails; since a device is
 * probed once a process, what is wrong with malloc alone is seen by this program run anew, with XMC_REPORT_FAULT. */
#include "support/harness.h"
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned builds;

/* The same function of the OpenCL library. Those here take its place: the library is linked statically. */
#define REAL(name) ((__typeof__(&(name)))(intptr_t)dlsym(RTLD_NEXT, #name))

cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                                  const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                                  void *data) {
  builds++;
  return getenv("XMC_REPORT_FAULT") ? REAL(clBuildProgram)(program, count, devices, options, notify, data)
                                    : CL_BUILD_PROGRAM_FAILURE;
}

/* Puts the fault, some lines, before the probe's kernel that allocates and frees. */
cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint count, const char **strings,
                                                 const size_t *lengths, cl_int *status) {
  const char *fault = getenv("XMC_REPORT_FAULT"), *at;
  if (fault && count == 1 && !lengths && (at = strstr(strings[0], "__kernel void xmc_probe_pair"))) {
    const char *parts[] = {strings[0], "\n", fault, "\n", at};
    size_t sizes[] = {(size_t)(at - strings[0]), 0, 0, 0, 0};
    return REAL(clCreateProgramWithSource)(context, 5, parts, sizes, status);
  }
  return REAL(clCreateProgramWithSource)(context, count, strings, lengths, status);
}

static int is_unusable(cl_int status) {
  return status == XMC_DEVICE_UNUSABLE || status == XMC_NO_INT64_ATOMICS;
}

/* Says why without a heap; the device is probed once. */
static void unusable(test_env *env) {
  cl_device_id device = env->device->id;
  size_t size = 0, again = 0, least = 0;
  char *text;
  cl_int status = xmcGetDeviceReport(env->context, device, 0, NULL, &size), created;
  unsigned probed = builds;
  assert_true(is_unusable(status));
  assert_true(size > 1 && probed > 0);
  text = test_alloc(env, size);
  assert_int_equal(xmcGetDeviceReport(NULL, device, size, text, &again), status);
  assert_int_equal(again, size);
  assert_int_equal(strlen(text) + 1, size);
  assert_non_null(strstr(text, env->device->name));
  assert_non_null(strstr(text, xmcErrorString(status)));
  assert_non_null(strstr(text, "does not build"));
  assert_int_equal(xmcGetDeviceReport(NULL, device, size - 1, text, NULL), CL_INVALID_VALUE);
  assert_int_equal(xmcGetDeviceReport(NULL, NULL, size, text, NULL), CL_INVALID_DEVICE);
  assert_null(xmcCreateHeap(env->context, device, NULL, 16 << 20, &created));
  assert_int_equal(created, status);
  assert_int_equal(xmcGetHeapLimits(env->context, device, NULL, &least, NULL), status);
  assert_int_equal(builds, probed);
  if (status == XMC_DEVICE_UNUSABLE)
    assert_non_null(strstr(xmcErrorString(status), "xmcGetDeviceReport"));
}

/* The program run anew: prints the report, with its status and that of a heap. */
static void report(test_env *env) {
  char text[4096];
  cl_int created;
  cl_int status = xmcGetDeviceReport(env->context, env->device->id, sizeof text, text, NULL);
  assert_null(xmcCreateHeap(env->context, env->device->id, NULL, 16 << 20, &created));
  assert_int_equal(created, status);
  printf("%s\nunusable %d\n", text, is_unusable(status));
}

/* Runs it on the same device with a fault, which must be found, and for the reason `why`. */
static void finds(test_env *env, const char *fault, const char *why, const char *more) {
  char text[16384], program[512];
  const char *at;
  size_t used;
  FILE *pipe;
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  assert_true(length > 0);
  program[length] = '\0';
  assert_int_equal(setenv("XMC_REPORT_FAULT", fault, 1), 0);
  assert_int_equal(setenv("XMC_REPORT_PROGRAM", program, 1), 0);
  assert_int_equal(setenv("XMC_TEST_DEVICE", env->device->name, 1), 0);
  pipe = popen("unset XMC_TEST_FILTER; \"$XMC_REPORT_PROGRAM\" 2>&1", "r");
  unsetenv("XMC_REPORT_FAULT");
  assert_non_null(pipe);
  used = fread(text, 1, sizeof text - 1, pipe);
  text[used] = '\0';
  if (pclose(pipe) != 0 || !strstr(text, "unusable 1"))
    fail_msg("%s", text);
  at = strstr(text, why);
  assert_non_null(at);
  assert_non_null(strstr(at, more));
}

static void malloc_does_not_build(test_env *env) {
  finds(env, "xmc_no_such_type x;", "the library does not build: ", "xmc_no_such_type");
}

static void malloc_is_wrong(test_env *env) { /* the same block for all */
  finds(env, "#define xmcMalloc(heap, size) ((__global char *)(heap) + (3 << 20))",
        "malloc and free give wrong results: ", "of 256 work-items had a block of their own");
}

/* xmc-info where nothing is installed: says so, and how to get a device. */
static void no_device(test_env *env) {
  char text[4096];
  size_t used;
  int status;
  FILE *pipe;
  (void)env;
  if (getenv("LD_PRELOAD")) { /* a simulator that brings a device of its own */
    print_message("skipped: LD_PRELOAD is set\n");
    return;
  }
  pipe = popen("OCL_ICD_VENDORS=/nowhere '" XMC_TEST_TOOLS "xmc-info' 2>&1", "r");
  assert_non_null(pipe);
  used = fread(text, 1, sizeof text - 1, pipe);
  text[used] = '\0';
  status = pclose(pipe);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == 0) { /* Khronos' loader takes /etc/OpenCL/vendors all the same */
    print_message("skipped: this OpenCL loader does not heed OCL_ICD_VENDORS\n");
    return;
  }
  assert_int_equal(WEXITSTATUS(status), 1);
  assert_non_null(strstr(text, "no OpenCL device was found"));
  assert_non_null(strstr(text, "pocl-opencl-icd"));
}

int main(int argc, char **argv) {
  static const test_case again[] = {TEST(report, SPREAD_ONE)};
  static const test_case cases[] = {TEST(unusable, SPREAD_ONE), TEST(malloc_does_not_build, SPREAD_ONE),
                                    TEST(malloc_is_wrong, SPREAD_ONE), TEST(no_device, SPREAD_ONE)};
  if (getenv("XMC_REPORT_FAULT"))
    return test_main("report", again, 1, argc, argv);
  return test_main("report", cases, sizeof cases / sizeof *cases, argc, argv);
}
