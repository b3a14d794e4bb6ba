/* SPDX-License-Identifier: MIT */
/* Work-group and sub-group calls. */
#include "support/blocks.h"

static const size_t locals[] = {1, 7, 32, 33, 64, 128, 256, 1024};

/* A launch, and all its blocks are checked and freed. */
static void launch_and_check(test_env *env, xmc_heap heap, test_blocks *b, cl_kernel kernel, size_t count,
                             size_t local, cl_uint mode, size_t base, cl_uint free_mode) {
  size_t i;
  test_launch(env, kernel, count, local, "hmuUuuu", heap, b->records, mode, (cl_ulong)base,
              (cl_uint)test_scaled(env, 2, 3, 6), free_mode, b->next_tag);
  b->next_tag += (cl_uint)count;
  blocks_fetch(b, count);
  for (i = 0; i < count; i++)
    if (b->host[i].errors)
      fail_msg("local size %zu, mode %u, base %zu, free mode %u: work-item %zu saw %u errors", local, mode,
               base, free_mode, i, b->host[i].errors);
  blocks_check(b);
  blocks_free(b, mode, 0);
}

static void rounds(test_env *env, const char *name) {
  size_t most = test_scaled(env, 128, 8192, 65536), l;
  xmc_heap heap = test_heap(env, test_scaled(env, 16u << 20, 128u << 20, 768u << 20));
  test_blocks b = blocks_new(env, heap, most + 1024, 64);
  cl_kernel kernel = test_kernel(env, heap, "collective.cl", name, NULL);
  cl_uint mode, free_mode;
  for (l = 0; l < sizeof locals / sizeof *locals && locals[l] <= env->device->max_local;
       l += test_step(env)) {
    size_t groups = locals[l] < 32 ? most / 64 : most / locals[l];
    if (locals[l] > test_scaled(env, 256, 1024, 1024))
      continue;
    for (mode = 0; mode < 4; mode++)
      for (free_mode = 0; free_mode < 3; free_mode++)
        launch_and_check(env, heap, &b, kernel, (groups ? groups : 1) * locals[l], locals[l], mode,
                         mode == 0 ? 40 : 8 + 500 * free_mode, free_mode);
  }
  test_empty(env, heap);
}

static void work_groups(test_env *env) { rounds(env, "collective_group"); }

/* Everybody wants the same: places of slabs and runs of pages are taken for many at once. Slabs of many places, of few, and with a
 * smaller last one; runs of each length, of 32 blocks and of fewer. */
static void one_size(test_env *env) {
  static const size_t sizes[] = {16, 96, 128, 160, 256, 400, 512, 600, 1024, 2048, 5000, 8192},
                      of[] = {65, 256, 1024};
  size_t most = test_scaled(env, 512, 4096, 16384), i, l;
  xmc_heap heap = test_heap(env, test_scaled(env, 16u << 20, 96u << 20, 512u << 20));
  test_blocks b = blocks_new(env, heap, most + 1024, 64);
  cl_kernel kernel = test_kernel(env, heap, "collective.cl", "collective_group", NULL);
  cl_uint free_mode;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i += test_step(env))
    for (l = 0; l < sizeof of / sizeof *of && of[l] <= env->device->max_local; l += test_step(env))
      for (free_mode = 0; free_mode < 3 && of[l] <= most; free_mode++)
        launch_and_check(env, heap, &b, kernel, most / of[l] * of[l], of[l], 0, sizes[i], free_mode);
  test_empty(env, heap);
}

static void sub_groups(test_env *env) {
  xmc_heap heap = test_heap(env, 4u << 20);
  cl_bool has = CL_FALSE;
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_SUB_GROUPS, sizeof has, &has, NULL));
  if (!has) {
    print_message("           sub-group collectives: this device has none\n");
    skip();
  }
  rounds(env, "collective_sub_group");
}

/* A heap too small for all: some get NULL, nobody gets what another has, all comes back. */
static void exhausted(test_env *env) {
  size_t local = env->device->max_local < 256 ? env->device->max_local : 256, count = 2048 / local * local, i;
  xmc_heap heap = test_heap(env, 1u << 20);
  test_blocks b = blocks_new(env, heap, count, 64);
  cl_kernel kernel = test_kernel(env, heap, "collective.cl", "collective_group", NULL);
  size_t failures;
  for (i = 0; i < 3; i++) {
    test_launch(env, kernel, count, local, "hmuUuuu", heap, b.records, 0u, (cl_ulong)1000, 1u, 0u,
                b.next_tag);
    failures = blocks_fetch(&b, count);
    assert_true(failures >= count / 2 && failures < count);
    assert_int_equal(test_intact(env, heap).failed_requests, failures * (i + 1));
    test_live(env, test_intact(env, heap).live_blocks, count - failures);
    for (failures = 0; failures < count; failures++)
      b.host[failures].errors = 0; /* NULLs, as the kernel saw them */
    test_write(env, b.records, b.host, count * sizeof *b.host);
    blocks_check(&b);
    blocks_free(&b, 9, 0);
  }
  test_empty(env, heap);
}

/* Neighbours are freed together without a look at each: bad ones among them are found all the same, and a block that is
 * freed twice is named. (In lock step these are the plain calls, which test_bad_input has.) */
static void bad_frees(test_env *env) {
  static const cl_ulong sizes[] = {0, 16, 128, 160, 256, 400, 448, 640, 1000, 5000, 8192}; /* 0: mixed */
  xmc_heap heap = test_heap(env, 4u << 20);
  cl_kernel kernel = test_kernel(env, heap, "collective.cl", "collective_bad", NULL);
  size_t n = env->device->max_local < 256 ? env->device->max_local : 256, i;
  cl_mem twice = test_buffer(env, sizeof(cl_ulong), NULL);
  cl_uint what;
  if (strstr(xmcGetBuildOptions(heap), "XMC_SIMT=1"))
    skip();
  for (i = 0; i < sizeof sizes / sizeof *sizes; i += test_step(env))
    for (what = 0; what < (n > 32 ? 7u : 5u); what++) {
      static const char *const pictures[] = {"twice",  "inside",         "the first",      "the next",
                                             "by two", "the sixth soon", "the sixth later"};
      xmc_heap_stats stats;
      cl_ulong bad, ref;
      CL_OK(xmcResetHeap(heap, env->queue));
      test_launch(env, kernel, n, n, "hUum", heap, sizes[i], what, twice);
      stats = test_intact(env, heap);
      test_read(env, twice, &ref, sizeof ref);
      bad = stats.double_frees + stats.invalid_frees;
      if (bad != (what == 0                ? n
                  : what == 1 || what == 4 ? n / 2
                  : what == 2              ? n - 1
                  : what >= 5              ? 1
                                           : stats.live_blocks) ||
          !bad || stats.live_blocks != (what == 0 ? 0 : bad))
        fail_msg("%llu bytes, %s: %llu bad frees counted, %llu blocks live", (unsigned long long)sizes[i],
                 pictures[what], (unsigned long long)bad, (unsigned long long)stats.live_blocks);
      if (what >= 5 && stats.first_double_free != ref)
        fail_msg("%llu bytes, %s: another block named", (unsigned long long)sizes[i], pictures[what]);
    }
}

/* A failure is reported as the group's first work-item's, whatever the shape of the range; where each work-item is served by
 * itself, as one of the group's. */
static void failure(test_env *env) {
  const size_t offset[] = {5, 3, 1}, global[] = {12, 6, 4}, local[] = {4, 3, 2};
  xmc_heap heap = test_heap(env, 1u << 20);
  cl_kernel kernel = test_kernel(env, heap, "collective.cl", "collective_failure", NULL);
  const char *options = xmcGetBuildOptions(heap);
  int each = strstr(options, "XMC_SIMT=1") || !strstr(options, "XMC_DEBUG=0");
  size_t group, x, y, z, id;
  if (env->device->max_local < 24)
    skip();
  for (group = 0; group < 12; group++) {
    test_args(kernel, "hUu", heap, (cl_ulong)2 << 20, (cl_uint)group);
    CL_OK(xmcResetHeap(heap, env->queue));
    CL_OK(clEnqueueNDRangeKernel(env->queue, kernel, 3, offset, global, local, 0, NULL, NULL));
    CL_OK(clFinish(env->queue));
    assert_int_equal(test_intact(env, heap).failed_requests, 24);
    id = (size_t)test_intact(env, heap).first_failure_id;
    x = id % 12;
    y = id / 12 % 6;
    z = id / 72;
    assert_int_equal(z / 2 * 6 + y / 3 * 3 + x / 4, group);
    if (!each)
      assert_int_equal(x % 4 + y % 3 + z % 2, 0);
  }
}

/* A kernel that makes each collective call twice, one behind the other, with the same scratch: compilers may then make a function of
 * it that knows the scratch. */
static void in_a_row(test_env *env) {
  const size_t n = 64, of[] = {1, 16, 64};
  xmc_heap heap = test_heap(env, 16u << 20);
  cl_kernel kernel = test_kernel(env, heap, "collective.cl", "collective_twice", NULL);
  cl_mem errors = test_buffer(env, n * sizeof(cl_uint), NULL);
  cl_uint host[64];
  size_t i, l;
  for (l = 0; l < sizeof of / sizeof *of && of[l] <= env->device->max_local; l++) {
    CL_OK(xmcResetHeap(heap, env->queue));
    test_launch(env, kernel, n, of[l], "hm", heap, errors);
    test_read(env, errors, host, sizeof host);
    for (i = 0; i < n; i++)
      if (host[i])
        fail_msg("groups of %zu, work-item %zu: %u of 4 blocks were not its own", of[l], i, host[i]);
    assert_int_equal(test_intact(env, heap).live_blocks, 0);
    assert_int_equal(test_intact(env, heap).invalid_frees, n / of[l]);
    assert_int_equal(test_intact(env, heap).double_frees, 0);
  }
}

int main(int argc, char **argv) {
  static const test_case cases[] = {
      TEST(work_groups, SPREAD_AXES), TEST(one_size, SPREAD_AXES),  TEST(sub_groups, SPREAD_AXES),
      TEST(exhausted, SPREAD_AXES),   TEST(bad_frees, SPREAD_AXES), TEST(failure, SPREAD_AXES),
      TEST(in_a_row, SPREAD_AXES),
  };
  return test_main("collective", cases, sizeof cases / sizeof *cases, argc, argv);
}
