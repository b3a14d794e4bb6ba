/* SPDX-License-Identifier: MIT */
/* kernels/ageing.cl in C, by threads of the host, on any allocator. */
#ifndef BENCH_AGEING_H
#define BENCH_AGEING_H
#include "kernels/common.h"
#include <stddef.h>
#include <stdint.h>

/* What a run of all phases found */
typedef struct ageing_result {
  double ms[BENCH_AGEING_PHASES];
  unsigned long refused[BENCH_AGEING_PHASES]; /* requests */
  size_t live[BENCH_AGEING_PHASES];           /* bytes asked for that were live at the phase's end */
  unsigned long
      wrong; /* blocks that did not hold what was written; 1 more if they were not freed once each */
} ageing_result;

/* Who runs the program, who frees, and for how long */
typedef struct ageing_form {
  unsigned threads; /* of the host; xmc-bench: 0: the device's work-items */
  int others;       /* frees by other work-items than those that allocated */
  int stops;        /* no further phase once requests were refused */
} ageing_form;

typedef struct ageing_allocator {
  void *(*allocate)(void *heap, size_t bytes);
  void (*release)(void *heap, void *block);
  void *heap;
} ageing_allocator;

/* Runs the phases with form->threads threads, each of which takes an equal run of `items` work-items, and frees all blocks. `ready`, if
 * it is not NULL, is called when all threads and tables are there, before the first block. 0, or 1: no memory for the tables. */
int ageing_run(const ageing_allocator *allocator, uint32_t items, const ageing_form *form,
               void (*ready)(void *data), void *data, ageing_result *result);

/* Places by which `items` work-items hand over blocks: a power of two. */
static inline uint32_t ageing_places(uint32_t items) {
  uint32_t places = 1;
  while (2 * places <= items / BENCH_AGEING_SHARERS)
    places *= 2;
  return places;
}
#endif
