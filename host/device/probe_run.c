/* SPDX-License-Identifier: MIT */
/* Builds host/device/probe.cl and runs its kernels, each of which tests one feature. */
#include "probe.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define XMC_PROBE_ITEMS 256u
#define XMC_PROBE_GROUP 64u
#define XMC_PROBE_WORDS (8u + XMC_PROBE_ITEMS)

/* Adds a line to probe->why. */
void xmc_say(xmc_probe *probe, const char *format, ...) {
  size_t used = strlen(probe->why);
  va_list list;
  va_start(list, format);
  vsnprintf(probe->why + used, sizeof probe->why - used, format, list);
  va_end(list);
  used = strlen(probe->why);
  if (used + 1 < sizeof probe->why)
    strcpy(probe->why + used, "\n");
}

const char *xmc_first_error(char *log) {
  char *at = strstr(log, "error");
  char *end;
  if (!at)
    at = log;
  while (at > log && at[-1] != '\n')
    at--;
  end = strchr(at, '\n');
  if (end)
    *end = '\0';
  if (strlen(at) > 120)
    strcpy(at + 117, "...");
  return *at ? at : "no message";
}

/* Builds host/device/probe.cl and runs one of its kernels, whose arguments are `first`, unless it is NULL, and a
 * buffer with the contents of `out`, which are read back. Returns 1, or 0 after adding the reason to probe->why. */
static int xmc_try(const xmc_bench *bench, const char *options, const char *kernel_name, cl_mem first,
                   void *out, size_t bytes) {
  xmc_probe *probe = bench->probe;
  char log[2048];
  cl_program program = NULL;
  cl_kernel kernel = NULL;
  cl_mem buffer = NULL;
  size_t global = XMC_PROBE_ITEMS, local = XMC_PROBE_GROUP;
  const char *step = "build";
  cl_int status =
      xmc_build(bench->context, probe->device, xmc_source_probe, options, &program, log, sizeof log);
  if (status != CL_SUCCESS) {
    xmc_say(probe, "  does not build: %s", xmc_first_error(log));
    goto cleanup;
  }
  step = "kernel";
  kernel = clCreateKernel(program, kernel_name, &status);
  if (status != CL_SUCCESS)
    goto cleanup;
  step = "buffer";
  buffer = clCreateBuffer(bench->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, out, &status);
  if (status != CL_SUCCESS)
    goto cleanup;
  step = "run";
  if (first)
    status = clSetKernelArg(kernel, 0, sizeof first, &first);
  if (status == CL_SUCCESS)
    status = clSetKernelArg(kernel, first ? 1 : 0, sizeof buffer, &buffer);
  if (status == CL_SUCCESS)
    status = clEnqueueNDRangeKernel(bench->queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
  if (status == CL_SUCCESS)
    status = clEnqueueReadBuffer(bench->queue, buffer, CL_TRUE, 0, bytes, out, 0, NULL, NULL);
cleanup:
  if (status != CL_SUCCESS && program)
    xmc_say(probe, "  fails (%s): %s", step, xmcErrorString(status));
  if (buffer)
    clReleaseMemObject(buffer);
  if (kernel)
    clReleaseKernel(kernel);
  if (program)
    clReleaseProgram(program);
  return status == CL_SUCCESS;
}

int xmc_atomics_work(const xmc_bench *bench, const char *options) {
  cl_ulong out[XMC_PROBE_WORDS] = {0};
  cl_ulong n = XMC_PROBE_ITEMS, i;
  int right;
  out[3] = ~(cl_ulong)0;
  if (!xmc_try(bench, options, "xmc_probe_atomics", NULL, out, sizeof out))
    return 0;
  right = out[0] == (n << 32 | n) && out[1] == n << 40 && out[2] == ~(cl_ulong)0 && out[3] == 0 &&
          out[4] == (n / 2 << 32 | n / 2);
  for (i = 0; i < n; i++)
    right &= out[8 + i] == i + 1;
  if (!right)
    xmc_say(bench->probe, "  64-bit atomics give wrong results");
  return right;
}

int xmc_lanes_work(const xmc_bench *bench, const char *options) {
  cl_ulong out[XMC_PROBE_WORDS] = {0}, calls = 0;
  unsigned i;
  if (!xmc_try(bench, options, "xmc_probe_lanes", NULL, out, sizeof out))
    return 0;
  for (i = 0; i < XMC_PROBE_ITEMS; i++)
    calls += i % 5 != 2 ? i % 4 + 1 : 0;
  if (out[0] == calls && out[1] == calls && out[2] == 0)
    return 1;
  xmc_say(bench->probe, "  lanes in divergent flow give wrong results");
  return 0;
}

int xmc_svm_alias_works(const xmc_bench *bench, const char *options) {
  enum { BYTES = 1 << 16 };
  cl_ulong out[1] = {0}, words[2] = {41, 0};
  cl_mem alias = NULL;
  cl_int status;
  int right = 0;
  void *svm = clSVMAlloc(bench->context, CL_MEM_READ_WRITE, BYTES, 0);
  if (!svm)
    return 0;
  status = clEnqueueSVMMemcpy(bench->queue, CL_TRUE, svm, words, sizeof words, 0, NULL, NULL);
  if (status == CL_SUCCESS)
    alias = clCreateBuffer(bench->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, BYTES, svm, &status);
  if (status == CL_SUCCESS && xmc_try(bench, options, "xmc_probe_address", alias, out, sizeof out))
    status = clEnqueueSVMMemcpy(bench->queue, CL_TRUE, words, svm, sizeof words, 0, NULL, NULL);
  if (status == CL_SUCCESS)
    right = out[0] == (cl_ulong)(uintptr_t)svm && words[1] == 42;
  if (alias)
    clReleaseMemObject(alias);
  clFinish(bench->queue);
  clSVMFree(bench->context, svm);
  return right;
}

/* Runs a kernel with one work-item and the one argument `buffer`. */
static cl_int xmc_run_once(const xmc_bench *bench, cl_program program, const char *name, cl_mem buffer) {
  size_t one = 1;
  cl_int status;
  cl_kernel kernel = clCreateKernel(program, name, &status);
  if (status == CL_SUCCESS)
    status = clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  if (status == CL_SUCCESS)
    status = clEnqueueNDRangeKernel(bench->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
  if (status == CL_SUCCESS)
    status = clFinish(bench->queue);
  if (kernel)
    clReleaseKernel(kernel);
  return status;
}

int xmc_program_scope_works(const xmc_bench *bench, const char *options) {
  cl_ulong words[2] = {41, 0};
  char log[2048];
  cl_program program = NULL;
  cl_mem arena = NULL, out = NULL;
  cl_int status =
      xmc_build(bench->context, bench->probe->device, xmc_source_probe, options, &program, log, sizeof log);
  if (status != CL_SUCCESS) {
    xmc_say(bench->probe, "  does not build: %s", xmc_first_error(log));
    return 0;
  }
  arena =
      clCreateBuffer(bench->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof words, words, &status);
  if (status == CL_SUCCESS)
    out = clCreateBuffer(bench->context, CL_MEM_READ_WRITE, sizeof words, NULL, &status);
  if (status == CL_SUCCESS)
    status = xmc_run_once(bench, program, "xmc_probe_keep", arena);
  if (status == CL_SUCCESS)
    status = xmc_run_once(bench, program, "xmc_probe_use_kept", out);
  if (status == CL_SUCCESS)
    status = clEnqueueReadBuffer(bench->queue, arena, CL_TRUE, 0, sizeof words, words, 0, NULL, NULL);
  if (out)
    clReleaseMemObject(out);
  if (arena)
    clReleaseMemObject(arena);
  clReleaseProgram(program);
  return status == CL_SUCCESS && words[1] == 42;
}
