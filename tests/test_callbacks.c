/* SPDX-License-Identifier: MIT */
/* Code of the user's that the library calls, as the callback of a listing or behind a stream, may do as it likes with the
 * heap: use it, change it, release it. What it is told is the heap as it was when the call began. */
#include "support/harness.h"

enum { HEAP = 48 << 20, BLOCKS = 9, LEVELS = XMC_DEBUG_MAX + 1 };
static const cl_ulong sizes[BLOCKS] = {100, 200000, 1500000, 300, 9000, 1500000, 5000, 3000000, 40};

typedef struct listing {
  xmc_heap heap;
  cl_command_queue queue;
  int (*act)(struct listing *l); /* at the first block; 0: all is well */
  cl_uint count;
  int failed;
  xmc_block blocks[BLOCKS];
} listing;

static int CL_CALLBACK remember(const xmc_block *block, void *data) {
  listing *l = data;
  if (l->count == 0 && l->act)
    l->failed = l->act(l);
  if (l->count < BLOCKS) {
    l->blocks[l->count] = *block;
    l->blocks[l->count].file = NULL;
  }
  l->count++;
  return 0;
}

/* A heap of that debug level with some blocks, which lie far apart, and a queue that the test releases itself */
static listing new_heap(test_env *env, int level, int (*act)(listing *l)) {
  const xmc_heap_properties extra[] = {XMC_HEAP_DEBUG, level, 0};
  listing l = {.heap = test_heap_with(env, HEAP, extra), .act = act};
  cl_mem ref = test_buffer(env, sizeof(cl_ulong), NULL);
  cl_kernel kernel = test_kernel(env, l.heap, "debug.cl", "debug_malloc", NULL);
  cl_ulong got;
  cl_int status;
  unsigned i;
  for (i = 0; i < BLOCKS; i++) {
    test_launch(env, kernel, 1, 1, "hUm", l.heap, sizes[i], ref);
    test_read(env, ref, &got, sizeof got);
    assert_true(got != 0);
  }
  l.queue = clCreateCommandQueue(env->context, env->device->id, 0, &status);
  CL_OK(status);
  return l;
}

static void fail_request(test_env *env, const listing *l) {
  cl_mem ref = test_buffer(env, sizeof(cl_ulong), NULL);
  test_launch(env, test_kernel(env, l->heap, "debug.cl", "debug_malloc", NULL), 1, 1, "hUm", l->heap,
              (cl_ulong)1 << 40, ref);
}

static void is_same(const listing *l, const listing *before) {
  assert_int_equal(l->failed, 0);
  assert_int_equal(l->count, BLOCKS);
  assert_memory_equal(l->blocks, before->blocks, sizeof l->blocks);
}

/* ---- the heap's contents change ---- */

static int overwrite(listing *l) {
  size_t metadata = 0;
  char *arena = NULL;
  cl_mem buffer = NULL;
  unsigned char pattern = 0x77;
  int failed =
      xmcGetHeapInfo(l->heap, XMC_HEAP_METADATA_BYTES, sizeof metadata, &metadata, NULL) != CL_SUCCESS ||
      xmcGetHeapInfo(l->heap, XMC_HEAP_MEM_OBJECT, sizeof buffer, &buffer, NULL) != CL_SUCCESS ||
      xmcGetHeapInfo(l->heap, XMC_HEAP_SVM_POINTER, sizeof arena, &arena, NULL) != CL_SUCCESS;
  if (!failed && buffer)
    failed = clEnqueueFillBuffer(l->queue, buffer, &pattern, 1, metadata, HEAP - metadata, 0, NULL, NULL) !=
             CL_SUCCESS;
  else if (!failed)
    failed = clEnqueueSVMMemFill(l->queue, arena + metadata, &pattern, 1, HEAP - metadata, 0, NULL, NULL) !=
             CL_SUCCESS;
  return failed || clFinish(l->queue) != CL_SUCCESS;
}

/* The headers of debug blocks are gone before the listing comes to them. */
static void changed(test_env *env) {
  int level;
  for (level = 0; level < LEVELS; level++) {
    listing before = new_heap(env, level, NULL), l = before;
    CL_OK(xmcForEachBlock(before.heap, before.queue, remember, &before));
    assert_int_equal(before.count, BLOCKS);
    l.act = overwrite;
    CL_OK(xmcForEachBlock(l.heap, l.queue, remember, &l));
    is_same(&l, &before);
    CL_OK(clReleaseCommandQueue(l.queue));
  }
}

/* ---- the heap is used, and goes ---- */

static int use_and_release(listing *l) {
  listing inner = {.heap = l->heap};
  xmc_heap_stats stats;
  return xmcForEachBlock(l->heap, l->queue, remember, &inner) != CL_SUCCESS || inner.count != BLOCKS ||
         xmcGetHeapStats(l->heap, l->queue, &stats) != CL_SUCCESS ||
         xmcCheckHeap(l->heap, l->queue, NULL) != CL_SUCCESS || xmcMapHeap(l->heap, l->queue) != CL_SUCCESS ||
         xmcUnmapHeap(l->heap, l->queue) != CL_SUCCESS || xmcResetHeap(l->heap, l->queue) != CL_SUCCESS ||
         xmcReleaseHeap(l->heap) != CL_SUCCESS || clReleaseCommandQueue(l->queue) != CL_SUCCESS;
}

static void released(test_env *env) {
  int level;
  for (level = 0; level < LEVELS; level++) {
    listing before = new_heap(env, level, NULL), l = before;
    CL_OK(xmcForEachBlock(before.heap, before.queue, remember, &before));
    l.act = use_and_release;
    test_heap_forget(env, l.heap);
    CL_OK(xmcForEachBlock(l.heap, l.queue, remember, &l));
    is_same(&l, &before);
  }
}

/* ---- streams whose writing is the user's code ---- */

static ssize_t release_when_written(void *data, const char *text, size_t bytes) {
  listing *l = data;
  (void)text;
  if (l->count++ == 0)
    l->failed = use_and_release(l);
  return (ssize_t)bytes;
}

static void released_by_stream(test_env *env) {
  static cl_int (*const writers[])(xmc_heap, cl_command_queue, FILE *) = {xmcReportLeaks, xmcWriteHeapStats,
                                                                          xmcWriteHeapMap};
  const cookie_io_functions_t functions = {.write = release_when_written};
  int level;
  size_t i;
  for (level = 0; level < LEVELS; level += XMC_DEBUG_MAX)
    for (i = 0; i < sizeof writers / sizeof *writers; i++) {
      listing l = new_heap(env, level, NULL);
      FILE *file = fopencookie(&l, "w", functions);
      assert_non_null(file);
      setvbuf(file, NULL, _IONBF, 0);
      test_heap_forget(env, l.heap);
      CL_OK(writers[i](l.heap, l.queue, file));
      assert_int_equal(l.failed, 0);
      assert_true(l.count > 0);
      fclose(file);
    }
}

/* ---- the first failure is told ---- */

static void CL_CALLBACK release_at_event(xmc_heap heap, xmc_heap_event event, cl_ulong value, cl_ulong id,
                                         void *data) {
  listing *l = data;
  (void)heap;
  (void)id;
  if (l->count++ == 0)
    l->failed = event != XMC_EVENT_FAILED_REQUEST || value != (cl_ulong)1 << 40 || use_and_release(l);
}

static cl_int do_stats(const listing *l) {
  xmc_heap_stats stats;
  return xmcGetHeapStats(l->heap, l->queue, &stats);
}
static cl_int do_check(const listing *l) { return xmcCheckHeap(l->heap, l->queue, NULL); }
static cl_int do_map(const listing *l) { return xmcMapHeap(l->heap, l->queue); }
static cl_int do_reset(const listing *l) { return xmcResetHeap(l->heap, l->queue); }
static cl_int do_list(const listing *l) {
  listing inner = {.heap = l->heap};
  return xmcForEachBlock(l->heap, l->queue, remember, &inner);
}

static int unmap_and_use(listing *l) {
  return xmcUnmapHeap(l->heap, l->queue) != CL_SUCCESS || xmcResetHeap(l->heap, l->queue) != CL_SUCCESS;
}

static void CL_CALLBACK unmap_at_event(xmc_heap heap, xmc_heap_event event, cl_ulong value, cl_ulong id,
                                       void *data) {
  listing *l = data;
  (void)heap;
  (void)event;
  (void)value;
  (void)id;
  if (l->count++ == 0)
    l->failed = unmap_and_use(l);
}

static void released_by_event(test_env *env) {
  static cl_int (*const calls[])(const listing *) = {do_stats, do_check, do_list};
  size_t i;
  for (i = 0; i < sizeof calls / sizeof *calls; i++) {
    listing l = new_heap(env, i % 2 ? XMC_DEBUG_MAX : 0, NULL);
    fail_request(env, &l);
    CL_OK(xmcSetHeapCallback(l.heap, release_at_event, &l));
    test_heap_forget(env, l.heap);
    CL_OK(calls[i](&l));
    assert_int_equal(l.failed, 0);
    assert_int_equal(l.count, 1);
  }
}

/* Map, unmap and reset call back when they are done. */
static void unmapped_by_event(test_env *env) {
  listing l = new_heap(env, 0, NULL);
  fail_request(env, &l);
  CL_OK(xmcSetHeapCallback(l.heap, unmap_at_event, &l));
  CL_OK(do_map(&l));
  assert_int_equal(l.failed, 0);
  assert_int_equal(l.count, 1);
  assert_int_equal(xmcUnmapHeap(l.heap, NULL), XMC_HEAP_NOT_MAPPED);
  CL_OK(do_reset(&l));
  assert_int_equal(l.count, 1);
  CL_OK(clReleaseCommandQueue(l.queue));
}

int main(int argc, char **argv) {
  static const test_case cases[] = {TEST(changed, SPREAD_ONE), TEST(released, SPREAD_ONE),
                                    TEST(released_by_stream, SPREAD_ONE), TEST(released_by_event, SPREAD_ONE),
                                    TEST(unmapped_by_event, SPREAD_ONE)};
  return test_main("callbacks", cases, sizeof cases / sizeof *cases, argc, argv);
}
