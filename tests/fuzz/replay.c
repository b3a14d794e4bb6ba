/* SPDX-License-Identifier: MIT */
/* Runs every file of the folders or names given as a program of operations: the kept corpus, without a fuzzer. */
#include "program.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run_file(const char *path, unsigned *count) {
  static uint8_t data[1 << 16];
  FILE *f = fopen(path, "rb");
  const char *wrong;
  size_t size;
  if (!f) {
    perror(path);
    return 1;
  }
  size = fread(data, 1, sizeof data, f);
  fclose(f);
  wrong = fuzz_program(data, size);
  ++*count;
  if (wrong)
    printf("%s: %s\n", path, wrong);
  return wrong != NULL;
}

const char test_usage[] =
    "usage: fuzz_replay FILE_OR_FOLDER...\n"
    "Runs the fuzzer's programs of operations again. Exit 0: there was one, and all went well.\n";

int main(int argc, char **argv) {
  unsigned count = 0;
  int failed = 0, i;
  for (i = 1; i < argc; i++) {
    DIR *folder = opendir(argv[i]);
    const struct dirent *entry;
    if (!folder) {
      failed |= run_file(argv[i], &count);
      continue;
    }
    while ((entry = readdir(folder)) != NULL)
      if (entry->d_name[0] != '.') {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
        failed |= run_file(path, &count);
      }
    closedir(folder);
  }
  printf("%u programs%s\n", count, failed ? ", some went wrong" : "");
  return failed || count == 0;
}
