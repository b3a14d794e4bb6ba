/* SPDX-License-Identifier: MIT */
/* Host calls: the kernels' allocator, compiled as C, on the arena as the host sees it.
 *
 *   backing                     the gate (map.c) is open          calls work
 *   fine SVM with atomics       from creation on                  always
 *   any other                   between map and unmap             between them
 *
 * There is no second allocator: this file compiles cl/xmalloc.cl with cl/platform/host.h, and each thread is a
 * work-item of its own. On traced heaps the calls are recorded. An arena holds no addresses, so the host may map it at any address;
 * only alignments depend on real addresses.
 */
#define XMC_TRACE 1 /* costs a heap without a ring one test after each call */
#define XMC_SITE xmc_debug_site("<host>", 0)
#include "internal.h"
#include "../../cl/xmalloc.cl"

/* ---- the calls ---- */

/* A call that is inside the gate: the arena, or NULL and the reason */
typedef struct xmc_host_call {
  xmcHeap *arena;
  atomic_uint *inside; /* where the call is counted, or NULL */
  cl_int status;
} xmc_host_call;

static atomic_uint *xmc_count_of_thread(xmc_gate *gate) {
  static atomic_uint threads;
  static _Thread_local unsigned number;
  if (!number)
    number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1u;
  return &gate->counts[number % XMC_GATE_COUNTS].inside;
}

/* Enters the gate, if it is open. The call is counted in any case; xmc_host_leave must follow. Debug heaps are refused, because this build
 * does not know the headers of their blocks. */
static xmc_host_call xmc_host_enter(xmc_heap heap) {
  xmc_host_call call = {NULL, NULL, xmc_check_handle(heap)};
  if (call.status != CL_SUCCESS)
    return call;
  call.inside = xmc_count_of_thread(&heap->gate);
  atomic_fetch_add(call.inside, 1);
  call.arena = atomic_load(&heap->gate.arena);
  if (!call.arena) {
    call.status = XMC_HEAP_NOT_MAPPED;
  } else if (heap->settings.debug != 0) {
    call.arena = NULL;
    call.status = XMC_HEAP_IS_DEBUG;
  }
  return call;
}

static void xmc_host_leave(const xmc_host_call *call) {
  if (call->inside)
    atomic_fetch_sub_explicit(call->inside, 1, memory_order_release);
}

/* Returns `block` and sets the status. NULL is a failure if `wanted` is not 0. */
static void *xmc_host_result(void *block, int wanted, cl_int status, cl_int *errcode_ret) {
  if (status == CL_SUCCESS && !block && wanted)
    status = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  if (errcode_ret)
    *errcode_ret = status;
  return block;
}

void *xmcHostMalloc(xmc_heap heap, size_t size, cl_int *errcode_ret) {
  xmc_host_call call = xmc_host_enter(heap);
  void *block = call.arena ? xmcMalloc(call.arena, size) : NULL;
  xmc_host_leave(&call);
  return xmc_host_result(block, size != 0, call.status, errcode_ret);
}

void *xmcHostCalloc(xmc_heap heap, size_t count, size_t size, cl_int *errcode_ret) {
  xmc_host_call call = xmc_host_enter(heap);
  void *block = call.arena ? xmcCalloc(call.arena, count, size) : NULL;
  xmc_host_leave(&call);
  return xmc_host_result(block, count && size, call.status, errcode_ret);
}

void *xmcHostAlignedAlloc(xmc_heap heap, size_t alignment, size_t size, cl_int *errcode_ret) {
  xmc_host_call call = xmc_host_enter(heap);
  void *block = call.arena ? xmcAlignedAlloc(call.arena, alignment, size) : NULL;
  int wanted = size != 0 || alignment == 0 || (alignment & (alignment - 1u)) != 0;
  xmc_host_leave(&call);
  return xmc_host_result(block, wanted, call.status, errcode_ret);
}

void *xmcHostRealloc(xmc_heap heap, void *ptr, size_t size, cl_int *errcode_ret) {
  xmc_host_call call = xmc_host_enter(heap);
  void *block = NULL;
  size_t old = call.arena && ptr ? xmcUsableSize(call.arena, ptr) : 0;
  if (old && size) {
    block = xmc_trace_realloc_live(call.arena, ptr, old, size, XMC_SITE);
  } else if (call.arena) {
    call.status = ptr && !old ? CL_INVALID_VALUE : CL_SUCCESS;
    block = xmcRealloc(call.arena, ptr, size); /* allocates, frees, or counts a bad free */
  }
  xmc_host_leave(&call);
  return xmc_host_result(block, size != 0, call.status, errcode_ret);
}

cl_int xmcHostFree(xmc_heap heap, void *ptr) {
  xmc_host_call call = xmc_host_enter(heap);
  if (call.arena)
    xmcFree(call.arena, ptr);
  xmc_host_leave(&call);
  return call.status;
}

size_t xmcHostUsableSize(xmc_heap heap, void *ptr) {
  xmc_host_call call = xmc_host_enter(heap);
  size_t bytes = call.arena ? xmcUsableSize(call.arena, ptr) : 0;
  xmc_host_leave(&call);
  return bytes;
}

/* ---- regions ---- */

xmcRegion xmcHostRegionCreate(xmc_heap heap, cl_int *errcode_ret) {
  xmc_host_call call = xmc_host_enter(heap);
  xmcRegion region = call.arena ? xmcRegionCreate(call.arena) : 0;
  xmc_host_leave(&call);
  if (errcode_ret)
    *errcode_ret = call.status == CL_SUCCESS && !region ? CL_MEM_OBJECT_ALLOCATION_FAILURE : call.status;
  return region;
}

void *xmcHostRegionMalloc(xmc_heap heap, xmcRegion region, size_t size, cl_int *errcode_ret) {
  xmc_host_call call = xmc_host_enter(heap);
  void *block = call.arena ? xmcRegionMalloc(call.arena, region, size) : NULL;
  if (call.arena && !block && size != 0 && xmcRegionBytes(call.arena, region) == 0)
    call.status = CL_INVALID_VALUE; /* it was counted */
  xmc_host_leave(&call);
  return xmc_host_result(block, size != 0, call.status, errcode_ret);
}

static cl_int xmc_host_region(xmc_heap heap, xmcRegion region, void (*core)(xmcHeap *, xmcRegion, xmc_u32)) {
  xmc_host_call call = xmc_host_enter(heap);
  if (call.arena)
    core(call.arena, region, XMC_SITE);
  xmc_host_leave(&call);
  return call.status;
}
cl_int xmcHostRegionFree(xmc_heap heap, xmcRegion region) {
  return xmc_host_region(heap, region, xmc_trace_region_free);
}
cl_int xmcHostRegionReset(xmc_heap heap, xmcRegion region) {
  return xmc_host_region(heap, region, xmc_trace_region_reset);
}

size_t xmcHostRegionBytes(xmc_heap heap, xmcRegion region) {
  xmc_host_call call = xmc_host_enter(heap);
  size_t bytes = call.arena ? xmcRegionBytes(call.arena, region) : 0;
  xmc_host_leave(&call);
  return bytes;
}

/* ---- references: these calls do not access the arena, and so need not be counted ---- */

static char *xmc_host_base(xmc_heap heap) {
  return xmc_check_handle(heap) == CL_SUCCESS ? (char *)atomic_load(&heap->gate.arena) : NULL;
}

xmcRef xmcHostToRef(xmc_heap heap, const void *ptr) {
  char *arena = xmc_host_base(heap);
  uintptr_t offset = (uintptr_t)ptr - (uintptr_t)arena;
  return arena && ptr && offset < atomic_load(&heap->bytes) ? offset : 0;
}

void *xmcHostFromRef(xmc_heap heap, xmcRef ref) {
  char *arena = xmc_host_base(heap);
  return arena && ref && ref < atomic_load(&heap->bytes) ? arena + ref : NULL;
}

cl_int xmcCheckRef32(xmc_heap heap) {
  cl_int status = xmc_check_handle(heap);
  if (status != CL_SUCCESS)
    return status;
  return heap->initial.max_bytes <= XMC_REF32_BYTES ? CL_SUCCESS : XMC_HEAP_TOO_LARGE;
}

xmcRef32 xmcHostToRef32(xmc_heap heap, const void *ptr) { return xmc_ref32(xmcHostToRef(heap, ptr)); }

void *xmcHostFromRef32(xmc_heap heap, xmcRef32 ref) { return xmcHostFromRef(heap, (xmcRef)ref << 4); }
