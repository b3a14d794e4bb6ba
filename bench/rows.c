/* SPDX-License-Identifier: MIT */
#include "bench.h"
#include "kernels/common.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void bench_begin(const char *format, ...) {
  va_list list;
  char text[120];
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (isatty(2))
    fprintf(stderr, "\r%-100.100s\r", text);
  else
    fprintf(stderr, "%s\n", text);
  fflush(stderr);
}

int bench_more(const bench *b, const bench_series *s) {
  double seconds = b->options.seconds;
  if (!s->started)
    return 1;
  return s->rounds < b->options.repeat && s->cold < 1e3 * seconds && bench_seconds() - s->since < seconds;
}

/* CPU devices: after a pause all threads may run on one core for a tenth of a second. */
void bench_sample(const bench *b, bench_series *s, double ms) {
  if (!s->started) {
    s->cold = ms;
    s->since = bench_seconds();
  } else if (s->rounds < BENCH_MAX_REPEAT && (!b->cpu || bench_seconds() - s->since >= BENCH_SETTLE)) {
    s->ms[s->rounds++] = ms;
  }
  s->started = 1;
}

int bench_repeat(bench *b, bench_series *s, cl_kernel kernel, size_t items) {
  int status = 0;
  double ms;
  while (bench_more(b, s)) {
    BENCH_TRY(bench_launch(b, kernel, items, &ms));
    bench_sample(b, s, ms);
  }
cleanup:
  return status;
}

static int by_value(const void *x, const void *y) {
  double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

/* With no timed round (the cold one took too long) the cold round's time, as the params then say. */
double bench_median(const bench_series *s) {
  double sorted[BENCH_MAX_REPEAT];
  int n = s->rounds;
  if (n == 0)
    return s->cold;
  memcpy(sorted, s->ms, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, by_value);
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

int bench_is_ratio(const bench_row *row) {
  static const char *const names[] = {"W5util", "range", "ageingleast", "ageingpeak", "pin"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(row->workload, names[i]) == 0)
      return 1;
  return 0;
}

const char *bench_param(const char *params, const char *name, char *value, size_t room) {
  size_t length = strlen(name);
  value[0] = 0;
  for (const char *p = params; p && *p; p = strchr(p, ';') ? strchr(p, ';') + 1 : NULL)
    if (strncmp(p, name, length) == 0 && p[length] == '=') {
      snprintf(value, room, "%.*s", (int)strcspn(p + length + 1, ";"), p + length + 1);
      break;
    }
  return value;
}

static void make_key(bench_row *row, const char *as) {
  char range[32], lanes[32], frees[16], threads[16], who[32];
  bench_param(row->params, "range", range, sizeof range);
  bench_param(row->params, "lanes", lanes, sizeof lanes);
  if (strcmp(lanes, "32") == 0)
    lanes[0] = 0;
  snprintf(who, sizeof who, "%s%s", bench_param(row->params, "frees", frees, sizeof frees),
           bench_param(row->params, "host_threads", threads, sizeof threads));
  snprintf(row->key, sizeof row->key, "%s:%zu:%zu:%s", as, row->threads, row->bytes,
           *range ? range
           : *who ? who
                  : lanes);
}

bench_row *bench_add(bench *b, const char *allocator, const char *workload, const char *as, size_t threads,
                     size_t bytes, double value, unsigned long failures, const char *params, ...) {
  va_list list;
  bench_row *row;
  if (b->row_count == b->row_room) {
    size_t room = b->row_room ? 2 * b->row_room : 256;
    bench_row *rows = realloc(b->rows, room * sizeof *rows);
    if (rows == NULL) {
      fprintf(stderr, "xmc-bench: out of memory\n");
      exit(1);
    }
    b->rows = rows;
    b->row_room = room;
  }
  row = &b->rows[b->row_count++];
  memset(row, 0, sizeof *row);
  snprintf(row->allocator, sizeof row->allocator, "%s", allocator);
  snprintf(row->workload, sizeof row->workload, "%s", workload);
  va_start(list, params);
  vsnprintf(row->params, sizeof row->params, params, list);
  va_end(list);
  row->threads = threads;
  row->bytes = bytes;
  row->value = value;
  row->failures = failures;
  make_key(row, as);
  return row;
}

static void write_row(FILE *f, const bench_row *row, const char *allocator, double value,
                      unsigned long failures) {
  fprintf(f, "%s,%s,%s,%zu,%zu,%.*f,%lu\n", allocator, row->workload, row->params, row->threads, row->bytes,
          value < 0.001 ? 9 : 6, value, failures);
}

int bench_write_csv(const bench *b, const char *path) {
  FILE *f = fopen(path, "w");
  if (f == NULL) {
    fprintf(stderr, "xmc-bench: cannot write %s\n", path);
    return 1;
  }
  fprintf(f, "# command: %s\n# device: %s, %s, driver %s, %s\n# path: %s\n", b->command, b->device_name,
          b->platform_name, b->driver, b->cpu ? "CPU" : "GPU", b->path);
  fprintf(f, "allocator,workload,params,threads,bytes,milliseconds,failures\n");
  for (size_t i = 0; i < b->row_count; i++) {
    write_row(f, &b->rows[i], b->rows[i].allocator, b->rows[i].value, b->rows[i].failures);
    if (b->rows[i].floor > 0)
      write_row(f, &b->rows[i], "floor", b->rows[i].floor, 0);
    if (b->rows[i].floor2 > 0)
      write_row(f, &b->rows[i], "floor2", b->rows[i].floor2, 0);
  }
  if (fclose(f) != 0) {
    fprintf(stderr, "xmc-bench: cannot write %s\n", path);
    return 1;
  }
  return 0;
}

static void write_string(FILE *f, const char *name, const char *text, const char *after) {
  fprintf(f, "\"%s\": \"", name);
  for (; *text; text++)
    if (*text == '"' || *text == '\\')
      fprintf(f, "\\%c", *text);
    else if ((unsigned char)*text < 32)
      fprintf(f, "\\u%04x", (unsigned char)*text);
    else
      fputc(*text, f);
  fprintf(f, "\"%s", after);
}

int bench_write_json(const bench *b, const char *path) {
  FILE *f = fopen(path, "w");
  if (f == NULL) {
    fprintf(stderr, "xmc-bench: cannot write %s\n", path);
    return 1;
  }
  fprintf(f, "{");
  write_string(f, "command", b->command, ",\n ");
  write_string(f, "device", b->device_name, ", ");
  write_string(f, "platform", b->platform_name, ", ");
  write_string(f, "driver", b->driver, ", ");
  write_string(f, "path", b->path, ",\n \"rows\": [");
  for (size_t i = 0; i < b->row_count; i++) {
    const bench_row *row = &b->rows[i];
    fprintf(f, "%s\n  {", i ? "," : "");
    write_string(f, "allocator", row->allocator, ", ");
    write_string(f, "workload", row->workload, ", ");
    write_string(f, "params", row->params, ", ");
    fprintf(f, "\"threads\": %zu, \"bytes\": %zu, \"%s\": %.9g, ", row->threads, row->bytes,
            strcmp(row->workload, "W5util") == 0 ? "share"
            : bench_is_ratio(row)                ? "ratio"
                                                 : "milliseconds",
            row->value);
    if (row->floor > 0)
      fprintf(f, "\"floor_milliseconds\": %.9g, ", row->floor);
    if (row->floor2 > 0)
      fprintf(f, "\"floor2_milliseconds\": %.9g, ", row->floor2);
    fprintf(f, "\"failures\": %lu}", row->failures);
  }
  fprintf(f, "\n ]}\n");
  if (fclose(f) != 0) {
    fprintf(stderr, "xmc-bench: cannot write %s\n", path);
    return 1;
  }
  return 0;
}
