/* SPDX-License-Identifier: MIT */
/* Is a program for this heap? However its macros came about: in options of any spelling, in the source, in another
 * program that it was linked with; and where the host cannot see it, the kernel does nothing to the arena. */
#include "support/harness.h"

static const char kernel_text[] =
    "__kernel void take(__global xmcHeap *heap, __global uint *granted) {"
    "  __global void *block = xmcMalloc(heap, 16); if (block) atomic_inc(granted); xmcFree(heap, block); }\n";

/* For programs that are never run: quickly built */
static const char empty_kernel[] = "__kernel void take(__global xmcHeap *heap, __global uint *granted) {}\n";

/* The kernel `take` of a program with these options; `lines` stand before the library, `text` behind it. The program stays until the
 * next one is built: Intel's runtime for CPUs tells no options of one that was released. */
static cl_kernel build(test_env *env, xmc_heap heap, const char *lines, const char *text,
                       const char *options) {
  static cl_program program;
  const char *strings[] = {lines, "#include \"xmalloc.cl\"\n", text};
  cl_int status;
  cl_kernel kernel;
  if (program)
    clReleaseProgram(program);
  program = xmcCreateProgramWithSource(heap, 3, strings, NULL, &status);
  CL_OK(status);
  CL_OK(clBuildProgram(program, 1, &env->device->id, options, NULL, NULL));
  kernel = clCreateKernel(program, "take", &status);
  CL_OK(status);
  env->kernels[env->kernel_count++] = kernel;
  return kernel;
}

/* A kernel whose program was released takes its heap, and no heap of another debug level. */
static void released(test_env *env) {
  static const xmc_heap_properties debug[] = {XMC_HEAP_DEBUG, 2, 0};
  xmc_heap heap = test_heap(env, 8 << 20), checked = test_heap_with(env, 8 << 20, debug);
  cl_kernel kernel = build(env, heap, "", empty_kernel, xmcGetBuildOptions(heap));
  build(env, heap, "", empty_kernel, xmcGetBuildOptions(heap));
  CL_OK(xmcSetKernelArgHeap(kernel, 0, heap));
  assert_int_equal(xmcSetKernelArgHeap(kernel, 0, checked), XMC_HEAP_MISMATCH);
}

static int takes_options(test_env *env, const char *options) {
  const char *text = "__kernel void nothing(void) {}\n";
  cl_int status;
  cl_program program = clCreateProgramWithSource(env->context, 1, &text, NULL, &status);
  CL_OK(status);
  status = clBuildProgram(program, 1, &env->device->id, options, NULL, NULL);
  clReleaseProgram(program);
  return status == CL_SUCCESS;
}

/* Options behind the heap's own. Not every compiler takes each spelling; those that do must not fool the host. */
static void spellings(test_env *env) {
  static const struct {
    const char *more;
    int fits;
  } cases[] = {{" -DXMC_DEBUG=2", 0},
               {" -D XMC_DEBUG=2", 0},
               {"  -D   XMC_DEBUG=2 ", 0},
               {" -D\tXMC_DEBUG=2", 0},
               {" -DXMC_DEBUG", 0},
               {" -D XMC_DEBUG", 0},
               {" \"-DXMC_DEBUG=2\"", 0},
               {" -D \"XMC_DEBUG=2\"", 0},
               {" -D 'XMC_DEBUG=2'", 0},
               {" -D XMC_COALESCING=0", 0},
               {" -D XMC_GEOMETRY=77", 0},
               {" -D XMC_DEBUG=0 -DXMC_DEBUG=2", 0},
               {" -DXMC_DEBUG=2 -D XMC_DEBUG=0", 1},
               {" -D XMC_DEBUG=0", 1},
               {" -DMY_XMC_DEBUG=2 -D XMC_DEBUGGING=2", 1},
               {" -D XMC_GEOMETRY=0", 1}};
  xmc_heap heap = test_heap(env, 8 << 20);
  size_t i;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    char options[2048];
    cl_kernel kernel;
    if (!takes_options(env, cases[i].more + 1))
      continue;
    snprintf(options, sizeof options, "%s%s%s", xmcGetBuildOptions(heap), cases[i].more,
             strstr(cases[i].more, "GEOMETRY=77")
                 ? " -DXMC_GEOMETRY_DATA=0 -DXMC_GEOMETRY_WORDS=0"
                   " -DXMC_GEOMETRY_MAP=0 -DXMC_GEOMETRY_PAGES=4u -DXMC_GEOMETRY_PRESENT=4u"
                   " -DXMC_GEOMETRY_LANES=64u -DXMC_GEOMETRY_SLOTS=64u"
                   " -DXMC_GEOMETRY_FIFOS=0 -DXMC_GEOMETRY_PARKED_FIFOS=0"
                   " -DXMC_GEOMETRY_OWN=0 -DXMC_GEOMETRY_BUSY=0"
                   " -DXMC_GEOMETRY_PARKED=0 -DXMC_GEOMETRY_WHOLE=0"
                   " -DXMC_GEOMETRY_INDEX0=0 -DXMC_GEOMETRY_INDEX1=0"
                   " -DXMC_GEOMETRY_INDEX2=0 -DXMC_GEOMETRY_INDEX3=0"
                   " -DXMC_GEOMETRY_INDEX4=0"
                 : "");
    kernel = build(env, heap, "", empty_kernel, options);
    if (xmcSetKernelArgHeap(kernel, 0, heap) != (cases[i].fits ? CL_SUCCESS : XMC_HEAP_MISMATCH))
      fail_msg("taken for another:%s", cases[i].more);
  }
}

/* What the source says counts, whatever the options are. */
static void in_the_source(test_env *env) {
  static const xmc_heap_properties debug[] = {XMC_HEAP_DEBUG, 2, 0};
  xmc_heap plain = test_heap(env, 8 << 20), checked = test_heap_with(env, 8 << 20, debug);
  cl_kernel kernel =
      build(env, plain, "#undef XMC_DEBUG\n#define XMC_DEBUG 2\n", empty_kernel, xmcGetBuildOptions(plain));
  cl_mem granted = test_buffer(env, sizeof(cl_uint), NULL);
  cl_uint count = 7;
  assert_int_equal(xmcSetKernelArgHeap(kernel, 0, plain), XMC_HEAP_MISMATCH);
  kernel = build(env, checked, "#undef XMC_DEBUG\n#define XMC_DEBUG 0\n", empty_kernel,
                 xmcGetBuildOptions(checked));
  assert_int_equal(xmcSetKernelArgHeap(kernel, 0, checked), XMC_HEAP_MISMATCH);
  /* No option of the library at all, but for what makes the argument's type known */
  kernel = build(env, checked, "", empty_kernel, "-cl-kernel-arg-info");
  assert_int_equal(xmcSetKernelArgHeap(kernel, 0, checked), XMC_HEAP_MISMATCH);
  kernel = build(env, plain, "#undef XMC_COALESCING\n#define XMC_COALESCING 0\n", empty_kernel,
                 xmcGetBuildOptions(plain));
  assert_int_equal(xmcSetKernelArgHeap(kernel, 0, plain), XMC_HEAP_MISMATCH);
  kernel = build(env, plain, "", kernel_text, xmcGetBuildOptions(plain));
  test_launch(env, kernel, 64, 16, "hm", plain, granted);
  test_read(env, granted, &count, sizeof count);
  assert_int_equal(count, 64);
}

/* A kernel that declares its argument as something else passes; then its own look at the magic word counts. */
static void unseen(test_env *env) {
  static const char text[] = "#undef XMC_DEBUG\n#define XMC_DEBUG 2\n#include \"xmalloc.cl\"\n"
                             "__kernel void blind(__global void *arena, __global uint *granted) {"
                             "  __global xmcHeap *heap = (__global xmcHeap *)arena;"
                             "  __global void *block = xmcMalloc(heap, 16); if (block) atomic_inc(granted);"
                             "  xmcFree(heap, block); xmcFree(heap, (__global char *)arena + 4096); }\n";
  enum { BYTES = 1 << 20 };
  xmc_heap heap = test_heap(env, BYTES);
  const char *string = text;
  char *before = test_alloc(env, BYTES), *after = test_alloc(env, BYTES);
  cl_mem granted = test_buffer(env, sizeof(cl_uint), NULL);
  cl_uint count = 7;
  cl_int status;
  cl_program program = xmcCreateProgramWithSource(heap, 1, &string, NULL, &status);
  cl_kernel kernel;
  CL_OK(status);
  CL_OK(clBuildProgram(program, 1, &env->device->id, xmcGetBuildOptions(heap), NULL, NULL));
  kernel = clCreateKernel(program, "blind", &status);
  CL_OK(status);
  test_read_arena(env, heap, 0, BYTES, before);
  test_launch(env, kernel, 64, 16, "hm", heap, granted);
  test_read_arena(env, heap, 0, BYTES, after);
  test_read(env, granted, &count, sizeof count);
  assert_int_equal(count, 0);
  assert_memory_equal(before, after, BYTES);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

/* A heap that is given to an argument for data is refused; bytes and void may be an arena. */
static void misplaced(test_env *env) {
  static const char text[] =
      "__kernel void take(__global xmcHeap *heap, __global xmcRef *refs, __global ulong *longs,"
      " __global const uint *words, __global double *reals, __global uchar *bytes, __global void *any) {}\n";
  static const cl_int expected[] = {CL_SUCCESS,        XMC_HEAP_MISMATCH, XMC_HEAP_MISMATCH,
                                    XMC_HEAP_MISMATCH, XMC_HEAP_MISMATCH, CL_SUCCESS,
                                    CL_SUCCESS};
  xmc_heap heap = test_heap(env, 8 << 20);
  cl_kernel kernel = build(env, heap, "", text, xmcGetBuildOptions(heap));
  cl_uint i;
  for (i = 0; i < sizeof expected / sizeof *expected; i++)
    if (xmcSetKernelArgHeap(kernel, i, heap) != expected[i])
      fail_msg("argument %u", i);
}

/* Linked of two objects and loaded as a binary a program still says what it is for. */
static void linked(test_env *env) {
  static const xmc_heap_properties debug[] = {XMC_HEAP_DEBUG, 1, 0};
  static const char *const texts[] = {
      "void use(__global xmcHeap *heap); void use(__global xmcHeap *heap) { xmcFree(heap, xmcMalloc(heap, "
      "8)); }\n",
      "void use(__global xmcHeap *heap); __kernel void both(__global xmcHeap *heap, __global uint *granted) {"
      "  use(heap); if (xmcMalloc(heap, 16)) atomic_inc(granted); }\n"};
  xmc_heap heap = test_heap(env, 8 << 20), other = test_heap_with(env, 8 << 20, debug);
  cl_program parts[2], program;
  cl_device_id device = env->device->id;
  cl_mem granted = test_buffer(env, sizeof(cl_uint), NULL);
  cl_kernel kernel;
  cl_uint count = 0;
  cl_int status = CL_SUCCESS;
  int i;
  for (i = 0; i < 2; i++) {
    parts[i] = xmcCreateProgramWithSource(heap, 1, (const char **)(uintptr_t)&texts[i], NULL, &status);
    CL_OK(status);
    status = clCompileProgram(parts[i], 1, &device, xmcGetBuildOptions(heap), 0, NULL, NULL, NULL, NULL);
    if (status != CL_SUCCESS) {
      print_message("skipped: %s does not compile programs apart (%d)\n", env->device->name, status);
      return;
    }
  }
  program = clLinkProgram(env->context, 1, &device, NULL, 2, parts, NULL, NULL, &status);
  CL_OK(status);
  kernel = clCreateKernel(program, "both", &status);
  CL_OK(status);
  assert_int_equal(xmcSetKernelArgHeap(kernel, 0, other), XMC_HEAP_MISMATCH);
  test_launch(env, kernel, 64, 16, "hm", heap, granted);
  test_read(env, granted, &count, sizeof count);
  assert_int_equal(count, 64);
  assert_int_equal(test_intact(env, heap).live_blocks, 64);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseProgram(parts[0]);
  clReleaseProgram(parts[1]);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {TEST(spellings, SPREAD_ONE),     TEST(released, SPREAD_ONE),
                                    TEST(in_the_source, SPREAD_ONE), TEST(unseen, SPREAD_ONE),
                                    TEST(misplaced, SPREAD_ONE),     TEST(linked, SPREAD_ONE)};
  return test_main("options", cases, sizeof cases / sizeof *cases, argc, argv);
}
