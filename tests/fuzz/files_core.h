/* SPDX-License-Identifier: MIT */
/* The use of what the reader accepted.
 *
 * A table says for each 16 bytes of the arena which live block they are in. The blocks that the file had are entered as
 * the inspectors list them. So it is seen when two live blocks overlap, when a block lies outside of the pages, when a
 * bad free frees something, and when one is not counted. Where users' memory decides what is a block (headers of
 * compartments, of debug heaps) the table is made anew after each call that may have believed them, and only what the
 * calls promise then is expected.
 */
#define XMC_HOST_THREAD() 1u
#define XMC_TRACE 1 /* heaps with a ring record what is done with them */
#define XMC_SITE 0x12340007u
#include "../../cl/xmalloc.cl"
#include "../../cl/superblocks/init.cl"
#include "files.h"
#include "heap/layout.h"
#include "heap/regions.h"
#include "trace/trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files_seeds.h"

/* ---- what is live ---- */

#define MOST_BLOCKS 8192u
#define EARLIER_REGIONS 4u

typedef struct live_block {
  xmc_u64 offset, bytes; /* in the arena, as listed or asked for */
} live_block;

typedef struct shadow {
  xmcHeap *heap;
  int trusts_memory; /* users' memory decides what is a block */
  uint32_t *owner;   /* of each 16 bytes: the block's number + 1 */
  live_block blocks[MOST_BLOCKS];
  uint32_t count;
  xmcRegion regions[EARLIER_REGIONS]; /* some that the calls created */
  int regions_lie;                    /* the file had regions, and so may lie about them */
  int regions_lost;                   /* and was believed: the check may find chunks without a region */
  const char *wrong;
} shadow;

static void expect(shadow *s, int is_true, const char *what) {
  if (!is_true && !s->wrong)
    s->wrong = what;
}

static void enter(shadow *s, xmc_u64 offset, xmc_u64 bytes) {
  xmc_u64 first = s->heap->data, end = first + xmc_data_bytes(s->heap), i;
  if (offset < first || bytes == 0 || bytes > end - first || offset > end - bytes || offset % 16u) {
    expect(s, 0, "a block is outside of the pages, or not aligned");
    return;
  }
  if (s->count == MOST_BLOCKS) { /* no more room to remember it */
    xmcFree(s->heap, (char *)s->heap + offset);
    return;
  }
  for (i = offset / 16u; i < (offset + bytes + 15u) / 16u; i++) {
    expect(s, s->owner[i] == 0, "two live blocks overlap");
    s->owner[i] = s->count + 1u;
  }
  s->blocks[s->count++] = (live_block){offset, bytes};
}

static void leave(shadow *s, uint32_t number) {
  live_block b = s->blocks[number];
  xmc_u64 i;
  memset(s->owner + b.offset / 16u, 0,
         ((b.offset + b.bytes + 15u) / 16u - b.offset / 16u) * sizeof *s->owner);
  b = s->blocks[--s->count];
  if (number == s->count)
    return;
  s->blocks[number] = b;
  for (i = b.offset / 16u; i < (b.offset + b.bytes + 15u) / 16u; i++)
    s->owner[i] = number + 1u;
}

static void leave_all(shadow *s) {
  while (s->count)
    leave(s, s->count - 1u);
}

static int CL_CALLBACK enter_listed(const xmc_block *block, void *data) {
  shadow *s = data;
  if (s->count < MOST_BLOCKS - 1u && block->size_class != XMC_BLOCK_OF_REGION) /* the rest lives on unseen */
    enter(s, block->ref, block->usable);
  return s->wrong != NULL;
}

/* Blocks as the heap lists them, but for regions. */
static void list_anew(shadow *s) {
  leave_all(s);
  expect(s, xmc_walk_believe(s->heap, 1) == CL_SUCCESS, "a used heap has impossible words");
  if (!s->wrong)
    xmc_blocks_meta(s->heap, NULL, enter_listed, s);
}

/* The live block that begins there, or MOST_BLOCKS */
static uint32_t block_at(const shadow *s, xmc_u64 offset) {
  uint32_t owner = offset < s->heap->bytes ? s->owner[offset / 16u] : 0;
  return owner && s->blocks[owner - 1u].offset == offset ? owner - 1u : MOST_BLOCKS;
}

/* ---- calls ---- */

static void *pointer(const shadow *s, xmc_u64 offset) {
  return (void *)((uintptr_t)s->heap + (uintptr_t)offset);
}

/* A pointer that a program may hand over, good or bad, as an offset in the arena */
static xmc_u64 any_offset(const shadow *s, fuzz_input *in) {
  uint32_t how = fuzz_byte(in), r = fuzz_word(in);
  const live_block *b = s->count ? &s->blocks[r % s->count] : NULL;
  switch (how & 7u) {
  case 0: /* in the arena */
    return r % s->heap->bytes;
  case 1: /* what could be a block's begin */
    return s->heap->data + (xmc_u64)r * 16u % xmc_data_bytes(s->heap);
  case 2: /* a page's begin */
    return s->heap->data + ((xmc_u64)(r % s->heap->pages) << XMC_PAGE_SHIFT);
  case 3: /* anywhere in the address space */
    return ((xmc_u64)r << 32 | fuzz_word(in)) >> (how >> 3);
  case 4: /* near the ends */
    return how & 8u ? s->heap->bytes + (r & 0xffffu) : 0u - (xmc_u64)(r & 0xffffu);
  case 5:
    return s->heap->data + (r >> 20) % xmc_data_bytes(s->heap) / 512u * 512u;
  default: /* in a live block, or its begin */
    return b ? b->offset + (how & 8u ? 0 : how & 16u ? 16u : r % b->bytes) : 16u;
  }
}

static void got(shadow *s, char *p, size_t size) {
  xmc_u64 offset = (xmc_u64)(p - (char *)s->heap);
  if (!p)
    return;
  if (XMC_DEBUG) { /* its plain block is listed later */
    expect(s, offset >= s->heap->data && offset + size <= s->heap->data + xmc_data_bytes(s->heap),
           "a block is outside of the pages");
  } else {
    enter(s, offset, size);
    expect(s, s->wrong || xmcUsableSize(s->heap, p) >= size, "the usable size is less than was asked for");
  }
  if (!s->wrong) {
    memset(p, 0x5a, size < 64u ? size : 64u);
    p[size - 1u] = 0x5a;
  }
  if (XMC_DEBUG)
    list_anew(s);
}

static xmc_u64 bad_frees(const shadow *s) { return s->heap->double_frees + s->heap->invalid_frees; }

static void release(shadow *s, xmc_u64 offset) {
  uint32_t number = block_at(s, offset);
  xmc_u64 bad = bad_frees(s);
  if (!s->trusts_memory && number < MOST_BLOCKS)
    leave(s, number);
  xmcFree(s->heap, pointer(s, offset));
  if (s->trusts_memory)
    list_anew(s);
  else
    expect(s, bad_frees(s) == bad + (number == MOST_BLOCKS),
           number == MOST_BLOCKS ? "a bad free is not counted" : "a good free is counted as a bad one");
}

static void resize(shadow *s, xmc_u64 offset, size_t size) {
  uint32_t number = block_at(s, offset);
  char *p;
  if (!s->trusts_memory && number < MOST_BLOCKS)
    leave(s, number);
  p = xmcRealloc(s->heap, pointer(s, offset), size);
  if (s->trusts_memory)
    list_anew(s);
  else if (p)
    got(s, p, size);
  else if (number < MOST_BLOCKS)
    enter(s, offset, xmcUsableSize(s->heap, pointer(s, offset)));
  expect(s, s->trusts_memory || !p || number < MOST_BLOCKS, "realloc of what is no block gave one");
}

static void ask(shadow *s, xmc_u64 offset) {
  size_t usable = xmcUsableSize(s->heap, pointer(s, offset));
  if (!s->trusts_memory)
    expect(s, (usable != 0) == (block_at(s, offset) < MOST_BLOCKS),
           "the usable size of what is no block, or none");
  else if (usable)
    expect(s, offset >= s->heap->data && usable <= s->heap->data + xmc_data_bytes(s->heap) - offset,
           "a usable size leads out of the arena");
}

#include "files_regions.h"

static void call(shadow *s, fuzz_input *in, uint32_t regions) {
  uint32_t what = fuzz_byte(in);
  size_t size = some_size(fuzz_word(in));
  switch (what & 7u) {
  case 0:
  case 1:
  case 2:
    got(s, xmcMalloc(s->heap, size), size);
    return;
  case 3:
    if (what & 8u)
      got(s, xmcCalloc(s->heap, 1u + size / 8u, 8), size);
    else
      got(s, xmcAlignedAlloc(s->heap, (size_t)1 << (what >> 4), size), size);
    return;
  case 4:
    release(s, s->count ? s->blocks[size % s->count].offset + (XMC_DEBUG ? 16u : 0) : 1u);
    return;
  case 5:
    release(s, any_offset(s, in));
    return;
  case 6:
    resize(s, what & 8u || !s->count ? any_offset(s, in) : s->blocks[size % s->count].offset, size);
    return;
  default:
    if (regions && (what & 8u))
      region_call(s, in, what >> 4, size);
    else
      ask(s, any_offset(s, in));
  }
}

/* What the inspectors say, and what they say of each other */
static void inspect(shadow *s) {
  xmc_heap_stats stats;
  xmc_stats_meta(s->heap, &stats);
  expect(s, stats.live_bytes + stats.free_bytes <= xmc_data_bytes(s->heap),
         "more live and free than there is");
  list_anew(s);
  expect(s, stats.live_blocks - stats.regions == s->count || s->count >= MOST_BLOCKS - 1u,
         "lists and figures differ");
}

/* What they write */
static void report(shadow *s) {
  static xmc_map map;
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  if (!file)
    return;
  xmc_map_meta(s->heap, &map);
  xmc_map_svg(&map, file);
  xmc_json_meta(s->heap, file);
  xmc_leaks_meta(s->heap, NULL, file);
  xmc_table_meta(s->heap, file, 0);
  if (s->heap->trace_records) {
    xmc_trace_chrome(s->heap, file);
    xmc_trace_folded(s->heap, file);
    xmc_trace_top(s->heap, file);
  }
  fclose(file);
  free(text);
}

static void check(shadow *s, const char *what) {
  xmc_heap_report report = {0};
  if (s->regions_lost)
    return;
  expect(s, xmc_check_meta(s->heap, &report) != XMC_HEAP_CORRUPT, what);
  if (report.problems)
    fprintf(stderr, "%s\n", report.message);
}

/* Everything is freed: the heap is one free run, as it would be had nobody lied. */
static void end(shadow *s) {
  xmc_u64 all = xmc_data_bytes(s->heap);
  while (s->count && s->count < MOST_BLOCKS - 1u && !s->wrong && !s->trusts_memory)
    release(s, s->blocks[s->count - 1u].offset);
  free_regions(s);
  if (s->count || s->wrong || s->regions_lost)
    return;
  check(s, "the check finds a problem after all frees");
  expect(s, s->trusts_memory || xmcMalloc(s->heap, (size_t)all) != NULL,
         "after all frees the heap is not one free run");
}

static const char *use(xmcHeap *heap, fuzz_input *in, uint32_t regions) {
  static shadow s;
  static uint32_t *owner;
  uint32_t calls = 24u + fuzz_byte(in) % 64u, i;
  if (!owner && !(owner = calloc(((size_t)64 << 20) / 16u, sizeof *owner)))
    return NULL;
#ifdef XMC_HOST_LANES
  fuzz_any_number = 0;
#endif
  s.heap = heap;
  s.owner = owner;
  s.wrong = NULL;
  s.trusts_memory = XMC_DEBUG || heap->coalescing == XMC_COALESCE_COMPARTMENT;
  memset(s.regions, 0, sizeof s.regions);
  s.regions_lie = some_region(&s, 0) != 0;
  s.regions_lost = 0;
  inspect(&s);
  if (calls % 8u == 0)
    report(&s);
  for (i = 0; i < calls && !s.wrong; i++)
    call(&s, in, regions);
  if (!s.wrong)
    check(&s, "the check finds a problem after the calls");
  if (!s.wrong)
    inspect(&s);
  if (calls % 8u == 1u)
    report(&s);
  if (!s.wrong)
    end(&s);
  leave_all(&s);
  return s.wrong;
}

const fuzz_core FUZZ_CORE = {make, use};
