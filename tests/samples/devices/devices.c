/* SPDX-License-Identifier: MIT */
/* A word count over several devices. Each counts a part of the text in a table in a heap of its own; then the heaps move to the
 * first device, whose kernels merge the tables. A reference means something in its own heap only, so each table keeps its heap.
 *
 *   device 0   text, part 0 -> heap 0 ------------------------------------> merged table -> the host compares it with its own count
 *   device 1   text, part 1 -> heap 1 -> file -> heap 1 on device 0 -> merge ---^
 *   …
 */
#include "sample.h"
#include "devices.cl.h"

enum { CHAINS = 1 << 12, SHARE = 64, WORDS = 200000, MOST = 16 };

typedef struct node {
  xmcRef next;
  cl_uint count, length;
} node;

/* A part of the work: a device, its heap with the table, and its part of the text */
typedef struct part {
  sample s;
  cl_mem heads, text;
  cl_uint bytes;
} part;

/* ---- the text ---- */

static cl_uint some_number(cl_uint x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

/* A text of invented words, the short ones more often, and some of them in capitals */
static char *invented_text(void) {
  char *text = malloc(WORDS * 12 + 1), *at = text;
  cl_uint i;
  for (i = 0; text && i < WORDS; i++) {
    cl_uint number = some_number(2 * i + 1) % (1 + some_number(2 * i + 2) % 20000);
    do
      *at++ = (char)((i % 7 ? 'a' : 'A') + number % 26);
    while ((number /= 26) > 0);
    *at++ = i % 12 == 11 ? '\n' : ' ';
  }
  if (text)
    *at = '\0';
  return text;
}

static int is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* ---- the host's own count: the words of the text in order ---- */

typedef struct word {
  const char *at;
  size_t length;
} word;

static int compare_words(const void *a, const void *b) {
  const word *x = a, *y = b;
  size_t length = x->length < y->length ? x->length : y->length;
  int c = memcmp(x->at, y->at, length);
  return c ? c : (x->length > y->length) - (x->length < y->length);
}

/* Makes the text's letters lower case, and returns its words, sorted; their number in *count. */
static word *sorted_words(char *text, size_t *count) {
  size_t room = strlen(text) / 2 + 1;
  word *words = calloc(room, sizeof *words);
  *count = 0;
  while (words && *text) {
    char *begin = text;
    for (; is_letter(*text); text++)
      *text |= 0x20;
    if (text > begin)
      words[(*count)++] = (word){begin, (size_t)(text - begin)};
    else
      text++;
  }
  if (words)
    qsort(words, *count, sizeof *words, compare_words);
  return words;
}

/* How often a word stands among the sorted words: 0 if it does not */
static size_t count_of(const word *words, size_t count, word wanted) {
  const word *at = bsearch(&wanted, words, count, sizeof *words, compare_words), *first = at, *last = at;
  if (!at)
    return 0;
  while (first > words && !compare_words(first - 1, at))
    first--;
  while (last + 1 < words + count && !compare_words(last + 1, at))
    last++;
  return (size_t)(last - first) + 1;
}

/* Compares the table of a part, as the host sees it, with the words. Returns the number of differences. */
static cl_uint compare(part *p, const word *words, size_t count, cl_uint *different) {
  xmcRef *heads = malloc(CHAINS * sizeof *heads);
  cl_uint wrong = 0, i;
  size_t total = 0;
  sample_read(&p->s, p->heads, heads, CHAINS * sizeof *heads);
  CHECK(xmcMapHeap(p->s.heap, p->s.queue));
  for (i = 0, *different = 0; i < CHAINS; i++) {
    const node *n = xmcHostFromRef(p->s.heap, heads[i]);
    for (; n; n = xmcHostFromRef(p->s.heap, n->next)) {
      word w = {(const char *)(n + 1), n->length};
      ++*different;
      wrong += count_of(words, count, w) != n->count;
      total += n->count;
    }
  }
  CHECK(xmcUnmapHeap(p->s.heap, p->s.queue));
  free(heads);
  return wrong + (total != count);
}

/* ---- the devices ---- */

/* All OpenCL devices whose name or platform's name contains `wanted`, one context for each platform's. Returns how many. */
static cl_uint find_devices(const char *wanted, cl_device_id *devices, cl_context *contexts) {
  cl_platform_id platforms[MOST];
  cl_uint platform_count = 0, count = 0, p, i;
  CHECK(clGetPlatformIDs(MOST, platforms, &platform_count));
  for (p = 0; p < platform_count && p < MOST; p++) {
    cl_device_id of_platform[MOST];
    cl_uint n = 0, first = count;
    char name[256] = "", platform[256] = "";
    cl_context context;
    cl_int e;
    clGetPlatformInfo(platforms[p], CL_PLATFORM_NAME, sizeof platform - 1, platform, NULL);
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MOST, of_platform, &n) != CL_SUCCESS)
      continue;
    for (i = 0; i < n && i < MOST && count < MOST; i++) {
      clGetDeviceInfo(of_platform[i], CL_DEVICE_NAME, sizeof name - 1, name, NULL);
      if (!wanted || strstr(name, wanted) || strstr(platform, wanted))
        devices[count++] = of_platform[i];
    }
    if (count == first)
      continue;
    context = clCreateContext(NULL, count - first, devices + first, NULL, NULL, &e);
    CHECK(e);
    for (i = first; i < count; i++)
      contexts[i] = context;
  }
  return count;
}

static void open_part(part *p, cl_context context, cl_device_id device, double mib, const char *text,
                      size_t bytes) {
  cl_int e;
  p->s = (sample){.context = context, .device = device};
  p->s.queue = clCreateCommandQueue(context, device, 0, &e);
  CHECK(e);
  p->s.heap = xmcCreateHeap(context, device, NULL, (size_t)(mib * (1 << 20)), &e);
  CHECK(e);
  sample_build(&p->s, devices_cl);
  p->heads = sample_buffer(&p->s, CHAINS * sizeof(xmcRef), NULL);
  p->bytes = (cl_uint)bytes;
  p->text = sample_buffer(&p->s, bytes + 1, text);
}

static void close_part(part *p) {
  clReleaseMemObject(p->heads);
  clReleaseMemObject(p->text);
  clReleaseProgram(p->s.program);
  CHECK(xmcReleaseHeap(p->s.heap));
  clReleaseCommandQueue(p->s.queue);
}

/* Starts a part's count and does not wait for it. */
static void start(part *p) {
  cl_int e;
  cl_kernel kernel = clCreateKernel(p->s.program, "count_words", &e);
  cl_uint mask = CHAINS - 1, share = SHARE;
  size_t local = 64, global = (p->bytes / SHARE + local) / local * local;
  CHECK(e);
  CHECK(xmcSetKernelArgHeap(kernel, 0, p->s.heap));
  CHECK(clSetKernelArg(kernel, 1, sizeof p->heads, &p->heads));
  CHECK(clSetKernelArg(kernel, 2, sizeof mask, &mask));
  CHECK(clSetKernelArg(kernel, 3, sizeof p->text, &p->text));
  CHECK(clSetKernelArg(kernel, 4, sizeof p->bytes, &p->bytes));
  CHECK(clSetKernelArg(kernel, 5, sizeof share, &share));
  CHECK(clEnqueueNDRangeKernel(p->s.queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
  CHECK(clFlush(p->s.queue));
  clReleaseKernel(kernel);
}

/* Moves the heap of a part to the device of `to`, and adds its table to the one there. */
static void merge(part *to, part *from) {
  const char *folder = getenv("TMPDIR");
  char path[512];
  xmcRef *heads = malloc(CHAINS * sizeof *heads);
  cl_int e;
  cl_kernel kernel = clCreateKernel(to->s.program, "merge", &e);
  cl_uint mask = CHAINS - 1;
  size_t local = 64, global = CHAINS;
  xmc_heap moved;
  cl_mem moved_heads;
  CHECK(e);
  snprintf(path, sizeof path, "%s/xmalloc-devices-%p.heap", folder ? folder : "/tmp", (void *)from->s.heap);
  sample_read(&from->s, from->heads, heads, CHAINS * sizeof *heads);
  CHECK(xmcSaveHeap(from->s.heap, from->s.queue, path));
  moved = xmcLoadHeap(to->s.context, to->s.device, NULL, path, &e);
  remove(path);
  CHECK(e);
  moved_heads = sample_buffer(&to->s, CHAINS * sizeof *heads, heads);
  CHECK(xmcSetKernelArgHeap(kernel, 0, to->s.heap));
  CHECK(clSetKernelArg(kernel, 1, sizeof to->heads, &to->heads));
  CHECK(clSetKernelArg(kernel, 2, sizeof mask, &mask));
  CHECK(xmcSetKernelArgHeap(kernel, 3, moved));
  CHECK(clSetKernelArg(kernel, 4, sizeof moved_heads, &moved_heads));
  CHECK(clEnqueueNDRangeKernel(to->s.queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
  CHECK(clFinish(to->s.queue));
  sample_check_room(&to->s, "merge");
  clReleaseMemObject(moved_heads);
  CHECK(xmcReleaseHeap(moved));
  clReleaseKernel(kernel);
  free(heads);
}

static int run(const char *wanted, const char *path, double mib, cl_uint parts) {
  cl_device_id devices[MOST];
  cl_context contexts[MOST];
  cl_uint count = find_devices(wanted, devices, contexts), i, wrong = 0, different;
  char *text = path ? sample_file(path) : invented_text();
  size_t bytes = text ? strlen(text) : 0, begin = 0, end, word_count;
  word *words;
  part part[MOST];
  if (!count || !text) {
    fprintf(stderr, count ? "no memory\n" : "no such OpenCL device\n");
    return 1;
  }
  if (!parts)
    parts = count > 1 ? count : 2; /* a device that is alone gets two, in two heaps */
  parts = parts < MOST ? parts : MOST;
  for (i = 0; i < parts; i++, begin = end) {
    char name[256] = "";
    end = bytes * (i + 1) / parts;
    while (end > begin && end < bytes && is_letter(text[end]))
      end++;
    open_part(&part[i], contexts[i % count], devices[i % count], mib, text + begin, end - begin);
    clGetDeviceInfo(devices[i % count], CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    fprintf(stderr, "%s: %zu bytes\n", name, end - begin);
  }
  for (i = 0; i < parts; i++)
    start(&part[i]);
  for (i = 0; i < parts; i++) {
    CHECK(clFinish(part[i].s.queue));
    sample_check_room(&part[i].s, "count_words");
  }
  for (i = 1; i < parts; i++)
    merge(&part[0], &part[i]);
  words = sorted_words(text, &word_count);
  wrong = compare(&part[0], words, word_count, &different);
  wrong += (cl_uint)sample_heap_differs(&part[0].s, different);
  printf("%zu words, %u different, %u wrong; counted in %u heaps\n", word_count, different, wrong, parts);
  for (i = 0; i < parts; i++)
    close_part(&part[i]);
  for (i = 0; i < count; i++)
    if (i == 0 || contexts[i] != contexts[i - 1])
      clReleaseContext(contexts[i]);
  free(words);
  free(text);
  return wrong != 0;
}

int main(int argc, char **argv) {
  const char *wanted = getenv("XMC_TEST_DEVICE"), *path = NULL;
  double mib = 16;
  cl_uint parts = 0;
  int i;
  for (i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
      printf("sample_devices [--device TEXT] [--heap MIB] [--parts N] [--text FILE]\n"
             "Counts words on all OpenCL devices, and merges their tables on the first one.\n"
             "  --device TEXT  only devices whose name or platform's name contains TEXT\n"
             "  --heap MIB     the size of each heap; default %g\n"
             "  --parts N      parts of the text, at most %d, which the devices take in turn; default: one "
             "for each device, but two\n"
             "  --text FILE    the text; default: %d invented words\n",
             mib, MOST, WORDS);
      return 0;
    }
    if (!strcmp(argv[i], "--version")) {
      printf("a sample of XMalloc %d.%d.%d\n", XMC_VERSION_MAJOR, XMC_VERSION_MINOR, XMC_VERSION_PATCH);
      return 0;
    }
    if (i + 1 == argc) {
      fprintf(stderr, "sample_devices: %s? --help says what there is\n", argv[i]);
      return 2;
    }
    if (!strcmp(argv[i], "--device"))
      wanted = argv[++i];
    else if (!strcmp(argv[i], "--heap"))
      mib = atof(argv[++i]);
    else if (!strcmp(argv[i], "--parts"))
      parts = (cl_uint)atoi(argv[++i]);
    else if (!strcmp(argv[i], "--text"))
      path = argv[++i];
  }
  return run(wanted && *wanted ? wanted : NULL, path, mib, parts);
}
