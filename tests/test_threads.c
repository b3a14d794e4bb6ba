/* SPDX-License-Identifier: MIT */
/* All that host threads may do with one heap at the same time: every pair of operations, then all at once, and heaps that go
 * with the last thread's reference. Every operation ends with a status that its header names, every heap is intact after
 * it. Under ThreadSanitizer nothing may race.
 *
 *   XMC_TEST_ROUNDS   how often at least each thread of a pair does its operation; default 2, 4 or 50 by the scale
 */
#include "support/files.h"
#include <pthread.h>

enum { HEAP = 4 << 20, MOST = 32 };

typedef struct worker {
  pthread_t thread;
  xmc_heap heap;
  cl_kernel kernel; /* its own */
  cl_context context;
  cl_device_id device;
  const char *path; /* a file to save to and load from */
  FILE *text;
  const struct operation *operation;
  struct worker *others; /* all workers at the time */
  unsigned count, rounds, done;
  unsigned statuses; /* bits: see status_bit */
} worker;

/* ---- the operations ---- */

static cl_int do_malloc(worker *w) {
  cl_int status;
  void *p = xmcHostMalloc(w->heap, 100, &status), *q;
  if (status != CL_SUCCESS)
    return status;
  q = xmcHostCalloc(w->heap, 7, 1000, &status);
  xmcHostUsableSize(w->heap, p);
  xmcHostFree(w->heap, q); /* NULL, or refused after an unmap */
  return xmcHostFree(w->heap, p);
}

static cl_int do_realloc(worker *w) {
  cl_int status;
  void *p = xmcHostAlignedAlloc(w->heap, 16, 48, &status), *q;
  if (status != CL_SUCCESS)
    return status;
  q = xmcHostRealloc(w->heap, p, 40000, &status);
  xmcHostFromRef(w->heap, xmcHostToRef(w->heap, q));
  return xmcHostFree(w->heap, status == CL_SUCCESS ? q : p) == CL_SUCCESS ? status : XMC_HEAP_NOT_MAPPED;
}

static cl_int do_map(worker *w) { return xmcMapHeap(w->heap, NULL); }
static cl_int do_unmap(worker *w) { return xmcUnmapHeap(w->heap, NULL); }
static cl_int do_reset(worker *w) { return xmcResetHeap(w->heap, NULL); }

/* A little each time, as long as the largest size allows; then it is too large. */
static cl_int do_grow(worker *w) {
  size_t bytes = 0;
  cl_int status = xmcGetHeapInfo(w->heap, XMC_HEAP_BYTES, sizeof bytes, &bytes, NULL);
  if (status == CL_SUCCESS)
    status = xmcGrowHeap(w->heap, NULL, bytes + 65536);
  return status == XMC_HEAP_TOO_LARGE ? CL_SUCCESS : status;
}

static cl_int do_stats(worker *w) {
  xmc_heap_stats stats;
  return xmcGetHeapStats(w->heap, NULL, &stats);
}

static cl_int do_check(worker *w) {
  xmc_heap_report report;
  return xmcCheckHeap(w->heap, NULL, &report);
}

static int CL_CALLBACK look(const xmc_block *block, void *data) {
  *(cl_ulong *)data += block->usable;
  return 0;
}

static cl_int do_for_each(worker *w) {
  cl_ulong bytes = 0;
  return xmcForEachBlock(w->heap, NULL, look, &bytes);
}

static cl_int do_leaks(worker *w) { return xmcReportLeaks(w->heap, NULL, w->text); }
static cl_int do_json(worker *w) { return xmcWriteHeapStats(w->heap, NULL, w->text); }
static cl_int do_map_svg(worker *w) { return xmcWriteHeapMap(w->heap, NULL, w->text); }

static cl_int do_text(worker *w) {
  size_t bytes;
  return xmcGetHeapText(w->heap, NULL, XMC_TEXT_STATS_TABLE, 0, NULL, &bytes);
}

static cl_int do_save(worker *w) { return xmcSaveHeap(w->heap, NULL, w->path); }

static cl_int do_load(worker *w) {
  cl_int status;
  xmc_heap heap = xmcLoadHeap(w->context, w->device, NULL, w->path, &status);
  if (heap)
    xmcReleaseHeap(heap);
  return status;
}

static cl_int do_retain(worker *w) {
  cl_int status = xmcRetainHeap(w->heap);
  return status == CL_SUCCESS ? xmcReleaseHeap(w->heap) : status;
}

static cl_int do_info(worker *w) {
  cl_uint name;
  char value[2048];
  cl_int status = CL_SUCCESS;
  for (name = XMC_HEAP_BACKING; name <= XMC_HEAP_MAX_BYTES && status == CL_SUCCESS; name++)
    status = xmcGetHeapInfo(w->heap, name, sizeof value, value, NULL);
  for (name = XMC_HEAP_REFERENCE_COUNT; name <= XMC_HEAP_ARGUMENT && status == CL_SUCCESS; name++)
    status = xmcGetHeapInfo(w->heap, name, sizeof value, value, NULL);
  return status;
}

static cl_int do_program(worker *w) {
  const char *source = "__kernel void nothing(void) {}";
  size_t bytes = strlen(xmcGetBuildOptions(w->heap)) + strlen(xmcGetGeometryOptions(w->heap));
  cl_int status;
  cl_program program = xmcCreateProgramWithSource(w->heap, 1, &source, NULL, &status);
  if (program)
    clReleaseProgram(program);
  return bytes > 0 ? status : XMC_INVALID_HEAP;
}

static cl_int do_set_argument(worker *w) { return xmcSetKernelArgHeap(w->kernel, 0, w->heap); }

enum { HOST = 1, MAPS = 2, RESETS = 4, READS = 8, SLOW = 16 };
typedef struct operation {
  const char *name;
  cl_int (*run)(worker *w);
  unsigned kind;
} operation;
static const operation operations[] = {{"malloc, calloc, free", do_malloc, HOST},
                                       {"realloc", do_realloc, HOST},
                                       {"map", do_map, MAPS},
                                       {"unmap", do_unmap, MAPS},
                                       {"reset", do_reset, RESETS},
                                       {"grow", do_grow, RESETS},
                                       {"stats", do_stats, READS},
                                       {"check", do_check, READS},
                                       {"for each block", do_for_each, READS},
                                       {"leaks", do_leaks, READS},
                                       {"JSON", do_json, READS},
                                       {"map as SVG", do_map_svg, READS},
                                       {"text", do_text, READS},
                                       {"save", do_save, READS},
                                       {"load", do_load, SLOW},
                                       {"retain and release", do_retain, 0},
                                       {"info", do_info, 0},
                                       {"program", do_program, 0},
                                       {"set argument", do_set_argument, 0}};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* ---- statuses ---- */

enum { NOT_MAPPED = 1, MAPPED = 2, CORRUPT = 4, FULL = 8, NO_BLOCK = 16, DEBUG = 32, OTHER = 64 };

static unsigned status_bit(cl_int status) {
  switch (status) {
  case CL_SUCCESS:
    return 0;
  case XMC_HEAP_NOT_MAPPED:
    return NOT_MAPPED;
  case XMC_HEAP_MAPPED:
    return MAPPED;
  case XMC_HEAP_CORRUPT:
    return CORRUPT;
  case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    return FULL;
  case CL_INVALID_VALUE:
    return NO_BLOCK;
  case XMC_HEAP_IS_DEBUG:
    return DEBUG;
  default:
    return OTHER;
  }
}

/* What an operation may return besides CL_SUCCESS, beside others of these kinds */
static unsigned may_return(const operation *o, unsigned beside, int debug) {
  if (o->run == do_map || o->run == do_reset)
    return MAPPED;
  if (o->run == do_grow) /* NO_BLOCK: another one made the heap larger than this one wished */
    return MAPPED | NO_BLOCK;
  if (o->run == do_unmap)
    return NOT_MAPPED;
  if (o->kind & HOST) /* blocks whose free came after an unmap are lost; a reset may take a block away */
    return NOT_MAPPED | (debug ? DEBUG : 0) | (beside & (MAPS | RESETS) ? FULL : 0) |
           (beside & RESETS ? NO_BLOCK : 0);
  if (o->kind & READS) /* it was not quiet */
    return beside & HOST ? CORRUPT : 0;
  return 0;
}

/* ---- threads ---- */

static void do_once(worker *w) {
  cl_int status = w->operation->run(w);
  unsigned bit = status_bit(status);
  if (bit == OTHER)
    fprintf(stderr, "%s: %s\n", w->operation->name, xmcErrorString(status));
  w->statuses |= bit;
}

/* Until all have done their rounds, so that none is ever alone */
static void *work(void *data) {
  worker *w = data;
  unsigned i, behind;
  do {
    do_once(w);
    __atomic_add_fetch(&w->done, 1, __ATOMIC_RELAXED);
    for (i = behind = 0; i < w->count; i++)
      behind |= __atomic_load_n(&w->others[i].done, __ATOMIC_RELAXED) < w->others[i].rounds;
  } while (behind);
  return NULL;
}

static void run_all(worker *workers, unsigned count, int debug) {
  unsigned i, k;
  for (i = 0; i < count; i++) {
    workers[i].others = workers;
    workers[i].count = count;
    workers[i].done = workers[i].statuses = 0;
  }
  for (i = 0; i < count; i++)
    assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  for (i = 0; i < count; i++)
    assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
  for (i = 0; i < count; i++) {
    unsigned beside = 0;
    for (k = 0; k < count; k++)
      if (k != i)
        beside |= workers[k].operation->kind;
    if (workers[i].statuses & ~may_return(workers[i].operation, beside, debug))
      fail_msg("%s beside %s%s: statuses 0x%x", workers[i].operation->name,
               workers[i ? 0 : count - 1].operation->name, count > 2 ? " and others" : "",
               workers[i].statuses);
  }
}

/* ---- heaps ---- */

typedef struct stage {
  test_env *env;
  xmc_heap heap;
  const char *folder, *path;
  int always, debug;
  unsigned rounds;
  worker workers[MOST];
} stage;

static void stage_new(test_env *env, stage *s, cl_uint backing, int debug) {
  const xmc_heap_properties extra[] = {XMC_HEAP_DEBUG, debug, XMC_HEAP_MAX_BYTES, 6 << 20, 0};
  const char *wish = getenv("XMC_TEST_ROUNDS");
  cl_bool always = CL_FALSE;
  unsigned i;
  memset(s, 0, sizeof *s);
  s->env = env;
  env->config.backing = backing;
  s->heap = test_heap_with(env, HEAP, extra);
  s->folder = test_folder(env);
  s->path = test_path(env, s->folder, "heap.xmc");
  CL_OK(xmcGetHeapInfo(s->heap, XMC_HEAP_HOST_ALWAYS, sizeof always, &always, NULL));
  s->always = always == CL_TRUE;
  s->debug = debug;
  s->rounds = wish && atoi(wish) > 0 ? (unsigned)atoi(wish) : (unsigned)test_scaled(env, 2, 4, 50);
  CL_OK(xmcSaveHeap(s->heap, NULL, s->path));
  for (i = 0; i < MOST; i++) {
    worker *w = &s->workers[i];
    w->heap = s->heap;
    w->context = env->context;
    w->device = env->device->id;
    w->path = s->path;
    w->text = fopen("/dev/null", "w");
    assert_non_null(w->text);
    w->kernel = i < OPERATIONS ? test_kernel(env, s->heap, "list.cl", "list_begin", NULL) : NULL;
  }
}

static void stage_end(stage *s) {
  unsigned i;
  for (i = 0; i < MOST; i++)
    fclose(s->workers[i].text);
  test_folder_remove(s->folder);
}

static void set_operation(stage *s, unsigned i, unsigned o) {
  s->workers[i].operation = &operations[o];
  s->workers[i].rounds = operations[o].kind & SLOW ? (s->rounds + 3) / 4 : s->rounds;
}

/* Quiet and intact; then empty again, and not mapped */
static void settle(stage *s) {
  cl_int status = xmcUnmapHeap(s->heap, NULL);
  assert_true(status == CL_SUCCESS || status == XMC_HEAP_NOT_MAPPED);
  test_intact(s->env, s->heap);
  CL_OK(xmcResetHeap(s->heap, NULL));
}

static void run_pairs(stage *s, int mapped) {
  unsigned a, b;
  for (a = 0; a < OPERATIONS; a++)
    for (b = a; b < OPERATIONS; b++) {
      if (mapped)
        CL_OK(xmcMapHeap(s->heap, NULL));
      set_operation(s, 0, a);
      set_operation(s, 1, b);
      run_all(s->workers, 2, s->debug);
      settle(s);
    }
}

static int has_backing(const test_env *env, cl_uint backing) {
  cl_bitfield svm = env->device->svm;
  return backing == XMC_BACKING_BUFFER ||
         (backing == XMC_BACKING_SVM && (svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) ||
         (backing == XMC_BACKING_SVM_FINE && (svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER));
}

/* ---- tests ---- */

static void pairs_on(test_env *env, cl_uint backing, int debug) {
  stage *s = test_alloc(env, sizeof *s);
  if (!test_has_threads(env) || !has_backing(env, backing))
    return;
  stage_new(env, s, backing, debug);
  run_pairs(s, 0);
  if (!s->always)
    run_pairs(s, 1);
  stage_end(s);
}

static void pairs_buffer(test_env *env) { pairs_on(env, XMC_BACKING_BUFFER, 0); }
static void pairs_svm(test_env *env) { pairs_on(env, XMC_BACKING_SVM, 0); }
static void pairs_svm_fine(test_env *env) { pairs_on(env, XMC_BACKING_SVM_FINE, 0); }
static void pairs_debug(test_env *env) { pairs_on(env, XMC_BACKING_BUFFER, 2); }

static void all_at_once(test_env *env) {
  cl_uint backing;
  unsigned o;
  for (backing = XMC_BACKING_BUFFER; backing <= XMC_BACKING_SVM_FINE; backing++) {
    stage *s = test_alloc(env, sizeof *s);
    if (!test_has_threads(env) || !has_backing(env, backing))
      continue;
    stage_new(env, s, backing, 0);
    for (o = 0; o < OPERATIONS; o++)
      set_operation(s, o, o);
    run_all(s->workers, OPERATIONS, 0);
    settle(s);
    stage_end(s);
  }
}

/* Each thread has a reference; the heap goes with the last of them. */
static void *work_and_release(void *data) {
  worker *w = data;
  unsigned i;
  for (i = 0; i < w->rounds; i++)
    do_once(w);
  w->statuses |= status_bit(xmcReleaseHeap(w->heap));
  return NULL;
}

static void own_references(test_env *env) {
  stage *s = test_alloc(env, sizeof *s);
  unsigned i, round;
  if (!test_has_threads(env))
    return;
  for (round = 0; round < 3; round++) {
    stage_new(env, s, XMC_BACKING_BUFFER, 0);
    for (i = 0; i < OPERATIONS; i++) {
      set_operation(s, i, operations[i].kind & (MAPS | RESETS | SLOW) ? OPERATIONS - 1 : i);
      CL_OK(xmcRetainHeap(s->heap));
    }
    for (i = 0; i < OPERATIONS; i++)
      assert_int_equal(pthread_create(&s->workers[i].thread, NULL, work_and_release, &s->workers[i]), 0);
    test_heap_forget(env, s->heap);
    CL_OK(xmcReleaseHeap(s->heap));
    for (i = 0; i < OPERATIONS; i++) {
      assert_int_equal(pthread_join(s->workers[i].thread, NULL), 0);
      assert_int_equal(s->workers[i].statuses & ~may_return(s->workers[i].operation, HOST, 0), 0);
    }
    stage_end(s);
  }
}

int main(int argc, char **argv) {
  static const test_case cases[] = {TEST(pairs_buffer, SPREAD_ONE),   TEST(pairs_svm, SPREAD_ONE),
                                    TEST(pairs_svm_fine, SPREAD_ONE), TEST(pairs_debug, SPREAD_ONE),
                                    TEST(all_at_once, SPREAD_ONE),    TEST(own_references, SPREAD_ONE)};
  return test_main("threads", cases, sizeof cases / sizeof *cases, argc, argv);
}
