/* SPDX-License-Identifier: MIT */
/* Other allocators as child processes: xmc-peer-cpu with another malloc preloaded, xmc-peer-cuda. */
#include "bench.h"
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_CASES = 64 };

typedef struct peer {
  const char *name, *program;
  const char *preload; /* of which the first that is there */
} peer;

static const peer cpu_peers[] = {
    {"libc", "xmc-peer-cpu", NULL},
    {"jemalloc", "xmc-peer-cpu", "libjemalloc.so.2"},
    {"mimalloc", "xmc-peer-cpu", "libmimalloc.so.2 libmimalloc.so.2.0 libmimalloc.so.3"},
};
static const peer gpu_peers[] = {{"cuda", "xmc-peer-cuda", NULL}};

/* Has the peer of this device the workload? */
static int known(const bench *b, const char *key) {
  if (strncmp(key, "generate:", 9) == 0)
    return 1;
  if (strncmp(key, "larson:", 7) == 0)
    return b->cpu;
  if (strncmp(key, "ageingpeak:", 11) == 0)
    return b->cpu;
  return key[0] == 'W' && key[1] != '5';
}

/* The rows of the section that peers can run, each case once: W1, W2, W3, W6churn, W7overlap, generate, larson,
 * ageingpeak. */
static int cases(const bench *b, char list[MAX_CASES][96]) {
  int count = 0;
  for (size_t i = b->section; i < b->row_count; i++) {
    char text[96];
    const char *key = b->rows[i].key, *colon = strchr(key, ':');
    int c = 0, length = (int)(colon - key);
    if (b->rows[i].peer || !known(b, key))
      continue;
    if (key[1] == '2' || key[1] == '3') /* alloc and free together */
      length = 2;
    if (b->cpu && key[1] == '1' && colon && strrchr(key, ':')[1]) /* host threads have no lanes */
      continue;
    snprintf(text, sizeof text, "%.*s%s", length, key, colon);
    while (c < count && strcmp(list[c], text) != 0)
      c++;
    if (c == count && count < MAX_CASES)
      snprintf(list[count++], sizeof *list, "%s", text);
  }
  return count;
}

/* The directory of this program, where its peers are. */
static int own_directory(char *path, size_t room) {
  ssize_t length = readlink("/proc/self/exe", path, room - 1);
  char *slash;
  if (length <= 0)
    return 1;
  path[length] = 0;
  slash = strrchr(path, '/');
  if (slash == NULL)
    return 1;
  *slash = 0;
  return 0;
}

static void parse_line(bench *b, char *line) {
  char allocator[32], workload[24], params[160];
  const char *as;
  unsigned long threads, bytes, failures;
  double ms;
  if (sscanf(line, "%31[^,],%23[^,],%159[^,],%lu,%lu,%lf,%lu", allocator, workload, params, &threads, &bytes,
             &ms, &failures) != 7)
    return;
  as = workload;
  bench_add(b, allocator, workload, as, threads, bytes, ms, failures, "%s", params)->peer = BENCH_PEER;
}

static void child(const bench *b, const peer *p, int out, char list[][96], int first, int count) {
  static char path[4096], full[4200], threads[16], repeat[16], seconds[32], heap[32];
  const char *arguments[MAX_CASES + 8] = {full, p->name, threads, repeat, seconds, heap};
  int n = 6;
  if (own_directory(path, sizeof path))
    _exit(127);
  snprintf(full, sizeof full, "%s/%s", path, p->program);
  snprintf(threads, sizeof threads, "%u", b->cpu ? b->units : 1u);
  snprintf(repeat, sizeof repeat, "%d", b->options.repeat);
  snprintf(seconds, sizeof seconds, "%g", b->options.seconds);
  snprintf(heap, sizeof heap, "%zu", b->heap_bytes);
  for (int i = first; i < count; i++)
    arguments[n++] = list[i];
  if (p->preload)
    setenv("LD_PRELOAD", p->preload, 1);
  dup2(out, 1);
  if (p->preload &&
      !freopen("/dev/null", "w", stderr)) /* the loader complains of libraries that are not there */
    _exit(127);
  execv(full, (char *const *)arguments);
  _exit(127);
}

/* Reads the child's rows. Returns 1 if it went silent for longer than a row may take. */
static int listen_to(bench *b, int in) {
  char buffer[1024];
  size_t used = 0;
  for (;;) {
    struct pollfd poll_in = {.fd = in, .events = POLLIN};
    ssize_t got;
    char *end;
    if (poll(&poll_in, 1, (int)(1000 * b->options.peer_seconds)) == 0)
      return 1;
    got = read(in, buffer + used, sizeof buffer - 1 - used);
    if (got <= 0)
      return 0;
    used += (size_t)got;
    buffer[used] = 0;
    while ((end = strchr(buffer, '\n')) != NULL) {
      *end = 0;
      parse_line(b, buffer);
      used -= (size_t)(end + 1 - buffer);
      memmove(buffer, end + 1, used + 1);
    }
    if (used == sizeof buffer - 1)
      used = 0;
  }
}

/* The first case not in the rows since `from`: where the child was stopped. */
static int unfinished(const bench *b, size_t from, const peer *p, char list[][96], int first, int count) {
  for (; first < count; first++) {
    char key[96];
    int found = 0;
    const char *colon = strchr(list[first], ':');
    snprintf(key, sizeof key, "%.*s%s%s", (int)(colon - list[first]), list[first],
             list[first][1] == '2' || list[first][1] == '3' ? "free" : "", colon);
    for (size_t i = from; i < b->row_count && !found; i++)
      found = strcmp(b->rows[i].allocator, p->name) == 0 && strcmp(b->rows[i].key, key) == 0;
    if (!found)
      break;
  }
  return first;
}

/* Cases of one workload come by growing size: what took too long for one size is not tried for greater. */
static int skip_greater(char list[][96], int at, int count) {
  unsigned long size = 0, other = 0;
  int next = at + 1;
  sscanf(list[at], "%*[^:]:%*u:%lu", &size);
  while (next < count && strncmp(list[next], list[at], 2) == 0 &&
         sscanf(list[next], "%*[^:]:%*u:%lu", &other) == 1 && other >= size)
    next++;
  return next;
}

/* 1: there is no such peer here. */
static int run_peer(bench *b, const peer *p, char list[][96], int count) {
  int first = 0;
  size_t from = b->row_count;
  while (first < count) {
    int ends[2], slow, result = 0;
    pid_t pid;
    if (pipe(ends) != 0)
      return 1;
    bench_begin("%s, %d cases", p->name, count - first);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
      close(ends[0]);
      child(b, p, ends[1], list, first, count);
    }
    close(ends[1]);
    slow = pid > 0 && listen_to(b, ends[0]);
    close(ends[0]);
    if (pid < 0)
      return 1;
    if (slow)
      kill(pid, SIGKILL);
    waitpid(pid, &result, 0);
    first = unfinished(b, from, p, list, first, count);
    if (first < count && slow)
      fprintf(stderr, "\n%s: stopped at %s after %g s\n", p->name, list[first], b->options.peer_seconds);
    else if (first < count && WIFEXITED(result) && WEXITSTATUS(result) == 127 && from == b->row_count) {
      fprintf(stderr, "\n%s: not found, left out\n", p->name);
      return 1;
    } else if (first < count) {
      fprintf(stderr, "\n%s: failed at %s\n", p->name, list[first]);
    }
    first = first < count ? skip_greater(list, first, count) : count;
  }
  return 0;
}

void bench_peers(bench *b) {
  static char list[MAX_CASES][96];
  int count = cases(b, list), each = count;
  if (count == 0)
    return;
  /* A process has one peak of memory */
  if (strncmp(list[0], "ageing", 6) == 0)
    each = 1;
  for (size_t i = 0; b->cpu && i < sizeof cpu_peers / sizeof *cpu_peers; i++)
    for (int first = 0; first < count; first += each)
      if (run_peer(b, &cpu_peers[i], list + first, each))
        break;
  if (b->nvidia)
    for (size_t i = 0; i < sizeof gpu_peers / sizeof *gpu_peers; i++)
      run_peer(b, &gpu_peers[i], list, count);
}
