/* SPDX-License-Identifier: MIT */
/* Regions on devices and through the host's calls: every word of a block is its owner's, all memory comes back, bad regions are
 * counted and change nothing, and the inspectors and debug heaps know regions.
 */
#include "support/harness.h"
#include "../cl/layout/arena.h"
#include "../cl/regions/region.h"
#include <unistd.h>

enum { MOST = 64, LEAST = 1024 }; /* regions; work-items that a test may use in any form */

typedef struct scene {
  test_env *env;
  xmc_heap heap;
  cl_ulong region[MOST];
  cl_mem regions, refs, counter;
  cl_uint count, turns, largest;
} scene;

static cl_uint read_counter(scene *s) {
  cl_uint n, zero = 0;
  test_read(s->env, s->counter, &n, sizeof n);
  test_write(s->env, s->counter, &zero, sizeof zero);
  return n;
}

static cl_kernel kernel_of(scene *s, const char *name) {
  return test_kernel(s->env, s->heap, "regions.cl", name, NULL);
}

static void create(scene *s, cl_uint regions, cl_uint sub_groups) {
  cl_uint i;
  test_launch(s->env, kernel_of(s, "region_create"), regions, 1, "hmuu", s->heap, s->regions, regions,
              sub_groups);
  test_read(s->env, s->regions, s->region, sizeof s->region);
  for (i = 0; i < regions; i++)
    assert_true(s->region[i] != 0);
}

static void use(scene *s, cl_uint regions, cl_uint what, cl_ulong *sums) {
  cl_ulong zero[MOST] = {0};
  cl_mem buffer = test_buffer(s->env, sizeof zero, zero);
  test_launch(s->env, kernel_of(s, "region_use"), regions, 1, "hmuum", s->heap, s->regions, regions, what,
              buffer);
  test_read(s->env, buffer, zero, sizeof zero);
  if (sums)
    memcpy(sums, zero, sizeof zero);
}

static void scene_new(scene *s, test_env *env, size_t bytes, const xmc_heap_properties *extra) {
  memset(s, 0, sizeof *s);
  s->env = env;
  s->heap = test_heap_with(env, bytes, extra);
  s->count = (cl_uint)test_scaled(env, 64, 2048, 16384);
  s->turns = 4;
  s->largest = 3000;
  s->regions = test_buffer(env, sizeof s->region, NULL);
  s->refs =
      test_buffer(env, (size_t)(s->count < LEAST ? LEAST : s->count) * s->turns * sizeof(cl_ulong), NULL);
  s->counter = test_buffer(env, sizeof(cl_uint), NULL);
}

static cl_uint fill(scene *s, cl_uint regions) {
  test_launch(s->env, kernel_of(s, "region_fill"), s->count, 32, "hmumuuum", s->heap, s->regions, regions,
              s->refs, s->count, s->turns, s->largest, s->counter);
  return read_counter(s);
}
static void check(scene *s) {
  test_launch(s->env, kernel_of(s, "region_check"), (size_t)s->count * s->turns, 32, "hmuum", s->heap,
              s->refs, s->count * s->turns, s->largest, s->counter);
  assert_int_equal(read_counter(s), 0);
}

static void owners(test_env *env) {
  static const cl_uint numbers[] = {1, 7, MOST};
  cl_ulong bytes[MOST], sum;
  xmc_heap_stats stats;
  scene s;
  cl_uint i, k, round;
  scene_new(&s, env, 128 << 20, NULL);
  for (i = 0; i < 3; i += (cl_uint)test_step(env)) {
    create(&s, numbers[i], i == 2 ? 1 : 0);
    for (round = 0; round < 2; round++) {
      s.largest = round ? 60000 : 3000;
      assert_int_equal(fill(&s, numbers[i]), 0);
      check(&s);
      use(&s, numbers[i], 2, bytes);
      for (sum = 0, k = 0; k < numbers[i]; k++)
        sum += bytes[k];
      stats = test_intact(env, s.heap);
      assert_int_equal(stats.regions, numbers[i]);
      assert_int_equal(stats.region_bytes, sum);
      assert_true(stats.region_chunks >= numbers[i]);
      use(&s, numbers[i], 1, NULL); /* reset */
    }
    use(&s, numbers[i], 0, NULL);
    test_empty(env, s.heap);
  }
  stats = test_intact(env, s.heap);
  assert_int_equal(stats.invalid_frees + stats.double_frees + stats.failed_requests, 0);
}

static void lives(test_env *env) {
  scene s;
  xmc_heap_stats stats;
  scene_new(&s, env, 64 << 20, NULL);
  test_launch(env, kernel_of(&s, "region_life"), s.count, 16, "huum", s.heap, (cl_uint)4, (cl_uint)2000,
              s.counter);
  assert_int_equal(read_counter(&s), 0);
  test_empty(env, s.heap);
  stats = test_intact(env, s.heap);
  assert_int_equal(stats.invalid_frees + stats.double_frees, 0);
}

/* More than there is room for: refused and counted; after the free one request can have everything. */
static void full(test_env *env) {
  scene s;
  xmc_heap_stats stats;
  cl_uint refused;
  scene_new(&s, env, 2 << 20, NULL);
  create(&s, 1, 0);
  s.largest = 60000;
  s.count = LEAST;
  refused = fill(&s, 1);
  check(&s);
  assert_true(refused > 0);
  assert_true(test_intact(env, s.heap).failed_requests >= refused);
  use(&s, 1, 0, NULL);
  test_empty(env, s.heap);
  stats = test_intact(env, s.heap);
  assert_true(stats.largest_free_bytes >= stats.heap_bytes / 4);
}

/* All is back, whatever bad calls were counted. */
static void all_back(scene *s) {
  xmc_heap_stats stats = test_intact(s->env, s->heap);
  assert_int_equal(stats.live_blocks + stats.live_bytes + stats.regions, 0);
}

/* ---- bad regions ---- */

typedef struct snapshot {
  unsigned char *before, *after;
  size_t bytes;
} snapshot;
static snapshot remember(scene *s) {
  snapshot shot;
  shot.bytes = (size_t)test_intact(s->env, s->heap).heap_bytes;
  shot.before = test_alloc(s->env, shot.bytes);
  shot.after = test_alloc(s->env, shot.bytes);
  test_read_arena(s->env, s->heap, 0, shot.bytes, shot.before);
  return shot;
}
/* The whole arena is as it was, but for the counters. */
static void same_as_before(scene *s, const snapshot *shot) {
  test_read_arena(s->env, s->heap, 0, shot->bytes, shot->after);
  assert_memory_equal(shot->before, shot->after, offsetof(xmcHeap, failed_requests));
  assert_memory_equal(shot->before + XMC_HEADER_BYTES, shot->after + XMC_HEADER_BYTES,
                      shot->bytes - XMC_HEADER_BYTES);
}

static void bad_regions(test_env *env) {
  cl_ulong good, sums[MOST];
  snapshot shot;
  scene s;
  cl_uint i, what, calls = 0;
  xmc_heap_stats stats;
  scene_new(&s, env, 4 << 20, NULL);
  s.largest = 100;
  s.count = 64;
  create(&s, 3, 1);
  good = s.region[0];
  assert_int_equal(fill(&s, 2), 0);
  s.region[0] = s.region[2];
  test_write(env, s.regions, s.region, sizeof s.region);
  use(&s, 1, 0, NULL); /* frees the third one: stale from now on */
  for (i = 1; i < 60; i++)
    s.region[i] = i < 40 ? good ^ (cl_ulong)1 << (i + 20) : test_hash(i);
  for (; i < MOST; i++)
    s.region[i] = good + 65536u * i; /* pages that are not there */
  test_write(env, s.regions, s.region, sizeof s.region);
  shot = remember(&s);
  for (what = 0; what < 4; what++) {
    use(&s, MOST, what, sums);
    for (i = 0; i < MOST; i++)
      assert_int_equal(sums[i], 0);
    calls += what == 3 ? 2 * MOST : what == 2 ? 0 : MOST;
  }
  same_as_before(&s, &shot);
  stats = test_intact(env, s.heap);
  assert_int_equal(stats.invalid_frees, calls);
  assert_int_equal(stats.double_frees + stats.failed_requests, 0);
  assert_true(stats.first_invalid_free != 0);
  check(&s);
}

/* Several work-items free one region at the same time. */
static void one_free_of_many(test_env *env) {
  scene s;
  cl_uint i;
  scene_new(&s, env, 8 << 20, NULL);
  create(&s, 1, 0);
  assert_int_equal(fill(&s, 1), 0);
  for (i = 1; i < MOST; i++)
    s.region[i] = s.region[0];
  test_write(env, s.regions, s.region, sizeof s.region);
  use(&s, MOST, 0, NULL);
  assert_int_equal(test_intact(env, s.heap).invalid_frees, MOST - 1);
  all_back(&s);
}

static void no_ordinary_blocks(test_env *env) {
  scene s;
  snapshot shot;
  cl_uint count;
  scene_new(&s, env, 32 << 20, NULL);
  create(&s, 1, 0);
  s.largest = 60000;
  assert_int_equal(fill(&s, 1), 0);
  count = s.count * s.turns;
  shot = remember(&s);
  test_launch(env, kernel_of(&s, "region_as_blocks"), count, 32, "hmum", s.heap, s.refs, count, s.counter);
  assert_int_equal(read_counter(&s), 0);
  same_as_before(&s, &shot);
  assert_int_equal(test_intact(env, s.heap).invalid_frees, 2 * count);
  check(&s);
}

/* ---- work-groups ---- */

static void groups(test_env *env) {
  static const size_t locals[] = {64, 1, 256, 3};
  scene s;
  cl_uint i, regions, count;
  xmc_heap_stats stats;
  scene_new(&s, env, 64 << 20, NULL);
  for (i = 0; i < 4; i += env->device->scale <= SCALE_SHORT ? 2 : 1) { /* PoCL compiles for each */
    size_t local = locals[i] < env->device->max_local ? locals[i] : env->device->max_local;
    count = (cl_uint)((s.count + local - 1) / local * local);
    regions = i % 2 ? 1 : (cl_uint)(count / local < MOST ? count / local : MOST);
    s.refs = test_buffer(env, (size_t)count * s.turns * sizeof(cl_ulong), NULL);
    s.largest = i == 2 ? 20000 : 100; /* over 16 KiB: served one by one */
    create(&s, regions, i % 2 ? 0 : 1);
    test_launch(env, kernel_of(&s, "region_group"), count, local, "hmumuu", s.heap, s.regions, regions,
                s.refs, s.turns, s.largest);
    test_launch(env, kernel_of(&s, "region_check"), (size_t)count * s.turns, 32, "hmuum", s.heap, s.refs,
                count * s.turns, s.largest, s.counter);
    assert_int_equal(read_counter(&s), 0);
    stats = test_intact(env, s.heap);
    assert_int_equal(stats.failed_requests + stats.invalid_frees, 0);
    assert_true(stats.region_bytes > 0);
    test_launch(env, kernel_of(&s, "region_group_free"), regions * local, local, "hmu", s.heap, s.regions,
                regions);
    all_back(&s);
  }
  test_launch(env, kernel_of(&s, "region_group_stale"), 64, 16, "hm", s.heap, s.counter);
  assert_int_equal(read_counter(&s), 0);
  stats = test_intact(env, s.heap);
  assert_int_equal(stats.invalid_frees, 64);
  all_back(&s);
}

/* Work-items of a group run at different speeds, on PoCL one after the other: the first must not close a region in which
 * the others still ask, whether requests are served together or, in debug heaps and over 16 KiB, one by one. */
static void groups_together(test_env *env) {
  static const cl_uint bytes[] = {24, 1000, 20000};
  xmc_heap_stats stats;
  scene s;
  cl_uint level, i, alone;
  for (level = 0; level <= 3; level++) {
    xmc_heap_properties extra[] = {XMC_HEAP_DEBUG, (xmc_heap_properties)level, 0};
    if (level % 2 != 0 && env->device->scale <= SCALE_SHORT) /* PoCL compiles for each */
      continue;
    scene_new(&s, env, 64 << 20, extra);
    for (i = 0; i < 3; i++)
      for (alone = 0; alone < 2; alone++) {
        test_launch(env, kernel_of(&s, "region_group_life"), 256, 64, "huum", s.heap, bytes[i], alone,
                    s.counter);
        assert_int_equal(read_counter(&s), 0);
      }
    stats = test_intact(env, s.heap);
    assert_int_equal(stats.failed_requests + stats.invalid_frees, 0);
    all_back(&s);
  }
}

/* What a work-group resets is filled again from the same chunks; those of large requests went back. */
static void groups_reset(test_env *env) {
  scene s;
  cl_ulong sums[2] = {0}, first = 0;
  cl_mem buffer = test_buffer(env, sizeof sums, sums);
  xmc_heap_stats stats;
  int round;
  scene_new(&s, env, 64 << 20, NULL);
  create(&s, 1, 0);
  for (round = 0; round < 4; round++) {
    s.largest = round == 1 ? 60000 : 1000;
    assert_int_equal(fill(&s, 1), 0);
    check(&s);
    test_launch(env, kernel_of(&s, "region_group_reset"), 64, 64, "hmm", s.heap, s.regions, buffer);
    test_read(env, buffer, sums, sizeof sums);
    assert_true(sums[1] > 0 && sums[1] <= sums[0]);
    if (round == 1) {
      assert_true(sums[1] < sums[0]);
      first = sums[1];
    } else if (round > 1) { /* who runs beside whom differs a little */
      assert_true(sums[1] >= first && sums[1] <= 2u * first);
    }
  }
  stats = test_intact(env, s.heap);
  assert_int_equal(stats.invalid_frees, 4);
  assert_int_equal(stats.failed_requests + stats.double_frees, 0);
  use(&s, 1, 0, NULL);
  all_back(&s);
}

/* ---- from the host, and through a file ---- */

static void host_and_kernels(test_env *env) {
  scene s;
  cl_int status;
  xmcRegion region;
  xmcRef ref;
  int i;
  char *block, path[] = "/tmp/xmc-regions-XXXXXX";
  xmc_heap copy;
  int file;
  scene_new(&s, env, 16 << 20, NULL);
  s.count = 256;
  CL_OK(xmcMapHeap(s.heap, env->queue));
  region = xmcHostRegionCreate(s.heap, &status);
  CL_OK(status);
  block = xmcHostRegionMalloc(s.heap, region, 1000, &status);
  CL_OK(status);
  memset(block, 7, 1000);
  ref = xmcHostToRef(s.heap, block);
  assert_null(xmcHostRegionMalloc(s.heap, region, 0, &status));
  CL_OK(status);
  assert_null(xmcHostRegionMalloc(s.heap, region, 64 << 20, &status));
  assert_int_equal(status, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  assert_null(xmcHostRegionMalloc(s.heap, region + 1, 10, &status));
  assert_int_equal(status, CL_INVALID_VALUE);
  CL_OK(xmcHostRegionFree(s.heap, 0));
  CL_OK(xmcHostRegionFree(s.heap, region ^ (xmcRegion)1 << 40));
  assert_int_equal(xmcHostRegionBytes(s.heap, region), (size_t)test_intact(env, s.heap).region_bytes);
  CL_OK(xmcUnmapHeap(s.heap, env->queue));
  s.region[0] = region;
  test_write(env, s.regions, s.region, sizeof s.region);
  assert_int_equal(fill(&s, 1), 0);
  check(&s);
  assert_int_equal(test_intact(env, s.heap).invalid_frees, 2);

  file = mkstemp(path);
  assert_true(file >= 0);
  CL_OK(xmcSaveHeap(s.heap, env->queue, path));
  copy = xmcLoadHeap(env->context, env->device->id, NULL, path, &status);
  CL_OK(status);
  unlink(path);
  close(file);
  CL_OK(xmcMapHeap(copy, env->queue));
  block = xmcHostFromRef(copy, ref);
  for (i = 0; i < 1000; i++)
    assert_int_equal(block[i], 7);
  assert_non_null(xmcHostRegionMalloc(copy, region, 5000, &status));
  CL_OK(xmcHostRegionReset(copy, region));
  assert_true(xmcHostRegionBytes(copy, region) > 0);
  CL_OK(xmcHostRegionFree(copy, region));
  assert_int_equal(xmcHostRegionBytes(copy, region), 0);
  CL_OK(xmcUnmapHeap(copy, env->queue));
  assert_int_equal(test_intact(env, copy).live_bytes, 0);
  CL_OK(xmcReleaseHeap(copy));
  use(&s, 1, 0, NULL);
  all_back(&s);
}

/* ---- what a heap holds ---- */

typedef struct listing {
  cl_uint regions, others;
  cl_ulong bytes;
} listing;
static int CL_CALLBACK list(const xmc_block *block, void *data) {
  listing *l = data;
  if (block->size_class == XMC_BLOCK_OF_REGION)
    l->regions++;
  else
    l->others++;
  l->bytes += block->usable;
  return 0;
}
static void has_text(scene *s, xmc_heap_text what, const char *part) {
  char *text = test_alloc(s->env, 1 << 20);
  CL_OK(xmcGetHeapText(s->heap, s->env->queue, what, 1 << 20, text, NULL));
  if (!strstr(text, part))
    fail_msg("no \"%s\" in: %.2000s", part, text);
}
static void inspected(test_env *env) {
  scene s;
  listing l = {0, 0, 0};
  xmc_heap_stats before, after;
  xmc_heap_change change;
  char part[80];
  scene_new(&s, env, 32 << 20, NULL);
  before = test_intact(env, s.heap);
  create(&s, 3, 0);
  assert_int_equal(fill(&s, 3), 0);
  after = test_intact(env, s.heap);
  CL_OK(xmcForEachBlock(s.heap, env->queue, list, &l));
  assert_int_equal(l.regions, 3);
  assert_int_equal(l.others, 0);
  assert_int_equal(l.bytes, after.region_bytes);
  assert_int_equal(after.live_blocks, 3);
  assert_int_equal(after.live_bytes, after.region_bytes);
  xmcCompareHeapStats(&before, &after, &change);
  assert_int_equal(change.regions, 3);
  assert_int_equal(change.added_blocks, 3);
  assert_int_equal(change.added_bytes, after.region_bytes);
  snprintf(part, sizeof part, "\"regions\": 3,\n  \"region_chunks\": %u", (unsigned)after.region_chunks);
  has_text(&s, XMC_TEXT_STATS_JSON, part);
  has_text(&s, XMC_TEXT_STATS_TABLE, "regions");
  has_text(&s, XMC_TEXT_LEAKS, "3 blocks are still allocated");
  has_text(&s, XMC_TEXT_LEAKS, ": a region of ");
  has_text(&s, XMC_TEXT_MAP_SVG, ">regions<");
  use(&s, 3, 0, NULL);
  test_empty(env, s.heap);
}

/* ---- debug heaps ---- */

static void debug(test_env *env) {
  xmc_heap_stats stats;
  scene s;
  cl_uint count = 10, level, calls;
  for (level = 1; level <= 3; level++) {
    xmc_heap_properties extra[] = {XMC_HEAP_DEBUG, (xmc_heap_properties)level, 0};
    if (level < 3 && env->device->scale <= SCALE_SHORT) /* the third has what they have */
      continue;
    scene_new(&s, env, 128 << 20, extra);
    create(&s, 1, 0);
    s.largest = 60000;
    assert_int_equal(fill(&s, 1), 0);
    check(&s);
    calls = s.count * s.turns;
    test_launch(env, kernel_of(&s, "region_as_blocks"), calls, 32, "hmum", s.heap, s.refs, calls, s.counter);
    assert_int_equal(read_counter(&s), 0);
    check(&s);
    stats = test_intact(env, s.heap);
    assert_int_equal(stats.invalid_frees, 2 * calls);
    use(&s, 1, 1, NULL);
    assert_int_equal(test_intact(env, s.heap).red_zone_errors, 0);
    test_launch(env, kernel_of(&s, "region_overrun"), count, 4, "hmmuu", s.heap, s.regions, s.refs, count,
                (cl_uint)100);
    use(&s, 1, 0, NULL);
    stats = test_intact(env, s.heap);
    assert_int_equal(stats.red_zone_errors, level >= 2 ? count : 0);
    all_back(&s);
    use(&s, 1, 0, NULL);
    assert_int_equal(test_intact(env, s.heap).invalid_frees, 2 * calls + 1);
  }
}

int main(int argc, char **argv) {
  static const test_case cases[] = {
      TEST(owners, SPREAD_AXES),
      TEST(lives, SPREAD_ONE),
      TEST(full, SPREAD_ONE),
      TEST(bad_regions, SPREAD_ONE),
      TEST(one_free_of_many, SPREAD_ONE),
      TEST(no_ordinary_blocks, SPREAD_ONE),
      TEST(groups, SPREAD_ONE),
      TEST(groups_together, SPREAD_ONE),
      TEST(groups_reset, SPREAD_ONE),
      TEST(host_and_kernels, SPREAD_ONE),
      TEST(inspected, SPREAD_ONE),
      TEST(debug, SPREAD_ONE),
  };
  return test_main("regions", cases, sizeof cases / sizeof *cases, argc, argv);
}
