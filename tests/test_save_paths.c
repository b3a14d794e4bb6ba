/* SPDX-License-Identifier: MIT */
/* What a path may name when a heap is saved to it: new files, old ones with their mode and owner, symbolic links, and what
 * is no regular file. Contents reach the disk before the file's name; a save that fails leaves the old file alone. */
#include "support/files.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { BYTES = 4 << 20 };

/* ---- fsync and rename of this program: they note what was done, and fsync can fail ---- */

static char events[64]; /* f: a file was flushed, r: renamed, d: a folder was flushed */
static int fsync_fails;

static void note(char event) {
  size_t n = strlen(events);
  if (n + 1 < sizeof events)
    events[n] = event;
}

int fsync(int file) {
  struct stat s;
  note(fstat(file, &s) == 0 && S_ISDIR(s.st_mode) ? 'd' : 'f');
  if (fsync_fails) {
    errno = EIO;
    return -1;
  }
  return (int)syscall(SYS_fsync, file);
}

int rename(const char *from, const char *to) {
  note('r');
  return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* ---- support ---- */

static mode_t mode_of(const char *path) {
  struct stat s;
  assert_int_equal(lstat(path, &s), 0);
  return s.st_mode;
}

static void write_text(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  assert_true(fputs(text, f) >= 0);
  assert_int_equal(fclose(f), 0);
}

static void is_text(const char *path, const char *text) {
  char have[64] = "";
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  assert_non_null(fgets(have, sizeof have, f));
  fclose(f);
  assert_string_equal(have, text);
}

/* ---- tests ---- */

static void new_file(test_env *env) {
  const char *folder = test_folder(env), *path = test_path(env, folder, "new.xmc");
  mode_t mask = umask(027);
  cl_int status = xmcSaveHeap(test_heap(env, BYTES), NULL, path);
  umask(mask);
  CL_OK(status);
  test_holds_heap(path, BYTES);
  assert_int_equal(mode_of(path), S_IFREG | 0640);
  assert_int_equal(test_count_parts(folder), 0);
  test_folder_remove(folder);
}

static void mode_and_owner(test_env *env) {
  static const mode_t modes[] = {0600, 0640, 0666, 0444, 0755};
  const char *folder = test_folder(env), *path = test_path(env, folder, "old.xmc");
  xmc_heap heap = test_heap(env, BYTES);
  struct stat s;
  size_t i;
  write_text(path, "old");
  for (i = 0; i < sizeof modes / sizeof *modes; i++) {
    assert_int_equal(chmod(path, modes[i]), 0);
    CL_OK(xmcSaveHeap(heap, NULL, path));
    assert_int_equal(mode_of(path), S_IFREG | modes[i]);
  }
  test_holds_heap(path, BYTES);
  if (chown(path, 4321, 1234) == 0) { /* as root */
    CL_OK(xmcSaveHeap(heap, NULL, path));
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_uid, 4321);
    assert_int_equal(s.st_gid, 1234);
    assert_int_equal(s.st_mode, S_IFREG | 0755);
  }
  test_folder_remove(folder);
}

/* Links stay links; what they point to, directly or by others, is replaced or created. */
static void links(test_env *env) {
  const char *folder = test_folder(env), *file = test_path(env, folder, "file"),
             *link = test_path(env, folder, "link");
  const char *other = test_path(env, folder, "other"), *chain = test_path(env, folder, "chain");
  const char *far = test_path(env, other, "far"), *back = test_path(env, other, "back");
  xmc_heap heap = test_heap(env, BYTES);
  write_text(file, "old");
  assert_int_equal(mkdir(other, 0777), 0);
  assert_int_equal(symlink("file", link), 0);
  assert_int_equal(symlink(link, back), 0);          /* absolute */
  assert_int_equal(symlink("other/back", chain), 0); /* chain -> other/back -> link -> file */
  CL_OK(xmcSaveHeap(heap, NULL, chain));
  test_holds_heap(file, BYTES);
  assert_true(S_ISLNK(mode_of(chain)) && S_ISLNK(mode_of(back)) && S_ISLNK(mode_of(link)));
  assert_true(S_ISREG(mode_of(file)));

  assert_int_equal(unlink(file), 0); /* now the chain leads to nothing */
  CL_OK(xmcSaveHeap(heap, NULL, chain));
  test_holds_heap(file, BYTES);
  assert_true(S_ISLNK(mode_of(chain)) && S_ISREG(mode_of(file)));

  assert_int_equal(unlink(link), 0);
  assert_int_equal(symlink("other/far", link), 0); /* into another folder: the temporary file belongs there */
  CL_OK(xmcSaveHeap(heap, NULL, chain));
  test_holds_heap(far, BYTES);
  assert_int_equal(test_count_parts(folder) + test_count_parts(other), 0);

  assert_int_equal(unlink(link), 0);
  assert_int_equal(symlink("chain", link), 0); /* a circle */
  errno = 0;
  assert_int_equal(xmcSaveHeap(heap, NULL, chain), XMC_FILE_UNUSABLE);
  assert_int_equal(errno, ELOOP);
  test_folder_remove(other);
  test_folder_remove(folder);
}

/* Refused, by a load as well, and still what it was */
static void refused(test_env *env, xmc_heap heap, const char *path, const char *link) {
  mode_t before = mode_of(path);
  cl_int status = 1;
  assert_int_equal(xmcSaveHeap(heap, NULL, path), XMC_FILE_NOT_REGULAR);
  assert_null(xmcLoadHeap(env->context, env->device->id, NULL, path, &status));
  assert_int_equal(status, XMC_FILE_NOT_REGULAR);
  assert_int_equal(mode_of(path), before);
  assert_int_equal(symlink(path, link), 0);
  assert_int_equal(xmcSaveHeap(heap, NULL, link), XMC_FILE_NOT_REGULAR);
  assert_int_equal(mode_of(path), before);
  assert_true(S_ISLNK(mode_of(link)));
  assert_int_equal(unlink(link), 0);
}

static void not_regular(test_env *env) {
  const char *folder = test_folder(env), *path = test_path(env, folder, "it"),
             *link = test_path(env, folder, "link");
  xmc_heap heap = test_heap(env, BYTES);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  assert_int_equal(mkfifo(path, 0666), 0);
  refused(env, heap, path, link);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkdir(path, 0777), 0);
  refused(env, heap, path, link);
  assert_int_equal(rmdir(path), 0);
  assert_true(s >= 0 && strlen(path) < sizeof address.sun_path);
  strcpy(address.sun_path, path);
  assert_int_equal(bind(s, (struct sockaddr *)&address, sizeof address), 0);
  refused(env, heap, path, link);
  close(s);
  assert_int_equal(unlink(path), 0);
  if (mknod(path, S_IFCHR | 0666, (dev_t)1 << 8 | 3) == 0) { /* as root: another /dev/null */
    refused(env, heap, path, link);
    assert_int_equal(unlink(path), 0);
  }
  assert_int_equal(test_count_parts(folder), 0);
  assert_non_null(strstr(xmcErrorString(XMC_FILE_NOT_REGULAR), "XMC_FILE_NOT_REGULAR: "));
  test_folder_remove(folder);
}

/* A heap is read twice, which a pipe does not allow. */
static void load_from_pipe(test_env *env) {
  char path[64];
  int ends[2];
  cl_int status = 1;
  assert_int_equal(pipe(ends), 0);
  close(ends[1]);
  snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
  if (access(path, R_OK) == 0) {
    assert_null(xmcLoadHeap(env->context, env->device->id, NULL, path, &status));
    assert_int_equal(status, XMC_FILE_NOT_REGULAR);
  }
  close(ends[0]);
}

/* File, name, folder: in this order; and a disk that fails is told. */
static void flushed(test_env *env) {
  const char *folder = test_folder(env), *path = test_path(env, folder, "heap.xmc");
  xmc_heap heap = test_heap(env, BYTES);
  write_text(path, "old");
  memset(events, 0, sizeof events);
  fsync_fails = 1;
  errno = 0;
  assert_int_equal(xmcSaveHeap(heap, NULL, path), XMC_FILE_UNUSABLE);
  assert_int_equal(errno, EIO);
  fsync_fails = 0;
  is_text(path, "old");
  assert_string_equal(events, "f");
  assert_int_equal(test_count_parts(folder), 0);
  memset(events, 0, sizeof events);
  CL_OK(xmcSaveHeap(heap, NULL, path));
  assert_string_equal(events, "frd");
  test_holds_heap(path, BYTES);
  test_folder_remove(folder);
}

/* A full disk, here by a limit for the process: the old file stays. */
static void no_room(test_env *env) {
  const char *folder = test_folder(env), *path = test_path(env, folder, "heap.xmc");
  xmc_heap heap = test_heap(env, BYTES);
  struct rlimit old, small;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  cl_int status;
  int why;
  write_text(path, "old");
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  small = old;
  small.rlim_cur = 512;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  errno = 0;
  status = xmcSaveHeap(heap, NULL, path);
  why = errno;
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, handler);
  assert_int_equal(status, XMC_FILE_UNUSABLE);
  assert_int_equal(why, EFBIG);
  is_text(path, "old");
  assert_int_equal(test_count_parts(folder), 0);
  test_folder_remove(folder);
}

/* Folders that are not there, and names that no file can have */
static void no_such_place(test_env *env) {
  static const char *const names[] = {"no/such", "new/", ".", ".."};
  const char *folder = test_folder(env);
  xmc_heap heap = test_heap(env, BYTES);
  size_t i;
  for (i = 0; i < 4; i++) {
    cl_int status = xmcSaveHeap(heap, NULL, test_path(env, folder, names[i]));
    assert_int_equal(status, i < 2 ? XMC_FILE_UNUSABLE : XMC_FILE_NOT_REGULAR);
  }
  assert_int_equal(xmcSaveHeap(heap, NULL, ""), XMC_FILE_UNUSABLE);
  assert_int_equal(test_count_parts(folder) + test_count_parts("."), 0);
  test_folder_remove(folder);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {TEST(new_file, SPREAD_ONE),       TEST(mode_and_owner, SPREAD_ONE),
                                    TEST(links, SPREAD_ONE),          TEST(not_regular, SPREAD_ONE),
                                    TEST(flushed, SPREAD_ONE),        TEST(no_room, SPREAD_ONE),
                                    TEST(load_from_pipe, SPREAD_ONE), TEST(no_such_place, SPREAD_ONE)};
  return test_main("save_paths", cases, sizeof cases / sizeof *cases, argc, argv);
}
