/* SPDX-License-Identifier: MIT */
/* Full and empty: the last block of a heap can be had, in every size, whatever it held before. */
#include "support/harness.h"

typedef struct filling {
  test_env *env;
  xmc_heap heap;
  size_t bytes, items;
  cl_kernel fill, free;
  cl_mem heads, numbers, taken, errors;
  cl_ulong *host_taken;
} filling;

static filling filling_new(test_env *env, size_t bytes, size_t items) {
  filling f;
  f.env = env;
  f.bytes = bytes;
  f.items = items;
  f.heap = test_heap(env, bytes);
  f.fill = test_kernel(env, f.heap, "full.cl", "full_fill", NULL);
  f.free = test_kernel(env, f.heap, "full.cl", "full_free", NULL);
  f.heads = test_buffer(env, items * sizeof(cl_ulong), NULL);
  f.numbers = test_buffer(env, items * sizeof(cl_uint), NULL);
  f.taken = test_buffer(env, 3 * items * sizeof(cl_ulong), NULL);
  f.errors = test_buffer(env, sizeof(cl_uint), NULL);
  f.host_taken = test_alloc(env, 3 * items * sizeof(cl_ulong));
  return f;
}

static void sum(filling *f, cl_ulong totals[3]) {
  size_t i;
  test_read(f->env, f->taken, f->host_taken, 3 * f->items * sizeof(cl_ulong));
  totals[0] = totals[1] = totals[2] = 0;
  for (i = 0; i < 3 * f->items; i++)
    totals[i % 3] += f->host_taken[i];
}

/* Until every item was refused a block in the same launch. Totals: blocks, bytes. */
static void fill(filling *f, cl_uint size, cl_ulong totals[3]) {
  cl_uint quota = (cl_uint)(f->bytes / (size ? size : 512) / f->items + 2);
  do
    test_launch(f->env, f->fill, f->items, 64, "hmmuuum", f->heap, f->heads, f->numbers, (cl_uint)f->items,
                size, quota, f->taken);
  while (sum(f, totals), totals[2] < f->items);
}

static void empty(filling *f, cl_uint size, cl_uint shift, cl_uint of) {
  cl_uint errors = 0;
  test_launch(f->env, f->free, f->items, 64, "hmuuuumm", f->heap, f->heads, (cl_uint)f->items, size, shift,
              of, f->taken, f->errors);
  test_read(f->env, f->errors, &errors, sizeof errors);
  assert_int_equal(errors, 0);
}

/* In lock step, compartments spend 8 bytes of header and up to 8 of rounding on each block, 8 more on each
 * group and the rounding of the group's size to a class (a fifth at most). */
static double least_share(const test_env *env, xmc_heap heap, cl_uint size) {
  double share = env->device->scale == SCALE_SMALL ? 0.90 : 0.97;
  if (env->config.coalescing == XMC_COALESCE_COMPARTMENT && size <= 2048 &&
      strstr(xmcGetBuildOptions(heap), "XMC_SIMT=1"))
    share *= size / (size + 20.0) * 0.8;
  return share;
}

static void fill_and_expect(filling *f, cl_uint size) {
  cl_ulong totals[3];
  xmc_heap_stats stats;
  double share, least = least_share(f->env, f->heap, size);
  fill(f, size, totals);
  share = (double)totals[1] / (double)f->bytes;
  if (totals[1] != totals[0] * size || share < least)
    fail_msg("%llu blocks of %u bytes are %.2f %% of the heap, less than %.2f %%",
             (unsigned long long)totals[0], size, share * 100, least * 100);
  stats = test_intact(f->env, f->heap);
  assert_true(stats.live_bytes >= totals[1]);
  assert_true(stats.live_bytes + stats.free_bytes <= f->bytes);
  if (stats.live_bytes == totals[1])
    assert_int_equal(stats.live_blocks, totals[0]);
  assert_int_equal(stats.double_frees + stats.invalid_frees, 0);
}

/* After everything is free the arena is one run again. */
static void one_block_of_all(filling *f) {
  cl_kernel one = test_kernel(f->env, f->heap, "full.cl", "full_one", NULL);
  cl_kernel end = test_kernel(f->env, f->heap, "full.cl", "full_one_free", NULL);
  cl_mem ref_buffer = test_buffer(f->env, sizeof(cl_ulong), NULL);
  cl_ulong ref, size = (cl_ulong)((double)f->bytes * least_share(f->env, f->heap, 1u << 20));
  test_empty(f->env, f->heap);
  test_launch(f->env, one, 1, 1, "hUm", f->heap, size, ref_buffer);
  test_read(f->env, ref_buffer, &ref, sizeof ref);
  if (!ref)
    fail_msg("no block of %llu bytes of %zu after all was freed", (unsigned long long)size, f->bytes);
  assert_int_equal(test_intact(f->env, f->heap).live_blocks, 1);
  test_launch(f->env, end, 1, 1, "hm", f->heap, ref_buffer);
  test_empty(f->env, f->heap);
}

/* Every size after others, smaller and larger: up, then in strides that go down and up. Simulators take one size
 * in four. */
static void one_size_after_the_other(test_env *env) {
  filling f = filling_new(env, test_scaled(env, 2u << 20, 256u << 20, 256u << 20),
                          test_scaled(env, 64, env->device->gpu ? 65536 : 1024, 65536));
  cl_uint i, salt = 0, small = env->device->scale == SCALE_SMALL, stride = test_is_default(env) ? 5 : 8;
  for (i = 0; test_is_default(env) && i < 13; i += small ? 4 : 1) {
    fill_and_expect(&f, 16u << i);
    empty(&f, 16u << i, 640 + 64 * salt++, 0);
  }
  for (i = 0; i < (small ? 3 : 13); i++) {
    cl_uint size = 16u << (i * stride + 3) % 13;
    fill_and_expect(&f, size);
    empty(&f, size, 640 + 64 * salt++, 0);
  }
  one_block_of_all(&f);
}

/* Every ordered pair of sizes */
static void each_size_after_each(test_env *env) {
  cl_uint a, b, step = (cl_uint)test_scaled(env, 6, 3, 1);
  filling f =
      filling_new(env, test_scaled(env, 2u << 20, 64u << 20, 256u << 20), test_scaled(env, 64, 1024, 65536));
  for (a = 0; a < 13; a += step)
    for (b = 0; b < 13; b += step) {
      fill_and_expect(&f, 16u << a);
      empty(&f, 16u << a, 64 * b, 0);
      fill_and_expect(&f, 16u << b);
      empty(&f, 16u << b, 64 * a, 0);
    }
  one_block_of_all(&f);
}

/* Sizes of all magnitudes to the end; half is freed, here and there, and can be had again.
 *
 * Requests go up to 4 KiB, and an item gives up when that much is not left in one piece. Where a compartment is for all lanes, it needs as
 * much in one piece as they want together, and goes when all of them freed theirs: what a single round has again is a matter of luck
 * then, and the rounds count together. */
static void mixed_sizes(test_env *env) {
  filling f =
      filling_new(env, test_scaled(env, 2u << 20, 64u << 20, 256u << 20), test_scaled(env, 64, 1024, 16384));
  cl_ulong first[3], half[3], again[3], freed = 0, had = 0;
  int together = env->device->gpu && env->config.coalescing == XMC_COALESCE_COMPARTMENT;
  cl_uint round, rounds = together ? 4 : 2, percent = together ? 40 : 50;
  for (round = 0; round < rounds; round++) {
    fill(&f, 0, first);
    assert_int_equal(test_intact(env, f.heap).double_frees, 0);
    empty(&f, 0, 640, 2);
    sum(&f, half);
    fill(&f, 0, again);
    test_intact(env, f.heap);
    freed += first[1] - half[1];
    had += again[1] - half[1];
    empty(&f, 0, 64 + round, 0);
    if (together && round + 1 < rounds)
      continue;
    if (had < freed / 100 * percent)
      fail_msg("%llu bytes were freed, and only %llu could be had again", (unsigned long long)freed,
               (unsigned long long)had);
    freed = had = 0;
  }
  one_block_of_all(&f);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {
      TEST(one_size_after_the_other, SPREAD_AXES),
      TEST(each_size_after_each, SPREAD_ONE),
      TEST(mixed_sizes, SPREAD_AXES),
  };
  return test_main("full", cases, sizeof cases / sizeof *cases, argc, argv);
}
