/* SPDX-License-Identifier: MIT */
/* The workloads on the C library's malloc, or on whichever malloc was preloaded, with host threads: each
 * takes an equal run of what are work-items elsewhere. */
#include "peer.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

/* Through pointers, so that the compiler cannot pair malloc with free and drop both. */
static void *(*volatile do_malloc)(size_t) = malloc;
static void (*volatile do_free)(void *) = free;

typedef struct job job;
struct job {
  void (*work)(job *j, size_t first, size_t end);
  const peer_case *c;
  void **blocks;
  unsigned threads;
  unsigned seed;  /* generate: of the round */
  uint64_t found; /* larson: the tags of all blocks, less those that were found; atomic */
  pthread_barrier_t start, done;
  unsigned long nulls, bad; /* atomic */
  int stop;
};

typedef struct worker {
  job *job;
  unsigned index;
  pthread_t thread;
  double began, ended;
} worker;

static void count_failures(job *j, unsigned long nulls, unsigned long bad) {
  if (nulls)
    __atomic_fetch_add(&j->nulls, nulls, __ATOMIC_RELAXED);
  if (bad)
    __atomic_fetch_add(&j->bad, bad, __ATOMIC_RELAXED);
}

static void do_pairs(job *j, size_t first, size_t end) {
  void *(*allocate)(size_t) = do_malloc;
  void (*release)(void *) = do_free;
  size_t bytes = j->c->bytes;
  unsigned long nulls = 0;
  for (size_t id = first; id < end; id++) {
    volatile uint32_t *p = allocate(bytes);
    if (p == NULL) {
      nulls++;
    } else {
      *p = (uint32_t)id;
      release((void *)p);
    }
  }
  count_failures(j, nulls, 0);
}

static void do_allocs(job *j, size_t first, size_t end) {
  void *(*allocate)(size_t) = do_malloc;
  unsigned low = j->c->low, high = j->c->bytes;
  unsigned long nulls = 0;
  for (size_t id = first; id < end; id++) {
    uint32_t *p = allocate(low == high ? high : bench_size((uint32_t)id, low, high));
    if (p == NULL)
      nulls++;
    else
      *p = (uint32_t)id;
    j->blocks[id] = p;
  }
  count_failures(j, nulls, 0);
}

static void do_checks(job *j, size_t first, size_t end) {
  unsigned long bad = 0;
  for (size_t id = first; id < end; id++)
    bad += j->blocks[id] && *(uint32_t *)j->blocks[id] != (uint32_t)id;
  count_failures(j, 0, bad);
}

static void do_frees(job *j, size_t first, size_t end) {
  void (*release)(void *) = do_free;
  for (size_t id = first; id < end; id++)
    release(j->blocks[id]);
}

static void do_overlap(job *j, size_t first, size_t end) {
  void *(*allocate)(size_t) = do_malloc;
  unsigned long nulls = 0;
  for (size_t id = first; id < end; id++) {
    uint32_t *p = allocate(BENCH_OVERLAP_WORDS * 4u);
    for (unsigned i = 0; p && i < BENCH_OVERLAP_WORDS; i++)
      p[i] = (uint32_t)id;
    nulls += p == NULL;
    j->blocks[id] = p;
  }
  count_failures(j, nulls, 0);
}

static void churn_one(uint32_t id, unsigned long *nulls, unsigned long *bad) {
  uint32_t *slot[BENCH_SLOTS] = {0}, tag[BENCH_SLOTS] = {0}, seed = bench_hash(id);
  for (uint32_t round = 0; round < PEER_ROUNDS; round++) {
    unsigned s;
    seed = bench_next(seed);
    s = seed >> 29;
    if (slot[s]) {
      *bad += *slot[s] != tag[s];
      do_free(slot[s]);
      slot[s] = NULL;
    } else {
      slot[s] = do_malloc(BENCH_CHURN_LOW + (seed >> 8) % (BENCH_CHURN_HIGH - BENCH_CHURN_LOW + 1u));
      tag[s] = id * BENCH_SLOTS + s + round * 0x10001u;
      if (slot[s])
        *slot[s] = tag[s];
      else
        ++*nulls;
    }
  }
  for (unsigned s = 0; s < BENCH_SLOTS; s++) {
    *bad += slot[s] && *slot[s] != tag[s];
    do_free(slot[s]);
  }
}

static void do_churn(job *j, size_t first, size_t end) {
  unsigned long nulls = 0, bad = 0;
  for (size_t id = first; id < end; id++)
    churn_one((uint32_t)id, &nulls, &bad);
  count_failures(j, nulls, bad);
}

/* ---- generate ---- */

static void do_make(job *j, size_t first, size_t end) {
  void *(*allocate)(size_t) = do_malloc;
  unsigned long nulls = 0;
  for (size_t id = first; id < end; id++) {
    unsigned bytes = bench_wanted((uint32_t)id, j->seed, j->c->low, j->c->bytes);
    uint32_t *p = allocate(bytes);
    if (p == NULL)
      nulls++;
    else
      p[0] = p[bytes / 4 - 1] = (uint32_t)id;
    j->blocks[id] = p;
  }
  count_failures(j, nulls, 0);
}

static void do_marks(job *j, size_t first, size_t end) {
  unsigned long bad = 0;
  for (size_t id = first; id < end; id++) {
    const uint32_t *p = j->blocks[id];
    unsigned last = bench_wanted((uint32_t)id, j->seed, j->c->low, j->c->bytes) / 4 - 1;
    bad += p && (p[0] != (uint32_t)id || p[last] != (uint32_t)id);
  }
  count_failures(j, 0, bad);
}

/* ---- larson: as kernels/handoff.cl ---- */

static void consume(uint32_t *p, uint64_t *found, unsigned long *bad) {
  if (p == NULL)
    return;
  *bad += p[1] > BENCH_CHURN_HIGH / 4 || p[0] != p[p[1] - 1];
  *found -= p[0];
  do_free(p);
}

static void do_larson(job *j, size_t first, size_t end) {
  unsigned long nulls = 0, bad = 0;
  uint64_t found = 0;
  for (size_t id = first; id < end; id++) {
    uint32_t seed = bench_hash((uint32_t)id);
    for (uint32_t round = 0; round < PEER_ROUNDS; round++) {
      uint32_t words, *p;
      seed = bench_next(seed);
      words = bench_larson_size(seed) / 4;
      p = do_malloc(4 * words);
      if (p == NULL) {
        nulls++;
        continue;
      }
      p[0] = p[words - 1] = (uint32_t)id * PEER_ROUNDS + round + 1;
      p[1] = words;
      found += p[0];
      consume(__atomic_exchange_n(&j->blocks[bench_hash(seed) & (j->c->count - 1)], p, __ATOMIC_ACQ_REL),
              &found, &bad);
    }
  }
  __atomic_fetch_add(&j->found, found, __ATOMIC_RELAXED);
  count_failures(j, nulls, bad);
}

static void do_drain(job *j, size_t first, size_t end) {
  unsigned long bad = 0;
  uint64_t found = 0;
  for (size_t i = first; i < end; i++)
    consume(j->blocks[i], &found, &bad);
  __atomic_fetch_add(&j->found, found, __ATOMIC_RELAXED);
  count_failures(j, 0, bad);
}

static void *worker_main(void *argument) {
  worker *w = argument;
  job *j = w->job;
  for (;;) {
    pthread_barrier_wait(&j->start);
    if (j->stop)
      return NULL;
    w->began = peer_seconds();
    j->work(j, j->c->count * w->index / j->threads, j->c->count * (w->index + 1) / j->threads);
    w->ended = peer_seconds();
    pthread_barrier_wait(&j->done);
  }
}

/* Milliseconds from the first thread's start to the last one's end. */
static double phase(job *j, worker *workers, void (*work)(job *, size_t, size_t)) {
  double began, ended;
  j->work = work;
  pthread_barrier_wait(&j->start);
  pthread_barrier_wait(&j->done);
  began = workers[0].began;
  ended = workers[0].ended;
  for (unsigned i = 1; i < j->threads; i++) {
    began = workers[i].began < began ? workers[i].began : began;
    ended = workers[i].ended > ended ? workers[i].ended : ended;
  }
  return 1e3 * (ended - began);
}

/* The caller's time of a phase, with the threads' waking and waiting: generate's is that of whole launches. */
static double wall(job *j, worker *workers, void (*work)(job *, size_t, size_t)) {
  double began = peer_seconds();
  phase(j, workers, work);
  return 1e3 * (peer_seconds() - began);
}

static void run_generate(const peer_options *o, const peer_case *c, job *j, worker *workers) {
  peer_series series = {0};
  for (j->seed = 1; peer_more(&series, o); j->seed += 0x9e3779b9u) {
    double ms = wall(j, workers, do_make);
    phase(j, workers, do_marks);
    peer_sample(&series, o, ms + wall(j, workers, do_frees));
  }
  peer_print(o, c, "", &series, j->nulls, j->bad);
}

static void run_larson(const peer_options *o, const peer_case *c, job *j, worker *workers) {
  peer_series series = {0};
  j->found = 0;
  while (peer_more(&series, o))
    peer_sample(&series, o, phase(j, workers, do_larson));
  phase(j, workers, do_drain);
  peer_print(o, c, "", &series, j->nulls, j->bad + (j->found != 0));
}

static void run_case(const peer_options *o, const peer_case *c, job *j, worker *workers) {
  peer_series series = {0}, frees = {0};
  j->c = c;
  j->nulls = j->bad = 0;
  if (strcmp(c->workload, "ageingpeak") == 0) {
    peer_ageing(o, c);
    return;
  }
  if (strcmp(c->workload, "W1") == 0 || strcmp(c->workload, "W6churn") == 0) {
    while (peer_more(&series, o))
      peer_sample(&series, o, phase(j, workers, c->workload[1] == '1' ? do_pairs : do_churn));
    peer_print(o, c, "", &series, j->nulls, j->bad);
    return;
  }
  j->blocks = calloc(c->count, sizeof *j->blocks);
  if (j->blocks == NULL)
    return;
  if (strcmp(c->workload, "generate") == 0 || strcmp(c->workload, "larson") == 0) {
    (c->workload[0] == 'g' ? run_generate : run_larson)(o, c, j, workers);
    free(j->blocks);
    return;
  }
  while (peer_more(&frees, o)) {
    peer_sample(&series, o, phase(j, workers, c->workload[1] == '7' ? do_overlap : do_allocs));
    phase(j, workers, do_checks);
    peer_sample(&frees, o, phase(j, workers, do_frees));
  }
  free(j->blocks);
  peer_print(o, c, c->workload[1] == '7' ? "" : "alloc", &series, j->nulls, j->bad);
  if (c->workload[1] != '7')
    peer_print(o, c, "free", &frees, j->nulls, j->bad);
}

/* Preloading fails quietly: each malloc is known by a function of its own. */
static int is_loaded(const char *name) {
  if (strcmp(name, "jemalloc") == 0)
    return dlsym(RTLD_DEFAULT, "mallctl") != NULL;
  if (strcmp(name, "mimalloc") == 0)
    return dlsym(RTLD_DEFAULT, "mi_version") != NULL;
  return 1;
}

int main(int argc, char **argv) {
  peer_options o;
  static worker workers[256];
  static job j;
  if (peer_helped("xmc-peer-cpu", argc, argv))
    return 0;
  if (peer_parse_options(&o, argc, argv) || o.threads > 256) {
    fprintf(stderr, "usage: xmc-peer-cpu NAME THREADS REPEAT SECONDS HEAP workload:count:bytes:detail…\n");
    return 2;
  }
  if (!is_loaded(o.name))
    return 127;
  j.threads = o.threads;
  pthread_barrier_init(&j.start, NULL, o.threads + 1);
  pthread_barrier_init(&j.done, NULL, o.threads + 1);
  for (unsigned i = 0; i < o.threads; i++) {
    workers[i].job = &j;
    workers[i].index = i;
    if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0)
      return 1;
  }
  for (int i = 6; i < argc; i++) {
    peer_case c;
    if (peer_parse_case(&c, argv[i])) {
      fprintf(stderr, "xmc-peer-cpu: bad case `%s`\n", argv[i]);
      return 2;
    }
    run_case(&o, &c, &j, workers);
  }
  j.stop = 1;
  pthread_barrier_wait(&j.start);
  for (unsigned i = 0; i < o.threads; i++)
    pthread_join(workers[i].thread, NULL);
  return 0;
}
