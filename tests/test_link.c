/* SPDX-License-Identifier: MIT */
/* Objects that only declare the library's functions, linked with it: as OpenCL C, and as SPIR-V where the device takes it and
 * a compiler made some (tests/CMakeLists.txt). */
#include "support/harness.h"

typedef cl_program(CL_API_CALL *create_with_il)(cl_context, const void *, size_t, cl_int *);

static int has_defaults(xmc_heap heap) {
  cl_bool flag = CL_FALSE;
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_DEFAULTS, sizeof flag, &flag, NULL));
  return flag == CL_TRUE;
}

/* A text of the device's, such as its extensions; "" where it has none */
static char *device_text(test_env *env, cl_device_info name) {
  size_t bytes = 0;
  char *text;
  if (clGetDeviceInfo(env->device->id, name, 0, NULL, &bytes) != CL_SUCCESS)
    bytes = 0;
  text = test_alloc(env, bytes + 1);
  if (bytes)
    CL_OK(clGetDeviceInfo(env->device->id, name, bytes, text, NULL));
  return text;
}

/* ---- objects ---- */

/* What modules in SPIR-V are built with. Without it Intel's runtime makes OpenCL C 1.2's functions of their atomics, which take no
 * generic pointers. */
#define IL_OPTIONS "-cl-std=CL3.0"

/* Builds a module, or makes an object of it; fails with the build log. */
static void build_il(test_env *env, cl_program program, int object) {
  char log[4096];
  cl_device_id device = env->device->id;
  cl_int status = object ? clCompileProgram(program, 1, &device, IL_OPTIONS, 0, NULL, NULL, NULL, NULL)
                         : clBuildProgram(program, 1, &device, IL_OPTIONS, NULL, NULL);
  if (status != CL_SUCCESS &&
      clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL) == CL_SUCCESS)
    print_error("%s\n", log);
  CL_OK(status);
}

/* tests/kernels/<file> as an object for the heap's device */
static cl_program compile(test_env *env, xmc_heap heap, const char *file) {
  char options[1024], *text = test_read_kernel_file(file);
  cl_int status;
  cl_program object = clCreateProgramWithSource(env->context, 1, (const char **)&text, NULL, &status);
  free(text);
  CL_OK(status);
  assert_true(snprintf(options, sizeof options, "%s -I%s../../cl", xmcGetBuildOptions(heap),
                       XMC_TEST_KERNELS) < (int)sizeof options);
  CL_OK(clCompileProgram(object, 1, &env->device->id, options, 0, NULL, NULL, NULL, NULL));
  return object;
}

/* A program of a module in SPIR-V, not built; NULL where there is none, or the device takes none */
static cl_program read_il(test_env *env, const char *module) {
  create_with_il create = (create_with_il)clGetExtensionFunctionAddressForPlatform(
      env->device->platform, "clCreateProgramWithILKHR");
  char path[512], *bytes;
  FILE *file;
  long size;
  cl_int status;
  cl_program object;
  if (!create || !*device_text(env, CL_DEVICE_IL_VERSION))
    return NULL;
  snprintf(path, sizeof path, "%s/%s",
           strncmp(module, "xmalloc", 7) == 0 ? XMC_DEVICE_MODULES : XMC_TEST_MODULES, module);
  file = fopen(path, "rb");
  if (!file)
    return NULL;
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  size = ftell(file);
  rewind(file);
  bytes = test_alloc(env, (size_t)size);
  assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
  fclose(file);
  object = create(env->context, bytes, (size_t)size, &status);
  CL_OK(status);
  return object;
}

/* The same as an object that can be linked */
static cl_program load(test_env *env, const char *module) {
  cl_program object = read_il(env, module);
  if (object)
    build_il(env, object, 1);
  return object;
}

/* Links one object with the library. */
static cl_program link_one(xmc_heap heap, xmc_link_flags flags, cl_program object) {
  cl_int status;
  cl_program program = xmcLinkProgram(heap, flags, 1, &object, NULL, &status);
  CL_OK(status);
  clReleaseProgram(object);
  return program;
}

/* ---- what the programs do ---- */

static cl_kernel kernel_of(cl_program program, const char *name) {
  cl_int status;
  cl_kernel kernel = clCreateKernel(program, name, &status);
  CL_OK(status);
  return kernel;
}

/* Blocks from one launch, each still its owner's in the next */
static void take_and_give(test_env *env, xmc_heap heap, cl_program program) {
  cl_uint items = (cl_uint)test_scaled(env, 64, 2048, 4096), right = 0;
  cl_mem at = test_buffer(env, items * sizeof(cl_ulong), NULL), count = test_buffer(env, sizeof right, NULL);
  cl_kernel take = kernel_of(program, "take"), give = kernel_of(program, "give");
  test_launch(env, take, items, 16, "hm", heap, at);
  assert_int_equal(test_intact(env, heap).live_blocks, items);
  test_launch(env, give, items, 16, "hmm", heap, at, count);
  test_read(env, count, &right, sizeof right);
  assert_int_equal(right, items);
  test_empty(env, heap);
  clReleaseKernel(take);
  clReleaseKernel(give);
}

/* A kernel that counts the work-items that were right, all of them once a heap is bound, and frees what it takes */
static void count_right(test_env *env, xmc_heap heap, cl_program program, const char *name) {
  cl_uint items = (cl_uint)test_scaled(env, 64, 1024, 2048), right = 0;
  cl_mem count = test_buffer(env, sizeof right, NULL);
  cl_kernel kernel = kernel_of(program, name);
  test_launch(env, kernel, items, 16, "m", count);
  test_read(env, count, &right, sizeof right);
  assert_int_equal(right, items);
  test_empty(env, heap);
  clReleaseKernel(kernel);
}

/* The same for a pair of kernels, of which one allocates and the other one frees */
static void count_pair(test_env *env, xmc_heap heap, cl_program program, const char *first,
                       const char *second) {
  cl_uint items = (cl_uint)test_scaled(env, 64, 1024, 2048), right = 0;
  cl_mem at = test_buffer(env, items * sizeof(cl_ulong), NULL), count = test_buffer(env, sizeof right, NULL);
  cl_kernel take = kernel_of(program, first), give = kernel_of(program, second);
  test_launch(env, take, items, 16, "m", at);
  assert_int_equal(test_intact(env, heap).live_blocks, items);
  test_launch(env, give, items, 16, "mm", at, count);
  test_read(env, count, &right, sizeof right);
  assert_int_equal(right, items);
  test_empty(env, heap);
  clReleaseKernel(take);
  clReleaseKernel(give);
}

static void use_cpp(test_env *env, xmc_heap heap, cl_program program) {
  CL_OK(xmcBindDefaultHeap(program, heap, env->queue));
  count_pair(env, heap, program, "cpp_take", "cpp_give");
  count_right(env, heap, program, "cpp_arrays");
}

/* Kernels by xmalloc_kernel.hpp, which have a heap argument */
static void use_header(test_env *env, xmc_heap heap, cl_program program) {
  cl_uint items = (cl_uint)test_scaled(env, 64, 1024, 2048), right[2] = {0};
  cl_mem at = test_buffer(env, items * sizeof(cl_ulong), NULL), count = test_buffer(env, sizeof *right, NULL);
  cl_mem gone = test_buffer(env, sizeof *right, NULL);
  cl_kernel take = kernel_of(program, "take"), give = kernel_of(program, "give"),
            wide = kernel_of(program, "wide");
  test_launch(env, take, items, 16, "hm", heap, at);
  assert_int_equal(test_intact(env, heap).live_blocks, 4 * items);
  test_launch(env, give, items, 16, "hmm", heap, at, count);
  test_launch(env, wide, items, 16, "hm", heap, gone);
  test_read(env, count, &right[0], sizeof *right);
  test_read(env, gone, &right[1], sizeof *right);
  assert_int_equal(right[0], items);
  assert_int_equal(right[1], items);
  test_empty(env, heap);
  clReleaseKernel(take);
  clReleaseKernel(give);
  clReleaseKernel(wide);
}

static void use_std(test_env *env, xmc_heap heap, cl_program program) {
  CL_OK(xmcBindDefaultHeap(program, heap, env->queue));
  count_right(env, heap, program, "standard");
  count_right(env, heap, program, "julia");
  count_right(env, heap, program, "chip_new");
  count_pair(env, heap, program, "chip_take", "chip_give");
}

/* ---- tests ---- */

static void declared(test_env *env) {
  xmc_heap heap = test_heap(env, 32 << 20);
  cl_program program = link_one(heap, 0, compile(env, heap, "link_declared.cl"));
  take_and_give(env, heap, program);
  clReleaseProgram(program);
}

static void std_names(test_env *env) {
  xmc_heap heap = test_heap(env, 32 << 20);
  cl_program program, object;
  cl_int status = CL_SUCCESS;
  if (!has_defaults(heap)) {
    object = compile(env, heap, "link_declared.cl");
    assert_null(xmcLinkProgram(heap, XMC_LINK_DEFAULT_HEAP, 1, &object, NULL, &status));
    assert_int_equal(status, XMC_NO_DEFAULT_HEAP);
    clReleaseProgram(object);
    return;
  }
  program = link_one(heap, XMC_LINK_DEFAULT_HEAP, compile(env, heap, "link_std.cl"));
  use_std(env, heap, program);
  clReleaseProgram(program);
}

static void refused(test_env *env) {
  xmc_heap heap = test_heap(env, 16 << 20);
  cl_program object = compile(env, heap, "link_declared.cl"), many[33];
  cl_int status;
  size_t i;
  for (i = 0; i < sizeof many / sizeof *many; i++)
    many[i] = object;
  assert_null(xmcLinkProgram(NULL, 0, 1, &object, NULL, &status));
  assert_int_equal(status, XMC_INVALID_HEAP);
  assert_null(xmcLinkProgram(heap, 0, 0, &object, NULL, &status));
  assert_int_equal(status, CL_INVALID_VALUE);
  assert_null(xmcLinkProgram(heap, 0, 33, many, NULL, &status));
  assert_int_equal(status, CL_INVALID_VALUE);
  assert_null(xmcLinkProgram(heap, 2, 1, &object, NULL, &status));
  assert_int_equal(status, CL_INVALID_VALUE);
  assert_null(xmcLinkProgram(heap, 0, 1, NULL, NULL, NULL));
  clReleaseProgram(object);
}

/* An object in SPIR-V is no object for xmcLinkProgram. */
static void il_refused(test_env *env) {
  xmc_heap heap = test_heap(env, 16 << 20);
  cl_program objects[2] = {compile(env, heap, "link_declared.cl"), load(env, "link_declared.spv")};
  cl_int status = CL_SUCCESS;
  if (objects[1]) {
    assert_null(xmcLinkProgram(heap, 0, 2, objects, NULL, &status));
    assert_int_equal(status, CL_INVALID_OPERATION);
    clReleaseProgram(objects[1]);
  }
  clReleaseProgram(objects[0]);
  if (!objects[1])
    skip();
}

/* A program that a toolchain linked, of an object and the modules in bitcode (tests/CMakeLists.txt): OpenCL only builds it. */
static void il_whole(test_env *env) {
  xmc_heap heap = test_heap(env, 32 << 20);
  cl_program program = has_defaults(heap) ? read_il(env, "link_whole.spv") : NULL;
  if (!program)
    skip();
  build_il(env, program, 0);
  use_std(env, heap, program);
  clReleaseProgram(program);
}

/* The modules that are installed, linked by OpenCL alone */
static void il_modules(test_env *env) {
  static const char *const names[3][3] = {{"link_declared.spv", "xmalloc.spv", NULL},
                                          {"link_std.spv", "xmalloc.spv", "xmalloc-std.spv"},
                                          {"link_cpp.spv", "xmalloc.spv", "xmalloc-std.spv"}};
  xmc_heap heap = test_heap(env, 32 << 20);
  cl_program objects[3], program;
  cl_uint n, which;
  cl_int status;
  for (which = 0; which < (has_defaults(heap) ? 3u : 1u); which++) {
    for (n = 0; n < 3 && names[which][n]; n++) {
      objects[n] = load(env, names[which][n]);
      if (!objects[n])
        skip();
    }
    program = clLinkProgram(env->context, 1, &env->device->id, NULL, n, objects, NULL, NULL, &status);
    CL_OK(status);
    if (which == 0)
      take_and_give(env, heap, program);
    else if (which == 1)
      use_std(env, heap, program);
    else
      use_cpp(env, heap, program);
    clReleaseProgram(program);
    while (n > 0)
      clReleaseProgram(objects[--n]);
  }
}

/* Kernels in C++ for OpenCL, by xmalloc_kernel.hpp: linked with the library, and with the library's source inside */
static void il_cpp(test_env *env) {
  xmc_heap heap = test_heap(env, 32 << 20);
  cl_program objects[2] = {load(env, "link_kernel.spv"), load(env, "xmalloc.spv")}, program;
  cl_int status;
  int i;
  if (!objects[0] || !objects[1])
    skip();
  program = clLinkProgram(env->context, 1, &env->device->id, NULL, 2, objects, NULL, NULL, &status);
  CL_OK(status);
  for (i = 0; i < 2; i++)
    clReleaseProgram(objects[i]);
  use_header(env, heap, program);
  clReleaseProgram(program);
  program = read_il(env, "whole_kernel.spv");
  build_il(env, program, 0);
  use_header(env, heap, program);
  clReleaseProgram(program);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {TEST(declared, SPREAD_ONE),   TEST(std_names, SPREAD_ONE),
                                    TEST(refused, SPREAD_ONE),    TEST(il_refused, SPREAD_ONE),
                                    TEST(il_modules, SPREAD_ONE), TEST(il_whole, SPREAD_ONE),
                                    TEST(il_cpp, SPREAD_ONE)};
  return test_main("link", cases, sizeof cases / sizeof *cases, argc, argv);
}
