/* SPDX-License-Identifier: MIT */
/* Lanes by ucontext for their stacks, and _setjmp to change between them. */
#undef _FORTIFY_SOURCE /* whose _longjmp refuses to go to other stacks */
#include "simt.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK_BYTES (32u << 10)
enum { RUNS, MATCHES, SHARES, ENDED };

typedef struct lane {
  jmp_buf at;
  int state;
  const char *place; /* MATCHES */
  uint64_t key;
  simt_set set;   /* SHARES: with whom; then the result's */
  uint32_t value; /* given */
} lane;

static struct {
  simt *s;
  lane *lanes;
  char *stacks;
  jmp_buf back;
  uint32_t current;
  uint64_t random;
  void (*run)(uint32_t number, void *data);
  void *data;
} now;

uint32_t simt_number(void) { return now.s ? now.current : 0; }
uint64_t simt_now(void) { return now.s ? now.s->ticks : 0; }

uint32_t simt_random(void) {
  now.random ^= now.random << 13;
  now.random ^= now.random >> 7;
  now.random ^= now.random << 17;
  return (uint32_t)(now.random * 0x2545f4914f6cdd1du >> 32);
}

static void leave(void) {
  if (!_setjmp(now.lanes[now.current].at))
    _longjmp(now.back, 1);
}

void simt_step(void) {
  if (now.s)
    leave();
}

simt_set simt_matching(const char *place, uint64_t key) {
  lane *me = &now.lanes[now.current];
  me->state = MATCHES;
  me->place = place;
  me->key = key;
  leave();
  return me->set;
}

static lane *share(simt_set set, uint32_t value) {
  lane *me = &now.lanes[now.current];
  if (!(set >> now.current % SIMT_LANES & 1u))
    abort();
  me->state = SHARES;
  me->set = set;
  me->value = value;
  leave();
  return me - now.current % SIMT_LANES; /* the sub-group's first; values stay until the next turn of all */
}

uint32_t simt_shuffle(simt_set set, uint32_t value, uint32_t from) {
  uint32_t result = share(set, value)[from].value;
  share(set, value); /* nobody changes a value before all have read */
  return result;
}

uint32_t simt_or(simt_set set, uint32_t value) {
  lane *group = share(set, value);
  uint32_t result = 0, i;
  for (i = 0; i < SIMT_LANES; i++)
    if (set >> i & 1u)
      result |= group[i].value;
  share(set, value);
  return result;
}

static void lane_main(void) {
  now.run(now.current, now.data);
  now.lanes[now.current].state = ENDED;
  _longjmp(now.back, 1);
}

static void go_on(uint32_t number) {
  now.current = number;
  if (!_setjmp(now.back))
    _longjmp(now.lanes[number].at, 1);
}

/* Lets those go on whose wait is over. Returns whether there were any. */
static int resolve(lane *group) {
  uint32_t i, j, running = 0, any = 0;
  simt_set set;
  for (i = 0; i < SIMT_LANES; i++) {
    running |= group[i].state == RUNS;
    if (group[i].state != SHARES)
      continue;
    for (set = group[i].set, j = 0; j < SIMT_LANES; j++)
      if (set >> j & 1u && (group[j].state != SHARES || group[j].set != set))
        break;
    if (j < SIMT_LANES)
      continue;
    for (j = 0; j < SIMT_LANES; j++)
      if (set >> j & 1u)
        group[j].state = RUNS;
    running = any = 1;
  }
  if (running && !(now.s->diverge_one_in && simt_random() % now.s->diverge_one_in == 0))
    return (int)any;
  for (i = 0; i < SIMT_LANES; i++) {
    if (group[i].state != MATCHES)
      continue;
    for (set = 0, j = i; j < SIMT_LANES; j++)
      if (group[j].state == MATCHES && group[j].place == group[i].place && group[j].key == group[i].key)
        set |= (simt_set)1 << j;
    for (j = i; j < SIMT_LANES; j++)
      if (set >> j & 1u) {
        group[j].set = set;
        group[j].state = RUNS;
      }
    any = 1;
  }
  return (int)any;
}

/* One tick of a sub-group: each lane to its next access. 0: all have ended. */
static int tick(uint32_t group) {
  lane *lanes = &now.lanes[group * SIMT_LANES];
  uint8_t stepped[SIMT_LANES] = {0};
  uint32_t i, alive = 0;
  do
    for (i = 0; i < SIMT_LANES; i++) {
      if (lanes[i].state == RUNS && !stepped[i]) {
        go_on(group * SIMT_LANES + i);
        stepped[i] = lanes[i].state == RUNS;
      }
    }
  while (resolve(lanes));
  for (i = 0; i < SIMT_LANES; i++)
    alive |= lanes[i].state != ENDED;
  return (int)alive;
}

void simt_run(simt *s, void (*run)(uint32_t number, void *data), void *data) {
  uint32_t count = s->groups * SIMT_LANES, g, alive = 1;
  volatile uint32_t i;
  ucontext_t start;
  if (now.s || !count)
    abort();
  memset(&now, 0, sizeof now);
  now.lanes = calloc(count, sizeof *now.lanes);
  now.stacks =
      mmap(NULL, (size_t)count * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!now.lanes || now.stacks == MAP_FAILED)
    abort();
  now.run = run;
  now.data = data;
  now.random = s->seed * 2u + 1u;
  now.s = s;
  s->ticks = 0;
  s->hung = 0;
  for (i = 0; i < count; i++) { /* each up to its first access */
    getcontext(&start);
    start.uc_stack.ss_sp = now.stacks + (size_t)i * STACK_BYTES;
    start.uc_stack.ss_size = STACK_BYTES;
    makecontext(&start, lane_main, 0);
    now.current = i;
    if (!_setjmp(now.back))
      setcontext(&start);
  }
  for (; alive && !s->hung; s->ticks++) {
    alive = 0;
    for (g = 0; g < s->groups; g++)
      alive |= (uint32_t)tick(g);
    s->hung = s->ticks >= (s->most_ticks ? s->most_ticks : 1000000u);
  }
  munmap(now.stacks, (size_t)count * STACK_BYTES);
  free(now.lanes);
  now.s = NULL;
}
