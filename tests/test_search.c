/* SPDX-License-Identifier: MIT */
/* What a search of the last resort may miss, and must learn of. Before each atomic of a request the arena is copied, and the whole
 * search runs on the copy, as another work-item's would that sees this moment. Where it finds nothing although there is room
 * before the request and after it, the room was out of sight for a moment; then the request must have moved `flux` by its end, or
 * count as one that holds room: by that a real search knows that it has to look again (cl/pressure/reclaim.cl).
 *
 * In the end a heap whose span index lost several runs, as it does when work-items stop half-way: all of them are found.
 */
static void look(void);
static void others(void);
static void hint_others(void);
static void rob(const void *word);
static int steps = -1; /* until the others run */
#define CORE_OWN_STEPS
#define XMC_HOST_LANES "support/any_number.h"
#define XMC_HOST_STEP() \
  do { \
    others(); \
    hint_others(); \
    look(); \
  } while (0)
#define XMC_HOST_STEP_CAS(p) \
  do { \
    XMC_HOST_STEP(); \
    rob(p); \
  } while (0)
#include "support/core.h"
#include "support/look.h"
#include <sys/mman.h>
#include "../host/inspect/inspect.h"
#include "support/named.h"

enum { MOST_BLOCKS = 8192 };

static uint32_t fill(unsigned char **block, uint32_t size) {
  uint32_t n = 0;
  while (n < MOST_BLOCKS && (block[n] = xmcMalloc(view.heap, size)) != NULL)
    n++;
  assert_true(n > 0 && n < MOST_BLOCKS && (view.heap->scarce & XMC_SCARCE_ONCE));
  return n;
}

static void intact(void) {
  xmc_heap_report report;
  memset(&report, 0, sizeof report);
  if (xmc_check_meta(view.heap, &report) != CL_SUCCESS)
    fail_msg("%s", report.message);
}

/* A full heap in which some blocks were freed; then requests, each looked at. */
static void random_requests(void **state) {
  static unsigned char *block[MOST_BLOCKS];
  static const uint32_t sizes[] = {64, 448, 512, 3000, 8192};
  static const xmc_u32 slots[] = {0, 1, 4};
  uint32_t s, k, round, i, n, hidden = 0, free_one, seed_at = 0;
  (void)state;
  for (s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (k = 0; k < sizeof slots / sizeof *slots; k++) {
      uint64_t seed = 77 + ++seed_at;
      look_open(1u << 19, slots[k], sizes[s]);
      n = fill(block, sizes[s]);
      for (round = 0; round < 400; round++) {
        free_one = (uint32_t)core_random(&seed) % n;
        for (i = 0; i < 1 + core_random(&seed) % 40; i++)
          if (block[(free_one + i) % n]) {
            xmcFree(view.heap, block[(free_one + i) % n]);
            block[(free_one + i) % n] = NULL;
          }
        intact();
        if (core_random(&seed) % 2) /* as a new Superblock leaves it */
          view.heap->scarce = XMC_SCARCE_ONCE;
        for (i = 0; i < n; i++)
          if (!block[i] && core_random(&seed) % 2) {
            int before = has_room();
            look_begin();
            block[i] = xmcMalloc(view.heap, sizes[s]);
            view.on = 0;
            if (!before && !block[i])
              continue;
            hidden += look_end("a request", before);
          }
      }
      print_message("%u B, %u FIFOs: %u moments so far\n", sizes[s], slots[k], hidden);
      look_close();
    }
  assert_true(hidden > 0);
}

/* A slab out of the ring that takes the seat of its FIFO, for one who did not say that it holds room */
static void slab_takes_the_seat(void **state) {
  xmc_u32 cls = xmc_class_of(64);
  xmc_seat seat;
  int before;
  (void)state;
  look_open(1u << 20, 1, 64);
  xmc_seat_none(&seat);
  assert_true(xmc_pages_carve(view.heap, 0, xmc_slab_class(cls), 1, 0, xmc_fixed_map(view.heap),
                              xmc_fixed_lanes(view.heap),
                              seat) != 0); /* into the ring, and nothing else has room */
  while (xmc_span_take(view.heap, 0, 0) != XMC_NONE)
    ;
  xmc_say_scarce(view.heap);
  seat.fifo = xmc_fifo_of(view.heap, 0, xmc_slab_class(cls));
  xmc_seat_read(view.heap, &seat);
  before = has_room();
  look_begin();
  assert_true(xmc_claim_mask(xmc_slab_claim(view.heap, xmc_words(view.heap), xmc_slab_class(cls), &seat)) !=
              0);
  assert_true(look_end("a slab that takes the seat", before) > 0);
  look_close();
}

/* Pages of a run that is free in part only are out of sight until they are back. */
static void part_of_a_run(void **state) {
  xmc_u64 seen;
  xmc_u32 page;
  int before;
  (void)state;
  look_open(1u << 20, 1, XMC_PAGE_BYTES);
  while ((page = xmc_span_take(view.heap, 0, 0)) != XMC_NONE)
    ;
  xmc_say_scarce(view.heap);
  xmc_span_give(view.heap, 0, 1u << 4, 0); /* page 5 is in use */
  before = has_room();
  look_begin();
  assert_int_equal(xmc_run_claim_at(view.heap, xmc_heap_map(view.heap), 3, 4, &seen), 0);
  assert_int_equal(look_end("a run that is free in part", before), 1);
  look_close();
}

/* Three spans below one word of the index's second level, the first two below one of its first: one is taken from the index, of the
 * second a page comes back, and another search takes the third from the index. */
enum { TALL_SPANS = 192, MENDED = 64, BACK = 65, OTHER = 72 };
static xmcHeap *tall;
static int tall_step, back_at, other_at;
static void tall_others(void) {
  xmcHeap *heap = tall;
  tall = NULL; /* the other calls run undisturbed */
  if (tall_step == back_at)
    xmc_span_give(heap, BACK, 1, 0);
  if (tall_step == other_at)
    xmc_span_mend(heap, OTHER, 0);
  tall_step++;
  tall = heap;
}

/* The same for spans: a request of more than a span steps back when somebody takes a page behind its first span. */
static int taken, gives, mends, counts;
static uint32_t accesses, takes; /* which page */
static void others(void) {
  if (tall)
    tall_others();
  accesses += view.on || counts; /* not those of a look */
  if (!view.on || steps < 0 || steps-- > 0)
    return;
  if (gives)
    xmc_span_give(view.heap, 0, 1, 0);
  else if (mends)
    xmc_span_mend(view.heap, 0, 0);
  else
    taken = xmc_run_claim_at(view.heap, xmc_heap_map(view.heap), 1, takes, &(xmc_u64){0});
}
/* A request for `pages` in a heap of which the first `spans` are free. Before the n-th atomic, for each n, somebody else takes the page
 * `somebody`. Returns how often room was out of sight. */
static uint32_t stepped_back(uint32_t spans, uint32_t pages, uint32_t somebody) {
  uint32_t hidden = 0, page;
  int at = 0, reached = 1;
  for (; reached; at++) {
    int before;
    look_open(9u << 20, 1, XMC_SPAN_PAGES * XMC_PAGE_BYTES);
    xmc_say_scarce(view.heap);
    for (page = spans * XMC_SPAN_PAGES; page < view.heap->pages; page++)
      assert_int_equal(xmc_run_claim_at(view.heap, xmc_heap_map(view.heap), 1, page, &(xmc_u64){0}), 1);
    before = has_room();
    takes = somebody;
    steps = at;
    look_begin();
    page = xmc_run_claim_long(view.heap, 0, pages);
    reached = steps < 0;
    steps = -1;
    assert_true(!reached || taken != (page != XMC_NONE)); /* one of the two has the page */
    if (page == XMC_NONE)
      hidden += look_end("a run of spans that steps back", before);
    view.on = 0;
    xmc_run_release(view.heap, page == XMC_NONE ? takes : 0, page == XMC_NONE ? 1u : pages);
    for (page = 0; page < spans; page++)
      assert_true(*xmc_span_word(view.heap, page) == ~(xmc_u64)0 && xmc_index_has_all(view.heap, page));
    look_close();
  }
  return hidden;
}
static void part_of_the_spans(void **state) {
  uint32_t hidden = stepped_back(2, XMC_SPAN_PAGES + 10u, XMC_SPAN_PAGES), somebody;
  (void)state;
  assert_true(hidden > 0);
  for (hidden = 0, somebody = 0; somebody < 4; somebody++)
    hidden += stepped_back(4, 4 * XMC_SPAN_PAGES, somebody * XMC_SPAN_PAGES);
  assert_true(hidden > 0);
  for (somebody = 0; somebody < 6; somebody++)
    stepped_back(6, 5 * XMC_SPAN_PAGES + 10u, somebody * XMC_SPAN_PAGES);
}

/* A span without a free page is taken from the index while a page of it comes back; and a request that finds a run, or four spans, free
 * in part takes the part for a moment, in which somebody else takes the span from the index. In the end the index has what is free. */
static void the_index_is_mended(void **state) {
  enum { WHOLE, RUN, SPANS, WAYS };
  xmc_u64 seen;
  int at, reached, way;
  (void)state;
  for (way = 0; way < WAYS; way++)
    for (at = 0, reached = 1; reached; at++) {
      look_open(way == SPANS ? 9u << 20 : 1u << 20, 1, XMC_PAGE_BYTES);
      while (way != SPANS && xmc_span_take(view.heap, 0, 0) != XMC_NONE)
        ;
      if (way == RUN)
        xmc_span_give(view.heap, 0, 1u << 4, 0); /* page 5 is in use */
      steps = at;
      view.on = 1;
      gives = way == WHOLE;
      mends = !gives;
      if (way == SPANS) {
        assert_int_equal(xmc_run_claim_at(view.heap, xmc_heap_map(view.heap), 1, 5, &seen), 1);
        assert_int_equal(xmc_spans_claim(view.heap, 0), 0);
      } else if (way == RUN) {
        assert_int_equal(xmc_run_claim_at(view.heap, xmc_heap_map(view.heap), 3, 4, &seen), 0);
      } else {
        xmc_span_mend(view.heap, 0, 0);
      }
      view.on = gives = mends = 0;
      reached = steps < 0;
      steps = -1;
      if (!reached && way == WHOLE)
        xmc_span_give(view.heap, 0, 1, 0);
      assert_true((xmc_u32)*xmc_index_word(view.heap, 0, 0) & 1u);
      look_close();
    }
}

/* Whatever the order in which the others run between the steps of xmc_index_remove, in the end each level names the page. */
static void the_levels_are_mended(void **state) {
  enum { MOST = 24 };
  xmcHeap header = core_header((TALL_SPANS + 8u) << 20, 1, 0, XMC_COALESCE_CLASS), *heap;
  xmc_u32 level, span, order;
  (void)state;
  for (back_at = 0; back_at < MOST; back_at++)
    for (other_at = 0; other_at < MOST; other_at++) {
      heap = mmap(NULL, header.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                  0);
      assert_true(heap != MAP_FAILED);
      *heap = header;
      xmc_init_part(heap, 0, 1);
      xmc_init_open(heap);
      assert_true(heap->spans > TALL_SPANS);
      /* No page is free, and the index names order 0 of two spans. */
      for (span = 0; span < heap->spans; span++) {
        *xmc_span_word(heap, span) = 0;
        for (order = span == MENDED || span == OTHER; order < XMC_ORDERS; order++)
          xmc_span_mend(heap, span, order);
      }
      tall_step = 0;
      tall = heap;
      xmc_span_mend(heap, MENDED, 0);
      tall = NULL;
      assert_in_range(tall_step, 1, MOST - 1);
      if (back_at >= tall_step)
        xmc_span_give(heap, BACK, 1, 0);
      if (other_at >= tall_step)
        xmc_span_mend(heap, OTHER, 0);
      for (level = 0; level < XMC_INDEX_LEVELS; level++) {
        span = BACK >> (3u * level);
        if (!(*xmc_index_word(heap, level, span) >> (8u * (span & 7u)) & 1u))
          fail_msg(
              "level %u does not name a page that came back before step %d, the other search before step %d",
              level, back_at, other_at);
      }
      munmap(heap, header.bytes);
    }
}

/* A block that cannot grow, although the next page is free, takes nothing out of sight. */
static void growth_in_vain(void **state) {
  xmc_u32 page;
  (void)state;
  look_open(9u << 20, 1, XMC_PAGE_BYTES);
  assert_int_equal(xmc_pages_claim(view.heap, 0, XMC_SPAN_PAGES), XMC_SPAN_PAGES);
  xmc_memoryblock_start(view.heap, 0, XMC_SPAN_PAGES);
  for (page = XMC_SPAN_PAGES + 1u; page < view.heap->pages; page++)
    assert_int_equal(xmc_run_claim_at(view.heap, xmc_heap_map(view.heap), 1, page, &(xmc_u64){0}), 1);
  xmc_say_scarce(view.heap);
  assert_true(has_room());
  look_begin();
  assert_int_equal(xmc_memoryblock_resize(view.heap, 0, XMC_SPAN_PAGES, 5 * XMC_SPAN_PAGES), 0);
  view.on = 0;
  assert_int_equal(view.hidden, 0);
  assert_true(has_room());
  look_close();
}

/* The index says of a span that it is free, where a page is in use that comes back during the request: in the end it must say so. */
static void a_span_comes_back(void **state) {
  uint32_t page, spans = 0;
  int at = 0, reached = 1;
  (void)state;
  for (; reached; at++) {
    look_open(4u << 20, 1, XMC_SPAN_PAGES * XMC_PAGE_BYTES);
    assert_int_equal(xmc_run_claim_at(view.heap, xmc_heap_map(view.heap), 1, 0, &(xmc_u64){0}), 1);
    steps = at;
    view.on = gives = 1;
    page = xmc_run_claim_long(view.heap, 0, XMC_SPAN_PAGES + 10u);
    view.on = gives = 0;
    reached = steps < 0;
    steps = -1;
    assert_true(page == 0 || page == XMC_SPAN_PAGES);
    spans |= page ? 1u : 2u;
    if (!reached)
      xmc_span_give(view.heap, 0, 1, 0);
    xmc_run_release(view.heap, page, XMC_SPAN_PAGES + 10u);
    intact();
    look_close();
  }
  assert_int_equal(spans, 3);
}

/* Does the index say that the span is free? */
static int is_named(uint32_t span) { return xmc_index_next(view.heap, XMC_ORDERS - 1u, span) == span; }

/* The index names none of the spans that long runs took wholly, wherever its words end, and still all others. */
static void long_runs_are_forgotten(void **state) {
  enum { MOST = 26 };
  uint32_t first, spans, i;
  (void)state;
  look_open(40u << 20, 1, XMC_SPAN_PAGES * XMC_PAGE_BYTES);
  assert_true(view.heap->spans > 10 + MOST && is_named(10 + MOST));
  for (first = 2; first <= 10; first++)
    for (spans = 2; spans <= MOST; spans += 3) {
      assert_int_equal(xmc_run_claim_long(view.heap, 0, first * XMC_SPAN_PAGES), 0);
      assert_int_equal(xmc_run_claim_long(view.heap, 0, spans * XMC_SPAN_PAGES), first * XMC_SPAN_PAGES);
      for (i = 0; i <= 10 + MOST; i++)
        assert_int_equal(is_named(i), i >= first + spans);
      xmc_run_release(view.heap, first * XMC_SPAN_PAGES, spans * XMC_SPAN_PAGES);
      for (i = 0; i <= 10 + MOST; i++)
        assert_int_equal(is_named(i), i >= first);
      xmc_run_release(view.heap, 0, first * XMC_SPAN_PAGES);
      intact();
    }
  look_close();
}

/* A request that the index misled corrects it, finds what the index does not know, and takes nothing beyond the last span. */
static void long_runs_and_index(void **state) {
  uint32_t span;
  (void)state;
  look_open(4u << 20, 1, XMC_SPAN_PAGES * XMC_PAGE_BYTES);
  assert_int_equal(xmc_run_claim_at(view.heap, xmc_heap_map(view.heap), 1, 0, &(xmc_u64){0}), 1);
  assert_true(is_named(0));
  assert_int_equal(xmc_run_claim_long(view.heap, 0, XMC_SPAN_PAGES + 10u), XMC_SPAN_PAGES);
  assert_false(is_named(0));
  xmc_run_release(view.heap, 0, 1);
  xmc_run_release(view.heap, XMC_SPAN_PAGES, XMC_SPAN_PAGES + 10u);
  intact();
  for (span = 0; span < view.heap->spans; span++)
    xmc_index_remove(view.heap, span, 1, 0x7fu);
  assert_int_equal(xmc_index_next(view.heap, XMC_ORDERS - 1u, 0), XMC_NONE);
  assert_int_equal(xmc_run_claim_long(view.heap, 0, XMC_SPAN_PAGES + 10u), 0);
  xmc_run_release(view.heap, 0, XMC_SPAN_PAGES + 10u);
  view.heap->present_spans = 1; /* what is behind it looks free */
  assert_int_equal(xmc_run_claim_long(view.heap, 0, XMC_SPAN_PAGES + 10u), XMC_NONE);
  look_close();
}

/* A run that somebody else takes between the look and the claim: the request goes on from a place of its own, and finds what lies before
 * that place by the index, in few accesses. */
static void a_run_is_lost(void **state) {
  enum { NEED = 2, LOW = 100, HIGH = 120 };
  uint32_t behind, span, page, found;
  int at, reached;
  (void)state;
  for (behind = 0; behind < 2; behind++) {
    for (at = 0, found = 0, reached = 1; reached; at++) {
      look_open(132u << 20, 1, XMC_SPAN_PAGES * XMC_PAGE_BYTES);
      assert_true(view.heap->spans > HIGH + NEED + 1);
      for (span = NEED; span < view.heap->spans; span++)
        if (span / NEED != LOW / NEED && span / NEED != HIGH / NEED) {
          assert_true(xmc_span_take(view.heap, span, 0) != XMC_NONE);
          xmc_index_remove(view.heap, span, 1, XMC_ORDER_OF_SPAN);
        }
      any_number = behind ? HIGH / NEED : HIGH / NEED + 1u;
      taken = 0;
      accesses = 0;
      steps = at;
      takes = 0;
      view.on = 1;
      page = xmc_run_claim_long(view.heap, 0, NEED * XMC_SPAN_PAGES) / XMC_SPAN_PAGES;
      view.on = 0;
      reached = steps < 0;
      steps = -1;
      assert_true(taken ? page == LOW || page == HIGH : page == 0); /* LOW: the look saw it taken */
      assert_true(accesses < 60);
      found |= 1u << page / NEED % 32u;
      look_close();
    }
    assert_true(found >> (behind ? HIGH : LOW) / NEED % 32u & 1u);
  }
}

/* Somebody who is always quicker: takes the first page of a span that is about to be claimed. For good, or until the next such claim. */
static int robs, keeps;
static xmc_u64 *robbed;
static void rob(const void *word) {
  xmc_u64 *span = (xmc_u64 *)word;
  if (!robs || span > xmc_span_word(view.heap, 0) || span < xmc_span_word(view.heap, view.heap->spans - 1u))
    return;
  assert_true(accesses < 1000000);
  robs--;
  if (robbed && !keeps)
    *robbed |= 1u;
  *span &= ~(xmc_u64)1u;
  robbed = span;
}

/* Accesses of a request for two spans that loses `losses` runs, in a heap whose lower part has a free span only beside a used one. */
static uint32_t accesses_of_loser(int losses, int for_good, xmc_u32 place, xmc_u32 *page) {
  enum { SPANS = 200, APART = 160 };
  xmc_u32 span;
  look_open((SPANS + 8u) << 20, 1, XMC_SPAN_PAGES * XMC_PAGE_BYTES);
  assert_true(view.heap->spans >= SPANS);
  for (span = 0; span < APART; span += 2) {
    assert_true(xmc_span_take(view.heap, span, 0) != XMC_NONE);
    xmc_index_remove(view.heap, span, 1, XMC_ORDER_OF_SPAN);
  }
  any_number = place;
  accesses = 0;
  robbed = NULL;
  keeps = for_good;
  robs = losses;
  counts = 1;
  *page = xmc_run_claim_long(view.heap, 0, 2 * XMC_SPAN_PAGES);
  counts = robs = 0;
  look_close();
  return accesses;
}

/* Each run that is lost costs a few accesses more, and a request that loses all of them comes to an end. */
static void runs_are_lost(void **state) {
  enum { FOR_EVER = 1 << 30 };
  static const int losses[] = {1, 2, 8, 9, 16};
  xmc_u32 place, page, i;
  uint32_t none = accesses_of_loser(0, 1, 0, &page), n;
  (void)state;
  assert_int_equal(page, 159 * XMC_SPAN_PAGES);
  for (i = 0; i < sizeof losses / sizeof *losses; i++) { /* a CPU device */
    n = accesses_of_loser(losses[i], 1, 0, &page);
    print_message("%d lost: %u accesses, %u without\n", losses[i], n, none);
    assert_true(page != XMC_NONE && n < none + 40u * (uint32_t)losses[i]);
  }
  for (place = 0; place < 100; place += 33)
    for (i = 0; i < 2; i++) {
      n = accesses_of_loser(FOR_EVER, i, place, &page);
      print_message("all lost, place %u: %u accesses\n", place, n);
      assert_true(page == XMC_NONE && n < 20u * none);
    }
}

/* A slab that has 32 places, the last of them in use: a search looks at that one alone. */
static void places_in_use(void **state) {
  enum { BLOCKS = 1024 };
  static unsigned char *block[BLOCKS];
  uint32_t i;
  (void)state;
  look_open(4u << 20, 0, 16);
  for (i = 0; i < BLOCKS; i++)
    assert_non_null(block[i] = xmcMalloc(view.heap, 16));
  for (i = 0; i < BLOCKS - 31; i++)
    xmcFree(view.heap, block[i]);
  accesses = 0;
  counts = 1;
  assert_ptr_equal(xmcMalloc(view.heap, 16), block[BLOCKS - 32]);
  counts = 0;
  print_message("16 B of a parked Superblock: %u accesses\n", accesses);
  assert_true(accesses < 20);
  look_close();
}

/* Two work-items stopped between the bits of a span and the index: the first look finds only the run that is too short. */
static void lost_runs(void **state) {
  static const uint32_t sizes[] = {4 * XMC_PAGE_BYTES, 8192};
  uint32_t i, n;
  (void)state;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    look_open(8u << 20, 1, sizes[i]);
    for (n = 0; n < view.heap->spans; n++)
      while (xmc_span_take(view.heap, n, 0) != XMC_NONE)
        ;
    for (n = 0; n < XMC_ORDERS; n++) /* the index knows of none, either */
      assert_null(xmcMalloc(view.heap, (size_t)XMC_PAGE_BYTES << n));
    assert_int_equal(xmc_index_find(view.heap, 0, 0), XMC_NONE);
    xmc_or_release64(xmc_span_word(view.heap, 1), 1u);
    xmc_or_release64(xmc_span_word(view.heap, 3), 0xffff0000u);
    assert_non_null(xmcMalloc(view.heap, sizes[i]));
    look_close();
  }
}

/* How long a search goes on in a full heap: while somebody holds room, and while room moves. */
static void patience(void **state) {
  xmc_u32 turns, moves;
  (void)state;
  look_open(1u << 20, 1, XMC_PAGE_BYTES);
  while (xmc_span_take(view.heap, 0, 0) != XMC_NONE)
    ;
  assert_null(xmcMalloc(view.heap, XMC_PAGE_BYTES)); /* the index knows of nothing, either */
  for (moves = 0; moves < 3; moves++) {              /* nobody holds any; somebody does; and room moves */
    xmc_search search = 0;
    xmc_flux_begin(view.heap);
    if (moves == 0)
      xmc_flux_end(view.heap, 0);
    for (turns = 1; turns < 100; turns++) {
      search = xmc_search_begins(view.heap, search);
      if (moves == 2)
        xmc_add_acq_rel64(&view.heap->flux, XMC_FLUX_MOVED);
      if (!xmc_make_room(view.heap, 0, 1, 1, &search))
        break;
    }
    assert_int_equal(turns, moves == 0 ? 2 : moves == 1 ? XMC_PATIENCE + 1 : XMC_PERSISTENCE + 1);
    if (moves > 0)
      xmc_flux_end(view.heap, 0);
  }
  look_close();
}

/* Hints are cleared on their way up while others set them: what was set is in sight afterwards. */
enum { BIT = 70, NEIGHBOUR = 64, SPAN = 9, NEXT_SPAN = 8 };
static int at_step = -1, in_index, searches;
static void hint_others(void) {
  if (at_step >= 0 && at_step-- == 0) {
    if (searches) {
      xmc_say_scarce(view.heap);
      xmc_reclaim(view.heap, 0, XMC_MAX_PAGES);
    } else if (in_index)
      xmc_index_add(view.heap, 0, NEXT_SPAN, 1u << 2);
    else
      xmc_bitmap_set(view.heap, XMC_WHOLE, NEIGHBOUR);
  }
}
static void hints_are_mended(void **state) {
  xmc_u32 i;
  int step, reached;
  (void)state;
  for (in_index = 0; in_index < 2; in_index++)
    for (step = 0, reached = 1; reached; step++) {
      look_open(16u << 20, 1, 64);
      for (i = 0; i < XMC_BITMAP_LEVELS; i++)
        *xmc_bitmap_word(view.heap, XMC_WHOLE, i, 0) = 0;
      *xmc_bitmap_word(view.heap, XMC_WHOLE, 0, BIT) = 0;
      for (i = 0; i < view.heap->spans; i++)
        xmc_index_remove(view.heap, i, 1, 0x7fu);
      xmc_bitmap_set(view.heap, XMC_WHOLE, BIT);
      xmc_index_add(view.heap, 0, SPAN, 1u << 2);
      at_step = step;
      if (in_index)
        xmc_index_remove(view.heap, SPAN, 1, 1u << 2);
      else
        xmc_bitmap_clear(view.heap, XMC_WHOLE, BIT);
      reached = at_step < 0;
      at_step = -1;
      if (in_index)
        assert_int_equal(xmc_index_next(view.heap, 2, 0), reached ? NEXT_SPAN : XMC_NONE);
      else
        assert_int_equal(xmc_bitmap_find(view.heap, XMC_WHOLE, 0, 128), reached ? NEIGHBOUR : XMC_NONE);
      look_close();
    }
}

/* Allocates a run by a request for `bytes` and gives its pages back. Returns its last page, whose entry still leads to that run. */
static xmc_u32 used_page(uint32_t bytes) {
  char *p = xmcMalloc(view.heap, bytes);
  xmc_u32 page, pages = (bytes + XMC_PAGE_BYTES - 1u) / XMC_PAGE_BYTES;
  xmc_place place;
  assert_non_null(p);
  page = (xmc_u32)((p - (char *)xmc_page_address(view.heap, 0)) / XMC_PAGE_BYTES);
  xmc_find_block(view.heap, p, &place);
  xmcFree(view.heap, p);
  if (pages > 2) /* the run's first pages become a shorter one, which is in use */
    assert_ptr_equal(xmcMalloc(view.heap, 2 * XMC_PAGE_BYTES), p);
  if (bytes <= XMC_MAX_CLASS_BYTES) { /* the Superblock is wholly free in its seat */
    xmc_u64 w = xmc_load_relaxed64(xmc_word_of(view.heap, place.id));
    assert_true(xmc_superblock_retire(xmc_word_of(view.heap, place.id), place.cls, w) != 0);
    pages = 1u << xmc_run_order(place.id);
    xmc_give_back(view.heap, 0, xmc_words(view.heap), place.cls, place.id);
  }
  return page + pages - 1u;
}

/* A page held something else before, and a Superblock or slab is started in it while the heap's first search looks at all pages.
 * Whenever that search runs, what was started is in sight of later ones: they get the page back once it is wholly free. */
static void started_during_the_first_search(void **state) {
  static const uint32_t uses[] = {XMC_PAGE_BYTES, 2 * XMC_PAGE_BYTES, 9 * XMC_PAGE_BYTES, 8192},
                        sizes[] = {64, 512};
  uint32_t i, k;
  int step, reached;
  (void)state;
  for (i = 0; i < sizeof uses / sizeof *uses; i++)
    for (k = 0; k < sizeof sizes / sizeof *sizes; k++)
      for (step = 0, reached = 1; reached; step++) {
        xmc_u32 page, cls = xmc_class_of(sizes[k]);
        xmc_claim claim;
        xmc_seat seat;
        xmc_u64 seen;
        look_open(8u << 20, 1, 64);
        page = used_page(uses[i]);
        xmc_seat_none(&seat);
        searches = 1;
        at_step = step;
        assert_true(xmc_run_claim_at(view.heap, xmc_heap_map(view.heap), 1, page, &seen));
        claim = xmc_pages_start(view.heap, 0, xmc_class_is_small(cls) ? xmc_slab_class(cls) : cls, 1, page, 0,
                                seat, 0);
        if (xmc_class_is_small(cls))
          claim = xmc_slab_start(view.heap, 0, xmc_words(view.heap), cls, 1, claim, seat);
        reached = at_step < 0;
        at_step = -1;
        searches = 0;
        if (reached)
          intact();
        xmc_blocks_release(view.heap, 0, xmc_words(view.heap), cls, xmc_claim_id(claim),
                           xmc_claim_mask(claim), 1);
        xmc_say_scarce(view.heap);
        xmc_reclaim(view.heap, 0, XMC_MAX_PAGES);
        assert_true(*xmc_span_word(view.heap, page / XMC_SPAN_PAGES) >> page % XMC_SPAN_PAGES & 1u);
        look_close();
      }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_requests),
                                     cmocka_unit_test(slab_takes_the_seat),
                                     cmocka_unit_test(part_of_a_run),
                                     cmocka_unit_test(part_of_the_spans),
                                     cmocka_unit_test(the_index_is_mended),
                                     cmocka_unit_test(the_levels_are_mended),
                                     cmocka_unit_test(growth_in_vain),
                                     cmocka_unit_test(a_span_comes_back),
                                     cmocka_unit_test(a_run_is_lost),
                                     cmocka_unit_test(runs_are_lost),
                                     cmocka_unit_test(places_in_use),
                                     cmocka_unit_test(long_runs_and_index),
                                     cmocka_unit_test(long_runs_are_forgotten),
                                     cmocka_unit_test(lost_runs),
                                     cmocka_unit_test(patience),
                                     cmocka_unit_test(started_during_the_first_search),
                                     cmocka_unit_test(hints_are_mended)};
  return run_named(tests, argc, argv);
}
