/* SPDX-License-Identifier: MIT */
/* A deterministic scheduler: user-level threads of which one runs at a time, switched at every atomic.
 *
 *   thread 0   --a--a--.              .--a--a--…
 *   thread 1           '--a--.  .--a--'             a: schedule_step(), XMC_HOST_STEP of the core
 *   thread 2                 '--'
 *
 * Who runs next is a choice: of a seed, or of a list of bytes (then of the seed 1 when they are used up). The
 * same choices give the same run. One thread may be stopped for ever before its n-th step.
 */
#ifndef XMC_TEST_SCHEDULE_H
#define XMC_TEST_SCHEDULE_H
#include <stddef.h>
#include <stdint.h>

#define SCHEDULE_THREADS 8

typedef struct schedule {
  /* set by the caller */
  uint64_t seed;
  unsigned switch_one_in; /* a step switches with this chance; 1: always; 0: only where a thread ends */
  const uint8_t *choices; /* or NULL: a byte a step, its low bit says whether to switch */
  size_t choice_count;
  int stop_thread;     /* -1: none */
  uint64_t stop_step;  /* the thread does not do its step of this number, from 1, nor any later one */
  uint64_t most_steps; /* of a run, before it counts as hanging; 0: a hundred million */
  /* results */
  uint64_t steps[SCHEDULE_THREADS];
  int stopped; /* 1: stop_thread came to its stop_step */
  int hung;    /* 1: most_steps was reached; nothing of the run's data can be trusted to be complete */
} schedule;

/* Runs run(number, data) in `count` threads until all have ended or stopped. One at a time a process. */
void schedule_run(schedule *s, int count, void (*run)(int number, void *data), void *data);

/* Called before each atomic; outside of schedule_run nothing happens. */
void schedule_step(void);

/* The number of the running thread; 0 outside. */
int schedule_thread(void);
#endif
