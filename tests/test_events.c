/* SPDX-License-Identifier: MIT */
/* Failures that show: the callback by each function that looks, XMC_SHOW, and what changed between two statistics. */
#include "support/harness.h"
#include "inspect/inspect.h"
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

enum { HEAP = 16 << 20, KINDS = 5 };

/* What a callback was told */
typedef struct told {
  xmc_heap heap;
  unsigned calls, kind[KINDS];
  cl_ulong value[KINDS], id[KINDS];
} told;

static void CL_CALLBACK remember(xmc_heap heap, xmc_heap_event event, cl_ulong value, cl_ulong id,
                                 void *data) {
  told *t = data;
  unsigned i = event - XMC_EVENT_FAILED_REQUEST;
  assert_ptr_equal(heap, t->heap);
  assert_true(i < KINDS);
  t->calls++;
  t->kind[i]++;
  t->value[i] = value;
  t->id[i] = id;
}

/* A request, a double free and an invalid one that fail, in kernels */
static xmc_heap_stats misuse(test_env *env, xmc_heap heap) {
  cl_kernel take = test_kernel(env, heap, "bad_input.cl", "bad_malloc", NULL);
  cl_kernel give = test_kernel(env, heap, "bad_input.cl", "bad_free", NULL);
  cl_ulong sizes[2] = {64, 1u << 30}, refs[2];
  cl_mem in = test_buffer(env, sizeof sizes, sizes), out = test_buffer(env, sizeof refs, NULL);
  test_launch(env, take, 2, 1, "hmmu", heap, in, out, (cl_uint)2);
  test_read(env, out, refs, sizeof refs);
  refs[1] = refs[0] + 1;
  test_write(env, in, refs, sizeof refs);
  test_launch(env, give, 2, 1, "hmuu", heap, in, (cl_uint)2, (cl_uint)1);
  test_launch(env, give, 1, 1, "hmuu", heap, in, (cl_uint)1, (cl_uint)1);
  return test_intact(env, heap);
}

static int CL_CALLBACK next(const xmc_block *block, void *data) {
  (void)block;
  (void)data;
  return 0;
}

static char save_path[] = "/tmp/xmc-test-events-XXXXXX";

static cl_int look_stats(xmc_heap heap) {
  xmc_heap_stats stats;
  return xmcGetHeapStats(heap, NULL, &stats);
}
static cl_int look_check(xmc_heap heap) { return xmcCheckHeap(heap, NULL, NULL); }
static cl_int look_blocks(xmc_heap heap) { return xmcForEachBlock(heap, NULL, next, NULL); }
static cl_int look_text(xmc_heap heap) { return xmcGetHeapText(heap, NULL, XMC_TEXT_LEAKS, 0, NULL, NULL); }
static cl_int look_save(xmc_heap heap) { return xmcSaveHeap(heap, NULL, save_path); }
static cl_int look_map(xmc_heap heap) { return xmcMapHeap(heap, NULL); }
static cl_int look_unmap(xmc_heap heap) { return xmcUnmapHeap(heap, NULL); }
static cl_int look_reset(xmc_heap heap) { return xmcResetHeap(heap, NULL); }

static void each_look(test_env *env) {
  static cl_int (*const looks[])(xmc_heap) = {look_stats, look_check, look_blocks, look_text,
                                              look_save,  look_map,   look_unmap,  look_reset};
  xmc_heap heap = test_heap(env, HEAP);
  xmc_heap_stats stats = misuse(env, heap);
  int fd = mkstemp(save_path);
  assert_true(fd >= 0);
  close(fd);
  for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
    told t = {heap, 0, {0}, {0}, {0}};
    CL_OK(xmcSetHeapCallback(heap, remember, &t));
    assert_int_equal(t.calls, 0);
    CL_OK(looks[i](heap));
    if (t.calls != 3)
      fail_msg("function %zu: %u calls", i, t.calls);
    for (unsigned k = 0; k < 3; k++)
      assert_int_equal(t.kind[k], 1);
    assert_int_equal(t.value[0], 1u << 30);
    assert_int_equal(t.id[0], stats.first_failure_id);
    assert_int_equal(t.value[1], stats.first_double_free);
    assert_int_equal(t.value[2], stats.first_invalid_free);
    if (looks[i] != look_map && looks[i] != look_reset)
      CL_OK(look_stats(heap));
    assert_int_equal(t.calls, 3);
    CL_OK(xmcSetHeapCallback(heap, NULL, NULL));
  }
  remove(save_path);
  memcpy(save_path + sizeof save_path - 7, "XXXXXX", 6);
  assert_int_equal(xmcSetHeapCallback(NULL, remember, NULL), XMC_INVALID_HEAP);
}

static void again_after_reset(test_env *env) {
  xmc_heap heap = test_heap(env, HEAP);
  told t = {heap, 0, {0}, {0}, {0}};
  CL_OK(xmcSetHeapCallback(heap, remember, &t));
  misuse(env, heap);
  assert_int_equal(t.calls, 3);
  misuse(env, heap);
  assert_int_equal(t.calls, 3);
  CL_OK(xmcResetHeap(heap, env->queue));
  test_intact(env, heap);
  assert_int_equal(t.calls, 3);
  misuse(env, heap);
  assert_int_equal(t.calls, 6);
}

static void last_look(test_env *env) {
  xmc_heap heap = test_heap(env, HEAP);
  told t = {heap, 0, {0}, {0}, {0}};
  misuse(env, heap);
  CL_OK(xmcSetHeapCallback(heap, remember, &t));
  CL_OK(xmcRetainHeap(heap));
  CL_OK(xmcReleaseHeap(heap));
  assert_int_equal(t.calls, 0);
  test_heap_forget(env, heap);
  CL_OK(xmcReleaseHeap(heap));
  assert_int_equal(t.calls, 3);
}

/* What a kernel wrote over the header is no count of failures. */
static void damaged(test_env *env) {
  xmc_heap heap = test_heap(env, HEAP);
  told t = {heap, 0, {0}, {0}, {0}};
  unsigned char bytes[XMC_HEADER_BYTES];
  memset(bytes, 0x5a, sizeof bytes);
  CL_OK(xmcSetHeapCallback(heap, remember, &t));
  test_write_arena(env, heap, 0, sizeof bytes, bytes);
  assert_int_equal(look_stats(heap), XMC_HEAP_CORRUPT);
  assert_int_equal(look_map(heap), XMC_HEAP_CORRUPT);
  CL_OK(look_reset(heap));
  assert_int_equal(t.calls, 0);
}

static void debug_events(test_env *env) {
  const xmc_heap_properties extra[] = {XMC_HEAP_DEBUG, 2, 0};
  xmc_heap heap = test_heap_with(env, HEAP, extra);
  cl_kernel take = test_kernel(env, heap, "debug.cl", "debug_malloc", NULL);
  cl_kernel give = test_kernel(env, heap, "debug.cl", "debug_free", NULL);
  cl_kernel poke = test_kernel(env, heap, "debug.cl", "debug_poke", NULL);
  cl_mem out = test_buffer(env, 3 * sizeof(cl_ulong), NULL);
  told t = {heap, 0, {0}, {0}, {0}};
  cl_ulong ref;
  CL_OK(xmcSetHeapCallback(heap, remember, &t));
  test_launch(env, take, 1, 1, "hUm", heap, (cl_ulong)20, out);
  test_read(env, out, &ref, sizeof ref);
  test_launch(env, poke, 1, 1, "hUu", heap, ref + 20, (cl_uint)1);
  test_launch(env, give, 1, 1, "hU", heap, ref);
  CL_OK(look_stats(heap));
  assert_int_equal(t.calls, 1);
  assert_int_equal(t.kind[XMC_EVENT_RED_ZONE - XMC_EVENT_FAILED_REQUEST], 1);
}

/* ---- threads, and callbacks that look themselves ---- */

typedef struct looker {
  test_env *env;
  xmc_heap heap;
  unsigned calls;
  char text[8192];
} looker;

static void CL_CALLBACK look_again(xmc_heap heap, xmc_heap_event event, cl_ulong value, cl_ulong id,
                                   void *data) {
  looker *l = data;
  (void)event;
  (void)value;
  (void)id;
  __atomic_fetch_add(&l->calls, 1, __ATOMIC_RELAXED);
  look_check(heap);
  xmcGetHeapText(heap, NULL, XMC_TEXT_STATS_TABLE, sizeof l->text, l->text, NULL);
}

static void *look_often(void *data) {
  looker *l = data;
  intptr_t bad = 0;
  for (int i = 0; i < 50; i++)
    bad |= look_stats(l->heap) != CL_SUCCESS;
  return (void *)bad;
}

static void threads(test_env *env) {
  looker *l = test_alloc(env, sizeof *l);
  pthread_t thread[4];
  int count = test_has_threads(env) ? 4 : 1;
  *l = (looker){env, test_heap(env, HEAP), 0, ""};
  misuse(env, l->heap);
  CL_OK(xmcSetHeapCallback(l->heap, look_again, l));
  for (int i = 0; i < count; i++)
    assert_int_equal(pthread_create(&thread[i], NULL, look_often, l), 0);
  for (int i = 0; i < count; i++) {
    void *bad;
    pthread_join(thread[i], &bad);
    assert_null(bad);
  }
  assert_int_equal(l->calls, 3);
  assert_non_null(strstr(l->text, "double frees                      1"));
}

/* ---- XMC_SHOW ---- */

/* What the release of a heap on which calls failed prints to stderr, which `to` becomes meanwhile; `to` is closed. */
static void release_to(test_env *env, int to) {
  xmc_heap heap = test_heap(env, HEAP);
  int saved = dup(STDERR_FILENO);
  misuse(env, heap);
  CL_OK(xmcMapHeap(heap, NULL));
  assert_non_null(xmcHostMalloc(heap, 100, NULL));
  CL_OK(xmcUnmapHeap(heap, NULL));
  test_heap_forget(env, heap);
  assert_true(saved >= 0 && dup2(to, STDERR_FILENO) >= 0);
  close(to);
  CL_OK(xmcReleaseHeap(heap));
  dup2(saved, STDERR_FILENO);
  close(saved);
}

/* … as a string, with XMC_SHOW as given */
static char *shown(test_env *env, const char *words) {
  char path[] = "/tmp/xmc-test-show-XXXXXX", *text = test_alloc(env, 1 << 16);
  int fd = mkstemp(path);
  FILE *f;
  assert_true(fd >= 0);
  setenv("XMC_SHOW", words, 1);
  release_to(env, fd);
  unsetenv("XMC_SHOW");
  f = fopen(path, "rb");
  assert_non_null(f);
  text[fread(text, 1, (1 << 16) - 1, f)] = '\0';
  fclose(f);
  remove(path);
  assert_null(strchr(text, '\033'));
  return text;
}

static void show(test_env *env) {
  char *text = shown(env, "errors");
  assert_int_equal(strncmp(text, "XMalloc: failed requests: 1, the first: 1 GiB by work-item ", 59), 0);
  assert_non_null(strstr(text, "\nXMalloc: double frees: 1, the first at 0x"));
  assert_non_null(strstr(text, "\nXMalloc: invalid frees: 1, the first at 0x"));
  assert_null(strstr(text, "still allocated"));
  text = shown(env, "stats,leaks");
  assert_int_equal(strncmp(text, "XMalloc heap, 16 MiB\n", 21), 0);
  assert_non_null(strstr(text, "  double frees                      1  the first at 0x"));
  assert_non_null(strstr(text, "XMalloc: 1 block is still allocated, 112 bytes\n"));
  text = shown(env, "leaks,nonsense,");
  assert_non_null(strstr(text, "not nonsense\n"));
  assert_non_null(strstr(text, "1 block is still"));
  assert_null(strstr(text, "double frees"));
  assert_string_equal(shown(env, ""), "");
}

/* On a terminal the figures have colours, unless the environment forbids them. */
static void colours(test_env *env) {
  static const struct {
    const char *name, *value;
    int colours;
  } cases[] = {{"TERM", "xterm", 1}, {"NO_COLOR", "1", 0}, {"TERM", "dumb", 0}, {"NO_COLOR", "", 1}};
  const char *term = getenv("TERM");
  char *kept = term ? strdup(term) : NULL;
  setenv("XMC_SHOW", "errors", 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[4096];
    int main_end = posix_openpt(O_RDWR | O_NOCTTY), end;
    ssize_t n;
    if (main_end < 0 && access("/dev/pts/ptmx", F_OK) != 0) {
      print_message("no terminals here: colours are not tested\n");
      break;
    }
    assert_true(main_end >= 0 && grantpt(main_end) == 0 && unlockpt(main_end) == 0);
    end = open(ptsname(main_end), O_RDWR | O_NOCTTY);
    assert_true(end >= 0);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    setenv(cases[i].name, cases[i].value, 1);
    release_to(env, dup(end));
    n = read(main_end, text, sizeof text - 1); /* all of it: it was written at once */
    assert_true(n > 0);
    text[n] = '\0';
    assert_int_equal(strstr(text, "\033[31mXMalloc: failed") != NULL, cases[i].colours);
    assert_int_equal(strchr(text, '\033') != NULL, cases[i].colours);
    close(end);
    close(main_end);
  }
  unsetenv("XMC_SHOW");
  unsetenv("NO_COLOR");
  kept ? setenv("TERM", kept, 1) : unsetenv("TERM");
  free(kept);
}

/* ---- what a launch did ---- */

static void change(test_env *env) {
  xmc_heap heap = test_heap(env, HEAP);
  cl_kernel take = test_kernel(env, heap, "bad_input.cl", "bad_malloc", NULL);
  cl_kernel give = test_kernel(env, heap, "bad_input.cl", "bad_free", NULL);
  cl_ulong sizes[8] = {64, 64, 64, 2000, 2000, 100000, 1u << 30, 1u << 30}, refs[8];
  cl_mem in = test_buffer(env, sizeof sizes, sizes), out = test_buffer(env, sizeof refs, NULL);
  xmc_heap_stats empty = test_intact(env, heap), full, after;
  xmc_heap_change c;
  test_launch(env, take, 8, 1, "hmmu", heap, in, out, (cl_uint)8);
  test_read(env, out, refs, sizeof refs);
  full = test_intact(env, heap);
  xmcCompareHeapStats(&empty, &full, &c);
  assert_int_equal(c.added_blocks, 6);
  assert_int_equal(c.added_bytes, full.live_bytes);
  assert_int_equal(c.removed_blocks + c.removed_bytes, 0);
  assert_int_equal(c.memoryblocks, 1);
  assert_int_equal(c.memoryblock_bytes, full.memoryblock_bytes);
  assert_int_equal(c.failed_requests, 2);
  refs[1] = refs[0]; /* of the blocks of 64 B one is freed twice, one stays, and four other blocks follow */
  refs[6] = refs[7] = 0;
  test_write(env, in, refs, sizeof refs);
  test_launch(env, give, 6, 1, "hmuu", heap, in, (cl_uint)6, (cl_uint)1);
  sizes[0] = sizes[1] = sizes[2] = 64;
  test_write(env, in, sizes, sizeof sizes);
  test_launch(env, take, 3, 1, "hmmu", heap, in, out, (cl_uint)3);
  after = test_intact(env, heap);
  xmcCompareHeapStats(&full, &after, &c);
  assert_int_equal(c.added_blocks, 1);
  assert_int_equal(c.added_bytes, 64);
  assert_int_equal(c.removed_blocks, 3);
  assert_int_equal(c.removed_bytes, full.live_bytes - 3 * 64);
  assert_int_equal(c.memoryblocks, -1);
  assert_int_equal(c.memoryblock_bytes, -(cl_long)full.memoryblock_bytes);
  assert_int_equal(c.double_frees, 1);
  assert_int_equal(c.invalid_frees + c.failed_requests + c.red_zone_errors + c.use_after_frees, 0);
  for (int i = 0; i < XMC_STATS_CLASSES; i++)
    assert_int_equal(c.class_live_blocks[i], after.class_bytes[i] == 64     ? 1
                                             : after.class_bytes[i] == 2048 ? -2
                                                                            : 0);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {
      TEST(each_look, SPREAD_AXES), TEST(again_after_reset, SPREAD_ONE), TEST(last_look, SPREAD_AXES),
      TEST(damaged, SPREAD_ONE),    TEST(debug_events, SPREAD_ONE),      TEST(threads, SPREAD_ONE),
      TEST(show, SPREAD_ONE),       TEST(colours, SPREAD_ONE),           TEST(change, SPREAD_ONE)};
  return test_main("events", cases, sizeof cases / sizeof *cases, argc, argv);
}
