/* What a heap tells of itself, and whether a kernel is for it. */
#include "internal.h"
#include "layout.h"
#include <stdlib.h>
#include <string.h>

static cl_int xmc_answer(const void *from, size_t bytes, size_t size, void *value, size_t *size_ret) {
  if (size_ret)
    *size_ret = bytes;
  if (!value)
    return CL_SUCCESS;
  if (size < bytes)
    return CL_INVALID_VALUE;
  memcpy(value, from, bytes);
  return CL_SUCCESS;
}

cl_int xmcGetHeapInfo(xmc_heap heap, xmc_heap_info name, size_t size, void *value, size_t *size_ret) {
  xmc_heap_properties property;
  size_t bytes;
  cl_bool flag;
  cl_uint count;
  cl_mem buffer;
  cl_int status = xmc_check_handle(heap);
  if (status != CL_SUCCESS)
    return status;
#define XMC_ANSWER(x) xmc_answer(&(x), sizeof(x), size, value, size_ret)
  switch (name) {
  case XMC_HEAP_BACKING:
    property = heap->settings.backing;
    return XMC_ANSWER(property);
  case XMC_HEAP_COALESCING:
    property = heap->settings.coalescing;
    return XMC_ANSWER(property);
  case XMC_HEAP_FIFOS:
    property = (xmc_heap_properties)heap->header.slots;
    if (heap->settings.fifos != XMC_FIFOS_DEFAULT)
      property = (xmc_heap_properties)heap->settings.fifos;
    return XMC_ANSWER(property);
  case XMC_HEAP_FIFO_START:
    property = (xmc_heap_properties)heap->settings.fifo_start;
    return XMC_ANSWER(property);
  case XMC_HEAP_DEBUG:
    property = heap->settings.debug;
    return XMC_ANSWER(property);
  case XMC_HEAP_REFERENCE_COUNT:
    count = atomic_load(&heap->references);
    return XMC_ANSWER(count);
  case XMC_HEAP_CONTEXT:
    return XMC_ANSWER(heap->context);
  case XMC_HEAP_DEVICE:
    return XMC_ANSWER(heap->device);
  case XMC_HEAP_BYTES:
    bytes = (size_t)heap->header.bytes;
    return XMC_ANSWER(bytes);
  case XMC_HEAP_METADATA_BYTES:
    bytes = (size_t)xmc_layout_metadata_bytes(&heap->header);
    return XMC_ANSWER(bytes);
  case XMC_HEAP_MEM_OBJECT:
    buffer = heap->svm ? NULL : heap->buffer;
    return XMC_ANSWER(buffer);
  case XMC_HEAP_ARGUMENT:
    return XMC_ANSWER(heap->buffer);
  case XMC_HEAP_SVM_POINTER:
    return XMC_ANSWER(heap->svm);
  case XMC_HEAP_DEFERRED_RELEASE:
    flag = heap->buffer != NULL;
    return XMC_ANSWER(flag);
  case XMC_HEAP_SUB_GROUPS:
    flag = heap->probe.subgroups != 0;
    return XMC_ANSWER(flag);
  case XMC_HEAP_HOST_ALWAYS:
    flag = heap->host_always != 0;
    return XMC_ANSWER(flag);
  case XMC_HEAP_DEFAULTS:
    flag = heap->probe.program_scope != 0;
    return XMC_ANSWER(flag);
  case XMC_HEAP_PATH:
    return xmc_answer(heap->probe.path, strlen(heap->probe.path) + 1, size, value, size_ret);
  case XMC_HEAP_WHY:
    return xmc_answer(heap->probe.why, strlen(heap->probe.why) + 1, size, value, size_ret);
  default:
    return CL_INVALID_VALUE;
  }
#undef XMC_ANSWER
}

/* The last `-Dname=` in options, behind the `=`; NULL if there is none */
static const char *xmc_find_macro(const char *options, const char *macro, size_t n) {
  const char *at, *last = NULL;
  for (at = options; (at = strstr(at, "-DXMC_")) != NULL; at += 6)
    if (strncmp(at, macro, n) == 0)
      last = at + n;
  return last;
}

/* Was the program built for any heap, or for those of this geometry? */
static int xmc_geometry_agrees(xmc_heap heap, const char *program_options) {
  static const char macro[] = "-DXMC_GEOMETRY=";
  const char *built = xmc_find_macro(program_options, macro, strlen(macro));
  unsigned long long number = built ? strtoull(built, NULL, 10) : 0;
  return !number || number == heap->header.geometry;
}

/* Does every macro of the library that a program was built with have the value that the heap asks for? */
static int xmc_options_agree(const char *heap_options, const char *program_options) {
  const char *macro = heap_options;
  while ((macro = strstr(macro, "-DXMC_")) != NULL) {
    size_t name = strcspn(macro, "=") + 1;
    const char *wanted = macro + name, *built = xmc_find_macro(program_options, macro, name);
    size_t n = strcspn(wanted, " ");
    if (built && (strncmp(wanted, built, n) != 0 || strcspn(built, " \t\n") != n))
      return 0;
    macro = wanted;
  }
  return 1;
}

static cl_int xmc_check_program(xmc_heap heap, cl_program program) {
  char *options;
  size_t bytes = 0;
  cl_int status = clGetProgramBuildInfo(program, heap->device, CL_PROGRAM_BUILD_OPTIONS, 0, NULL, &bytes);
  if (status == CL_INVALID_DEVICE)
    return XMC_HEAP_MISMATCH;
  if (status != CL_SUCCESS)
    return status;
  options = calloc(1, bytes + 1);
  if (!options)
    return CL_OUT_OF_HOST_MEMORY;
  status = clGetProgramBuildInfo(program, heap->device, CL_PROGRAM_BUILD_OPTIONS, bytes, options, NULL);
  if (status == CL_SUCCESS &&
      (!xmc_options_agree(heap->options, options) || !xmc_geometry_agrees(heap, options)))
    status = XMC_HEAP_MISMATCH;
  free(options);
  return status;
}

cl_int xmcSetKernelArgHeap(cl_kernel kernel, cl_uint index, xmc_heap heap) {
  cl_context context = NULL;
  cl_program program = NULL;
  cl_int status = xmc_check_handle(heap);
  if (status == CL_SUCCESS)
    status = clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof context, &context, NULL);
  if (status == CL_SUCCESS)
    status = clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
  if (status != CL_SUCCESS)
    return status;
  if (context != heap->context)
    return XMC_HEAP_MISMATCH;
  status = xmc_check_program(heap, program);
  return status == CL_SUCCESS ? xmc_arena_set_arg(heap, kernel, index) : status;
}
