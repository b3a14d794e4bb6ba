/* SPDX-License-Identifier: MIT */
/* xmcGrowHeap: more pages for a heap whose tables have room for them (layout.c).
 *
 *   the memory has room (memory.c)    the host changes the tables in place; no address changes
 *   else                              new memory is allocated; the device copies the pages, and the host writes the tables from its
 *                                     copy, which it has changed; then the heap gets the new memory
 *
 * Until the last step of the second way the old memory is unchanged, and the heap keeps it if a step fails. After its check of the header
 * the first way has no step that can fail.
 */
#include "layout.h"
#include "inspect/walk.h"
#include <stdlib.h>

/* Enters the new pages as free ones, by the core's own steps for pages that are given back. No other thread uses the tables. */
static void xmc_grow_tables(xmcHeap *arena, xmc_u64 bytes) {
  xmc_u32 page = arena->present, i, n;
  xmc_layout_resize(arena, bytes);
  for (; page < arena->present; page += n) {
    n = XMC_SPAN_PAGES - page % XMC_SPAN_PAGES;
    if (n > arena->present - page)
      n = arena->present - page;
    xmc_run_release(arena, page, n);
    for (i = 0; i < n; i++)
      xmc_whole_add(arena, page + i); /* nothing there is watched yet */
  }
  arena->scarce &= ~XMC_SCARCE_NOW;
}

/* Enters the arena's new size and memory in the handle. The caller must hold the heap's lock. */
static void xmc_grow_handle(xmc_heap heap, xmc_u64 bytes, const xmc_memory *memory) {
  pthread_mutex_lock(&heap->memory_lock);
  xmc_layout_resize(&heap->header, bytes);
  xmc_layout_resize(&heap->initial, bytes);
  heap->memory = *memory;
  atomic_store(&heap->bytes, bytes);
  pthread_mutex_unlock(&heap->memory_lock);
}

static cl_int xmc_grow_here(xmc_heap heap, xmc_u64 bytes) {
  if (!xmc_is_geometry_of(heap, heap->memory.svm))
    return XMC_HEAP_CORRUPT;
  xmc_grow_tables(heap->memory.svm, bytes);
  xmc_grow_handle(heap, bytes, &heap->memory);
  return CL_SUCCESS;
}

/* Fills new memory: the tables from the host's copy, the pages from the old memory. */
static cl_int xmc_grow_copy(xmc_heap heap, const xmcHeap *meta, const xmc_memory *to) {
  cl_command_queue queue = heap->queue; /* the caller's queue may be of another sub-device */
  size_t from = (size_t)meta->data, bytes = (size_t)heap->header.present << XMC_PAGE_SHIFT;
  cl_int status;
  if (to->svm) {
    status = clEnqueueSVMMemcpy(queue, CL_TRUE, to->svm, meta, from, 0, NULL, NULL);
    if (status == CL_SUCCESS)
      status = clEnqueueSVMMemcpy(queue, CL_TRUE, (char *)to->svm + from, (char *)heap->memory.svm + from,
                                  bytes, 0, NULL, NULL);
  } else {
    status = clEnqueueWriteBuffer(queue, to->buffer, CL_TRUE, 0, from, meta, 0, NULL, NULL);
    if (status == CL_SUCCESS)
      status = clEnqueueCopyBuffer(queue, heap->memory.buffer, to->buffer, from, from, bytes, 0, NULL, NULL);
  }
  return status == CL_SUCCESS ? clFinish(queue) : status;
}

static cl_int xmc_grow_there(xmc_heap heap, cl_command_queue queue, xmc_u64 bytes) {
  xmc_memory memory = {NULL, NULL, 0}, old = heap->memory;
  xmcHeap *meta = NULL;
  int intact = 0;
  cl_int status = xmc_walk_open(heap, queue, &meta, &intact);
  if (status == CL_SUCCESS && !intact)
    status = XMC_HEAP_CORRUPT;
  if (status == CL_SUCCESS)
    status = xmc_memory_create(heap, bytes, heap->header.max_bytes, &memory);
  if (status == CL_SUCCESS) {
    xmc_grow_tables(meta, bytes);
    status = xmc_grow_copy(heap, meta, &memory);
  }
  free(meta);
  if (status != CL_SUCCESS) {
    xmc_memory_release(heap->context, &memory);
    return status;
  }
  /* Programs for one geometry have the place of page 0 as a constant, so a reset must not align page 0 anew in the new memory. */
  if (heap->geometry[0])
    heap->initial.data = heap->header.data | XMC_DATA_STAYS;
  xmc_grow_handle(heap, bytes, &memory);
  xmc_memory_release(heap->context, &old);
  return CL_SUCCESS;
}

cl_int xmcGrowHeap(xmc_heap heap, cl_command_queue queue, size_t bytes) {
  cl_int status = xmc_lock_heap(heap, &queue);
  if (status != CL_SUCCESS)
    return status;
  if (heap->mapped)
    status = XMC_HEAP_MAPPED;
  else if (bytes < heap->header.bytes)
    status = CL_INVALID_VALUE;
  else if (bytes > heap->header.max_bytes || bytes > heap->probe.max_bytes)
    status = XMC_HEAP_TOO_LARGE;
  if (status == CL_SUCCESS && bytes > heap->header.bytes) {
    xmc_gate_close(&heap->gate); /* it is open only if host calls need no map */
    status = bytes <= heap->memory.bytes ? xmc_grow_here(heap, bytes) : xmc_grow_there(heap, queue, bytes);
    if (heap->host_always)
      xmc_gate_open(&heap->gate, heap->memory.svm);
  }
  xmc_unlock_heap(heap);
  return status;
}
