/* SPDX-License-Identifier: MIT */
/* References: in 32 bits, on both sides, with their edges and a heap that they do not reach; and those that
 * work-items hand to each other while they run. */
#include "support/harness.h"
#include "heap/internal.h"

#define REACH ((cl_ulong)1 << 36) /* 64 GiB */

/* ---- 32 bits, on the host ---- */

static void host_round_trip(test_env *env) {
  xmc_heap heap = test_heap(env, 16 << 20);
  char *block, *last = NULL, *outside;
  CL_OK(xmcCheckRef32(heap));
  CL_OK(xmcMapHeap(heap, env->queue));
  while ((block = xmcHostMalloc(heap, 8192, NULL)) != NULL) {
    assert_int_not_equal(xmcHostToRef32(heap, block), 0);
    assert_int_equal((xmcRef)xmcHostToRef32(heap, block) << 4, xmcHostToRef(heap, block));
    assert_ptr_equal(xmcHostFromRef32(heap, xmcHostToRef32(heap, block)), block);
    last = block > last ? block : last;
  }
  assert_non_null(last);
  assert_int_equal(xmcHostToRef32(heap, last + 16), xmcHostToRef32(heap, last) + 1);
  assert_int_equal(xmcHostToRef32(heap, last + 8), 0);
  assert_int_equal(xmcHostToRef32(heap, NULL), 0);
  assert_null(xmcHostFromRef32(heap, 0));
  outside = last - xmcHostToRef(heap, last) + (16 << 20);
  assert_int_not_equal(xmcHostToRef32(heap, outside - 16), 0);
  assert_int_equal(xmcHostToRef32(heap, outside), 0);
  assert_int_equal(xmcHostToRef32(heap, outside - (16 << 20) - 16), 0);
  assert_null(xmcHostFromRef32(heap, (16 << 20) >> 4));
  assert_non_null(xmcHostFromRef32(heap, ((16 << 20) >> 4) - 1));
  assert_null(xmcHostFromRef32(heap, 0xffffffffu));
  CL_OK(xmcUnmapHeap(heap, env->queue));
}

static void pretend(xmc_heap heap, xmc_u64 bytes) {
  heap->initial.max_bytes = bytes;
  heap->bytes = bytes;
}

/* A heap whose handle says that it is larger: no address beyond its true end is read. */
static void host_beyond(test_env *env) {
  xmc_heap heap = test_heap(env, 16 << 20);
  xmc_u64 bytes = heap->initial.max_bytes;
  char *arena;
  CL_OK(xmcMapHeap(heap, env->queue));
  arena = (char *)xmcHostFromRef(heap, 16) - 16;
  pretend(heap, REACH);
  CL_OK(xmcCheckRef32(heap));
  assert_int_equal(xmcHostToRef32(heap, arena + REACH - 16), 0xffffffffu);
  assert_ptr_equal(xmcHostFromRef32(heap, 0xffffffffu), arena + REACH - 16);
  pretend(heap, REACH + 1);
  assert_int_equal(xmcCheckRef32(heap), XMC_HEAP_TOO_LARGE);
  pretend(heap, 2 * REACH);
  assert_int_equal(xmcCheckRef32(heap), XMC_HEAP_TOO_LARGE);
  assert_int_equal(xmcHostToRef32(heap, arena + REACH), 0);
  assert_int_equal(xmcHostToRef32(heap, arena + REACH + 4096), 0);
  assert_int_equal(xmcHostToRef(heap, arena + REACH + 4096), REACH + 4096);
  pretend(heap, bytes);
  CL_OK(xmcUnmapHeap(heap, env->queue));
  assert_int_equal(xmcCheckRef32(NULL), XMC_INVALID_HEAP);
  if (!heap->host_always)
    assert_int_equal(xmcHostToRef32(heap, arena + 16), 0); /* not mapped */
}

/* ---- 32 bits, in kernels ---- */

static void edges(test_env *env) {
  static const struct {
    cl_ulong offset;
    cl_uint ref;
  } cases[] = {{0, 0},
               {16, 1},
               {24, 0},
               {17, 0},
               {(cl_ulong)1 << 32, 1u << 28},
               {REACH - 16, 0xffffffffu},
               {REACH, 0},
               {REACH + 16, 0},
               {2 * REACH + 4096, 0},
               {~(cl_ulong)0 - 15, 0}};
  enum { COUNT = sizeof cases / sizeof *cases };
  xmc_heap heap = test_heap(env, 4 << 20);
  cl_kernel kernel = test_kernel(env, heap, "refs.cl", "refs_edges", NULL);
  cl_ulong offsets[COUNT];
  cl_uint found[COUNT + 3], i;
  cl_mem out = test_buffer(env, sizeof found, NULL);
  for (i = 0; i < COUNT; i++)
    offsets[i] = cases[i].offset;
  test_launch(env, kernel, COUNT, 1, "hmmu", heap, test_buffer(env, sizeof offsets, offsets), out,
              (cl_uint)COUNT);
  test_read(env, out, found, sizeof found);
  for (i = 0; i < COUNT; i++)
    assert_int_equal(found[i], cases[i].ref);
  for (; i < COUNT + 3; i++)
    assert_int_equal(found[i], 0);
}

/* Every block of a full heap, the last one included */
static void every_block(test_env *env) {
  static const cl_ulong sizes[] = {16, 48, 8192};
  xmc_heap heap = test_heap(env, 8 << 20);
  cl_kernel kernel = test_kernel(env, heap, "refs.cl", "refs_fill", NULL);
  cl_uint found[3] = {0}, i;
  cl_mem out = test_buffer(env, sizeof found, NULL);
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    memset(found, 0, sizeof found);
    test_write(env, out, found, sizeof found);
    test_launch(env, kernel, 64, 16, "hUm", heap, sizes[i], out);
    test_read(env, out, found, sizeof found);
    assert_true(found[0] > (4u << 20) / (sizes[i] < 16384 ? 16384 : sizes[i]));
    assert_int_equal(found[1], 0);
    assert_true((cl_ulong)found[2] << 4 > 7u << 20);
    CL_OK(xmcResetHeap(heap, env->queue));
  }
}

/* ---- between work-items ---- */

static void hand_over(test_env *env) {
  enum { PLACES = 7 };
  size_t items = test_scaled(env, 64, 1024, 1 << 16), i;
  cl_uint rounds = 20;
  xmc_heap heap = test_heap(env, test_scaled(env, 8u << 20, 64u << 20, 256u << 20));
  cl_mem places = test_buffer(env, PLACES * sizeof(cl_ulong), NULL),
         sums = test_buffer(env, 3 * sizeof(cl_uint), NULL);
  cl_kernel free_list = test_kernel(env, heap, "refs.cl", "refs_free", NULL);
  cl_ulong left[PLACES];
  cl_uint found[3];
  cl_mem head;
  test_launch(env, test_kernel(env, heap, "refs.cl", "refs_exchange", NULL), items, 16, "hmuum", heap, places,
              (cl_uint)PLACES, rounds, sums);
  test_read(env, places, left, sizeof left);
  for (i = 0; i < PLACES; i++) {
    head = test_buffer(env, sizeof *left, &left[i]);
    test_launch(env, free_list, 1, 1, "hmm", heap, head, sums);
  }
  test_read(env, sums, found, sizeof found);
  assert_int_not_equal(found[0], 0);
  assert_int_equal(found[0], found[1]);
  assert_int_equal(found[2], 0);
  test_empty(env, heap);

  head = test_buffer(env, sizeof *left, NULL);
  test_launch(env, test_kernel(env, heap, "refs.cl", "refs_push", NULL), items, 16, "hmum", heap, head,
              rounds, sums);
  test_launch(env, free_list, 1, 1, "hmm", heap, head, sums);
  test_read(env, sums, found, sizeof found);
  assert_int_equal(found[0], found[1]);
  assert_int_equal(found[2], 0);
  test_empty(env, heap);
  assert_int_equal(test_intact(env, heap).failed_requests, 0);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {
      TEST(host_round_trip, SPREAD_AXES), TEST(host_beyond, SPREAD_ONE), TEST(edges, SPREAD_ONE),
      TEST(every_block, SPREAD_ONE),      TEST(hand_over, SPREAD_ONE),
  };
  return test_main("refs", cases, sizeof cases / sizeof *cases, argc, argv);
}
