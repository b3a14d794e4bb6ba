/* SPDX-License-Identifier: MIT */
/* The files of kernels/, embedded. */
#ifndef BENCH_KERNELS_H
#define BENCH_KERNELS_H
#include <stddef.h>
typedef struct bench_source {
  const char *name, *text;
} bench_source;
extern const bench_source bench_sources[];
extern const size_t bench_source_count;
#endif
