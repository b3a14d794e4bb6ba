/* SPDX-License-Identifier: MIT */
/* The default heap of a program (cl/xmalloc_default.cl): one launch stores its address. */
#include "internal.h"

cl_int xmcBindDefaultHeap(cl_program program, xmc_heap heap, cl_command_queue queue) {
  size_t one = 1;
  cl_kernel kernel = NULL;
  cl_int status = xmc_arena_queue(heap, queue, &queue);
  if (status == CL_SUCCESS && !heap->probe.program_scope)
    status = XMC_NO_DEFAULT_HEAP;
  if (status == CL_SUCCESS)
    kernel = clCreateKernel(program, "xmc_bind_default_heap", &status);
  if (status == CL_SUCCESS)
    status = xmcSetKernelArgHeap(kernel, 0, heap);
  if (status == CL_SUCCESS)
    status = clFinish(queue);
  if (status == CL_SUCCESS)
    status = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
  if (status == CL_SUCCESS)
    status = clFinish(queue);
  if (kernel)
    clReleaseKernel(kernel);
  return status;
}
