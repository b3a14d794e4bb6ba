/* SPDX-License-Identifier: MIT */
/* Builds the whole library with a kernel that allocates and frees, and runs it once on a small heap (probe_pair.cl). */
#include "probe.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XMC_PAIR_BYTES ((size_t)4 << 20)
#define XMC_PAIR_ITEMS 256u
#define XMC_PAIR_GROUP 64u

/* Returns the program, or NULL after adding the reason to probe->why. */
static cl_program xmc_build_pair(const xmc_bench *bench, const char *options) {
  char log[2048] = "";
  size_t bytes = strlen(xmc_source_kernels) + strlen(xmc_source_probe_pair) + 2;
  char *source = malloc(bytes);
  cl_program program = NULL;
  if (!source) {
    xmc_say(bench->probe, "  no memory on the host");
    return NULL;
  }
  snprintf(source, bytes, "%s\n%s", xmc_source_kernels, xmc_source_probe_pair);
  if (xmc_build(bench->context, bench->probe->device, source, options, &program, log, sizeof log) !=
      CL_SUCCESS)
    xmc_say(bench->probe, "  the library does not build: %s", xmc_first_error(log));
  free(source);
  return program;
}

static cl_int xmc_run_kernel(const xmc_bench *bench, cl_program program, const char *name, size_t items,
                             size_t group, cl_mem heap, cl_mem right) {
  cl_int status;
  cl_kernel kernel = clCreateKernel(program, name, &status);
  if (status == CL_SUCCESS)
    status = clSetKernelArg(kernel, 0, sizeof heap, &heap);
  if (status == CL_SUCCESS && right)
    status = clSetKernelArg(kernel, 1, sizeof right, &right);
  if (status == CL_SUCCESS)
    status =
        clEnqueueNDRangeKernel(bench->queue, kernel, 1, NULL, &items, group ? &group : NULL, 0, NULL, NULL);
  if (status == CL_SUCCESS)
    status = clFinish(bench->queue);
  if (kernel)
    clReleaseKernel(kernel);
  return status;
}

/* Runs the kernels on a heap that begins with `header`. *right gets the number of work-items with right results, and `header` the
 * heap's header afterwards. Returns CL_SUCCESS or an OpenCL error. */
static cl_int xmc_run_pair(const xmc_bench *bench, cl_program program, xmcHeap *header, cl_uint *right) {
  unsigned char begin[XMC_HEADER_BYTES] = {0};
  cl_int status;
  cl_mem count = NULL,
         heap = clCreateBuffer(bench->context, CL_MEM_READ_WRITE, XMC_PAIR_BYTES, NULL, &status);
  memcpy(begin, header, sizeof *header);
  *right = 0;
  if (status == CL_SUCCESS)
    count = clCreateBuffer(bench->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof *right, right,
                           &status);
  if (status == CL_SUCCESS)
    status = clEnqueueWriteBuffer(bench->queue, heap, CL_TRUE, 0, sizeof begin, begin, 0, NULL, NULL);
  if (status == CL_SUCCESS)
    status = xmc_run_kernel(bench, program, "xmc_init", XMC_PAIR_ITEMS, 0, heap, NULL);
  if (status == CL_SUCCESS)
    status = xmc_run_kernel(bench, program, "xmc_init_done", 1, 0, heap, NULL);
  if (status == CL_SUCCESS)
    status = xmc_run_kernel(bench, program, "xmc_probe_pair", XMC_PAIR_ITEMS, XMC_PAIR_GROUP, heap, count);
  if (status == CL_SUCCESS)
    status = clEnqueueReadBuffer(bench->queue, count, CL_TRUE, 0, sizeof *right, right, 0, NULL, NULL);
  if (status == CL_SUCCESS)
    status = clEnqueueReadBuffer(bench->queue, heap, CL_TRUE, 0, sizeof *header, header, 0, NULL, NULL);
  if (count)
    clReleaseMemObject(count);
  if (heap)
    clReleaseMemObject(heap);
  return status;
}

int xmc_pair_works(const xmc_bench *bench, const xmc_settings *settings, const char *options) {
  xmc_probe *probe = bench->probe;
  char own[XMC_OPTIONS_BYTES];
  xmcHeap header;
  cl_program program;
  cl_uint right;
  cl_int status = xmc_plan(probe, settings, XMC_PAIR_BYTES, &header);
  if (status != CL_SUCCESS) {
    xmc_say(probe, "  no heap for a trial: %s", xmcErrorString(status));
    return 0;
  }
  snprintf(own, sizeof own, "%s", options);
  xmc_write_own_places(&header, probe, own);
  if (probe->scalar_calls) /* with optimisation Intel's compiler for CPUs takes ten times as long */
    xmc_add_option(own, "-cl-opt-disable");
  program = xmc_build_pair(bench, own);
  if (!program)
    return 0;
  status = xmc_run_pair(bench, program, &header, &right);
  clReleaseProgram(program);
  if (status != CL_SUCCESS) {
    xmc_say(probe, "  malloc and free do not run: %s", xmcErrorString(status));
    return 0;
  }
  if (right != XMC_PAIR_ITEMS || header.magic != XMC_MAGIC || header.double_frees || header.invalid_frees) {
    xmc_say(probe, "  malloc and free give wrong results: %u of %u work-items had a block of their own",
            right, XMC_PAIR_ITEMS);
    return 0;
  }
  return 1;
}
