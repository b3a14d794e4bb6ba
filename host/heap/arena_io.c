/* SPDX-License-Identifier: MIT */
/* Access to the arena's bytes, which lie in a buffer, or in shared virtual memory with or without a buffer made of it. */
#include "internal.h"
#include <string.h>

void xmc_copy_geometry(xmcHeap *to, const xmcHeap *from) {
  memcpy(to, from, XMC_GEOMETRY_BYTES);
  memcpy((char *)to + XMC_GEOMETRY_RING, (const char *)from + XMC_GEOMETRY_RING,
         sizeof *to - XMC_GEOMETRY_RING);
}

int xmc_same_geometry(const xmcHeap *a, const xmcHeap *b) {
  return memcmp(a, b, XMC_GEOMETRY_BYTES) == 0 &&
         memcmp((const char *)a + XMC_GEOMETRY_RING, (const char *)b + XMC_GEOMETRY_RING,
                sizeof *a - XMC_GEOMETRY_RING) == 0;
}

int xmc_is_geometry_of(xmc_heap heap, const xmcHeap *header) {
  return xmc_same_geometry(header, &heap->header);
}

cl_int xmc_arena_queue(xmc_heap heap, cl_command_queue queue, cl_command_queue *use) {
  cl_context context = NULL;
  cl_device_id device = NULL;
  cl_int status = xmc_check_handle(heap);
  if (status != CL_SUCCESS)
    return status;
  *use = queue ? queue : heap->queue;
  if (!queue)
    return CL_SUCCESS;
  status = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  if (status == CL_SUCCESS)
    status = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
  if (status != CL_SUCCESS)
    return status;
  return context == heap->context && xmc_same_device(device, heap->device) ? CL_SUCCESS : XMC_HEAP_MISMATCH;
}

/* *queue gets the queue to use for the bytes [offset, offset + bytes), after all its commands have ended. */
static cl_int xmc_arena_begin(xmc_heap heap, cl_command_queue *queue, xmc_u64 offset, xmc_u64 bytes) {
  cl_int status = xmc_arena_queue(heap, *queue, queue);
  if (status != CL_SUCCESS)
    return status;
  if (offset > heap->header.bytes || bytes > heap->header.bytes - offset)
    return CL_INVALID_VALUE;
  return clFinish(*queue);
}

/* Returns the mapped arena, or NULL if OpenCL's copies must be used. The host itself reads and writes a mapped arena, because OpenCL leaves
 * copies from and to mapped memory undefined. */
static char *xmc_arena_on_host(xmc_heap heap) { return heap->host_always ? NULL : (char *)heap->mapped; }

/* Copies memory to which host calls, and users of blocks, may write at the same time. So each word is read once and whole, but words from
 * before and after a write may be mixed. ThreadSanitizer must not report this intended race. */
__attribute__((no_sanitize_thread)) static void copy_while_in_use(void *to, const char *from, size_t bytes) {
  uint64_t word;
  size_t at = 0;
  for (; (uintptr_t)from % sizeof word == 0 && at + sizeof word <= bytes; at += sizeof word) {
    word = __atomic_load_n((const uint64_t *)(from + at), __ATOMIC_RELAXED);
    memcpy((char *)to + at, &word, sizeof word);
  }
  for (; at < bytes; at++)
    ((char *)to)[at] = __atomic_load_n(from + at, __ATOMIC_RELAXED);
}

cl_int xmc_arena_read(xmc_heap heap, cl_command_queue queue, xmc_u64 offset, xmc_u64 bytes, void *to) {
  cl_int status = xmc_arena_begin(heap, &queue, offset, bytes);
  if (status != CL_SUCCESS || bytes == 0)
    return status;
  if (xmc_arena_on_host(heap)) {
    copy_while_in_use(to, xmc_arena_on_host(heap) + offset, (size_t)bytes);
    return CL_SUCCESS;
  }
  if (heap->memory.svm)
    return clEnqueueSVMMemcpy(queue, CL_TRUE, to, (char *)heap->memory.svm + offset, (size_t)bytes, 0, NULL,
                              NULL);
  return clEnqueueReadBuffer(queue, heap->memory.buffer, CL_TRUE, (size_t)offset, (size_t)bytes, to, 0, NULL,
                             NULL);
}

/* Waits for an event instead of a blocking write: Intel's runtime for CPUs returns from that before other queues see the data. */
cl_int xmc_arena_write(xmc_heap heap, cl_command_queue queue, xmc_u64 offset, xmc_u64 bytes,
                       const void *from) {
  cl_event written = NULL;
  cl_int status = xmc_arena_begin(heap, &queue, offset, bytes);
  if (status != CL_SUCCESS || bytes == 0)
    return status;
  if (xmc_arena_on_host(heap)) {
    memcpy(xmc_arena_on_host(heap) + offset, from, (size_t)bytes);
    return CL_SUCCESS;
  }
  if (heap->memory.svm)
    status = clEnqueueSVMMemcpy(queue, CL_FALSE, (char *)heap->memory.svm + offset, from, (size_t)bytes, 0,
                                NULL, &written);
  else
    status = clEnqueueWriteBuffer(queue, heap->memory.buffer, CL_FALSE, (size_t)offset, (size_t)bytes, from,
                                  0, NULL, &written);
  if (status != CL_SUCCESS)
    return status;
  status = clWaitForEvents(1, &written);
  clReleaseEvent(written);
  return status;
}

cl_int xmc_arena_map(xmc_heap heap, cl_command_queue queue, xmcHeap **arena) {
  size_t bytes;
  cl_int status = xmc_arena_begin(heap, &queue, 0, 0);
  if (status != CL_SUCCESS)
    return status;
  /* Map and unmap always use the heap's own queue: if they are in queues of two sub-devices, Intel's CPU runtime lets a
   * kernel's writes arrive after the kernel has ended (seen with 2026.2). */
  queue = heap->queue;
  bytes = (size_t)heap->header.bytes;
  if (!heap->memory.svm) {
    *arena = clEnqueueMapBuffer(queue, heap->memory.buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0,
                                NULL, NULL, &status);
    return status;
  }
  *arena = heap->memory.svm;
  if (heap->settings.backing == XMC_BACKING_SVM_FINE)
    return CL_SUCCESS;
  return clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, heap->memory.svm, bytes, 0, NULL, NULL);
}

cl_int xmc_arena_unmap(xmc_heap heap, cl_command_queue queue, xmcHeap *arena) {
  cl_int status = xmc_arena_begin(heap, &queue, 0, 0);
  if (status != CL_SUCCESS)
    return status;
  queue = heap->queue;
  if (!heap->memory.svm)
    status = clEnqueueUnmapMemObject(queue, heap->memory.buffer, arena, 0, NULL, NULL);
  else if (heap->settings.backing != XMC_BACKING_SVM_FINE)
    status = clEnqueueSVMUnmap(queue, heap->memory.svm, 0, NULL, NULL);
  return status == CL_SUCCESS ? clFinish(queue) : status;
}

cl_int xmc_arena_set_arg(xmc_heap heap, cl_kernel kernel, cl_uint index) {
  if (!heap->memory.buffer)
    return clSetKernelArgSVMPointer(kernel, index, heap->memory.svm);
  return clSetKernelArg(kernel, index, sizeof heap->memory.buffer, &heap->memory.buffer);
}
