/* SPDX-License-Identifier: MIT */
/* calloc, realloc, aligned allocation, usable size and references. */
#include "support/blocks.h"

static cl_ulong some_size(uint64_t seed, unsigned magnitudes) {
  uint64_t h = test_hash(seed);
  return 1 + (h >> 16) % ((uint64_t)16 << h % magnitudes);
}

/* Fills the heap with a pattern and gives it back, so that nothing is zero by luck. */
static void soil(test_blocks *b, size_t count, cl_ulong size) {
  cl_ulong *sizes = test_alloc(b->env, count * sizeof *sizes);
  size_t i;
  for (i = 0; i < count; i++)
    sizes[i] = size;
  assert_int_equal(blocks_malloc(b, sizes, count), 0);
  blocks_free(b, 3, 0);
}

static void calloc_zeroes(test_env *env) {
  size_t count = test_scaled(env, 256, 4096, 32768), i, round;
  xmc_heap heap = test_heap(env, test_scaled(env, 16u << 20, 256u << 20, 1024u << 20));
  test_blocks b = blocks_new(env, heap, count, 64);
  cl_kernel kernel = test_kernel(env, heap, "calls.cl", "calls_calloc", NULL);
  cl_ulong *counts = test_alloc(env, count * sizeof *counts), *sizes = test_alloc(env, count * sizeof *sizes);
  for (round = 0; round < 3; round++) {
    soil(&b, count, (cl_ulong)16 << 4 * round);
    for (i = 0; i < count; i++) {
      counts[i] = 1 + test_hash(i + round) % 9;
      sizes[i] = i % 97 == 5 ? 20000 : some_size(i * 3 + round, 6);
    }
    test_launch(env, kernel, count, b.local, "hmmmuu", heap, test_buffer(env, count * sizeof *counts, counts),
                test_buffer(env, count * sizeof *sizes, sizes), b.records, (cl_uint)count, b.next_tag);
    assert_int_equal(blocks_fetch(&b, count), 0);
    for (i = 0; i < count; i++)
      assert_int_equal(b.host[i].errors, 0);
    blocks_check(&b);
    blocks_free(&b, (cl_uint)round, 0);
  }
  test_empty(env, heap);
}

static void realloc_keeps(test_env *env) {
  size_t count = test_scaled(env, 128, 2048, 16384), i, round;
  xmc_heap heap = test_heap(env, test_scaled(env, 16u << 20, 128u << 20, 512u << 20));
  test_blocks b = blocks_new(env, heap, count, 64);
  cl_kernel kernel = test_kernel(env, heap, "calls.cl", "calls_realloc", NULL);
  cl_ulong *sizes = test_alloc(env, count * sizeof *sizes);
  cl_uint *got = test_alloc(env, count * sizeof *got);
  cl_mem size_buffer = test_buffer(env, count * sizeof *sizes, NULL);
  cl_mem got_buffer = test_buffer(env, count * sizeof *got, NULL);
  xmc_heap_stats stats;
  for (round = 0; round < 6; round++) { /* the first one's blocks are NULL: it allocates */
    for (i = 0; i < count; i++)
      sizes[i] = i % 64 == 0 ? some_size(i + round * count, 13) : some_size(i + round * count, 9);
    test_write(env, size_buffer, sizes, count * sizeof *sizes);
    test_launch(env, kernel, count, b.local, "hmmmuu", heap, b.records, size_buffer, got_buffer,
                (cl_uint)count, b.next_tag);
    b.next_tag += (cl_uint)count;
    assert_int_equal(blocks_fetch(&b, count), 0);
    test_read(env, got_buffer, got, count * sizeof *got);
    for (i = 0; i < count; i++) {
      assert_int_equal(got[i], 1);
      assert_int_equal(b.host[i].errors, 0);
    }
    blocks_check(&b);
    test_live(env, test_intact(env, heap).live_blocks, count);
  }
  /* too much: NULL, and everything as it was */
  for (i = 0; i < count; i++)
    sizes[i] = i % 3 == 0 ? SIZE_MAX - i : i % 3 == 1 ? (cl_ulong)1 << 33 : (cl_ulong)1 << 62;
  test_write(env, size_buffer, sizes, count * sizeof *sizes);
  test_launch(env, kernel, count, b.local, "hmmmuu", heap, b.records, size_buffer, got_buffer, (cl_uint)count,
              b.next_tag);
  blocks_fetch(&b, count);
  test_read(env, got_buffer, got, count * sizeof *got);
  for (i = 0; i < count; i++) {
    assert_int_equal(got[i], 0);
    assert_true(b.host[i].ref != 0);
    assert_int_equal(b.host[i].errors, 0);
  }
  blocks_check(&b);
  stats = test_intact(env, heap);
  test_live(env, stats.live_blocks, count);
  assert_int_equal(stats.failed_requests, count);
  blocks_free(&b, 5, 0);
  test_empty(env, heap);
}

static void aligned(test_env *env) {
  enum { MOST = 1024 };
  size_t count = test_scaled(env, 64, 256, MOST), i;
  size_t bytes = test_scaled(env, 8u << 20, 64u << 20, 256u << 20);
  xmc_heap heap = test_heap(env, bytes);
  test_blocks b = blocks_new(env, heap, count, 64);
  cl_kernel kernel = test_kernel(env, heap, "calls.cl", "calls_aligned", NULL);
  cl_ulong *alignments = test_alloc(env, count * sizeof *alignments),
           *sizes = test_alloc(env, count * sizeof *sizes);
  cl_mem alignment_buffer = test_buffer(env, count * sizeof *alignments, NULL);
  cl_mem size_buffer = test_buffer(env, count * sizeof *sizes, NULL);
  cl_ulong alignment;
  for (alignment = 1; alignment <= 1u << 20; alignment *= 2) {
    cl_ulong room = bytes / 4 / (alignment + 4096);
    size_t n = room < 2 ? 2 : room < count ? room : count;
    for (i = 0; i < n; i++) {
      alignments[i] = i % 4 == 3 ? 16 : alignment; /* neighbours want something else */
      sizes[i] = i == 0 ? 1 : some_size(i + alignment, 9);
    }
    test_write(env, alignment_buffer, alignments, n * sizeof *alignments);
    test_write(env, size_buffer, sizes, n * sizeof *sizes);
    test_launch(env, kernel, n, b.local, "hmmmuu", heap, alignment_buffer, size_buffer, b.records, (cl_uint)n,
                b.next_tag);
    b.next_tag += (cl_uint)n;
    assert_int_equal(blocks_fetch(&b, n), 0);
    for (i = 0; i < n; i++)
      assert_int_equal(b.host[i].address % alignments[i], 0);
    blocks_check(&b);
    blocks_free(&b, (cl_uint)alignment, 0);
  }
  test_empty(env, heap);
}

static void bad_alignments(test_env *env) {
  cl_ulong alignments[] = {0, 3, 24, 48, 4095, 65535, (cl_ulong)1 << 40, (cl_ulong)1 << 63, SIZE_MAX};
  enum { COUNT = sizeof alignments / sizeof *alignments };
  cl_ulong sizes[COUNT];
  xmc_heap heap = test_heap(env, 4u << 20);
  test_blocks b = blocks_new(env, heap, COUNT, 64);
  cl_kernel kernel = test_kernel(env, heap, "calls.cl", "calls_aligned", NULL);
  size_t i;
  for (i = 0; i < COUNT; i++)
    sizes[i] = 40;
  test_launch(env, kernel, COUNT, 1, "hmmmuu", heap, test_buffer(env, sizeof alignments, alignments),
              test_buffer(env, sizeof sizes, sizes), b.records, (cl_uint)COUNT, 0u);
  assert_int_equal(blocks_fetch(&b, COUNT), COUNT);
  assert_int_equal(test_intact(env, heap).failed_requests, COUNT);
  test_empty(env, heap);
}

static void references(test_env *env) {
  size_t count = test_scaled(env, 128, 2048, 16384), i;
  xmc_heap heap = test_heap(env, test_scaled(env, 8u << 20, 64u << 20, 256u << 20));
  test_blocks b = blocks_new(env, heap, count, 64);
  cl_kernel kernel = test_kernel(env, heap, "calls.cl", "calls_references", NULL);
  cl_mem error_buffer = test_buffer(env, sizeof(cl_uint), NULL);
  cl_ulong *sizes = test_alloc(env, count * sizeof *sizes);
  cl_uint errors;
  for (i = 0; i < count; i++)
    sizes[i] = some_size(i, 9);
  assert_int_equal(blocks_malloc(&b, sizes, count), 0);
  test_launch(env, kernel, count, b.local, "hmmu", heap, b.records, error_buffer, (cl_uint)count);
  test_read(env, error_buffer, &errors, sizeof errors);
  assert_int_equal(errors, 0);
  blocks_free(&b, 1, 0);
  test_empty(env, heap);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {
      TEST(calloc_zeroes, SPREAD_AXES),  TEST(realloc_keeps, SPREAD_AXES), TEST(aligned, SPREAD_AXES),
      TEST(bad_alignments, SPREAD_AXES), TEST(references, SPREAD_AXES),
  };
  return test_main("calls", cases, sizeof cases / sizeof *cases, argc, argv);
}
