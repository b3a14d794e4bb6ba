/* SPDX-License-Identifier: MIT */
/* Heaps that grow: every block stays where its reference says, the new room can be had, and calls that cannot be leave all
 * as it was. */
#include "support/blocks.h"
#include "support/files.h"
#include <dlfcn.h>
#include <pthread.h>

/* ---- OpenCL's functions, one of whose calls fails ---- */

static unsigned calls_until_failure; /* 0: none fails */

static int fails(void) { return calls_until_failure && --calls_until_failure == 0; }

/* The same function of the OpenCL library */
#define REAL(name) ((__typeof__(&(name)))(intptr_t)dlsym(RTLD_NEXT, #name))

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *status) {
  if (fails()) {
    *status = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return NULL;
  }
  return REAL(clCreateBuffer)(context, flags, size, host, status);
}

/* So often the library asks for SVM before it gives up: XMC_SVM_TRIES in host/heap/memory.c */
enum { SVM_TRIES = 4 };
static unsigned svm_refusals; /* so many of the next requests for SVM get NULL */

void *clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment) {
  if (fails())
    svm_refusals = SVM_TRIES;
  if (svm_refusals) {
    svm_refusals--;
    return NULL;
  }
  return REAL(clSVMAlloc)(context, flags, size, alignment);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool wait, size_t offset, size_t bytes,
                           void *to, cl_uint events, const cl_event *list, cl_event *event) {
  return fails() ? CL_MEM_OBJECT_ALLOCATION_FAILURE
                 : REAL(clEnqueueReadBuffer)(queue, buffer, wait, offset, bytes, to, events, list, event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool wait, size_t offset, size_t bytes,
                            const void *from, cl_uint events, const cl_event *list, cl_event *event) {
  return fails() ? CL_MEM_OBJECT_ALLOCATION_FAILURE
                 : REAL(clEnqueueWriteBuffer)(queue, buffer, wait, offset, bytes, from, events, list, event);
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                           size_t to_offset, size_t bytes, cl_uint events, const cl_event *list,
                           cl_event *event) {
  return fails()
             ? CL_MEM_OBJECT_ALLOCATION_FAILURE
             : REAL(clEnqueueCopyBuffer)(queue, from, to, from_offset, to_offset, bytes, events, list, event);
}

cl_int clEnqueueSVMMemcpy(cl_command_queue queue, cl_bool wait, void *to, const void *from, size_t bytes,
                          cl_uint events, const cl_event *list, cl_event *event) {
  return fails() ? CL_MEM_OBJECT_ALLOCATION_FAILURE
                 : REAL(clEnqueueSVMMemcpy)(queue, wait, to, from, bytes, events, list, event);
}

/* ---- heaps ---- */

static size_t info_size(xmc_heap heap, xmc_heap_info name) {
  size_t value = 0;
  CL_OK(xmcGetHeapInfo(heap, name, sizeof value, &value, NULL));
  return value;
}

static void *info_pointer(xmc_heap heap, xmc_heap_info name) {
  void *value = NULL;
  CL_OK(xmcGetHeapInfo(heap, name, sizeof value, &value, NULL));
  return value;
}

static xmc_heap growing_heap(test_env *env, size_t bytes, size_t most) {
  const xmc_heap_properties extra[] = {XMC_HEAP_MAX_BYTES, (xmc_heap_properties)most, 0};
  return test_heap_with(env, bytes, extra);
}

/* ---- live data, and a heap that is filled again and again ---- */

/* Lists of blocks whose links are references, of kernels/full.cl: each block has its owner's number and tag. */
typedef struct lists {
  test_env *env;
  xmc_heap heap;
  cl_uint size, items; /* size 0: all magnitudes to 4 KiB */
  cl_kernel fill, free;
  cl_mem heads, numbers, taken, errors;
} lists;

static lists lists_new(test_env *env, xmc_heap heap, cl_uint size, cl_uint items) {
  lists l = {env, heap, size, items, NULL, NULL, NULL, NULL, NULL, NULL};
  l.fill = test_kernel(env, heap, "full.cl", "full_fill", NULL);
  l.free = test_kernel(env, heap, "full.cl", "full_free", NULL);
  l.heads = test_buffer(env, items * sizeof(cl_ulong), NULL);
  l.numbers = test_buffer(env, items * sizeof(cl_uint), NULL);
  l.taken = test_buffer(env, 3 * items * sizeof(cl_ulong), NULL);
  l.errors = test_buffer(env, sizeof(cl_uint), NULL);
  return l;
}

/* Bytes that the lists hold; *refused: the items to which the last launch refused a block */
static cl_ulong lists_bytes(lists *l, cl_uint *refused) {
  cl_ulong *taken = malloc(3 * l->items * sizeof *taken), bytes = 0;
  cl_uint i;
  assert_non_null(taken);
  test_read(l->env, l->taken, taken, 3 * l->items * sizeof *taken);
  for (i = *refused = 0; i < l->items; i++) {
    bytes += taken[3 * i + 1];
    *refused += (cl_uint)taken[3 * i + 2];
  }
  free(taken);
  return bytes;
}

/* Up to `quota` blocks for each list */
static cl_ulong lists_take(lists *l, cl_uint quota, cl_uint *refused) {
  test_launch(l->env, l->fill, l->items, 64, "hmmuuum", l->heap, l->heads, l->numbers, l->items, l->size,
              quota, l->taken);
  return lists_bytes(l, refused);
}

static cl_ulong lists_fill(lists *l) {
  cl_uint refused;
  cl_ulong bytes;
  do
    bytes = lists_take(l, (cl_uint)(info_size(l->heap, XMC_HEAP_BYTES) / l->size / l->items + 2), &refused);
  while (refused < l->items);
  return bytes;
}

/* Follows every reference and checks every block; of `of` blocks one stays, of 1 all. */
static void lists_check(lists *l, cl_uint shift, cl_uint of) {
  cl_uint errors = 0;
  test_launch(l->env, l->free, l->items, 64, "hmuuuumm", l->heap, l->heads, l->items, l->size, shift, of,
              l->taken, l->errors);
  test_read(l->env, l->errors, &errors, sizeof errors);
  assert_int_equal(errors, 0);
}

/* One step of growing: what is live before is live and right afterwards, and what was refused before can be had. */
static void step(lists *mixed, lists *full, size_t bytes, cl_uint keep) {
  size_t old = info_size(full->heap, XMC_HEAP_BYTES);
  cl_ulong before, after;
  xmc_heap_stats stats, grown;
  cl_uint refused;
  lists_take(mixed, 2, &refused);
  before = lists_fill(full);
  lists_check(mixed, 3, 1);
  lists_check(full, 5, keep);
  stats = test_intact(full->env, full->heap);
  CL_OK(xmcGrowHeap(full->heap, full->env->queue, bytes));
  assert_int_equal(info_size(full->heap, XMC_HEAP_BYTES), bytes);
  grown = test_intact(full->env, full->heap);
  assert_int_equal(grown.heap_bytes, bytes);
  assert_int_equal(grown.live_blocks, stats.live_blocks);
  assert_int_equal(grown.live_bytes, stats.live_bytes);
  assert_int_equal(grown.failed_requests, stats.failed_requests);
  assert_int_equal(grown.superblocks, stats.superblocks);
  assert_true(grown.free_bytes > stats.free_bytes);
  lists_check(mixed, 7, 1);
  lists_check(full, 9, 1);
  after = lists_fill(full);
  test_intact(full->env, full->heap);
  if ((double)(after - before) < 0.97 * (double)(bytes - old))
    fail_msg("%zu bytes more gave room for %llu more", bytes - old, (unsigned long long)(after - before));
}

static int is_compartment_gpu(const test_env *env, xmc_heap heap) {
  return env->config.coalescing == XMC_COALESCE_COMPARTMENT &&
         strstr(xmcGetBuildOptions(heap), "XMC_SIMT=1") != NULL;
}

/* 4 MiB to 64 MiB on simulators and by the short scale, else to 1 GiB; wholly free in the end, and after a reset */
static void with_live_data(test_env *env) {
  int small = env->device->scale <= SCALE_SHORT;
  size_t bytes = (size_t)(small ? 4 : 64) << 20, most = bytes * 16;
  cl_uint items = (cl_uint)test_scaled(env, 32, 512, 4096), salt;
  xmc_heap heap;
  lists mixed, full;
  if (env->device->scale == SCALE_SMALL)
    most = 16 << 20;
  heap = growing_heap(env, bytes, most);
  /* the rounding of compartments is not growth's: sizes that they leave alone */
  mixed = lists_new(env, heap, 0, items / 4);
  full = lists_new(env, heap, is_compartment_gpu(env, heap) ? 4096 : 1024, items);
  assert_int_equal(test_intact(env, heap).heap_bytes, bytes);
  for (salt = 0; (bytes *= 2) <= most; salt++)
    step(&mixed, &full, bytes, salt % 2 ? 3 : 1);
  lists_check(&mixed, 11, 0);
  lists_check(&full, 13, 0);
  test_empty(env, heap);
  CL_OK(xmcResetHeap(heap, env->queue));
  assert_int_equal(info_size(heap, XMC_HEAP_BYTES), most);
  test_empty(env, heap);
  full = lists_new(env, heap, 2048, items); /* programs for one geometry serve it still */
  assert_true((double)lists_fill(&full) >= (is_compartment_gpu(env, heap) ? 0.7 : 0.96) * (double)most);
  test_intact(env, heap);
}

/* ---- calls that cannot be ---- */

typedef struct before {
  xmc_heap heap;
  unsigned char *bytes;
  size_t count, heap_bytes, metadata;
  void *argument, *svm;
} before;

/* All that there is of the heap: the whole arena, and what the handle tells */
static before remember(test_env *env, xmc_heap heap) {
  before b = {heap, NULL, info_size(heap, XMC_HEAP_BYTES), 0, 0, NULL, NULL};
  b.heap_bytes = b.count;
  b.metadata = info_size(heap, XMC_HEAP_METADATA_BYTES);
  b.argument = info_pointer(heap, XMC_HEAP_ARGUMENT);
  b.svm = info_pointer(heap, XMC_HEAP_SVM_POINTER);
  b.bytes = test_alloc(env, b.count);
  test_read_arena(env, heap, 0, b.count, b.bytes);
  return b;
}

static void expect(test_env *env, const before *b, cl_int status, cl_int wanted) {
  unsigned char *now = malloc(b->count);
  if (status != wanted)
    fail_msg("%s where %s was to come", xmcErrorString(status), xmcErrorString(wanted));
  assert_int_equal(info_size(b->heap, XMC_HEAP_BYTES), b->heap_bytes);
  assert_int_equal(info_size(b->heap, XMC_HEAP_METADATA_BYTES), b->metadata);
  assert_ptr_equal(info_pointer(b->heap, XMC_HEAP_ARGUMENT), b->argument);
  assert_ptr_equal(info_pointer(b->heap, XMC_HEAP_SVM_POINTER), b->svm);
  assert_non_null(now);
  test_read_arena(env, b->heap, 0, b->count, now);
  assert_memory_equal(now, b->bytes, b->count);
  free(now);
}

/* Every OpenCL call of growing fails once, as for lack of memory, and leaves the heap as it was. The n-th try has no
 * failure and grows it: the first, where the heap grows at its place. */
static void calls_that_fail(test_env *env, const before *b, size_t bytes) {
  unsigned n;
  for (n = 1;; n++) {
    cl_int status;
    calls_until_failure = n;
    status = xmcGrowHeap(b->heap, NULL, bytes);
    if (calls_until_failure) {
      calls_until_failure = 0;
      CL_OK(status);
      break;
    }
    expect(env, b, status, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  }
  assert_true((n == 1) == (b->svm && info_pointer(b->heap, XMC_HEAP_SVM_POINTER) == b->svm));
  assert_int_equal(info_size(b->heap, XMC_HEAP_BYTES), bytes);
}

/* A heap in SVM grows although all tries but the last get NULL, as single ones do on NVIDIA. */
static void svm_at_the_last_try(test_env *env) {
  size_t bytes = 16 << 20;
  xmc_heap heap = growing_heap(env, bytes / 2, bytes);
  svm_refusals = SVM_TRIES - 1;
  CL_OK(xmcGrowHeap(heap, NULL, bytes));
  svm_refusals = 0; /* unused where the heap is in a buffer or grew at its place */
  assert_int_equal(info_size(heap, XMC_HEAP_BYTES), bytes);
  test_empty(env, heap);
}

static void impossible_calls(test_env *env) {
  size_t bytes = 8 << 20, most = 64 << 20;
  xmc_heap heap = growing_heap(env, bytes, most), fixed = test_heap(env, bytes);
  lists some = lists_new(env, heap, 0, 64);
  cl_context context;
  cl_command_queue queue;
  cl_int status;
  cl_uint refused;
  unsigned char damaged[8] = {0};
  before b;
  lists_take(&some, 20, &refused);
  b = remember(env, heap);
  expect(env, &b, xmcGrowHeap(heap, env->queue, bytes - 1), CL_INVALID_VALUE);
  expect(env, &b, xmcGrowHeap(heap, NULL, 0), CL_INVALID_VALUE);
  expect(env, &b, xmcGrowHeap(heap, NULL, bytes), CL_SUCCESS); /* nothing to do */
  expect(env, &b, xmcGrowHeap(heap, NULL, most + 1), XMC_HEAP_TOO_LARGE);
  expect(env, &b, xmcGrowHeap(heap, NULL, ~(size_t)0), XMC_HEAP_TOO_LARGE);
  CL_OK(xmcMapHeap(heap, NULL));
  expect(env, &b, xmcGrowHeap(heap, NULL, 2 * bytes), XMC_HEAP_MAPPED);
  CL_OK(xmcUnmapHeap(heap, NULL));
  context = clCreateContext(NULL, 1, &env->device->id, NULL, NULL, &status);
  CL_OK(status);
  queue = clCreateCommandQueue(context, env->device->id, 0, &status);
  CL_OK(status);
  expect(env, &b, xmcGrowHeap(heap, queue, 2 * bytes), XMC_HEAP_MISMATCH);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  if (test_has_threads(env)) /* not Oclgrind, whose own calls would be counted */
    calls_that_fail(env, &b, 2 * bytes);
  lists_check(&some, 1, 1);
  test_intact(env, heap);
  test_write_arena(env, heap, 8, sizeof damaged, damaged); /* `data` of the header */
  b = remember(env, heap);
  expect(env, &b, xmcGrowHeap(heap, NULL, 4 * bytes), XMC_HEAP_CORRUPT);
  assert_int_equal(xmcGrowHeap(NULL, NULL, bytes), XMC_INVALID_HEAP);
  b = remember(env, fixed); /* was not created to grow */
  expect(env, &b, xmcGrowHeap(fixed, NULL, bytes + 1), XMC_HEAP_TOO_LARGE);
}

static void creation(test_env *env) {
  xmc_heap_properties p[] = {XMC_HEAP_MAX_BYTES, 64 << 20, XMC_HEAP_BACKING, env->config.backing, 0},
                      told = 0;
  size_t least = 0, most = 0;
  cl_int status;
  xmc_heap heap = growing_heap(env, 8 << 20, 64 << 20);
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_MAX_BYTES, sizeof told, &told, NULL));
  assert_int_equal(told, 64 << 20);
  CL_OK(xmcGetHeapInfo(test_heap(env, 8 << 20), XMC_HEAP_MAX_BYTES, sizeof told, &told, NULL));
  assert_int_equal(told, 8 << 20);
  CL_OK(xmcGetHeapLimits(env->context, env->device->id, p, &least, &most));
  assert_int_equal(most, 64 << 20);
  assert_true(least < 8 << 20);
  assert_null(xmcCreateHeap(env->context, env->device->id, p, least - 1, &status));
  assert_int_equal(status, XMC_HEAP_TOO_SMALL);
  heap = xmcCreateHeap(env->context, env->device->id, p, least, &status);
  CL_OK(status);
  CL_OK(xmcGrowHeap(heap, NULL, most));
  test_empty(env, heap);
  CL_OK(xmcReleaseHeap(heap));
  assert_null(xmcCreateHeap(env->context, env->device->id, p, (64 << 20) + 1, &status));
  assert_int_equal(status, CL_INVALID_PROPERTY);
  p[1] = -1;
  assert_null(xmcCreateHeap(env->context, env->device->id, p, 8 << 20, &status));
  assert_int_equal(status, CL_INVALID_PROPERTY);
  p[1] = INTPTR_MAX;
  assert_null(xmcCreateHeap(env->context, env->device->id, p, 8 << 20, &status));
  assert_int_equal(status, XMC_HEAP_TOO_LARGE);
  p[1] = 4096; /* its own tables do not fit in that */
  CL_OK(xmcGetHeapLimits(env->context, env->device->id, p, &least, &most));
  assert_true(least > most);
}

/* ---- threads ---- */

enum { GROWERS = 4 };

typedef struct grower {
  pthread_t thread;
  xmc_heap heap;
  size_t bytes;
  cl_int status;
  int number;
} grower;

/* Most grow; one looks at the heap meanwhile. */
static void *grow_now(void *data) {
  grower *g = data;
  xmc_heap_stats stats;
  int i;
  if (g->number > 0) {
    g->status = xmcGrowHeap(g->heap, NULL, g->bytes);
    return NULL;
  }
  for (i = 0; i < 20 && g->status == CL_SUCCESS; i++) {
    g->status = xmcGetHeapStats(g->heap, NULL, &stats);
    if (g->status == CL_SUCCESS &&
        stats.live_bytes + stats.free_bytes + stats.metadata_bytes > stats.heap_bytes)
      g->status = XMC_HEAP_CORRUPT;
  }
  return NULL;
}

/* They come one after the other: the largest size is what remains, and a size that an earlier one left behind is refused. */
static void at_once(test_env *env) {
  size_t bytes = 8 << 20;
  grower g[GROWERS];
  int round, i;
  if (!test_has_threads(env))
    return;
  for (round = 0; round < 3; round++) {
    xmc_heap heap = growing_heap(env, bytes, 32 << 20);
    lists some = lists_new(env, heap, 0, 64);
    cl_uint refused;
    lists_take(&some, 20, &refused);
    for (i = 0; i < GROWERS; i++) {
      g[i] = (grower){
          .heap = heap, .number = i, .status = CL_SUCCESS, .bytes = bytes + ((size_t)(i ^ round) << 20)};
      assert_int_equal(pthread_create(&g[i].thread, NULL, grow_now, &g[i]), 0);
    }
    for (i = 0; i < GROWERS; i++)
      assert_int_equal(pthread_join(g[i].thread, NULL), 0);
    for (i = 0; i < GROWERS; i++)
      assert_true(g[i].status == CL_SUCCESS || (i > 0 && g[i].status == CL_INVALID_VALUE));
    for (i = 1; i < GROWERS; i++)
      assert_true(g[i].bytes <= info_size(heap, XMC_HEAP_BYTES));
    test_intact(env, heap);
    lists_check(&some, 1, 0);
    test_empty(env, heap);
  }
}

/* ---- what else there is of a heap ---- */

/* A heap's file keeps the largest size; the loaded heap grows as well, on every backing. */
static void from_a_file(test_env *env) {
  size_t bytes = 8 << 20, most = 32 << 20;
  xmc_heap heap = growing_heap(env, bytes, most), loaded;
  xmc_heap_properties p[] = {XMC_HEAP_BACKING, env->config.backing, XMC_HEAP_MAX_BYTES, most, 0};
  lists some = lists_new(env, heap, 0, 64), more;
  const char *folder = test_folder(env), *path = test_path(env, folder, "heap.xmc");
  cl_ulong live;
  cl_uint refused;
  cl_int status;
  lists_take(&some, 20, &refused);
  CL_OK(xmcGrowHeap(heap, NULL, 2 * bytes));
  lists_take(&some, 20, &refused);
  live = test_intact(env, heap).live_bytes;
  CL_OK(xmcSaveHeap(heap, NULL, path));
  test_holds_heap(path, 2 * bytes);
  loaded = xmcLoadHeap(env->context, env->device->id, p, path, &status);
  CL_OK(status);
  assert_int_equal(info_size(loaded, XMC_HEAP_BYTES), 2 * bytes);
  CL_OK(xmcGrowHeap(loaded, NULL, most));
  assert_int_equal(xmcGrowHeap(loaded, NULL, most + 1), XMC_HEAP_TOO_LARGE);
  assert_int_equal(test_intact(env, loaded).live_bytes, live);
  more = some; /* the lists of the heap that was saved */
  more.heap = loaded;
  more.free = test_kernel(env, loaded, "full.cl", "full_free", ANY_GEOMETRY);
  lists_check(&more, 3, 0);
  test_empty(env, loaded);
  CL_OK(xmcResetHeap(loaded, NULL));
  test_empty(env, loaded);
  CL_OK(xmcReleaseHeap(loaded));
  p[3] = 2 * most;
  assert_null(xmcLoadHeap(env->context, env->device->id, p, path, &status));
  assert_int_equal(status, CL_INVALID_PROPERTY);
  test_folder_remove(folder);
}

/* Red zones and headers of a debug heap move with it. */
static void debug_heap(test_env *env) {
  const xmc_heap_properties extra[] = {XMC_HEAP_DEBUG, 2, XMC_HEAP_MAX_BYTES, 32 << 20, 0};
  xmc_heap heap = test_heap_with(env, 8 << 20, extra);
  lists some = lists_new(env, heap, 0, 64);
  xmc_heap_stats stats;
  cl_uint refused;
  lists_take(&some, 20, &refused);
  CL_OK(xmcGrowHeap(heap, NULL, 32 << 20));
  test_intact(env, heap);
  lists_take(&some, 20, &refused);
  lists_check(&some, 1, 0);
  stats = test_intact(env, heap);
  assert_int_equal(stats.red_zone_errors + stats.use_after_frees + stats.invalid_frees, 0);
  test_empty(env, heap);
}

/* A region keeps its handle and its blocks, and takes chunks of the new pages. */
static void with_a_region(test_env *env) {
  xmc_heap heap = growing_heap(env, 8 << 20, 64 << 20);
  xmcRegion region;
  xmcRef ref;
  char *block;
  cl_int status;
  cl_uint i;
  CL_OK(xmcMapHeap(heap, NULL));
  region = xmcHostRegionCreate(heap, &status);
  CL_OK(status);
  block = xmcHostRegionMalloc(heap, region, 100000, &status);
  CL_OK(status);
  for (i = 0; i < 100000; i++)
    block[i] = (char)(i * 7);
  ref = xmcHostToRef(heap, block);
  CL_OK(xmcUnmapHeap(heap, NULL));
  CL_OK(xmcGrowHeap(heap, NULL, 64 << 20));
  CL_OK(xmcMapHeap(heap, NULL));
  block = xmcHostFromRef(heap, ref);
  for (i = 0; i < 100000; i++)
    assert_int_equal(block[i], (char)(i * 7));
  assert_non_null(xmcHostRegionMalloc(heap, region, 40 << 20, &status));
  test_intact(env, heap);
  CL_OK(xmcHostRegionFree(heap, region));
  CL_OK(xmcUnmapHeap(heap, NULL));
  test_empty(env, heap);
}

/* Fine-grained SVM on CPU devices: addresses stay, and host calls go on, before and after, without a map. */
static void same_place(test_env *env) {
  cl_bitfield svm = env->device->svm;
  xmc_heap heap;
  char *block;
  void *was;
  cl_int status;
  if (!(svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) || env->device->gpu)
    return;
  env->config.backing = XMC_BACKING_SVM_FINE;
  heap = growing_heap(env, 8 << 20, 256 << 20);
  was = info_pointer(heap, XMC_HEAP_SVM_POINTER);
  block = (char *)was;
  assert_null(xmcHostFromRef(heap, 8 << 20));
  assert_int_equal(xmcHostToRef(heap, block + (8 << 20)), 0);
  CL_OK(xmcGrowHeap(heap, NULL, 256 << 20));
  assert_ptr_equal(info_pointer(heap, XMC_HEAP_SVM_POINTER), was);
  CL_OK(xmcMapHeap(heap, NULL));
  assert_ptr_equal(xmcHostFromRef(heap, 8 << 20), block + (8 << 20));
  block = xmcHostMalloc(heap, 200 << 20, &status);
  CL_OK(status);
  memset(block, 1, 200 << 20);
  CL_OK(xmcHostFree(heap, block));
  CL_OK(xmcUnmapHeap(heap, NULL));
  test_empty(env, heap);
}

/* A default heap is bound again. */
static void default_heap(test_env *env) {
  xmc_heap heap = growing_heap(env, 8 << 20, 32 << 20);
  cl_mem counts = test_buffer(env, 2 * sizeof(cl_uint), NULL);
  cl_bool flag = CL_FALSE;
  cl_program program = NULL;
  cl_kernel use;
  cl_uint told[2], round;
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_DEFAULTS, sizeof flag, &flag, NULL));
  if (flag != CL_TRUE)
    return;
  use = test_kernel(env, heap, "default.cl", "use_default", NULL);
  CL_OK(clGetKernelInfo(use, CL_KERNEL_PROGRAM, sizeof program, &program, NULL));
  for (round = 1; round <= 3; round++) {
    CL_OK(xmcBindDefaultHeap(program, heap, env->queue));
    test_launch(env, use, 64, 16, "mu", counts, 4);
    test_read(env, counts, told, sizeof told);
    assert_int_equal(told[0], 64 * 4 * round);
    assert_int_equal(told[1], 0);
    test_empty(env, heap);
    CL_OK(xmcGrowHeap(heap, NULL, (size_t)(8 + 8 * round) << 20));
  }
}

int main(int argc, char **argv) {
  static const test_case cases[] = {
      TEST(with_live_data, SPREAD_AXES), TEST(impossible_calls, SPREAD_AXES),
      TEST(creation, SPREAD_ONE),        TEST(svm_at_the_last_try, SPREAD_AXES),
      TEST(at_once, SPREAD_AXES),        TEST(from_a_file, SPREAD_AXES),
      TEST(debug_heap, SPREAD_ONE),      TEST(with_a_region, SPREAD_AXES),
      TEST(same_place, SPREAD_ONE),      TEST(default_heap, SPREAD_ONE),
  };
  return test_main("grow", cases, sizeof cases / sizeof *cases, argc, argv);
}
