/* SPDX-License-Identifier: MIT */
#include "ageing.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { MOST_THREADS = 64 };

typedef struct item {
  uint32_t seed, count, live;
  uint32_t *blocks[BENCH_AGEING_BLOCKS];
} item;

typedef struct run {
  const ageing_allocator *allocator;
  ageing_result *result;
  item *items;
  uint32_t **places;
  uint32_t item_count, place_count;
  unsigned threads, phase; /* the last phase frees all */
  const ageing_form *form;
  int stopped;
  pthread_barrier_t start, done;
  unsigned long refused, wrong; /* atomic, as is the rest */
  uint64_t balance;             /* tags written less tags found */
} run;

typedef struct worker {
  run *run;
  unsigned number;
  pthread_t thread;
} worker;

/* What a thread counts by itself */
typedef struct counts {
  unsigned long refused, wrong;
  uint64_t balance;
} counts;

static uint32_t bytes_of(const uint32_t *p) {
  return p[1] < BENCH_AGEING_LOW || p[1] > BENCH_AGEING_HIGH || p[0] != p[p[1] / 4 - 1] ? 0 : p[1];
}

static void consume(run *r, uint32_t *p, counts *c) {
  if (p == NULL)
    return;
  c->wrong += bytes_of(p) == 0;
  c->balance -= p[0];
  r->allocator->release(r->allocator->heap, p);
}

static void free_one(run *r, item *it, uint32_t seed, counts *c) {
  uint32_t **at = &it->blocks[(seed >> 4) % it->count], *p = *at, bytes = bytes_of(p);
  it->live -= bytes < it->live ? bytes : it->live;
  *at = it->blocks[--it->count];
  if (r->form->others)
    p = __atomic_exchange_n(&r->places[bench_hash(seed) & (r->place_count - 1)], p, __ATOMIC_ACQ_REL);
  consume(r, p, c);
}

static void one_phase(run *r, uint32_t id, counts *c) {
  item *it = &r->items[id];
  for (uint32_t round = 0; round < BENCH_AGEING_ROUNDS; round++) {
    uint32_t seed = it->seed = bench_ageing_next(it->seed), bytes = bench_ageing_size(r->phase, seed);
    uint32_t *p, tag = bench_ageing_tag(id, r->item_count, r->phase, round);
    if (bench_ageing_frees(seed, it->count, it->live, bytes)) {
      free_one(r, it, seed, c);
      continue;
    }
    p = r->allocator->allocate(r->allocator->heap, bytes);
    if (p == NULL) {
      c->refused++;
      continue;
    }
    p[0] = p[bytes / 4 - 1] = tag;
    p[1] = bytes;
    c->balance += tag;
    it->blocks[it->count++] = p;
    it->live += bytes;
  }
}

static void end(run *r, uint32_t id, counts *c) {
  item *it = &r->items[id];
  while (it->count)
    consume(r, it->blocks[--it->count], c);
  if (id < r->place_count)
    consume(r, r->places[id], c);
}

static void *work(void *data) {
  worker *w = data;
  run *r = w->run;
  uint32_t first = (uint32_t)((uint64_t)r->item_count * w->number / r->threads);
  uint32_t last = (uint32_t)((uint64_t)r->item_count * (w->number + 1) / r->threads);
  for (;;) {
    counts c = {0};
    pthread_barrier_wait(&r->start);
    if (r->stopped)
      return NULL;
    for (uint32_t id = first; id < last; id++)
      (r->phase < BENCH_AGEING_PHASES ? one_phase : end)(r, id, &c);
    __atomic_fetch_add(&r->refused, c.refused, __ATOMIC_RELAXED);
    __atomic_fetch_add(&r->wrong, c.wrong, __ATOMIC_RELAXED);
    __atomic_fetch_add(&r->balance, c.balance, __ATOMIC_RELAXED);
    pthread_barrier_wait(&r->done);
  }
}

static double milliseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void phases(run *r) {
  ageing_result *result = r->result;
  for (r->phase = 0; r->phase <= BENCH_AGEING_PHASES; r->phase++) {
    double began = milliseconds();
    r->refused = 0;
    pthread_barrier_wait(&r->start);
    pthread_barrier_wait(&r->done);
    if (r->phase == BENCH_AGEING_PHASES)
      break;
    result->ms[r->phase] = milliseconds() - began;
    result->refused[r->phase] = r->refused;
    for (uint32_t i = 0; i < r->item_count; i++)
      result->live[r->phase] += r->items[i].live;
    if (r->refused && r->form->stops)
      r->phase = BENCH_AGEING_PHASES - 1;
  }
  result->wrong = r->wrong + (r->balance != 0);
}

/* Memory of the run itself, in place before the first block is asked for, and not from the allocator that is measured */
static void *table(size_t bytes) {
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

int ageing_run(const ageing_allocator *allocator, uint32_t items, const ageing_form *form,
               void (*ready)(void *data), void *data, ageing_result *result) {
  static worker workers[MOST_THREADS];
  run r = {.allocator = allocator, .result = result, .item_count = items, .form = form};
  size_t item_bytes = items * sizeof *r.items, place_bytes;
  r.place_count = ageing_places(items);
  place_bytes = r.place_count * sizeof *r.places;
  r.items = table(item_bytes);
  r.places = table(place_bytes);
  memset(result, 0, sizeof *result);
  r.threads = form->threads < MOST_THREADS ? form->threads : MOST_THREADS;
  pthread_barrier_init(&r.start, NULL, r.threads + 1);
  pthread_barrier_init(&r.done, NULL, r.threads + 1);
  if (r.items == NULL || r.places == NULL)
    return 1;
  for (uint32_t i = 0; i < items; i++)
    r.items[i].seed = bench_ageing_seed(i);
  for (unsigned i = 0; i < r.threads; i++) {
    workers[i] = (worker){.run = &r, .number = i};
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
      fprintf(stderr, "ageing: no thread\n");
      exit(1); /* the threads that are there wait in this frame */
    }
  }
  if (ready)
    ready(data);
  phases(&r);
  r.stopped = 1;
  pthread_barrier_wait(&r.start);
  for (unsigned i = 0; i < r.threads; i++)
    pthread_join(workers[i].thread, NULL);
  munmap(r.items, item_bytes);
  munmap(r.places, place_bytes);
  return 0;
}
