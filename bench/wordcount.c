/* SPDX-License-Identifier: MIT */
/* xmc-wordcount: the words of a text, counted by kernels in a table of xmcMalloc'ed nodes and strings, and
 * compared with a count made on the host. */
#include "bench.h"
#include "wordcount.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS, DISTINCT, BYTES, LOST, FAILED, COUNTERS }; /* as in kernels/wordcount.cl */
enum { SEGMENT = 64 };                                   /* bytes a work-item looks for word starts in */

static const char usage[] =
    "usage: xmc-wordcount [--text FILE] [--device SUBSTRING] [--heap BYTES] [--chunk BYTES] [--trace FILE]\n"
    "Counts the words of a text with kernels that xmcMalloc their hash table, shows the ten most frequent,\n"
    "and compares every word with a count made on the host. Words are runs of ASCII letters, digits,\n"
    "apostrophes and bytes from 0x80, in lower case. Exit status 0: the counts agree.\n"
    "\n"
    "  --text FILE         default /usr/share/common-licenses/GPL-3\n"
    "  --device SUBSTRING  device or platform whose name holds this; default the first GPU, else the first\n"
    "  --heap BYTES        (K, M, G may follow) default by the text's size, twice as much if that is too "
    "small\n"
    "  --chunk BYTES       of text for one kernel, default 16M\n"
    "  --trace FILE        records each allocation and free in a quarter of the heap, and saves the heap, "
    "for\n"
    "                      xmc-heap trace, top and map: to FILE with the table, and to FILE.end when that is "
    "freed\n";

/* One word of the table, as wc_collect writes it. */
typedef struct entry {
  cl_ulong count, at, length;
} entry;

typedef struct count {
  bench b;
  wc_text text;
  const char *path;
  size_t chunk, buckets;
  xmc_heap heap;
  cl_kernel add, collect, release;
  cl_mem heads, input, counters;
  size_t input_bytes;
  cl_ulong counts[COUNTERS];
  double device_ms, host_ms, seconds;
  wc_table host;
  entry *entries;
  unsigned char *words;
} count;

static int parse(count *c, int argc, char **argv) {
  for (int i = 1; i < argc; i += 2) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    int bad = 0;
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      fputs(usage, stdout);
      return 1;
    }
    if (strcmp(argv[i], "--version") == 0) {
      printf("xmc-wordcount %d.%d.%d\n", XMC_VERSION_MAJOR, XMC_VERSION_MINOR, XMC_VERSION_PATCH);
      return 1;
    }
    if (strcmp(argv[i], "--text") == 0)
      c->path = value;
    else if (strcmp(argv[i], "--device") == 0)
      c->b.options.device = value;
    else if (strcmp(argv[i], "--heap") == 0)
      bad = value && bench_parse_bytes(value, &c->b.options.heap);
    else if (strcmp(argv[i], "--trace") == 0)
      c->b.options.trace_path = value;
    else if (strcmp(argv[i], "--chunk") == 0)
      bad = value && (bench_parse_bytes(value, &c->chunk) || c->chunk > (size_t)1 << 30);
    else {
      fprintf(stderr, "xmc-wordcount: unknown argument `%s`; see --help\n", argv[i]);
      return 2;
    }
    if (value == NULL || bad) {
      fprintf(stderr, "xmc-wordcount: %s wants %s\n", argv[i],
              bad ? "a number of bytes, such as 16M" : "a value");
      return 2;
    }
  }
  return 0;
}

static void progress(const count *c, uint64_t done, int *tenths) {
  int now = c->text.bytes ? (int)(10 * done / c->text.bytes) : 10;
  if (c->text.bytes < 4 * (uint64_t)c->chunk || (now == *tenths && !isatty(2)))
    return;
  *tenths = now;
  fprintf(stderr, isatty(2) ? "\r%.0f of %.0f MB " : "%.0f of %.0f MB\n", 1e-6 * (double)done,
          1e-6 * (double)c->text.bytes);
  if (done == c->text.bytes && isatty(2))
    fprintf(stderr, "\r%40s\r", "");
}

/* A 16 MiB text needs some 30,000 words, but a text of words that all differ needs 32 bytes for each byte. */
static size_t heap_bytes(const count *c) {
  size_t bytes = (size_t)64 << 20;
  if (c->b.options.heap)
    return c->b.options.heap;
  while (bytes < 2 * c->text.bytes && bytes <= c->b.max_alloc / 2)
    bytes *= 2;
  return bytes;
}

static int zero_fill(count *c, cl_mem memory, size_t bytes) {
  int status = 0;
  cl_uint zero = 0;
  BENCH_CL(clEnqueueFillBuffer(c->b.queue, memory, &zero, sizeof zero, 0, bytes, 0, NULL, NULL));
cleanup:
  return status;
}

static int make_heap(count *c, size_t bytes) {
  int status = 0;
  cl_int error;
  if (c->heap)
    xmcReleaseHeap(c->heap);
  c->b.options.trace = c->b.options.trace_path ? bytes / 2 : 0;
  c->heap = bench_heap_open(&c->b, bytes, -1, -2);
  if (c->heap == NULL)
    return 1;
  if (c->add == NULL) {
    c->add = bench_kernel(&c->b, c->heap, "wordcount.cl", "wc_count", 0);
    c->collect = bench_kernel(&c->b, c->heap, "wordcount.cl", "wc_collect", 0);
    c->release = bench_kernel(&c->b, c->heap, "wordcount.cl", "wc_free", 0);
    if (!c->add || !c->collect || !c->release)
      return 1;
    for (c->buckets = 1 << 12; c->buckets < c->text.bytes / 16 && c->buckets < 1 << 23;)
      c->buckets *= 2;
    c->heads = clCreateBuffer(c->b.context, CL_MEM_READ_WRITE, c->buckets * sizeof(cl_ulong), NULL, &error);
    BENCH_CL(error);
    c->counters = clCreateBuffer(c->b.context, CL_MEM_READ_WRITE, sizeof c->counts, NULL, &error);
    BENCH_CL(error);
  }
  BENCH_TRY(zero_fill(c, c->heads, c->buckets * sizeof(cl_ulong)));
  BENCH_TRY(zero_fill(c, c->counters, sizeof c->counts));
cleanup:
  return status;
}

static int count_piece(count *c) {
  int status = 0;
  double ms;
  cl_int error;
  size_t items = (c->text.length + SEGMENT - 1) / SEGMENT;
  if (c->input_bytes < c->text.room) {
    if (c->input)
      clReleaseMemObject(c->input);
    c->input = clCreateBuffer(c->b.context, CL_MEM_READ_ONLY, c->text.room, NULL, &error);
    BENCH_CL(error);
    c->input_bytes = c->text.room;
  }
  BENCH_CL(
      clEnqueueWriteBuffer(c->b.queue, c->input, CL_TRUE, 0, c->text.length, c->text.buffer, 0, NULL, NULL));
  BENCH_TRY(bench_arguments(c->add, "hmumuum", c->heap, c->heads, (cl_uint)(c->buckets - 1), c->input,
                            (cl_uint)c->text.length, (cl_uint)SEGMENT, c->counters));
  items = (items / BENCH_LOCAL_SIZE + 1) * BENCH_LOCAL_SIZE;
  BENCH_TRY(bench_launch(&c->b, c->add, items, &ms));
  c->device_ms += ms;
cleanup:
  return status;
}

/* The whole text, by the device, and the first time by the host as well. */
static int count_text(count *c) {
  int status = 0, tenths = 0;
  uint64_t done = 0;
  int again = c->host.words > 0;
  wc_text_rewind(&c->text);
  c->device_ms = 0;
  for (;;) {
    double start;
    BENCH_TRY(wc_text_next(&c->text));
    if (c->text.length == 0)
      break;
    BENCH_TRY(count_piece(c));
    start = bench_seconds();
    if (!again && wc_table_count(&c->host, c->text.buffer, c->text.length)) {
      fprintf(stderr, "xmc-wordcount: no memory for the host's table\n");
      return 1;
    }
    c->host_ms += 1e3 * (bench_seconds() - start);
    done += c->text.length;
    progress(c, done, &tenths);
  }
  BENCH_CL(
      clEnqueueReadBuffer(c->b.queue, c->counters, CL_TRUE, 0, sizeof c->counts, c->counts, 0, NULL, NULL));
cleanup:
  return status;
}

static int collect(count *c) {
  int status = 0;
  size_t distinct = c->counts[DISTINCT], bytes = c->counts[BYTES];
  cl_mem entries = NULL, words = NULL;
  cl_int error;
  c->entries = malloc((distinct + 1) * sizeof *c->entries);
  c->words = malloc(bytes + 1);
  if (c->entries == NULL || c->words == NULL)
    return 1;
  if (distinct == 0)
    return 0;
  entries = clCreateBuffer(c->b.context, CL_MEM_READ_WRITE, distinct * sizeof *c->entries, NULL, &error);
  BENCH_CL(error);
  words = clCreateBuffer(c->b.context, CL_MEM_READ_WRITE, bytes, NULL, &error);
  BENCH_CL(error);
  BENCH_TRY(zero_fill(c, c->counters, sizeof c->counts));
  BENCH_TRY(bench_arguments(c->collect, "hmmmm", c->heap, c->heads, entries, words, c->counters));
  BENCH_TRY(bench_launch(&c->b, c->collect, c->buckets, NULL));
  BENCH_CL(clEnqueueReadBuffer(c->b.queue, entries, CL_TRUE, 0, distinct * sizeof *c->entries, c->entries, 0,
                               NULL, NULL));
  BENCH_CL(clEnqueueReadBuffer(c->b.queue, words, CL_TRUE, 0, bytes, c->words, 0, NULL, NULL));
cleanup:
  if (entries)
    clReleaseMemObject(entries);
  if (words)
    clReleaseMemObject(words);
  return status;
}

static const unsigned char *sort_words;
static int by_count(const void *x, const void *y) {
  const entry *a = x, *b = y;
  size_t shorter = a->length < b->length ? a->length : b->length;
  int order = memcmp(sort_words + a->at, sort_words + b->at, shorter);
  if (a->count != b->count)
    return a->count < b->count ? 1 : -1;
  return order ? order : (a->length > b->length) - (a->length < b->length);
}

static void print_top(count *c) {
  enum { SHOWN = 40 }; /* bytes of a word */
  size_t distinct = c->counts[DISTINCT];
  sort_words = c->words;
  qsort(c->entries, distinct, sizeof *c->entries, by_count);
  for (size_t i = 0; i < 10 && i < distinct; i++) {
    const entry *e = &c->entries[i];
    printf("%12lu  %.*s%s\n", (unsigned long)e->count, (int)(e->length < SHOWN ? e->length : SHOWN),
           c->words + e->at, e->length > SHOWN ? "..." : "");
  }
}

static int compare(const count *c) {
  unsigned long wrong = 0;
  for (size_t i = 0; i < c->counts[DISTINCT]; i++) {
    const entry *e = &c->entries[i];
    uint64_t expected = wc_table_find(&c->host, c->words + e->at, e->length);
    if (expected != e->count && wrong++ < 5)
      fprintf(stderr, "%.*s: device %lu, host %lu\n", (int)(e->length < 80 ? e->length : 80),
              c->words + e->at, (unsigned long)e->count, (unsigned long)expected);
  }
  if (wrong || c->counts[DISTINCT] != c->host.used || c->counts[WORDS] != c->host.words) {
    printf("DIFFERENT from the host's count: %lu words in all and %zu different; %lu differ\n",
           (unsigned long)c->host.words, c->host.used, wrong);
    return 1;
  }
  printf("same as the host's count, word for word\n");
  return 0;
}

static int print_stats(count *c, const char *when) {
  int status = 0;
  xmc_heap_stats s = {0};
  BENCH_CL(xmcGetHeapStats(c->heap, c->b.queue, &s));
  printf("%s: %lu blocks live in %lu bytes, %lu bytes free, the largest run %lu, %lu failed requests, "
         "%lu bad frees\n",
         when, (unsigned long)s.live_blocks, (unsigned long)s.live_bytes, (unsigned long)s.free_bytes,
         (unsigned long)s.largest_free_bytes, (unsigned long)s.failed_requests,
         (unsigned long)(s.double_frees + s.invalid_frees));
  status = s.double_frees || s.invalid_frees;
cleanup:
  return status;
}

/* Launches that find an empty table: the first one may compile, and what is drawn is to show no such gap. */
static int warm_up(count *c) {
  int status = 0;
  if (!c->b.options.trace_path)
    return 0;
  BENCH_TRY(bench_arguments(c->collect, "hmmmm", c->heap, c->heads, c->counters, c->counters, c->counters));
  BENCH_TRY(bench_launch(&c->b, c->collect, c->buckets, NULL));
  BENCH_TRY(bench_arguments(c->release, "hm", c->heap, c->heads));
  BENCH_TRY(bench_launch(&c->b, c->release, c->buckets, NULL));
cleanup:
  return status;
}

static int run(count *c) {
  int status = 0;
  size_t bytes = heap_bytes(c);
  for (;;) {
    double start;
    BENCH_TRY(make_heap(c, bytes));
    BENCH_TRY(count_piece(c)); /* of nothing: the first launch may compile */
    BENCH_TRY(warm_up(c));
    start = bench_seconds();
    BENCH_TRY(count_text(c));
    c->seconds = bench_seconds() - start;
    if (c->counts[FAILED] == 0 || c->b.options.heap || 2 * bytes > c->b.max_alloc)
      break;
    bytes *= 2;
    fprintf(stderr, "xmc-wordcount: the heap was too small for the words; again with %zu MiB\n", bytes >> 20);
  }
  printf("%s, %.2f MB, on %s (%s)\n", c->path, 1e-6 * (double)c->text.bytes, c->b.device_name,
         c->b.platform_name);
  printf("%lu words, %lu different; %lu inserts came too late and freed their node again\n",
         (unsigned long)c->counts[WORDS], (unsigned long)c->counts[DISTINCT], (unsigned long)c->counts[LOST]);
  BENCH_TRY(collect(c));
  print_top(c);
  printf("heap of %zu MiB\n", bytes >> 20);
  BENCH_TRY(print_stats(c, "  after counting"));
  BENCH_TRY(bench_save_trace(&c->b, c->heap, ""));
  printf("time: kernels %.3f ms, host's count %.3f ms, with reading and copying %.3f s", c->device_ms,
         c->host_ms, c->seconds);
  if (c->device_ms > 0)
    printf("; kernels' speed %.0f MB/s", 1e-3 * (double)c->text.bytes / c->device_ms);
  printf("\n");
  if (c->counts[FAILED]) {
    printf("%lu words found no room in the heap: --heap gives it more\n", (unsigned long)c->counts[FAILED]);
    status = 1;
  }
  status |= compare(c);
  if (bench_arguments(c->release, "hm", c->heap, c->heads) ||
      bench_launch(&c->b, c->release, c->buckets, NULL) || print_stats(c, "  after freeing the table") ||
      bench_save_trace(&c->b, c->heap, ".end"))
    status = 1;
cleanup:
  return status;
}

int main(int argc, char **argv) {
  static count c = {.path = "/usr/share/common-licenses/GPL-3",
                    .chunk = (size_t)16 << 20,
                    .b.options = {.coalescing = XMC_COALESCE_CLASS,
                                  .fifos = XMC_FIFOS_DEFAULT,
                                  .backing = XMC_BACKING_BUFFER}};
  cl_kernel *kernels[] = {&c.add, &c.collect, &c.release};
  cl_mem *memory[] = {&c.heads, &c.input, &c.counters};
  int status = parse(&c, argc, argv);
  if (status)
    return status == 1 ? 0 : 2;
  status = 1;
  if (bench_open(&c.b) == 0 && wc_text_open(&c.text, c.path, c.chunk) == 0) {
    status = run(&c);
    status |= bench_heap_close(&c.b, c.heap) || c.b.corrupt;
  }
  for (int i = 0; i < 3; i++) {
    if (*kernels[i])
      clReleaseKernel(*kernels[i]);
    if (*memory[i])
      clReleaseMemObject(*memory[i]);
  }
  wc_text_close(&c.text);
  wc_table_close(&c.host);
  free(c.entries);
  free(c.words);
  bench_close(&c.b);
  return status;
}
