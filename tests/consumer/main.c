/* SPDX-License-Identifier: MIT */
/* A program that knows XMalloc as installed: header, library, and the device library's folder. Kernels
 * allocate on the first device, in a program from the host library and in one that includes xmalloc.cl
 * through -I. */
#include <xmalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 1000 };

static const char source[] = "#include \"xmalloc.cl\"\n"
                             "__kernel void numbers(__global xmcHeap *heap, __global int *out) {\n"
                             "  __global int *p = (__global int *)xmcMalloc(heap, sizeof(int));\n"
                             "  if (p) {\n"
                             "    *p = (int)get_global_id(0);\n"
                             "    out[get_global_id(0)] = *p;\n"
                             "    xmcFree(heap, p);\n"
                             "  }\n"
                             "}\n";

static void check(cl_int status, const char *what) {
  if (status != CL_SUCCESS) {
    fprintf(stderr, "%s: %s\n", what, xmcErrorString(status));
    exit(1);
  }
}

static void build(cl_program program, cl_device_id device, const char *options) {
  char log[8192] = "";
  cl_int status = clBuildProgram(program, 1, &device, options, NULL, NULL);
  if (status != CL_SUCCESS) {
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    fprintf(stderr, "options %s:\n%s\n", options, log);
  }
  check(status, "clBuildProgram");
}

/* Runs the kernel and checks its results. */
static void run(cl_context context, cl_command_queue queue, cl_program program, xmc_heap heap) {
  int out[ITEMS], i;
  size_t items = ITEMS;
  cl_int status;
  cl_kernel kernel = clCreateKernel(program, "numbers", &status);
  cl_mem buffer;
  check(status, "clCreateKernel");
  memset(out, 0xff, sizeof out);
  buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof out, out, &status);
  check(status, "clCreateBuffer");
  check(xmcSetKernelArgHeap(kernel, 0, heap), "xmcSetKernelArgHeap");
  check(clSetKernelArg(kernel, 1, sizeof buffer, &buffer), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL),
        "clEnqueueNDRangeKernel");
  check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL),
        "clEnqueueReadBuffer");
  for (i = 0; i < ITEMS; i++)
    if (out[i] != i) {
      fprintf(stderr, "work-item %d gave %d\n", i, out[i]);
      exit(1);
    }
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
}

int main(void) {
  const char *text = source;
  char options[1024];
  cl_platform_id platform;
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  xmc_heap heap;
  xmc_heap_stats stats;
  cl_int status = clGetPlatformIDs(1, &platform, NULL);
  if (status == CL_SUCCESS)
    status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  check(status, "no device");
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  check(status, "clCreateContext");
  queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
  check(status, "clCreateCommandQueueWithProperties");
  heap = xmcCreateHeap(context, device, NULL, 16 << 20, &status);
  check(status, "xmcCreateHeap");

  program = xmcCreateProgramWithSource(heap, 1, &text, NULL, &status);
  check(status, "xmcCreateProgramWithSource");
  build(program, device, xmcGetBuildOptions(heap));
  run(context, queue, program, heap);
  clReleaseProgram(program);

  program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
  check(status, "clCreateProgramWithSource");
  snprintf(options, sizeof options, "-I %s", XMALLOC_CL_DIR);
  build(program, device, options);
  run(context, queue, program, heap);
  clReleaseProgram(program);

  check(xmcGetHeapStats(heap, queue, &stats), "xmcGetHeapStats");
  if (stats.live_blocks != 0 || stats.failed_requests != 0) {
    fprintf(stderr, "%d blocks left, %d requests failed\n", (int)stats.live_blocks,
            (int)stats.failed_requests);
    return 1;
  }
  check(xmcReleaseHeap(heap), "xmcReleaseHeap");
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  printf("2 x %d work-items allocated and freed\n", ITEMS);
  return 0;
}
