/* SPDX-License-Identifier: MIT */
/* The test of an application's kernel: its results, and that it leaves the heap as it was. */
#include <xmalloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { ITEMS = 1000 };

/* Each work-item builds the numbers below its id in a block of its own, and adds them up. */
static const char source[] =
    "__kernel void sums(__global xmcHeap *heap, __global uint *out) {\n"
    "  uint i = (uint)get_global_id(0), k, sum = 0;\n"
    "  __global uint *numbers = (__global uint *)xmcMalloc(heap, (i + 1) * sizeof(uint));\n"
    "  if (!numbers) return;\n"
    "  for (k = 0; k <= i; k++) numbers[k] = k;\n"
    "  for (k = 0; k <= i; k++) sum += numbers[k];\n"
    "  xmcFree(heap, numbers);\n"
    "  out[i] = sum;\n"
    "}\n";

static void check(cl_int status, const char *what) {
  if (status != CL_SUCCESS) {
    fprintf(stderr, "%s: %s\n", what, xmcErrorString(status));
    exit(1);
  }
}

/* Runs the kernel and checks what it computed. */
static void run(cl_context context, cl_device_id device, cl_command_queue queue, xmc_heap heap) {
  const char *text = source;
  static cl_uint out[ITEMS];
  size_t items = ITEMS, i;
  cl_mem buffer;
  cl_kernel kernel;
  cl_int status;
  cl_program program = xmcCreateProgramWithSource(heap, 1, &text, NULL, &status);
  check(status, "xmcCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, xmcGetBuildOptions(heap), NULL, NULL), "clBuildProgram");
  kernel = clCreateKernel(program, "sums", &status);
  check(status, "clCreateKernel");
  buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof out, out, &status);
  check(status, "clCreateBuffer");
  check(xmcSetKernelArgHeap(kernel, 0, heap), "xmcSetKernelArgHeap");
  check(clSetKernelArg(kernel, 1, sizeof buffer, &buffer), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL),
        "clEnqueueNDRangeKernel");
  check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL),
        "clEnqueueReadBuffer");
  for (i = 0; i < ITEMS; i++)
    if (out[i] != i * (i + 1) / 2) {
      fprintf(stderr, "work-item %d: %u\n", (int)i, out[i]);
      exit(1);
    }
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

int main(void) {
  const xmc_heap_properties debug[] = {XMC_HEAP_DEBUG, 2, 0};
  cl_platform_id platform;
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  xmc_heap heap;
  xmc_heap_stats stats;
  cl_int status;
  check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  check(status, "clCreateContext");
  queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
  check(status, "clCreateCommandQueueWithProperties");
  heap = xmcCreateHeap(context, device, debug, 64 << 20, &status);
  check(status, "xmcCreateHeap");

  run(context, device, queue, heap);
  check(xmcCheckHeap(heap, queue, NULL), "xmcCheckHeap");
  check(xmcGetHeapStats(heap, queue, &stats), "xmcGetHeapStats");
  if (stats.live_blocks || stats.failed_requests || stats.double_frees || stats.invalid_frees) {
    xmcReportLeaks(heap, queue, stderr);
    return 1;
  }
  xmcReleaseHeap(heap);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  printf("%d work-items, no block left\n", ITEMS);
  return 0;
}
