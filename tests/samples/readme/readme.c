/* The README's example, compiled and run as a test: kernels build a linked list, the host counts it. */
#define CL_TARGET_OPENCL_VERSION 300
#include <stdio.h>
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

int main(void) {
  cl_platform_id platform;
  cl_device_id device;
  xmcRef head = 0; /* of the list: 0 is NULL */
  cl_uint count = 0;
  size_t items = 10000, one = 1;
  cl_int e = clGetPlatformIDs(1, &platform, NULL);
  if (e || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
    return 1;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &e);
  cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &e);
  xmc_heap heap = xmcCreateHeap(context, device, NULL, 64 << 20, &e);
  if (!heap) {
    fprintf(stderr, "%s\n", xmcErrorString(e));
    return 1;
  }
  cl_program program = xmcCreateProgramWithSource(heap, 1, &source, NULL, &e);
  e = clBuildProgram(program, 1, &device, xmcGetBuildOptions(heap), NULL, NULL);
  cl_kernel push = clCreateKernel(program, "push", &e), drain = clCreateKernel(program, "drain", &e);
  cl_mem words = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof head, &head, &e);
  cl_mem total = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof count, &count, &e);
  xmcSetKernelArgHeap(push, 0, heap);
  clSetKernelArg(push, 1, sizeof words, &words);
  clEnqueueNDRangeKernel(queue, push, 1, NULL, &items, NULL, 0, NULL, NULL);
  xmcSetKernelArgHeap(drain, 0, heap);
  clSetKernelArg(drain, 1, sizeof words, &words);
  clSetKernelArg(drain, 2, sizeof total, &total);
  clEnqueueNDRangeKernel(queue, drain, 1, NULL, &one, &one, 0, NULL, NULL);
  e = clEnqueueReadBuffer(queue, total, CL_TRUE, 0, sizeof count, &count, 0, NULL, NULL);
  xmc_heap_stats stats;
  e = e ? e : xmcGetHeapStats(heap, queue, &stats);
  if (!e)
    printf("%u nodes in the list; %llu blocks live now\n", count, (unsigned long long)stats.live_blocks);
  clReleaseMemObject(total);
  clReleaseMemObject(words);
  clReleaseKernel(drain);
  clReleaseKernel(push);
  clReleaseProgram(program);
  xmcReleaseHeap(heap);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return e || count != items || stats.live_blocks ? 1 : 0;
}
