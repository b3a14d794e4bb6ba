/* SPDX-License-Identifier: MIT */
/* Sub-groups on the host: each lane a user-level thread, all of them in lock step.
 *
 *   a tick        sub-group 0              sub-group 1           …
 *                 lane 0   1   2   …       lane 0   1   2   …
 *                      a   a   .           a   a   a              a: one atomic each
 *                          .: waits in a lane operation
 *
 * A lane that comes to simt_matching waits until no lane of its sub-group can go on otherwise; then those with the
 * same place in the program and the same key are one set. Now and then (diverge_one_in) it does not wait for the
 * others, as lanes that parted do on devices. Every tick stands for one access to memory, of all lanes at the same
 * time: how many ticks a program takes is what it would wait for on a device without limits.
 */
#ifndef XMC_TEST_SIMT_H
#define XMC_TEST_SIMT_H
#include <stddef.h>
#include <stdint.h>

#ifndef SIMT_LANES /* of a sub-group: 32, or 64 in a program that defines it before and includes simt.c */
#define SIMT_LANES 32u
#endif
typedef uint64_t simt_set; /* lanes of a sub-group, a bit each */

typedef struct simt {
  /* set by the caller */
  uint32_t groups; /* sub-groups, all at the same time */
  uint64_t seed;
  uint32_t diverge_one_in; /* 0: never */
  uint64_t most_ticks;     /* before it counts as hanging; 0: a million */
  /* results */
  uint64_t ticks;
  int hung;
} simt;

/* Runs run(number, data) in every lane of every sub-group until all have ended. One at a time a process. */
void simt_run(simt *s, void (*run)(uint32_t number, void *data), void *data);

void simt_step(void);
uint32_t simt_number(void); /* of the running lane, counted over all sub-groups; 0 outside of simt_run */
uint32_t simt_random(void);
uint64_t simt_now(void); /* ticks so far */
simt_set simt_matching(const char *place, uint64_t key);
uint32_t simt_shuffle(simt_set lanes, uint32_t value, uint32_t lane); /* lanes: the set of callers */
uint32_t simt_or(simt_set lanes, uint32_t value);
#endif
