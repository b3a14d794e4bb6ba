/* SPDX-License-Identifier: MIT */
/* Host calls: each by itself, what is refused, blocks that change hands between host threads and kernels, in
 * turns and, where the memory allows it, at the same time.
 *
 *   XMC_TEST_SECONDS   how long the last one runs; default 2, 60 at full scale
 */
#include "support/harness.h"
#include "kernels/pattern.h"
#include "../cl/layout/arena.h"
#include <pthread.h>
#include <time.h>

static int host_always(xmc_heap heap) {
  cl_bool always = CL_FALSE;
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_HOST_ALWAYS, sizeof always, &always, NULL));
  return always == CL_TRUE;
}

static int all_bytes(const unsigned char *p, size_t n, unsigned char value) {
  while (n > 0 && p[n - 1] == value)
    n--;
  return n == 0;
}

static void sizes(xmc_heap heap) {
  static const size_t sizes[] = {1, 16, 17, 100, 1000, 8192, 8193, 100000, 3000000};
  void *blocks[sizeof sizes / sizeof *sizes];
  cl_int status = 1;
  size_t i;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    blocks[i] = xmcHostMalloc(heap, sizes[i], &status);
    CL_OK(status);
    assert_non_null(blocks[i]);
    assert_int_equal((uintptr_t)blocks[i] % 16, 0);
    assert_true(xmcHostUsableSize(heap, blocks[i]) >= sizes[i]);
    memset(blocks[i], (int)i + 1, xmcHostUsableSize(heap, blocks[i]));
    assert_ptr_equal(xmcHostFromRef(heap, xmcHostToRef(heap, blocks[i])), blocks[i]);
  }
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    assert_true(all_bytes(blocks[i], xmcHostUsableSize(heap, blocks[i]), (unsigned char)(i + 1)));
    CL_OK(xmcHostFree(heap, blocks[i]));
    assert_int_equal(xmcHostUsableSize(heap, blocks[i]), 0);
  }
}

static void calloc_and_realloc(xmc_heap heap) {
  cl_int status = 1;
  unsigned char *p = xmcHostCalloc(heap, 30, 7, &status), *q;
  CL_OK(status);
  assert_true(all_bytes(p, 210, 0));
  memset(p, 7, 210);
  q = xmcHostRealloc(heap, p, 50000, &status);
  CL_OK(status);
  assert_ptr_not_equal(p, q);
  assert_true(all_bytes(q, 210, 7));
  p = xmcHostRealloc(heap, q, 100, &status);
  CL_OK(status);
  assert_true(all_bytes(p, 100, 7));
  assert_null(xmcHostRealloc(heap, p, 0, &status));
  CL_OK(status);
  p = xmcHostRealloc(heap, NULL, 10, &status);
  CL_OK(status);
  assert_non_null(p);
  CL_OK(xmcHostFree(heap, p));
}

/* Requests that cannot be met, frees of what is no block: counted, nothing else */
static void failures(test_env *env, xmc_heap heap) {
  cl_int status = 1;
  char *p;
  xmc_heap_stats stats;
  assert_null(xmcHostMalloc(heap, 0, &status));
  CL_OK(status);
  assert_null(xmcHostMalloc(heap, ~(size_t)0, &status));
  assert_int_equal(status, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  assert_null(xmcHostCalloc(heap, ~(size_t)0 / 2, 3, &status));
  assert_int_equal(status, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  assert_null(xmcHostAlignedAlloc(heap, 24, 100, &status));
  assert_int_equal(status, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  assert_null(xmcHostMalloc(heap, (size_t)1 << 40, NULL));
  p = xmcHostMalloc(heap, 100, NULL);
  CL_OK(xmcHostFree(heap, NULL));
  CL_OK(xmcHostFree(heap, p + 1));
  assert_null(xmcHostRealloc(heap, p + 16, 10, &status));
  assert_int_equal(status, CL_INVALID_VALUE);
  CL_OK(xmcHostFree(heap, &stats));
  CL_OK(xmcHostFree(heap, p));
  CL_OK(xmcHostFree(heap, p));
  assert_int_equal(xmcHostToRef(heap, &stats), 0);
  assert_int_equal(xmcHostToRef(heap, NULL), 0);
  assert_null(xmcHostFromRef(heap, 0));
  assert_null(xmcHostFromRef(heap, (xmcRef)1 << 50));
  stats = test_intact(env, heap); /* also of a mapped heap */
  assert_int_equal(stats.live_blocks, 0);
  assert_int_equal(stats.failed_requests, 4);
  assert_int_equal(stats.invalid_frees, 3);
  assert_int_equal(stats.double_frees, 1);
}

static void calls(test_env *env) {
  xmc_heap heap = test_heap(env, 16 << 20);
  CL_OK(xmcMapHeap(heap, env->queue));
  sizes(heap);
  calloc_and_realloc(heap);
  failures(env, heap);
  CL_OK(xmcUnmapHeap(heap, NULL));
  assert_int_equal(test_intact(env, heap).live_blocks, 0);
}

/* Every alignment that the host's view of page 0 has, and those beyond a page in shared virtual memory;
 * others are failed requests. */
static void alignments(test_env *env) {
  xmc_heap heap = test_heap(env, 16 << 20);
  cl_ulong data = 0, refused = 0;
  size_t alignment, most;
  cl_int status = 1;
  test_read_arena(env, heap, offsetof(xmcHeap, data), sizeof data, &data);
  CL_OK(xmcMapHeap(heap, env->queue));
  most = (uintptr_t)xmcHostFromRef(heap, data);
  most &= 0 - most;
  if (most >= XMC_PAGE_BYTES)
    most = 1 << 20;
  assert_true(most >= 16);
  for (alignment = 1; alignment <= 1 << 20; alignment *= 2) {
    void *p = xmcHostAlignedAlloc(heap, alignment, 48, &status);
    if (alignment > most) {
      assert_null(p);
      assert_int_equal(status, CL_MEM_OBJECT_ALLOCATION_FAILURE);
      refused++;
      continue;
    }
    CL_OK(status);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % alignment, 0);
    CL_OK(xmcHostFree(heap, p));
  }
  if (env->config.backing != XMC_BACKING_BUFFER)
    assert_int_equal(refused, 0);
  CL_OK(xmcUnmapHeap(heap, env->queue));
  assert_int_equal(test_intact(env, heap).failed_requests, refused);
}

static void misuse(test_env *env) {
  xmc_heap heap = test_heap(env, 16 << 20);
  int always = host_always(heap);
  cl_int status = 1;
  void *p = xmcHostMalloc(heap, 100, &status);
  assert_int_equal(status, always ? CL_SUCCESS : XMC_HEAP_NOT_MAPPED);
  assert_true((p != NULL) == always);
  assert_int_equal(xmcHostFree(heap, p), always ? CL_SUCCESS : XMC_HEAP_NOT_MAPPED);
  if (!always) {
    assert_null(xmcHostCalloc(heap, 1, 1, &status));
    assert_int_equal(status, XMC_HEAP_NOT_MAPPED);
    assert_null(xmcHostRealloc(heap, NULL, 1, &status));
    assert_int_equal(status, XMC_HEAP_NOT_MAPPED);
    assert_int_equal(xmcHostToRef(heap, &status), 0);
    assert_null(xmcHostFromRef(heap, 100000));
  }
  assert_int_equal(xmcUnmapHeap(heap, NULL), XMC_HEAP_NOT_MAPPED);
  CL_OK(xmcMapHeap(heap, env->queue));
  assert_int_equal(xmcMapHeap(heap, env->queue), XMC_HEAP_MAPPED);
  assert_int_equal(xmcResetHeap(heap, env->queue), XMC_HEAP_MAPPED);
  assert_int_equal(xmcReleaseHeap(heap), XMC_HEAP_MAPPED);
  CL_OK(xmcRetainHeap(heap));
  CL_OK(xmcReleaseHeap(heap)); /* not the last one */
  CL_OK(xmcUnmapHeap(heap, env->queue));
  assert_int_equal(xmcUnmapHeap(heap, env->queue), XMC_HEAP_NOT_MAPPED);
  CL_OK(xmcResetHeap(heap, env->queue));
  assert_int_equal(xmcMapHeap(NULL, NULL), XMC_INVALID_HEAP);
  assert_int_equal(xmcUnmapHeap(NULL, NULL), XMC_INVALID_HEAP);
  assert_null(xmcHostMalloc(NULL, 1, &status));
  assert_int_equal(status, XMC_INVALID_HEAP);
  assert_int_equal(xmcHostFree(NULL, NULL), XMC_INVALID_HEAP);
  assert_int_equal(xmcHostUsableSize(NULL, NULL), 0);
  assert_non_null(strstr(xmcErrorString(XMC_HEAP_MAPPED), "xmcUnmapHeap"));
  assert_non_null(strstr(xmcErrorString(XMC_HEAP_NOT_MAPPED), "xmcMapHeap"));
}

/* A damaged header is not believed: the map says so and leaves the heap unmapped. */
static void damaged(test_env *env) {
  xmc_heap heap = test_heap(env, 16 << 20);
  cl_ulong bytes = (cl_ulong)1 << 60, was;
  test_read_arena(env, heap, offsetof(xmcHeap, bytes), sizeof was, &was);
  test_write_arena(env, heap, offsetof(xmcHeap, bytes), sizeof bytes, &bytes);
  assert_int_equal(xmcMapHeap(heap, env->queue), XMC_HEAP_CORRUPT);
  assert_int_equal(xmcUnmapHeap(heap, env->queue), XMC_HEAP_NOT_MAPPED);
  test_write_arena(env, heap, offsetof(xmcHeap, bytes), sizeof was, &was);
  CL_OK(xmcMapHeap(heap, env->queue));
  CL_OK(xmcUnmapHeap(heap, env->queue));
}

/* ---- blocks that change hands (the host's side of kernels/exchange.cl) ---- */

enum { PLACES = 257, THREADS = 8 };

typedef struct exchange {
  xmc_heap heap;
  uint64_t *table; /* a block of the heap */
  unsigned rounds; /* 0: until `stop` */
  int stop;
  uint64_t errors, failures, done;
} exchange;

typedef struct exchange_thread {
  exchange *x;
  pthread_t thread;
  unsigned state;
} exchange_thread;

static unsigned take_and_free(exchange *x, uint64_t ref) {
  unsigned *p = xmcHostFromRef(x->heap, ref), errors;
  if (!ref)
    return 0;
  errors = pattern_errors((char *)(p + 2), p[0] - 8u, p[1], 0, 1);
  return errors + (xmcHostFree(x->heap, p) != CL_SUCCESS);
}

static void *exchange_main(void *arg) {
  exchange_thread *t = arg;
  exchange *x = t->x;
  unsigned round, errors = 0, failures = 0;
  for (round = 0; x->rounds ? round < x->rounds : !__atomic_load_n(&x->stop, __ATOMIC_RELAXED); round++) {
    unsigned size, *p;
    uint64_t *place;
    t->state = t->state * 1664525u + 1013904223u;
    size = 16u + (t->state >> 8) % (16u << (t->state >> 28) % 8u);
    place = x->table + (t->state >> 4) % PLACES;
    p = xmcHostMalloc(x->heap, size, NULL);
    failures += p == NULL;
    if (p) {
      p[0] = size;
      p[1] = t->state;
      pattern_fill((char *)(p + 2), size - 8u, t->state, 0, 1);
    }
    errors += take_and_free(x, __atomic_exchange_n(place, xmcHostToRef(x->heap, p), __ATOMIC_ACQ_REL));
  }
  __atomic_add_fetch(&x->errors, errors, __ATOMIC_RELAXED);
  __atomic_add_fetch(&x->failures, failures, __ATOMIC_RELAXED);
  __atomic_add_fetch(&x->done, round, __ATOMIC_RELAXED);
  return NULL;
}

static void threads_start(exchange *x, exchange_thread *threads, unsigned seed) {
  unsigned i;
  for (i = 0; i < THREADS; i++) {
    threads[i].x = x;
    threads[i].state = (seed + i) * 2246822519u;
    assert_int_equal(pthread_create(&threads[i].thread, NULL, exchange_main, &threads[i]), 0);
  }
}

static void threads_join(exchange_thread *threads) {
  unsigned i;
  for (i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
}

/* Mapped: the table's blocks go, every tag right; nothing is left. */
static void exchange_finish(test_env *env, exchange *x, xmcRef table, cl_mem counts) {
  cl_uint kernel_counts[2];
  uint64_t errors = 0;
  unsigned i;
  test_read(env, counts, kernel_counts, sizeof kernel_counts);
  assert_int_equal(kernel_counts[0], 0);
  assert_int_equal(kernel_counts[1], 0);
  assert_int_equal(x->errors, 0);
  assert_int_equal(x->failures, 0);
  assert_true(x->done > 0);
  x->table = xmcHostFromRef(x->heap, table);
  for (i = 0; i < PLACES; i++)
    errors += take_and_free(x, x->table[i]);
  assert_int_equal(errors, 0);
  CL_OK(xmcHostFree(x->heap, x->table));
  CL_OK(xmcUnmapHeap(x->heap, env->queue));
  test_empty(env, x->heap);
}

static xmcRef table_new(exchange *x) {
  cl_int status;
  x->table = xmcHostCalloc(x->heap, PLACES, sizeof *x->table, &status);
  CL_OK(status);
  return xmcHostToRef(x->heap, x->table);
}

/* Kernel, host threads, kernel …, on one table in the heap */
static void turns(test_env *env) {
  exchange x = {.heap = test_heap(env, 32 << 20), .rounds = (unsigned)test_scaled(env, 20, 2000, 20000)};
  cl_kernel kernel = test_kernel(env, x.heap, "exchange.cl", "exchange_in_heap", NULL);
  cl_mem counts = test_buffer(env, 2 * sizeof(cl_uint), NULL);
  exchange_thread threads[THREADS];
  size_t local = 16, count = test_scaled(env, 64, 256, 4096);
  xmcRef table;
  cl_uint turn;
  CL_OK(xmcMapHeap(x.heap, env->queue));
  table = table_new(&x);
  CL_OK(xmcUnmapHeap(x.heap, env->queue));
  for (turn = 0; turn < 3; turn++) {
    test_launch(env, kernel, count, local, "hUuuum", x.heap, table, (cl_uint)PLACES, (cl_uint)20, turn,
                counts);
    test_intact(env, x.heap);
    CL_OK(xmcMapHeap(x.heap, env->queue));
    x.table = xmcHostFromRef(x.heap, table);
    threads_start(&x, threads, turn);
    threads_join(threads);
    if (turn < 2)
      CL_OK(xmcUnmapHeap(x.heap, env->queue));
  }
  exchange_finish(env, &x, table, counts);
}

/* ThreadSanitizer does not see the atomics of kernels, through which blocks come back to other threads. */
#if defined(__SANITIZE_THREAD__)
#define UNSEEN_KERNELS 1
#else
#define UNSEEN_KERNELS 0
#endif

static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Host threads beside running kernels */
static void beside(test_env *env) {
  exchange x = {.heap = test_heap(env, 32 << 20)};
  const char *wish = getenv("XMC_TEST_SECONDS");
  double seconds = wish && atof(wish) > 0 ? atof(wish) : (double)test_scaled(env, 1, 2, 60), end;
  cl_kernel kernel;
  cl_mem counts;
  exchange_thread threads[THREADS];
  xmcRef table;
  cl_uint launches;
  if (!host_always(x.heap) || UNSEEN_KERNELS)
    return; /* refused there: see misuse */
  kernel = test_kernel(env, x.heap, "exchange.cl", "exchange_in_heap", NULL);
  counts = test_buffer(env, 2 * sizeof(cl_uint), NULL);
  table = table_new(&x);
  threads_start(&x, threads, 77);
  end = seconds_now() + seconds;
  for (launches = 0; launches == 0 || seconds_now() < end; launches++)
    test_launch(env, kernel, 256, 16, "hUuuum", x.heap, table, (cl_uint)PLACES, (cl_uint)100, launches,
                counts);
  __atomic_store_n(&x.stop, 1, __ATOMIC_RELAXED);
  threads_join(threads);
  print_message("%u kernels of 25,600 rounds beside %d threads' %llu rounds\n", launches, THREADS,
                (unsigned long long)x.done);
  CL_OK(xmcMapHeap(x.heap, env->queue));
  exchange_finish(env, &x, table, counts);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {TEST(calls, SPREAD_AXES),  TEST(alignments, SPREAD_AXES),
                                    TEST(misuse, SPREAD_AXES), TEST(damaged, SPREAD_AXES),
                                    TEST(turns, SPREAD_AXES),  TEST(beside, SPREAD_AXES)};
  return test_main("host_calls", cases, sizeof cases / sizeof *cases, argc, argv);
}
