/* SPDX-License-Identifier: MIT */
/* What test_search.c is for the way of GPUs: a slab that a sub-group takes out of the FIFO of slabs is out of sight for a moment; and
 * what a whole sub-group starts in a page that a search looked at is shown to the next search; no search hides a page. On devices a sub-group may
 * not have seen yet that room became scarce (xmc_load_near32): here the first so many looks at it say so.
 */
#include "support/simt.h"
static void look(void);
static int stale;             /* so many looks still see plenty of room */
static void (*between)(void); /* before each atomic, once it is set */
#define XMC_SIMT 1
#define XMC_USED_IS_DONE 1
#define XMC_HOST_LANES "support/simt_lanes.h"
#define XMC_HOST_NEAR(p) (stale > 0 ? (stale--, 0u) : xmc_load_relaxed32(p))
#define XMC_HOST_STEP() \
  do { \
    look(); \
    simt_step(); \
    if (between) \
      between(); \
  } while (0)
#define XMC_HOST_THREAD() (simt_number() + 1u)
#define CORE_OWN_STEPS
#include "support/core.h"
#include "support/look.h"
#include "../host/inspect/inspect.h"
#include "support/named.h"

enum { ROUNDS = 24 };

static char *got[ROUNDS][SIMT_LANES];
static uint32_t round_now;

static void take(uint32_t number, void *size) {
  got[round_now][number] = xmcMalloc(view.heap, *(uint32_t *)size);
}
static void give(uint32_t number, void *unused) {
  (void)unused;
  xmcFree(view.heap, got[round_now][number]);
}
static void fill_pages(uint32_t number, void *unused) {
  (void)unused;
  while (number == 0 && xmcMalloc(view.heap, XMC_PAGE_BYTES))
    ;
}

static void group(uint32_t round, void (*what)(uint32_t, void *), void *data) {
  simt s;
  memset(&s, 0, sizeof s);
  s.groups = 1;
  round_now = round;
  simt_run(&s, what, data);
  assert_int_equal(s.hung, 0);
}

static void intact(void) {
  xmc_heap_report report;
  memset(&report, 0, sizeof report);
  if (xmc_check_meta(view.heap, &report) != CL_SUCCESS)
    fail_msg("%s (round %u)", report.message, round_now);
}

static void take_all_pages(void) {
  xmc_u32 span;
  for (span = 0; span < view.heap->spans; span++)
    while (xmc_span_take(view.heap, span, 0) != XMC_NONE)
      ;
}

/* A slab that came back goes from the FIFO of slabs to one slot, for one who did not say that it holds room. */
static void adopted_slab(void **state) {
  xmc_u32 cls = xmc_class_of(64);
  xmc_seat seat;
  int before;
  (void)state;
  look_open(8u << 20, CORE_SLOTS_DEFAULT, 64);
  xmc_seat_none(&seat);
  assert_true(xmc_pages_carve(view.heap, 0, xmc_slab_class(cls), 1, 0, xmc_fixed_map(view.heap),
                              xmc_fixed_lanes(view.heap),
                              seat) != 0); /* into the ring, and nothing else has room */
  take_all_pages();
  xmc_say_scarce(view.heap);
  before = has_room();
  look_begin();
  assert_true(xmc_slab_adopt(view.heap, xmc_words(view.heap), xmc_slab_class(cls),
                             xmc_fifo_of(view.heap, 0, xmc_slab_class(cls))) != 0);
  assert_true(look_end("a slab out of the FIFO", before) > 0);
  look_close();
}

/* Two slots that share a FIFO of slabs find it empty, and both make a slab, of class `made.cls`. The first one's, `made.first`, takes the seat. */
static struct {
  xmc_u32 cls, first;
  xmc_claim found;
} made;

static xmc_claim make_two(void (*meanwhile)(void)) {
  xmc_u64 map;
  xmc_claim claim;
  xmc_seat seat;
  look_open(8u << 20, CORE_SLOTS_DEFAULT, 64);
  made.cls = xmc_slab_class(xmc_class_of(64));
  made.found = 0;
  map = xmc_fixed_map(view.heap);
  xmc_seat_none(&seat);
  seat.fifo = xmc_fifo_of(view.heap, 0, made.cls);
  xmc_seat_read(view.heap, &seat);
  made.first =
      xmc_claim_id(xmc_pages_carve(view.heap, 0, made.cls, 1, 0, map, xmc_fixed_lanes(view.heap), seat));
  view.heap->scarce = XMC_SCARCE_ONCE;
  seat.hint = 0;
  between = meanwhile;
  claim = xmc_pages_carve(view.heap, 0, made.cls, 1, 0, map, xmc_fixed_lanes(view.heap), seat);
  between = NULL;
  return claim;
}

static void start_in(xmc_claim place) {
  xmc_seat seat;
  xmc_seat_none(&seat);
  assert_true(xmc_claim_mask(place) &&
              xmc_word_class(*xmc_word_of(view.heap, xmc_claim_id(place))) == made.cls);
  xmc_slab_start(view.heap, 0, xmc_words(view.heap), made.cls - XMC_CLASSES, 1, place, seat);
}

/* The second one takes a place of the first one's, and its own is no more; its page, which nobody saw meanwhile, is told. */
static void second_slab(void **state) {
  xmc_claim claim = make_two(NULL);
  (void)state;
  assert_int_equal(xmc_claim_id(claim), made.first);
  assert_int_equal(xmc_claim_mask(claim), 2);
  assert_int_equal(core_free_pages(view.heap), view.heap->pages - 1u);
  assert_int_equal(view.heap->flux, XMC_FLUX_MOVED);
  start_in(xmc_claim_make(made.first, 1));
  start_in(claim);
  intact();
  look_close();
}

/* As above, but somebody who knows the id of an earlier slab of the second one's page takes a place of it before it is undone. */
static void find(void) {
  xmc_u32 page;
  for (page = 0; page < view.heap->pages; page++) {
    xmc_u32 id = xmc_slab_id(page), take;
    xmc_u64 w = *xmc_word_of(view.heap, id);
    if (xmc_word_class(w) != made.cls || id == made.first || made.found)
      continue;
    take = (xmc_u32)w & -(xmc_u32)w;
    *xmc_word_of(view.heap, id) = w & ~(xmc_u64)take;
    made.found = xmc_claim_make(id, take);
  }
}
static void second_slab_found(void **state) {
  xmc_claim claim = make_two(find);
  (void)state;
  assert_true(made.found != 0 && xmc_claim_id(made.found) != made.first);
  assert_int_equal(xmc_claim_id(claim), made.first);
  assert_int_equal(core_free_pages(view.heap), view.heap->pages - 2u);
  start_in(xmc_claim_make(made.first, 1));
  start_in(claim);
  start_in(made.found);
  intact(); /* the second slab is in sight, with all its other places */
  look_close();
}

/* The first slab is used up before the second one loses the seat: that takes it instead, and stays with all its other places. What is no slab of the
 * class any more is not touched. */
static xmc_u64 was;
static void use_up(void) {
  if (was == 0)
    return;
  *xmc_word_of(view.heap, made.first) = was;
  was = 0;
}
static xmc_claim seat_handed_on(xmc_u64 word) {
  xmc_u32 fifo, cls = xmc_slab_class(xmc_class_of(64));
  xmc_claim claim;
  was = word;
  claim = make_two(use_up);
  fifo = xmc_fifo_of(view.heap, 0, cls);
  assert_int_equal(was, 0);
  assert_true(xmc_claim_id(claim) != made.first);
  assert_int_equal(xmc_claim_mask(claim), 1);
  assert_int_equal(xmc_active_id(xmc_fifo_number(view.heap, fifo)->active), xmc_claim_id(claim));
  assert_int_equal(xmc_fifo_dequeue(xmc_fifo_number(view.heap, fifo)), XMC_NONE);
  assert_int_equal(core_free_pages(view.heap), view.heap->pages - 2u);
  return claim;
}
static void seat_of_used_up(void **state) {
  xmc_u32 cls = xmc_slab_class(xmc_class_of(64)), place;
  (void)state;
  start_in(seat_handed_on(xmc_word_make(cls, 8, 0) | XMC_WORD_LISTED));
  assert_false(*xmc_word_of(view.heap, made.first) &
               XMC_WORD_WHERE); /* who gives a place back has the duty */
  for (place = 0; place < 8; place++)
    start_in(xmc_claim_make(made.first, 1u << place));
  intact();
  look_close();
}
static void seat_of_others(void **state) {
  xmc_u64 word = xmc_word_make(xmc_slab_class(0), 32, 0) | XMC_WORD_LISTED;
  (void)state;
  seat_handed_on(word);
  assert_true(*xmc_word_of(view.heap, made.first) == word);
  look_close();
}

/* The same in a sub-group's requests: slabs are used up; some Superblocks of the first one go back, and are taken again. */
static void used_slabs(void **state) {
  uint32_t size = 64, i, hidden = 0;
  (void)state;
  look_open(8u << 20, CORE_SLOTS_DEFAULT, size);
  assert_int_equal(view.heap->own, 64);
  for (i = 0; i < 16; i++)
    group(i, take, &size);
  group(0, fill_pages, NULL);
  for (i = 1; i < 5; i++)
    group(i, give, NULL);
  for (i = 16; i < ROUNDS; i++) {
    int before = has_room();
    view.heap->scarce = XMC_SCARCE_ONCE; /* as a new Superblock leaves it */
    look_begin();
    group(i, take, &size);
    hidden += look_end("a slab that a sub-group takes", before);
  }
  intact();
  assert_true(hidden > 0);
  look_close();
}

/* Two Superblocks are parked in one page, and the first has one block left: while a search for used memory takes that block, the second
 * stays in sight, and can be found afterwards. */
static void parked_beside(void **state) {
  xmc_u32 cls = xmc_class_of(64), slab, place, item;
  xmc_seat seat;
  xmc_claim claim;
  int before;
  (void)state;
  look_open(8u << 20, CORE_SLOTS_DEFAULT, 64);
  xmc_seat_none(&seat);
  claim = xmc_pages_carve(view.heap, 0, xmc_slab_class(cls), 32, 0, xmc_fixed_map(view.heap),
                          xmc_fixed_lanes(view.heap), seat);
  slab = xmc_claim_id(claim);
  assert_true((xmc_claim_mask(claim) & 3u) == 3u);
  seat.fifo = XMC_SEAT_PARKS;
  for (place = 0; place < 2; place++)
    xmc_slab_start(view.heap, 0, xmc_words(view.heap), cls, place ? 1 : 31, xmc_claim_make(slab, 1u << place),
                   seat);
  take_all_pages();
  xmc_say_scarce(view.heap);
  view.heap->scarce = XMC_SCARCE_ONCE; /* as a new Superblock leaves it */
  before = has_room();
  look_begin();
  claim = xmc_unpark(view.heap, 0, cls, cls + 1u, 1, XMC_SEARCH_USED);
  assert_int_equal(xmc_claim_id(claim), xmc_superblock_id(xmc_slab_page(slab), 0));
  assert_true(before);
  assert_int_equal(look_end("a page that a search for used memory looks at", before), 0);
  item = cls * view.heap->spans * XMC_SPAN_PAGES + xmc_slab_page(slab);
  assert_true(xmc_bitmap_has(view.heap, XMC_PARKED, item));
  claim = xmc_unpark(view.heap, 0, cls, cls + 1u, 1, XMC_SEARCH_USED);
  assert_int_equal(xmc_claim_id(claim), xmc_superblock_id(xmc_slab_page(slab), 1));
  look_close();
}

/* A heap is full of blocks of 16 B, but that 19 of 20 are freed in its first page: 24 sub-groups of 32 lanes ask for one each at the same
 * time, for less than all that are free. None is refused, for no search hides the page from the others. */
enum { TINY = 16, TINY_BLOCKS = 1 << 18, THINNED = 1024, ASKING = 24 };
static char *tiny[TINY_BLOCKS];
static uint32_t tinies, given, refused;

static void fill_tiny(uint32_t number, void *unused) {
  (void)unused;
  while (number == 0 && (tiny[tinies] = xmcMalloc(view.heap, TINY)))
    assert_true(++tinies < TINY_BLOCKS);
}
static void thin(uint32_t number, void *unused) {
  uint32_t i;
  (void)unused;
  for (i = number; i < tinies; i += SIMT_LANES)
    if (tiny[i] < xmc_page_address(view.heap, 1) && i % 20u != 0) {
      xmcFree(view.heap, tiny[i]);
      given++;
    }
}
static void ask(uint32_t number, void *unused) {
  (void)number, (void)unused;
  refused += !xmcMalloc(view.heap, TINY);
}
static void one_thin_page(void **state) {
  uint32_t seed;
  simt s;
  (void)state;
  for (seed = 1; seed <= 6; seed++) {
    tinies = given = refused = 0;
    look_open(3u << 20, 64, TINY);
    memset(&s, 0, sizeof s);
    s.groups = 1;
    s.most_ticks = (uint64_t)1 << 32;
    simt_run(&s, fill_tiny, NULL);
    group(0, thin, NULL);
    assert_in_range(given, ASKING * SIMT_LANES + 1u, THINNED);
    view.heap->scarce = seed % 2 ? 0 : XMC_SCARCE_ONCE;
    s.groups = ASKING;
    s.seed = seed * 31u;
    s.diverge_one_in = seed % 2 ? 0 : 3;
    simt_run(&s, ask, NULL);
    assert_false(s.hung);
    if (refused)
      fail_msg("%u of %u refused, and %u blocks were free (seed %u)", refused, ASKING * SIMT_LANES, given,
               seed);
    look_close();
  }
}

/* The index names a run of eight pages that is in use, and one page is free: the last resort takes that. */
static void shorter_run(void **state) {
  xmc_u32 cls = xmc_class_of(4096);
  xmc_claim claim;
  (void)state;
  assert_int_equal(xmc_class_order(cls), 3);
  look_open(8u << 20, CORE_SLOTS_DEFAULT, 4096);
  take_all_pages();
  xmc_span_give(view.heap, 1, 1u << 5, 0);
  xmc_index_add(view.heap, 0, 2, 1u << 3);
  claim = xmc_last_carve(view.heap, 0, cls, 1);
  assert_int_equal(xmc_id_page(xmc_claim_id(claim)), XMC_SPAN_PAGES + 5u);
  assert_int_equal(xmc_index_find(view.heap, 3, 0), XMC_NONE);
  look_close();
}

/* Whole Superblocks of every size; a search looks at all pages, and a sub-group that does not know of it takes another one. */
static void shown(void **state) {
  static const uint32_t sizes[] = {16, 48, 64, 128, 256, 512, 1024, 2048, 4096};
  uint32_t i, r, size, shown = 0;
  int late, kept;
  (void)state;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (kept = 0; kept < 2; kept++)
      for (late = 0; late < 2; late++) {
        size = sizes[i];
        look_open(8u << 20, CORE_SLOTS_DEFAULT, size);
        for (r = 0; r < 4; r++)
          group(r, take, &size);
        for (r = 4; r-- > (kept ? 3u : 0u);)
          group(r, give, NULL);
        xmc_say_scarce(view.heap);
        xmc_reclaim(view.heap, 0, XMC_MAX_PAGES);
        intact();
        stale = late;
        group(5, take, &size);
        stale = 0;
        for (r = 0; r < SIMT_LANES; r++)
          assert_non_null(got[5][r]);
        intact();
        shown++;
        look_close();
      }
  assert_true(shown > 0);
}

/* Room was short, and is no longer: all but the first span comes back, which stays full. A sub-group that goes on with small blocks
 * finds out, by samples of all spans and not of the first one more often than of others. */
enum { SMALL_BLOCKS = 24 << 14 };
static char *small[SMALL_BLOCKS];
static uint32_t smalls;
static void fill(uint32_t number, void *unused) {
  char *block;
  (void)number, (void)unused;
  while ((block = xmcMalloc(view.heap, 64))) {
    assert_true(smalls < SMALL_BLOCKS);
    small[smalls++] = block;
  }
}
static void empty(uint32_t number, void *unused) {
  (void)unused;
  for (; number < smalls; number += SIMT_LANES)
    if (small[number] >= xmc_page_address(view.heap, XMC_SPAN_PAGES))
      xmcFree(view.heap, small[number]);
}
static void go_on(uint32_t number, void *unused) {
  uint32_t i;
  (void)number, (void)unused;
  for (i = 0; i < 1500; i++)
    assert_non_null(xmcMalloc(view.heap, 64));
}
static void room_again(void **state) {
  (void)state;
  look_open(24u << 20, CORE_SLOTS_DEFAULT, 64);
  group(0, fill, NULL);
  view.heap->scarce |= XMC_ROOM_BITS;
  view.heap->room_used = XMC_ROOM_WORD(XMC_ROOM_SCALE * XMC_SPAN_PAGES, XMC_ROOM_MOST_TRIES);
  group(0, empty, NULL);
  assert_true(core_free_pages(view.heap) > view.heap->pages * 9u / 10u);
  view.heap->scarce &= ~XMC_SCARCE_NOW; /* as the next new Superblock does */
  group(0, go_on, NULL);
  print_message("           pages in use: %u of %u, by samples %u of 64\n",
                view.heap->pages - core_free_pages(view.heap), view.heap->pages,
                XMC_ROOM_MEAN(view.heap->room_used) / XMC_ROOM_SCALE);
  assert_false(view.heap->scarce & XMC_ROOM_BITS);
  intact();
  look_close();
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(adopted_slab),      cmocka_unit_test(second_slab),
                                     cmocka_unit_test(second_slab_found), cmocka_unit_test(seat_of_used_up),
                                     cmocka_unit_test(seat_of_others),    cmocka_unit_test(used_slabs),
                                     cmocka_unit_test(parked_beside),     cmocka_unit_test(one_thin_page),
                                     cmocka_unit_test(shorter_run),       cmocka_unit_test(shown),
                                     cmocka_unit_test(room_again)};
  return run_named(tests, argc, argv);
}
