/* SPDX-License-Identifier: MIT */
/* The small programs that tell whether a path works (probe_run.c), for probe.c. */
#ifndef XMC_PROBE_H
#define XMC_PROBE_H
#include "heap/internal.h"

/* Where a probe runs */
typedef struct xmc_bench {
  cl_context context;
  cl_command_queue queue;
  xmc_probe *probe;
} xmc_bench;

/* Adds a line to probe->why. */
void xmc_say(xmc_probe *probe, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The line of a build log that says most: the first one with an error, else the first one; the log is cut behind it. */
const char *xmc_first_error(char *log);

/* Each builds host/device/probe.cl with `options`, runs it and compares the results: 1 if they are right. Where
 * not, it says why. */
int xmc_atomics_work(const xmc_bench *bench, const char *options);
int xmc_lanes_work(const xmc_bench *bench, const char *options);
/* 1: the whole library builds, and malloc and free work on a small heap of these settings. */
int xmc_pair_works(const xmc_bench *bench, const xmc_settings *settings, const char *options);
/* 1: kernels see a buffer made of an SVM pointer at that address, and what they write there is seen. */
int xmc_svm_alias_works(const xmc_bench *bench, const char *options);
/* 1: a variable at program scope keeps a buffer's address from one launch to the next. */
int xmc_program_scope_works(const xmc_bench *bench, const char *options);
#endif
