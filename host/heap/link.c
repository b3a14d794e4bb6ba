/* SPDX-License-Identifier: MIT */
/* xmcLinkProgram: compiles the device library as an object of its own, and links programs with it. */
#include "internal.h"
#include <stdio.h>
#include <string.h>

#define XMC_LINK_MOST 32u /* programs that one call links */

/* Compiles a source of the library as an object for the heap's device. */
static cl_int xmc_compile(xmc_heap heap, const char *source, cl_program *object) {
  char options[XMC_OPTIONS_BYTES + 16];
  cl_int status;
  *object = clCreateProgramWithSource(heap->context, 1, &source, NULL, &status);
  if (status != CL_SUCCESS)
    return status;
  snprintf(options, sizeof options, "%s -DXMC_API=", heap->options);
  status = clCompileProgram(*object, 1, &heap->device, options, 0, NULL, NULL, NULL, NULL);
  if (status != CL_SUCCESS) {
    clReleaseProgram(*object);
    *object = NULL;
  }
  return status;
}

/* True if the program was created from an intermediate language. PoCL links such objects with objects of OpenCL C without an error, but
 * calls between them never return, because the two have different calling conventions. */
static int xmc_is_il(cl_program program) {
  size_t bytes = 0;
  return clGetProgramInfo(program, CL_PROGRAM_IL, 0, NULL, &bytes) == CL_SUCCESS && bytes > 0;
}

cl_program xmcLinkProgram(xmc_heap heap, xmc_link_flags flags, cl_uint count, const cl_program *programs,
                          const char *options, cl_int *errcode_ret) {
  cl_program objects[XMC_LINK_MOST + 2u] = {NULL}, program = NULL;
  cl_uint own = 0, i;
  cl_int status = xmc_check_handle(heap);
  if (status == CL_SUCCESS &&
      (count == 0 || count > XMC_LINK_MOST || !programs || (flags & ~(xmc_link_flags)XMC_LINK_DEFAULT_HEAP)))
    status = CL_INVALID_VALUE;
  if (status == CL_SUCCESS && (flags & XMC_LINK_DEFAULT_HEAP) && !heap->probe.program_scope)
    status = XMC_NO_DEFAULT_HEAP;
  for (i = 0; status == CL_SUCCESS && i < count; i++)
    if (xmc_is_il(programs[i]))
      status = CL_INVALID_OPERATION;
  if (status != CL_SUCCESS)
    goto cleanup;
  memcpy(objects, programs, count * sizeof *objects);
  status = xmc_compile(heap, xmc_source_library, &objects[count]);
  if (status != CL_SUCCESS)
    goto cleanup;
  own++;
  if (flags & XMC_LINK_DEFAULT_HEAP) {
    status = xmc_compile(heap, xmc_source_link, &objects[count + own]);
    if (status != CL_SUCCESS)
      goto cleanup;
    own++;
  }
  program =
      clLinkProgram(heap->context, 1, &heap->device, options, count + own, objects, NULL, NULL, &status);
cleanup:
  while (own > 0)
    clReleaseProgram(objects[count + --own]);
  if (errcode_ret)
    *errcode_ret = status;
  return program;
}
