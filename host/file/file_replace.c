/* SPDX-License-Identifier: MIT */
/* Replaces files, by the operating system's calls.
 *
 * The new contents go to a temporary file in the target's folder, xmc-save-<16 hexadecimal digits>.part. It is created
 * exclusively, so that no two writers share one, and a file that a crash left behind is never opened. Its contents reach
 * the disk before its name changes, and the changed folder reaches the disk before the call returns.
 */
#include "file_replace.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define XMC_NAME_TRIES 100 /* a second try is needed only if another program predicted the first name */

#ifdef _WIN32
#define XMC_SEPARATORS "/\\:"
#else
#define XMC_SEPARATORS "/"
#endif

/* ---- names ---- */

/* Returns the path of `name` in the folder of the file `path`, malloc'ed. */
static char *beside(const char *path, const char *name) {
  size_t folder = strlen(path), n = strlen(name) + 1;
  char *joined;
  while (folder > 0 && !strchr(XMC_SEPARATORS, path[folder - 1]))
    folder--;
  joined = malloc(folder + n);
  if (joined) {
    memcpy(joined, path, folder);
    memcpy(joined + folder, name, n);
  }
  return joined;
}

static int get_process_id(void);

/* Returns the name of a temporary file, malloc'ed. It need not be unique, only unlikely to exist. */
static char *part_name(const char *target) {
  static atomic_uint calls;
  char name[64];
  uint64_t x =
      (uint64_t)time(NULL) << 32 ^ (uint64_t)clock() << 20 ^ (uintptr_t)name ^ (uint64_t)get_process_id();
  x = (x ^ (uint64_t)atomic_fetch_add(&calls, 1) << 40) * 0x9fb21c651e98df25u;
  snprintf(name, sizeof name, "xmc-save-%016llx.part", (unsigned long long)(x ^ x >> 32));
  return beside(target, name);
}

#ifdef _WIN32
/* ---- Windows: if the path is a symbolic link, the link itself is replaced; modes and owners come from the folder ---- */
#include <io.h>
#include <process.h>
#include <windows.h>

static int get_process_id(void) { return _getpid(); }

static char *find_target(const char *path) { return beside("", path); }

int xmc_path_is_special(const char *path) {
  DWORD attributes = GetFileAttributesA(path);
  HANDLE file;
  int special;
  if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY))
    return 1;
  file = CreateFileA(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0,
                     NULL);
  if (file == INVALID_HANDLE_VALUE)
    return 0;
  special = GetFileType(file) != FILE_TYPE_DISK;
  CloseHandle(file);
  return special;
}

static int create_part(const char *part, const char *target) {
  (void)target;
  return _open(part, _O_CREAT | _O_EXCL | _O_WRONLY | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
}

static int flush_file(FILE *file) { return _commit(_fileno(file)); }

static int move_file(const char *part, const char *target) {
  if (MoveFileExA(part, target, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
    return 0;
  errno = EACCES;
  return -1;
}

#define open_stream _fdopen
#define close_descriptor _close

#else
/* ---- POSIX ---- */
#include <unistd.h>

#define XMC_MOST_LINKS 40 /* as many as Linux follows */
#define XMC_LINK_BYTES 4096

#define open_stream fdopen
#define close_descriptor close

static int get_process_id(void) { return (int)getpid(); }

/* Returns the path at which the chain of symbolic links from `path` ends, whether or not a file exists there; malloc'ed. NULL: errno
 * says why. */
static char *find_target(const char *path) {
  char to[XMC_LINK_BYTES], *at = beside("", path), *next;
  ssize_t n;
  int links;
  for (links = 0; at && (n = readlink(at, to, sizeof to)) >= 0; links++) {
    next = NULL;
    if (links == XMC_MOST_LINKS)
      errno = ELOOP;
    else if (n == sizeof to)
      errno = ENAMETOOLONG;
    else {
      to[n] = 0;
      next = beside(to[0] == '/' ? "" : at, to);
    }
    free(at);
    at = next;
  }
  return at;
}

int xmc_path_is_special(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && !S_ISREG(s.st_mode);
}

/* Gives an open file the owner, group and mode of another one, as far as the process has the right and the file system can. If the group
 * cannot be kept, the new group gets only the rights of others, because the mode's group rights were meant for the old group. */
static void copy_access(int file, const struct stat *from) {
  mode_t mode = from->st_mode & 0777;
  if (fchown(file, from->st_uid, from->st_gid) != 0 && fchown(file, (uid_t)-1, from->st_gid) != 0)
    mode = (mode & 0707) | (mode & 07) << 3;
  fchmod(file, mode);
}

/* Creates the temporary file. Only its owner can open it until it has the access rights of the file that it replaces. */
static int create_part(const char *part, const char *target) {
  struct stat old;
  int exists = stat(target, &old) == 0;
  int file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? 0600 : 0666);
  if (file >= 0 && exists)
    copy_access(file, &old);
  return file;
}

static int flush_descriptor(int file) {
  int failed;
  do
    failed = fsync(file);
  while (failed && errno == EINTR);
  return failed;
}

static int flush_file(FILE *file) { return flush_descriptor(fileno(file)); }

/* Flushes the folder of a file. Some file systems do not flush folders, and some folders may be written but not read. */
static int flush_folder(const char *path) {
  char *folder = beside(path, ".");
  int file = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, failed = 0;
  if (file >= 0) {
    failed = flush_descriptor(file) != 0 && errno == EIO;
    close(file);
  }
  free(folder);
  return failed ? -1 : 0;
}

static int move_file(const char *part, const char *target) {
  return rename(part, target) == 0 ? flush_folder(target) : -1;
}
#endif

/* ---- the replacement ---- */

static cl_int why_failed(void) { return errno == ENOMEM ? CL_OUT_OF_HOST_MEMORY : XMC_FILE_UNUSABLE; }

static void forget(xmc_replacement *r) {
  free(r->part);
  free(r->target);
  *r = (xmc_replacement){NULL, NULL, NULL};
}

cl_int xmc_replace_begin(xmc_replacement *r, const char *path) {
  int file = -1, tries, why;
  *r = (xmc_replacement){NULL, NULL, NULL};
  if (xmc_path_is_special(path))
    return XMC_FILE_NOT_REGULAR;
  r->target = find_target(path);
  for (tries = 0; file < 0 && r->target && tries < XMC_NAME_TRIES; tries++) {
    free(r->part);
    r->part = part_name(r->target);
    file = r->part ? create_part(r->part, r->target) : -1;
    if (file < 0 && errno != EEXIST)
      break;
  }
  if (file >= 0 && (r->file = open_stream(file, "wb")) != NULL)
    return CL_SUCCESS;
  why = errno;
  if (file >= 0) {
    close_descriptor(file);
    remove(r->part);
  }
  forget(r);
  errno = why;
  return why_failed();
}

cl_int xmc_replace_end(xmc_replacement *r, cl_int status) {
  int why;
  if (status == CL_SUCCESS && (fflush(r->file) != 0 || flush_file(r->file) != 0))
    status = XMC_FILE_UNUSABLE;
  why = errno;
  if (fclose(r->file) != 0 && status == CL_SUCCESS) {
    status = XMC_FILE_UNUSABLE;
    why = errno;
  }
  if (status == CL_SUCCESS && move_file(r->part, r->target) != 0) {
    status = XMC_FILE_UNUSABLE;
    why = errno;
  }
  if (status != CL_SUCCESS)
    remove(r->part);
  forget(r);
  errno = why;
  return status;
}
