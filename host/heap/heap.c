/* SPDX-License-Identifier: MIT */
/* Creation, reset and release of a heap: an arena, the program that initialises it, and a count of references. */
#include "internal.h"
#include "layout.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Opens the gate for good if host threads and kernels see each other's atomics, so that both may use the arena at the same time. */
static void xmc_open_to_host(xmc_heap heap) {
  heap->host_always = heap->settings.backing == XMC_BACKING_SVM_FINE &&
                      (heap->probe.svm & CL_DEVICE_SVM_ATOMICS) &&
                      (heap->probe.svm_scope || !heap->probe.gpu);
  if (heap->host_always)
    xmc_gate_open(&heap->gate, heap->memory.svm);
}

/* ---- the arena's contents ---- */

static cl_int xmc_launch(xmc_heap heap, cl_command_queue queue, const char *name, size_t items,
                         const cl_event *after, cl_event *event) {
  cl_int status;
  cl_kernel kernel = clCreateKernel(heap->helpers, name, &status);
  if (status != CL_SUCCESS)
    return status;
  status = xmc_arena_set_arg(heap, kernel, 0);
  if (status == CL_SUCCESS)
    status = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, after ? 1 : 0, after, event);
  clReleaseKernel(kernel);
  return status;
}

/* Returns a number that debug headers hold. It differs from earlier ones, so that headers which this heap, or another one in the same
 * memory, wrote before are not accepted any more. */
static xmc_u32 xmc_new_life(xmc_heap heap) {
  static atomic_uint lives;
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  return (xmc_u32)now.tv_nsec ^ (xmc_u32)now.tv_sec * 2654435769u ^ (xmc_u32)(uintptr_t)heap ^
         atomic_fetch_add(&lives, 1) * 2246822519u;
}

/* Writes the header, then the tables, then the magic; each step waits for the one before, in any kind of queue. Keeps the header
 * as the kernels left it, because they align page 0. */
static cl_int xmc_initialise(xmc_heap heap, cl_command_queue queue) {
  unsigned char header[XMC_HEADER_BYTES] = {0};
  size_t items = (size_t)heap->probe.units * (heap->probe.gpu ? 2048u : 64u);
  cl_event tables = NULL;
  cl_int status;
  if (heap->settings.debug)
    heap->initial.life = xmc_new_life(heap);
  memcpy(header, &heap->initial, sizeof heap->initial);
  status = xmc_arena_write(heap, queue, 0, sizeof header, header);
  if (status == CL_SUCCESS)
    status = xmc_launch(heap, queue, "xmc_init", items, NULL, &tables);
  if (status == CL_SUCCESS)
    status = xmc_launch(heap, queue, "xmc_init_done", 1, &tables, NULL);
  if (tables)
    clReleaseEvent(tables);
  if (status == CL_SUCCESS)
    status = xmc_arena_read(heap, queue, 0, sizeof heap->header, &heap->header);
  if (status == CL_SUCCESS &&
      (heap->header.magic != XMC_MAGIC_OF(heap->settings.debug) || heap->header.bytes != heap->initial.bytes))
    status = XMC_DEVICE_UNUSABLE;
  return status;
}

/* ---- creation and the end ---- */

static void xmc_destroy(xmc_heap heap) {
  heap->tag = 0;
  pthread_mutex_destroy(&heap->lock);
  pthread_mutex_destroy(&heap->event_lock);
  pthread_mutex_destroy(&heap->memory_lock);
  if (heap->queue)
    clFinish(heap->queue);
  xmc_memory_release(heap->context, &heap->memory);
  if (heap->helpers)
    clReleaseProgram(heap->helpers);
  if (heap->queue)
    clReleaseCommandQueue(heap->queue);
  if (heap->device)
    xmc_release_device(heap->device);
  if (heap->context)
    clReleaseContext(heap->context);
  free(heap);
  xmc_memory_free_unused();
}

/* Takes over the geometry of an image. A reset then aligns page 0 anew. */
static cl_int xmc_plan_as(xmc_heap heap, const xmcHeap *header) {
  if (header->bytes > heap->probe.max_bytes)
    return XMC_HEAP_TOO_LARGE;
  heap->header = *header;
  xmc_copy_geometry(&heap->initial, header);
  heap->initial.magic = 0;
  heap->initial.data = xmc_layout_tables_end(header);
  return CL_SUCCESS;
}

static cl_int xmc_create(xmc_heap heap, size_t bytes, int device_number, const xmc_image *image) {
  cl_int status = xmc_probe_device(heap->context, heap->device, &heap->probe);
  if (status != CL_SUCCESS)
    return status;
  status = xmc_check_backing(&heap->probe, &heap->settings);
  if (status != CL_SUCCESS)
    return status;
  status = image ? xmc_plan_as(heap, image->header)
                 : xmc_plan(&heap->probe, &heap->settings, bytes, &heap->initial);
  if (status != CL_SUCCESS)
    return status;
  heap->initial.joins = heap->probe.simt ? XMC_JOINS_NEVER : 0; /* their kernels free no joined block */
  if (!image)
    heap->header = heap->initial;
  xmc_write_options(&heap->probe, &heap->settings, heap->options);
  heap->queue = clCreateCommandQueue(heap->context, heap->device, 0, &status);
  if (status != CL_SUCCESS)
    return status;
  status = xmc_build_helpers(heap->context, heap->device, heap->options, &heap->helpers, NULL, 0);
  if (status != CL_SUCCESS)
    return status == CL_BUILD_PROGRAM_FAILURE ? XMC_DEVICE_UNUSABLE : status;
  xmc_write_own_places(&heap->header, &heap->probe, heap->options);
  xmc_write_device(device_number, heap->options);
  status = xmc_memory_create(heap, bytes, heap->settings.max_bytes, &heap->memory);
  atomic_store(&heap->bytes, bytes);
  if (status == CL_SUCCESS)
    status = image ? image->fill(heap, image->data) : xmc_initialise(heap, heap->queue);
  if (status == CL_SUCCESS && !image) /* a reset may move page 0 of a loaded heap */
    xmc_write_geometry(&heap->header, heap->geometry);
  if (status == CL_SUCCESS)
    xmc_open_to_host(heap);
  return status;
}

xmc_heap xmc_make_heap(cl_context context, cl_device_id device, const xmc_heap_properties *properties,
                       size_t bytes, const xmc_image *image, cl_int *errcode_ret) {
  xmc_heap heap = NULL;
  xmc_settings settings;
  int number = -1;
  cl_int status = context ? xmc_find_device(context, device, &number) : CL_INVALID_CONTEXT;
  if (status == CL_SUCCESS)
    status = xmc_read_properties(properties, image, &settings);
  if (status != CL_SUCCESS)
    goto cleanup;
  heap = calloc(1, sizeof *heap); /* zeros: no callback, no event reported */
  status = CL_OUT_OF_HOST_MEMORY;
  if (!heap)
    goto cleanup;
  atomic_init(&heap->references, 1);
  pthread_mutex_init(&heap->lock, NULL);
  pthread_mutex_init(&heap->event_lock, NULL);
  pthread_mutex_init(&heap->memory_lock, NULL);
  heap->tag = XMC_HEAP_TAG;
  heap->settings = settings;
  status = clRetainContext(context);
  if (status != CL_SUCCESS)
    goto cleanup;
  heap->context = context;
  status = xmc_retain_device(device);
  if (status != CL_SUCCESS)
    goto cleanup;
  heap->device = device;
  status = xmc_create(heap, bytes, number, image);
cleanup:
  if (status != CL_SUCCESS && heap) {
    xmc_destroy(heap);
    heap = NULL;
  }
  if (errcode_ret)
    *errcode_ret = status;
  return heap;
}

xmc_heap xmcCreateHeap(cl_context context, cl_device_id device, const xmc_heap_properties *properties,
                       size_t bytes, cl_int *errcode_ret) {
  return xmc_make_heap(context, device, properties, bytes, NULL, errcode_ret);
}

cl_int xmc_check_handle(xmc_heap heap) {
  return heap && heap->tag == XMC_HEAP_TAG ? CL_SUCCESS : XMC_INVALID_HEAP;
}

cl_int xmcRetainHeap(xmc_heap heap) {
  cl_int status = xmc_check_handle(heap);
  if (status == CL_SUCCESS)
    atomic_fetch_add_explicit(&heap->references, 1, memory_order_relaxed);
  return status;
}

cl_int xmcReleaseHeap(xmc_heap heap) {
  cl_command_queue queue = NULL;
  cl_int status = xmc_check_handle(heap);
  cl_uint seen;
  if (status != CL_SUCCESS)
    return status;
  seen = atomic_load_explicit(&heap->references, memory_order_relaxed);
  do
    if (seen == 1 && xmc_is_mapped(heap))
      return XMC_HEAP_MAPPED;
  while (!atomic_compare_exchange_weak_explicit(&heap->references, &seen, seen - 1, memory_order_acq_rel,
                                                memory_order_relaxed));
  if (seen == 1) {
    if (xmc_lock_heap(heap, &queue) == CL_SUCCESS) {
      xmc_look_for_events(heap, queue);
      xmc_unlock_heap(heap);
    }
    xmc_show_at_release(heap);
    xmc_destroy(heap);
  }
  return CL_SUCCESS;
}

cl_int xmcResetHeap(xmc_heap heap, cl_command_queue queue) {
  xmcHeap *arena;
  cl_int status = xmc_lock_heap(heap, &queue);
  if (status != CL_SUCCESS)
    return status;
  if (heap->mapped) {
    status = XMC_HEAP_MAPPED;
  } else {
    xmc_look_for_events(heap, queue);
    xmc_forget_events(heap);
    arena = xmc_gate_close(&heap->gate); /* it is open only if host calls need no map */
    /* The helpers are built for the heap's own device; the queue may be of another sub-device. */
    status = xmc_initialise(heap, heap->queue);
    xmc_gate_open(&heap->gate, arena);
  }
  xmc_unlock_heap(heap);
  return status;
}
