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

enum { WINDOW = 32 };
/* Moves references of blocks, from blocks[*at] on, to refs[0 … 32): those of 32 neighbours, which most often are of one Superblock or two; or
 * of runs of random lengths, whose items lie in any order, with blocks left out between them, and places that stay 0. If `twice`, an empty
 * place gets the block of the place behind it as well. Returns how many blocks stand there twice. */
static size_t fill_window(cl_ulong *refs, test_block *blocks, size_t count, size_t *at, uint64_t *seed,
                          int twice) {
  size_t i, filled = 0, longest;
  int whole = (*seed = test_hash(*seed)) % 4 == 0;
  longest = whole ? WINDOW : 1 + (size_t)(*seed >> 8) % WINDOW;
  memset(refs, 0, WINDOW * sizeof *refs);
  while (filled < WINDOW && *at < count) {
    size_t run = whole ? WINDOW : 1 + (size_t)(*seed = test_hash(*seed)) % longest;
    for (; run > 0 && filled < WINDOW && *at < count; run--, ++*at) {
      refs[filled++] = blocks[*at].ref;
      blocks[*at].ref = 0;
    }
    if (whole)
      break;
    *at += (size_t)(*seed >> 16) % 40;
    filled += *seed >> 32 & 1;
  }
  for (i = WINDOW - 1; i > 0 && !whole; i--) {
    size_t other = (size_t)(*seed = test_hash(*seed)) % (i + 1);
    cl_ulong ref = refs[i];
    refs[i] = refs[other];
    refs[other] = ref;
  }
  for (i = 0; twice && i < WINDOW; i++)
    if (!refs[i] && refs[(i + 1) % WINDOW]) {
      refs[i] = refs[(i + 1) % WINDOW];
      return 1;
    }
  return 0;
}

static void free_places(test_env *env, const test_blocks *b, cl_kernel kernel, cl_mem buffer,
                        const cl_ulong *refs, size_t places) {
  test_write(env, buffer, refs, places * sizeof *refs);
  test_launch(env, kernel, places, b->local, "hmu", b->heap, buffer, (cl_uint)places);
}

/* Items of a sub-group free blocks of one Superblock, of many, and of as many as there are items, in any partition; one block in some
 * windows twice. Each block is free afterwards, and each second free is counted. */
static void partitions(test_env *env) {
  static const cl_ulong sizes[] = {16, 48, 200, 700, 3000};
  size_t count = test_scaled(env, 1024, 8192, 65536), turn, size, i, at, places, again;
  for (turn = 0; turn < 2; turn++) {
    xmc_heap heap = test_heap(env, test_scaled(env, 8u << 20, 64u << 20, 256u << 20));
    test_blocks b = blocks_new(env, heap, count, 64);
    cl_kernel kernel = test_kernel(env, heap, "shapes.cl", "shape_free", NULL);
    cl_mem buffer = test_buffer(env, (count + WINDOW) * sizeof(cl_ulong), NULL);
    cl_ulong *refs = calloc(count + WINDOW, sizeof *refs), *asked = calloc(count, sizeof *asked);
    uint64_t seed = 7 + turn;
    size_t twice = 0;
    assert_non_null(refs);
    assert_non_null(asked);
    for (size = 0; size < sizeof sizes / sizeof *sizes; size++) {
      for (i = 0; i < count; i++) /* one size; then two in turn, so that neighbours are of two classes */
        asked[i] = turn && i % 3 == 0 ? sizes[size] / 2 : sizes[size];
      assert_int_equal(blocks_malloc(&b, asked, count), 0);
      for (at = places = 0; at < count && places < count;
           places += WINDOW, at = (at + WINDOW - 1) / WINDOW * WINDOW)
        twice += fill_window(refs + places, b.host, count, &at, &seed, turn == 1);
      free_places(env, &b, kernel, buffer, refs, places);
      for (i = again = 0; i < count; i++) /* the blocks that were left out */
        if (b.host[i].ref)
          refs[again++] = b.host[i].ref;
      free_places(env, &b, kernel, buffer, refs, again);
      assert_int_equal(test_intact(env, heap).live_blocks, 0);
    }
    assert_int_equal(test_intact(env, heap).double_frees + test_intact(env, heap).invalid_frees, twice);
    assert_true(turn == 0 || twice > 0);
    free(refs);
    free(asked);
  }
}

int main(int argc, char **argv) {
  static const test_case cases[] = {
      TEST(one_dimension, SPREAD_AXES), TEST(more_dimensions, SPREAD_AXES), TEST(few_lanes, SPREAD_AXES),
      TEST(divergent, SPREAD_AXES),     TEST(partitions, SPREAD_AXES),
  };
  return test_main("shapes", cases, sizeof cases / sizeof *cases, argc, argv);
}
