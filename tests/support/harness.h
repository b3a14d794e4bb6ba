/* SPDX-License-Identifier: MIT */
/* What every device test stands on: devices, heap configurations, programs, launches.
 *
 * A test is a function of a test_env: one device, one heap configuration. test_main runs each on every
 * OpenCL device found, under as many configurations as the test asks for, as one cmocka test each, whose
 * name holds the device and the configuration. All that is made through an env is released after the test,
 * failed or not.
 *
 *   XMC_TEST_DEVICE  only devices whose name or platform's name contains it
 *   XMC_TEST_SCALE   small (simulators; the default there), short (normal sizes, each test under one or two configurations
 *                    besides the default one), normal (the default), full (larger sizes)
 *   XMC_TEST_AS_GPU  each device is a GPU (as_gpu.c); its lanes must work then
 *   XMC_TEST_FILTER  only tests whose full name contains it; the first argument does the same
 */
#ifndef XMC_TEST_HARNESS_H
#define XMC_TEST_HARNESS_H
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <xmalloc.h>

typedef enum test_scale { SCALE_SMALL, SCALE_SHORT, SCALE_NORMAL, SCALE_FULL } test_scale;

#define FIFOS_DEFAULT (-1)
typedef struct test_config {
  cl_uint coalescing; /* XMC_COALESCE_… */
  int fifos;          /* a class, or FIFOS_DEFAULT */
  cl_uint backing;    /* XMC_BACKING_… */
  int one_geometry; /* programs with xmcGetGeometryOptions; where they are to serve several heaps a test asks for
                         ANY_GEOMETRY */
} test_config;
#define ANY_GEOMETRY "-DXMC_GEOMETRY=0"

typedef struct test_program test_program;
typedef struct test_device {
  cl_platform_id platform;
  cl_device_id id;
  cl_context context;
  cl_command_queue queue;
  char name[160];
  int gpu;
  size_t max_local;
  cl_ulong max_alloc;
  cl_device_svm_capabilities svm;
  test_scale scale;
  test_program *programs; /* built so far; kept for the process */
} test_device;

typedef struct test_env {
  test_device *device;
  test_config config;
  cl_context context;
  cl_command_queue queue;
  xmc_heap heaps[16];
  cl_mem buffers[64];
  cl_kernel kernels[64];
  cl_command_queue queues[4];
  void *blocks[64];
  unsigned heap_count, buffer_count, kernel_count, queue_count, block_count;
  void (*plan_run)(struct test_env *env);
} test_env;

/* How many configurations a test runs under */
typedef enum test_spread {
  SPREAD_ONE, /* the default one */
  SPREAD_AXES, /* each choice of coalescing, of FIFOs, of backing and of geometry once, the others at their default */
  SPREAD_MATRIX /* all combinations (small and short scale: as SPREAD_AXES) */
} test_spread;

typedef struct test_case {
  const char *name;
  void (*run)(test_env *env);
  test_spread spread;
} test_case;
#define TEST(function, spread) \
  { #function, function, spread }

/* Exit status for main. */
int test_main(const char *topic, const test_case *cases, size_t count, int argc, char **argv);

/* The value for the device's scale; the short one has normal's sizes */
size_t test_scaled(const test_env *env, size_t small, size_t normal, size_t full);
int test_is_default(const test_env *env);

/* Whether the OpenCL implementation may be called by several threads at a time, which Oclgrind may not. */
int test_has_threads(const test_env *env);

/* How far to go on in a test's list of cases: 1; in the short and the small form, under another configuration than the
 * default one, 3, so that a third of the cases run there, the first one among them. */
size_t test_step(const test_env *env);

/* Fails the test unless status is CL_SUCCESS. */
#define CL_OK(call) test_check_cl((call), #call, __FILE__, __LINE__)
void test_check_cl(cl_int status, const char *call, const char *file, int line);

/* A heap of the env's configuration; `extra` (0-terminated or NULL) goes on top. */
xmc_heap test_heap(test_env *env, size_t bytes);
xmc_heap test_heap_with(test_env *env, size_t bytes, const xmc_heap_properties *extra);
void test_heap_forget(test_env *env, xmc_heap heap); /* released by the test itself */

void test_programs_release(test_device *device);
/* A kernel of tests/kernels/<file>, built for the heap, with further -D options or NULL. */
cl_kernel test_kernel(test_env *env, xmc_heap heap, const char *file, const char *name, const char *options);
char *test_read_kernel_file(const char *file); /* malloced */
cl_command_queue test_queue(test_env *env);    /* one more queue */

cl_mem test_buffer(test_env *env, size_t bytes, const void *contents); /* zeroed without contents */
void test_read(test_env *env, cl_mem buffer, void *to, size_t bytes);
void test_write(test_env *env, cl_mem buffer, const void *from, size_t bytes);
void *test_alloc(test_env *env, size_t bytes); /* zeroed, freed after the test */

/* Sets the arguments in order; a letter each: h xmc_heap, m cl_mem, u cl_uint, U cl_ulong, l local bytes
 * (size_t). */
void test_args(cl_kernel kernel, const char *format, ...);
void test_vargs(cl_kernel kernel, const char *format, va_list arguments);
/* … then runs the kernel over at least `count` work-items in groups of `local`, and waits. */
void test_launch(test_env *env, cl_kernel kernel, size_t count, size_t local, const char *format, ...);
/* Enqueues and does not wait. */
void test_enqueue(cl_command_queue queue, cl_kernel kernel, size_t count, size_t local);
/* Bytes of the arena, whatever it lies in */
void test_read_arena(test_env *env, xmc_heap heap, size_t offset, size_t bytes, void *to);
void test_write_arena(test_env *env, xmc_heap heap, size_t offset, size_t bytes, const void *from);

/* Intact, or fails with the report; returns the statistics. */
xmc_heap_stats test_intact(test_env *env, xmc_heap heap);
/* Intact and without a live block */
/* As many blocks live as are expected; where lanes share coalesced blocks, one stands for up to 32. */
void test_live(test_env *env, cl_ulong live, cl_ulong expected);
void test_empty(test_env *env, xmc_heap heap);

/* A 64-bit mixer for sizes and orders, the same every run */
uint64_t test_hash(uint64_t x);
#endif
