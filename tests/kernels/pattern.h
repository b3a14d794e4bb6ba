/* SPDX-License-Identifier: MIT */
/* The pattern in a block, and what a kernel records of it. Shared by kernels and host: the harness puts this
 * file before each kernel file. */
#ifndef TEST_PATTERN_H
#define TEST_PATTERN_H

#ifdef __OPENCL_C_VERSION__
typedef ulong test_u64;
typedef uint test_u32;
#define TEST_GLOBAL __global
#else
#include <stdint.h>
typedef uint64_t test_u64;
typedef uint32_t test_u32;
#define TEST_GLOBAL
#endif

typedef struct test_block {
  test_u64 ref;     /* 0: no block */
  test_u64 offset;  /* from the heap's begin */
  test_u64 address; /* as the device sees it, for alignment */
  test_u64 usable;
  test_u64 size; /* as requested */
  test_u32 tag;
  test_u32 errors; /* wrong words found by a check */
} test_block;

static inline test_u32 pattern_word(test_u32 tag, test_u32 index) {
  return (tag + index * 0x9e3779b1u) * 0x85ebca6bu;
}

/* Items first, first + step … of the block's 4-byte words, and the bytes after the last whole word */
static inline void pattern_fill(TEST_GLOBAL char *p, test_u64 bytes, test_u32 tag, test_u32 first,
                                test_u32 step) {
  TEST_GLOBAL test_u32 *word = (TEST_GLOBAL test_u32 *)p;
  test_u32 words = (test_u32)(bytes >> 2), i;
  for (i = first; i < words; i += step)
    word[i] = pattern_word(tag, i);
  if (first == 0)
    for (i = words << 2; i < bytes; i++)
      p[i] = (char)(tag + i);
}

static inline test_u32 pattern_errors(TEST_GLOBAL const char *p, test_u64 bytes, test_u32 tag, test_u32 first,
                                      test_u32 step) {
  TEST_GLOBAL const test_u32 *word = (TEST_GLOBAL const test_u32 *)p;
  test_u32 words = (test_u32)(bytes >> 2), i, errors = 0;
  for (i = first; i < words; i += step)
    errors += word[i] != pattern_word(tag, i);
  if (first == 0)
    for (i = words << 2; i < bytes; i++)
      errors += p[i] != (char)(tag + i);
  return errors;
}
#endif
