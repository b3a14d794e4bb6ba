/* SPDX-License-Identifier: MIT */
/* pin: a heap was full of small blocks, of which a few stay. What can blocks of each size then have? */
#include "bench.h"

/* The blocks that fill the heap, which of them stay, and in which order */
typedef struct pins {
  cl_uint bytes, one_in, random;
} pins;

static const cl_uint sizes[] = {16,  32,  48,  64,  80,  96,   112,  128,  160,  192,
                                224, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096};

static void row(bench *b, const pins *p, size_t heap_bytes, cl_uint size, size_t items, size_t blocks,
                double live, cl_uint wrong) {
  bench_add(b, "xmc", "pin", "pin", items, size, (double)blocks * size / (double)heap_bytes, wrong,
            "pinned=%u;one_in=%u;order=%s;heap=%zu;live=%.4f;bad=%u", p->bytes, p->one_in,
            p->random ? "random" : "regular", heap_bytes, live, wrong);
}

/* Fills the heap and frees all but those that stay. *live: the share of the heap's bytes that they have */
static int put_pins(bench_fill *f, const pins *p, cl_kernel thin, size_t heap_bytes, double *live) {
  int status = 0;
  cl_uint failed = 0, wrong = 0, counters[2];
  BENCH_TRY(bench_fill_run(f, p->bytes, p->bytes, &failed, &wrong));
  BENCH_TRY(bench_counters_clear(f->b));
  BENCH_TRY(bench_arguments(thin, "hmuum", f->heap, f->refs, p->one_in, p->random, f->b->counters));
  BENCH_TRY(bench_launch(f->b, thin, f->handed, NULL));
  BENCH_TRY(bench_counters_read(f->b, counters));
  *live = (double)counters[0] * p->bytes / (double)heap_bytes;
  status = wrong != 0;
cleanup:
  return status;
}

/* Rows of one kind of pins, each on the heap as the one before has left it. That the last row still finds the pins whole is
 * looked at before they go. */
static int pin_rows(bench *b, const pins *p, xmc_heap heap, size_t heap_bytes) {
  int status = 0;
  cl_int error;
  double live;
  cl_uint wrong = 0;
  bench_fill kept = {0}, other = {0};
  size_t blocks = heap_bytes / p->bytes;
  cl_kernel thin = bench_kernel(b, heap, "pin.cl", "thin", 0);
  cl_mem refs = clCreateBuffer(b->context, CL_MEM_READ_WRITE,
                               (blocks + 2 * BENCH_FILL_ITEMS) * sizeof(cl_ulong), NULL, &error);
  BENCH_CL(error);
  BENCH_CL(xmcResetHeap(heap, b->queue));
  BENCH_TRY(thin == NULL);
  BENCH_TRY(bench_fill_open(&kept, b, heap, refs, blocks));
  BENCH_TRY(bench_fill_open(&other, b, heap, NULL, heap_bytes / 16));
  bench_begin("pin: 1 in %u blocks of %u bytes stays", p->one_in, p->bytes);
  BENCH_TRY(put_pins(&kept, p, thin, heap_bytes, &live));
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    cl_uint failed = 0;
    bench_begin("pin: 1 in %u blocks of %u bytes stays, then %u bytes", p->one_in, p->bytes, sizes[i]);
    other.items = bench_fill_items(heap_bytes / sizes[i]);
    BENCH_TRY(bench_fill_run(&other, sizes[i], sizes[i], &failed, &wrong));
    if (i + 1 == sizeof sizes / sizeof *sizes)
      BENCH_TRY(bench_fill_check(&kept, &wrong));
    row(b, p, heap_bytes, sizes[i], other.items, other.handed - failed, live, wrong);
    BENCH_TRY(bench_fill_empty(&other, NULL));
  }
  BENCH_TRY(bench_fill_empty(&kept, NULL));
cleanup:
  bench_fill_close(&kept);
  bench_fill_close(&other);
  if (thin)
    clReleaseKernel(thin);
  if (refs)
    clReleaseMemObject(refs);
  return status;
}

int bench_run_pin(bench *b) {
  static const pins all[] = {{48, 1000, 1}, {48, 100, 1}, {48, 10, 1},
                             {64, 1000, 0}, {64, 100, 0}, {64, 10, 0}};
  size_t bytes = b->options.heap ? b->options.heap : (size_t)(b->cpu ? 64 : 1024) << 20;
  int status = 0;
  xmc_heap heap = bench_heap_open(b, bytes, -1, -2);
  if (heap == NULL)
    return 1;
  for (size_t i = 0; i < sizeof all / sizeof *all && !status; i++)
    status = pin_rows(b, &all[i], heap, bytes);
  return bench_heap_close(b, heap) || status;
}
