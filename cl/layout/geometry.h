/* SPDX-License-Identifier: MIT */
/* Where the tables of a heap lie and how large they are. A program works with any heap of its layout and debug level, or with one geometry:
 *
 *                         any heap                           one geometry (XMC_GEOMETRY is its number)
 *   xmc_heap_pages(heap)  heap->pages, a load                XMC_GEOMETRY_PAGES, a constant
 *   xmc_heap_present(..)  heap->present, a load              XMC_GEOMETRY_PRESENT; a load if the heap can grow
 *   fits the program if   the magic word is equal (layout    the number is equal (a hash of all that xmcCreateHeap
 *                         and debug level)                   decides)
 *   a request reads       header, then FIFO                  on GPUs header's number and FIFO at once, unless classes have
 *                                                            different numbers of FIFOs, as with own places
 *   a free reads          header, then page map              on GPUs header's number and page map at once
 *
 * The options that xmcGetGeometryOptions returns build a program for one geometry. If such a program reads a table before it knows the
 * heap's number, it uses what it read only if the number is right; otherwise it refuses the heap.
 */
#ifndef XMC_GEOMETRY_H
#define XMC_GEOMETRY_H
#ifndef XMC_GEOMETRY
#define XMC_GEOMETRY 0
#endif
#if !XMC_GEOMETRY
#undef XMC_GEOMETRY_FIFOS
#define XMC_GEOMETRY_FIFOS 0 /* FIFOs of each class below XMC_PARKED_SLABS; 0: read from the header */
#undef XMC_GEOMETRY_PARKED_FIFOS
#define XMC_GEOMETRY_PARKED_FIFOS 0 /* FIFOs of each class from XMC_PARKED_SLABS on */
#undef XMC_GEOMETRY_OWN
#define XMC_GEOMETRY_OWN 0
#undef XMC_GEOMETRY_PRESENT
#define XMC_GEOMETRY_PRESENT 0 /* present pages; 0: read from the header */
#endif

/* ---- the fields: xmc_heap_NAME(heap) is a field of the header, or the constant of the one geometry ---- */

#if XMC_GEOMETRY
#define XMC_GEOMETRY_FIELD(type, name, field, constant) \
  XMC_FN type xmc_heap_##name(XMC_GLOBAL xmcHeap *heap) { \
    (void)heap; \
    return constant; \
  }
#else
#define XMC_GEOMETRY_FIELD(type, name, field, constant) \
  XMC_FN type xmc_heap_##name(XMC_GLOBAL xmcHeap *heap) { return heap->field; }
#endif
XMC_GEOMETRY_FIELD(xmc_u64, data, data, XMC_GEOMETRY_DATA)
XMC_GEOMETRY_FIELD(xmc_u64, words, words, XMC_GEOMETRY_WORDS)
XMC_GEOMETRY_FIELD(xmc_u32, map, page_map, XMC_GEOMETRY_MAP)
XMC_GEOMETRY_FIELD(xmc_u32, pages, pages, XMC_GEOMETRY_PAGES)
XMC_GEOMETRY_FIELD(xmc_u32, spans, spans, (XMC_GEOMETRY_PAGES + XMC_SPAN_PAGES - 1u) / XMC_SPAN_PAGES)
XMC_GEOMETRY_FIELD(xmc_u32, lanes, lanes, XMC_GEOMETRY_LANES)
XMC_GEOMETRY_FIELD(xmc_u32, slots, slots, XMC_GEOMETRY_SLOTS)

/* How many pages are present, and in how many spans they lie: searches go through these. Where the tables lie, and whether a page has
 * an entry in them, depends on xmc_heap_pages and xmc_heap_spans only. */
XMC_FN xmc_u32 xmc_heap_present(XMC_GLOBAL xmcHeap *heap) {
  return XMC_GEOMETRY_PRESENT ? XMC_GEOMETRY_PRESENT : heap->present;
}
XMC_FN xmc_u32 xmc_heap_present_spans(XMC_GLOBAL xmcHeap *heap) {
  return XMC_GEOMETRY_PRESENT ? (XMC_GEOMETRY_PRESENT + XMC_SPAN_PAGES - 1u) / XMC_SPAN_PAGES
                              : heap->present_spans;
}

/* Returns the byte offset of a level of the span index. */
XMC_FN xmc_u64 xmc_heap_index(XMC_GLOBAL xmcHeap *heap, xmc_u32 level) {
#if XMC_GEOMETRY
  (void)heap;
  return level == 0   ? XMC_GEOMETRY_INDEX0
         : level == 1 ? XMC_GEOMETRY_INDEX1
         : level == 2 ? XMC_GEOMETRY_INDEX2
         : level == 3 ? XMC_GEOMETRY_INDEX3
                      : XMC_GEOMETRY_INDEX4;
#else
  return heap->index[level];
#endif
}

/* Returns the entry of fifo_table for a class (xmc_fifos_entry), computed if the geometry gives the numbers of FIFOs. */
XMC_FN xmc_u64 xmc_heap_fifos(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls) {
  xmc_u32 first = XMC_FIRST_FIFO(XMC_GEOMETRY_OWN);
  if (!XMC_GEOMETRY_FIFOS)
    return heap->fifo_table[cls];
  if (cls < XMC_PARKED_SLABS)
    return xmc_fifos_entry(first + cls * XMC_GEOMETRY_FIFOS, XMC_GEOMETRY_FIFOS,
                           xmc_class_own(cls, XMC_GEOMETRY_OWN, xmc_heap_lanes(heap)));
  return xmc_fifos_entry(first + XMC_PARKED_SLABS * XMC_GEOMETRY_FIFOS +
                             (cls - XMC_PARKED_SLABS) * XMC_GEOMETRY_PARKED_FIFOS,
                         XMC_GEOMETRY_PARKED_FIFOS, 0);
}

/* xmc_bitmap_items returns how many items a bitmap has, xmc_heap_bitmap the byte offset of one of its levels. Level 0 has a bit for
 * each item; each further level has a bit for each word of the level below. */
XMC_FN xmc_u32 xmc_bitmap_items(XMC_GLOBAL xmcHeap *heap, xmc_u32 map) {
  return map == XMC_BUSY     ? xmc_heap_slots(heap) * XMC_ALL_CLASSES
         : map == XMC_PARKED ? xmc_heap_spans(heap) * XMC_SPAN_PAGES * XMC_ALL_CLASSES
                             : xmc_heap_pages(heap);
}
XMC_FN xmc_u64 xmc_heap_bitmap(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 level) {
#if XMC_GEOMETRY
  xmc_u64 at = map == XMC_BUSY     ? XMC_GEOMETRY_BUSY
               : map == XMC_PARKED ? XMC_GEOMETRY_PARKED
                                   : XMC_GEOMETRY_WHOLE;
  xmc_u32 a = (xmc_bitmap_items(heap, map) + 63u) / 64u, b = (a + 63u) / 64u, c = (b + 63u) / 64u;
  return at + 8u * (level == 0 ? 0 : level == 1 ? a : level == 2 ? a + b : a + b + c);
#else
  return heap->bitmaps[map].level[level];
#endif
}

/* Returns 1 if this is a heap of the layout, debug level and geometry that the program was built for; 0 for NULL. */
XMC_FN int xmc_heap_is_ours(XMC_GLOBAL xmcHeap *heap) {
  return heap && (XMC_GEOMETRY ? heap->geometry == XMC_GEOMETRY : heap->magic == XMC_MAGIC);
}

/* ---- addresses ---- */

XMC_FN XMC_GLOBAL xmc_u64 *xmc_at64(XMC_GLOBAL xmcHeap *heap, xmc_u64 offset) {
  return (XMC_GLOBAL xmc_u64 *)((XMC_GLOBAL char *)heap + offset);
}
XMC_FN XMC_GLOBAL xmc_u64 *xmc_word_of(XMC_GLOBAL xmcHeap *heap, xmc_u32 id) {
  return xmc_at64(heap, xmc_heap_words(heap)) + (int)id;
}
XMC_FN xmc_u32 xmc_words(XMC_GLOBAL xmcHeap *heap) { return (xmc_u32)(xmc_heap_words(heap) >> 3); }
XMC_FN XMC_GLOBAL xmc_u64 *xmc_word_at(XMC_GLOBAL xmcHeap *heap, xmc_u32 words, xmc_u32 id) {
  return (XMC_GLOBAL xmc_u64 *)heap + (words + id);
}
XMC_FN XMC_GLOBAL xmc_u32 *xmc_own_table(XMC_GLOBAL xmcHeap *heap) {
  return (XMC_GLOBAL xmc_u32 *)((XMC_GLOBAL char *)heap + XMC_HEADER_BYTES);
}
/* The tables that have an entry for each page or span lie before and behind the start of the page map, byte offset `map`: so one field
 * of the header leads to all of them. The functions without `map` as an argument read that field. */
XMC_FN XMC_GLOBAL xmc_u64 *xmc_map_span_word(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 span) {
  return xmc_at64(heap, map) - 1 - span;
}
XMC_FN XMC_GLOBAL xmc_u64 *xmc_map_entry(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 page) {
  return xmc_at64(heap, map) + page;
}
/* The word with the hint that lies under this page's hint in the stack of its FIFO (xmc_pages_take) */
XMC_FN XMC_GLOBAL xmc_u32 *xmc_map_hint(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 pages, xmc_u32 page) {
  return (XMC_GLOBAL xmc_u32 *)xmc_map_entry(heap, map, pages) + page;
}
XMC_FN XMC_GLOBAL xmc_u64 *xmc_span_word(XMC_GLOBAL xmcHeap *heap, xmc_u32 span) {
  return xmc_map_span_word(heap, xmc_heap_map(heap), span);
}
XMC_FN XMC_GLOBAL xmc_u64 *xmc_page_entry(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  return xmc_map_entry(heap, xmc_heap_map(heap), page);
}
XMC_FN XMC_GLOBAL xmc_u32 *xmc_next_hint(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  return xmc_map_hint(heap, xmc_heap_map(heap), xmc_heap_pages(heap), page);
}
/* The room word of the region's chunk that begins at this page (regions/region.h): the word of the chunk's first even page */
XMC_FN XMC_GLOBAL xmc_u64 *xmc_room_at(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 pages, xmc_u32 page) {
  return xmc_map_entry(heap, map, pages) + ((pages + 1u) >> 1) + ((page + 1u) >> 1);
}
XMC_FN XMC_GLOBAL xmc_u64 *xmc_room_of(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  return xmc_room_at(heap, xmc_heap_map(heap), xmc_heap_pages(heap), page);
}
XMC_FN xmc_u64 xmc_data_bytes(XMC_GLOBAL xmcHeap *heap) {
  return (xmc_u64)xmc_heap_present(heap) << XMC_PAGE_SHIFT;
}
XMC_FN XMC_GLOBAL char *xmc_page_address(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  return (XMC_GLOBAL char *)heap + xmc_heap_data(heap) + ((xmc_u64)page << XMC_PAGE_SHIFT);
}

/* ---- the number: a hash of all that xmcCreateHeap decides about a heap; never 0 ---- */

XMC_FN xmc_u64 xmc_geometry_mix(xmc_u64 h, xmc_u64 value) {
  h = (h ^ value) * 0x9fb21c651e98df25u;
  return h ^ h >> 32;
}
XMC_FN xmc_u64 xmc_geometry_number(XMC_GLOBAL const xmcHeap *heap) {
  xmc_u64 h = XMC_MAGIC_OF(heap->debug);
  xmc_u32 i;
  h = xmc_geometry_mix(h, heap->max_bytes); /* not bytes: the number stays the same when the heap grows */
  h = xmc_geometry_mix(h, heap->data);
  h = xmc_geometry_mix(h, heap->words);
  h = xmc_geometry_mix(h, (xmc_u64)heap->pages << 32 | heap->page_map);
  h = xmc_geometry_mix(h, (xmc_u64)heap->lanes << 32 | heap->slots);
  h = xmc_geometry_mix(h, (xmc_u64)heap->own << 32 | heap->coalescing);
  for (i = 0; i < XMC_INDEX_LEVELS; i++)
    h = xmc_geometry_mix(h, heap->index[i]);
  for (i = 0; i < XMC_ALL_CLASSES; i++)
    h = xmc_geometry_mix(h, heap->fifo_table[i]);
  return h | 1u;
}
#endif
