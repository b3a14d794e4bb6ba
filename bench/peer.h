/* SPDX-License-Identifier: MIT */
/* A peer: a program that runs the workloads on another allocator and prints rows of the CSV.
 *
 *   peer NAME THREADS REPEAT SECONDS HEAP CASE…        CASE = workload:threads:bytes:detail
 *
 * detail is the sizes' range for W3, the active lanes for W1, own1 to others8 for ageingpeak (who frees, and threads), else
 * empty. A line is flushed as soon as it is
 * measured, since the caller stops a peer that takes too long.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H
#include "kernels/common.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PEER_MAX_REPEAT = 256, PEER_ROUNDS = 64 };

typedef struct peer_options {
  const char *name;
  unsigned threads; /* of the host */
  int repeat;
  double seconds;
  size_t heap;
} peer_options;

typedef struct peer_case {
  char workload[16];
  size_t count;
  unsigned bytes, low, lanes; /* lanes: of W1; ageing: threads */
  int others;                 /* ageing: blocks are freed by others */
} peer_case;

typedef struct peer_series {
  double cold, ms[PEER_MAX_REPEAT], since;
  int rounds, warm;
} peer_series;

static inline double peer_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int peer_more(const peer_series *s, const peer_options *o) {
  if (!s->warm)
    return 1;
  return s->rounds < o->repeat && s->rounds < PEER_MAX_REPEAT && s->cold < 1e3 * o->seconds &&
         peer_seconds() - s->since < o->seconds;
}

static inline void peer_sample(peer_series *s, const peer_options *o, double ms) {
  if (!s->warm) {
    s->cold = ms;
    s->since = peer_seconds();
  } else if (o->threads == 1 || peer_seconds() - s->since >= BENCH_SETTLE) {
    s->ms[s->rounds++] = ms;
  }
  s->warm = 1;
}

static inline int peer_by_value(const void *x, const void *y) {
  double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

static inline double peer_median(peer_series *s) {
  int n = s->rounds;
  if (n == 0)
    return s->cold;
  qsort(s->ms, (size_t)n, sizeof *s->ms, peer_by_value);
  return n % 2 ? s->ms[n / 2] : (s->ms[n / 2 - 1] + s->ms[n / 2]) / 2;
}

/* Prints the usage if -h, --help or --version is all that is asked for. The version is that of the C library's or CUDA's
 * malloc that a peer measures, so there is none of its own. */
static inline int peer_helped(const char *program, int argc, char **argv) {
  if (argc != 2 ||
      (strcmp(argv[1], "-h") != 0 && strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "--version") != 0))
    return 0;
  printf(
      "usage: %s NAME THREADS REPEAT SECONDS HEAP workload:count:bytes:detail…\n"
      "Measures another allocator for xmc-bench, which starts it; bench/README.md says what is measured.\n",
      program);
  return 1;
}

static inline int peer_parse_options(peer_options *o, int argc, char **argv) {
  if (argc < 6)
    return 1;
  o->name = argv[1];
  o->threads = (unsigned)strtoul(argv[2], NULL, 10);
  o->repeat = (int)strtol(argv[3], NULL, 10);
  o->seconds = strtod(argv[4], NULL);
  o->heap = (size_t)strtoull(argv[5], NULL, 10);
  return o->threads == 0 || o->repeat < 1;
}

static inline int peer_parse_case(peer_case *c, const char *text) {
  char detail[32] = "";
  unsigned long count;
  memset(c, 0, sizeof *c);
  if (sscanf(text, "%15[^:]:%lu:%u:%31s", c->workload, &count, &c->bytes, detail) < 3 || count == 0 ||
      c->bytes == 0)
    return 1;
  c->count = count;
  c->low = c->bytes;
  c->lanes = 32;
  if (strncmp(c->workload, "ageing", 6) == 0) {
    c->others = strncmp(detail, "others", 6) == 0;
    c->lanes = (unsigned)strtoul(detail + strcspn(detail, "0123456789"), NULL, 10);
  } else if (strchr(detail, '-'))
    c->low = (unsigned)strtoul(detail, NULL, 10);
  else if (*detail)
    c->lanes = (unsigned)strtoul(detail, NULL, 10);
  return c->lanes == 0 || c->lanes > 32 || c->low > c->bytes;
}

/* peer_ageing.c: prints its row itself. */
void peer_ageing(const peer_options *o, const peer_case *c);

/* One row; `half` is "alloc" or "free" where a workload has both. */
static inline void peer_print(const peer_options *o, const peer_case *c, const char *half, peer_series *s,
                              unsigned long nulls, unsigned long bad) {
  double ms = peer_median(s);
  char detail[64] = "";
  if (c->low != c->bytes)
    snprintf(detail, sizeof detail, "range=%u-%u;", c->low, c->bytes);
  else if (strcmp(c->workload, "W1") == 0)
    snprintf(detail, sizeof detail, "lanes=%u;", c->lanes);
  printf("%s,%s%s,%sthreads=%u;reps=%d;cold=%.4f;bad=%lu,%zu,%u,%.*f,%lu\n", o->name, c->workload, half,
         detail, o->threads, s->rounds, s->cold, bad, c->count, c->bytes, ms < 0.001 ? 9 : 6, ms,
         nulls + bad);
  fflush(stdout);
}
#endif
