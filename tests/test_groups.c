/* SPDX-License-Identifier: MIT */
/* Sub-groups' claims, as on GPUs: up to 32 Basicblocks at once of Superblocks that are carved to fit,
 * released in parts. Threads stand for sub-groups; every 16 bytes have an owner.
 */
#define XMC_CARVE_TO_FIT 1
#include "support/core.h"
#include "support/named.h"

enum { THREADS = 8, LOTS = 40 };
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ROUNDS 2000
#else
#define ROUNDS 8000
#endif

typedef struct lot {
  xmc_u32 cls, id, mask;
} lot;

typedef struct groups {
  xmcHeap *heap;
  unsigned char *owners; /* of each 16 bytes: 0, or a thread's number + 1 */
  unsigned errors, failures;
} groups;

/* Each block of a lot leads to itself, and passes from one owner to another. */
static void own(groups *g, const lot *l, int from, int to) {
  xmc_u32 bit;
  for (bit = 0; bit < 32; bit++) {
    char *block = xmc_block_address(g->heap, l->cls, l->id, bit);
    size_t at = (size_t)(block - (char *)g->heap), bytes = xmc_class_bytes(l->cls), i;
    unsigned wrong = 0;
    xmc_place place;
    if (!(l->mask >> bit & 1u))
      continue;
    xmc_find_block(g->heap, block, &place);
    wrong += place.cls != l->cls || place.id != l->id || place.bit != bit || place.rest;
    wrong += at < g->heap->data || at + bytes > g->heap->data + xmc_data_bytes(g->heap);
    for (i = at / 16; !wrong && i < (at + bytes) / 16; i++)
      wrong += __atomic_exchange_n(&g->owners[i], (unsigned char)to, __ATOMIC_RELAXED) != from;
    if (wrong)
      __atomic_add_fetch(&g->errors, wrong, __ATOMIC_RELAXED);
  }
}

static void release(groups *g, lot *l, xmc_u32 mask, int number) {
  lot part = *l;
  part.mask &= mask;
  l->mask &= ~mask;
  if (!part.mask)
    return;
  own(g, &part, number + 1, 0);
  xmc_blocks_release(g->heap, xmc_caller(), xmc_words(g->heap), part.cls, part.id, part.mask,
                     xmc_popcount32(part.mask));
}

/* What a leader does for its lanes; when there is nothing, one lane by the last resort. */
static lot claim(groups *g, xmc_u32 cls, xmc_u32 want, int number) {
  lot l = {cls, 0, 0};
  xmc_claim taken = 0;
  if (xmc_fifos_count(g->heap->fifo_table[cls]))
    taken = xmc_blocks_claim_first(g->heap, xmc_caller(), cls, want);
  if (taken) {
    l.id = xmc_claim_id(taken);
    l.mask = xmc_claim_mask(taken);
    if (xmc_popcount32(l.mask) > want)
      __atomic_add_fetch(&g->errors, 1, __ATOMIC_RELAXED);
  } else {
    char *block = xmc_class_malloc_last(g->heap, xmc_caller(), cls);
    xmc_place place;
    if (!block) {
      __atomic_add_fetch(&g->failures, 1, __ATOMIC_RELAXED);
      return l;
    }
    xmc_find_block(g->heap, block, &place);
    l = (lot){place.cls, place.id, 1u << place.bit};
  }
  own(g, &l, 0, number + 1);
  return l;
}

static void live(int number, void *data) {
  groups *g = data;
  lot lots[LOTS] = {{0, 0, 0}};
  uint64_t seed = 12345u + 77777u * (unsigned)number;
  int round, k;
  for (round = 0; round < ROUNDS; round++) {
    uint64_t r = core_random(&seed);
    lot *l = &lots[r % LOTS];
    if (l->mask) /* often all of it, as when a sub-group frees what it allocated */
      release(g, l, r >> 32 & 3u ? ~0u : (xmc_u32)(r >> 34), number);
    else
      *l = claim(g, r >> 32 & 3u ? (xmc_u32)(r >> 34) % XMC_CLASSES : (xmc_u32)(round >> 7) % XMC_CLASSES,
                 r >> 50 & 1u ? 32u : 1u + (xmc_u32)(r >> 51) % 32u, number);
  }
  for (k = 0; k < LOTS; k++)
    release(g, &lots[k], ~0u, number);
}

static void crowd(size_t bytes, xmc_u32 slots, int scarce) {
  groups g = {core_heap(bytes, slots, 0xfffffff0u, XMC_COALESCE_CLASS), calloc(bytes / 16 + 1, 1), 0, 0};
  uint32_t pages;
  assert_non_null(g.owners);
  core_yield = 200;
  core_threads(THREADS, live, &g);
  core_yield = 0;
  assert_int_equal(g.errors, 0);
  assert_int_equal(g.heap->double_frees + g.heap->invalid_frees, 0);
  if (scarce)
    assert_true(g.failures > 0);
  else
    assert_int_equal(g.failures, 0);
  pages = g.heap->pages; /* nothing is lost: all of it is one block */
  assert_non_null(xmcMalloc(g.heap, (size_t)(pages > 64 ? pages / 64 * 64 : pages) * XMC_PAGE_BYTES));
  core_heap_free(g.heap);
  free(g.owners);
}

/* The word that is guessed of a wholly free Superblock, whatever pages it has, is the one it has. */
static void guesses(void **state) {
  xmc_u32 cls, order, count;
  (void)state;
  for (cls = 0; cls < XMC_CLASSES; cls++)
    for (order = 0; order <= xmc_class_order(cls); order++) {
      count = xmc_class_is_small(cls) ? 32u : xmc_class_blocks(cls, 1u << order);
      assert_true(xmc_word_guess(cls, xmc_class_is_small(cls) ? 64u : xmc_run_id(32u, order)) ==
                  (xmc_word_make(cls, count, xmc_full_mask(count)) | XMC_WORD_LISTED));
    }
}

/* Every Superblock and slab has a word of its own, inside the table, and its id leads back. Superblocks of as many pages
 * that follow each other have words that do. */
static void words(void **state) {
  enum { SPANS = 3, PAGES = SPANS * 64 - 5 };
  static unsigned char seen[PAGES + XMC_SLAB_WORDS + SPANS * XMC_SPAN_WORDS];
  xmc_u32 page, row, order, id;
  (void)state;
  memset(seen, 0, sizeof seen);
  for (page = 0; page < PAGES; page++) {
    id = xmc_slab_id(page);
    assert_true(id != XMC_NONE && id != XMC_FIFO_BACK);
    assert_int_equal(xmc_any_page(id), page);
    assert_int_equal(seen[id + PAGES + XMC_SLAB_WORDS]++, 0);
    for (row = 0; row < 32u; row++) {
      id = xmc_superblock_id(page, row);
      assert_true(id < SPANS * XMC_SPAN_WORDS);
      assert_int_equal(xmc_any_page(id), page);
      assert_int_equal(xmc_id_row(id), row);
      assert_int_equal(seen[id + PAGES + XMC_SLAB_WORDS]++, 0);
    }
  }
  for (order = 0; order < 5u; order++)
    for (page = 1u << order; page % 64u; page += 1u << order) {
      assert_int_equal(xmc_run_id(page, order), xmc_run_id(page - (1u << order), order) + 1u);
      assert_int_equal(xmc_run_order(xmc_run_id(page, order)), order);
    }
}

/* Tables take at most 2 % from 64 MiB on, and 2.4 % where slots have places of their own. Of these there are up to three times as
 * many places for runs. */
static void tables(void **state) {
  static const xmc_u32 lanes[] = {64, 1000, 8448, 20000, 200000};
  uint64_t bytes;
  size_t i;
  (void)state;
  for (i = 0; i < 2 * sizeof lanes / sizeof *lanes; i++)
    for (bytes = (uint64_t)64 << 20; bytes <= (uint64_t)256 << 30;
         bytes += bytes >> 31 ? bytes / 16 : XMC_PAGE_BYTES * 3u) {
      xmc_layout_request request;
      xmcHeap h;
      xmc_u32 slabs, runs;
      memset(&request, 0, sizeof request);
      request.slots = request.lanes = lanes[i / 2];
      request.simt = i % 2;
      assert_true(xmc_layout(&h, bytes, &request));
      assert_true(xmc_layout_metadata_bytes(&h) <= (h.own ? bytes * 24u / 1000u : bytes / 50u));
      slabs = (xmc_u32)(h.fifo_table[0] >> 53) << 6;
      runs = (xmc_u32)(h.fifo_table[XMC_SMALL_CLASSES] >> 53) << 6;
      assert_int_equal(slabs, h.own);
      assert_true(runs <= request.lanes && runs <= 3u * slabs);
      assert_true(!slabs || runs == 3u * slabs || runs == lanes[i / 2] / 64u * 64u || runs == XMC_MAX_OWN);
    }
}

static void roomy(void **state) {
  (void)state;
  crowd(24u << 20, 1, 0);
  crowd(24u << 20, 4, 0);
  crowd(24u << 20, CORE_SLOTS_DEFAULT, 0);
  crowd(24u << 20, 0, 0);
}

static void starved(void **state) {
  (void)state;
  crowd(400000, 1, 1);
  crowd(400000, 4, 1);
  crowd(400000, CORE_SLOTS_DEFAULT, 1);
  crowd(400000, 0, 1);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(guesses), cmocka_unit_test(words),
                                     cmocka_unit_test(tables), cmocka_unit_test(roomy),
                                     cmocka_unit_test(starved)};
  return run_named(tests, argc, argv);
}
