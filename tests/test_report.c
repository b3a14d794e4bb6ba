/* SPDX-License-Identifier: MIT */
/* Devices that cannot be used, and none at all: what the library says then. Every build of this program fails. */
#include "support/harness.h"
#include <sys/wait.h>

static unsigned builds;

/* In place of OpenCL's: the library is linked statically here, so that it calls this one. */
cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                                  const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                                  void *data) {
  (void)program, (void)count, (void)devices, (void)options, (void)notify, (void)data;
  builds++;
  return CL_BUILD_PROGRAM_FAILURE;
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
  static const test_case cases[] = {TEST(unusable, SPREAD_ONE), TEST(no_device, SPREAD_ONE)};
  return test_main("report", cases, sizeof cases / sizeof *cases, argc, argv);
}
