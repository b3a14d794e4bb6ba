/* SPDX-License-Identifier: MIT */
#include "files.h"
#include "file/heap_file.h"
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

const char *test_folder(test_env *env) {
  const char *where = getenv("TMPDIR");
  char *folder = test_alloc(env, 256);
  snprintf(folder, 256, "%s/xmc-test-XXXXXX", where && *where ? where : "/tmp");
  assert_non_null(mkdtemp(folder));
  return folder;
}

char *test_path(test_env *env, const char *folder, const char *name) {
  size_t n = strlen(folder) + strlen(name) + 2;
  char *path = test_alloc(env, n);
  snprintf(path, n, "%s/%s", folder, name);
  return path;
}

void test_folder_remove(const char *folder) {
  DIR *d = opendir(folder);
  struct dirent *entry;
  assert_non_null(d);
  while ((entry = readdir(d)) != NULL)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      assert_true(unlinkat(dirfd(d), entry->d_name, 0) == 0 ||
                  unlinkat(dirfd(d), entry->d_name, AT_REMOVEDIR) == 0);
  closedir(d);
  assert_int_equal(rmdir(folder), 0);
}

unsigned test_count_parts(const char *folder) {
  DIR *d = opendir(folder);
  struct dirent *entry;
  unsigned n = 0;
  assert_non_null(d);
  while ((entry = readdir(d)) != NULL) {
    size_t length = strlen(entry->d_name);
    n += length > 5 && strcmp(entry->d_name + length - 5, ".part") == 0;
  }
  closedir(d);
  return n;
}

cl_int test_read_heap_file(const char *path, cl_ulong *bytes) {
  xmcHeap *meta = NULL;
  long long fifos;
  cl_int status;
  FILE *file = fopen(path, "rb");
  if (!file)
    return XMC_FILE_UNUSABLE;
  status = xmc_file_read(file, &meta, &fifos, NULL, NULL);
  fclose(file);
  if (status == CL_SUCCESS && bytes)
    *bytes = meta->bytes;
  free(meta);
  return status;
}

void test_holds_heap(const char *path, cl_ulong bytes) {
  cl_ulong held = 0;
  CL_OK(test_read_heap_file(path, &held));
  assert_int_equal(held, bytes);
}
