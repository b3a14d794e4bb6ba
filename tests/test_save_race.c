/* SPDX-License-Identifier: MIT */
/* Saves to one path at the same time, by threads and by processes, beside readers: each save succeeds, and whoever reads
 * finds one whole heap. Processes that are killed while they save leave no more than temporary files.
 *
 *   XMC_TEST_ROUNDS   saves of each thread and process; default 10, 40 or 1,000 by the scale
 */
#include "support/files.h"
#include "file/file_replace.h"
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAVERS = 2, BLOCKS = 100 };
static const size_t heap_bytes[SAVERS] = {4 << 20, 32 << 20};
static const char *program; /* this one */

static unsigned rounds_of(const test_env *env) {
  const char *wish = getenv("XMC_TEST_ROUNDS");
  int rounds = wish ? atoi(wish) : 0;
  return rounds > 0 ? (unsigned)rounds : (unsigned)test_scaled(env, 10, 40, 1000);
}

/* One of the two heaps, which differ in size and contents */
static xmc_heap new_heap(test_env *env, unsigned i) {
  xmc_heap heap = test_heap(env, heap_bytes[i]);
  unsigned k;
  CL_OK(xmcMapHeap(heap, NULL));
  for (k = 0; k < BLOCKS; k++)
    memset(xmcHostMalloc(heap, i ? 20000 : 300, NULL), (int)i + 1, i ? 20000 : 300);
  CL_OK(xmcUnmapHeap(heap, NULL));
  return heap;
}

/* Reads the file; 1 unless it is one of the two heaps. */
static unsigned is_bad(const char *path) {
  cl_ulong bytes = 0;
  cl_int status = test_read_heap_file(path, &bytes);
  if (status != CL_SUCCESS)
    print_message("%s\n", xmcErrorString(status));
  return status != CL_SUCCESS || (bytes != heap_bytes[0] && bytes != heap_bytes[1]);
}

/* ---- threads ---- */

typedef struct saver {
  pthread_t thread;
  pthread_barrier_t *barrier;
  xmc_heap heap;
  const char *path;
  unsigned rounds, failed;
  int *stop;
} saver;

static void *save_rounds(void *data) {
  saver *s = data;
  unsigned round;
  for (round = 0; round < s->rounds; round++) {
    pthread_barrier_wait(s->barrier);
    s->failed += xmcSaveHeap(s->heap, NULL, s->path) != CL_SUCCESS;
  }
  return NULL;
}

static void *read_until_stop(void *data) {
  saver *s = data;
  while (!__atomic_load_n(s->stop, __ATOMIC_ACQUIRE)) {
    s->failed += is_bad(s->path);
    s->rounds++;
  }
  return NULL;
}

/* `same`: both threads save the same heap. */
static void save_by_threads(test_env *env, int same) {
  const char *folder = test_folder(env), *path = test_path(env, folder, "heap.xmc");
  pthread_barrier_t barrier;
  int stop = 0;
  saver savers[SAVERS], reader = {.path = path, .stop = &stop};
  unsigned i;
  assert_int_equal(pthread_barrier_init(&barrier, NULL, SAVERS), 0);
  for (i = 0; i < SAVERS; i++)
    savers[i] = (saver){.barrier = &barrier,
                        .heap = i && same ? savers[0].heap : new_heap(env, i),
                        .path = path,
                        .rounds = rounds_of(env)};
  CL_OK(xmcSaveHeap(savers[0].heap, NULL, path));
  assert_int_equal(pthread_create(&reader.thread, NULL, read_until_stop, &reader), 0);
  for (i = 0; i < SAVERS; i++)
    assert_int_equal(pthread_create(&savers[i].thread, NULL, save_rounds, &savers[i]), 0);
  for (i = 0; i < SAVERS; i++)
    pthread_join(savers[i].thread, NULL);
  __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
  pthread_join(reader.thread, NULL);
  pthread_barrier_destroy(&barrier);
  print_message("%u rounds, %u reads: %u saves failed, %u reads were bad\n", savers[0].rounds, reader.rounds,
                savers[0].failed + savers[1].failed, reader.failed);
  assert_int_equal(savers[0].failed, 0);
  assert_int_equal(savers[1].failed, 0);
  assert_int_equal(reader.failed, 0);
  assert_int_equal(is_bad(path), 0);
  assert_int_equal(test_count_parts(folder), 0);
  test_folder_remove(folder);
}

static void threads(test_env *env) {
  if (test_has_threads(env))
    save_by_threads(env, 0);
}
static void threads_of_one_heap(test_env *env) {
  if (test_has_threads(env))
    save_by_threads(env, 1);
}

/* ---- processes: this program again, with XMC_SAVE_PATH ---- */

static void child_saves(test_env *env) {
  unsigned rounds = (unsigned)atoi(getenv("XMC_SAVE_ROUNDS"));
  xmc_heap heap = new_heap(env, (unsigned)atoi(getenv("XMC_SAVE_HEAP")));
  while (rounds-- > 0)
    CL_OK(xmcSaveHeap(heap, NULL, getenv("XMC_SAVE_PATH")));
}

/* Starts a process that saves heap number `i` to the path that many times. */
static pid_t start_child(test_env *env, const char *path, unsigned i, unsigned rounds) {
  extern char **environ;
  char *const arguments[] = {(char *)program, NULL};
  char number[16];
  pid_t child = -1;
  setenv("XMC_SAVE_PATH", path, 1);
  snprintf(number, sizeof number, "%u", i);
  setenv("XMC_SAVE_HEAP", number, 1);
  setenv("XMC_TEST_DEVICE", env->device->name, 1);
  snprintf(number, sizeof number, "%u", rounds);
  setenv("XMC_SAVE_ROUNDS", number, 1);
  assert_int_equal(posix_spawn(&child, program, NULL, NULL, arguments, environ), 0);
  return child;
}

static void processes(test_env *env) {
  const char *folder = test_folder(env), *path = test_path(env, folder, "heap.xmc");
  unsigned i, rounds = rounds_of(env), running = SAVERS, failed = 0, reads = 0, bad = 0;
  int status;
  CL_OK(xmcSaveHeap(new_heap(env, 0), NULL, path));
  for (i = 0; i < SAVERS; i++)
    start_child(env, path, i, rounds);
  while (running > 0) {
    reads++;
    bad += is_bad(path);
    if (waitpid(-1, &status, WNOHANG) <= 0)
      continue;
    running--;
    failed += status != 0;
  }
  print_message("%u rounds, %u reads: %u processes failed, %u reads were bad\n", rounds, reads, failed, bad);
  assert_int_equal(failed, 0);
  assert_int_equal(bad, 0);
  assert_int_equal(is_bad(path), 0);
  assert_int_equal(test_count_parts(folder), 0);
  test_folder_remove(folder);
}

/* Processes killed while they save, soon after they have begun */
static void killed(test_env *env) {
  const char *folder = test_folder(env), *path = test_path(env, folder, "heap.xmc");
  xmc_heap heap = new_heap(env, 1);
  unsigned kills = (unsigned)test_scaled(env, 2, 4, 20), left = 0, i;
  for (i = 0; i < kills; i++) {
    pid_t child;
    int status = 0;
    remove(path);
    child = start_child(env, path, 0, 1u << 30);
    while (access(path, F_OK) != 0 && waitpid(child, &status, WNOHANG) == 0)
      usleep(1000);
    assert_int_equal(status, 0); /* it has not ended */
    usleep((useconds_t)(test_hash(i) % 5000));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(is_bad(path), 0);
    left = test_count_parts(folder);
    assert_true(left <= i + 1);
    CL_OK(xmcSaveHeap(heap, NULL, path));
    test_holds_heap(path, heap_bytes[1]);
    assert_int_equal(test_count_parts(folder), left);
  }
  print_message("%u processes killed: %u temporary files left\n", kills, left);
  test_folder_remove(folder);
}

/* What a crash in the middle of a save leaves behind disturbs no later one. */
static void left_over(test_env *env) {
  const char *folder = test_folder(env), *path = test_path(env, folder, "heap.xmc");
  xmc_heap heap = new_heap(env, 0);
  xmc_replacement crashed, another;
  CL_OK(xmcSaveHeap(heap, NULL, path));
  CL_OK(xmc_replace_begin(&crashed, path));
  assert_true(fputs("half a heap", crashed.file) >= 0);
  CL_OK(xmc_replace_begin(&another, path));
  assert_string_not_equal(crashed.part, another.part);
  assert_int_equal(test_count_parts(folder), 2);
  CL_OK(xmcSaveHeap(heap, NULL, path));
  test_holds_heap(path, heap_bytes[0]);
  assert_int_equal(test_count_parts(folder), 2);
  assert_int_equal(xmc_replace_end(&crashed, XMC_HEAP_CORRUPT), XMC_HEAP_CORRUPT);
  assert_int_equal(xmc_replace_end(&another, XMC_HEAP_CORRUPT), XMC_HEAP_CORRUPT);
  assert_int_equal(test_count_parts(folder), 0);
  test_holds_heap(path, heap_bytes[0]);
  test_folder_remove(folder);
}

int main(int argc, char **argv) {
  static const test_case child[] = {TEST(child_saves, SPREAD_ONE)};
  static const test_case cases[] = {TEST(threads, SPREAD_ONE), TEST(threads_of_one_heap, SPREAD_ONE),
                                    TEST(processes, SPREAD_ONE), TEST(killed, SPREAD_ONE),
                                    TEST(left_over, SPREAD_ONE)};
  program = argv[0];
  if (getenv("XMC_SAVE_PATH"))
    return test_main("save_race", child, 1, argc, argv);
  return test_main("save_race", cases, sizeof cases / sizeof *cases, argc, argv);
}
