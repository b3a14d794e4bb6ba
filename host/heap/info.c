/* SPDX-License-Identifier: MIT */
/* xmcGetHeapInfo: the properties and infos of a heap. */
#include "internal.h"
#include "layout.h"
#include <string.h>

cl_int xmc_answer(const void *from, size_t bytes, size_t size, void *value, size_t *size_ret) {
  if (size_ret)
    *size_ret = bytes;
  if (!value)
    return CL_SUCCESS;
  if (size < bytes)
    return CL_INVALID_VALUE;
  memcpy(value, from, bytes);
  return CL_SUCCESS;
}

/* *value gets the value of a property that is in force. Returns 1, or 0 if the name is not a property's. */
static int xmc_property(xmc_heap heap, xmc_heap_info name, xmc_heap_properties *value) {
  switch (name) {
  case XMC_HEAP_BACKING:
    *value = heap->settings.backing;
    return 1;
  case XMC_HEAP_COALESCING:
    *value = heap->settings.coalescing;
    return 1;
  case XMC_HEAP_FIFOS:
    *value = (xmc_heap_properties)heap->initial.slots;
    if (heap->settings.fifos != XMC_FIFOS_DEFAULT)
      *value = (xmc_heap_properties)heap->settings.fifos;
    return 1;
  case XMC_HEAP_FIFO_START:
    *value = (xmc_heap_properties)heap->settings.fifo_start;
    return 1;
  case XMC_HEAP_DEBUG:
    *value = heap->settings.debug;
    return 1;
  case XMC_HEAP_MAX_BYTES:
    *value = (xmc_heap_properties)heap->initial.max_bytes;
    return 1;
  case XMC_HEAP_TRACE_BYTES:
    *value = (xmc_heap_properties)xmc_ring_bytes(heap->initial.trace_records);
    return 1;
  case XMC_HEAP_TRACE_EVERY:
    *value = (xmc_heap_properties)heap->settings.trace_every;
    return 1;
  default:
    return 0;
  }
}

/* The caller must hold memory_lock. */
static cl_int xmc_info(xmc_heap heap, xmc_heap_info name, size_t size, void *value, size_t *size_ret) {
  xmc_heap_properties property;
  size_t bytes;
  cl_bool flag;
  cl_uint count;
  cl_mem buffer;
#define XMC_ANSWER(x) xmc_answer(&(x), sizeof(x), size, value, size_ret)
  if (xmc_property(heap, name, &property))
    return XMC_ANSWER(property);
  switch (name) {
  case XMC_HEAP_REFERENCE_COUNT:
    count = atomic_load(&heap->references);
    return XMC_ANSWER(count);
  case XMC_HEAP_CONTEXT:
    return XMC_ANSWER(heap->context);
  case XMC_HEAP_DEVICE:
    return XMC_ANSWER(heap->device);
  case XMC_HEAP_BYTES:
    bytes = (size_t)heap->initial.bytes;
    return XMC_ANSWER(bytes);
  case XMC_HEAP_METADATA_BYTES:
    bytes = (size_t)xmc_layout_metadata_bytes(&heap->initial);
    return XMC_ANSWER(bytes);
  case XMC_HEAP_MEM_OBJECT:
    buffer = heap->memory.svm ? NULL : heap->memory.buffer;
    return XMC_ANSWER(buffer);
  case XMC_HEAP_ARGUMENT:
    return XMC_ANSWER(heap->memory.buffer);
  case XMC_HEAP_SVM_POINTER:
    return XMC_ANSWER(heap->memory.svm);
  case XMC_HEAP_DEFERRED_RELEASE:
    flag = heap->memory.buffer != NULL;
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

cl_int xmcGetHeapInfo(xmc_heap heap, xmc_heap_info name, size_t size, void *value, size_t *size_ret) {
  cl_int status = xmc_check_handle(heap);
  if (status != CL_SUCCESS)
    return status;
  pthread_mutex_lock(&heap->memory_lock);
  status = xmc_info(heap, name, size, value, size_ret);
  pthread_mutex_unlock(&heap->memory_lock);
  return status;
}
