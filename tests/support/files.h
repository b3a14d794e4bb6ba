/* SPDX-License-Identifier: MIT */
/* Folders and heap files of tests. Needs support/harness.h. */
#ifndef XMC_TEST_FILES_H
#define XMC_TEST_FILES_H
#include "harness.h"

/* A new folder for the test's files */
const char *test_folder(test_env *env);
/* Removes it and what is in it; a folder in it must be empty. */
void test_folder_remove(const char *folder);
/* `name` in the folder */
char *test_path(test_env *env, const char *folder, const char *name);
/* How many files in the folder have a name that ends in .part */
unsigned test_count_parts(const char *folder);

/* Reads a heap's file and checks all of it; *bytes, if not NULL, gets the size of the heap that it holds. */
cl_int test_read_heap_file(const char *path, cl_ulong *bytes);
/* Fails unless the file holds a whole heap of that size. */
void test_holds_heap(const char *path, cl_ulong bytes);
#endif
