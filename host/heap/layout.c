/* SPDX-License-Identifier: MIT */
/* The arena's geometry: how many pages fit beside the tables that describe them.
 *
 * Metadata is 286 bytes for each page of 16 KiB (1.75 %), and FIFOs up to 1/190 of the heap (0.53 %). On a GPU that runs 8,448
 * sub-groups, each class of an 8 GiB heap has 8,448 FIFOs; in 1 GiB, 16 B has 8,192 and 8 KiB has 468. On GPUs slabs that are always
 * parked have no FIFOs. If more sub-groups run than every class could have FIFOs within 1/320 of the heap, the heap also has a table
 * of own places (own.cl).
 *
 * A class whose Superblocks are large for the heap gets fewer FIFOs, so that the active Superblocks of its FIFOs hold at most 1/64 of the
 * heap. On GPUs, where Superblocks are carved to fit, this is 1/60 as a rule; in heaps with own places it is 1/24 to 1/84 for classes
 * of 128 B to 448 B, whose FIFOs keep a slab. Even if every FIFO of every class is used, a part of the heap is left.
 *
 * A traced heap has its ring of events behind the tables, before page 0.
 *
 * A heap that can grow has the tables for its largest size from the beginning, so that growing moves no table. A smaller
 * arena has all tables, and as many of the pages as fit.
 */
#include "layout.h"
#include "../../cl/layout/ring.h"
#include "../../cl/layout/size_class.cl"
#include <stddef.h>
#include <string.h>

/* xmc_view_read and xmc_map_view_read load these members as four words and as one. */
_Static_assert(offsetof(xmcHeap, magic) == 0 && offsetof(xmcHeap, data) == 8 &&
                   offsetof(xmcHeap, words) == 16 && offsetof(xmcHeap, page_map) == 24 &&
                   offsetof(xmcHeap, pages) == 28,
               "the header begins otherwise");
_Static_assert(sizeof(xmcHeap) <= XMC_HEADER_BYTES, "the header is too large");
_Static_assert(sizeof(xmc_trace_ring) == XMC_TRACE_RING_HEAD, "the ring begins otherwise");

#define XMC_MIN_PAGES 4u
/* Fewest pages present in a heap that can grow: so that each heap has a place for a Superblock's longest run. */
#define XMC_MIN_PRESENT 16u
/* The own slabs of all slots take at most 1/XMC_OWN_SHARE of the heap for each class; a little more if each slot then has one. */
#define XMC_OWN_SHARE 8u

static uint64_t align_up(uint64_t value, uint64_t to) { return (value + to - 1u) / to * to; }

/* Places the levels of a bitmap from offset *at on, and moves *at behind them. */
static xmc_bitmap place_bitmap(uint64_t *at, uint64_t items) {
  xmc_bitmap map;
  int level;
  for (level = 0; level < XMC_BITMAP_LEVELS; level++) {
    items = (items + 63u) / 64u;
    map.level[level] = *at;
    *at += 8u * items;
  }
  *at = align_up(*at, 64);
  return map;
}

static uint64_t superblock_bytes(uint32_t cls) {
  return cls < XMC_CLASSES ? 32u * (uint64_t)xmc_class_bytes(cls) : XMC_PAGE_BYTES;
}

/* Returns the bytes of heap that there must be for each FIFO of a class, which bounds the part of the heap that the class's FIFOs keep.
 * `own` is 1 if the heap has own places, because it is too small for a FIFO of each class for each sub-group. Most FIFOs of such a heap are
 * of small classes: each keeps one Superblock, which is small. Below 128 B several slots share a FIFO of slabs (xmc_slab_other); from 128 B
 * on each FIFO keeps a slab as well, so there are fewer. FIFOs of other classes keep whole pages, and are few until the heap is
 * large (XMC_MANY_PAGES). */
static uint64_t fifo_share(uint32_t cls, int simt, int own, uint64_t bytes) {
  uint64_t superblock = superblock_bytes(cls), pages = bytes >> 27 ? 62u : 72u;
  uint64_t least = 8u * XMC_PAGE_BYTES; /* so that tables are at most 2.4 % of the heap */
  if (!simt)
    return (bytes >> 27 ? 64u : 69u) * superblock;
  if (own && xmc_class_is_small(cls) && cls + XMC_CLASSES < XMC_PARKED_SLABS)
    return 64u * superblock > least ? 64u * superblock : least;
  if (own && xmc_class_is_small(cls))
    return 96u * superblock;
  if (own)
    pages = cls >= XMC_CLASSES ? 256u : bytes >> 20 < 3584u ? 140u : 84u;
  return pages * XMC_PAGE_BYTES;
}

/* ---- the ring ---- */

xmc_u64 xmc_ring_bytes(xmc_u32 records) {
  return records ? XMC_TRACE_RING_HEAD + (xmc_u64)records * sizeof(xmc_trace_record) : 0;
}

xmc_u32 xmc_ring_records(xmc_u64 bytes) {
  xmc_u32 records = XMC_TRACE_MOST_RECORDS;
  while (records >= XMC_TRACE_LEAST_RECORDS && xmc_ring_bytes(records) > bytes)
    records /= 2u;
  return records >= XMC_TRACE_LEAST_RECORDS ? records : 0;
}

static uint64_t words_end(const xmcHeap *h) {
  return align_up(h->words + 8u * (uint64_t)h->spans * XMC_SPAN_WORDS, 128);
}

static int ring_is_right(const xmcHeap *h) {
  if (!h->trace_records)
    return h->trace == 0 && h->trace_every == 0;
  return h->trace_records >= XMC_TRACE_LEAST_RECORDS && h->trace_records <= XMC_TRACE_MOST_RECORDS &&
         (h->trace_records & (h->trace_records - 1u)) == 0 && h->trace_every > 0;
}

/* Places every table for this many pages. Returns the offset of page 0 in bytes, before its alignment. */
static uint64_t place_tables(xmcHeap *h, uint32_t pages, uint64_t fifos) {
  uint64_t at = XMC_FIRST_FIFO((uint64_t)h->own) * sizeof(xmc_fifo);
  int k;
  h->pages = pages;
  h->spans = (pages + XMC_SPAN_PAGES - 1u) / XMC_SPAN_PAGES;
  at += fifos * sizeof(xmc_fifo);
  for (k = 0; k < (int)XMC_BITMAPS; k++)
    h->bitmaps[k] = place_bitmap(&at, xmc_bitmap_items(h, (xmc_u32)k));
  for (k = 0; k < XMC_INDEX_LEVELS; k++) {
    h->index[k] = at;
    at = align_up(at + (align_up(h->spans, (uint64_t)8 << 3 * k) >> 3 * k), 64);
  }
  at = align_up(at + 8u * (uint64_t)h->spans, 64); /* the spans' words, downwards */
  h->page_map = (xmc_u32)at;                       /* fits: XMC_MAX_SLOTS FIFOs a class are 3 GB */
  /* the entries, then hints and room words, each of which take eight bytes for two pages */
  at = align_up(at + 8u * ((uint64_t)pages + 2u * (((uint64_t)pages + 1u) / 2u)), 64);
  at = align_up(at + 8u * ((uint64_t)pages + XMC_SLAB_WORDS), 64); /* the slabs' words, downwards */
  h->words = at;
  h->trace = h->trace_records ? words_end(h) : 0;
  return xmc_layout_tables_end(h);
}

uint64_t xmc_layout_tables_end(const xmcHeap *h) {
  return align_up(words_end(h) + xmc_ring_bytes(h->trace_records), 128);
}

/* One page of room is kept, to align page 0 in any address space. */
xmc_u32 xmc_layout_present(const xmcHeap *h, uint64_t bytes) {
  uint64_t tables = xmc_layout_tables_end(h), room = bytes > tables ? (bytes - tables) / XMC_PAGE_BYTES : 0;
  return room <= h->pages ? (xmc_u32)(room ? room - 1u : 0) : h->pages;
}

static int present_is_enough(const xmcHeap *h) {
  return h->present == h->pages || h->present >= XMC_MIN_PRESENT;
}

int xmc_layout(xmcHeap *h, uint64_t arena, const xmc_layout_request *request) {
  uint64_t bytes = request->max_bytes > arena ? request->max_bytes : arena;
  uint64_t budget = bytes / 320u / sizeof(xmc_fifo) / XMC_ALL_CLASSES, fifos = 0, slots = request->slots,
           most = 0;
  uint64_t low = XMC_MIN_PAGES, high = bytes / XMC_PAGE_BYTES;
  uint64_t own = bytes / XMC_PAGE_BYTES / XMC_OWN_SHARE;
  uint32_t cls, lanes = request->lanes < XMC_MAX_LANES ? request->lanes : XMC_MAX_LANES;

  memset(h, 0, sizeof *h);
  if (!request->slots_exact && slots > budget)
    slots = budget ? budget : 1u;
  if (own + own / 16u >= lanes)
    own = lanes;
  if (request->simt && !request->slots_exact && own > slots)
    h->own = (xmc_u32)(own < XMC_MAX_OWN ? own / 64u * 64u : XMC_MAX_OWN);
  if (h->own)
    slots = request->slots;
  for (cls = 0; cls < XMC_ALL_CLASSES; cls++) {
    uint64_t count = slots, room = bytes / fifo_share(cls, request->simt, h->own > 0, bytes);
    if (!request->slots_exact && slots && count > room)
      count = room ? room : 1u;
    if (request->simt && cls >= XMC_PARKED_SLABS)
      count = 0;
    h->fifo_table[cls] = xmc_fifos_entry((xmc_u32)fifos + XMC_FIRST_FIFO(h->own), (xmc_u32)count,
                                         xmc_class_own(cls, h->own, lanes));
    fifos += count;
    most = count > most ? count : most;
  }
  if (fifos * sizeof(xmc_fifo) > bytes / 2u)
    return 0;
  h->slots = (xmc_u32)align_up(most, 64);
  h->bytes = arena;
  h->max_bytes = bytes;
  h->lanes = lanes ? lanes : 64u;
  h->fifo_start = request->fifo_start;
  h->coalescing = request->coalescing;
  h->debug = request->debug;
  h->trace_records = request->trace_records;
  h->trace_every = request->trace_records ? request->trace_every : 0;

  /* The most pages that fit, with room to align page 0 in any address space. */
  if (high > XMC_MAX_PAGES)
    high = XMC_MAX_PAGES;
  if (high < low || place_tables(h, (uint32_t)low, fifos) + (low + 1u) * XMC_PAGE_BYTES > bytes)
    return 0;
  while (low < high) {
    uint64_t middle = (low + high + 1u) / 2u;
    if (place_tables(h, (uint32_t)middle, fifos) + (middle + 1u) * XMC_PAGE_BYTES <= bytes)
      low = middle;
    else
      high = middle - 1u;
  }
  h->data = place_tables(h, (uint32_t)low, fifos);
  xmc_layout_resize(h, arena);
  return present_is_enough(h);
}

void xmc_layout_resize(xmcHeap *h, uint64_t bytes) {
  h->bytes = bytes;
  h->present = xmc_layout_present(h, bytes);
  h->present_spans = (h->present + XMC_SPAN_PAGES - 1u) / XMC_SPAN_PAGES;
}

/* Returns the number of FIFOs of all classes, or ~0 if the table contradicts itself or has more FIFOs than any heap. */
static uint64_t count_fifos(const xmcHeap *h) {
  uint64_t fifos = 0;
  uint32_t cls;
  for (cls = 0; cls < XMC_ALL_CLASSES; cls++) {
    uint32_t count = xmc_fifos_count(h->fifo_table[cls]);
    if (count > h->slots ||
        h->fifo_table[cls] != xmc_fifos_entry((xmc_u32)fifos + XMC_FIRST_FIFO(h->own), count,
                                              xmc_class_own(cls, h->own, h->lanes)))
      return ~(uint64_t)0;
    fifos += count;
  }
  return fifos;
}

/* Checks the members from which the tables' places are computed, and those that the calls divide by or use as an index. */
static int ranges_are_right(const xmcHeap *h) {
  return h->pages >= XMC_MIN_PAGES && h->pages <= XMC_MAX_PAGES && h->slots % 64u == 0 &&
         h->slots <= XMC_MAX_SLOTS && h->lanes > 0 && h->lanes <= XMC_MAX_LANES && h->own % 64u == 0 &&
         h->own <= XMC_MAX_OWN && h->own <= h->lanes && h->coalescing <= XMC_COALESCE_CLASS;
}

/* Checks that the header has as many pages as the arena's size gives: those present lie inside the arena (xmc_layout_present), and all
 * of them inside an arena of the largest size. */
static int sizes_are_right(const xmcHeap *h) {
  return h->bytes <= h->max_bytes && xmc_layout_present(h, h->max_bytes) == h->pages &&
         h->present == xmc_layout_present(h, h->bytes) && present_is_enough(h) &&
         h->present_spans == (h->present + XMC_SPAN_PAGES - 1u) / XMC_SPAN_PAGES;
}

int xmc_layout_is_consistent(const xmcHeap *h) {
  xmcHeap placed = *h;
  uint64_t fifos, tables;
  int k;
  if (!ranges_are_right(h) || !ring_is_right(h) || (fifos = count_fifos(h)) > h->max_bytes / sizeof(xmc_fifo))
    return 0;
  tables = place_tables(&placed, h->pages + 1u, fifos); /* one page more must not fit */
  if (h->pages < XMC_MAX_PAGES && tables + (h->pages + 2u) * (uint64_t)XMC_PAGE_BYTES <= h->max_bytes)
    return 0;
  tables = place_tables(&placed, h->pages, fifos);
  for (k = 0; k < XMC_INDEX_LEVELS; k++)
    if (placed.index[k] != h->index[k])
      return 0;
  return h->geometry == xmc_geometry_number(h) && placed.spans == h->spans &&
         placed.page_map == h->page_map && placed.words == h->words && placed.trace == h->trace &&
         memcmp(placed.bitmaps, h->bitmaps, sizeof h->bitmaps) == 0 && h->data >= tables &&
         h->data - tables < XMC_PAGE_BYTES && h->data % 16u == 0 && sizes_are_right(h);
}

int xmc_layout_has_fifos(const xmcHeap *h, long long property) {
  uint32_t cls;
  if (property < 0) /* the device decided; at least one FIFO, because the heap is not unbuffered */
    return property == -1 && h->slots > 0;
  if (property > XMC_MAX_SLOTS || h->slots != (property + 63) / 64 * 64 || h->own)
    return 0;
  for (cls = 0; cls < XMC_ALL_CLASSES; cls++) {
    uint32_t count = xmc_fifos_count(h->fifo_table[cls]);
    if (count != property && (count || cls < XMC_PARKED_SLABS)) /* on GPUs parked slabs have no FIFOs */
      return 0;
  }
  return 1;
}

uint64_t xmc_layout_metadata_bytes(const xmcHeap *h) {
  return h->bytes - (uint64_t)h->present * XMC_PAGE_BYTES;
}
