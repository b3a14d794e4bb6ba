/* SPDX-License-Identifier: MIT */
/* The scheduler by ucontext; AddressSanitizer is told of every change of stack. */
#include "schedule.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBERS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBERS 1
#endif
#endif
#ifdef FIBERS
#include <sanitizer/common_interface_defs.h>
#endif

#define STACK_BYTES (256u << 10)
#define MAIN SCHEDULE_THREADS

typedef struct fiber {
  ucontext_t context;
  char *stack;
  size_t stack_bytes;
  void *shadow; /* of AddressSanitizer */
  int alive;
} fiber;

static struct {
  schedule *s;
  fiber fibers[SCHEDULE_THREADS + 1];
  int count, current;
  void (*run)(int number, void *data);
  void *data;
  uint64_t random, total;
  size_t choice;
} now;

static void arrived(void) {
#ifdef FIBERS
  const void *bottom;
  size_t size;
  __sanitizer_finish_switch_fiber(now.fibers[now.current].shadow, &bottom, &size);
  if (now.fibers[MAIN].stack_bytes == 0) { /* the first thread comes from the main one */
    now.fibers[MAIN].stack = (char *)bottom;
    now.fibers[MAIN].stack_bytes = size;
  }
#endif
}

static void change_to(int next) {
  int last = now.current;
  if (next == last)
    return;
  now.current = next;
#ifdef FIBERS
  __sanitizer_start_switch_fiber(now.fibers[last].alive ? &now.fibers[last].shadow : NULL,
                                 now.fibers[next].stack, now.fibers[next].stack_bytes);
#endif
  swapcontext(&now.fibers[last].context, &now.fibers[next].context);
  arrived();
}

static uint64_t next_random(void) {
  now.random ^= now.random << 13;
  now.random ^= now.random >> 7;
  now.random ^= now.random << 17;
  return now.random * 0x2545f4914f6cdd1du >> 32;
}

/* One of the others that are alive, or MAIN */
static int another(uint64_t number) {
  int alive[SCHEDULE_THREADS], n = 0, i;
  for (i = 0; i < now.count; i++)
    if (now.fibers[i].alive && i != now.current)
      alive[n++] = i;
  return n ? alive[number % (unsigned)n] : MAIN;
}

static void fiber_main(void) {
  arrived();
  now.run(now.current, now.data);
  now.fibers[now.current].alive = 0;
  change_to(another(next_random()));
  abort(); /* nobody comes back here */
}

int schedule_thread(void) { return now.s ? now.current : 0; }

void schedule_step(void) {
  schedule *s = now.s;
  int next;
  if (!s || now.current == MAIN)
    return;
  if (++now.total >= (s->most_steps ? s->most_steps : 100000000u)) {
    s->hung = 1;
    change_to(MAIN);
  }
  if (++s->steps[now.current] == s->stop_step && now.current == s->stop_thread) {
    s->stopped = 1;
    now.fibers[now.current].alive = 0;
    change_to(another(next_random()));
  }
  if (s->choices && now.choice < s->choice_count) {
    uint8_t choice = s->choices[now.choice++];
    if (!(choice & 1u))
      return;
    next = another(choice >> 1);
  } else {
    if (!s->switch_one_in || next_random() % s->switch_one_in)
      return;
    next = another(next_random());
  }
  if (next != MAIN)
    change_to(next);
}

static void fiber_make(fiber *f) {
  f->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (f->stack == MAP_FAILED || getcontext(&f->context) != 0)
    abort();
  f->stack_bytes = STACK_BYTES;
  f->alive = 1;
  f->context.uc_stack.ss_sp = f->stack;
  f->context.uc_stack.ss_size = STACK_BYTES;
  makecontext(&f->context, fiber_main, 0);
}

void schedule_run(schedule *s, int count, void (*run)(int number, void *data), void *data) {
  int i;
  if (now.s || count < 1 || count > SCHEDULE_THREADS)
    abort();
  memset(&now, 0, sizeof now);
  memset(s->steps, 0, sizeof s->steps);
  s->stopped = s->hung = 0;
  now.count = count;
  now.run = run;
  now.data = data;
  now.random = s->seed * 2u + 1u;
  for (i = 0; i < count; i++)
    fiber_make(&now.fibers[i]);
  now.fibers[MAIN].alive = 1;
  now.current = MAIN;
  now.s = s;
  change_to(s->stop_thread >= 0 ? s->stop_thread : 0);
  now.s = NULL;
  for (i = 0; i < count; i++)
    munmap(now.fibers[i].stack, STACK_BYTES);
}
