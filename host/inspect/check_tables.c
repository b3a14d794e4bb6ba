/* SPDX-License-Identifier: MIT */
/* xmcCheckHeap: the tables by which calls find Superblocks and pages: FIFOs, own places, bitmaps, the span index.
 *
 * The calls follow these values without a check of their own, so each value must lead into the tables. An id
 * may be out of date: its Superblock may be retired, or the word may be in use for another one; the state word tells.
 */
#include "checker.h"

/* ---- FIFOs ---- */

/* Returns 1 if a Superblock (or slab) of this class can have this id, else 0. */
static int is_id(xmcHeap *meta, xmc_u32 cls, xmc_u32 id) {
  xmc_u32 page = xmc_any_page(id);
  if (page >= meta->present)
    return 0;
  if (cls >= XMC_CLASSES)
    return id == xmc_slab_id(page);
  if (id >> 31)
    return 0;
  if (xmc_class_is_small(cls))
    return xmc_id_row(id) * 32u < xmc_class_blocks(cls, 1);
  return xmc_run_fits(meta, cls, page, xmc_run_order(id));
}

static int check_payload(xmc_checker *c, xmc_u32 cls, xmc_u32 slot, xmc_u64 offset, xmc_u32 payload) {
  if (payload != XMC_NONE && !is_id(c->meta, cls, payload)) {
    xmc_report_problem(c, XMC_PROBLEM_FIFO, offset, "FIFO %u of class %u holds 0x%x, which is no Superblock",
                       slot, cls, payload);
    return 0;
  }
  return payload != XMC_NONE;
}

/* Notes in c->in_fifo that a FIFO holds this id, if the Superblock is of the FIFO's class. */
static void remember(xmc_checker *c, xmc_u32 cls, xmc_u32 slot, xmc_u64 offset, xmc_u32 payload) {
  xmc_u32 n = xmc_word_number(c->meta, payload);
  if (check_payload(c, cls, slot, offset, payload) && xmc_word_class(*xmc_word_of(c->meta, payload)) == cls)
    c->in_fifo[n >> 3] |= (unsigned char)(1u << (n & 7u));
}

/* Checks the messages from head to tail, which calls dequeue. */
static void check_ring(xmc_checker *c, xmc_u32 cls, xmc_u32 slot, xmc_u64 offset, const xmc_fifo *fifo) {
  xmc_u32 tail = xmc_message_number(fifo->tail), n;
  for (n = fifo->head; n != tail + 1u; n++) {
    xmc_u64 message = n == tail ? fifo->tail : fifo->message[n % XMC_FIFO_SIZE];
    if (xmc_message_number(message) != n || xmc_message_payload(message) == XMC_NONE)
      xmc_report_problem(c, XMC_PROBLEM_FIFO, offset, "FIFO %u of class %u: message %u is 0x%llx", slot, cls,
                         n, (unsigned long long)message);
    else
      remember(c, cls, slot, offset, xmc_message_payload(message));
  }
}

/* Checks that old messages have kept their numbers, because an enqueue relies on them. The tail may be copied to its place already. */
static void check_old_messages(xmc_checker *c, xmc_u32 cls, xmc_u32 slot, xmc_u64 offset,
                               const xmc_fifo *fifo) {
  xmc_u32 tail = xmc_message_number(fifo->tail), n;
  check_payload(c, cls, slot, offset, xmc_message_payload(fifo->tail));
  for (n = 1; n <= XMC_FIFO_SIZE; n++) {
    xmc_u64 message = fifo->message[(tail - n) % XMC_FIFO_SIZE];
    check_payload(c, cls, slot, offset, xmc_message_payload(message));
    if (xmc_message_number(message) != tail - n && !(n == XMC_FIFO_SIZE && message == fifo->tail))
      xmc_report_problem(c, XMC_PROBLEM_FIFO, offset, "FIFO %u of class %u: place %u has the message 0x%llx",
                         slot, cls, (tail - n) % XMC_FIFO_SIZE, (unsigned long long)message);
  }
}

static void check_fifo(xmc_checker *c, xmc_u32 cls, xmc_u32 slot) {
  xmc_fifo *fifo = xmc_fifo_at(c->meta, cls, slot);
  xmc_u64 offset = (xmc_u64)((char *)fifo - (char *)c->meta);
  xmc_u32 tail = xmc_message_number(fifo->tail), used = tail - fifo->head + 1u;
  if (used > XMC_FIFO_SIZE || fifo->partly > 1u || fifo->carving > 1u) {
    xmc_report_problem(c, XMC_PROBLEM_FIFO, offset, "FIFO %u of class %u: head %u, tail %u, flags 0x%x, 0x%x",
                       slot, cls, fifo->head, tail, fifo->partly, fifo->carving);
    return;
  }
  remember(c, cls, slot, offset, xmc_active_id(fifo->active));
  if (xmc_class_is_small(cls) && fifo->hint && !is_id(c->meta, xmc_slab_class(cls), fifo->hint - 1u))
    xmc_report_problem(c, XMC_PROBLEM_FIFO, offset, "FIFO %u of class %u remembers 0x%x, which is no slab",
                       slot, cls, fifo->hint - 1u);
  check_ring(c, cls, slot, offset, fifo);
  check_old_messages(c, cls, slot, offset, fifo);
  if ((used || xmc_active_id(fifo->active) != XMC_NONE) &&
      !xmc_bitmap_has(c->meta, XMC_BUSY, cls * c->meta->slots + slot))
    xmc_report_problem(c, XMC_PROBLEM_BITMAP, c->meta->bitmaps[XMC_BUSY].level[0],
                       "busy bitmap misses FIFO %u of class %u", slot, cls);
}

static void check_own_slabs(xmc_checker *c) {
  xmc_u32 *slabs = xmc_own_table(c->meta) + XMC_OWN_RUNS * c->meta->own, i;
  for (i = 0; i < XMC_SMALL_CLASSES * c->meta->own; i++)
    if (slabs[i] && !is_id(c->meta, XMC_CLASSES, slabs[i] - 1u))
      xmc_report_problem(c, XMC_PROBLEM_FIFO, (xmc_u64)((char *)(slabs + i) - (char *)c->meta),
                         "slot %u's own slab of class %u is 0x%x, which is no slab", i % c->meta->own,
                         i / c->meta->own, slabs[i] - 1u);
}

/* ---- bitmaps ---- */

static void check_levels(xmc_checker *c, const char *name, xmc_u32 map) {
  xmc_u32 items = xmc_bitmap_items(c->meta, map), level, w;
  for (level = 0; level < XMC_BITMAP_LEVELS; level++) {
    const xmc_u64 *words = xmc_at64(c->meta, xmc_heap_bitmap(c->meta, map, level));
    if (items % 64u && words[items / 64u] >> items % 64u)
      xmc_report_problem(c, XMC_PROBLEM_BITMAP, xmc_heap_bitmap(c->meta, map, level) + items / 64u * 8u,
                         "%s bitmap: level %u has bits for what does not exist", name, level);
    items = (items + 63u) / 64u; /* items of the next level are the words of this one */
    for (w = 0; level + 1u < XMC_BITMAP_LEVELS && w < items; w++)
      if (words[w] && !(*xmc_bitmap_word(c->meta, map, level + 1u, w) >> (w & 63u) & 1u))
        xmc_report_problem(c, XMC_PROBLEM_BITMAP, xmc_heap_bitmap(c->meta, map, level + 1u) + w / 64u * 8u,
                           "%s bitmap: level %u misses word %u below", name, level + 1u, w);
  }
}

/* Checks that no bit is set for FIFOs and pages that a class does not have. */
static void check_classes(xmc_checker *c) {
  xmc_u32 pages = c->meta->spans * XMC_SPAN_PAGES, cls, i;
  for (cls = 0; cls < XMC_ALL_CLASSES; cls++) {
    for (i = xmc_fifos_count(c->meta->fifo_table[cls]); i < c->meta->slots; i++)
      if (xmc_bitmap_has(c->meta, XMC_BUSY, cls * c->meta->slots + i))
        xmc_report_problem(c, XMC_PROBLEM_BITMAP, c->meta->bitmaps[XMC_BUSY].level[0],
                           "busy bitmap has FIFO %u of class %u, which has %u", i, cls,
                           xmc_fifos_count(c->meta->fifo_table[cls]));
    for (i = c->meta->present; i < pages; i++)
      if (xmc_bitmap_has(c->meta, XMC_PARKED, cls * pages + i))
        xmc_report_problem(c, XMC_PROBLEM_BITMAP, c->meta->bitmaps[XMC_PARKED].level[0],
                           "parked bitmap has page %u of class %u, and there are %u", i, cls,
                           c->meta->present);
  }
}

/* ---- free pages and their index ---- */

static void check_span(xmc_checker *c, xmc_u32 span) {
  xmc_u64 word = *xmc_span_word(c->meta, span), offset = xmc_span_offset(c->meta, span);
  xmc_u64 whole = xmc_at64(c->meta, c->meta->bitmaps[XMC_WHOLE].level[0])[span];
  xmc_u64 exist =
      span < c->meta->present_spans ? xmc_run_mask(0, c->meta->present - span * XMC_SPAN_PAGES) : 0;
  xmc_u32 k;
  if (word & ~exist)
    xmc_report_problem(c, XMC_PROBLEM_FREE_PAGES, offset, "span %u: pages that are not present are free",
                       span);
  if ((whole & ~exist) || (!(c->meta->scarce & XMC_SCARCE_ONCE) && whole != exist))
    xmc_report_problem(c, XMC_PROBLEM_BITMAP, c->meta->bitmaps[XMC_WHOLE].level[0] + 8u * (xmc_u64)span,
                       "span %u has the word 0x%llx in the whole bitmap", span, (unsigned long long)whole);
  for (k = 0; k < XMC_INDEX_LEVELS; k++) {
    xmc_u32 i = span >> 3u * k;
    xmc_u32 missing =
        xmc_run_orders(word & exist) & ~(xmc_u32)(*xmc_index_word(c->meta, k, i) >> (8u * (i & 7u)));
    if (missing)
      xmc_report_problem(c, XMC_PROBLEM_BITMAP, c->meta->index[k] + i,
                         "span %u has a free run of %u pages and level %u of the index misses it", span,
                         1u << xmc_lowest32(missing), k);
  }
}

/* Checks that no bit is set for spans that are not present, nor the bit 0x80, which stands for no length; and that each bit of a level,
 * even if out of date, is set in the next level, because a call that adds a run whose bit is set already does not change that level. */
static void check_index(xmc_checker *c) {
  xmc_u32 k, i, bytes, all, above;
  for (k = 0; k < XMC_INDEX_LEVELS; k++) {
    bytes = (c->meta->present_spans + (1u << 3u * k) - 1u) >> 3u * k;
    all = (c->meta->spans + (1u << 3u * k) - 1u) >> 3u * k;
    for (i = 0; i < ((all + 7u) & ~7u); i++) {
      xmc_u32 runs = (xmc_u32)(*xmc_index_word(c->meta, k, i) >> (8u * (i & 7u))) & 0xffu;
      if (runs & (i < bytes ? 0x80u : 0xffu))
        xmc_report_problem(c, XMC_PROBLEM_BITMAP, c->meta->index[k] + i,
                           "level %u of the index has runs that do not exist", k);
      if (k + 1u == XMC_INDEX_LEVELS || !runs)
        continue;
      above = (xmc_u32)(*xmc_index_word(c->meta, k + 1u, i >> 3) >> (8u * (i >> 3 & 7u)));
      if (runs & ~above)
        xmc_report_problem(c, XMC_PROBLEM_BITMAP, c->meta->index[k + 1u] + (i >> 3),
                           "level %u of the index misses runs of level %u", k + 1u, k);
    }
  }
}

void xmc_check_tables(xmc_checker *c) {
  xmc_u32 cls, i;
  for (cls = 0; cls < XMC_ALL_CLASSES; cls++)
    for (i = 0; i < xmc_fifos_count(c->meta->fifo_table[cls]); i++)
      check_fifo(c, cls, i);
  check_own_slabs(c);
  check_levels(c, "busy", XMC_BUSY);
  check_levels(c, "parked", XMC_PARKED);
  check_levels(c, "whole", XMC_WHOLE);
  check_classes(c);
  for (i = 0; i < c->meta->spans; i++)
    check_span(c, i);
  check_index(c);
}
