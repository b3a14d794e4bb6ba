/* SPDX-License-Identifier: MIT */
/* Map and unmap, and the rules which thread may access the arena when.
 *
 *   xmcMapHeap, xmcUnmapHeap, xmcResetHeap, xmcSaveHeap, inspectors   hold the heap's lock: one at a time
 *   host calls                                                        hold no lock; enter the gate and are counted
 *
 * An unmap, a reset and a growth close the gate before they use the arena. A call counts itself and then loads the arena's address; the
 * thread that closes the gate sets that address to NULL and then loads the counts. All four accesses are sequentially consistent, so
 * either the call finds no arena, or the other thread finds the call counted and waits for its end. Calls wait for no other thread, so
 * each of them ends.
 */
#include "internal.h"
#include <sched.h>

/* ---- the lock ---- */

cl_int xmc_lock_heap(xmc_heap heap, cl_command_queue *queue) {
  cl_int status = xmc_arena_queue(heap, *queue, queue);
  if (status == CL_SUCCESS)
    status = clFinish(*queue); /* its commands may depend on a thread that waits for the lock */
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

/* Maps the arena and opens the gate. The header is checked first, because host calls rely on it. */
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
