/* SPDX-License-Identifier: MIT */
/* A set of blocks that kernels allocate, check and free (kernels/blocks.cl), and that the host checks for
 * overlap, alignment and place. */
#ifndef XMC_TEST_BLOCKS_H
#define XMC_TEST_BLOCKS_H
#include "harness.h"
#include "../kernels/pattern.h"

typedef struct test_blocks {
  test_env *env;
  xmc_heap heap;
  size_t count;
  size_t local;
  test_block *host; /* what the device's records said last */
  cl_ulong *sizes;
  cl_mem records, size_buffer;
  cl_kernel malloc_kernel, check_kernel, free_kernel, fill_large, check_large;
  cl_uint next_tag;
} test_blocks;

/* Room for up to `most` blocks. */
test_blocks blocks_new(test_env *env, xmc_heap heap, size_t most, size_t local);
/* One kernel allocates sizes[0 … count) and stamps the blocks. Returns how many requests failed; host
 * checks what it got as blocks_verify does. */
size_t blocks_malloc(test_blocks *b, const cl_ulong *sizes, size_t count);
/* Takes over `count` records that another kernel than blocks.cl's wrote, and verifies them. Returns how many
 * have no block. */
size_t blocks_fetch(test_blocks *b, size_t count);
/* Another kernel checks every block's pattern. */
void blocks_check(test_blocks *b);
/* A third frees them in an order permuted by `salt`; every keep-th stays (0: none). */
void blocks_free(test_blocks *b, cl_uint salt, cl_uint keep);
/* Sizes, alignment, references, place in the arena, and no overlap among the live blocks of n sets. */
void blocks_verify(test_blocks *const *sets, size_t n);
#endif
