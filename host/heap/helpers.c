/* SPDX-License-Identifier: MIT */
/* The library's own kernels (cl/kernels.cl), built once a process for a device and options.
 *
 * A program belongs to a context, and a program that is kept would keep the user's context alive. So the library keeps the
 * program's binary, from which a program is built quickly. If a driver gives or accepts no binary, the source is built each time.
 */
#include "internal.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct xmc_binary {
  cl_device_id device; /* a root device: its sub-devices run the same code */
  char options[XMC_OPTIONS_BYTES];
  size_t size;
  unsigned char *bytes;
  struct xmc_binary *next;
} xmc_binary;

static pthread_mutex_t xmc_binaries_lock = PTHREAD_MUTEX_INITIALIZER;
static xmc_binary *xmc_binaries; /* entries are never changed or freed */

static xmc_binary *xmc_find_binary(cl_device_id device, const char *options) {
  xmc_binary *b;
  pthread_mutex_lock(&xmc_binaries_lock);
  for (b = xmc_binaries; b && (b->device != device || strcmp(b->options, options) != 0); b = b->next)
    ;
  pthread_mutex_unlock(&xmc_binaries_lock);
  return b;
}

#define XMC_MAX_DEVICES 64

/* Returns the binary of a built program for a root device or one of its sub-devices, malloc'ed, or NULL if the driver gives none. */
static unsigned char *xmc_read_binary(cl_device_id device, cl_program program, size_t *size) {
  cl_device_id devices[XMC_MAX_DEVICES];
  size_t sizes[XMC_MAX_DEVICES] = {0}, bytes = 0, i, n;
  unsigned char *binaries[XMC_MAX_DEVICES] = {0}, *binary = NULL;
  if (clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof devices, devices, &bytes) != CL_SUCCESS)
    return NULL;
  n = bytes / sizeof *devices;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, NULL) != CL_SUCCESS)
    return NULL;
  for (i = 0; i < n; i++)
    if (!binary && sizes[i] > 0 && xmc_root_device(devices[i]) == device) {
      *size = sizes[i];
      binary = binaries[i] = malloc(sizes[i]); /* the others stay NULL, so that they are not written */
    }
  if (binary &&
      clGetProgramInfo(program, CL_PROGRAM_BINARIES, n * sizeof *binaries, binaries, NULL) == CL_SUCCESS)
    return binary;
  free(binary);
  return NULL;
}

/* Keeps the binary of a built program, if the driver gives one. */
static void xmc_keep_binary(cl_device_id device, const char *options, cl_program program) {
  xmc_binary *b = calloc(1, sizeof *b);
  if (b)
    b->bytes = xmc_read_binary(device, program, &b->size);
  if (!b || !b->bytes) {
    free(b);
    return;
  }
  b->device = device;
  strcpy(b->options, options);
  pthread_mutex_lock(&xmc_binaries_lock);
  b->next = xmc_binaries;
  xmc_binaries = b;
  pthread_mutex_unlock(&xmc_binaries_lock);
}

static cl_program xmc_from_binary(cl_context context, cl_device_id device, const xmc_binary *b) {
  const unsigned char *bytes = b->bytes;
  cl_int status, loaded;
  cl_program program = clCreateProgramWithBinary(context, 1, &device, &b->size, &bytes, &loaded, &status);
  if (status == CL_SUCCESS)
    status = clBuildProgram(program, 1, &device, b->options, NULL, NULL);
  if (status == CL_SUCCESS)
    return program;
  if (program)
    clReleaseProgram(program);
  return NULL;
}

cl_int xmc_build_helpers(cl_context context, cl_device_id device, const char *options, cl_program *program,
                         char *log, size_t log_bytes) {
  cl_device_id root = xmc_root_device(device);
  xmc_binary *binary = xmc_find_binary(root, options);
  cl_int status;
  *program = binary ? xmc_from_binary(context, device, binary) : NULL;
  if (*program)
    return CL_SUCCESS;
  status = xmc_build(context, device, xmc_source_kernels, options, program, log, log_bytes);
  if (status == CL_SUCCESS && !binary)
    xmc_keep_binary(root, options, *program);
  return status;
}
