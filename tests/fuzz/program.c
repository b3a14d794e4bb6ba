/* SPDX-License-Identifier: MIT */
/* Bytes as a program:
 *
 *   0        threads - 1 (2 bits), FIFOs (2), heap's size (2)
 *   1        seed of the schedule where there are no choices left
 *   2        share of the rest that is operations, in 1/256; what follows are choices, a byte a step
 *   3 …      operations of three bytes: what, which thread; size; which block
 *
 * The shadow is a list of what is live, with a tag in each block's first and last bytes. Only one thread runs at
 * a time and the shadow's own code has no steps, so it is exact: a block is entered after the call that made
 * it returns and is taken out before the call that frees it begins. Of bad frees those are made that can never
 * be good: outside, metadata, inside a live block of the thread's own, and with one thread also those of freed
 * blocks. After the program everything is freed, the counts must be those of the shadow, the check must find
 * nothing, and the whole arena must be had as one block.
 */
#define CORE_SCHEDULED
#include "support/core.h"
#include "program.h"
#include "inspect/walk.h"

#define HELD 48 /* blocks a thread */

typedef struct block {
  unsigned char *p;
  size_t size;
  uint8_t tag;
} block;

typedef struct world {
  xmcHeap *heap;
  const uint8_t *operations;
  size_t count;
  int threads;
  block held[4][HELD];
  void *freed; /* last freed block, of one thread */
  uint64_t bad, failed;
  const char *wrong;
} world;

static void expect(world *w, int true_, const char *what) {
  if (!true_ && !w->wrong)
    w->wrong = what;
}

/* 1 byte to more than the heap, most of them around the classes' limits */
static size_t some_size(uint8_t a, uint8_t b) {
  static const uint32_t steps[] = {16,    64,    128,   448,      512,      1024,    3072,    8192,
                                   16384, 40000, 65536, 1u << 18, 1u << 20, 1100000, 2000000, 5000000};
  size_t size = steps[a & 15u] + (a >> 4 & 7u) * (steps[a & 15u] / 8u);
  return a & 128u ? size - b % 9u : 1u + size * b / 255u;
}

static void enter(world *w, block *at, unsigned char *p, size_t size, uint8_t tag) {
  int t, i;
  expect(w, (uintptr_t)p % 16u == 0, "a block is not aligned");
  expect(w,
         p >= (unsigned char *)xmc_page_address(w->heap, 0) &&
             p + size <= (unsigned char *)w->heap + w->heap->bytes,
         "a block is outside the arena");
  for (t = 0; t < w->threads; t++)
    for (i = 0; i < HELD; i++) {
      const block *other = &w->held[t][i];
      expect(w, !other->p || p + size <= other->p || other->p + other->size <= p, "two blocks overlap");
    }
  expect(w, xmcUsableSize(w->heap, p) >= size, "a block's usable size is less than was asked for");
  at->p = p;
  at->size = size;
  at->tag = tag;
  memset(p, tag, size < 64u ? size : 64u);
  p[size - 1u] = tag;
}

static block leave(world *w, block *at) {
  block b = *at;
  size_t i, head = b.size < 64u ? b.size : 64u;
  for (i = 0; i < head; i++)
    expect(w, b.p[i] == b.tag, "a block was written by another one's owner");
  expect(w, b.p[b.size - 1u] == b.tag, "a block's end was written by another one's owner");
  at->p = NULL;
  return b;
}

/* With one thread NULL means that there really is no room. */
static void refused(world *w, size_t size) {
  uint32_t pages = (uint32_t)((size + XMC_PAGE_BYTES - 1u) / XMC_PAGE_BYTES), s;
  w->failed++;
  if (w->threads > 1 || size > (size_t)w->heap->pages * XMC_PAGE_BYTES)
    return;
  if (pages <= XMC_SPAN_PAGES)
    for (s = 0; s < w->heap->spans; s++)
      expect(w, xmc_run_starts(*xmc_span_word(w->heap, s), size > XMC_MAX_CLASS_BYTES ? pages : 1u) == 0,
             "a request failed although there was room");
}

static void operate(world *w, int number, const uint8_t *o) {
  block *at = &w->held[number][o[2] % HELD], old;
  size_t size = some_size(o[1], o[2]), alignment;
  unsigned char *p;
  switch (o[0] >> 2 & 15u) {
  default: /* malloc where there is none, else free */
    if (at->p) {
      old = leave(w, at);
      xmcFree(w->heap, old.p);
      w->freed = old.p;
    } else {
      p = xmcMalloc(w->heap, size);
      if (p)
        enter(w, at, p, size, o[1]);
      else
        refused(w, size);
    }
    break;
  case 0:
    if (!at->p)
      break;
    old = leave(w, at);
    p = xmcRealloc(w->heap, old.p, size);
    if (p) {
      size_t keep = old.size < size ? old.size : size, i;
      for (i = 0; i < keep && i < 64u; i++)
        expect(w, p[i] == old.tag, "realloc lost the contents");
      enter(w, at, p, size, old.tag);
    } else {
      w->failed++;
      enter(w, at, old.p, old.size, old.tag);
    }
    break;
  case 1:
    if (at->p)
      break;
    alignment = (size_t)1 << (o[0] >> 6 | (o[2] & 3u) << 2);
    p = xmcAlignedAlloc(w->heap, alignment, size);
    if (p) {
      expect(w, (uintptr_t)p % alignment == 0, "an aligned block is not aligned");
      enter(w, at, p, size, o[1]);
    } else {
      w->failed++;
    }
    break;
  case 2:
    if (at->p)
      break;
    p = xmcCalloc(w->heap, 1 + size / 7u, 7);
    if (p) {
      size_t i;
      for (i = 0; i < size; i++)
        if (p[i])
          expect(w, 0, "a block of calloc is not zero");
      enter(w, at, p, size, o[1]);
    } else {
      w->failed++;
    }
    break;
  case 3: /* bad frees */
    p = (unsigned char *)w->heap;
    if (o[1] & 1u)
      p -= 1u + size;
    else if (o[1] & 2u)
      p += w->heap->bytes + size;
    else
      p += 1u + size % (w->heap->data - 1u);
    xmcFree(w->heap, p);
    expect(w, xmcUsableSize(w->heap, p) == 0, "memory outside has a usable size");
    w->bad++;
    break;
  case 4:
    if (at->p && at->size > 1u) {
      xmcFree(w->heap, at->p + 1u + size % (at->size - 1u));
      w->bad++;
    }
    break;
  case 5: {
    int i, live = 0;
    for (i = 0; i < HELD; i++)
      live |= w->held[0][i].p == w->freed;
    if (w->threads == 1 && w->freed && !live) {
      xmcFree(w->heap, w->freed);
      w->bad++;
    }
    break;
  }
  }
}

static void member(int number, void *data) {
  world *w = data;
  size_t i;
  for (i = 0; i < w->count && !w->wrong; i++)
    if ((w->operations[3 * i] & 3u) % (unsigned)w->threads == (unsigned)number)
      operate(w, number, w->operations + 3 * i);
}

static void at_the_end(world *w) {
  xmc_heap_report report;
  static char message[300];
  volatile size_t all = (size_t)w->heap->pages * XMC_PAGE_BYTES; /* else GCC warns of what size 0 would do */
  void *p;
  int t, i;
  memset(&report, 0, sizeof report);
  xmc_check_meta(w->heap, &report);
  for (t = 0; t < w->threads; t++)
    for (i = 0; i < HELD; i++)
      if (w->held[t][i].p)
        xmcFree(w->heap, leave(w, &w->held[t][i]).p);
  xmc_check_meta(w->heap, &report);
  if (report.problems && !w->wrong) {
    snprintf(message, sizeof message, "the check says: %s", report.message);
    w->wrong = message;
  }
  expect(w, w->heap->failed_requests == w->failed, "failed requests are miscounted");
  expect(w, w->heap->double_frees + w->heap->invalid_frees == w->bad, "bad frees are miscounted");
  p = xmcMalloc(w->heap, all);
  expect(w, p != NULL, "after all frees the heap is not one free run");
}

const char *fuzz_program(const uint8_t *data, size_t size) {
  static const xmc_u32 slots[] = {0, 1, 4, CORE_SLOTS_DEFAULT};
  static const size_t sizes[] = {200000, 1u << 19, 1200000, 3u << 20};
  static world w;
  schedule s;
  size_t n;
  if (size < 6)
    return NULL;
  memset(&w, 0, sizeof w);
  memset(&s, 0, sizeof s);
  n = (size - 3u) * (data[2] + 1u) / 256u / 3u;
  w.heap = core_heap(sizes[data[0] >> 4 & 3u], slots[data[0] >> 2 & 3u], 0xfffffffcu, XMC_COALESCE_CLASS);
  w.threads = 1 + (data[0] & 3u);
  w.operations = data + 3;
  w.count = n;
  s.seed = data[1];
  s.switch_one_in = 1u + data[1] % 16u;
  s.choices = data + 3 + 3 * n;
  s.choice_count = size - 3u - 3 * n;
  s.stop_thread = -1;
  s.most_steps = 50000000u;
  schedule_run(&s, w.threads, member, &w);
  expect(&w, !s.hung, "the threads hang");
  if (!s.hung)
    at_the_end(&w);
  core_heap_free(w.heap);
  return w.wrong;
}
