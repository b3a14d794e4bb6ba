/* SPDX-License-Identifier: MIT */
/* Stopped work-items: one thread is stopped for ever before each atomic step of each operation in turn. The
 * others must go on: they fill the heap and empty it, in three sizes, and all but one Superblock, slab or
 * Memoryblock of it can still be had; the check ends and tells what it sees.
 *
 * First the thread runs alone up to the step; then the same with the others running in between, at random.
 */
#define CORE_SCHEDULED
#include "support/core.h"
#include "inspect/walk.h"
#include "support/named.h"

typedef struct stage {
  xmcHeap *heap;
  const struct scene *scene;
  unsigned char *held[40000]; /* of thread 0, from before; the operation may take its block out */
  uint32_t held_count;
  unsigned char *got; /* by the operation */
  xmcRegion region;   /* from before, or made by the operation */
  uint32_t errors, handed_out;
} stage;

typedef struct scene {
  const char *name;
  size_t bytes;       /* of the heap */
  uint32_t size;      /* of its blocks */
  uint32_t most_lost; /* pages */
  void (*prepare)(stage *);
  void (*act)(stage *);
} scene;

static void hold(stage *g, uint32_t count) {
  uint32_t i;
  for (i = 0; i < count && g->held_count < sizeof g->held / sizeof *g->held; i++) {
    unsigned char *p = xmcMalloc(g->heap, g->scene->size);
    if (!p)
      break;
    g->held[g->held_count++] = p;
  }
  assert_true(i > 0);
}

static void let_go(stage *g) {
  while (g->held_count)
    xmcFree(g->heap, g->held[--g->held_count]);
}

static void empty(stage *g) { (void)g; }
static void one(stage *g) { hold(g, 1); }
static void a_superblock(stage *g) { hold(g, xmc_class_count(xmc_class_of(g->scene->size))); }
static void two_superblocks(stage *g) { hold(g, 2 * xmc_class_count(xmc_class_of(g->scene->size))); }
static void one_of_the_second_left(stage *g) {
  uint32_t n = xmc_class_count(xmc_class_of(g->scene->size));
  hold(g, 2 * n);
  while (g->held_count > n + 1)
    xmcFree(g->heap, g->held[--g->held_count]);
}
static void all_but_one(stage *g) {
  a_superblock(g);
  while (g->held_count > 1)
    xmcFree(g->heap, g->held[--g->held_count]);
}
static void emptied(stage *g) { /* wholly free Superblocks everywhere */
  hold(g, UINT32_MAX);
  let_go(g);
}
static void sparse(stage *g) { /* a block left in each Superblock: nothing but the last resort has any */
  uint32_t n = xmc_class_count(xmc_class_of(g->scene->size)), i, left = 0;
  hold(g, UINT32_MAX);
  for (i = 0; i < g->held_count; i++)
    if (i % n)
      g->held[left++] = g->held[i];
    else
      xmcFree(g->heap, g->held[i]);
  g->held_count = left;
}

/* A region with a chunk behind its header's, and one of a large request */
static void region_used(stage *g) {
  g->region = xmcRegionCreateFor(g->heap, 1);
  while (xmc_room_units(xmc_load_relaxed64(xmc_room_of(g->heap, xmc_region_page(g->region)))) > 100u)
    assert_non_null(xmcRegionMalloc(g->heap, g->region, 1000));
  assert_non_null(xmcRegionMalloc(g->heap, g->region, 2000));
  assert_non_null(xmcRegionMalloc(g->heap, g->region, 40000));
}
static void region_made(stage *g) { g->region = xmcRegionCreateFor(g->heap, 1); }
/* … whose chunks are used up */
static void region_exhausted(stage *g) {
  region_used(g);
  while (xmcRegionBytes(g->heap, g->region) < 8u * XMC_PAGE_BYTES ||
         xmc_room_fits(g->heap, xmc_region_tag(g->region),
                       xmc_slot_page(xmc_region_slots(g->heap, g->region)->current), 1000u))
    assert_non_null(xmcRegionMalloc(g->heap, g->region, 5000));
}

static unsigned char *take_out(stage *g) { return g->held[--g->held_count]; }
static void act_malloc(stage *g) { g->got = xmcMalloc(g->heap, g->scene->size); }
static void act_malloc_other(stage *g) { g->got = xmcMalloc(g->heap, 3000); }
static void act_malloc_pages(stage *g) { g->got = xmcMalloc(g->heap, 5 * XMC_PAGE_BYTES); }
static void act_free(stage *g) { xmcFree(g->heap, take_out(g)); }
static void act_realloc(stage *g) { g->got = xmcRealloc(g->heap, take_out(g), 3000); }
static void act_calloc(stage *g) { g->got = xmcCalloc(g->heap, 3, g->scene->size / 3); }
static void act_aligned(stage *g) { g->got = xmcAlignedAlloc(g->heap, 1u << 16, g->scene->size); }
static void act_region_create(stage *g) { g->region = xmcRegionCreateFor(g->heap, 4); }
static void act_region_malloc(stage *g) { xmcRegionMalloc(g->heap, g->region, 64); }
static void act_region_grow(stage *g) { xmcRegionMalloc(g->heap, g->region, 20000); }
static void act_region_large(stage *g) { xmcRegionMalloc(g->heap, g->region, 40000); }
static void act_region_free(stage *g) {
  xmcRegion region = g->region;
  g->region = 0;
  xmcRegionFree(g->heap, region);
}
static void act_region_reset(stage *g) { xmcRegionReset(g->heap, g->region); }
static void act_two_frees(stage *g) {
  act_free(g);
  act_free(g);
}

static const scene scenes[] = {
    {"malloc, blocks free", 1u << 19, 64, 1, one, act_malloc},
    {"malloc, carves a slab", 1u << 19, 64, 1, empty, act_malloc},
    {"malloc, moves the FIFO on", 1u << 19, 64, 1, a_superblock, act_malloc},
    {"malloc, carves pages", 1u << 19, 3000, 4, empty, act_malloc},
    {"malloc, last resort, retires others'", 1u << 19, 64, 4, emptied, act_malloc_other},
    {"malloc, last resort, parked", 1u << 19, 64, 1, sparse, act_malloc},
    {"malloc of pages", 1u << 19, 3 * XMC_PAGE_BYTES, 3, empty, act_malloc},
    {"malloc of pages, last resort", 1u << 19, 64, 5, emptied, act_malloc_pages},
    {"malloc of spans", 3u << 20, 100 * XMC_PAGE_BYTES, 100, empty, act_malloc},
    {"free, listed", 1u << 19, 64, 1, one, act_free},
    {"free, settles", 1u << 19, 64, 1, two_superblocks, act_free},
    {"free, settles, then is full", 1u << 19, 3000, 4, two_superblocks, act_two_frees},
    {"free, retires", 1u << 19, 3000, 4, one_of_the_second_left, act_free},
    {"free, the last one", 1u << 19, 64, 1, all_but_one, act_free},
    {"free of pages", 1u << 19, 3 * XMC_PAGE_BYTES, 3, one, act_free},
    {"free of spans", 3u << 20, 100 * XMC_PAGE_BYTES, 100, one, act_free},
    {"realloc", 1u << 19, 64, 1 + 4, one, act_realloc},
    {"calloc", 1u << 19, 300, 1, one, act_calloc},
    {"region, create", 1u << 20, 64, 3, empty, act_region_create},
    {"region, malloc", 1u << 20, 64, 0, region_made, act_region_malloc},
    {"region, new chunk", 1u << 20, 64, 8, region_exhausted, act_region_grow},
    {"region, large", 1u << 20, 64, 3, region_used, act_region_large},
    {"region, free", 1u << 20, 64, 2 + 3 + 3, region_used, act_region_free},
    {"region, reset", 1u << 20, 64, 3, region_used, act_region_reset},
    {"aligned to 64 KiB", 1u << 19, 40000, 4 + 3, empty, act_aligned},
};

/* Fills the heap with blocks of one size as far as it goes, then frees them. */
static void fill_and_empty(stage *g, int number, uint32_t size) {
  unsigned char *list = NULL, *p, *next;
  while ((p = xmcMalloc(g->heap, size)) != NULL) {
    memcpy(p, &list, sizeof list);
    p[8] = (unsigned char)number;
    memset(p + size - 4, 0x30 + number, 4);
    list = p;
    g->handed_out++;
  }
  for (; list; list = next) {
    memcpy(&next, list, sizeof next);
    if (list[8] != (unsigned char)number || list[size - 4] != 0x30 + number ||
        list[size - 1] != 0x30 + number)
      g->errors++;
    xmcFree(g->heap, list);
  }
}

static void member(int number, void *data) {
  stage *g = data;
  if (number == 0) {
    g->scene->act(g);
    return;
  }
  fill_and_empty(g, number, g->scene->size);
  fill_and_empty(g, number, 3000);
  fill_and_empty(g, number, XMC_PAGE_BYTES);
}

/* Pages that can be had one by one, now that all others are at rest */
static uint32_t pages_to_be_had(xmcHeap *heap) {
  uint64_t list = 0;
  uint32_t n = 0;
  void *p;
  while ((p = xmcMalloc(heap, XMC_PAGE_BYTES)) != NULL) {
    memcpy(p, &list, sizeof list);
    list = xmcToRef(heap, p);
    n++;
  }
  while (list) {
    p = xmcFromRef(heap, list);
    memcpy(&list, p, sizeof list);
    xmcFree(heap, p);
  }
  return n;
}

static void count_live(void *data, const xmc_run *run, xmc_u32 id, xmc_u64 word, xmc_u64 offset) {
  uint32_t *live = data;
  (void)run;
  (void)id;
  (void)offset;
  *live += xmc_popcount32(~xmc_word_free(word) & xmc_full_mask(xmc_word_count(word)));
}

static uint32_t live_blocks(xmcHeap *heap) {
  uint32_t page, live = 0;
  xmc_run run;
  for (page = 0; page < heap->pages; page += run.pages) {
    run = xmc_walk_run(heap, page);
    live += run.kind == XMC_RUN_MEMORYBLOCK || run.kind == XMC_RUN_REGION;
    xmc_walk_superblocks(heap, &run, count_live, &live);
  }
  return live;
}

/* One run; 0 when the operation ended before the step. */
static int stop_at(const scene *sc, xmc_u32 slots, uint64_t step, unsigned switch_one_in) {
  static stage g;
  schedule s;
  xmc_heap_report report;
  uint32_t lost;
  memset(&g, 0, sizeof g);
  memset(&s, 0, sizeof s);
  memset(&report, 0, sizeof report);
  g.scene = sc;
  g.heap = core_heap(sc->bytes, slots, 0xfffffffeu, XMC_COALESCE_CLASS);
  sc->prepare(&g);
  s.seed = step * 7919u + slots;
  s.switch_one_in = switch_one_in;
  s.stop_step = step;
  s.most_steps = 20000000u;
  schedule_run(&s, 3, member, &g);
  if (s.hung)
    fail_msg("%s, %u FIFOs, step %u: the others hang", sc->name, slots, (unsigned)step);
  assert_int_equal(g.errors, 0);
  let_go(&g);
  if (!s.stopped && g.got)
    xmcFree(g.heap, g.got);
  if (g.region) /* others may free what a stopped work-item uses */
    xmcRegionFree(g.heap, g.region);
  lost = g.heap->pages - pages_to_be_had(g.heap);
  if (lost > (s.stopped ? sc->most_lost : 0u))
    fail_msg("%s, %u FIFOs, stopped at step %u: %u pages are lost", sc->name, slots, (unsigned)step, lost);
  assert_true(g.handed_out > 0);
  assert_int_equal(g.heap->double_frees + g.heap->invalid_frees, 0);
  assert_true(xmc_check_meta(g.heap, &report) != CL_OUT_OF_HOST_MEMORY);
  if (report.problems) {
    if (!s.stopped)
      fail_msg("%s, %u FIFOs, nobody stopped: %s", sc->name, slots, report.message);
  } else if (lost && !live_blocks(g.heap)) {
    fail_msg("%s, %u FIFOs, step %u: %u pages are lost, and the check does not say so", sc->name, slots,
             (unsigned)step, lost);
  }
  core_heap_free(g.heap);
  return s.stopped;
}

static void every_step(unsigned switch_one_in) {
  static const xmc_u32 slots[] = {0, 1, 4};
  size_t i, k;
  uint64_t step;
  for (i = 0; i < sizeof scenes / sizeof *scenes; i++)
    for (k = 0; k < sizeof slots / sizeof *slots; k++) {
      for (step = 1; stop_at(&scenes[i], slots[k], step, switch_one_in); step += 1 + step / 40)
        ;
      assert_true(step > 2);
    }
}

static void stopped_alone(void **state) {
  (void)state;
  every_step(0);
}

static void stopped_among_others(void **state) {
  (void)state;
  every_step(12);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stopped_alone),
      cmocka_unit_test(stopped_among_others),
  };
  return run_named(tests, argc, argv);
}
