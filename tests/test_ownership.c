/* SPDX-License-Identifier: MIT */
/* Every block has one owner: tags and patterns over the whole usable size, checked by another kernel,
 * freed by other work-groups than allocated it; no overlap, right alignment, inside the arena. */
#include "support/blocks.h"

static void expect_all(size_t failures) { assert_int_equal(failures, 0); }

/* Sizes 1, 2, 3 … in small steps to 4,096, all in one launch */
static void small_steps_mixed(test_env *env) {
  xmc_heap heap = test_heap(env, test_scaled(env, 8u << 20, 64u << 20, 256u << 20));
  size_t count = test_scaled(env, 256, 8192, 65536), i;
  test_blocks b = blocks_new(env, heap, count, 64);
  cl_ulong *sizes = test_alloc(env, count * sizeof *sizes);
  for (i = 0; i < count; i++)
    sizes[i] = 1 + (count < 4096 ? i * (4096 / count) : i % 4096);
  expect_all(blocks_malloc(&b, sizes, count));
  blocks_check(&b);
  test_intact(env, heap);
  blocks_free(&b, 1, 0);
  test_empty(env, heap);
}

/* One size a launch, at and beside every place where classes may change */
static void small_steps_uniform(test_env *env) {
  xmc_heap heap = test_heap(env, test_scaled(env, 4u << 20, 32u << 20, 128u << 20));
  size_t count = test_scaled(env, 64, 1024, 16384), i;
  test_blocks b = blocks_new(env, heap, count, 64);
  cl_ulong *sizes = test_alloc(env, count * sizeof *sizes), size = 1;
  cl_uint salt = 0;
  while (size <= 4096) {
    for (i = 0; i < count; i++)
      sizes[i] = size;
    expect_all(blocks_malloc(&b, sizes, count));
    blocks_check(&b);
    blocks_free(&b, salt++, 0);
    if (size < 20)
      size++;
    else if (size % 16 == 1)
      size += size < 160 ? 14 : test_scaled(env, 1022, 110, 14);
    else
      size++;
  }
  test_empty(env, heap);
}

/* Powers of two, and one byte more and less, to 64 MiB or a quarter of the heap */
static void powers_of_two(test_env *env) {
  size_t bytes = test_scaled(env, 8u << 20, 280u << 20, 1024u << 20), most = 256, i;
  cl_ulong *sizes = test_alloc(env, most * sizeof *sizes), size;
  test_blocks b;
  xmc_heap heap;
  while (bytes > env->device->max_alloc / 2)
    bytes /= 2;
  heap = test_heap(env, bytes);
  b = blocks_new(env, heap, most, 64);
  for (size = 1; size <= bytes / 4 && size <= 64u << 20; size *= 2) {
    /* three sizes; a Memoryblock of a page more than a span takes a second span's begin */
    size_t count = bytes / 4 / size;
    count = count < 2 ? 2 : count > most ? most : count;
    for (i = 0; i < count; i++)
      sizes[i] = i % 3 == 1 && size > 1 ? size - 1 : i % 3 == 2 && size < bytes / 8 ? size + 1 : size;
    expect_all(blocks_malloc(&b, sizes, count));
    blocks_check(&b);
    blocks_free(&b, (cl_uint)size, 0);
  }
  test_empty(env, heap);
}

/* Sizes of all magnitudes at once; several generations live together */
static void random_mixes(test_env *env) {
  enum { SETS = 4 };
  size_t count = test_scaled(env, 128, 2048, 16384), i, s, round;
  xmc_heap heap = test_heap(env, test_scaled(env, 16u << 20, 96u << 20, 512u << 20));
  cl_ulong *sizes = test_alloc(env, count * sizeof *sizes), seed = 1;
  test_blocks b[SETS], *all[SETS];
  for (s = 0; s < SETS; s++) {
    b[s] = blocks_new(env, heap, count, 64);
    b[s].next_tag = (cl_uint)(s << 28 | 1u);
    all[s] = &b[s];
  }
  for (round = 0; round < test_scaled(env, 2, 6, 12); round++)
    for (s = 0; s < SETS; s++) {
      if (b[s].count) {
        blocks_check(&b[s]);
        blocks_free(&b[s], (cl_uint)seed, 0);
      }
      for (i = 0; i < count; i++) {
        uint64_t h = test_hash(seed++);
        sizes[i] =
            1 + (h >> 16) % ((uint64_t)16 << h % (i % 64 == 0 ? 14 : 9)); /* to 4 KiB, some to 128 KiB */
      }
      expect_all(blocks_malloc(&b[s], sizes, count));
      blocks_verify(all, SETS);
      if (round == 1)
        test_intact(env, heap);
    }
  for (s = 0; s < SETS; s++) {
    blocks_check(&b[s]);
    blocks_free(&b[s], (cl_uint)s, 0);
  }
  test_empty(env, heap);
}

/* Half of the blocks are freed and their room given to others; the rest must not notice */
static void holes(test_env *env) {
  xmc_heap heap = test_heap(env, test_scaled(env, 4u << 20, 32u << 20, 128u << 20));
  size_t count = test_scaled(env, 256, 4096, 32768), i, round;
  test_blocks old = blocks_new(env, heap, count, 64), fresh = blocks_new(env, heap, count, 33);
  test_blocks *both[2];
  cl_ulong *sizes = test_alloc(env, count * sizeof *sizes);
  both[0] = &old;
  both[1] = &fresh;
  fresh.next_tag = 1u << 30;
  for (round = 0; round < 4; round++) {
    cl_ulong size = (cl_ulong)16 << round * 2;
    for (i = 0; i < count; i++)
      sizes[i] = size;
    expect_all(blocks_malloc(&old, sizes, count));
    blocks_free(&old, (cl_uint)round, 2);
    for (i = 0; i < count; i++)
      sizes[i] = round % 2 ? size : 1 + test_hash(i) % 512;
    expect_all(blocks_malloc(&fresh, sizes, count));
    blocks_verify(both, 2);
    blocks_check(&old);
    blocks_check(&fresh);
    test_intact(env, heap);
    blocks_free(&fresh, (cl_uint)round, 0);
    blocks_check(&old);
    blocks_free(&old, (cl_uint)round + 7u, 0);
    test_empty(env, heap);
  }
}

int main(int argc, char **argv) {
  static const test_case cases[] = {
      TEST(small_steps_mixed, SPREAD_MATRIX),
      TEST(small_steps_uniform, SPREAD_AXES),
      TEST(powers_of_two, SPREAD_AXES),
      TEST(random_mixes, SPREAD_MATRIX),
      TEST(holes, SPREAD_MATRIX),
  };
  return test_main("ownership", cases, sizeof cases / sizeof *cases, argc, argv);
}
