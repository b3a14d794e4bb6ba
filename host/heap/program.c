/* SPDX-License-Identifier: MIT */
/* Creates programs from a user's source and the library's (source.c), and builds programs. */
#include "internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cl_program xmcCreateProgramWithSource(xmc_heap heap, cl_uint count, const char **strings,
                                      const size_t *lengths, cl_int *errcode_ret) {
  cl_int status = xmc_check_handle(heap);
  cl_program program = NULL;
  char *source = NULL;
  cl_uint i;
  if (status != CL_SUCCESS)
    goto cleanup;
  status = CL_INVALID_VALUE;
  if (count == 0 || !strings)
    goto cleanup;
  for (i = 0; i < count; i++)
    if (!strings[i])
      goto cleanup;
  status = CL_OUT_OF_HOST_MEMORY;
  source = xmc_expand_source(count, strings, lengths);
  if (!source)
    goto cleanup;
  program = clCreateProgramWithSource(heap->context, 1, (const char **)&source, NULL, &status);
cleanup:
  free(source);
  if (errcode_ret)
    *errcode_ret = status;
  return program;
}

/* Copies the beginning of the build log, as much as fits. */
static void xmc_build_log(cl_program program, cl_device_id device, char *log, size_t log_bytes) {
  size_t bytes = 0;
  char *whole = NULL;
  if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) == CL_SUCCESS &&
      bytes > 0)
    whole = malloc(bytes);
  if (whole && clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, whole, NULL) == CL_SUCCESS)
    snprintf(log, log_bytes, "%s", whole);
  free(whole);
}

cl_int xmc_build(cl_context context, cl_device_id device, const char *source, const char *options,
                 cl_program *program, char *log, size_t log_bytes) {
  cl_int status;
  if (log)
    log[0] = '\0';
  *program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
  if (status != CL_SUCCESS)
    return status;
  status = clBuildProgram(*program, 1, &device, options, NULL, NULL);
  if (status == CL_SUCCESS)
    return CL_SUCCESS;
  if (log)
    xmc_build_log(*program, device, log, log_bytes);
  clReleaseProgram(*program);
  *program = NULL;
  return status;
}

const char *xmcGetSource(void) { return xmc_source_library; }
