/* SPDX-License-Identifier: MIT */
/* The benchmark program: what its files share.
 *
 *   options.c          command line
 *   device.c           device, queue, heaps, programs, timed launches
 *   rows.c             one measured figure = one row; series of rounds; CSV and JSON
 *   fill.c             heaps filled until requests fail
 *   ageing.c           sizes that drift, by threads of the host
 *   table.c            the table, with ratios to the floor and to peers
 *   peers.c            other allocators, as child processes that print rows
 *   workloads*.c       what is measured; registered in xmc_bench.c
 *   kernels/           the kernels, embedded in the program
 *
 * A row's identity is its key, workload:threads:bytes:detail. Rows of different allocators with one key are
 * compared. The workload names are the CSV's: W1 for pair and so on.
 */
#ifndef BENCH_H
#define BENCH_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue: devices of OpenCL 1.2 have no other */
#include "kernels/common.h"
#include <CL/cl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <xmalloc.h>

#define BENCH_MAX_REPEAT 256
#define BENCH_MAX_BUILD_OPTIONS 1000 /* beside the library's own, in 2,048 bytes */
#define BENCH_LANES 32u              /* neighbours that count as a sub-group in the workloads */

typedef struct bench_options {
  const char *device;    /* part of a device's or platform's name, or NULL */
  const char *workloads; /* names with commas */
  size_t heap;           /* bytes; 0: the default for the device */
  size_t workers;        /* work-items of most workloads */
  int repeat;            /* timed rounds after the cold one */
  double seconds;        /* time for a row's rounds */
  double peer_seconds;   /* time for a peer's row */
  int coalescing;        /* XMC_COALESCE_… */
  long fifos;            /* FIFOs a class, or XMC_FIFOS_DEFAULT */
  int backing;           /* XMC_BACKING_… */
  int one_geometry;      /* 1: programs with xmcGetGeometryOptions */
  size_t trace;          /* bytes of the ring of each heap; 0: nothing is recorded */
  int peers;
  const char *graph; /* a file of the Matrix Market, or NULL */
  const char *csv, *json;
  const char *build_options; /* more for clBuildProgram, whose log is printed then; or NULL */
  const char *trace_path;    /* where traced heaps are saved, or NULL */
} bench_options;

typedef struct bench_row {
  char allocator[32];
  char workload[24];
  char params[192];
  char key[96];
  size_t threads, bytes;
  double value;  /* milliseconds; a ratio where bench_is_ratio says so */
  double floor;  /* the same without an allocator; 0: none */
  double floor2; /* the same with the least of an allocator (kernels/floor2.cl); 0: none */
  unsigned long failures;
  int peer; /* BENCH_PEER or BENCH_ALTERNATIVE: a column of the table, not a line */
} bench_row;

#define BENCH_PEER 1        /* another allocator's row */
#define BENCH_ALTERNATIVE 2 /* one of this program's own, without an allocator: its failures count */

typedef struct bench_program bench_program;

typedef struct bench {
  bench_options options;
  char command[512];
  cl_platform_id platform;
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  char device_name[128], driver[96], platform_name[96];
  int cpu; /* a CPU device */
  int nvidia;
  cl_uint units;
  size_t memory, max_alloc; /* of the device; of one buffer */
  size_t heap_bytes;        /* the heap of most workloads */
  xmc_heap heap;            /* that heap, made when first asked for */
  cl_mem counters;          /* two uints: NULLs, mismatches */
  cl_mem refs;              /* one reference a work-item */
  cl_mem plain;             /* the floor's memory; grows */
  size_t refs_count, plain_bytes;
  bench_program *programs;
  bench_row *rows;
  size_t row_count, row_room;
  size_t section;        /* first row of the workload under way */
  unsigned long corrupt; /* heaps found damaged or leaking */
  char path[128];        /* what xmalloc says it runs on this device */
} bench;

typedef struct bench_workload {
  const char *name, *summary;
  int (*run)(bench *b); /* 0, or 1 after a message */
} bench_workload;

/* ---- options.c ---- */
/* 0 to go on, 1 to end well (--help, --list), 2 for wrong arguments. */
int bench_parse(bench_options *o, int argc, char **argv, const bench_workload *workloads, size_t count);

/* ---- device.c ---- */
int bench_open(bench *b);
void bench_close(bench *b);
/* A heap of its own for a workload; the caller closes it. coalescing < 0 and fifos < -1: as the options say.
 */
xmc_heap bench_heap_open(bench *b, size_t bytes, int coalescing, long fifos);
/* Saves a traced heap to the file that the option names, with `end` behind the name. Nothing without the option. */
int bench_save_trace(bench *b, xmc_heap heap, const char *end);
/* Checks the heap (corruption and leaks count as failures) and releases it. */
int bench_heap_close(bench *b, xmc_heap heap);
/* The heap that most workloads share, empty. NULL after a message. */
xmc_heap bench_heap(bench *b);
/* The same heap as it was created: what a row says shall not depend on those before it. */
xmc_heap bench_heap_fresh(bench *b);
/* Writes what programs for this heap are built with to the `room` bytes at `options`. */
void bench_build_options(const bench *b, xmc_heap heap, char *options, size_t room);
/* Prints the log of the program's build to stderr. */
void bench_build_log(const bench *b, cl_program program);
cl_kernel bench_kernel(bench *b, xmc_heap heap, const char *file, const char *name, int optional);
/* Arguments by letter: h xmc_heap, m cl_mem, u cl_uint, l cl_ulong. */
int bench_arguments(cl_kernel kernel, const char *letters, ...);
/* Runs `global` work-items in groups of 256 (fewer if 256 does not divide them) and waits; *ms gets the
 * device time. */
int bench_launch(bench *b, cl_kernel kernel, size_t global, double *ms);
/* The same without waiting; `event` may be NULL. */
int bench_enqueue(bench *b, cl_kernel kernel, size_t global, cl_event *event);
int bench_counters_clear(bench *b);
int bench_counters_read(bench *b, cl_uint counters[2]);
/* Memory for at least so many references or bytes; NULL (quietly) if the device has not that much. */
cl_mem bench_refs(bench *b, size_t count);
cl_mem bench_plain(bench *b, size_t bytes);
void bench_error(const char *what, cl_int status);
double bench_seconds(void);
/* A number of bytes, K, M or G after it. 1: it is none. */
int bench_parse_bytes(const char *text, size_t *bytes);

/* ---- rows.c ---- */
typedef struct bench_series {
  double cold, ms[BENCH_MAX_REPEAT];
  double since; /* end of the cold round, in which the kernel may have been compiled */
  int rounds;   /* timed ones */
  int started;
} bench_series;

/* Shows a row as under way. */
void bench_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* True while the row wants another round; of two series that which is sampled last counts. */
int bench_more(const bench *b, const bench_series *s);
void bench_sample(const bench *b, bench_series *s, double ms);
/* All rounds of a series that is one kernel's time */
int bench_repeat(bench *b, bench_series *s, cl_kernel kernel, size_t items);
double bench_median(const bench_series *s);
/* The row, so that the caller may set its floors. `as`: the workload whose rows it is compared with. */
bench_row *bench_add(bench *b, const char *allocator, const char *workload, const char *as, size_t threads,
                     size_t bytes, double value, unsigned long failures, const char *params, ...)
    __attribute__((format(printf, 9, 10)));
/* W5util, pin: the share of the heap that was handed out; range: what blocks span over what they take; ageingleast,
 * ageingpeak: memory over the bytes that may be live. */
int bench_is_ratio(const bench_row *row);
/* The value of `name=` in params; "" if there is none. */
const char *bench_param(const char *params, const char *name, char *value, size_t room);
int bench_write_csv(const bench *b, const char *path);
int bench_write_json(const bench *b, const char *path);

/* ---- fill.c ---- */
#define BENCH_FILL_ITEMS 65536u /* work-items of a kernel at most */

/* A heap that is filled with blocks that hold their number, by kernels of alloc.cl */
typedef struct bench_fill {
  bench *b;
  xmc_heap heap;
  cl_kernel alloc, mixed, check, release;
  cl_mem refs;
  size_t items;  /* work-items of a kernel */
  size_t room;   /* references that fit */
  size_t handed; /* references of the last run, some of them 0 */
  size_t kernels;
  double ms;
} bench_fill;

/* Work-items of a kernel for a heap with room for so many blocks: several kernels fill it, as far as the least number allows. */
size_t bench_fill_items(size_t blocks);
/* For up to `blocks` blocks. refs: room for 2 * BENCH_FILL_ITEMS references more, or NULL for the shared buffer. To be closed
 * also after an error. */
int bench_fill_open(bench_fill *f, bench *b, xmc_heap heap, cl_mem refs, size_t blocks);
void bench_fill_close(bench_fill *f);
/* Allocates until more than half of a kernel's requests fail: sizes from low to high, or one size. *failed counts the
 * refused requests; the blocks are then read again, and *wrong counts those that are not what was written. */
int bench_fill_run(bench_fill *f, cl_uint low, cl_uint high, cl_uint *failed, cl_uint *wrong);
int bench_fill_check(bench_fill *f, cl_uint *wrong);
int bench_fill_empty(bench_fill *f, double *ms);

/* ---- table.c ---- */
void bench_table(const bench *b, const char *name, const char *summary);

/* ---- peers.c ---- */
/* Runs every peer of this device on the rows of the section that a peer can run. */
void bench_peers(bench *b);

/* ---- workloads ---- */
/* The shared shapes of rows. `count` work-items work. */
/* workloads_floor2.c; ms[0] of allocating, ms[1] of freeing, stride bytes each */
int bench_pair_floor2(bench *b, xmc_heap heap, cl_uint bytes, cl_uint lanes, size_t launched, double *ms);
int bench_alloc_floor2(bench *b, xmc_heap heap, size_t count, cl_uint stride, double ms[2]);
int bench_pair(bench *b, xmc_heap heap, const char *workload, const char *as, size_t count, cl_uint bytes,
               cl_uint lanes, const char *params);
int bench_alloc(bench *b, xmc_heap heap, const char *workload, const char *as, size_t count, cl_uint low,
                cl_uint high);
size_t bench_fitting(const bench *b, size_t count, size_t bytes, size_t heap_bytes);
int bench_run_pair(bench *b);
int bench_run_alloc(bench *b);
int bench_run_mixed(bench *b);
int bench_run_scaling(bench *b);
int bench_run_large(bench *b);
int bench_run_filled(bench *b);
int bench_run_oom(bench *b);
int bench_run_churn(bench *b);
int bench_run_overlap(bench *b);
int bench_run_latency(bench *b);
int bench_run_init(bench *b);
int bench_run_collective(bench *b);
int bench_run_modes(bench *b);
int bench_run_fifos(bench *b);
int bench_run_threads(bench *b);
int bench_run_cas(bench *b);
int bench_run_build(bench *b);
int bench_run_region(bench *b);
int bench_run_generate(bench *b);
int bench_run_write(bench *b);
int bench_run_range(bench *b);
int bench_run_larson(bench *b);
int bench_run_producer(bench *b);
int bench_run_warp(bench *b);
int bench_run_graph(bench *b);
int bench_run_calls(bench *b);
int bench_run_ageing(bench *b);
int bench_run_pin(bench *b);
int bench_run_full(bench *b);

/* One way out of each function: `status` is 1 and `cleanup` releases. */
#define BENCH_TRY(call) \
  do { \
    if ((call) != 0) { \
      status = 1; \
      goto cleanup; \
    } \
  } while (0)
#define BENCH_CL(call) \
  do { \
    cl_int bench_status_ = (call); \
    if (bench_status_ != CL_SUCCESS) { \
      bench_error(#call, bench_status_); \
      status = 1; \
      goto cleanup; \
    } \
  } while (0)
#endif
