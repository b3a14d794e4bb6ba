/* SPDX-License-Identifier: MIT */
/* ageing on the malloc of this process: how much memory the process has at its peak, over what may be live. */
#include "ageing.h"
#include "peer.h"

static void *allocate(void *heap, size_t bytes) {
  (void)heap;
  return malloc(bytes);
}

static void release(void *heap, void *block) {
  (void)heap;
  free(block);
}

/* Bytes of this process's memory: VmRSS, now, or VmHWM, the most since it began. The usage that getrusage tells is no good
 * here: a new program inherits its parent's peak. */
static size_t memory(const char *which) {
  char line[128];
  size_t kib = 0, length = strlen(which);
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (strncmp(line, which, length) == 0)
      kib = strtoul(line + length + 1, NULL, 10);
  if (f)
    fclose(f);
  return 1024 * kib;
}

/* Before the first block: the memory of the program and of its tables */
static void remember(void *data) { *(size_t *)data = memory("VmRSS"); }

/* A process has one peak, so xmc-bench gives it one case of this workload. */
void peer_ageing(const peer_options *o, const peer_case *c) {
  const ageing_allocator allocator = {allocate, release, NULL};
  const ageing_form form = {.threads = c->lanes, .others = c->others};
  ageing_result result;
  size_t before = 0, peak, limit = c->count * BENCH_AGEING_LIVE;
  double ms = 0;
  unsigned long refused = 0;
  if (ageing_run(&allocator, (uint32_t)c->count, &form, remember, &before, &result))
    return;
  peak = memory("VmHWM");
  peak -= before < peak ? before : peak;
  for (unsigned p = 0; p < BENCH_AGEING_PHASES; p++) {
    ms += result.ms[p];
    refused += result.refused[p];
  }
  printf("%s,ageingpeak,frees=%s;host_threads=%u;ms=%.1f;peak=%zu,%zu,%u,%.6f,%lu\n", o->name,
         c->others ? "others" : "own", c->lanes, ms, peak, c->count, c->bytes, (double)peak / (double)limit,
         refused + result.wrong);
  fflush(stdout);
}
