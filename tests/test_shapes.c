/* SPDX-License-Identifier: MIT */
/* ND-ranges of every shape and callers in any control flow. */
#include "support/blocks.h"

static const size_t locals[] = {1, 7, 32, 33, 64, 256, 1024};
#define LOCALS (sizeof locals / sizeof *locals)

static void run_shape(test_env *env, cl_kernel kernel, cl_uint dims, const size_t *offset,
                      const size_t *groups, const size_t *local) {
  size_t global[3] = {1, 1, 1}, d;
  for (d = 0; d < dims; d++)
    global[d] = groups[d] * local[d];
  CL_OK(clEnqueueNDRangeKernel(env->queue, kernel, dims, offset, global, local, 0, NULL, NULL));
  CL_OK(clFinish(env->queue));
}

/* All of a shape's items allocate; twice, with one size and with many. */
static void try_shape(test_env *env, test_blocks *b, cl_kernel kernel, cl_uint dims, const size_t *offset,
                      const size_t *groups, const size_t *local) {
  size_t count = 1, d;
  cl_uint vary;
  for (d = 0; d < dims; d++)
    count *= groups[d] * local[d];
  for (vary = 0; vary < 2; vary++) {
    test_args(kernel, "hmuUuu", b->heap, b->records, (cl_uint)count, (cl_ulong)(vary ? 300 : 48), vary,
              b->next_tag);
    b->next_tag += (cl_uint)count;
    run_shape(env, kernel, dims, offset, groups, local);
    assert_int_equal(blocks_fetch(b, count), 0);
    blocks_check(b);
    blocks_free(b, vary, 0);
  }
}

static void one_dimension(test_env *env) {
  size_t most = test_scaled(env, 512, 16384, 131072), i;
  xmc_heap heap = test_heap(env, test_scaled(env, 4u << 20, 32u << 20, 128u << 20));
  test_blocks b = blocks_new(env, heap, most + 1024, 64);
  cl_kernel kernel = test_kernel(env, heap, "shapes.cl", "shape_all", NULL);
  size_t offset = 1000003;
  for (i = 0; i < LOCALS && locals[i] <= env->device->max_local; i += test_step(env)) {
    size_t groups = (most + locals[i] - 1) / locals[i];
    if (groups > most / 4)
      groups = most / 4;
    try_shape(env, &b, kernel, 1, i % 2 ? &offset : NULL, &groups, &locals[i]);
  }
  test_empty(env, heap);
}

static void more_dimensions(test_env *env) {
  static const size_t shapes[][7] = {
      /* dimensions, local sizes, groups */
      {2, 7, 1, 1, 5, 9, 1},   {2, 8, 4, 1, 3, 8, 1}, {2, 1, 33, 1, 7, 3, 1}, {2, 16, 16, 1, 2, 3, 1},
      {2, 32, 32, 1, 2, 1, 1}, {3, 1, 1, 1, 5, 6, 7}, {3, 7, 1, 1, 2, 3, 4},  {3, 4, 4, 2, 3, 2, 2},
      {3, 11, 3, 1, 2, 2, 2},  {3, 4, 4, 4, 2, 2, 2}, {3, 8, 8, 4, 2, 1, 2},  {3, 16, 8, 8, 1, 2, 1},
  };
  static const size_t offset[3] = {3, 70001, 11};
  xmc_heap heap = test_heap(env, 8u << 20);
  test_blocks b = blocks_new(env, heap, 4096, 64);
  cl_kernel kernel = test_kernel(env, heap, "shapes.cl", "shape_all", NULL);
  size_t i;
  for (i = 0; i < sizeof shapes / sizeof *shapes; i += test_step(env)) {
    const size_t *s = shapes[i];
    if (s[1] * s[2] * s[3] <= env->device->max_local)
      try_shape(env, &b, kernel, (cl_uint)s[0], i % 2 ? offset : NULL, s + 4, s + 1);
  }
  test_empty(env, heap);
}

/* One lane alone in a sub-group, two, some; the others have returned. */
static void few_lanes(test_env *env) {
  static const cl_uint every[] = {2, 3, 32, 33, 64, 1000};
  size_t count = test_scaled(env, 1000, 10000, 100000), e, i;
  xmc_heap heap = test_heap(env, test_scaled(env, 4u << 20, 16u << 20, 64u << 20));
  test_blocks b = blocks_new(env, heap, count, 64);
  cl_kernel kernel = test_kernel(env, heap, "shapes.cl", "shape_sparse", NULL);
  for (e = 0; e < sizeof every / sizeof *every; e++) {
    memset(b.host, 0, count * sizeof *b.host);
    test_write(env, b.records, b.host, count * sizeof *b.host);
    test_launch(env, kernel, count, b.local, "hmuuu", heap, b.records, (cl_uint)count, every[e], b.next_tag);
    blocks_fetch(&b, count);
    for (i = 0; i < count; i++)
      assert_int_equal(b.host[i].ref != 0, i % every[e] == every[e] / 2);
    blocks_check(&b);
    blocks_free(&b, every[e], 0);
  }
  test_empty(env, heap);
}

static void divergent(test_env *env) {
  size_t count = test_scaled(env, 256, 8192, 65536), l, round;
  xmc_heap heap = test_heap(env, test_scaled(env, 8u << 20, 64u << 20, 256u << 20));
  test_blocks b = blocks_new(env, heap, count, 64);
  cl_kernel kernel = test_kernel(env, heap, "shapes.cl", "shape_divergent", NULL);
  cl_mem error_buffer = test_buffer(env, sizeof(cl_uint), NULL);
  cl_uint errors = 0;
  for (l = 0; l < LOCALS && locals[l] <= env->device->max_local; l += test_step(env)) {
    /* the second launch frees what the first allocated and fills other places */
    for (round = 0; round < 3; round++) {
      test_launch(env, kernel, count, locals[l], "hmuum", heap, b.records, (cl_uint)count, b.next_tag,
                  error_buffer);
      b.next_tag += (cl_uint)count;
      blocks_fetch(&b, count);
      if (round != 1)
        assert_true(b.host[0].ref && b.host[1].ref && !b.host[2].ref && b.host[5].ref && b.host[6].ref);
      blocks_check(&b);
    }
    test_read(env, error_buffer, &errors, sizeof errors);
    assert_int_equal(errors, 0);
    test_intact(env, heap);
    blocks_free(&b, (cl_uint)l, 0);
  }
  test_empty(env, heap);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {
      TEST(one_dimension, SPREAD_AXES),
      TEST(more_dimensions, SPREAD_AXES),
      TEST(few_lanes, SPREAD_AXES),
      TEST(divergent, SPREAD_AXES),
  };
  return test_main("shapes", cases, sizeof cases / sizeof *cases, argc, argv);
}
