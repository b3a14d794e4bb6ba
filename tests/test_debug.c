/* SPDX-License-Identifier: MIT */
/* Debug heaps: each pattern where it belongs, each kind of damage done on purpose and found. */
#include "support/harness.h"

enum { HEAP = 16 << 20, NEW = 0xa5, RED = 0xb5, FREED = 0xdd };

typedef struct debug_heap {
  test_env *env;
  xmc_heap heap;
  cl_mem out;
  struct {
    const char *name;
    cl_kernel kernel;
  } kernels[8]; /* made so far */
} debug_heap;

static debug_heap make(test_env *env, int level) {
  const xmc_heap_properties extra[] = {XMC_HEAP_DEBUG, level, 0};
  debug_heap d = {env, test_heap_with(env, HEAP, extra), test_buffer(env, 3 * sizeof(cl_ulong), NULL), {{0}}};
  return d;
}

static cl_kernel kernel(debug_heap *d, const char *name) {
  size_t i = 0;
  while (d->kernels[i].name && strcmp(d->kernels[i].name, name) != 0)
    i++;
  if (!d->kernels[i].name) {
    d->kernels[i].name = name;
    d->kernels[i].kernel = test_kernel(d->env, d->heap, "debug.cl", name, NULL);
  }
  return d->kernels[i].kernel;
}

static xmcRef allocate(debug_heap *d, cl_ulong size) {
  cl_ulong ref;
  test_launch(d->env, kernel(d, "debug_malloc"), 1, 1, "hUm", d->heap, size, d->out);
  test_read(d->env, d->out, &ref, sizeof ref);
  return ref;
}

static cl_ulong usable(debug_heap *d, xmcRef ref) {
  cl_ulong bytes;
  test_launch(d->env, kernel(d, "debug_usable"), 1, 1, "hUm", d->heap, (cl_ulong)ref, d->out);
  test_read(d->env, d->out, &bytes, sizeof bytes);
  return bytes;
}

static void release(debug_heap *d, xmcRef ref) {
  test_launch(d->env, kernel(d, "debug_free"), 1, 1, "hU", d->heap, (cl_ulong)ref);
}

static xmcRef resize(debug_heap *d, cl_ulong ref, cl_ulong size) {
  test_write(d->env, d->out, &ref, sizeof ref);
  test_launch(d->env, kernel(d, "debug_realloc"), 1, 1, "hUm", d->heap, size, d->out);
  test_read(d->env, d->out, &ref, sizeof ref);
  return ref;
}

static void poke(debug_heap *d, xmcRef at, unsigned byte) {
  test_launch(d->env, kernel(d, "debug_poke"), 1, 1, "hUu", d->heap, (cl_ulong)at, (cl_uint)byte);
}

static void expect(debug_heap *d, xmcRef at, size_t bytes, unsigned char byte) {
  static unsigned char seen[65536];
  size_t i;
  assert_true(bytes <= sizeof seen);
  test_read_arena(d->env, d->heap, at, bytes, seen);
  for (i = 0; i < bytes; i++)
    if (seen[i] != byte)
      fail_msg("byte %zu is 0x%02x, not 0x%02x", i, seen[i], byte);
}

static xmc_heap_stats stats(debug_heap *d) {
  xmc_heap_stats s;
  CL_OK(xmcGetHeapStats(d->heap, d->env->queue, &s));
  return s;
}

static void expect_problem(debug_heap *d, xmc_problem code, cl_ulong offset) {
  xmc_heap_report report;
  cl_int status = xmcCheckHeap(d->heap, d->env->queue, &report);
  assert_int_equal(status, code ? XMC_HEAP_CORRUPT : CL_SUCCESS);
  assert_int_equal(report.code, code);
  if (code)
    assert_int_equal(report.offset, offset);
}

/* Lanes of GPUs share blocks by compartments: one is what a list and a check see. */
static int shares(test_env *env) {
  return env->device->gpu && env->config.coalescing == XMC_COALESCE_COMPARTMENT;
}

static const size_t sizes[] = {1, 7, 8, 9, 100, 2041, 8169, 40000};
enum { SIZES = sizeof sizes / sizeof *sizes };

typedef struct listed {
  size_t count;
  xmc_block block[32];
} listed;

static int CL_CALLBACK remember(const xmc_block *block, void *data) {
  listed *l = data;
  l->block[l->count++] = *block;
  return l->count == 32;
}

static void patterns_of(test_env *env, int level) {
  debug_heap d = make(env, level);
  xmcRef ref[SIZES];
  size_t i, k;
  for (i = 0; i < SIZES; i++) {
    listed l = {0};
    ref[i] = allocate(&d, sizes[i]);
    assert_true(ref[i] && ref[i] % 16 == 0);
    assert_int_equal(usable(&d, ref[i]), sizes[i]);
    assert_int_equal(usable(&d, ref[i] + 16), 0);
    expect(&d, ref[i], sizes[i], NEW);
    expect(&d, ref[i] + sizes[i], 8, RED);
    CL_OK(xmcForEachBlock(d.heap, NULL, remember, &l));
    assert_int_equal(l.count, i + 1);
    for (k = 0; !shares(env) && k < l.count && l.block[k].ref != ref[i]; k++)
      ;
    assert_true(shares(env) || (k < l.count && l.block[k].size == sizes[i] && l.block[k].usable == sizes[i]));
  }
  expect_problem(&d, XMC_PROBLEM_NONE, 0);
  for (i = 0; i < SIZES; i++) {
    release(&d, ref[i]);
    expect(&d, ref[i], sizes[i], FREED);
    assert_int_equal(usable(&d, ref[i]), 0);
  }
  test_empty(env, d.heap);
}

static void patterns(test_env *env) {
  int level;
  for (level = 1; level <= XMC_DEBUG_MAX; level++)
    patterns_of(env, level);
}

static void other_calls(test_env *env) {
  debug_heap d = make(env, 2);
  cl_ulong alignment, ref[3];
  for (alignment = 16; alignment <= 65536; alignment *= 16) {
    test_launch(env, kernel(&d, "debug_more"), 1, 1, "hUUm", d.heap, (cl_ulong)333, alignment, d.out);
    test_read(env, d.out, ref, sizeof ref);
    expect(&d, ref[0], 333, 0);
    expect(&d, ref[1], 333, NEW);
    expect(&d, ref[2], 333, NEW);
    expect(&d, ref[1] + 333, 8, RED);
    assert_int_equal(usable(&d, ref[1]), 333);
    expect_problem(&d, XMC_PROBLEM_NONE, 0);
    release(&d, ref[0]);
    release(&d, ref[1]);
    release(&d, ref[1]);
    assert_int_equal(stats(&d).double_frees, 1);
    assert_int_equal(stats(&d).first_double_free, ref[1]);
    ref[2] = resize(&d, ref[2], 5000);
    expect(&d, ref[2], 5000, NEW);
    ref[2] = resize(&d, ref[2], 3);
    assert_int_equal(usable(&d, ref[2]), 3);
    expect(&d, ref[2] + 3, 8, RED);
    assert_int_equal(resize(&d, ref[2], 0), 0);
    assert_int_equal(stats(&d).live_blocks, 0);
    CL_OK(xmcResetHeap(d.heap, env->queue));
  }
  assert_int_equal(allocate(&d, 0), 0);
  assert_int_equal(allocate(&d, HEAP), 0);
  assert_int_equal(allocate(&d, ~(cl_ulong)0), 0);
  assert_int_equal(stats(&d).failed_requests, 2);
  assert_int_equal(stats(&d).first_failure_size, HEAP);
}

/* No room for a smaller copy: the block shrinks where it is. */
static void shrinks_in_place(test_env *env) {
  debug_heap d = make(env, 2);
  xmcRef all = 0;
  cl_ulong size = HEAP;
  while (!all)
    all = allocate(&d, size -= 16384);
  while (allocate(&d, 16000))
    ;
  assert_int_equal(resize(&d, all, size - 5), all);
  assert_int_equal(usable(&d, all), size - 5);
  expect(&d, all + size - 5, 13, RED);
  expect_problem(&d, XMC_PROBLEM_NONE, 0);
}

static void overruns(test_env *env) {
  debug_heap d = make(env, 2);
  xmcRef other = allocate(&d, 10), first = 0;
  size_t i;
  for (i = 0; i < SIZES; i++) {
    xmcRef ref = allocate(&d, sizes[i]);
    first = first ? first : ref;
    poke(&d, ref + sizes[i], 0); /* one byte */
    if (!shares(env))
      expect_problem(&d, XMC_PROBLEM_RED_ZONE, ref + sizes[i]);
    release(&d, ref);
    assert_int_equal(stats(&d).red_zone_errors, i + 1);
    expect_problem(&d, XMC_PROBLEM_NONE, 0);
  }
  assert_int_equal(stats(&d).first_red_zone_error, first);
  poke(&d, other - 1, 0x77); /* before it: the header */
  assert_int_equal(usable(&d, other), 0);
  if (!shares(env))
    expect_problem(&d, XMC_PROBLEM_RED_ZONE, other - 16);
  release(&d, other);
  assert_int_equal(stats(&d).red_zone_errors, SIZES + 1);
  assert_int_equal(stats(&d).use_after_frees + stats(&d).double_frees + stats(&d).invalid_frees, 0);
  test_empty(env, d.heap);
}

static void writes_after_free(test_env *env) {
  debug_heap d = make(env, 2);
  size_t i, n;
  for (i = 0, n = 0; i < SIZES; i++) {
    xmcRef ref = allocate(&d, sizes[i]), again = 0;
    int tries;
    release(&d, ref);
    poke(&d, ref + sizes[i] - 1, 0);
    assert_int_equal(stats(&d).use_after_frees, n);
    for (tries = 0; again != ref && tries < 3000; tries++)
      again = allocate(&d, sizes[i]);
    if (again != ref)
      continue; /* another place serves this size now */
    n++;
    assert_int_equal(stats(&d).use_after_frees, n);
    if (n == 1)
      assert_int_equal(stats(&d).first_use_after_free, ref);
  }
  assert_true(n > 0);
  expect_problem(&d, XMC_PROBLEM_NONE, 0);
  assert_int_equal(stats(&d).red_zone_errors, 0);
}

static void bad_frees(test_env *env) {
  debug_heap d = make(env, 2);
  xmcRef ref = allocate(&d, 1000);
  cl_ulong more[3];
  release(&d, ref + 16);
  release(&d, ref + 8);
  release(&d, ref - 16);
  release(&d, 64);
  assert_int_equal(stats(&d).invalid_frees, 4);
  assert_int_equal(stats(&d).first_invalid_free, ref + 16);
  test_launch(env, kernel(&d, "debug_more"), 1, 1, "hUUm", d.heap, (cl_ulong)100, (cl_ulong)4096, d.out);
  test_read(env, d.out, more, sizeof more);
  release(&d, more[1] - 16);
  assert_int_equal(stats(&d).invalid_frees, 5);
  expect_problem(&d, XMC_PROBLEM_NONE, 0);
  release(&d, ref);
  release(&d, ref);
  assert_int_equal(stats(&d).double_frees, 1);
  assert_int_equal(stats(&d).first_double_free, ref);
  CL_OK(xmcResetHeap(d.heap, env->queue));
  release(&d, ref); /* of another life */
  assert_int_equal(stats(&d).invalid_frees, 1);
  assert_int_equal(stats(&d).red_zone_errors, 0);
}

static void churn(test_env *env) {
  int level;
  for (level = env->device->scale == SCALE_SMALL ? XMC_DEBUG_MAX : 1; level <= XMC_DEBUG_MAX; level++) {
    debug_heap d = make(env, level);
    cl_uint errors;
    test_launch(env, kernel(&d, "debug_churn"), test_scaled(env, 32, 256, 4096), 32, "hum", d.heap,
                (cl_uint)test_scaled(env, 4, 20, 20), d.out);
    test_read(env, d.out, &errors, sizeof errors);
    assert_int_equal(errors, 0);
    assert_int_equal(stats(&d).red_zone_errors + stats(&d).use_after_frees + stats(&d).double_frees, 0);
    expect_problem(&d, XMC_PROBLEM_NONE, 0);
    test_empty(env, d.heap);
  }
}

/* What an earlier use left on pages that became another class's is no write after a free. */
static void reuse(test_env *env) {
  static const cl_ulong sizes[] = {1700, 600, 1700, 200, 3000, 1700, 40000, 7000, 40000};
  const xmc_heap_properties extra[] = {XMC_HEAP_DEBUG, 2, 0};
  const size_t bytes = test_scaled(env, 1, 2, 8) << 20;
  debug_heap d = {env, test_heap_with(env, bytes, extra), NULL, {{0}}};
  size_t i;
  d.out = test_buffer(env, bytes / 128u * sizeof(cl_ulong), NULL);
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const size_t count = bytes / sizes[i] / 32u * 32u + 32u;
    test_launch(env, kernel(&d, "debug_fill"), count, 32, "hUm", d.heap, sizes[i], d.out);
    assert_true(stats(&d).failed_requests > 0);
    test_launch(env, kernel(&d, "debug_empty"), count, 32, "hm", d.heap, d.out);
    assert_int_equal(stats(&d).use_after_frees, 0);
  }
  test_empty(env, d.heap);
}

/* Nothing of this in a heap of level 0; programs and hosts of another level are refused. */
static void levels(test_env *env) {
  debug_heap plain = make(env, 0), debug = make(env, 2);
  cl_kernel of_plain = kernel(&plain, "debug_malloc"), of_debug = kernel(&debug, "debug_malloc");
  cl_mem buffer = NULL;
  cl_ulong ref = allocate(&plain, 16);
  cl_int status;
  assert_int_equal(usable(&plain, ref), 16);
  assert_int_equal(allocate(&plain, 16) % 16, 0);
  release(&plain, ref);
  release(&plain, ref);
  assert_int_equal(stats(&plain).double_frees, 1);
  assert_int_equal(xmcSetKernelArgHeap(of_plain, 0, debug.heap), XMC_HEAP_MISMATCH);
  assert_int_equal(xmcSetKernelArgHeap(of_debug, 0, plain.heap), XMC_HEAP_MISMATCH);
  CL_OK(xmcGetHeapInfo(debug.heap, XMC_HEAP_MEM_OBJECT, sizeof buffer, &buffer, NULL));
  if (buffer) { /* past the host library */
    ref = 1;
    test_write(env, debug.out, &ref, sizeof ref);
    test_launch(env, of_plain, 1, 1, "mUm", buffer, (cl_ulong)16, debug.out);
    test_read(env, debug.out, &ref, sizeof ref);
    assert_int_equal(ref, 0);
  }
  ref = allocate(&debug, 16);
  CL_OK(xmcMapHeap(debug.heap, env->queue));
  assert_null(xmcHostMalloc(debug.heap, 16, &status));
  assert_int_equal(status, XMC_HEAP_IS_DEBUG);
  assert_null(xmcHostRealloc(debug.heap, xmcHostFromRef(debug.heap, ref), 16, &status));
  assert_int_equal(status, XMC_HEAP_IS_DEBUG);
  assert_non_null(xmcHostFromRef(debug.heap, ref));
  assert_int_equal(xmcHostFree(debug.heap, xmcHostFromRef(debug.heap, ref)), XMC_HEAP_IS_DEBUG);
  assert_int_equal(xmcHostUsableSize(debug.heap, xmcHostFromRef(debug.heap, ref)), 0);
  CL_OK(xmcUnmapHeap(debug.heap, env->queue));
  assert_int_equal(stats(&debug).live_blocks, 1);
  assert_int_equal(stats(&debug).failed_requests + stats(&debug).invalid_frees, 0);
}

/* The list and the report name the lines of the calls. */
static void sites(test_env *env) {
  debug_heap d = make(env, 3), other = make(env, 2);
  cl_ulong more[3];
  listed l = {0};
  char text[8192];
  size_t n, i;
  xmcRef ref = allocate(&d, 50);
  FILE *f = tmpfile();
  assert_non_null(f);
  test_launch(env, kernel(&d, "debug_more"), 1, 1, "hUUm", d.heap, (cl_ulong)60, (cl_ulong)256, d.out);
  test_read(env, d.out, more, sizeof more);
  CL_OK(xmcForEachBlock(d.heap, NULL, remember, &l));
  for (i = 0; !shares(env) && i < l.count; i++) {
    const xmcRef r = l.block[i].ref;
    assert_int_equal(l.block[i].line, r == ref ? 101 : r == more[0] ? 105 : r == more[1] ? 200 : 201);
    assert_non_null(l.block[i].file);
  }
  CL_OK(xmcReportLeaks(d.heap, env->queue, f));
  allocate(&other, 50);
  CL_OK(xmcReportLeaks(other.heap, env->queue, f));
  rewind(f);
  n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = '\0';
  if (!shares(env)) {
    assert_int_equal(l.count, 4);
    assert_non_null(strstr(text, "50 bytes, allocated at <kernel>:101\n"));
    assert_non_null(strstr(text, "60 bytes, allocated at <kernel>:200\n"));
    assert_non_null(strstr(text, "50 bytes\n"));
  }
}

static void saved(test_env *env) {
  debug_heap d = make(env, 2);
  char path[] = "/tmp/xmc-test-XXXXXX";
  xmcRef ref = allocate(&d, 77);
  cl_int status;
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  fclose(fdopen(fd, "r"));
  CL_OK(xmcSaveHeap(d.heap, env->queue, path));
  d.heap = xmcLoadHeap(env->context, env->device->id, NULL, path, &status);
  remove(path);
  CL_OK(status);
  env->heaps[env->heap_count++] = d.heap;
  expect_problem(&d, XMC_PROBLEM_NONE, 0);
  assert_int_equal(usable(&d, ref), 77);
  poke(&d, ref + 77, 1);
  release(&d, ref);
  assert_int_equal(stats(&d).red_zone_errors, 1);
  test_empty(env, d.heap);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {TEST(patterns, SPREAD_AXES),
                                    TEST(other_calls, SPREAD_ONE),
                                    TEST(shrinks_in_place, SPREAD_ONE),
                                    TEST(overruns, SPREAD_AXES),
                                    TEST(writes_after_free, SPREAD_ONE),
                                    TEST(bad_frees, SPREAD_ONE),
                                    TEST(churn, SPREAD_AXES),
                                    TEST(reuse, SPREAD_AXES),
                                    TEST(levels, SPREAD_AXES),
                                    TEST(saved, SPREAD_ONE),
                                    TEST(sites, SPREAD_AXES)};
  return test_main("debug", cases, sizeof cases / sizeof *cases, argc, argv);
}
