/* SPDX-License-Identifier: MIT */
/* Headers of debug heaps lie in users' memory, where a file or a kernel may write what it likes: one that says more than its
 * block holds is no live block's. */
#define XMC_DEBUG 2
#include "support/core.h"
#include "support/named.h"

enum { BYTES = 1 << 20, SIZE = 400 };

static void forged_header(void **state) {
  static const struct {
    xmc_u64 size, front;
    int good;
  } cases[] = {{SIZE, 16, 1}, {1u << 30, 16, 0},  {SIZE, 0, 0}, {0, (xmc_u64)1 << 31, 0},
               {SIZE, 32, 0}, {SIZE + 64, 16, 0}, {0, 512, 0},  {((xmc_u64)1 << 36) - 1u, 16, 0},
               {0, 4096, 0},  {SIZE - 100, 16, 1}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    xmcHeap *heap = core_heap(BYTES, 1, 0, XMC_COALESCE_CLASS);
    char *block = xmcMalloc(heap, SIZE), *moved;
    assert_non_null(block);
    xmc_debug_write(heap, (xmc_debug_at)block - 1, XMC_DEBUG_LIVE, 0,
                    xmc_debug_extent(cases[i].size, cases[i].front));
    assert_int_equal(xmcUsableSize(heap, block), cases[i].good ? cases[i].size : 0);
    moved = xmcRealloc(heap, block, SIZE / 2);
    assert_true((moved != NULL) == cases[i].good);
    assert_int_equal(heap->invalid_frees, !cases[i].good);
    xmcFree(heap, moved ? moved : block);
    assert_int_equal(heap->invalid_frees + heap->double_frees, cases[i].good ? 0 : 2);
    core_heap_free(heap);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(forged_header)};
  return run_named(tests, argc, argv);
}
