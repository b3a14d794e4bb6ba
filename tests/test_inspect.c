/* SPDX-License-Identifier: MIT */
/* Looking into a heap: the list of blocks against what was allocated, the reports against the list, the map,
 * and the xmc-heap tool on the saved heap. */
#include "support/harness.h"
#include "inspect/inspect.h"
#include "heap/layout.h"
#include "../cl/superblocks/init.cl"
#include <unistd.h>

enum { BLOCKS = 3000 };

typedef struct listed {
  xmc_block block[BLOCKS + 1];
  size_t count, stop_after;
} listed;

static int CL_CALLBACK remember(const xmc_block *block, void *data) {
  listed *l = data;
  assert_true(l->count < BLOCKS);
  l->block[l->count++] = *block;
  return l->count == l->stop_after;
}

static int by_ref(const void *a, const void *b) {
  const xmcRef x = *(const xmcRef *)a, y = *(const xmcRef *)b;
  return x < y ? -1 : x > y;
}

/* Blocks of all sizes, of which every third is freed again; the others' references, sorted, in refs. */
static size_t populate(test_env *env, xmc_heap heap, xmcRef *refs) {
  void *blocks[BLOCKS];
  size_t live = 0, i;
  CL_OK(xmcMapHeap(heap, env->queue));
  for (i = 0; i < BLOCKS; i++) {
    uint64_t r = test_hash(i);
    blocks[i] = xmcHostMalloc(heap, i % 100 == 7 ? 10000 + r % 200000 : 1 + r % (16u << r / 8 % 9), NULL);
    assert_non_null(blocks[i]);
  }
  for (i = 0; i < BLOCKS; i++)
    if (i % 3 == 0)
      CL_OK(xmcHostFree(heap, blocks[i]));
    else
      refs[live++] = xmcHostToRef(heap, blocks[i]);
  CL_OK(xmcUnmapHeap(heap, env->queue));
  qsort(refs, live, sizeof *refs, by_ref);
  return live;
}

static void blocks(test_env *env) {
  xmc_heap heap = test_heap(env, 64 << 20);
  listed *l = test_alloc(env, sizeof *l);
  xmcRef *refs = test_alloc(env, BLOCKS * sizeof *refs);
  xmc_heap_stats stats;
  cl_ulong bytes = 0;
  size_t live, i;
  CL_OK(xmcForEachBlock(heap, env->queue, remember, l));
  assert_int_equal(l->count, 0);
  live = populate(env, heap, refs);
  CL_OK(xmcForEachBlock(heap, NULL, remember, l));
  assert_int_equal(l->count, live);
  CL_OK(xmcGetHeapStats(heap, NULL, &stats));
  for (i = 0; i < live; i++) {
    const xmc_block *b = &l->block[i];
    assert_int_equal(b->ref, refs[i]);
    assert_true(b->size > 0 && b->size <= b->usable);
    assert_true(b->size_class == XMC_BLOCK_OF_PAGES ? b->usable % 16384 == 0
                                                    : stats.class_bytes[b->size_class] == b->usable);
    bytes += b->usable;
  }
  assert_int_equal(stats.live_blocks, live);
  assert_int_equal(stats.live_bytes, bytes);
  memset(l, 0, sizeof *l);
  l->stop_after = 17;
  CL_OK(xmcForEachBlock(heap, NULL, remember, l));
  assert_int_equal(l->count, 17);
  assert_int_equal(xmcForEachBlock(heap, NULL, NULL, NULL), CL_INVALID_VALUE);
  assert_int_equal(xmcForEachBlock(NULL, NULL, remember, l), XMC_INVALID_HEAP);
}

/* What `write` writes, as a string */
static char *written(test_env *env, xmc_heap heap, cl_int (*write)(xmc_heap, cl_command_queue, FILE *)) {
  char *text;
  long n;
  FILE *f = tmpfile();
  assert_non_null(f);
  CL_OK(write(heap, env->queue, f));
  n = ftell(f);
  assert_true(n > 0);
  text = test_alloc(env, (size_t)n + 1);
  rewind(f);
  assert_int_equal(fread(text, 1, (size_t)n, f), n);
  fclose(f);
  return text;
}

/* The number behind "name": in JSON; those that may be beyond 2^53 are strings. */
static cl_ulong number(const char *json, const char *name) {
  char key[64];
  const char *at;
  snprintf(key, sizeof key, "\"%s\":", name);
  at = strstr(json, key);
  assert_non_null(at);
  at += strlen(key) + 1;
  assert_int_equal(at[-1], ' ');
  return *at == '"' ? strtoull(at + 1, NULL, 0) : strtoull(at, NULL, 10);
}

static void reports(test_env *env) {
  xmc_heap heap = test_heap(env, 64 << 20);
  xmcRef *refs = test_alloc(env, BLOCKS * sizeof *refs);
  xmc_heap_stats stats;
  char *text = written(env, heap, xmcReportLeaks), line[64];
  const char *at;
  cl_ulong of_classes = 0;
  assert_non_null(strstr(text, "no block"));
  text = written(env, heap, xmcWriteHeapStats);
  assert_int_equal(number(text, "live_blocks"), 0);
  populate(env, heap, refs);
  stats = test_intact(env, heap);
  assert_int_equal(stats.live_blocks, 2000);
  text = written(env, heap, xmcReportLeaks);
  assert_non_null(strstr(text, "2,000 blocks are still allocated"));
  snprintf(line, sizeof line, "  0x%llx: ", (unsigned long long)refs[0]);
  assert_non_null(strstr(text, line));
  assert_non_null(strstr(text, "and 1,980 more"));
  text = written(env, heap, xmcWriteHeapStats);
  assert_int_equal(number(text, "heap_bytes"), stats.heap_bytes);
  assert_int_equal(number(text, "live_bytes"), stats.live_bytes);
  assert_int_equal(number(text, "largest_free_bytes"), stats.largest_free_bytes);
  assert_int_equal(number(text, "first_invalid_free"), stats.first_invalid_free);
  assert_non_null(strstr(text, "\"first_invalid_free\": \"0x"));
  assert_non_null(strstr(text, "\"first_failure_size\": \""));
  for (at = strchr(text, '['); (at = strstr(at, "\"live_blocks\":")) != NULL; at++)
    of_classes += number(at, "live_blocks");
  assert_int_equal(of_classes + stats.memoryblocks, stats.live_blocks);
  assert_int_equal(xmcReportLeaks(heap, NULL, NULL), CL_INVALID_VALUE);
  assert_int_equal(xmcWriteHeapStats(NULL, NULL, stdout), XMC_INVALID_HEAP);
  assert_int_equal(xmcWriteHeapMap(heap, NULL, NULL), CL_INVALID_VALUE);
}

/* xmcGetHeapText's answer, asked for as GetInfo functions are */
static char *got(test_env *env, xmc_heap heap, xmc_heap_text what) {
  size_t bytes = 0, again = 0;
  char *text;
  CL_OK(xmcGetHeapText(heap, env->queue, what, 0, NULL, &bytes));
  text = test_alloc(env, bytes + 1);
  memset(text, 'x', bytes + 1);
  assert_int_equal(xmcGetHeapText(heap, NULL, what, bytes - 1, text, &again), CL_INVALID_VALUE);
  assert_int_equal(again, bytes);
  assert_int_equal(text[0], 'x');
  CL_OK(xmcGetHeapText(heap, NULL, what, bytes, text, NULL));
  assert_int_equal(text[bytes], 'x');
  assert_int_equal(strlen(text), bytes - 1);
  return text;
}

static void texts(test_env *env) {
  xmc_heap heap = test_heap(env, 64 << 20), small = test_heap(env, 1 << 20);
  xmcRef *refs = test_alloc(env, BLOCKS * sizeof *refs);
  char *table = got(env, heap, XMC_TEXT_STATS_TABLE);
  size_t bytes;
  assert_non_null(strstr(table, "XMalloc heap, 64 MiB\n"));
  assert_non_null(strstr(table, "  all                               0        0 B\n"));
  assert_non_null(strstr(table, "  invalid frees                     0\n"));
  populate(env, heap, refs);
  CL_OK(xmcMapHeap(heap, NULL));
  CL_OK(xmcHostFree(heap, (char *)xmcHostFromRef(heap, refs[0]) + 1));
  assert_null(xmcHostMalloc(heap, 65 << 20, NULL));
  table = got(env, heap, XMC_TEXT_STATS_TABLE);
  CL_OK(xmcUnmapHeap(heap, NULL));
  assert_non_null(strstr(table, "  all                           2,000 "));
  assert_non_null(strstr(table, "  invalid frees                     1  the first at 0x"));
  assert_non_null(strstr(table, "  failed requests                   1  the first: 65 MiB by work-item "));
  assert_non_null(strstr(table, "; 65 MiB in all\n"));
  assert_null(strchr(table, '\033'));
  CL_OK(xmcMapHeap(small, NULL)); /* a request that no heap can grant is in no sum */
  assert_null(xmcHostMalloc(small, (size_t)1 << 40, NULL));
  CL_OK(xmcUnmapHeap(small, NULL));
  table = got(env, small, XMC_TEXT_STATS_TABLE);
  assert_non_null(strstr(table, "the first: 1 TiB by work-item "));
  assert_null(strstr(table, "in all"));
  assert_string_equal(got(env, heap, XMC_TEXT_STATS_JSON), written(env, heap, xmcWriteHeapStats));
  assert_string_equal(got(env, heap, XMC_TEXT_LEAKS), written(env, heap, xmcReportLeaks));
  assert_string_equal(got(env, heap, XMC_TEXT_MAP_SVG), written(env, heap, xmcWriteHeapMap));
  assert_int_equal(xmcGetHeapText(heap, NULL, 0, 0, NULL, &bytes), CL_INVALID_VALUE);
  assert_int_equal(xmcGetHeapText(NULL, NULL, XMC_TEXT_LEAKS, 0, NULL, &bytes), XMC_INVALID_HEAP);
}

/* The stream for C libraries without open_memstream */
#define XMC_HAS_OPEN_MEMSTREAM 0
#define xmc_memory_stream_open portable_open
#define xmc_memory_stream_close portable_close
#include "inspect/memory_stream.c"

static void portable_stream(test_env *env) {
  xmc_memory_stream stream;
  char *text = test_alloc(env, 20001);
  memset(text, 'y', 20000);
  assert_true(portable_open(&stream));
  assert_true(portable_close(&stream));
  assert_int_equal(stream.bytes, 0);
  assert_string_equal(stream.text, "");
  free(stream.text);
  assert_true(portable_open(&stream));
  fprintf(stream.file, "%s", text);
  fputs("end", stream.file);
  assert_true(portable_close(&stream));
  assert_int_equal(stream.bytes, 20003);
  assert_int_equal(strncmp(stream.text, text, 20000), 0);
  assert_string_equal(stream.text + 20000, "end");
  free(stream.text);
}

/* ---- the map ---- */

/* The cells add up to what the statistics say. */
static void map_adds_up(const xmc_map *map) {
  xmc_u64 live = 0, claimed = 0, groups = 0, runs = 0;
  xmc_u32 i, g;
  for (i = 0; i < map->cells; i++) {
    xmc_u64 here = 0;
    for (g = 0; g < XMC_MAP_GROUPS; g++)
      here += map->cell[i].claimed[g];
    assert_true(map->cell[i].live <= here && here <= map->cell_bytes);
    live += map->cell[i].live;
    claimed += here;
  }
  for (g = 0; g < XMC_MAP_GROUPS; g++)
    groups += map->group_live[g];
  for (i = 0; i < XMC_MAP_RUNS; i++)
    runs += map->run_bytes[i];
  assert_int_equal(groups, map->stats.live_bytes);
  assert_int_equal(runs, map->free_pages_bytes);
  assert_true(map->stats.live_bytes - live <= 2 * (map->cells + map->stats.superblocks)); /* rounding */
  assert_int_equal(claimed + map->free_pages_bytes, map->stats.heap_bytes - map->stats.metadata_bytes);
}

/* Two maps may stand in one page: no ids, and each class and rule is of the maps alone. */
static void is_good_in_a_page(const char *svg) {
  unsigned classes = 0;
  assert_null(strstr(svg, " id="));
  assert_null(strstr(svg, "url("));
  for (const char *at = svg; (at = strstr(at, " class=\"")) != NULL; classes++)
    assert_int_equal(strncmp(at += 8, "xmc-", 4), 0);
  assert_true(classes > 20);
  for (const char *at = strstr(svg, "<style>"), *end = strstr(svg, "</style>");
       (at = strchr(at, '{')) != NULL && at < end;) {
    const char *rule = at++;
    while (rule[-1] != '}' && rule[-1] != '>' && rule[-1] != '\n' && rule[-1] != '{')
      rule--;
    assert_true(strncmp(rule, ".xmc-map ", 9) == 0 || strncmp(rule, "@media", 6) == 0);
  }
  assert_non_null(strstr(svg, "@media(prefers-color-scheme:dark)"));
  assert_non_null(strstr(svg, "<title>free pages: "));
}

static void map(test_env *env) {
  xmc_heap heap = test_heap(env, 64 << 20);
  xmcRef *refs = test_alloc(env, BLOCKS * sizeof *refs);
  xmc_map *m = test_alloc(env, sizeof *m);
  xmcHeap *meta;
  char *svg = written(env, heap, xmcWriteHeapMap), *empty = svg;
  assert_non_null(strstr(svg, "64 MiB: 0 % used"));
  populate(env, heap, refs);
  svg = written(env, heap, xmcWriteHeapMap);
  assert_int_equal(strncmp(svg, "<svg ", 5), 0);
  assert_string_equal(svg + strlen(svg) - 7, "</svg>\n");
  assert_non_null(strstr(svg, "2,000 live blocks"));
  is_good_in_a_page(svg);
  assert_true(strlen(svg) > strlen(empty) && strlen(svg) < 60000);
  CL_OK(xmc_walk_open(heap, NULL, &meta, NULL));
  env->blocks[env->block_count++] = meta;
  xmc_map_meta(meta, m);
  map_adds_up(m);
  assert_int_equal(m->stats.live_blocks, 2000);
}

/* A heap too large to hold: its metadata only, every kind of use in turn, as colourful as can be. */
static void large_map(test_env *env) {
  xmc_map *m = test_alloc(env, sizeof *m);
  xmc_u64 bytes = (xmc_u64)test_scaled(env, 1, 2, 32) << 30;
  xmc_layout_request request = {64, 64, 0, 0, XMC_COALESCE_CLASS, 0, 0, 0, 0, 0};
  xmcHeap header, *meta;
  xmc_u32 page, n;
  char *svg;
  size_t size = 0;
  FILE *f;
  assert_int_equal(xmc_layout(&header, bytes, &request), 1);
  meta = test_alloc(env, (size_t)header.data);
  *meta = header;
  xmc_init_part(meta, 0, 1);
  for (page = 0; page + 600 < meta->pages; page += n) {
    n = 1 + (xmc_u32)(test_hash(page) % (page / 10000 % 2 ? 500 : 3));
    if (test_hash(page) >> 60 < 4)
      continue; /* free */
    for (xmc_u32 i = 0; i < n; i++)
      *xmc_span_word(meta, (page + i) / 64) &= ~((xmc_u64)1 << (page + i) % 64);
    xmc_memoryblock_start(meta, page, n);
  }
  xmc_map_meta(meta, m);
  map_adds_up(m);
  assert_true(m->cells <= XMC_MAP_CELLS && m->cells > XMC_MAP_CELLS / 2 - 64);
  f = open_memstream(&svg, &size);
  assert_non_null(f);
  xmc_map_svg(m, f);
  fclose(f);
  assert_true(size >= 2000 && size <= 60000);
  free(svg);
}

/* ---- the tool ---- */

/* Output of xmc-heap; its exit status must be `expected`. */
static char *tool(test_env *env, const char *command, const char *path, int expected) {
  char line[512], *text = test_alloc(env, 1 << 20);
  FILE *pipe;
  int status;
  snprintf(line, sizeof line, "%sxmc-heap %s %s 2>&1", XMC_TEST_TOOLS, command, path);
  pipe = popen(line, "r");
  assert_non_null(pipe);
  text[fread(text, 1, (1 << 20) - 1, pipe)] = '\0';
  status = pclose(pipe);
  if (status != expected << 8)
    fail_msg("%s: status %d, %s", line, status, text);
  return text;
}

/* The heap is no output of its own, whatever its name is there. */
static void keeps_its_input(test_env *env, const char *path) {
  char other[64], line[160];
  const char *names[] = {path, other};
  snprintf(other, sizeof other, "%s.link", path);
  assert_int_equal(symlink(path, other), 0);
  for (unsigned i = 0; i < 2; i++) {
    snprintf(line, sizeof line, "%s %s", path, names[i]);
    assert_non_null(strstr(tool(env, "map", line, 1), "is the heap itself"));
  }
  remove(other);
  assert_string_equal(tool(env, "check", path, 0), "intact: 2,000 live blocks\n");
}

static void tools(test_env *env) {
  xmc_heap heap = test_heap(env, 64 << 20);
  xmcRef *refs = test_alloc(env, BLOCKS * sizeof *refs);
  char path[] = "/tmp/xmc-test-XXXXXX", line[64], *text;
  unsigned lines = 0;
  FILE *f;
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  populate(env, heap, refs);
  CL_OK(xmcSaveHeap(heap, NULL, path));
  assert_string_equal(tool(env, "info", path, 0), got(env, heap, XMC_TEXT_STATS_TABLE));
  assert_string_equal(tool(env, "check", path, 0), "intact: 2,000 live blocks\n");
  assert_string_equal(tool(env, "stats", path, 0), written(env, heap, xmcWriteHeapStats));
  assert_string_equal(tool(env, "leaks", path, 0), written(env, heap, xmcReportLeaks));
  assert_string_equal(tool(env, "map", path, 0), written(env, heap, xmcWriteHeapMap));
  text = tool(env, "blocks", path, 0);
  snprintf(line, sizeof line, "0x%llx ", (unsigned long long)refs[0]);
  assert_int_equal(strncmp(text, line, strlen(line)), 0);
  for (; *text; text++)
    lines += *text == '\n';
  assert_int_equal(lines, 2000);
  assert_non_null(strstr(tool(env, "nonsense", path, 2), "usage"));
  assert_string_equal(tool(env, "info", "/nowhere/heap", 1),
                      "xmc-heap: cannot open /nowhere/heap: No such file or directory\n");
  snprintf(line, sizeof line, "%s /nowhere/output", path);
  assert_string_equal(tool(env, "info", line, 1),
                      "xmc-heap: cannot open /nowhere/output: No such file or directory\n");
  keeps_its_input(env, path);
  assert_string_equal(tool(env, "info", "/", 1), "xmc-heap: cannot read /: Is a directory\n");
  if (access("/dev/full", W_OK) == 0) {
    snprintf(line, sizeof line, "%s /dev/full", path);
    assert_string_equal(tool(env, "map", line, 1),
                        "xmc-heap: cannot write /dev/full: No space left on device\n");
  }
  assert_non_null(strstr(tool(env, "--help", "", 0), "usage"));
  assert_non_null(strstr(tool(env, "-h", "", 0), "usage"));
  f = fopen(path, "r+b");
  assert_non_null(f);
  fseek(f, 5000, SEEK_SET);
  fputc(~fgetc(f) & 0xff, f);
  fclose(f);
  assert_int_equal(truncate(path, 6000), 0);
  assert_non_null(strstr(tool(env, "check", path, 1), "XMC_FILE_"));
  remove(path);
  assert_non_null(strstr(tool(env, "check", path, 1), "No such file"));
}

int main(int argc, char **argv) {
  static const test_case cases[] = {TEST(blocks, SPREAD_AXES), TEST(reports, SPREAD_ONE),
                                    TEST(texts, SPREAD_AXES),  TEST(portable_stream, SPREAD_ONE),
                                    TEST(map, SPREAD_AXES),    TEST(large_map, SPREAD_ONE),
                                    TEST(tools, SPREAD_ONE)};
  return test_main("inspect", cases, sizeof cases / sizeof *cases, argc, argv);
}
