/* SPDX-License-Identifier: MIT */
/* The default heap: where the device can have one it is used without an argument; elsewhere programs that ask
 * for it do not build, and say what to do. */
#include "support/harness.h"

static int has_defaults(xmc_heap heap) {
  cl_bool flag = CL_FALSE;
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_DEFAULTS, sizeof flag, &flag, NULL));
  return flag == CL_TRUE;
}

static cl_program program_of(cl_kernel kernel) {
  cl_program program = NULL;
  CL_OK(clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL));
  return program;
}

static void refused(test_env *env) {
  static const char *const sources[] = {"#include \"xmalloc_default.cl\"\n__kernel void k(void) {}\n",
                                        "#include \"xmalloc_std.h\"\n__kernel void k(void) {}\n"};
  static const char *without = "__kernel void k(__global uint *x) { *x = 1; }\n";
  xmc_heap heap = test_heap(env, 16 << 20);
  cl_program program;
  cl_int status;
  char log[16384] = "";
  size_t i;
  for (i = 0; i < 2; i++) {
    program = xmcCreateProgramWithSource(heap, 1, (const char **)&sources[i], NULL, &status);
    CL_OK(status);
    status = clBuildProgram(program, 1, &env->device->id, xmcGetBuildOptions(heap), NULL, NULL);
    assert_int_equal(status == CL_SUCCESS, has_defaults(heap));
    if (status != CL_SUCCESS) {
      CL_OK(clGetProgramBuildInfo(program, env->device->id, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL));
      assert_non_null(strstr(log, "no default heap on this device"));
      assert_non_null(strstr(log, "xmcMalloc(heap, size)"));
    }
    clReleaseProgram(program);
  }
  program = xmcCreateProgramWithSource(heap, 1, &without, NULL, &status);
  CL_OK(status);
  CL_OK(clBuildProgram(program, 1, &env->device->id, xmcGetBuildOptions(heap), NULL, NULL));
  assert_int_equal(xmcBindDefaultHeap(program, heap, env->queue),
                   has_defaults(heap) ? CL_INVALID_KERNEL_NAME : XMC_NO_DEFAULT_HEAP);
  assert_int_equal(xmcBindDefaultHeap(program, NULL, env->queue), XMC_INVALID_HEAP);
  clReleaseProgram(program);
}

/* Every request of a kernel is met, or none. */
static void run(test_env *env, cl_kernel kernel, cl_uint items, cl_uint rounds, int bound) {
  cl_mem counts = test_buffer(env, 2 * sizeof(cl_uint), NULL);
  cl_uint told[2];
  test_launch(env, kernel, items, 16, "mu", counts, rounds);
  test_read(env, counts, told, sizeof told);
  assert_int_equal(told[0], bound ? items * rounds : 0);
  assert_int_equal(told[1], bound ? 0 : items * rounds);
}

static void bound(test_env *env) {
  xmc_heap a = test_heap(env, 32 << 20), b;
  cl_uint items = (cl_uint)test_scaled(env, 64, 512, 4096);
  cl_kernel use, leave;
  cl_mem ref;
  cl_ulong left = 0;
  if (!has_defaults(a))
    return; /* see refused */
  b = test_heap(env, 16 << 20);
  use = test_kernel(env, a, "default.cl", "use_default", NULL);
  leave = test_kernel(env, a, "default.cl", "leave_one", NULL);
  ref = test_buffer(env, sizeof left, NULL);
  if (test_is_default(env))
    run(env, use, items, 4, 0); /* nothing bound yet */
  CL_OK(xmcBindDefaultHeap(program_of(use), a, env->queue));
  run(env, use, items, 20, 1);
  test_empty(env, a);
  if (env->config.one_geometry) { /* that of the first */
    assert_int_equal(xmcBindDefaultHeap(program_of(use), b, env->queue), XMC_HEAP_MISMATCH);
    return;
  }
  CL_OK(xmcBindDefaultHeap(program_of(use), b, env->queue));
  test_launch(env, leave, 1, 1, "m", ref);
  test_read(env, ref, &left, sizeof left);
  assert_true(left != 0);
  test_empty(env, a);
  assert_int_equal(test_intact(env, b).live_blocks, 1);
  run(env, use, items, 5, 1);
  assert_int_equal(test_intact(env, b).live_blocks, 1);
}

/* Two objects that both have the default heap are linked: one heap for the kernels of both. */
static void link_two(test_env *env, const char *const rest[2]) {
  static const char *const texts[] = {"#include \"xmalloc_default.cl\"\n"
                                      "__kernel void take(__global ulong *at) {"
                                      "  at[get_global_id(0)] = (ulong)xmcMallocDefault(16); }\n",
                                      "#include \"xmalloc_default.cl\"\n"
                                      "__kernel void give(__global ulong *at) {"
                                      "  xmcFreeDefault((__global void *)at[get_global_id(0)]); }\n"};
  xmc_heap heap = test_heap(env, 16 << 20);
  cl_program parts[2], program;
  cl_device_id device = env->device->id;
  cl_kernel take, give;
  cl_mem at = test_buffer(env, 64 * sizeof(cl_ulong), NULL);
  cl_int status;
  char options[1024];
  int i;
  if (!has_defaults(heap))
    return;
  for (i = 0; i < 2; i++) {
    parts[i] = xmcCreateProgramWithSource(heap, 1, (const char **)(uintptr_t)&texts[i], NULL, &status);
    CL_OK(status);
    assert_true(snprintf(options, sizeof options, "%s%s", xmcGetBuildOptions(heap), rest[i]) <
                (int)sizeof options);
    CL_OK(clCompileProgram(parts[i], 1, &device, options, 0, NULL, NULL, NULL, NULL));
  }
  program = clLinkProgram(env->context, 1, &device, NULL, 2, parts, NULL, NULL, &status);
  CL_OK(status);
  CL_OK(xmcBindDefaultHeap(program, heap, env->queue));
  take = clCreateKernel(program, "take", &status);
  CL_OK(status);
  give = clCreateKernel(program, "give", &status);
  CL_OK(status);
  test_launch(env, take, 64, 16, "m", at);
  assert_int_equal(test_intact(env, heap).live_blocks, 64);
  test_launch(env, give, 64, 16, "m", at);
  test_empty(env, heap);
  clReleaseKernel(take);
  clReleaseKernel(give);
  clReleaseProgram(program);
  clReleaseProgram(parts[0]);
  clReleaseProgram(parts[1]);
}

static void linked(test_env *env) {
  static const char *const plain[] = {"", ""}, *const one_defines[] = {"", " -DXMC_DEFAULT_HEAP_EXTERN"};
  if (!strstr(xmcGetBuildOptions(test_heap(env, 16 << 20)), "-DXMC_PROGRAM_SCOPE=1"))
    link_two(env, plain);
  link_two(env, one_defines);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {TEST(bound, SPREAD_AXES), TEST(refused, SPREAD_ONE),
                                    TEST(linked, SPREAD_ONE)};
  return test_main("default", cases, sizeof cases / sizeof *cases, argc, argv);
}
