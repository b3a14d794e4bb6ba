/* SPDX-License-Identifier: MIT */
/* The rooms of the core by themselves, compiled as C: size classes, bitmaps, FIFO, Superblock, Memoryblock;
 * first alone against a simple model, then with 8 threads. */
#define XMC_HOST_LANES "support/any_number.h"
#include "support/core.h"
#include "../host/inspect/inspect.h"
#include "support/named.h"

#define THREADS 8

/* ---- size classes ---- */

static void size_classes(void **state) {
  xmc_u32 size, cls, r, previous = 0;
  (void)state;
  for (cls = 0; cls < XMC_CLASSES; cls++) {
    xmc_u32 bytes = xmc_class_bytes(cls), pages = 1u << xmc_class_order(cls);
    assert_true(bytes > previous && bytes % 16 == 0);
    assert_true(bytes <= 64 || previous >= bytes - bytes / 5 - 16);
    previous = bytes;
    /* division is exact for every offset of a full run */
    for (r = 0; r < pages << XMC_PAGE_SHIFT; r++) {
      xmc_u64 n = xmc_class_divide(r, xmc_class_inverse(cls));
      if (n >> 32 != r / bytes || ((xmc_u32)n < xmc_class_inverse(cls)) != (r % bytes == 0))
        fail_msg("%u / %u", r, bytes);
    }
    assert_true(xmc_class_blocks(cls, pages) * bytes <= pages << XMC_PAGE_SHIFT);
    assert_true((xmc_class_blocks(cls, pages) + 1) * bytes > pages << XMC_PAGE_SHIFT ||
                xmc_class_blocks(cls, pages) == 32);
    /* slabs of few places are the parked ones, and say how many they have */
    if (xmc_class_is_small(cls)) {
      xmc_u32 places = (xmc_class_blocks(cls, 1) + 31) / 32;
      assert_int_equal(xmc_slab_class(cls) >= XMC_PARKED_SLABS, places <= 4);
      assert_true(places > 4 || xmc_parked_places(xmc_slab_class(cls)) == places);
    }
  }
  assert_int_equal(previous, XMC_MAX_CLASS_BYTES);
  for (size = 1; size <= XMC_MAX_CLASS_BYTES; size++) {
    cls = xmc_class_of(size);
    assert_true(xmc_class_bytes(cls) >= size);
    assert_true(cls == 0 || xmc_class_bytes(cls - 1) < size);
  }
}

/* ---- bitmaps ---- */

static void bitmap_against_model(void **state) {
  enum { ITEMS = 700000 }; /* three words on the third level */
  xmc_u32 i, at = 1024, level, words = ITEMS;
  xmcHeap *heap = calloc(1, 1024 + ITEMS / 4);
  char *model = calloc(1, ITEMS);
  uint64_t seed = 1;
  (void)state;
  assert_true(heap && model);
  for (level = 0; level < XMC_BITMAP_LEVELS; level++) {
    words = (words + 63) / 64;
    heap->bitmaps[XMC_WHOLE].level[level] = at;
    at += 8 * words;
  }
  assert_true(at <= 1024 + ITEMS / 4);
  for (i = 0; i < 40000; i++) {
    xmc_u32 item = (xmc_u32)(core_random(&seed) % ITEMS), low, high, found;
    if (core_random(&seed) % 2) {
      xmc_bitmap_set(heap, XMC_WHOLE, item);
      model[item] = 1;
    } else {
      item = (xmc_u32)(core_random(&seed) % 2 ? item : xmc_bitmap_find(heap, XMC_WHOLE, 0, ITEMS));
      if (item == XMC_NONE)
        continue;
      xmc_bitmap_clear(heap, XMC_WHOLE, item);
      model[item] = 0;
    }
    low = (xmc_u32)(core_random(&seed) % ITEMS);
    high = low + (xmc_u32)(core_random(&seed) % (ITEMS - low + 1));
    found = xmc_bitmap_find(heap, XMC_WHOLE, low, high);
    while (low < high && !model[low])
      low++;
    assert_int_equal(found, low < high ? low : XMC_NONE);
  }
  xmc_bitmap_set(heap, XMC_WHOLE,
                 100); /* a start beyond the range, of an empty range too, finds nothing outside */
  assert_int_equal(xmc_bitmap_find_from(heap, XMC_WHOLE, 100, 100, 101), XMC_NONE);
  assert_int_equal(xmc_bitmap_find_from(heap, XMC_WHOLE, 100, 101, 5000), 100);
  free(heap);
  free(model);
}

/* The span index of a heap of `spans` spans, without the spans */
static xmcHeap *tables(xmc_u32 spans) {
  xmc_u32 at = XMC_HEADER_BYTES, k;
  xmcHeap *heap = calloc(1, XMC_HEADER_BYTES + 2u * (size_t)spans);
  assert_non_null(heap);
  heap->spans = spans;
  heap->pages = spans * XMC_SPAN_PAGES - 5u;
  heap->present = heap->pages;
  heap->present_spans = spans;
  for (k = 0; k < XMC_INDEX_LEVELS; k++) {
    heap->index[k] = at;
    at += ((spans >> 3u * k) / 8u + 1u) * 8u;
  }
  assert_true(at <= XMC_HEADER_BYTES + 2u * spans);
  return heap;
}

/* 40,000 spans reach every level of the index; few are set, so that searches go up and down. */
static void index_against_model(void **state) {
  enum { SPANS = 40000, ORDER = 3 };
  xmc_u32 i, any, from, next, found, orders, span;
  xmcHeap *heap = tables(SPANS);
  unsigned char *model = calloc(1, SPANS);
  uint64_t seed = 77;
  (void)state;
  assert_non_null(model);
  for (i = 0; i < 20000; i++) {
    span = (xmc_u32)(core_random(&seed) % SPANS);
    if (core_random(&seed) % 2) {
      orders = 1u + (xmc_u32)(core_random(&seed) % 127u);
      xmc_index_add(heap, 0, span, orders & ~model[span]);
      model[span] |= (unsigned char)orders;
    } else {
      if (core_random(&seed) % 8)
        span = xmc_index_next(heap, ORDER, span); /* keeps them few */
      if (span == XMC_NONE || !model[span])
        continue;
      xmc_index_remove(heap, span, 1, model[span]);
      model[span] = 0;
    }
    any = (xmc_u32)core_random(&seed);
    from = xmc_any_below(any, SPANS);
    for (next = from; next < SPANS && !(model[next] >> ORDER & 1u); next++)
      ;
    assert_int_equal(xmc_index_next(heap, ORDER, from), next < SPANS ? next : XMC_NONE);
    found = xmc_index_find(heap, ORDER, any);
    for (; next >= SPANS && from > 0 && next - SPANS < from && !(model[next - SPANS] >> ORDER & 1u); next++)
      ;
    assert_int_equal(found, next < SPANS ? next : next - SPANS < from ? next - SPANS : XMC_NONE);
    if (i % 64 == 0) {
      for (orders = 0, span = 0; span < SPANS; span++)
        orders |= model[span];
      assert_int_equal(xmc_index_orders(heap), orders);
    }
  }
  free(heap);
  free(model);
}

/* ---- FIFO ---- */

static void fifo_against_model(void **state) {
  static const xmc_u32 starts[] = {0, 1, 0xffffffffu, 0xfffffffdu, 0xfffff000u, 0x7ffffffeu};
  xmc_u32 model[XMC_FIFO_SIZE], used, next, s, i;
  uint64_t seed = 5;
  (void)state;
  for (s = 0; s < sizeof starts / sizeof *starts; s++) {
    xmc_fifo fifo;
    memset(&fifo, 0x5a, sizeof fifo);
    xmc_fifo_init(&fifo, starts[s]);
    assert_int_equal(fifo.active, XMC_NONE);
    assert_true(xmc_fifo_is_empty(&fifo));
    assert_int_equal(xmc_fifo_dequeue(&fifo), XMC_NONE);
    used = next = 0;
    for (i = 0; i < 10000; i++) {
      if (core_random(&seed) % 2) {
        int enqueued = xmc_fifo_enqueue(&fifo, next);
        assert_int_equal(enqueued, used < XMC_FIFO_SIZE);
        if (enqueued)
          model[used++] = next++;
      } else {
        xmc_u32 got = xmc_fifo_dequeue(&fifo);
        assert_int_equal(got, used ? model[0] : XMC_NONE);
        if (used)
          memmove(model, model + 1, --used * sizeof *model);
      }
      assert_int_equal(xmc_fifo_is_empty(&fifo), used == 0);
    }
    assert_true(fifo.head - starts[s] > 1000);
  }
}

/* One try with a message that was looked at earlier: it counts only if it is still the head's. */
static void fifo_old_look(void **state) {
  xmc_fifo fifo;
  xmc_u64 first;
  (void)state;
  xmc_fifo_init(&fifo, 0xfffffffeu);
  assert_true(xmc_fifo_enqueue(&fifo, 11) && xmc_fifo_enqueue(&fifo, 22) && xmc_fifo_enqueue(&fifo, 33));
  first = fifo.message[fifo.head % XMC_FIFO_SIZE];
  assert_int_equal(xmc_fifo_dequeue_seen(&fifo, fifo.head, first), 11);
  assert_int_equal(xmc_fifo_dequeue_seen(&fifo, fifo.head - 1, first), XMC_NONE); /* the head is gone */
  assert_int_equal(xmc_fifo_dequeue_seen(&fifo, fifo.head, first), XMC_NONE); /* it is another message's */
  assert_int_equal(xmc_fifo_dequeue(&fifo), 22);
  assert_int_equal(xmc_fifo_dequeue(&fifo), 33);
  assert_int_equal(xmc_fifo_dequeue(&fifo), XMC_NONE);
}

/* Each thread puts its own numbers into a FIFO and takes others' out. */
typedef struct fifo_crowd {
  xmc_fifo fifo;
  uint32_t rounds;
  uint32_t *seen;                  /* how often each message came out */
  uint32_t last[THREADS][THREADS]; /* by taker and giver: order is kept */
  uint32_t disorder, put, got;
} fifo_crowd;

static void fifo_member(int number, void *data) {
  fifo_crowd *crowd = data;
  uint32_t next = 0;
  while (next < crowd->rounds || __atomic_load_n(&crowd->got, __ATOMIC_RELAXED) < crowd->rounds * THREADS) {
    uint32_t message = (uint32_t)number * crowd->rounds + next, out;
    if (next < crowd->rounds && xmc_fifo_enqueue(&crowd->fifo, message))
      next++;
    out = xmc_fifo_dequeue(&crowd->fifo);
    if (out != XMC_NONE) {
      uint32_t giver = out / crowd->rounds, value = out % crowd->rounds + 1;
      if (giver >= THREADS || crowd->last[number][giver] >= value) {
        __atomic_add_fetch(&crowd->disorder, 1, __ATOMIC_RELAXED);
        giver %= THREADS;
      }
      crowd->last[number][giver] = value;
      __atomic_add_fetch(&crowd->seen[out % (crowd->rounds * THREADS)], 1, __ATOMIC_RELAXED);
      __atomic_add_fetch(&crowd->got, 1, __ATOMIC_RELAXED);
    }
  }
}

static void fifo_threads(void **state) {
  static const xmc_u32 starts[] = {0, 0xffffff00u};
  size_t s, i;
  (void)state;
  for (s = 0; s < 2; s++) {
    fifo_crowd *crowd = aligned_alloc(64, (sizeof *crowd + 63) / 64 * 64);
    assert_non_null(crowd);
    memset(crowd, 0, sizeof *crowd);
    crowd->rounds = 20000;
    crowd->seen = calloc(crowd->rounds * THREADS, sizeof *crowd->seen);
    assert_non_null(crowd->seen);
    xmc_fifo_init(&crowd->fifo, starts[s]);
    core_threads(THREADS, fifo_member, crowd);
    assert_int_equal(crowd->disorder, 0);
    for (i = 0; i < crowd->rounds * THREADS; i++)
      assert_int_equal(crowd->seen[i], 1);
    assert_true(xmc_fifo_is_empty(&crowd->fifo));
    free(crowd->seen);
    free(crowd);
  }
}

/* ---- Superblock ---- */

static void bits(void **state) {
  uint64_t seed = 9;
  int i;
  (void)state;
  for (i = 0; i < 100000; i++) {
    xmc_u32 x = (xmc_u32)core_random(&seed) & (xmc_u32)core_random(&seed), n, place = 0, lowest = 0, want;
    if (i % 1000 == 0)
      x = i ? 0xffffffffu : 1u;
    if (!x)
      continue;
    n = (xmc_u32)(core_random(&seed) % xmc_popcount32(x));
    for (want = n; !(x >> place & 1u) || want--; place++)
      ;
    assert_int_equal(xmc_nth_bit(x, n), place);
    for (place = 0, want = n + 1; place < 32 && want; place++)
      if (x >> place & 1u) {
        lowest |= 1u << place;
        want--;
      }
    assert_int_equal(xmc_lowest_bits(x, n + 1), lowest);
    assert_int_equal(xmc_lowest_bits(x, 32), x);
  }
}

/* A heap of nothing but state words */
static xmcHeap *words_only(xmc_u32 words) {
  xmcHeap *heap = calloc(1, 1024 + 8 * words);
  assert_non_null(heap);
  heap->words = 1024;
  return heap;
}

static void superblock_life(void **state) {
  xmcHeap *heap = words_only(2);
  xmc_u64 seen, w;
  (void)state;
  *xmc_word_of(heap, 1) = xmc_word_make(5, 20, xmc_full_mask(20)) | XMC_WORD_LISTED;
  seen = *xmc_word_of(heap, 1);
  assert_int_equal(xmc_superblock_claim(xmc_word_of(heap, 1), 4, 3, &seen, 0), 0); /* another class */
  assert_int_equal(xmc_superblock_claim(xmc_word_of(heap, 1), 5, 3, &seen, 0), 7);
  assert_true(*xmc_word_of(heap, 1) & XMC_WORD_SEATED);
  seen = *xmc_word_of(heap, 1);
  assert_int_equal(xmc_superblock_unlist(xmc_word_of(heap, 1), 5, &seen), 0); /* has free ones */
  seen = xmc_word_make(5, 20, 0xfff); /* a wrong guess costs a try, no more */
  assert_int_equal(xmc_superblock_claim(xmc_word_of(heap, 1), 5, 32, &seen, 0), 0);
  assert_true(seen == *xmc_word_of(heap, 1));
  assert_int_equal(xmc_superblock_claim(xmc_word_of(heap, 1), 5, 32, &seen, 0), xmc_full_mask(20) & ~7u);
  assert_int_equal(xmc_superblock_claim(xmc_word_of(heap, 1), 5, 1, &seen, 0), 0);
  assert_int_equal(xmc_superblock_unlist(xmc_word_of(heap, 1), 5, &seen), 1);
  assert_false(*xmc_word_of(heap, 1) & (XMC_WORD_LISTED | XMC_WORD_SEATED));
  w = xmc_superblock_release(xmc_word_of(heap, 1),
                             6); /* the first release after that takes the duty to list it */
  assert_false(w & XMC_WORD_LISTED);
  w = xmc_superblock_release(xmc_word_of(heap, 1), 1);
  assert_true(w & XMC_WORD_LISTED);
  assert_int_equal(xmc_word_free(w), 6);
  assert_false(xmc_superblock_retire(xmc_word_of(heap, 1), 5, *xmc_word_of(heap, 1)));
  xmc_superblock_release(xmc_word_of(heap, 1), xmc_full_mask(20) & ~7u);
  assert_true(xmc_word_is_whole(*xmc_word_of(heap, 1)));
  assert_false(xmc_superblock_retire(xmc_word_of(heap, 1), 4, *xmc_word_of(heap, 1)));
  assert_true(xmc_superblock_retire(xmc_word_of(heap, 1), 5, *xmc_word_of(heap, 1)));
  assert_true(*xmc_word_of(heap, 1) == XMC_WORD_RETIRED);
  /* a bad free cannot revive it, and no class can claim from it */
  w = xmc_superblock_release(xmc_word_of(heap, 1), 1u << 9);
  assert_true(w == XMC_WORD_RETIRED && *xmc_word_of(heap, 1) == XMC_WORD_RETIRED);
  for (w = 0; w < XMC_ALL_CLASSES; w++) {
    seen = xmc_word_make((xmc_u32)w, 32, 0xffffffffu);
    assert_int_equal(xmc_superblock_claim(xmc_word_of(heap, 1), (xmc_u32)w, 32, &seen, 0), 0);
  }
  free(heap);
}

typedef struct superblock_crowd {
  xmcHeap *heap;
  uint32_t owners[4][32];
  uint32_t collisions, claims, listed, unlisted;
  xmc_u32 rounds;
} superblock_crowd;

static void give_back(superblock_crowd *crowd, xmc_u32 id, xmc_u32 mine) {
  xmc_u32 bit;
  for (bit = 0; bit < 32; bit++)
    if (mine >> bit & 1u)
      __atomic_store_n(&crowd->owners[id][bit], 0, __ATOMIC_RELAXED);
  if (!(xmc_superblock_release(xmc_word_of(crowd->heap, id), mine) & XMC_WORD_LISTED))
    __atomic_add_fetch(&crowd->listed, 1, __ATOMIC_RELAXED);
}

static void superblock_member(int number, void *data) {
  superblock_crowd *crowd = data;
  uint64_t seed = (uint64_t)number + 77;
  xmc_u32 round, bit, mine[4] = {0, 0, 0, 0};
  for (round = 0; round < crowd->rounds; round++) {
    xmc_u32 id = (xmc_u32)(core_random(&seed) % 4);
    xmc_u64 seen = round % 2 ? xmc_load_relaxed64(xmc_word_of(crowd->heap, id)) : xmc_word_make(id, 8, 0xf0);
    xmc_u32 take = xmc_superblock_claim(xmc_word_of(crowd->heap, id), id,
                                        1 + (xmc_u32)(core_random(&seed) % 8), &seen, 0);
    if (!take) /* a wrong guess, or somebody else was faster */
      take = xmc_superblock_claim(xmc_word_of(crowd->heap, id), id, 4, &seen, 0);
    mine[id] |= take;
    for (bit = 0; bit < 32; bit++)
      if (take >> bit & 1u &&
          __atomic_exchange_n(&crowd->owners[id][bit], number + 1u, __ATOMIC_RELAXED) != 0)
        __atomic_add_fetch(&crowd->collisions, 1, __ATOMIC_RELAXED);
    if (take)
      __atomic_add_fetch(&crowd->claims, 1, __ATOMIC_RELAXED);
    else if (xmc_superblock_unlist(xmc_word_of(crowd->heap, id), id, &seen))
      __atomic_add_fetch(&crowd->unlisted, 1, __ATOMIC_RELAXED);
    if (mine[id] && core_random(&seed) % 3) {
      give_back(crowd, id, mine[id]);
      mine[id] = 0;
    }
  }
  for (bit = 0; bit < 4; bit++)
    if (mine[bit])
      give_back(crowd, bit, mine[bit]);
}

static void superblock_threads(void **state) {
  superblock_crowd crowd;
  xmc_u32 id;
  (void)state;
  memset(&crowd, 0, sizeof crowd);
  crowd.rounds = 50000;
  crowd.heap = words_only(4);
  for (id = 0; id < 4; id++)
    *xmc_word_of(crowd.heap, id) =
        xmc_word_make(id, 8 * (id + 1), xmc_full_mask(8 * (id + 1))) | XMC_WORD_LISTED;
  core_threads(THREADS, superblock_member, &crowd);
  assert_int_equal(crowd.collisions, 0);
  assert_true(crowd.claims > crowd.rounds);
  assert_true(crowd.listed > 0 && crowd.listed <= crowd.unlisted); /* unlisting one that is not is 1 too */
  for (id = 0; id < 4; id++) {
    xmc_u64 w = *xmc_word_of(crowd.heap, id) & ~XMC_WORD_SEATED;
    assert_true(w == (xmc_word_make(id, 8 * (id + 1), xmc_full_mask(8 * (id + 1))) | XMC_WORD_LISTED));
  }
  free(crowd.heap);
}

/* ---- Memoryblocks ---- */

static void runs_of_bits(void **state) {
  uint64_t seed = 3;
  int i;
  (void)state;
  for (i = 0; i < 20000; i++) {
    xmc_u64 x = core_random(&seed) | core_random(&seed), starts = 0;
    xmc_u32 n = 1 + (xmc_u32)(core_random(&seed) % 64), s, orders = 0, k;
    if (i % 3 == 0)
      x |= core_random(&seed) | core_random(&seed) | core_random(&seed);
    if (i % 100 == 0)
      x = i % 200 ? 0 : ~(xmc_u64)0;
    for (s = 0; s + n <= 64; s++)
      if ((x & xmc_run_mask(s, n)) == xmc_run_mask(s, n))
        starts |= (xmc_u64)1 << s;
    assert_true(xmc_run_starts(x, n) == starts);
    for (k = 0; k < XMC_ORDERS; k++)
      for (s = 0; s < 64; s += 1u << k)
        if ((x & xmc_run_mask(s, 1u << k)) == xmc_run_mask(s, 1u << k))
          orders |= 1u << k;
    assert_int_equal(xmc_run_orders(x), orders);
  }
}

/* A run of pages comes back to a span of which the index knows all: then it knows the new ones too, and no others. */
static void runs_that_come_back(void **state) {
  xmcHeap *heap = core_heap(8u << 20, CORE_SLOTS_DEFAULT, 0, XMC_COALESCE_CLASS);
  uint64_t seed = 11;
  xmc_u32 i;
  (void)state;
  for (i = 0; i < 200000; i++) {
    xmc_u32 span = (xmc_u32)(core_random(&seed) % (heap->spans - 1)), pages = 1u << core_random(&seed) % 5,
            page;
    xmc_u64 word = core_random(&seed), *index = xmc_index_word(heap, 0, span), mask;
    uint32_t dense = (uint32_t)(core_random(&seed) % 4);
    while (dense--)
      word |= core_random(&seed);
    for (page = 4; i % 3 == 0 && page < 64; page += 8) /* long runs */
      word |= (core_random(&seed) & 3u) ? (xmc_u64)0xff << (page & ~7u) : 0;
    page = (xmc_u32)(core_random(&seed) % 64) / pages * pages;
    mask = xmc_run_mask(page, pages);
    word &= ~mask;
    *xmc_span_word(heap, span) = word;
    *index = (*index & ~((xmc_u64)0xff << 8 * (span & 7u))) | (xmc_u64)xmc_run_orders(word)
                                                                  << 8 * (span & 7u);
    xmc_run_gave(heap, span * XMC_SPAN_PAGES + page, pages);
    assert_true(*xmc_span_word(heap, span) == (word | mask));
    assert_int_equal(*index >> 8 * (span & 7u) & 0xffu, xmc_run_orders(word | mask));
  }
  core_heap_free(heap);
}

/* The tables take at most 2 % of heaps of 64 MiB and more; where slots have places of their own, 2.4 %. */
static void metadata_share(void **state) {
  xmc_layout_request request;
  xmcHeap header;
  uint64_t bytes;
  (void)state;
  memset(&request, 0, sizeof request);
  for (bytes = (uint64_t)64 << 20; bytes < (uint64_t)60 << 30; bytes += bytes / 7 / 4096 * 4096)
    for (request.simt = 0; request.simt < 2; request.simt++) {
      request.lanes = request.slots = request.simt ? 132 * 64 : 64;
      assert_int_equal(xmc_layout(&header, bytes, &request), 1);
      if (xmc_layout_metadata_bytes(&header) * 1000 > bytes * (header.own ? 24u : 20u))
        fail_msg("%llu of %llu bytes", (unsigned long long)xmc_layout_metadata_bytes(&header),
                 (unsigned long long)bytes);
    }
}

/* Runs of all lengths went back; then others begin at the same pages, and slabs of 16 bytes, whose words some of the runs
 * had. Whoever frees the old blocks again changes nothing: not what is in use now, wherever the old entries lead. */
static void old_blocks_freed_again(void **state) {
  enum { BYTES = 8 << 20, OLD = 4000, LIVE = 9000 };
  xmcHeap *heap = core_heap(BYTES, CORE_SLOTS_DEFAULT, 0, XMC_COALESCE_CLASS);
  unsigned char *begins = calloc(BYTES / 16, 1);
  void **old = malloc(OLD * sizeof *old), **live = malloc(LIVE * sizeof *live);
  uint64_t seed = 3;
  unsigned round;
  (void)state;
  assert_true(begins && old && live);
  xmc_say_scarce(heap); /* else what xmc_reclaim looked at once it does not find again */
  for (round = 0; round < 60; round++) {
    xmc_u32 count = 0, blocks = 0, tries, bad = 0, i;
    xmc_u64 before = heap->double_frees + heap->invalid_frees;
    for (tries = 0; tries < 60 && count + 32 <= OLD; tries++) {
      xmc_u32 cls = 15 + (xmc_u32)(core_random(&seed) % 17), m;
      xmc_u32 order = (xmc_u32)(core_random(&seed) % (xmc_class_order(cls) + 1));
      xmc_seat seat;
      xmc_claim claim;
      xmc_seat_none(&seat);
      claim = xmc_pages_carve(heap, xmc_caller(), cls, 32, order, xmc_fixed_map(heap), xmc_fixed_lanes(heap),
                              seat);
      for (m = xmc_claim_mask(claim); m; m &= m - 1)
        old[count++] = xmc_block_address(heap, cls, xmc_claim_id(claim), xmc_lowest32(m));
    }
    for (i = 0; i < count; i++)
      xmcFree(heap, old[i]);
    while (xmc_reclaim(heap, xmc_caller(), XMC_MAX_PAGES))
      ;
    assert_int_equal(core_free_pages(heap), heap->pages);
    assert_int_equal(heap->double_frees + heap->invalid_frees, before);
    while (blocks < LIVE - 1000) { /* a few of some size, then of another */
      size_t size = core_random(&seed) % 3 ? 16 : 16 + core_random(&seed) % 8000;
      for (i = 1 + (xmc_u32)(core_random(&seed) % (size == 16 ? 1000 : 40)); i > 0; i--) {
        live[blocks] = xmcMalloc(heap, size);
        if (!live[blocks])
          break;
        begins[xmc_arena_offset(heap, live[blocks++]) / 16] = 1;
      }
      if (i)
        break;
    }
    for (i = 0; i < count; i++)
      if (!begins[xmc_arena_offset(heap, old[i]) / 16]) {
        xmcFree(heap, old[i]);
        bad++;
      }
    assert_int_equal(heap->double_frees + heap->invalid_frees, before + bad);
    for (i = 0; i < blocks; i++) {
      begins[xmc_arena_offset(heap, live[i]) / 16] = 0;
      xmcFree(heap, live[i]);
    }
    assert_int_equal(heap->double_frees + heap->invalid_frees, before + bad);
    while (xmc_reclaim(heap, xmc_caller(), XMC_MAX_PAGES))
      ;
    assert_int_equal(core_free_pages(heap), heap->pages);
  }
  free(old);
  free(live);
  free(begins);
  core_heap_free(heap);
}

typedef struct run_crowd {
  xmcHeap *heap;
  uint32_t *owners;
  uint32_t collisions, failures, outside, most, rounds;
} run_crowd;

static void own(run_crowd *crowd, xmc_u32 page, xmc_u32 pages, uint32_t from, uint32_t to) {
  xmc_u32 i;
  for (i = 0; i < pages; i++)
    if (__atomic_exchange_n(&crowd->owners[page + i], to, __ATOMIC_RELAXED) != from)
      __atomic_add_fetch(&crowd->collisions, 1, __ATOMIC_RELAXED);
}

/* Claims runs in each of the ways there are. Returns the first page of one that holds *pages, or XMC_NONE. */
static xmc_u32 claim_run(xmcHeap *heap, uint64_t way, xmc_u32 *pages) {
  xmc_u32 span = 0, order, page;
  xmc_u64 mask, seen;
  if (*pages > XMC_SPAN_PAGES)
    return xmc_run_claim_long(heap, 0, *pages);
  if (way % 3 == 0) { /* a Superblock's */
    order = (xmc_u32)way / 3 % 5;
    *pages = 1u << order;
    if (!(heap->pages >> order))
      return XMC_NONE;
    page = way >> 50 & 1 ? (xmc_u32)(way >> 51)
                         : xmc_class_home(heap, xmc_caller(), (xmc_u32)(way >> 32) % XMC_CLASSES);
    page = (page >> order) % (heap->pages >> order) << order;
    return xmc_run_claim_at(heap, heap->page_map, xmc_run_mask(0, 1u << order), page, &seen)
               ? page
               : xmc_run_search(heap, xmc_caller(), order, page, XMC_RUN_HOMES, seen);
  }
  mask = xmc_run_claim(heap, xmc_caller(), *pages, 1 + (xmc_u32)way % 3, (int)(way >> 40 & 1),
                       way >> 41 & 1 ? xmc_memoryblock_home(heap, xmc_caller()) : XMC_NONE, &span);
  if (!mask)
    return XMC_NONE;
  /* several runs at once lie in the order of their bits; the first is kept */
  if ((xmc_u32)__builtin_popcountll(mask) % *pages != 0)
    return heap->pages;
  while ((xmc_u32)__builtin_popcountll(mask) > *pages) {
    xmc_u32 last = 63u - (xmc_u32)__builtin_clzll(mask), first = last + 1 - *pages;
    if ((mask & xmc_run_mask(first, *pages)) != xmc_run_mask(first, *pages))
      return heap->pages; /* not runs */
    xmc_run_release(heap, span * XMC_SPAN_PAGES + first, *pages);
    mask &= ~xmc_run_mask(first, *pages);
  }
  return span * XMC_SPAN_PAGES + xmc_lowest64(mask);
}

static void run_member(int number, void *data) {
  enum { HELD = 16 };
  run_crowd *crowd = data;
  uint64_t seed = (uint64_t)number + 5;
  xmc_u32 page[HELD], pages[HELD], round, i;
  memset(pages, 0, sizeof pages);
  for (round = 0; round < crowd->rounds + HELD; round++) {
    i = round % HELD;
    if (pages[i]) {
      own(crowd, page[i], pages[i], (uint32_t)number + 1, 0);
      xmc_run_release(crowd->heap, page[i], pages[i]);
      pages[i] = 0;
    }
    if (round < crowd->rounds) {
      xmc_u32 want = 1 + (xmc_u32)(core_random(&seed) % (core_random(&seed) % 8 ? 16 : crowd->most));
      any_number = (xmc_u32)core_random(&seed); /* where a run is looked for that is not the lowest */
      page[i] = claim_run(crowd->heap, core_random(&seed), &want);
      if (page[i] == XMC_NONE) {
        __atomic_add_fetch(&crowd->failures, 1, __ATOMIC_RELAXED);
        continue;
      }
      if (page[i] >= crowd->heap->pages || want > crowd->heap->pages - page[i]) {
        __atomic_add_fetch(&crowd->outside, 1, __ATOMIC_RELAXED);
        continue;
      }
      pages[i] = want;
      own(crowd, page[i], want, 0, (uint32_t)number + 1);
    }
  }
}

static void memoryblock_crowd(int threads, size_t bytes, uint32_t rounds, uint32_t most) {
  run_crowd crowd;
  xmc_u32 page, pages;
  xmc_heap_report report = {0};
  memset(&crowd, 0, sizeof crowd);
  crowd.heap = core_heap(bytes, CORE_SLOTS_DEFAULT, 0, XMC_COALESCE_CLASS);
  crowd.owners = calloc(crowd.heap->pages, sizeof *crowd.owners);
  crowd.rounds = rounds;
  crowd.most = most;
  assert_non_null(crowd.owners);
  core_threads(threads, run_member, &crowd);
  assert_int_equal(crowd.collisions, 0);
  assert_int_equal(crowd.outside, 0);
  assert_true(crowd.failures < rounds * (unsigned)threads / 2);
  /* all merged again, and the index knows it: one run of everything can be had */
  if (xmc_check_meta(crowd.heap, &report) != CL_SUCCESS)
    fail_msg("%s", report.message);
  assert_int_equal(core_free_pages(crowd.heap), crowd.heap->pages);
  pages = crowd.heap->pages;
  page = xmc_run_claim_long(crowd.heap, 0, pages);
  assert_int_equal(page, 0);
  assert_int_equal(core_free_pages(crowd.heap), 0);
  assert_int_equal(xmc_run_claim_long(crowd.heap, 0, 65), XMC_NONE);
  xmc_run_release(crowd.heap, page, pages);
  assert_int_equal(core_free_pages(crowd.heap), pages);
  free(crowd.owners);
  core_heap_free(crowd.heap);
}

static void memoryblocks_alone(void **state) {
  (void)state;
  memoryblock_crowd(1, 8u << 20, 20000, 200);
  memoryblock_crowd(1, 100u << 20, 20000, 1000);
}

static void memoryblock_threads(void **state) {
  (void)state;
  memoryblock_crowd(THREADS, 32u << 20, 10000, 64);
  memoryblock_crowd(THREADS, 64u << 20, 10000, 300);
  memoryblock_crowd(THREADS, 256u << 20, 5000, 1000);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(size_classes),
      cmocka_unit_test(bitmap_against_model),
      cmocka_unit_test(index_against_model),
      cmocka_unit_test(fifo_against_model),
      cmocka_unit_test(fifo_old_look),
      cmocka_unit_test(fifo_threads),
      cmocka_unit_test(bits),
      cmocka_unit_test(superblock_life),
      cmocka_unit_test(superblock_threads),
      cmocka_unit_test(runs_of_bits),
      cmocka_unit_test(memoryblocks_alone),
      cmocka_unit_test(memoryblock_threads),
      cmocka_unit_test(runs_that_come_back),
      cmocka_unit_test(old_blocks_freed_again),
      cmocka_unit_test(metadata_share),
  };
  return run_named(tests, argc, argv);
}
