/* SPDX-License-Identifier: MIT */
/* Yardsticks of a heap that is used for long: the core as C on one thread, so that every figure is the same in every
 * run on every machine. Each figure is printed beside its limit, which is what the core reached when the limit was last
 * set; a figure beyond its limit ends the program with exit code 1. No figure is a time. */
#ifndef XMC_TEST_YARDSTICK_H
#define XMC_TEST_YARDSTICK_H
#include <stdint.h>
#define CORE_OWN_STEPS
#ifndef YARDSTICK_OWN_STEPS
static uint64_t yardstick_steps; /* accesses to shared words: what time an operation takes, counted */
#define XMC_HOST_STEP() ((void)yardstick_steps++)
static uint32_t yardstick_thread = 1; /* which thread's place in the heap the next calls use */
#define XMC_HOST_THREAD() yardstick_thread
#endif
#include "support/core.h"
#include "inspect/walk.h"

const char test_usage[] =
    "No arguments. Prints each figure beside its limit (tests/ageing). Exit 0: none is beyond its limit.\n";

static int yardstick_failed;

static inline void yardstick_line(const char *name, uint64_t figure, const char *how, uint64_t limit,
                                  int wrong) {
  printf("%-66s %13llu  %s %13llu%s\n", name, (unsigned long long)figure, how, (unsigned long long)limit,
         wrong ? "  WRONG" : "");
  yardstick_failed |= wrong;
}

/* A figure that must not be larger than `most` */
static inline void yardstick_most(const char *name, uint64_t figure, uint64_t most) {
  yardstick_line(name, figure, "at most", most, figure > most);
}

/* A figure that must not be smaller than `least` */
static inline void yardstick_least(const char *name, uint64_t figure, uint64_t least) {
  yardstick_line(name, figure, "at least", least, figure < least);
}

/* A heap as of a CPU device with 64 FIFOs a class at most */
static inline xmcHeap *yardstick_heap(size_t bytes) {
  return core_heap(bytes, CORE_SLOTS_DEFAULT, 0, XMC_COALESCE_CLASS);
}

/* Takes blocks of this size until one is refused, at most so many. Returns how many it got. */
static inline uint32_t yardstick_fill(xmcHeap *heap, uint32_t size, char **block, uint32_t most) {
  uint32_t count = 0;
  while (count < most && (block[count] = xmcMalloc(heap, size)))
    count++;
  return count;
}

/* Nothing is broken: the last words of a yardstick on its heap, which it also frees. */
static inline void yardstick_end(xmcHeap *heap) {
  xmc_heap_report report = {0};
  if (xmc_check_meta(heap, &report) != CL_SUCCESS) {
    printf("WRONG: the heap is damaged: %s\n", report.message);
    yardstick_failed = 1;
  }
  core_heap_free(heap);
}
#endif
