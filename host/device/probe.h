/* SPDX-License-Identifier: MIT */
/* The tests by which probe.c finds out whether a path works (probe_run.c, probe_pair.c). */
#ifndef XMC_PROBE_H
#define XMC_PROBE_H
#include "heap/internal.h"

/* The context and queue in which a probe runs, and its results */
typedef struct xmc_bench {
  cl_context context;
  cl_command_queue queue;
  xmc_probe *probe;
} xmc_bench;

/* Adds a line to probe->why. */
void xmc_say(xmc_probe *probe, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the line of a build log that says most: the first one with "error" in it, else the first one. Cuts the log behind it. */
const char *xmc_first_error(char *log);

/* Each builds a program with `options`, runs it and compares the results. Returns 1 if they are right; else 0, mostly after
 * adding the reason to probe->why. These two test 64-bit atomics, and lanes in divergent flow. */
int xmc_atomics_work(const xmc_bench *bench, const char *options);
int xmc_lanes_work(const xmc_bench *bench, const char *options);
/* Tests that the whole library builds, and that malloc and free work on a small heap of these settings. */
int xmc_pair_works(const xmc_bench *bench, const xmc_settings *settings, const char *options);
/* Tests that kernels see a buffer made of an SVM pointer at that address, and that the host sees what they write there. */
int xmc_svm_alias_works(const xmc_bench *bench, const char *options);
/* Tests that a variable at program scope keeps a buffer's address from one launch to the next. */
int xmc_program_scope_works(const xmc_bench *bench, const char *options);
#endif
