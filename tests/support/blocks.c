/* SPDX-License-Identifier: MIT */
#include "blocks.h"

/* Blocks up to this size are stamped and checked by the one work-item that owns them, larger ones by a
 * work-group. */
#define FILL_LIMIT ((cl_ulong)16384)

test_blocks blocks_new(test_env *env, xmc_heap heap, size_t most, size_t local) {
  test_blocks b;
  memset(&b, 0, sizeof b);
  b.env = env;
  b.heap = heap;
  b.local = local < env->device->max_local ? local : env->device->max_local;
  b.host = test_alloc(env, most * sizeof *b.host);
  b.sizes = test_alloc(env, most * sizeof *b.sizes);
  b.records = test_buffer(env, most * sizeof *b.host, NULL);
  b.size_buffer = test_buffer(env, most * sizeof *b.sizes, NULL);
  b.malloc_kernel = test_kernel(env, heap, "blocks.cl", "blocks_malloc", NULL);
  b.fill_large = test_kernel(env, heap, "blocks.cl", "blocks_fill_large", NULL);
  b.check_kernel = test_kernel(env, heap, "blocks.cl", "blocks_check", NULL);
  b.check_large = test_kernel(env, heap, "blocks.cl", "blocks_check_large", NULL);
  b.free_kernel = test_kernel(env, heap, "blocks.cl", "blocks_free", NULL);
  b.next_tag = 1;
  return b;
}

static int has_large(const test_blocks *b) {
  size_t i;
  for (i = 0; i < b->count; i++)
    if (b->host[i].ref && b->host[i].usable > FILL_LIMIT)
      return 1;
  return 0;
}

size_t blocks_fetch(test_blocks *b, size_t count) {
  test_blocks *self = b;
  size_t i, failures = 0;
  b->count = count;
  test_read(b->env, b->records, b->host, count * sizeof *b->host);
  for (i = 0; i < count; i++)
    failures += b->host[i].ref == 0;
  blocks_verify(&self, 1);
  return failures;
}

size_t blocks_malloc(test_blocks *b, const cl_ulong *sizes, size_t count) {
  size_t failures;
  memcpy(b->sizes, sizes, count * sizeof *sizes);
  test_write(b->env, b->size_buffer, sizes, count * sizeof *sizes);
  test_launch(b->env, b->malloc_kernel, count, b->local, "hmmuuU", b->heap, b->size_buffer, b->records,
              (cl_uint)count, b->next_tag, FILL_LIMIT);
  b->next_tag += (cl_uint)count;
  failures = blocks_fetch(b, count);
  if (has_large(b))
    test_launch(b->env, b->fill_large, count * b->local, b->local, "hmuU", b->heap, b->records,
                (cl_uint)count, FILL_LIMIT);
  return failures;
}

void blocks_check(test_blocks *b) {
  size_t i;
  test_launch(b->env, b->check_kernel, b->count, b->local, "hmuU", b->heap, b->records, (cl_uint)b->count,
              FILL_LIMIT);
  if (has_large(b))
    test_launch(b->env, b->check_large, b->count * b->local, b->local, "hmuU", b->heap, b->records,
                (cl_uint)b->count, FILL_LIMIT);
  test_read(b->env, b->records, b->host, b->count * sizeof *b->host);
  for (i = 0; i < b->count; i++)
    if (b->host[i].errors)
      fail_msg("block %zu of %zu (%llu bytes at offset %llu): %u words are not its owner's", i, b->count,
               (unsigned long long)b->host[i].size, (unsigned long long)b->host[i].offset, b->host[i].errors);
}

static size_t common_divisor(size_t a, size_t b) { return b ? common_divisor(b, a % b) : a; }

void blocks_free(test_blocks *b, cl_uint salt, cl_uint keep) {
  size_t mul = test_hash(salt) % b->count + 1;
  while (common_divisor(mul, b->count) != 1)
    mul++;
  test_launch(b->env, b->free_kernel, b->count, b->local, "hmuuuu", b->heap, b->records, (cl_uint)b->count,
              (cl_uint)mul, (cl_uint)(test_hash(salt + 1u) % b->count), keep);
  test_read(b->env, b->records, b->host, b->count * sizeof *b->host);
}

static int by_offset(const void *a, const void *b) {
  const test_block *x = a, *y = b;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static cl_ulong natural_alignment(cl_ulong size) {
  cl_ulong alignment = 1;
  while (alignment < 16 && alignment * 2 <= size)
    alignment *= 2;
  return alignment;
}

static void verify_one(const test_block *x, cl_ulong arena) {
  unsigned long long size = x->size, offset = x->offset, usable = x->usable;
  if (x->usable < x->size)
    fail_msg("a block of %llu usable bytes for a request of %llu", usable, size);
  if (x->address % natural_alignment(x->size) != 0)
    fail_msg("address %llx for a request of %llu bytes", (unsigned long long)x->address, size);
  if (x->offset < 1024 || x->offset > arena || x->usable > arena - x->offset)
    fail_msg("block of %llu bytes at offset %llu is not inside the arena of %llu bytes", usable, offset,
             (unsigned long long)arena);
}

void blocks_verify(test_blocks *const *sets, size_t n) {
  size_t live = 0, most = 0, s, i;
  test_block *all;
  size_t arena = 0;
  CL_OK(xmcGetHeapInfo(sets[0]->heap, XMC_HEAP_BYTES, sizeof arena, &arena, NULL));
  for (s = 0; s < n; s++)
    most += sets[s]->count;
  all = malloc(most * sizeof *all);
  assert_non_null(all);
  for (s = 0; s < n; s++)
    for (i = 0; i < sets[s]->count; i++)
      if (sets[s]->host[i].ref) {
        verify_one(&sets[s]->host[i], arena);
        all[live++] = sets[s]->host[i];
      }
  qsort(all, live, sizeof *all, by_offset);
  for (i = 1; i < live; i++)
    if (all[i - 1].offset + all[i - 1].usable > all[i].offset)
      fail_msg("blocks overlap: [%llu, + %llu) and [%llu, + %llu)", (unsigned long long)all[i - 1].offset,
               (unsigned long long)all[i - 1].usable, (unsigned long long)all[i].offset,
               (unsigned long long)all[i].usable);
  free(all);
}
