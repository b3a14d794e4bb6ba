/* SPDX-License-Identifier: MIT */
#include "bench.h"
#include <string.h>

enum { COLUMNS = 10 };

/* The allocators that the lines of this section are compared with: peers, and where there are lines of
 * several allocators, those too. */
static int columns(const bench *b, const char *names[COLUMNS]) {
  int count = 0, several = 0;
  for (size_t i = b->section; i < b->row_count; i++)
    several |= !b->rows[i].peer && strcmp(b->rows[i].allocator, b->rows[b->section].allocator) != 0;
  for (size_t i = b->section; i < b->row_count; i++) {
    int c = 0;
    while (c < count && strcmp(names[c], b->rows[i].allocator) != 0)
      c++;
    if (c == count && count < COLUMNS && (several || b->rows[i].peer))
      names[count++] = b->rows[i].allocator;
  }
  return count;
}

static const bench_row *find(const bench *b, const char *allocator, const char *key) {
  for (size_t i = b->section; i < b->row_count; i++)
    if (strcmp(b->rows[i].allocator, allocator) == 0 && strcmp(b->rows[i].key, key) == 0)
      return &b->rows[i];
  return NULL;
}

static void print_time(double ms) {
  if (ms >= 1e3)
    printf(" %8.3f s ", ms / 1e3);
  else if (ms >= 1)
    printf(" %8.3f ms", ms);
  else if (ms >= 1e-3)
    printf(" %8.3f us", ms * 1e3);
  else
    printf(" %8.3f ns", ms * 1e6);
}

static void print_ratio(double value, double base) {
  double ratio = value / base;
  if (!(base > 0))
    printf(" %14s", "");
  else
    printf(" %13.*fx", ratio < 10 ? 2 : ratio < 100 ? 1 : 0, ratio);
}

/* The parameters that tell rows apart; not how they were measured. */
static void print_params(const bench_row *row) {
  static const char *const shown[] = {"lanes",    "range",   "mode",         "fifos",  "blocks",
                                      "op",       "kept",    "state",        "graph",  "window",
                                      "at",       "frees",   "host_threads", "times",  "phase",
                                      "heap_mib", "refused", "pinned",       "one_in", "order"};
  char text[96] = "", value[64];
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
    if (*bench_param(row->params, shown[i], value, sizeof value) &&
        !(i == 4 && strcmp(row->workload, "latency") == 0)) {
      size_t used = strlen(text);
      snprintf(text + used, sizeof text - used, "%s%s=%s", used ? " " : "", shown[i], value);
    }
  printf(" %-28s", text);
}

static double operations(const bench_row *row) {
  char value[32];
  unsigned rounds = 1;
  double count;
  if (*bench_param(row->params, "operations", value, sizeof value) && sscanf(value, "%lf", &count) == 1)
    return count;
  if (strncmp(row->workload, "call", 4) == 0) /* the time of one call */
    return 1;
  if (strcmp(row->workload, "threads") == 0 && *bench_param(row->params, "rounds", value, sizeof value))
    sscanf(value, "%u", &rounds);
  return (double)row->threads * rounds;
}

static void print_row(const bench *b, const bench_row *row, const char *const names[], int count) {
  printf("%c %-13s %-15s %8zu %8zu", row->failures ? '!' : ' ', row->allocator, row->workload, row->bytes,
         row->threads);
  print_params(row);
  if (bench_is_ratio(row)) {
    printf(" %8.2f %% %12s%14s %14s", 100 * row->value, "", "", "");
  } else {
    print_time(row->value);
    print_time(row->value / operations(row));
    print_ratio(row->value, row->floor);
    print_ratio(row->value, row->floor2);
  }
  for (int c = 0; c < count; c++) {
    const bench_row *other = strcmp(names[c], row->allocator) ? find(b, names[c], row->key) : NULL;
    if (other && !other->failures)
      print_ratio(row->value, other->value);
    else
      printf(" %14s", other ? "failed" : "");
  }
  if (row->failures)
    printf("  %lu failures", row->failures);
  printf("\n");
}

void bench_table(const bench *b, const char *name, const char *summary) {
  const char *names[COLUMNS];
  int count = columns(b, names);
  printf("\n%s: %s\n  %s, median of %d; x floor and x peer: this row's time over theirs, below 1 is faster\n",
         name, summary, b->device_name, b->options.repeat);
  printf("  %-13s %-15s %8s %8s %-28s %11s %11s %14s %14s", "allocator", "workload", "bytes", "threads", "",
         "time", "each", "x floor", "x floor2");
  for (int c = 0; c < count; c++) {
    char head[40];
    snprintf(head, sizeof head, "x %s", names[c]);
    printf(" %14.14s", head);
  }
  printf("\n");
  for (size_t i = b->section; i < b->row_count; i++)
    if (!b->rows[i].peer)
      print_row(b, &b->rows[i], names, count);
  fflush(stdout);
}
