/* SPDX-License-Identifier: MIT */
/* Map and unmap, and who may touch the arena when.
 *
 *   xmcMapHeap, xmcUnmapHeap, xmcResetHeap, xmcSaveHeap, inspectors   hold the heap's lock: one at a time
 *   host calls                                                        hold no lock; go in by the gate and are counted
 *
 * The gate is closed before the arena is taken from host calls, by an unmap or for a reset. A call counts itself and then
 * looks for the arena; the thread that closes the gate takes the arena away and then looks at the counts. All four are
 * sequentially consistent, so either the call finds no arena or the other thread finds the call and waits for its end. Calls
 * wait for nobody, so their end comes.
 */
#include "internal.h"
#include <sched.h>

/* ---- the lock ---- */

cl_int xmc_lock_heap(xmc_heap heap, cl_command_queue *queue) {
  cl_int status = xmc_arena_queue(heap, *queue, queue);
  if (status == CL_SUCCESS)
    status = clFinish(*queue); /* what is in the queue may depend on a thread that waits for the lock */
  if (status == CL_SUCCESS)
    pthread_mutex_lock(&heap->lock);
  return status;
}

void xmc_unlock_heap(xmc_heap heap) {
  const xmc_news news = heap->news;
  heap->news.kinds = 0;
  pthread_mutex_unlock(&heap->lock);
  xmc_tell_news(heap, &news);
}

int xmc_is_mapped(xmc_heap heap) {
  int mapped;
  pthread_mutex_lock(&heap->lock);
  mapped = heap->mapped != NULL;
  pthread_mutex_unlock(&heap->lock);
  return mapped;
}

xmc_u64 xmc_geometry_now(xmc_heap heap) {
  xmc_u64 number;
  pthread_mutex_lock(&heap->lock);
  number = heap->header.geometry;
  pthread_mutex_unlock(&heap->lock);
  return number;
}

/* ---- the gate ---- */

void xmc_gate_open(xmc_gate *gate, xmcHeap *arena) { atomic_store(&gate->arena, arena); }

xmcHeap *xmc_gate_close(xmc_gate *gate) {
  xmcHeap *arena = atomic_exchange(&gate->arena, NULL);
  unsigned i;
  for (i = 0; i < XMC_GATE_COUNTS; i++)
    while (atomic_load(&gate->counts[i].inside) != 0)
      sched_yield();
  return arena;
}

/* ---- map and unmap ---- */

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
  heap->mapped = arena;
  if (!heap->host_always)
    xmc_gate_open(&heap->gate, arena);
  return CL_SUCCESS;
}

static cl_int xmc_unmap_now(xmc_heap heap, cl_command_queue queue) {
  cl_int status;
  if (!heap->host_always)
    xmc_gate_close(&heap->gate);
  status = xmc_arena_unmap(heap, queue, heap->mapped);
  if (status == CL_SUCCESS)
    heap->mapped = NULL;
  else if (!heap->host_always)
    xmc_gate_open(&heap->gate, heap->mapped);
  return status;
}

cl_int xmcMapHeap(xmc_heap heap, cl_command_queue queue) {
  cl_int status = xmc_lock_heap(heap, &queue);
  if (status != CL_SUCCESS)
    return status;
  status = heap->mapped ? XMC_HEAP_MAPPED : xmc_map_now(heap, queue);
  if (status == CL_SUCCESS)
    xmc_look_for_events(heap, queue);
  xmc_unlock_heap(heap);
  return status;
}

cl_int xmcUnmapHeap(xmc_heap heap, cl_command_queue queue) {
  cl_int status = xmc_lock_heap(heap, &queue);
  if (status != CL_SUCCESS)
    return status;
  status = heap->mapped ? xmc_unmap_now(heap, queue) : XMC_HEAP_NOT_MAPPED;
  if (status == CL_SUCCESS)
    xmc_look_for_events(heap, queue);
  xmc_unlock_heap(heap);
  return status;
}
