/* SPDX-License-Identifier: MIT */
/* Bad input on every device and backing: each case is refused and counted by kind, and nothing else in the heap
 * changes: all of the metadata but the counters is compared before and after.
 */
#include "support/harness.h"
#include "../cl/layout/arena.h"

enum { BLOCKS = 60, LIST = 512 };

typedef struct scene {
  test_env *env;
  xmc_heap heap;
  xmcHeap header;
  cl_ulong refs[BLOCKS];
  cl_ulong sizes[BLOCKS];
  cl_ulong list[LIST]; /* of bad offsets */
  cl_uint count;
  unsigned char *before, *after;
  size_t metadata;
} scene;

/* Room for a Superblock of each size in each of four FIFOs */
#define SOME_BYTES ((size_t)4 << 20)

static void scene_new(scene *s, test_env *env) {
  static const cl_ulong sizes[] = {1, 16, 40, 300, 448, 449, 1000, 5000, 8192, 20000};
  cl_mem size_buffer, ref_buffer;
  cl_uint i;
  memset(s, 0, sizeof *s);
  s->env = env;
  s->heap = test_heap(env, SOME_BYTES);
  for (i = 0; i < BLOCKS; i++)
    s->sizes[i] = sizes[i % 10];
  size_buffer = test_buffer(env, sizeof s->sizes, s->sizes);
  ref_buffer = test_buffer(env, sizeof s->refs, NULL);
  test_launch(env, test_kernel(env, s->heap, "bad_input.cl", "bad_malloc", NULL), BLOCKS, 1, "hmmu", s->heap,
              size_buffer, ref_buffer, (cl_uint)BLOCKS);
  test_read(env, ref_buffer, s->refs, sizeof s->refs);
  for (i = 0; i < BLOCKS; i++)
    assert_true(s->refs[i] != 0);
  test_read_arena(env, s->heap, 0, sizeof s->header, &s->header);
  s->metadata = (size_t)s->header.data;
  s->before = test_alloc(env, s->metadata);
  s->after = test_alloc(env, s->metadata);
}

static void remember(scene *s) { test_read_arena(s->env, s->heap, 0, s->metadata, s->before); }

/* Everything before page 0 is as it was, but the counters. */
static void same_as_before(scene *s) {
  size_t counters = offsetof(xmcHeap, failed_requests), i;
  test_read_arena(s->env, s->heap, 0, s->metadata, s->after);
  assert_memory_equal(s->before, s->after, counters);
  for (i = XMC_HEADER_BYTES; i < s->metadata; i++)
    if (s->before[i] != s->after[i])
      fail_msg("byte %u of the metadata changed", (unsigned)i);
}

static void free_list(scene *s, cl_uint times) {
  test_launch(s->env, test_kernel(s->env, s->heap, "bad_input.cl", "bad_free", NULL),
              (size_t)s->count * times, 32, "hmuu", s->heap, test_buffer(s->env, sizeof s->list, s->list),
              s->count, times);
}

static void add(scene *s, cl_ulong offset) {
  assert_true(s->count < LIST);
  s->list[s->count++] = offset;
}

static void list_wild(scene *s) {
  cl_ulong outside[] = {1, 8, 16, 4096, 1u << 20, 1u << 30};
  cl_uint i;
  s->count = 0;
  for (i = 0; i < 6; i++) {
    add(s, 0u - outside[i]);
    add(s, s->header.bytes + outside[i] - 1u);
  }
  for (i = 0; i < 40; i++) /* metadata, aligned or not */
    add(s, 1u + test_hash(i) % (s->header.data - 1u));
  for (i = 0; i < BLOCKS; i++) { /* inside blocks: misaligned, at the middle, at the end */
    if (s->sizes[i] < 16)
      continue;
    add(s, s->refs[i] + 1u);
    add(s, s->refs[i] + s->sizes[i] / 2u);
    add(s, s->refs[i] + s->sizes[i] - 1u);
    add(s, s->refs[i] + 8u);
  }
}

static void wild_pointers(test_env *env) {
  xmc_heap_stats stats;
  scene s;
  scene_new(&s, env);
  list_wild(&s);
  remember(&s);
  free_list(&s, 3);
  same_as_before(&s);
  stats = test_intact(env, s.heap);
  assert_int_equal(stats.invalid_frees, 3u * s.count);
  assert_int_equal(stats.double_frees, 0);
  assert_int_equal(stats.live_blocks, BLOCKS);
  assert_true(stats.first_invalid_free != 0);
}

static void other_heaps_blocks(test_env *env) {
  xmc_heap_stats stats;
  scene s, t;
  scene_new(&s, env);
  scene_new(&t, env);
  remember(&s);
  remember(&t);
  test_launch(env, test_kernel(env, s.heap, "bad_input.cl", "bad_free_of_other", ANY_GEOMETRY), BLOCKS, 4,
              "hhmu", s.heap, t.heap, test_buffer(env, sizeof t.refs, t.refs), (cl_uint)BLOCKS);
  same_as_before(&s);
  same_as_before(&t);
  stats = test_intact(env, s.heap);
  assert_int_equal(stats.invalid_frees, BLOCKS);
  stats = test_intact(env, t.heap);
  assert_int_equal(stats.invalid_frees + stats.double_frees, 0);
}

static void double_frees(test_env *env) {
  xmc_heap_stats stats;
  scene s;
  cl_uint i;
  scene_new(&s, env);
  for (i = 0; i < BLOCKS; i++)
    add(&s, s.refs[i]);
  free_list(&s, 1);
  assert_int_equal(test_intact(env, s.heap).double_frees, 0);
  test_empty(env, s.heap);
  remember(&s);
  free_list(&s, 1);
  same_as_before(&s);
  stats = test_intact(env, s.heap);
  assert_int_equal(stats.double_frees + stats.invalid_frees, BLOCKS);
  assert_true(stats.double_frees > 0 && stats.first_double_free != 0);
}

/* Many work-items free the same blocks at the same time: one of them does, the others are counted. */
static void double_frees_at_once(test_env *env) {
  enum { TIMES = 8 };
  xmc_heap_stats stats;
  scene s;
  cl_uint i;
  scene_new(&s, env);
  for (i = 0; i < BLOCKS; i++)
    add(&s, s.refs[i]);
  free_list(&s, TIMES);
  stats = test_intact(env, s.heap);
  assert_int_equal(stats.double_frees + stats.invalid_frees, (TIMES - 1) * BLOCKS);
  assert_int_equal(stats.live_blocks, 0);
}

/* Freed, then the room was given to another size: the old pointers are no blocks, or inside of one, or one of
 * the new blocks' starts, which are left out. */
static void double_frees_after_reuse(test_env *env) {
  xmc_heap_stats stats;
  scene s;
  cl_ulong others[LIST], sizes[LIST];
  cl_mem buffer = test_buffer(env, sizeof others, NULL);
  cl_uint i, k, old = 0;
  cl_ulong old_refs[BLOCKS];
  scene_new(&s, env);
  for (i = 0; i < BLOCKS; i++)
    add(&s, s.refs[i]);
  free_list(&s, 1);
  for (i = 0; i < LIST; i++)
    sizes[i] = 700;
  test_launch(env, test_kernel(env, s.heap, "bad_input.cl", "bad_malloc", NULL), LIST, 1, "hmmu", s.heap,
              test_buffer(env, sizeof sizes, sizes), buffer, (cl_uint)LIST);
  test_read(env, buffer, others, sizeof others);
  s.count = 0;
  for (i = 0; i < BLOCKS; i++) {
    for (k = 0; k < LIST && others[k] != s.refs[i]; k++)
      ;
    if (k == LIST)
      old_refs[old++] = s.refs[i];
  }
  for (i = 0; i < old; i++)
    add(&s, old_refs[i]);
  assert_true(s.count > 0 || env->config.fifos == 0);
  if (!s.count)
    return; /* an unbuffered heap with lanes: blocks begin where blocks began, and nothing is left to free again */
  stats = test_intact(env, s.heap);
  remember(&s);
  free_list(&s, 2);
  same_as_before(&s);
  k = (cl_uint)stats.live_blocks;
  stats = test_intact(env, s.heap);
  assert_int_equal(stats.live_blocks, k);
  assert_int_equal(stats.double_frees + stats.invalid_frees, 2u * s.count);
}

static void bad_calls(test_env *env) {
  xmc_heap_stats stats;
  cl_uint wrong = 0;
  cl_mem counter;
  scene s;
  scene_new(&s, env);
  list_wild(&s);
  counter = test_buffer(env, sizeof wrong, NULL);
  /* Requests that are refused may well look for room first; the lists they clean up are not compared. */
  test_launch(env, test_kernel(env, s.heap, "bad_input.cl", "bad_calls", NULL), s.count, 32, "hmum", s.heap,
              test_buffer(env, sizeof s.list, s.list), s.count, counter);
  test_read(env, counter, &wrong, sizeof wrong);
  assert_int_equal(wrong, 0);
  stats = test_intact(env, s.heap);
  assert_int_equal(stats.invalid_frees, s.count); /* by realloc */
  assert_int_equal(stats.failed_requests, 6u * s.count);
  assert_int_equal(stats.live_blocks, BLOCKS);
}

/* A program for another layout or geometry: to it the magic or the number is another one, so it refuses the heap; here the
 * heap's are changed instead. */
static void other_layout(test_env *env) {
  cl_ulong magic = XMC_MAGIC + 1u, number = 1, refs[2 * BLOCKS];
  xmc_heap_report report;
  cl_mem buffer, groups;
  cl_uint i;
  scene s;
  scene_new(&s, env);
  for (i = 0; i < BLOCKS; i++)
    add(&s, s.refs[i]);
  if (env->config.one_geometry)
    test_write_arena(env, s.heap, offsetof(xmcHeap, geometry), sizeof number, &number);
  else
    test_write_arena(env, s.heap, offsetof(xmcHeap, magic), sizeof magic, &magic);
  remember(&s);
  memset(refs, 1, sizeof refs);
  buffer = test_buffer(env, sizeof refs / 2, refs);
  test_launch(env, test_kernel(env, s.heap, "bad_input.cl", "bad_malloc", NULL), BLOCKS, 1, "hmmu", s.heap,
              test_buffer(env, sizeof s.sizes, s.sizes), buffer, (cl_uint)BLOCKS);
  groups = test_buffer(env, sizeof refs / 2, refs);
  test_launch(env, test_kernel(env, s.heap, "bad_input.cl", "bad_group", NULL), BLOCKS, BLOCKS / 3, "hmmm",
              s.heap, test_buffer(env, sizeof s.sizes, s.sizes), test_buffer(env, sizeof s.list, s.list),
              groups);
  test_read(env, buffer, refs, sizeof refs / 2);
  test_read(env, groups, refs + BLOCKS, sizeof refs / 2);
  for (i = 0; i < 2 * BLOCKS; i++)
    assert_int_equal(refs[i], 0);
  free_list(&s, 1);
  test_read_arena(env, s.heap, 0, s.metadata, s.after);
  assert_memory_equal(s.before, s.after, s.metadata);
  assert_int_equal(xmcCheckHeap(s.heap, NULL, &report), XMC_HEAP_CORRUPT);
  assert_int_equal(report.code, XMC_PROBLEM_HEADER);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {
      TEST(wild_pointers, SPREAD_AXES),
      TEST(other_heaps_blocks, SPREAD_AXES),
      TEST(double_frees, SPREAD_AXES),
      TEST(double_frees_at_once, SPREAD_AXES),
      TEST(double_frees_after_reuse, SPREAD_AXES),
      TEST(bad_calls, SPREAD_AXES),
      TEST(other_layout, SPREAD_AXES),
  };
  return test_main("bad input", cases, sizeof cases / sizeof *cases, argc, argv);
}
