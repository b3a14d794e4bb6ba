/* SPDX-License-Identifier: MIT */
/* xmcErrorString: a text for each status. */
#include "internal.h"
#include <stdio.h>

static const struct {
  cl_int status;
  const char *text;
} xmc_errors[] = {
    {XMC_HEAP_TOO_SMALL,
     "XMC_HEAP_TOO_SMALL: the heap has no room for its metadata and a few pages of 16 KiB; "
     "xmcGetHeapLimits tells how many bytes it takes"},
    {XMC_HEAP_TOO_LARGE,
     "XMC_HEAP_TOO_LARGE: the heap is larger than one allocation may be on this device "
     "(xmcGetHeapLimits tells how many bytes may), than it can grow to (XMC_HEAP_MAX_BYTES; a heap that was "
     "created without it cannot grow), or than 32-bit references reach (64 GiB)"},
    {XMC_NO_INT64_ATOMICS,
     "XMC_NO_INT64_ATOMICS: the device has no working 64-bit atomics: neither cl_khr_int64_base_atomics and "
     "cl_khr_int64_extended_atomics, nor C11 atomics at device scope, nor PTX"},
    {XMC_SVM_UNAVAILABLE, "XMC_SVM_UNAVAILABLE: the device lacks the kind of shared virtual memory that "
                          "XMC_HEAP_BACKING asks for"},
    {XMC_DEVICE_UNUSABLE,
     "XMC_DEVICE_UNUSABLE: the device does not build, or does not run correctly, what the library needs; "
     "xmcGetDeviceReport tells what failed"},
    {XMC_INVALID_HEAP, "XMC_INVALID_HEAP: NULL, not a heap, or one that was released"},
    {XMC_HEAP_CORRUPT, "XMC_HEAP_CORRUPT: the arena was damaged; xmcCheckHeap's report says what and where"},
    {XMC_HEAP_MISMATCH,
     "XMC_HEAP_MISMATCH: the program, kernel or queue is for another device, context, "
     "layout, geometry or kind of heap, or the kernel's argument is no __global xmcHeap *"},
    {XMC_HEAP_MAPPED, "XMC_HEAP_MAPPED: the heap is mapped to the host; xmcUnmapHeap comes first"},
    {XMC_HEAP_NOT_MAPPED,
     "XMC_HEAP_NOT_MAPPED: the heap is not mapped to the host; on this kind of heap host calls "
     "stand between xmcMapHeap and xmcUnmapHeap"},
    {XMC_NO_DEFAULT_HEAP,
     "XMC_NO_DEFAULT_HEAP: the device has no working variables at program scope; pass the heap to "
     "the kernel as an argument"},
    {XMC_HEAP_IS_DEBUG,
     "XMC_HEAP_IS_DEBUG: the heap was made with XMC_HEAP_DEBUG; host calls do not serve such heaps"},
    {XMC_HEAP_NOT_TRACED,
     "XMC_HEAP_NOT_TRACED: the heap was made without XMC_HEAP_TRACE_BYTES, so that nothing "
     "was recorded"},
    {XMC_FILE_UNUSABLE, "XMC_FILE_UNUSABLE: the file cannot be opened, read or written; errno says why"},
    {XMC_FILE_NOT_REGULAR, "XMC_FILE_NOT_REGULAR: the path names a folder, device, pipe or socket; heaps are "
                           "kept in regular files"},
    {XMC_FILE_FOREIGN, "XMC_FILE_FOREIGN: the file is not a heap that xmcSaveHeap wrote"},
    {XMC_FILE_VERSION,
     "XMC_FILE_VERSION: the file holds a heap of another file version, arena layout or byte order"},
    {XMC_FILE_TRUNCATED, "XMC_FILE_TRUNCATED: the file ends before the heap does"},
    {XMC_FILE_DAMAGED, "XMC_FILE_DAMAGED: a checksum is wrong, or what it protects contradicts itself"},
#define XMC_CL(name, words) \
  { name, #name ": " words }
    XMC_CL(CL_SUCCESS, "no error"),
    XMC_CL(CL_DEVICE_NOT_FOUND, "no such device"),
    XMC_CL(CL_DEVICE_NOT_AVAILABLE, "device not available"),
    XMC_CL(CL_COMPILER_NOT_AVAILABLE, "no compiler for the device"),
    XMC_CL(CL_MEM_OBJECT_ALLOCATION_FAILURE,
           "no memory on the device for the object (from xmcHostMalloc and the like: the heap has no room "
           "for the request, or the alignment is no power of two; xmcGetHeapStats tells how much room it "
           "has, and xmcGrowHeap gives it more if it was created with XMC_HEAP_MAX_BYTES)"),
    XMC_CL(CL_OUT_OF_RESOURCES, "out of resources on the device"),
    XMC_CL(CL_OUT_OF_HOST_MEMORY, "out of host memory"),
    XMC_CL(CL_PROFILING_INFO_NOT_AVAILABLE, "no profiling information"),
    XMC_CL(CL_MEM_COPY_OVERLAP, "source and destination overlap"),
    XMC_CL(CL_IMAGE_FORMAT_MISMATCH, "image formats differ"),
    XMC_CL(CL_IMAGE_FORMAT_NOT_SUPPORTED, "image format not supported"),
    XMC_CL(
        CL_BUILD_PROGRAM_FAILURE,
        "the program did not build; clGetProgramBuildInfo with CL_PROGRAM_BUILD_LOG tells why. If it says "
        "that xmalloc.cl is not found or xmcHeap unknown, make the program by xmcCreateProgramWithSource, or "
        "include xmalloc.cl and build with -I and its folder"),
    XMC_CL(CL_MAP_FAILURE, "memory could not be mapped"),
    XMC_CL(CL_MISALIGNED_SUB_BUFFER_OFFSET, "sub-buffer offset not aligned"),
    XMC_CL(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "a command waited for has failed"),
    XMC_CL(CL_COMPILE_PROGRAM_FAILURE, "program did not compile"),
    XMC_CL(CL_LINKER_NOT_AVAILABLE, "no linker for the device"),
    XMC_CL(CL_LINK_PROGRAM_FAILURE, "program did not link"),
    XMC_CL(CL_DEVICE_PARTITION_FAILED, "device could not be partitioned"),
    XMC_CL(CL_KERNEL_ARG_INFO_NOT_AVAILABLE, "no information on kernel arguments"),
    XMC_CL(CL_INVALID_VALUE, "invalid value (from xmcGrowHeap: less than the heap has)"),
    XMC_CL(CL_INVALID_DEVICE_TYPE, "invalid device type"),
    XMC_CL(CL_INVALID_PLATFORM, "invalid platform"),
    XMC_CL(CL_INVALID_DEVICE, "invalid device, or not of the context"),
    XMC_CL(CL_INVALID_CONTEXT, "invalid context"),
    XMC_CL(CL_INVALID_QUEUE_PROPERTIES, "queue properties not supported"),
    XMC_CL(CL_INVALID_COMMAND_QUEUE, "invalid command queue"),
    XMC_CL(CL_INVALID_HOST_PTR, "invalid host pointer"),
    XMC_CL(CL_INVALID_MEM_OBJECT, "invalid memory object"),
    XMC_CL(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, "invalid image format"),
    XMC_CL(CL_INVALID_IMAGE_SIZE, "invalid image size"),
    XMC_CL(CL_INVALID_SAMPLER, "invalid sampler"),
    XMC_CL(CL_INVALID_BINARY, "invalid program binary"),
    XMC_CL(CL_INVALID_BUILD_OPTIONS, "invalid build options"),
    XMC_CL(CL_INVALID_PROGRAM, "invalid program"),
    XMC_CL(CL_INVALID_PROGRAM_EXECUTABLE, "program not built for the device"),
    XMC_CL(
        CL_INVALID_KERNEL_NAME,
        "no kernel of that name (from xmcBindDefaultHeap: the program does not include xmalloc_default.cl)"),
    XMC_CL(CL_INVALID_KERNEL_DEFINITION, "kernel differs between devices"),
    XMC_CL(CL_INVALID_KERNEL, "invalid kernel"),
    XMC_CL(CL_INVALID_ARG_INDEX, "invalid argument index"),
    XMC_CL(CL_INVALID_ARG_VALUE, "invalid argument value"),
    XMC_CL(CL_INVALID_ARG_SIZE, "invalid argument size"),
    XMC_CL(CL_INVALID_KERNEL_ARGS, "a kernel argument was not set"),
    XMC_CL(CL_INVALID_WORK_DIMENSION, "invalid number of dimensions"),
    XMC_CL(CL_INVALID_WORK_GROUP_SIZE, "invalid work-group size"),
    XMC_CL(CL_INVALID_WORK_ITEM_SIZE, "invalid number of work-items"),
    XMC_CL(CL_INVALID_GLOBAL_OFFSET, "invalid global offset"),
    XMC_CL(CL_INVALID_EVENT_WAIT_LIST, "invalid list of events"),
    XMC_CL(CL_INVALID_EVENT, "invalid event"),
    XMC_CL(CL_INVALID_OPERATION, "operation not allowed"),
    XMC_CL(CL_INVALID_GL_OBJECT, "invalid OpenGL object"),
    XMC_CL(CL_INVALID_BUFFER_SIZE, "invalid buffer size"),
    XMC_CL(CL_INVALID_MIP_LEVEL, "invalid mip level"),
    XMC_CL(CL_INVALID_GLOBAL_WORK_SIZE, "invalid global work size"),
    XMC_CL(CL_INVALID_PROPERTY,
           "unknown property, given twice, or with a value it cannot have (from xmcLoadHeap: "
           "or with another value than the saved heap's)"),
    XMC_CL(CL_INVALID_IMAGE_DESCRIPTOR, "invalid image descriptor"),
    XMC_CL(CL_INVALID_COMPILER_OPTIONS, "invalid compiler options"),
    XMC_CL(CL_INVALID_LINKER_OPTIONS, "invalid linker options"),
    XMC_CL(CL_INVALID_DEVICE_PARTITION_COUNT, "invalid partition count"),
    XMC_CL(CL_INVALID_PIPE_SIZE, "invalid pipe size"),
    XMC_CL(CL_INVALID_DEVICE_QUEUE, "invalid device queue"),
    XMC_CL(CL_INVALID_SPEC_ID, "invalid specialization id"),
    XMC_CL(CL_MAX_SIZE_RESTRICTION_EXCEEDED, "size over the device's limit"),
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR: no OpenCL platform; is an ICD installed under /etc/OpenCL/vendors?"},
#undef XMC_CL
};

const char *xmcErrorString(cl_int status) {
  static _Thread_local char unknown[32];
  size_t i;
  for (i = 0; i < sizeof xmc_errors / sizeof *xmc_errors; i++)
    if (xmc_errors[i].status == status)
      return xmc_errors[i].text;
  snprintf(unknown, sizeof unknown, "unknown status %d", (int)status);
  return unknown;
}
