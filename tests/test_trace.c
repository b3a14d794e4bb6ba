/* SPDX-License-Identifier: MIT */
/* Traced heaps: which events are recorded, that their sums are the statistics', what is lost, the texts, and files. */
#include "support/files.h"
#include "trace/trace.h"
#include <unistd.h>

enum { HEAP = 16 << 20, RING = 1 << 20, ITEMS = 2000 };

static xmc_heap traced(test_env *env, size_t ring, int every, int level) {
  const xmc_heap_properties extra[] = {
      XMC_HEAP_TRACE_BYTES, (xmc_heap_properties)ring, XMC_HEAP_TRACE_EVERY, every, XMC_HEAP_DEBUG, level, 0};
  return test_heap_with(env, HEAP, extra);
}

/* A text about the heap, by xmcGetHeapText and by xmcWriteTrace */
static char *text_of(test_env *env, xmc_heap heap, xmc_trace_format format) {
  size_t bytes = 0, n;
  char *text, *again;
  FILE *f = tmpfile();
  CL_OK(xmcGetHeapText(heap, env->queue, format, 0, NULL, &bytes));
  text = test_alloc(env, bytes);
  again = test_alloc(env, bytes);
  CL_OK(xmcGetHeapText(heap, env->queue, format, bytes, text, NULL));
  assert_non_null(f);
  CL_OK(xmcWriteTrace(heap, env->queue, f, format));
  rewind(f);
  n = fread(again, 1, bytes, f);
  fclose(f);
  assert_int_equal(n, bytes - 1);
  assert_string_equal(text, again);
  return text;
}

static cl_ulong number(const char *json, const char *name) {
  char key[64];
  const char *at;
  snprintf(key, sizeof key, "\"%s\": ", name);
  at = strstr(json, key);
  assert_non_null(at);
  return strtoull(at + strlen(key), NULL, 10);
}

static unsigned times(const char *text, const char *words) {
  unsigned n = 0;
  for (; (text = strstr(text, words)); text++)
    n++;
  return n;
}

/* The totals are the statistics'. Lanes that share a block by compartments are one there, and each its own in the trace. */
static const char *totals_agree(test_env *env, xmc_heap heap) {
  xmc_heap_stats stats = test_intact(env, heap);
  const char *json = text_of(env, heap, XMC_TRACE_CHROME);
  assert_int_equal(number(json, "lost"), 0);
  assert_int_equal(number(json, "other_frees"), 0);
  if (!env->device->gpu || env->config.coalescing != XMC_COALESCE_COMPARTMENT) {
    assert_int_equal(number(json, "live_blocks"), stats.live_blocks - stats.regions);
    assert_int_equal(number(json, "live_bytes"), stats.live_bytes - stats.region_bytes);
  }
  assert_int_equal(number(json, "allocations") - number(json, "frees"), number(json, "live_blocks"));
  assert_int_equal(number(json, "failed_requests"), stats.failed_requests);
  assert_int_equal(number(json, "bad_frees"), stats.double_frees + stats.invalid_frees);
  assert_int_equal(number(json, "regions"), stats.regions);
  return json;
}

/* Many work-items, at each debug level; what the counters say at the end is what the statistics say. */
static void totals(test_env *env) {
  cl_ulong *refs = test_alloc(env, ITEMS * sizeof *refs), zero = 0;
  cl_mem memory = test_buffer(env, ITEMS * sizeof *refs, NULL);
  int level;
  for (level = 0; level <= XMC_DEBUG_MAX; level += 3) {
    xmc_heap heap = traced(env, RING, 1, level);
    cl_kernel make = test_kernel(env, heap, "trace.cl", "trace_malloc", NULL);
    cl_kernel end = test_kernel(env, heap, "trace.cl", "trace_free", NULL);
    const char *json, *last;
    size_t i;
    test_launch(env, make, ITEMS, 1, "hUm", heap, (cl_ulong)30, memory);
    json = totals_agree(env, heap);
    assert_int_equal(number(json, "allocations"), ITEMS);
    assert_int_equal(number(json, "events"), ITEMS);
    test_read(env, memory, refs, ITEMS * sizeof *refs);
    for (i = 0; i < ITEMS; i += 3)
      test_write(env, memory, refs, ITEMS * sizeof *refs), refs[i] = zero;
    test_write(env, memory, refs, ITEMS * sizeof *refs);
    test_launch(env, end, ITEMS, 1, "hm", heap, memory);
    json = totals_agree(env, heap);
    assert_int_equal(number(json, "live_blocks"), (ITEMS + 2) / 3);
    assert_int_equal(times(json, "\"<kernel>:101\""), ITEMS);
    assert_int_equal(times(json, "\"<kernel>:201\""), ITEMS - (ITEMS + 2) / 3);
    for (last = json; strstr(last + 1, "\"live bytes\"");)
      last = strstr(last + 1, "\"live bytes\"");
    {
      cl_ulong live = 0;
      char name[32];
      xmc_u32 kind;
      for (kind = 0; kind < XMC_TRACE_PAGES; kind++) {
        xmc_trace_room_name(kind, name);
        if (strlen(name) && strstr(last, name)) {
          char key[48];
          snprintf(key, sizeof key, "\"%s\": ", name);
          if (strstr(last, key))
            live += strtoull(strstr(last, key) + strlen(key), NULL, 10);
        }
      }
      assert_int_equal(live, number(json, "live_bytes"));
    }
    test_heap_forget(env, heap);
    CL_OK(xmcReleaseHeap(heap));
  }
}

/* Each call once: kinds, sizes and sites in order */
static void calls(test_env *env) {
  static const struct {
    xmc_u32 kind, line;
    xmc_u64 size;
  } expected[] = {{XMC_TRACE_MALLOC, 0, 100},
                  {XMC_TRACE_REALLOC_FREE, 301, 0},
                  {XMC_TRACE_REALLOC_MALLOC, 301, 1000},
                  {XMC_TRACE_REALLOC_FREE, 302, 0},
                  {XMC_TRACE_REALLOC_MALLOC, 302, 990},
                  {XMC_TRACE_MALLOC, 303, 150},
                  {XMC_TRACE_MALLOC, 304, 20},
                  {XMC_TRACE_MALLOC, 305, 70},
                  {XMC_TRACE_FREE, 306, 0},
                  {XMC_TRACE_FAILURE, 307, (xmc_u64)1 << 40},
                  {XMC_TRACE_FAILURE, 308, ~(xmc_u64)0},
                  {XMC_TRACE_BAD_FREE, 309, 0},
                  {XMC_TRACE_MALLOC, 311, 100000},
                  {XMC_TRACE_REALLOC_FREE, 312, 0},
                  {XMC_TRACE_REALLOC_MALLOC, 312, 50000}};
  cl_mem refs = test_buffer(env, 10 * sizeof(cl_ulong), NULL);
  int level;
  for (level = 0; level <= XMC_DEBUG_MAX; level += 3) {
    xmc_heap heap = traced(env, RING, 1, level);
    cl_command_queue queue = env->queue;
    xmcHeap *meta;
    xmc_trace trace;
    cl_ulong ref[10];
    size_t i;
    test_launch(env, test_kernel(env, heap, "trace.cl", "trace_calls", NULL), 1, 1, "hm", heap, refs);
    totals_agree(env, heap);
    CL_OK(xmc_lock_heap(heap, &queue));
    CL_OK(xmc_walk_open(heap, queue, &meta, NULL));
    xmc_unlock_heap(heap);
    CL_OK(xmc_trace_open(meta, &trace));
    assert_int_equal(trace.count, sizeof expected / sizeof *expected);
    for (i = 0; i < trace.count; i++) {
      char site[XMC_SITE_BYTES], name[XMC_SITE_BYTES];
      assert_int_equal(trace.events[i].kind, expected[i].kind);
      assert_int_equal(trace.events[i].size, expected[i].size);
      snprintf(name, sizeof name, "<kernel>:%u", expected[i].line);
      if (expected[i].line)
        assert_string_equal(xmc_trace_site_name(trace.events[i].site, site), name);
    }
    test_read(env, refs, ref, sizeof ref);
    assert_int_equal(trace.events[4].ref, ref[0]);
    assert_true(trace.events[4].live);
    assert_false(trace.events[2].live);
    assert_int_equal(trace.events[3].origin, 3);
    assert_int_equal(trace.events[11].room, 8); /* the bad pointer */
    assert_int_equal(trace.events[14].ref, ref[5]);
    xmc_trace_close(&trace);
    free(meta);
    assert_int_equal(
        times(text_of(env, heap, XMC_TRACE_CHROME), "\"<kernel>:309\", \"work-item\": 0, \"ref\": \"0x8\"}}"),
        1);
  }
}

static void regions(test_env *env) {
  xmc_heap heap = traced(env, RING, 1, 0);
  cl_mem refs = test_buffer(env, 10 * sizeof(cl_ulong), NULL);
  const char *json;
  test_launch(env, test_kernel(env, heap, "trace.cl", "trace_regions", NULL), 1, 1, "hm", heap, refs);
  json = totals_agree(env, heap);
  assert_int_equal(number(json, "regions"), 1);
  assert_int_equal(number(json, "region_blocks"), 1);
  assert_int_equal(number(json, "region_bytes"), 60);
  assert_int_equal(number(json, "bad_frees"), 1);
  assert_int_equal(times(json, "\"region malloc\""), 12);
  assert_int_equal(times(json, "\"region create\""), 2);
  assert_string_equal(text_of(env, heap, XMC_TRACE_FOLDED), "<kernel>;<kernel>:405;regions 60\n");
}

static void groups(test_env *env) {
  xmc_heap heap = traced(env, RING, 1, 0);
  size_t local = env->device->max_local < 64 ? env->device->max_local : 64, items = 4 * local;
  cl_mem refs = test_buffer(env, items * sizeof(cl_ulong), NULL);
  const char *json;
  test_launch(env, test_kernel(env, heap, "trace.cl", "trace_groups", NULL), items, local, "hm", heap, refs);
  json = totals_agree(env, heap);
  assert_int_equal(number(json, "allocations"), items);
  assert_int_equal(number(json, "live_blocks"), items / 2);
  assert_int_equal(times(json, "\"<kernel>:501\""), items);
  assert_int_equal(times(json, "\"<kernel>:502\""), items / 2);
}

/* Host calls are recorded like a kernel's; a reset forgets all. */
static void host_calls(test_env *env) {
  xmc_heap heap = traced(env, RING, 1, 0);
  xmcRegion region;
  const char *json;
  void *p;
  CL_OK(xmcMapHeap(heap, NULL));
  p = xmcHostMalloc(heap, 100, NULL);
  p = xmcHostRealloc(heap, p, 300, NULL);
  assert_non_null(p);
  assert_non_null(xmcHostCalloc(heap, 10, 10, NULL));
  assert_non_null(xmcHostAlignedAlloc(heap, 16, 10, NULL));
  assert_null(xmcHostMalloc(heap, (size_t)1 << 40, NULL));
  CL_OK(xmcHostFree(heap, p));
  CL_OK(xmcHostFree(heap, p));
  region = xmcHostRegionCreate(heap, NULL);
  assert_non_null(xmcHostRegionMalloc(heap, region, 50, NULL));
  CL_OK(xmcHostRegionFree(heap, region));
  CL_OK(xmcUnmapHeap(heap, NULL));
  json = totals_agree(env, heap);
  assert_int_equal(number(json, "allocations"), 4);
  assert_int_equal(number(json, "live_blocks"), 2);
  assert_int_equal(number(json, "failed_requests"), 1);
  assert_int_equal(number(json, "bad_frees"), 1);
  assert_int_equal(times(json, "\"<host>\""), number(json, "events"));
  CL_OK(xmcResetHeap(heap, NULL));
  json = totals_agree(env, heap);
  assert_int_equal(number(json, "events"), 0);
}

/* A small ring: the last events stay, the others are counted; what blocks they began is said. */
static void lost(test_env *env) {
  xmc_heap heap = traced(env, 64 + 128 * 48, 1, 0);
  cl_mem refs = test_buffer(env, ITEMS * sizeof(cl_ulong), NULL);
  xmc_heap_properties bytes = 0;
  const char *json;
  cl_ulong gone;
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_TRACE_BYTES, sizeof bytes, &bytes, NULL));
  assert_int_equal(bytes, 64 + 128 * 48);
  test_launch(env, test_kernel(env, heap, "trace.cl", "trace_malloc", NULL), ITEMS, 1, "hUm", heap,
              (cl_ulong)20, refs);
  json = text_of(env, heap, XMC_TRACE_CHROME);
  assert_int_equal(number(json, "events"), ITEMS);
  /* Where work-items run at the same time, one may find its record taken. */
  gone = number(json, "lost");
  assert_true(gone >= ITEMS - 128 && gone <= ITEMS - 64);
  assert_int_equal(number(json, "allocations"), ITEMS - gone);
  assert_non_null(strstr(text_of(env, heap, XMC_TRACE_TOP), "are of requests that are not in the trace"));
  test_launch(env, test_kernel(env, heap, "trace.cl", "trace_free", NULL), ITEMS, 1, "hm", heap, refs);
  json = text_of(env, heap, XMC_TRACE_CHROME);
  assert_int_equal(number(json, "live_blocks"), 0);
  assert_true(number(json, "other_frees") > 0);
  test_empty(env, heap);
}

/* One place in eight: blocks are in the trace with both ends or not at all. */
static void sampled(test_env *env) {
  xmc_heap heap = traced(env, RING, 8, 0);
  cl_mem refs = test_buffer(env, ITEMS * sizeof(cl_ulong), NULL);
  const char *json;
  cl_ulong some;
  test_launch(env, test_kernel(env, heap, "trace.cl", "trace_malloc", NULL), ITEMS, 1, "hUm", heap,
              (cl_ulong)20, refs);
  json = text_of(env, heap, XMC_TRACE_CHROME);
  some = number(json, "allocations");
  assert_true(some >= ITEMS / 16 && some <= ITEMS / 5);
  assert_int_equal(number(json, "every"), 8);
  test_launch(env, test_kernel(env, heap, "trace.cl", "trace_free", NULL), ITEMS, 1, "hm", heap, refs);
  json = text_of(env, heap, XMC_TRACE_CHROME);
  assert_int_equal(number(json, "allocations"), some);
  assert_int_equal(number(json, "frees"), some);
  assert_int_equal(number(json, "other_frees") + number(json, "live_blocks") + number(json, "lost"), 0);
}

static void texts(test_env *env) {
  xmc_heap heap = traced(env, RING, 1, 0), plain = test_heap(env, HEAP);
  cl_mem refs = test_buffer(env, 10 * sizeof(cl_ulong), NULL);
  char *top;
  size_t bytes;
  test_launch(env, test_kernel(env, heap, "trace.cl", "trace_calls", NULL), 1, 1, "hm", heap, refs);
  assert_string_equal(text_of(env, heap, XMC_TRACE_FOLDED),
                      "<kernel>;<kernel>:302;1024 B 1024\n<kernel>;<kernel>:303;160 B 160\n"
                      "<kernel>;<kernel>:304;256 B 256\n<kernel>;<kernel>:312;whole pages 65536\n");
  assert_non_null(
      strstr(text_of(env, heap, XMC_TRACE_FOLDED_ALLOCATIONS), "<kernel>;<kernel>:301;1024 B 1\n"));
  top = text_of(env, heap, XMC_TRACE_TOP);
  assert_non_null(strstr(top, "XMalloc: 15 events\n"));
  assert_non_null(strstr(top, "  <kernel>:312 "));
  assert_true(strstr(top, "<kernel>:312 ") < strstr(top, "<kernel>:302 "));
  assert_int_equal(xmcWriteTrace(heap, NULL, NULL, XMC_TRACE_CHROME), CL_INVALID_VALUE);
  assert_int_equal(xmcWriteTrace(heap, NULL, stderr, XMC_TRACE_TOP + 1), CL_INVALID_VALUE);
  assert_int_equal(xmcWriteTrace(heap, NULL, stderr, XMC_TEXT_LEAKS), CL_INVALID_VALUE);
  assert_int_equal(xmcWriteTrace(NULL, NULL, stderr, XMC_TRACE_TOP), XMC_INVALID_HEAP);
  assert_int_equal(xmcWriteTrace(plain, NULL, stderr, XMC_TRACE_TOP), XMC_HEAP_NOT_TRACED);
  assert_int_equal(xmcGetHeapText(plain, NULL, XMC_TRACE_CHROME, 0, NULL, &bytes), XMC_HEAP_NOT_TRACED);
  assert_non_null(strstr(xmcErrorString(XMC_HEAP_NOT_TRACED), "XMC_HEAP_NOT_TRACED: "));
}

/* Programs are for heaps with a ring or for heaps without one; properties have their ranges. */
static void properties(test_env *env) {
  static const xmc_heap_properties wrong[][3] = {{XMC_HEAP_TRACE_BYTES, -1, 0},
                                                 {XMC_HEAP_TRACE_BYTES, 64 * 48, 0},
                                                 {XMC_HEAP_TRACE_EVERY, 0, 0},
                                                 {XMC_HEAP_TRACE_EVERY, -1, 0}};
  xmc_heap heap = traced(env, RING, 3, 0), plain = test_heap(env, HEAP);
  cl_kernel kernel = test_kernel(env, heap, "trace.cl", "trace_free", ANY_GEOMETRY);
  cl_kernel other = test_kernel(env, plain, "trace.cl", "trace_free", ANY_GEOMETRY);
  xmc_heap_properties value = 0;
  cl_int status;
  size_t i;
  assert_int_equal(xmcSetKernelArgHeap(kernel, 0, plain), XMC_HEAP_MISMATCH);
  assert_int_equal(xmcSetKernelArgHeap(other, 0, heap), XMC_HEAP_MISMATCH);
  CL_OK(xmcSetKernelArgHeap(kernel, 0, heap));
  CL_OK(xmcGetHeapInfo(heap, XMC_HEAP_TRACE_EVERY, sizeof value, &value, NULL));
  assert_int_equal(value, 3);
  CL_OK(xmcGetHeapInfo(plain, XMC_HEAP_TRACE_BYTES, sizeof value, &value, NULL));
  assert_int_equal(value, 0);
  for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_null(xmcCreateHeap(env->context, env->device->id, wrong[i], HEAP, &status));
    assert_int_equal(status, CL_INVALID_PROPERTY);
  }
}

/* Output of xmc-heap; its exit status must be `expected`. */
static char *tool(test_env *env, const char *arguments, const char *path, int expected) {
  char line[512], *text = test_alloc(env, 2 << 20);
  FILE *pipe;
  snprintf(line, sizeof line, "%sxmc-heap %s %s 2>&1", XMC_TEST_TOOLS, arguments, path);
  pipe = popen(line, "r");
  assert_non_null(pipe);
  text[fread(text, 1, (2 << 20) - 1, pipe)] = '\0';
  assert_int_equal(pclose(pipe), expected << 8);
  return text;
}

static void tools(test_env *env) {
  const char *folder = test_folder(env);
  char *path = test_path(env, folder, "heap"), *plain = test_path(env, folder, "plain");
  xmc_heap heap = traced(env, RING, 1, 0);
  cl_mem refs = test_buffer(env, ITEMS * sizeof(cl_ulong), NULL);
  test_launch(env, test_kernel(env, heap, "trace.cl", "trace_malloc", NULL), ITEMS, 1, "hUm", heap,
              (cl_ulong)20, refs);
  CL_OK(xmcSaveHeap(heap, NULL, path));
  CL_OK(xmcSaveHeap(test_heap(env, HEAP), NULL, plain));
  assert_string_equal(tool(env, "trace", path, 0), text_of(env, heap, XMC_TRACE_CHROME));
  assert_string_equal(tool(env, "trace --folded", path, 0), text_of(env, heap, XMC_TRACE_FOLDED));
  assert_string_equal(tool(env, "trace --allocations", path, 0),
                      text_of(env, heap, XMC_TRACE_FOLDED_ALLOCATIONS));
  assert_string_equal(tool(env, "top", path, 0), text_of(env, heap, XMC_TRACE_TOP));
  assert_non_null(strstr(tool(env, "trace", plain, 1), "XMC_HEAP_NOT_TRACED"));
  assert_non_null(strstr(tool(env, "top --folded", path, 2), "top has no option --folded\nusage"));
  test_folder_remove(folder);
}

/* A saved heap keeps its ring; what it does after it was loaded comes on top. */
static void files(test_env *env) {
  const char *folder = test_folder(env);
  char *path = test_path(env, folder, "heap"), *before, *after;
  const xmc_heap_properties other[] = {XMC_HEAP_TRACE_EVERY, 2, 0};
  xmc_heap heap = traced(env, RING, 1, 0), loaded;
  cl_mem refs = test_buffer(env, ITEMS * sizeof(cl_ulong), NULL);
  cl_int status;
  test_launch(env, test_kernel(env, heap, "trace.cl", "trace_malloc", NULL), ITEMS, 1, "hUm", heap,
              (cl_ulong)20, refs);
  before = text_of(env, heap, XMC_TRACE_CHROME);
  CL_OK(xmcSaveHeap(heap, NULL, path));
  assert_null(xmcLoadHeap(env->context, env->device->id, other, path, &status));
  assert_int_equal(status, CL_INVALID_PROPERTY);
  loaded = xmcLoadHeap(env->context, env->device->id, NULL, path, &status);
  CL_OK(status);
  after = text_of(env, loaded, XMC_TRACE_CHROME);
  assert_string_equal(before, after);
  test_launch(env, test_kernel(env, loaded, "trace.cl", "trace_free", ANY_GEOMETRY), ITEMS, 1, "hm", loaded,
              refs);
  after = text_of(env, loaded, XMC_TRACE_CHROME);
  assert_int_equal(number(after, "frees"), ITEMS);
  assert_int_equal(number(after, "live_blocks"), 0);
  CL_OK(xmcReleaseHeap(loaded));
  test_folder_remove(folder);
}

/* Growing keeps what was recorded, to the letter, and the ring goes on, for programs that were built before as well. Where the
 * heap is full requests are refused, which is recorded too; then the new room serves them. */
static void grown(test_env *env) {
  const size_t bytes = 6 << 20, most = 32 << 20;
  const xmc_heap_properties extra[] = {XMC_HEAP_TRACE_BYTES, RING, XMC_HEAP_MAX_BYTES,
                                       (xmc_heap_properties)most, 0};
  xmc_heap heap = test_heap_with(env, bytes, extra);
  cl_mem first = test_buffer(env, ITEMS * sizeof(cl_ulong), NULL);
  cl_mem second = test_buffer(env, ITEMS * sizeof(cl_ulong), NULL);
  cl_kernel make = test_kernel(env, heap, "trace.cl", "trace_malloc", ANY_GEOMETRY);
  cl_kernel end = test_kernel(env, heap, "trace.cl", "trace_free", ANY_GEOMETRY);
  const char *json, *before, *top;
  cl_ulong refused;
  test_launch(env, make, ITEMS, 1, "hUm", heap, (cl_ulong)3500, first);
  before = totals_agree(env, heap);
  top = text_of(env, heap, XMC_TRACE_TOP);
  refused = number(before, "failed_requests");
  assert_true(refused > 0);
  CL_OK(xmcGrowHeap(heap, env->queue, most));
  assert_string_equal(totals_agree(env, heap), before);
  assert_string_equal(text_of(env, heap, XMC_TRACE_TOP), top);
  test_launch(env, make, ITEMS, 1, "hUm", heap, (cl_ulong)3500, second);
  json = totals_agree(env, heap);
  assert_int_equal(number(json, "events"), 2 * ITEMS);
  assert_int_equal(number(json, "failed_requests"), refused);
  assert_int_equal(number(json, "live_blocks"), 2 * ITEMS - refused);
  assert_true(number(json, "live_bytes") > bytes);
  test_launch(env, end, ITEMS, 1, "hm", heap, first); /* requests of the old memory */
  json = totals_agree(env, heap);
  assert_int_equal(number(json, "frees"), ITEMS - refused);
  test_launch(env, end, ITEMS, 1, "hm", heap, second);
  assert_int_equal(number(totals_agree(env, heap), "live_blocks"), 0);
  test_empty(env, heap);
  CL_OK(xmcResetHeap(heap, env->queue));
  assert_int_equal(number(totals_agree(env, heap), "events"), 0);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {
      TEST(totals, SPREAD_AXES), TEST(calls, SPREAD_ONE),      TEST(regions, SPREAD_ONE),
      TEST(groups, SPREAD_AXES), TEST(host_calls, SPREAD_ONE), TEST(lost, SPREAD_ONE),
      TEST(sampled, SPREAD_ONE), TEST(texts, SPREAD_ONE),      TEST(properties, SPREAD_ONE),
      TEST(tools, SPREAD_ONE),   TEST(files, SPREAD_ONE),      TEST(grown, SPREAD_AXES)};
  return test_main("trace", cases, sizeof cases / sizeof *cases, argc, argv);
}
