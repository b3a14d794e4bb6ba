/* SPDX-License-Identifier: MIT */
/* What another work-item's search would see: before each atomic of the calls between look_begin and look_end the arena's tables are
 * copied, and the whole search of the last resort runs on the copy. A program sets XMC_HOST_STEP to something that calls look()
 * and includes this header behind core.h.
 */
#ifndef XMC_TEST_LOOK_H
#define XMC_TEST_LOOK_H

enum { MOST_LOOKS = 4096 };

static struct {
  xmcHeap *heap, *copy;
  uint32_t size;            /* of what the search asks for */
  int on;                   /* look before each atomic */
  uint32_t hidden;          /* moments without room in sight */
  xmc_u32 flux[MOST_LOOKS]; /* of each of them, and whether somebody counted as holding room */
  int held[MOST_LOOKS];
} view;

/* All turns of a search for one block, on a copy of the tables: 1 if it finds room. */
static int has_room(void) {
  xmc_search search = 0;
  xmc_u64 mask = 0;
  int on = view.on;
  xmc_claim claim = 0;
  view.on = 0;
  memcpy(view.copy, view.heap, view.heap->data);
  if (view.size > XMC_MAX_CLASS_BYTES) {
    do
      xmc_run_take(view.copy, 0, view.size >> XMC_PAGE_SHIFT, 1, 1, XMC_NONE, &search, &mask);
    while (!mask && search != XMC_SEARCH_FAILED);
  } else {
    do
      claim = xmc_last_turn(view.copy, 0, xmc_class_of(view.size), 1, &search);
    while (!claim && search != XMC_SEARCH_FAILED);
  }
  view.on = on;
  return claim != 0 || mask != 0;
}

static void look(void) {
  if (!view.on || has_room())
    return;
  assert_true(view.hidden < MOST_LOOKS);
  view.flux[view.hidden] = (xmc_u32)(view.heap->flux >> 32);
  view.held[view.hidden] = (xmc_u32)view.heap->flux != 0;
  view.hidden++;
}

static void look_open(size_t bytes, xmc_u32 slots, uint32_t size) {
  memset(&view, 0, sizeof view);
  view.size = size;
  view.heap = core_heap(bytes, slots, 0, XMC_COALESCE_CLASS);
  view.copy = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  assert_non_null(view.copy);
}

static void look_close(void) {
  free(view.copy);
  core_heap_free(view.heap);
}

static void look_begin(void) {
  view.hidden = 0;
  view.on = 1;
}

/* The request is over. Returns the moments when room was out of sight. */
static uint32_t look_end(const char *what, int before) {
  uint32_t i;
  view.on = 0;
  if (!before || !has_room())
    return 0; /* it took the last room, or there was none */
  for (i = 0; i < view.hidden; i++)
    if (!view.held[i] && view.flux[i] == (xmc_u32)(view.heap->flux >> 32))
      fail_msg("%s: room was out of sight at a moment, and no search learns of it", what);
  return view.hidden;
}
#endif
