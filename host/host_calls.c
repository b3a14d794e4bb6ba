/* SPDX-License-Identifier: MIT */
/* Host calls: the kernels' allocator, compiled as C, on the arena as the host sees it.
 *
 *   backing                     heap->host                        calls work
 *   fine SVM with atomics       the arena, from creation on       always
 *   any other                   the arena between map and unmap   between them
 *
 * There is no second allocator: cl/xmalloc.cl with cl/platform_host.h is what runs here, each thread a
 * work-item of its own. Arenas hold no addresses, so that the host's view may lie anywhere; only alignments
 * are of real addresses.
 */
#include "internal.h"
#include "../cl/xmalloc.cl"
#include <string.h>

/* ---- map and unmap ---- */

int xmc_is_mapped(xmc_heap heap) {
  int mapped;
  pthread_mutex_lock(&heap->map_lock);
  mapped = heap->mapped;
  pthread_mutex_unlock(&heap->map_lock);
  return mapped;
}

/* The header must be the heap's before code that believes it may run on it. */
static cl_int xmc_map_now(xmc_heap heap, cl_command_queue queue) {
  xmcHeap *arena = NULL;
  cl_int status = xmc_arena_map(heap, queue, &arena);
  if (status != CL_SUCCESS)
    return status;
  if (!xmc_is_geometry_of(heap, arena)) {
    xmc_arena_unmap(heap, queue, arena);
    return XMC_HEAP_CORRUPT;
  }
  atomic_store_explicit(&heap->host, arena, memory_order_release);
  heap->mapped = 1;
  return CL_SUCCESS;
}

cl_int xmcMapHeap(xmc_heap heap, cl_command_queue queue) {
  cl_int status = xmc_arena_queue(heap, queue, &queue);
  if (status != CL_SUCCESS)
    return status;
  pthread_mutex_lock(&heap->map_lock);
  status = heap->mapped ? XMC_HEAP_MAPPED : xmc_map_now(heap, queue);
  pthread_mutex_unlock(&heap->map_lock);
  if (status == CL_SUCCESS)
    xmc_look_for_events(heap, queue);
  return status;
}

cl_int xmcUnmapHeap(xmc_heap heap, cl_command_queue queue) {
  cl_int status = xmc_arena_queue(heap, queue, &queue);
  if (status != CL_SUCCESS)
    return status;
  pthread_mutex_lock(&heap->map_lock);
  status = heap->mapped ? xmc_arena_unmap(heap, queue, atomic_load(&heap->host)) : XMC_HEAP_NOT_MAPPED;
  if (status == CL_SUCCESS) {
    heap->mapped = 0;
    if (!heap->host_always)
      atomic_store(&heap->host, NULL);
  }
  pthread_mutex_unlock(&heap->map_lock);
  if (status == CL_SUCCESS)
    xmc_look_for_events(heap, queue);
  return status;
}

/* ---- the calls ---- */

/* The arena, or NULL and why not */
static xmcHeap *xmc_host_arena(xmc_heap heap, cl_int *status) {
  xmcHeap *arena = NULL;
  *status = xmc_check_handle(heap);
  if (*status == CL_SUCCESS) {
    arena = atomic_load_explicit(&heap->host, memory_order_acquire);
    if (!arena)
      *status = XMC_HEAP_NOT_MAPPED;
  }
  return arena;
}

/* … for calls on blocks, which in a debug heap are not what this build takes them for */
static xmcHeap *xmc_host_plain(xmc_heap heap, cl_int *status) {
  xmcHeap *arena = xmc_host_arena(heap, status);
  if (!arena || heap->settings.debug == 0)
    return arena;
  *status = XMC_HEAP_IS_DEBUG;
  return NULL;
}

/* Hands a result to the caller; NULL is a failure where something was asked for. */
static void *xmc_host_result(void *block, int wanted, cl_int status, cl_int *errcode_ret) {
  if (status == CL_SUCCESS && !block && wanted)
    status = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  if (errcode_ret)
    *errcode_ret = status;
  return block;
}

void *xmcHostMalloc(xmc_heap heap, size_t size, cl_int *errcode_ret) {
  cl_int status;
  xmcHeap *arena = xmc_host_plain(heap, &status);
  return xmc_host_result(arena ? xmcMalloc(arena, size) : NULL, size != 0, status, errcode_ret);
}

void *xmcHostCalloc(xmc_heap heap, size_t count, size_t size, cl_int *errcode_ret) {
  cl_int status;
  xmcHeap *arena = xmc_host_plain(heap, &status);
  return xmc_host_result(arena ? xmcCalloc(arena, count, size) : NULL, count && size, status, errcode_ret);
}

void *xmcHostAlignedAlloc(xmc_heap heap, size_t alignment, size_t size, cl_int *errcode_ret) {
  cl_int status;
  xmcHeap *arena = xmc_host_plain(heap, &status);
  int wanted = size != 0 || alignment == 0 || (alignment & (alignment - 1u)) != 0;
  return xmc_host_result(arena ? xmcAlignedAlloc(arena, alignment, size) : NULL, wanted, status, errcode_ret);
}

void *xmcHostRealloc(xmc_heap heap, void *ptr, size_t size, cl_int *errcode_ret) {
  cl_int status;
  xmcHeap *arena = xmc_host_plain(heap, &status);
  if (arena && ptr && xmcUsableSize(arena, ptr) == 0) {
    xmcFree(arena, ptr); /* counts it */
    return xmc_host_result(NULL, 0, CL_INVALID_VALUE, errcode_ret);
  }
  return xmc_host_result(arena ? xmcRealloc(arena, ptr, size) : NULL, size != 0, status, errcode_ret);
}

cl_int xmcHostFree(xmc_heap heap, void *ptr) {
  cl_int status;
  xmcHeap *arena = xmc_host_plain(heap, &status);
  if (arena)
    xmcFree(arena, ptr);
  return status;
}

size_t xmcHostUsableSize(xmc_heap heap, void *ptr) {
  cl_int status;
  xmcHeap *arena = xmc_host_plain(heap, &status);
  return arena ? xmcUsableSize(arena, ptr) : 0;
}

xmcRef xmcHostToRef(xmc_heap heap, const void *ptr) {
  cl_int status;
  xmcHeap *arena = xmc_host_arena(heap, &status);
  uintptr_t offset = (uintptr_t)ptr - (uintptr_t)arena;
  return arena && ptr && offset < heap->header.bytes ? offset : 0;
}

void *xmcHostFromRef(xmc_heap heap, xmcRef ref) {
  cl_int status;
  xmcHeap *arena = xmc_host_arena(heap, &status);
  return arena && ref && ref < heap->header.bytes ? (char *)arena + ref : NULL;
}

cl_int xmcCheckRef32(xmc_heap heap) {
  cl_int status = xmc_check_handle(heap);
  if (status != CL_SUCCESS)
    return status;
  return heap->header.bytes <= XMC_REF32_BYTES ? CL_SUCCESS : XMC_HEAP_TOO_LARGE;
}

xmcRef32 xmcHostToRef32(xmc_heap heap, const void *ptr) { return xmc_ref32(xmcHostToRef(heap, ptr)); }

void *xmcHostFromRef32(xmc_heap heap, xmcRef32 ref) { return xmcHostFromRef(heap, (xmcRef)ref << 4); }
