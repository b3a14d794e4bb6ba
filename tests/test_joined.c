/* SPDX-License-Identifier: MIT */
/* Joined blocks (cl/calls/joined.cl): adjacent Basicblocks of a smaller class as one block. Who owns what is checked by a map of the
 * arena: no block that is handed out overlaps a live one, whoever allocated and freed before.
 */
#define CORE_SCHEDULED
#include "support/core.h"
#include "support/named.h"
#include "../host/inspect/inspect.h"

enum { MOST = 1 << 16, UNIT = 16 };

typedef struct owned {
  char *block;
  uint32_t size, usable;
} owned;

static struct {
  xmcHeap *heap;
  unsigned char *map; /* 1 for each 16 bytes of the arena that belong to a live block */
  owned block[MOST];
  uint32_t count, joined, wide; /* how many were joined so far, and of those in several places */
  uint64_t asked;
} all;

static void open_heap(size_t bytes, xmc_u32 slots) {
  memset(&all, 0, sizeof all);
  all.heap = core_heap(bytes, slots, 0, XMC_COALESCE_CLASS);
  all.map = calloc(bytes / UNIT + 1u, 1);
  assert_non_null(all.map);
}

/* How many Basicblocks a block in a page with joined blocks has, or 0 */
static uint32_t joined_basicblocks(const owned *b) {
  xmc_place place;
  return xmc_find_block(all.heap, b->block, &place) ? 0 : xmc_joined_find(all.heap, &place);
}
static int is_joined(const owned *b) { return joined_basicblocks(b) > 1u; }

static void mark(const owned *b, unsigned char was, unsigned char is) {
  size_t at = (size_t)(b->block - (char *)all.heap) / UNIT, end = at + b->usable / UNIT;
  for (; at < end; at++) {
    assert_int_equal(all.map[at], was);
    all.map[at] = is;
  }
}

/* Allocates; returns 0 if that is refused. */
static int get(owned *b, uint32_t size) {
  b->size = size;
  b->block = xmcMalloc(all.heap, size);
  if (!b->block)
    return 0;
  b->usable = (uint32_t)xmcUsableSize(all.heap, b->block);
  assert_in_range(size, 1, b->usable);
  mark(b, 0, 1);
  memset(b->block, 0x5a, size);
  all.joined += (uint32_t)is_joined(b);
  all.wide += joined_basicblocks(b) > 32u;
  return 1;
}

static void put(owned *b) {
  mark(b, 1, 0);
  xmcFree(all.heap, b->block);
  b->block = NULL;
}

static void intact(void) {
  xmc_heap_report report = {0};
  if (xmc_check_meta(all.heap, &report) != CL_SUCCESS)
    fail_msg("%s", report.message);
}

static uint32_t fill(uint32_t size) {
  uint32_t n = 0;
  while (all.count < MOST && get(&all.block[all.count], size)) {
    all.count++;
    n++;
  }
  return n;
}

/* Frees all blocks but each `stay`-th; what is left stays in all.block. */
static void thin(uint32_t stay) {
  uint32_t i, left = 0;
  for (i = 0; i < all.count; i++)
    if (i % stay)
      put(&all.block[i]);
    else
      all.block[left++] = all.block[i];
  all.count = left;
}

static void free_all(void) {
  void *whole;
  while (all.count)
    put(&all.block[--all.count]);
  intact();
  whole = xmcMalloc(all.heap, (size_t)all.heap->pages << XMC_PAGE_SHIFT);
  assert_non_null(whole);
  xmcFree(all.heap, whole);
  intact();
  assert_int_equal(all.heap->double_frees + all.heap->invalid_frees, 0);
  core_heap_free(all.heap);
  free(all.map);
}

/* ---- alone ---- */

/* What the statistics and the list of blocks say of a heap with joined blocks */
static int CL_CALLBACK is_known(const xmc_block *block, void *data) {
  uint32_t i;
  for (i = 0; i < all.count; i++)
    if (all.block[i].block == (char *)all.heap + block->ref) {
      assert_int_equal(block->usable, all.block[i].usable);
      ++*(uint32_t *)data;
      return 0;
    }
  fail_msg("no block was allocated at 0x%llx", (unsigned long long)block->ref);
  return 1;
}

static void is_listed_right(void) {
  xmc_heap_stats stats;
  uint64_t bytes = 0;
  uint32_t i, found = 0;
  static xmc_map map;
  xmc_stats_meta(all.heap, &stats);
  for (i = 0; i < all.count; i++)
    bytes += all.block[i].usable;
  assert_int_equal(stats.live_blocks, all.count);
  assert_int_equal(stats.live_bytes, bytes);
  xmc_blocks_meta(all.heap, NULL, is_known, &found);
  assert_int_equal(found, all.count);
  xmc_map_meta(all.heap, &map);
  for (bytes = i = 0; i < sizeof map.group_blocks / sizeof *map.group_blocks; i++)
    bytes += map.group_blocks[i];
  assert_int_equal(bytes, all.count);
}

/* A heap full of blocks of one class, of which each eighth stays, serves larger requests by blocks in a row. */
static void larger_requests(void **state) {
  static const struct {
    uint32_t small, large, count;
  } pairs[] = {{32, 200, 7},   {48, 100, 3},   {112, 150, 2},   {448, 1300, 3},  {448, 2200, 5},
               {512, 1500, 3}, {640, 1200, 2}, {1280, 5000, 4}, {5120, 10000, 2}};
  uint32_t p, before;
  (void)state;
  for (p = 0; p < sizeof pairs / sizeof *pairs; p++) {
    open_heap(2u << 20, CORE_SLOTS_DEFAULT);
    fill(pairs[p].small);
    thin(8);
    before = all.count;
    fill(pairs[p].large);
    /* Of seven Basicblocks in a row, which most rows have, at least as many are served as fit in half of them. */
    assert_true(all.joined >= before / 2u && all.joined <= all.count - before);
    assert_int_equal(all.block[all.count - 1u].usable, pairs[p].count * pairs[p].small);
    intact();
    is_listed_right();
    thin(3);
    intact();
    is_listed_right();
    fill(pairs[p].small);
    intact();
    free_all();
  }
}

/* Requests of 16 B that find nothing else get Basicblocks of 48 and 64 B, by themselves and in free places. */
static void smallest_requests(void **state) {
  uint32_t size, freed, each, i, larger;
  (void)state;
  for (size = 48; size <= 64; size += 16)
    for (each = 8; each <= 800; each *= 100) {
      open_heap(1u << 19, CORE_SLOTS_DEFAULT);
      fill(size);
      freed = all.count;
      thin(each);
      freed -= all.count;
      fill(16);
      for (larger = i = 0; i < all.count; i++)
        larger += all.block[i].size == 16 && all.block[i].usable == size;
      assert_true(each == 8 ? larger + 32u > freed : larger > freed / 5u); /* 31 may be in the seat */
      assert_int_equal(all.joined, 0);
      intact();
      is_listed_right();
      thin(3);
      intact();
      is_listed_right();
      free_all();
    }
}

/* A request gets no joined block that is longer than it by more than three quarters of its size, none of a page or more, and none in an
 * unbuffered heap. */
static void bounds(void **state) {
  uint32_t i;
  (void)state;
  open_heap(2u << 20, CORE_SLOTS_DEFAULT);
  fill(1280);
  thin(8);
  assert_int_equal(fill(1462) + fill(16384) + fill(1281), 0);
  assert_true(fill(1463) > 0);
  free_all();
  open_heap(2u << 20, CORE_SLOTS_DEFAULT); /* none of class 0, and none for it */
  fill(16);
  thin(8);
  all.joined = 0;
  fill(40);
  fill(16);
  assert_int_equal(all.joined, 0);
  free_all();
  for (i = 0; i < 3; i++) { /* none in a heap that a GPU uses or that may have compartments */
    open_heap(2u << 20, CORE_SLOTS_DEFAULT);
    all.heap->joins = i == 1 ? XMC_JOINS_NEVER : 0;
    all.heap->coalescing = i == 2 ? XMC_COALESCE_COMPARTMENT : all.heap->coalescing;
    fill(512);
    thin(8);
    assert_int_equal(fill(1500) > 0, i == 0);
    all.heap->coalescing = XMC_COALESCE_CLASS;
    free_all();
  }
  open_heap(2u << 20, 0);
  fill(512);
  thin(8);
  assert_int_equal(fill(1500), 0);
  free_all();
}

static uint64_t bad(void) { return all.heap->double_frees * 1000u + all.heap->invalid_frees; }

/* Frees the blocks of `size` bytes that lie in places [first, end) of their slabs. */
static void free_places(uint32_t size, uint32_t first, uint32_t end) {
  uint32_t i, left = 0;
  for (i = 0; i < all.count; i++) {
    uint64_t at = ((uint64_t)(all.block[i].block - (char *)all.heap) - all.heap->data) % XMC_PAGE_BYTES;
    if (all.block[i].size == size && at >= 32u * size * first && at < 32u * size * end)
      put(&all.block[i]);
    else
      all.block[left++] = all.block[i];
  }
  all.count = left;
}

/* Of the joined words of a block of `count` Basicblocks that begins with a place no bit can be another one, but those that make its end a
 * block of its own: by a Basicblock of the last place, or by the first one of another place. */
static void forge_places(owned *b, uint32_t count) {
  xmc_place place;
  xmc_heap_report report;
  xmc_u64 *word;
  uint32_t row, i, at;
  assert_false(xmc_find_block(all.heap, b->block, &place));
  assert_int_equal(xmc_joined_find(all.heap, &place), count);
  for (row = 0; row <= (count - 1u) / 32u; row++) {
    word = xmc_joined_word(all.heap, xmc_superblock_id(xmc_id_page(place.id), xmc_id_row(place.id) + row));
    for (i = 0; i < 64; i++) {
      at = 32u * row + i;
      *word ^= (xmc_u64)1 << i;
      memset(&report, 0, sizeof report);
      if (xmc_check_meta(all.heap, &report) == CL_SUCCESS)
        assert_true(i < 32 && at > 0 && at < count && (i == 0 || row == (count - 1u) / 32u));
      *word ^= (xmc_u64)1 << i;
    }
  }
}

/* Adjacent free places of slabs serve larger requests. A bad free anywhere in such a block changes nothing, and of several
 * frees of one block one is good. */
static void places(void **state) {
  static const struct {
    uint32_t small, first, end, large;
    uint32_t count; /* Basicblocks of a block; 0: a slab's last place is too short */
  } cases[] = {{128, 1, 3, 8000, 63}, {128, 1, 3, 8192, 64},  {128, 0, 1, 3000, 24},
               {96, 2, 5, 9000, 94},  {32, 3, 14, 8200, 257}, {96, 4, 6, 6000, 0}};
  uint32_t c, i, k, old;
  char *block;
  (void)state;
  for (c = 0; c < sizeof cases / sizeof *cases; c++) {
    open_heap(2u << 20, CORE_SLOTS_DEFAULT);
    fill(cases[c].small);
    free_places(cases[c].small, cases[c].first, cases[c].end);
    old = all.count;
    k = fill(cases[c].large);
    if (!cases[c].count) {
      assert_int_equal(k, 0);
      free_all();
      continue;
    }
    assert_in_range(k, all.heap->pages - 2u, all.heap->pages);
    assert_int_equal(all.joined, k);
    for (i = old; i < all.count; i++)
      assert_int_equal(all.block[i].usable, cases[c].small * cases[c].count);
    intact();
    is_listed_right();
    for (i = 16; i < all.block[old].usable; i += 16) {
      assert_int_equal(xmcUsableSize(all.heap, all.block[old].block + i), 0);
      xmcFree(all.heap, all.block[old].block + i);
      assert_int_equal(bad(), i / 16);
    }
    intact();
    block = all.block[old].block;
    forge_places(&all.block[old], cases[c].count);
    put(&all.block[old]);
    all.block[old] = all.block[--all.count];
    intact();
    i = (uint32_t)bad();
    xmcFree(all.heap, block);
    assert_true(bad() > i);
    intact();
    is_listed_right();
    all.heap->double_frees = all.heap->invalid_frees = 0;
    free_all();
  }
}

/* Requests get blocks of up to twice their size out of free places, which are no joined blocks. */
static void larger_places(void **state) {
  uint32_t k;
  (void)state;
  open_heap(2u << 20, CORE_SLOTS_DEFAULT);
  fill(64);
  free_places(64, 1, 8);
  k = fill(48);
  assert_in_range(k, (all.heap->pages - 2u) * 7u * 32u, all.heap->pages * 7u * 32u);
  assert_int_equal(all.joined, 0);
  assert_int_equal(all.block[all.count - 1u].usable, 64);
  assert_int_equal(joined_basicblocks(&all.block[all.count - 1u]), 0);
  intact();
  is_listed_right();
  free_all();
}

/* A heap with one joined block of three times 512 bytes, *b */
static void one_joined(owned **b) {
  open_heap(2u << 20, CORE_SLOTS_DEFAULT);
  fill(512);
  thin(8);
  *b = &all.block[all.count];
  assert_true(get(*b, 1500) && all.joined == 1 && (*b)->usable == 1536);
}

static void bad_frees(void **state) {
  owned *b;
  char *block;
  uint32_t i;
  (void)state;
  one_joined(&b);
  block = b->block;
  for (i = 16; i < 1536; i += 16) { /* also where a Basicblock begins */
    xmcFree(all.heap, block + i);
    assert_int_equal(xmcUsableSize(all.heap, block + i), 0);
    assert_null(xmcRealloc(all.heap, block + i, 10));
    assert_int_equal(bad(), i / 16 * 2);
  }
  intact();
  all.count++;
  is_listed_right();
  all.count--;
  put(b);
  xmcFree(all.heap, block);
  assert_int_equal(bad(), 1190);
  assert_int_equal(xmcUsableSize(all.heap, block), 0);
  xmcFree(all.heap, block + 512);
  assert_int_equal(bad(), 2190);
  intact();
  all.heap->double_frees = all.heap->invalid_frees = 0;
  free_all();
}

/* No block begins behind the last Basicblock of a run, where less than one fits. */
static void tails(void **state) {
  char *run;
  uint32_t i;
  (void)state;
  open_heap(1u << 20, 1u);
  fill(5120);
  thin(6);
  while (!all.joined)
    assert_true(get(&all.block[all.count], 10000) && all.count++ < MOST);
  run = all.block[all.count - 1u].block;
  i = (uint32_t)((uint64_t)(run - (char *)all.heap - (ptrdiff_t)all.heap->data) >> XMC_PAGE_SHIFT);
  run = xmc_page_address(all.heap, i - xmc_map_back(*xmc_page_entry(all.heap, i)));
  assert_int_equal(xmcUsableSize(all.heap, run + 25u * 5120u), 0); /* 25 Basicblocks in 8 pages */
  xmcFree(all.heap, run + 25u * 5120u);
  assert_int_equal(bad(), 1);
  intact();
  all.heap->invalid_frees = 0;
  free_all();
}

static void reallocs(void **state) {
  static const uint32_t sizes[] = {1536, 800, 700, 1536, 10000, 20000, 1500, 40000, 1};
  owned *b;
  uint32_t i, had;
  (void)state;
  one_joined(&b);
  for (i = 0; i < 40; i++) /* room for pages */
    put(&all.block[--all.count]);
  all.block[all.count] = *b;
  b = &all.block[all.count];
  b->block[0] = 77;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    had = b->usable;
    mark(b, 1, 0);
    b->block = xmcRealloc(all.heap, b->block, b->size = sizes[i]);
    assert_non_null(b->block);
    b->usable = (uint32_t)xmcUsableSize(all.heap, b->block);
    assert_in_range(b->size, 1, b->usable);
    mark(b, 0, 1);
    assert_int_equal(b->block[0], 77);
    assert_true(b->usable != had || b->size <= had);
    intact();
  }
  put(b);
  free_all();
  /* More than a class has, less than a page: it stays where it is, and becomes no block of pages. */
  open_heap(2u << 20, CORE_SLOTS_DEFAULT);
  fill(5120);
  thin(8);
  b = &all.block[all.count];
  assert_true(get(b, 10000) && b->usable == 10240);
  for (i = 0; i < 16; i++) { /* room to move to */
    owned *last = &all.block[--all.count];
    put(last);
  }
  assert_ptr_equal(xmcRealloc(all.heap, b->block, 9000), b->block);
  assert_ptr_equal(xmcRealloc(all.heap, b->block, 10240), b->block);
  put(b);
  free_all();
}

/* Metadata that no call can leave is found. */
static void forged(void **state) {
  owned *b;
  xmc_place place;
  xmc_heap_report report;
  xmc_u64 *word, *entry, was, w;
  uint32_t i;
  (void)state;
  one_joined(&b);
  intact();
  assert_false(xmc_find_block(all.heap, b->block, &place));
  assert_int_equal(xmc_joined_find(all.heap, &place), 3);
  assert_true(xmc_walk_has_joined(all.heap));
  word = xmc_joined_word(all.heap, place.id);
  was = *word;
  /* With each other bit a Basicblock that is free continues another, or the word is no joined word; or, by what is in use, the block is
   * longer or shorter. */
  for (i = 0; i < 64; i++) {
    *word = was ^ (xmc_u64)1 << i;
    w = *xmc_word_of(all.heap, place.id);
    memset(&report, 0, sizeof report);
    if (xmc_check_meta(all.heap, &report) == CL_SUCCESS)
      assert_true(i < 32 && !(w >> i & 1u) && i > 0 && !(w >> (i - 1u) & 1u));
    *word = was;
  }
  entry = xmc_page_entry(all.heap, xmc_id_page(place.id));
  was = *entry;
  *entry = was | (xmc_u64)32u << 17; /* it says that the page has no joined blocks */
  memset(&report, 0, sizeof report);
  assert_int_equal(xmc_check_meta(all.heap, &report), XMC_HEAP_CORRUPT);
  *entry = was;
  put(b);
  intact();
  assert_true(xmc_walk_has_joined(all.heap));
  free_all();
}

/* ---- beside each other ---- */

enum { THREADS = 3, OWN = 40, SHARED = 16, ROUNDS = 300 };
static owned own[THREADS][OWN], shared[SHARED];
static uint64_t seed;

static uint32_t some_size(uint64_t x) {
  static const uint32_t most[] = {200, 600, 1600, 9000};
  return 1u + (uint32_t)(x >> 8) % most[x & 3u];
}

/* Blocks are allocated, freed, and handed to other threads by way of `shared`. Threads change at atomics only, so an exchange there is
 * one step. */
static void churn(int number, void *data) {
  uint32_t round;
  (void)data;
  for (round = 0; round < ROUNDS; round++) {
    uint64_t x = core_random(&seed);
    owned *b = &own[number][x % OWN], *to = &shared[(x >> 20) % SHARED], copy = *b;
    if ((x >> 40) % 4u == 0) {
      *b = *to;
      *to = copy;
    } else if (b->block) {
      owned gone = *b;
      b->block = NULL; /* from here on no other thread finds it */
      put(&gone);
    } else if (!get(&copy, some_size(x >> 24))) {
      continue;
    } else if (b->block) {
      put(&copy);
    } else {
      *b = copy;
    }
  }
}

/* A heap of one class, of which most is free */
static void refill(uint32_t size) {
  while (all.count)
    put(&all.block[--all.count]);
  fill(size);
  thin(8);
}

static owned late;
static uint32_t large_of(uint32_t small) { return small * 3u - 20u; }

/* Runs run(0, data) up to its step of this number, run(1, data) to its end, and then the rest of the first. */
static void schedule_two(uint32_t step, void (*run)(int number, void *data), void *data) {
  static uint8_t choices[1 << 20];
  schedule s = {0};
  memset(choices, 0, sizeof choices);
  choices[step] = 1;
  s.choices = choices;
  s.choice_count = sizeof choices;
  s.stop_thread = -1;
  schedule_run(&s, 2, run, data);
  assert_false(s.hung);
}

/* The same with &small as data; then all is freed. Returns 1 if the first one's request for `late` was granted. */
static uint32_t beside(uint32_t step, void (*run)(int number, void *data), uint32_t small) {
  uint32_t served;
  memset(&late, 0, sizeof late);
  schedule_two(step, run, &small);
  intact();
  served = late.block != NULL;
  if (served)
    all.block[all.count++] = late;
  is_listed_right();
  free_all();
  return served;
}

static void two_lives(int number, void *data) {
  uint32_t small = *(uint32_t *)data;
  if (number == 1)
    refill(small);
  else if (!get(&late, large_of(small)))
    late.block = NULL;
}

/* While a request looks for Basicblocks in pages that had joined blocks, all blocks are freed and the pages become Superblocks of the
 * same class again, which have no joined blocks yet: at each step of the request. */
static void a_second_life(void **state) {
  static const uint32_t sizes[] = {48, 512, 2048};
  uint32_t s, step, served = 0;
  (void)state;
  for (s = 0; s < 3; s++)
    for (step = 0; step < 600; step++) {
      open_heap(1u << 18, 1u);
      refill(sizes[s]);
      fill(large_of(sizes[s]));
      served += beside(step, two_lives, sizes[s]);
    }
  assert_true(served > 300);
}

static void another(int number, void *data) {
  static owned other;
  (void)data;
  if (number == 0 && !get(&late, 10000))
    late.block = NULL;
  if (number == 1 && get(&other, 10000))
    put(&other);
}

/* While a request makes a joined block, another one does, in another page of the same run, and its block is freed: at each step. */
static void two_requests(void **state) {
  uint32_t step, served = 0;
  (void)state;
  for (step = 0; step < 400; step++) {
    open_heap(1u << 20, 1u);
    fill(5120);
    thin(6);
    served += beside(step, another, 5120);
  }
  assert_true(served > 300);
}

static char *twice;
static void free_twice(int number, void *data) {
  (void)number, (void)data;
  xmcFree(all.heap, twice);
}

/* Two threads free the same block, the second one at each step of the first: one of the frees is good, and nothing else changes. */
static void two_frees(void **state) {
  static const uint32_t sizes[] = {8000, 1500};
  uint32_t step, i;
  (void)state;
  for (i = 0; i < 2; i++)
    for (step = 0; step < 60; step++) {
      owned b;
      open_heap(1u << 19, 1u);
      fill(i ? 512 : 128);
      if (i)
        thin(8);
      else
        free_places(128, 1, 3);
      assert_true(get(&b, sizes[i]) && all.joined == 1);
      mark(&b, 1, 0);
      twice = b.block;
      schedule_two(step, free_twice, NULL);
      intact();
      is_listed_right();
      assert_int_equal(all.heap->double_frees + all.heap->invalid_frees, 1);
      all.heap->double_frees = all.heap->invalid_frees = 0;
      free_all();
    }
}

static void free_or_get(int number, void *data) {
  (void)data;
  if (number == 0)
    put(&all.block[all.count]);
  else if (!get(&late, 8000))
    late.block = NULL;
}

/* A block of two places is freed, of which the second one is the first of another thread's block as soon as it is free. */
static void behind_its_end(void **state) {
  uint32_t step, served = 0;
  (void)state;
  for (step = 0; step < 120; step++) {
    open_heap(1u << 19, 1u);
    fill(128);
    free_places(128, 1, 4);
    while (get(&all.block[all.count], 8192))
      all.count++;
    all.count--;
    memset(&late, 0, sizeof late);
    schedule_two(step, free_or_get, NULL);
    if (late.block) {
      served++;
      assert_int_equal(xmcUsableSize(all.heap, late.block), late.usable);
      all.block[all.count++] = late;
    }
    intact();
    is_listed_right();
    free_all();
  }
  assert_true(served > 20);
}

static xmc_u32 page_of(const char *block) {
  return (xmc_u32)(((xmc_u64)(block - (char *)all.heap) - all.heap->data) >> XMC_PAGE_SHIFT);
}

/* All pages become free, without a look at their entries; then a slab of blocks of 48 bytes comes to be at `first`, and its Superblocks are
 * parked, most of their blocks free. */
static void one_slab(xmc_u32 first) {
  xmc_u32 page;
  xmc_u64 seen;
  all.heap->scarce = XMC_SCARCE_ONCE;
  xmc_reclaim(all.heap, 0, 1000u);
  assert_int_equal(core_free_pages(all.heap), all.heap->pages);
  for (page = 0; page < all.heap->pages; page++)
    if (page != first)
      assert_true(xmc_run_claim_at(all.heap, xmc_heap_map(all.heap), 1u, page, &seen));
  while (all.count < 320) {
    assert_true(get(&all.block[all.count], 48));
    all.count++;
  }
  all.heap->scarce = XMC_SCARCE_ONCE | XMC_SCARCE_NOW; /* so that all Superblocks are parked */
  thin(8);
}

/* Frees what blocks of `bytes` in a run from `first` on were, in all pages but the first, which are free now. */
static void stale_frees(xmc_u32 first, uint32_t bytes) {
  char *begin = xmc_page_address(all.heap, first), *end = xmc_page_address(all.heap, all.heap->pages), *block;
  xmc_u32 page;
  for (page = 0; page < all.heap->pages; page++)
    if (page != first)
      xmc_run_release(all.heap, page, 1u);
  for (block = begin; block < end; block += bytes)
    if (page_of(block) != first)
      xmcFree(all.heap, block);
  intact();
  is_listed_right();
  assert_true(bad() > 0);
  all.heap->double_frees = all.heap->invalid_frees = 0;
}

/* A slab has joined blocks where a longer run began before, further pages of which are free and still have its entries. */
static void stale_entries(void **state) {
  xmc_u32 first, joined = 0;
  char *block;
  (void)state;
  open_heap(1u << 20, 1u);
  block = xmcMalloc(all.heap, 8192);
  first = page_of(block);
  xmcFree(all.heap, block);
  one_slab(first);
  while ((block = xmc_page_join(all.heap, 2u, first, 3u)) != NULL) {
    owned *b = &all.block[all.count++];
    b->block = block;
    b->usable = b->size = 144;
    mark(b, 0, 1);
    joined++;
  }
  assert_true(joined > 20);
  stale_frees(first, 8192);
  free_all();
}

/* The run had joined blocks, and the word that was its joined word is the state word of a place of the slab now. */
static void stale_joined(void **state) {
  uint32_t first = 0, page;
  (void)state;
  open_heap(1u << 20, 1u);
  fill(5120);
  thin(6);
  fill(10000);
  assert_true(all.joined > 2);
  while (all.count) {
    owned *b = &all.block[--all.count];
    page = page_of(b->block) - xmc_map_back(*xmc_page_entry(all.heap, page_of(b->block)));
    if (b->size == 10000 && xmc_map_back(*xmc_page_entry(all.heap, page + 1u)) == 1u)
      first = page; /* of a run of several pages */
    put(b);
  }
  assert_true(xmc_entry_is_joined(*xmc_page_entry(all.heap, first + 1u)));
  one_slab(first);
  stale_frees(first, 5120);
  free_all();
}

static void random_schedules(void **state) {
  uint64_t run;
  uint32_t i, joined = 0, wide = 0;
  (void)state;
  for (run = 0; run < 1000; run++) {
    schedule s = {0};
    open_heap(1u << 19, run % 2u ? CORE_SLOTS_DEFAULT : 1u);
    memset(own, 0, sizeof own);
    memset(shared, 0, sizeof shared);
    seed = 1 + run * 7919u;
    fill(48 + 16 * (uint32_t)(run % 30u));
    if (run % 4u == 3u)
      free_places(48 + 16 * (uint32_t)(run % 30u), (uint32_t)(run % 3u), 4);
    else
      thin(3 + (uint32_t)(run % 6u));
    s.seed = 1 + run;
    s.switch_one_in = 1 + (unsigned)(run % 5u) * 4u;
    s.stop_thread = -1;
    schedule_run(&s, THREADS, churn, NULL);
    assert_false(s.hung);
    intact();
    for (i = 0; i < THREADS * OWN + SHARED; i++) {
      owned *b = i < THREADS * OWN ? &own[0][0] + i : &shared[i - THREADS * OWN];
      if (b->block)
        all.block[all.count++] = *b;
    }
    is_listed_right();
    joined += all.joined;
    wide += all.wide;
    free_all();
  }
  assert_true(joined > 25000 && wide > 1000);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(places),
      cmocka_unit_test(larger_requests),
      cmocka_unit_test(smallest_requests),
      cmocka_unit_test(bounds),
      cmocka_unit_test(bad_frees),
      cmocka_unit_test(reallocs),
      cmocka_unit_test(forged),
      cmocka_unit_test(stale_entries),
      cmocka_unit_test(stale_joined),
      cmocka_unit_test(a_second_life),
      cmocka_unit_test(two_requests),
      cmocka_unit_test(tails),
      cmocka_unit_test(two_frees),
      cmocka_unit_test(larger_places),
      cmocka_unit_test(behind_its_end),
      cmocka_unit_test(random_schedules),
  };
  return run_named(tests, argc, argv);
}
