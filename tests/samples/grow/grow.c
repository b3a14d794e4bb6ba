/* SPDX-License-Identifier: MIT */
/* A heap that grows. Each work-item asks for as much as its result takes, which it knows only then. What finds no room is
 * counted; the heap grows by that, and the launch is repeated for the work-items that have no result yet. */
#include "sample.h"
#include "grow.cl.h"

enum { COUNT = 8000 };

/* Work-items that have a result */
static cl_uint done(sample *s, cl_mem periods, cl_ulong2 *copy) {
  cl_uint i, n = 0;
  sample_read(s, periods, copy, COUNT * sizeof *copy);
  for (i = 0; i < COUNT; i++)
    n += copy[i].x != 0;
  return n;
}

/* A line that is written over by the next one where a terminal shows it */
static void show_progress(unsigned launch, cl_uint finished, const xmc_heap_stats *stats) {
  char bar[21] = "....................";
  memset(bar, '#', (size_t)(20u * finished / COUNT));
  fprintf(stderr, "%s[%s] launch %u: %u of %u, heap %.0f MiB ", launch == 1 ? "\n" : "\r", bar, launch,
          finished, (cl_uint)COUNT, (double)stats->heap_bytes / (1 << 20));
}

/* Repeats the launch until nothing is refused. Returns the number of launches. */
static unsigned expand_all(sample *s, cl_mem periods, cl_ulong2 *copy) {
  cl_ulong refused_before = 0;
  xmc_heap_properties most;
  xmc_heap_stats stats;
  unsigned launch = 0;
  CHECK(xmcGetHeapInfo(s->heap, XMC_HEAP_MAX_BYTES, sizeof most, &most, NULL));
  for (;;) {
    cl_uint finished;
    cl_ulong bytes;
    sample_try(s, "expand", COUNT, "mu", periods, (cl_uint)COUNT);
    finished = done(s, periods, copy);
    CHECK(xmcGetHeapStats(s->heap, s->queue, &stats));
    show_progress(++launch, finished, &stats);
    if (finished == COUNT)
      break;
    /* What was refused now and a quarter more for what rounding takes, or an eighth of the heap, because small requests take more than
     * they ask for; as much as there may be at most */
    bytes = (stats.failed_bytes - refused_before) / 4 * 5;
    bytes = stats.heap_bytes + (bytes > stats.heap_bytes / 8 ? bytes : stats.heap_bytes / 8);
    bytes = bytes < (cl_ulong)most ? bytes : (cl_ulong)most;
    if (bytes == stats.heap_bytes)
      sample_check_room(s, "expand");
    refused_before = stats.failed_bytes;
    CHECK(xmcGrowHeap(s->heap, s->queue, (size_t)bytes));
  }
  fprintf(stderr, "\n");
  CHECK(xmcCheckHeap(s->heap, s->queue, NULL));
  return launch;
}

/* The host's own period of 1 / n: its length, and the sum of its digits. After n digits it has begun. */
static cl_ulong2 expected(cl_uint n) {
  cl_ulong2 result = {{0, 0}};
  cl_uint remainder = 1 % n, first, i;
  for (i = 0; i < n; i++)
    remainder = remainder * 10 % n;
  first = remainder;
  do {
    result.y += remainder * 10 / n;
    result.x++;
    remainder = remainder * 10 % n;
  } while (remainder != first);
  return result;
}

static int run(sample *s) {
  cl_ulong2 *out = calloc(COUNT, sizeof *out);
  cl_mem periods = sample_buffer(s, COUNT * sizeof *out, NULL),
         buffer = sample_buffer(s, COUNT * sizeof *out, NULL);
  unsigned launches = expand_all(s, periods, out);
  cl_ulong digits = 0;
  cl_uint i, wrong = (cl_uint)sample_heap_differs(s, COUNT);
  sample_try(s, "sum", COUNT, "mum", periods, (cl_uint)COUNT, buffer);
  sample_read(s, buffer, out, COUNT * sizeof *out);
  for (i = 0; i < COUNT; i++) {
    cl_ulong2 right = expected(i + 1);
    wrong += out[i].x != right.x || out[i].y != right.y;
    digits += right.x;
  }
  wrong += (cl_uint)sample_heap_differs(s, 0) + (launches < 2);
  printf("%u periods with %llu digits in all, %u wrong\n", (cl_uint)COUNT, (unsigned long long)digits, wrong);
  clReleaseMemObject(periods);
  clReleaseMemObject(buffer);
  free(out);
  return wrong != 0;
}

int main(int argc, char **argv) {
  static const sample_description grow = {"sample_grow\n"
                                          "Each work-item keeps the decimal period of 1 / n. The heap grows "
                                          "until all of them fit.",
                                          grow_cl, 4, run};
  sample_max_mib = 128;
  return sample_main(argc, argv, &grow);
}
