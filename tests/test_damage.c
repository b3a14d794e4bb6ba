/* SPDX-License-Identifier: MIT */
/* A damaged arena: every bit of the metadata flipped in turn on a small heap with every kind of block in it. The
 * check must end, read nothing outside (AddressSanitizer sees) and report the damage; the inspectors must tell of no
 * block that cannot be. Where the check does not report the flip, it must be a live block that counts as free or the
 * other way round, or harmless: all blocks can be freed, none is refused, and the whole arena is one run again.
 */
#define CORE_SCHEDULED
#include "support/core.h"
#include "inspect/inspect.h"
#include "support/named.h"

enum { BLOCKS = 40 };
typedef struct patient {
  xmcHeap *heap;
  uint64_t refs[BLOCKS];
  uint64_t counted; /* bad frees and failures after the cure */
  int whole;
} patient;

static void populate(patient *p) {
  static const uint32_t sizes[] = {16, 64, 300, 600, 448, 1000, 16384, 30000, 24, 64};
  uint32_t i;
  for (i = 0; i < BLOCKS; i++) {
    void *block = xmcMalloc(p->heap, sizes[i % 10]);
    p->refs[i] = xmcToRef(p->heap, block);
  }
  for (i = 0; i < BLOCKS; i += 3) { /* holes */
    xmcFree(p->heap, xmcFromRef(p->heap, p->refs[i]));
    p->refs[i] = 0;
  }
  p->heap->failed_requests = p->heap->first_failure_size = p->heap->first_failure_id = 0;
}

/* What the user may do after a check that found nothing */
static void use(int number, void *data) {
  patient *p = data;
  volatile size_t bytes =
      (size_t)p->heap->pages * XMC_PAGE_BYTES; /* else GCC warns of what size 0 would do */
  void *all, *some[8];
  int i;
  (void)number;
  for (i = 0; i < 8; i++)
    some[i] = xmcMalloc(p->heap, 16u << i);
  for (i = 0; i < BLOCKS; i++)
    xmcFree(p->heap, xmcFromRef(p->heap, p->refs[i]));
  for (i = 0; i < 8; i++)
    xmcFree(p->heap, some[i]);
  all = xmcMalloc(p->heap, bytes);
  p->whole = all != NULL;
  p->counted = p->heap->double_frees + p->heap->invalid_frees;
}

/* Words that no check can vouch for: counters. The header's geometry is put right first, as xmcCheckHeap does. */
static int is_counter(size_t at) { return at >= offsetof(xmcHeap, failed_requests) && at < XMC_HEADER_BYTES; }

/* A free bit of a Superblock in use: the other value is as good a heap, in which one block more or less lives. */
static int is_free_bit(xmcHeap *heap, size_t at) {
  size_t first = heap->words + 8u * (size_t)(int)xmc_slab_id(heap->pages - 1u);
  return at >= first && at % 8u < 4u && *xmc_at64(heap, at & ~(size_t)7) != XMC_WORD_RETIRED;
}

/* What the inspectors tell of a damaged arena: no block outside of the pages, none twice. 1 if they tell anything. */
typedef struct listing {
  xmcHeap *meta;
  xmc_u64 end; /* of the block before */
  xmc_u64 live;
} listing;

static int CL_CALLBACK plausible(const xmc_block *block, void *data) {
  listing *l = data;
  assert_true(block->ref >= l->end && block->usable <= l->meta->bytes - block->ref);
  assert_true(block->ref + block->usable <= l->meta->data + xmc_data_bytes(l->meta));
  l->end = block->ref + block->usable;
  l->live++;
  return 0;
}

static int inspect(xmcHeap *meta, xmc_map *map) {
  listing l = {meta, meta->data, 0};
  xmc_stats_meta(meta, &map->stats);
  assert_true(map->stats.live_bytes + map->stats.free_bytes <= xmc_data_bytes(meta));
  if (xmc_walk_believe(meta, 1) != CL_SUCCESS)
    return 0;
  assert_int_equal(xmc_walk_believe(meta, 0), CL_SUCCESS);
  xmc_blocks_meta(meta, NULL, plausible, &l);
  assert_int_equal(l.live, map->stats.live_blocks);
  xmc_map_meta(meta, map);
  return 1;
}

static void every_bit(void **state) {
  patient p;
  size_t bytes = 400000, metadata, at;
  char *good, *arena;
  unsigned bit, reported = 0, harmless = 0, crashed = 0, silent = 0;
  xmc_map *map = malloc(sizeof *map);
  (void)state;
  memset(&p, 0, sizeof p);
  p.heap = core_heap(bytes, 1, 0xfffffffcu, XMC_COALESCE_CLASS);
  populate(&p);
  metadata = p.heap->words + 8u * (size_t)p.heap->spans * XMC_SPAN_WORDS;
  arena = (char *)p.heap;
  good = malloc(bytes);
  assert_non_null(good);
  assert_non_null(map);
  memcpy(good, arena, bytes);
  for (at = XMC_HEADER_BYTES; at < metadata; at++)
    for (bit = 0; bit < 8; bit++) {
      xmc_heap_report report;
      xmcHeap *copy = malloc(metadata); /* just the tables: nothing else may be read */
      memset(&report, 0, sizeof report);
      assert_non_null(copy);
      memcpy(copy, good, metadata);
      ((char *)copy)[at] ^= (char)(1 << bit);
      assert_true(xmc_check_meta(copy, &report) != CL_OUT_OF_HOST_MEMORY);
      silent += !inspect(copy, map);
      if (report.problems) {
        reported++;
      } else {
        schedule s;
        memset(&s, 0, sizeof s);
        s.stop_thread = -1;
        s.most_steps = 1000000;
        memcpy(arena, copy, metadata);
        schedule_run(&s, 1, use, &p);
        if (s.hung || ((!p.whole || p.counted) && !is_free_bit((xmcHeap *)good, at))) {
          if (crashed++ < 9)
            print_error("byte %zu bit %u: not reported, then %s\n", at, bit,
                        s.hung      ? "a hang"
                        : p.counted ? "a good free is refused"
                                    : "room is lost");
        }
        harmless++;
        memcpy(arena, good, metadata);
      }
      free(copy);
    }
  print_message("%u flips reported, %u harmless; for %u no blocks are told\n", reported, harmless - crashed,
                silent);
  assert_true(silent > 0 && silent < reported);
  assert_int_equal(crashed, 0);
  assert_true(reported > 8u * 33u * 8u * p.heap->pages / 2u); /* at least the state words' */
  free(map);
  free(good);
  core_heap_free(p.heap);
}

/* Counters are not geometry; all the rest of the header is compared with the host's copy by xmcCheckHeap. */
static void header_is_covered(void **state) {
  (void)state;
  assert_true(is_counter(offsetof(xmcHeap, double_frees)) && is_counter(offsetof(xmcHeap, flux)));
  assert_false(is_counter(offsetof(xmcHeap, fifo_table)) || is_counter(offsetof(xmcHeap, lanes)));
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_bit),
      cmocka_unit_test(header_is_covered),
  };
  return run_named(tests, argc, argv);
}
