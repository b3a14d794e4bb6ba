/* SPDX-License-Identifier: MIT */
/* The memory of an arena: a buffer or an SVM allocation.
 *
 * Releasing a heap with work queued. OpenCL keeps a buffer until the commands that use it have ended, but
 * clSVMFree frees at once. So if the probe found that kernels see a buffer made of an SVM pointer (CL_MEM_USE_HOST_PTR) at the
 * same address, an SVM arena is passed to kernels as such a buffer; OpenCL tracks the buffer's use, and the SVM memory is freed
 * after the buffer's end. Otherwise kernels get the SVM pointer itself, and the info XMC_HEAP_DEFERRED_RELEASE is CL_FALSE.
 *
 * Growing without a move. In fine-grained SVM on CPU devices the unused part of an allocation costs addresses only, because
 * the operating system gives memory to a page when it is first accessed. There a heap that can grow gets an allocation of its largest
 * size at once. Elsewhere a heap that grows moves to another allocation (grow.c).
 */
#include "internal.h"
#include <stdlib.h>

typedef struct xmc_svm_owner {
  cl_context context;
  void *svm;
  struct xmc_svm_owner *next;
} xmc_svm_owner;

/* SVM arenas whose buffers were destroyed, so that no command uses them any more. The next thread that creates or releases a heap
 * frees them, because a callback, which runs on a thread of the OpenCL implementation, must not. */
static pthread_mutex_t xmc_unused_lock = PTHREAD_MUTEX_INITIALIZER;
static xmc_svm_owner *xmc_unused;

static void CL_CALLBACK xmc_svm_is_unused(cl_mem buffer, void *data) {
  xmc_svm_owner *owner = data;
  (void)buffer;
  pthread_mutex_lock(&xmc_unused_lock);
  owner->next = xmc_unused;
  xmc_unused = owner;
  pthread_mutex_unlock(&xmc_unused_lock);
}

void xmc_memory_free_unused(void) {
  xmc_svm_owner *owner, *next;
  pthread_mutex_lock(&xmc_unused_lock);
  owner = xmc_unused;
  xmc_unused = NULL;
  pthread_mutex_unlock(&xmc_unused_lock);
  for (; owner; owner = next) {
    next = owner->next;
    clSVMFree(owner->context, owner->svm);
    clReleaseContext(owner->context);
    free(owner);
  }
}

/* Makes a buffer of the SVM allocation. The allocation is freed after the buffer was destroyed. */
static cl_int xmc_alias_svm(cl_context context, xmc_memory *memory) {
  xmc_svm_owner *owner = malloc(sizeof *owner);
  cl_int status;
  if (!owner)
    return CL_OUT_OF_HOST_MEMORY;
  status = clRetainContext(context);
  if (status != CL_SUCCESS) {
    free(owner);
    return status;
  }
  owner->context = context;
  owner->svm = memory->svm;
  memory->buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, (size_t)memory->bytes,
                                  memory->svm, &status);
  if (status == CL_SUCCESS)
    status = clSetMemObjectDestructorCallback(memory->buffer, xmc_svm_is_unused, owner);
  if (status != CL_SUCCESS) {
    if (memory->buffer)
      clReleaseMemObject(memory->buffer);
    memory->buffer = NULL;
    clReleaseContext(owner->context);
    free(owner);
  }
  return status;
}

/* The number of calls of clSVMAlloc that return NULL before the library reports a lack of memory. NVIDIA's driver (580, an H200) sometimes
 * returns NULL for fine-grained memory while other threads use the context, although memory is free; the next call succeeds. */
enum { XMC_SVM_TRIES = 4 };

static cl_int xmc_create_svm(xmc_heap heap, xmc_u64 bytes, xmc_memory *memory) {
  cl_svm_mem_flags flags = CL_MEM_READ_WRITE;
  cl_int status;
  int i;
  if (heap->settings.backing == XMC_BACKING_SVM_FINE)
    flags |= CL_MEM_SVM_FINE_GRAIN_BUFFER;
  if (heap->settings.backing == XMC_BACKING_SVM_FINE && (heap->probe.svm & CL_DEVICE_SVM_ATOMICS))
    flags |= CL_MEM_SVM_ATOMICS;
  for (i = 0; i < XMC_SVM_TRIES && !memory->svm; i++)
    memory->svm = clSVMAlloc(heap->context, flags, (size_t)bytes, 0);
  memory->bytes = bytes;
  if (!memory->svm)
    return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  status = heap->probe.svm_alias ? xmc_alias_svm(heap->context, memory) : CL_SUCCESS;
  if (status != CL_SUCCESS)
    xmc_memory_release(heap->context, memory);
  return status;
}

cl_int xmc_memory_create(xmc_heap heap, xmc_u64 bytes, xmc_u64 most, xmc_memory *memory) {
  cl_int status;
  *memory = (xmc_memory){NULL, NULL, bytes};
  if (heap->settings.backing == XMC_BACKING_BUFFER) {
    memory->buffer = clCreateBuffer(heap->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &status);
    return status;
  }
  xmc_memory_free_unused();
  most = most < heap->probe.max_bytes ? most : heap->probe.max_bytes;
  if (heap->settings.backing == XMC_BACKING_SVM_FINE && !heap->probe.gpu && most > bytes &&
      xmc_create_svm(heap, most, memory) == CL_SUCCESS)
    return CL_SUCCESS;
  return xmc_create_svm(heap, bytes, memory);
}

void xmc_memory_release(cl_context context, xmc_memory *memory) {
  if (memory->buffer)
    clReleaseMemObject(memory->buffer); /* SVM memory is freed after its buffer */
  else if (memory->svm)
    clSVMFree(context, memory->svm);
  *memory = (xmc_memory){NULL, NULL, 0};
}
