/* The pattern in a block, and what a kernel records of it. Shared by kernels and host: the harness puts this
 * file before each kernel file. */
#ifndef TEST_PATTERN_H
#define TEST_PATTERN_H

#ifdef __OPENCL_C_VERSION__
typedef ulong test_u64;
typedef uint test_u32;
#else
#include <stdint.h>
typedef uint64_t test_u64;
typedef uint32_t test_u32;
#endif

typedef struct test_block {
  test_u64 ref;     /* 0: no block */
  test_u64 offset;  /* from the heap's begin */
  test_u64 address; /* as the device sees it, for alignment */
  test_u64 usable;
  test_u64 size;    /* as requested */
  test_u32 tag;
  test_u32 errors;  /* wrong words found by a check */
} test_block;

#ifdef __OPENCL_C_VERSION__
static inline uint pattern_word(uint tag, uint index) { return (tag + index * 0x9e3779b1u) * 0x85ebca6bu; }

/* Items first, first + step … of the block's 4-byte words, and the bytes after the last whole word */
static inline void pattern_fill(__global char *p, ulong bytes, uint tag, uint first, uint step) {
  __global uint *word = (__global uint *)p;
  uint words = (uint)(bytes >> 2), i;
  for (i = first; i < words; i += step)
    word[i] = pattern_word(tag, i);
  if (first == 0)
    for (i = words << 2; i < bytes; i++)
      p[i] = (char)(tag + i);
}

static inline uint pattern_errors(__global const char *p, ulong bytes, uint tag, uint first, uint step) {
  __global const uint *word = (__global const uint *)p;
  uint words = (uint)(bytes >> 2), i, errors = 0;
  for (i = first; i < words; i += step)
    errors += word[i] != pattern_word(tag, i);
  if (first == 0)
    for (i = words << 2; i < bytes; i++)
      errors += p[i] != (char)(tag + i);
  return errors;
}
#endif
#endif
