/* SPDX-License-Identifier: MIT */
/* Heaps that are filled until requests fail, and emptied: oom and pin. */
#include "bench.h"

void bench_fill_close(bench_fill *f) {
  cl_kernel kernels[] = {f->alloc, f->mixed, f->check, f->release};
  for (size_t i = 0; i < 4; i++)
    if (kernels[i])
      clReleaseKernel(kernels[i]);
}

size_t bench_fill_items(size_t blocks) {
  size_t items = BENCH_FILL_ITEMS;
  while (items > 1024 && items > blocks / 4)
    items /= 2;
  return items;
}

int bench_fill_open(bench_fill *f, bench *b, xmc_heap heap, cl_mem refs, size_t blocks) {
  *f = (bench_fill){.b = b, .heap = heap, .refs = refs, .room = blocks + 2 * BENCH_FILL_ITEMS};
  f->items = bench_fill_items(blocks);
  f->alloc = bench_kernel(b, heap, "alloc.cl", "alloc", 0);
  f->mixed = bench_kernel(b, heap, "alloc.cl", "alloc_mixed", 0);
  f->check = bench_kernel(b, heap, "alloc.cl", "check", 0);
  f->release = bench_kernel(b, heap, "alloc.cl", "release", 0);
  if (f->refs == NULL && (f->refs = bench_refs(b, f->room)) == NULL) {
    fprintf(stderr, "\nxmc-bench: no memory for %zu references\n", f->room);
    return 1;
  }
  return !f->alloc || !f->mixed || !f->check || !f->release;
}

int bench_fill_run(bench_fill *f, cl_uint low, cl_uint high, cl_uint *failed, cl_uint *wrong) {
  int status = 0;
  bench *b = f->b;
  cl_uint counters[2] = {0, 0};
  size_t first = 0;
  cl_kernel kernel = low == high ? f->alloc : f->mixed;
  f->kernels = 0;
  f->ms = 0;
  do {
    double ms;
    cl_uint at = (cl_uint)first;
    BENCH_TRY(bench_counters_clear(b));
    if (low == high)
      BENCH_TRY(bench_arguments(kernel, "hmuum", f->heap, f->refs, at, high, b->counters));
    else
      BENCH_TRY(bench_arguments(kernel, "hmuuuum", f->heap, f->refs, at, low, high, 0u, b->counters));
    BENCH_TRY(bench_launch(b, kernel, f->items, &ms));
    BENCH_TRY(bench_counters_read(b, counters));
    f->ms += ms;
    f->kernels++;
    first += f->items;
    f->handed = first;
    *failed += counters[0];
  } while (counters[0] <= f->items / 2 && first + f->items <= f->room);
  BENCH_TRY(bench_fill_check(f, wrong));
cleanup:
  return status;
}

int bench_fill_check(bench_fill *f, cl_uint *wrong) {
  int status = 0;
  cl_uint counters[2];
  BENCH_TRY(bench_counters_clear(f->b));
  BENCH_TRY(bench_arguments(f->check, "hmm", f->heap, f->refs, f->b->counters));
  BENCH_TRY(bench_launch(f->b, f->check, f->handed, NULL));
  BENCH_TRY(bench_counters_read(f->b, counters));
  *wrong += counters[1];
cleanup:
  return status;
}

int bench_fill_empty(bench_fill *f, double *ms) {
  int status = 0;
  BENCH_TRY(bench_arguments(f->release, "hm", f->heap, f->refs));
  BENCH_TRY(bench_launch(f->b, f->release, f->handed, ms));
cleanup:
  return status;
}
