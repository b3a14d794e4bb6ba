/* SPDX-License-Identifier: MIT */
/* A first program: one kernel builds a linked list, another kernel counts its nodes and frees them. The file has all
 * OpenCL calls that such a program needs; the other samples share theirs in sample.h. The program uses the first device
 * of the first platform. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmalloc.h>

static const char *source =
    "#include \"xmalloc.cl\"\n"
    "typedef struct node { xmcRef next; uint value; } node;\n"
    "__kernel void push(__global xmcHeap *heap, __global xmcRef *head) {\n"
    "  __global node *n = xmcMalloc(heap, sizeof(node));\n"
    "  if (!n) return;\n"
    "  n->value = (uint)get_global_id(0);\n"
    "  n->next = xmcExchangeRef(head, xmcToRef(heap, n));\n"
    "}\n"
    "__kernel void drain(__global xmcHeap *heap, __global xmcRef *head, __global uint *count) {\n"
    "  xmcRef ref = *head;\n"
    "  while (ref) {\n"
    "    __global node *n = xmcFromRef(heap, ref);\n"
    "    ref = n->next;\n"
    "    ++*count;\n"
    "    xmcFree(heap, n);\n"
    "  }\n"
    "}\n";

static void check(cl_int status, const char *what) {
  if (status == CL_SUCCESS)
    return;
  fprintf(stderr, "%s: %s\n", what, xmcErrorString(status));
  exit(1);
}

int main(int argc, char **argv) {
  cl_platform_id platform;
  cl_device_id device;
  xmcRef head = 0; /* of the list: 0 is NULL */
  cl_uint count = 0;
  size_t items = 10000, one = 1;
  xmc_heap_stats stats;
  cl_int e;
  if (argc > 1) { /* it takes no arguments: says what it does */
    printf("sample_readme of XMalloc %d.%d.%d: kernels build a linked list, another kernel counts and frees "
           "it.\n",
           XMC_VERSION_MAJOR, XMC_VERSION_MINOR, XMC_VERSION_PATCH);
    return strcmp(argv[1], "-h") && strcmp(argv[1], "--help") && strcmp(argv[1], "--version");
  }
  check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &e);
  check(e, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &e);
  check(e, "clCreateCommandQueueWithProperties");

  /* The heap, and a program whose kernels use it */
  xmc_heap heap = xmcCreateHeap(context, device, NULL, 64 << 20, &e);
  check(e, "xmcCreateHeap");
  cl_program program = xmcCreateProgramWithSource(heap, 1, &source, NULL, &e);
  check(e, "xmcCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, xmcGetBuildOptions(heap), NULL, NULL), "clBuildProgram");
  cl_kernel push = clCreateKernel(program, "push", &e);
  check(e, "clCreateKernel");
  cl_kernel drain = clCreateKernel(program, "drain", &e);
  check(e, "clCreateKernel");

  /* 10000 work-items push a node each, then one work-item counts and frees them. */
  cl_mem list = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof head, &head, &e);
  check(e, "clCreateBuffer");
  cl_mem total = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof count, &count, &e);
  check(e, "clCreateBuffer");
  check(xmcSetKernelArgHeap(push, 0, heap), "xmcSetKernelArgHeap");
  check(clSetKernelArg(push, 1, sizeof list, &list), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(queue, push, 1, NULL, &items, NULL, 0, NULL, NULL), "push");
  check(xmcSetKernelArgHeap(drain, 0, heap), "xmcSetKernelArgHeap");
  check(clSetKernelArg(drain, 1, sizeof list, &list), "clSetKernelArg");
  check(clSetKernelArg(drain, 2, sizeof total, &total), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(queue, drain, 1, NULL, &one, &one, 0, NULL, NULL), "drain");
  check(clEnqueueReadBuffer(queue, total, CL_TRUE, 0, sizeof count, &count, 0, NULL, NULL),
        "clEnqueueReadBuffer");

  check(xmcGetHeapStats(heap, queue, &stats), "xmcGetHeapStats");
  printf("%u nodes in the list; %llu blocks live now\n", count, (unsigned long long)stats.live_blocks);
  if (stats.failed_requests)
    fprintf(stderr, "%llu requests found no room: use a larger heap\n",
            (unsigned long long)stats.failed_requests);
  clReleaseMemObject(total);
  clReleaseMemObject(list);
  clReleaseKernel(drain);
  clReleaseKernel(push);
  clReleaseProgram(program);
  xmcReleaseHeap(heap);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return count != items || stats.live_blocks != 0;
}
