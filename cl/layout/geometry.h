/* SPDX-License-Identifier: MIT */
/* Where the tables of a heap lie, and how large they are.
 *
 *                         any heap                           one geometry (XMC_GEOMETRY, its number)
 *   xmc_heap_pages(heap)  heap->pages, a load                XMC_GEOMETRY_PAGES, a constant
 *   xmc_heap_present(..)  heap->present, a load              XMC_GEOMETRY_PRESENT; a load where the heap can grow
 *   is it ours?           magic: layout and debug level      number: a hash of all that xmcCreateHeap decides
 *   a request reads       header, then FIFO                  header's number and FIFO at once, on GPUs, unless classes
 *                                                            have different numbers of FIFOs, as with own places
 *   a free reads          header, then page map              header's number and page map at once, on GPUs
 *
 * A program is for one geometry if it is built with what xmcGetGeometryOptions says. What it saw before it knew the number counts
 * only if the number is the right one; else it refuses the heap.
 */
#ifndef XMC_GEOMETRY_H
#define XMC_GEOMETRY_H
#ifndef XMC_GEOMETRY
#define XMC_GEOMETRY 0
#endif
#if !XMC_GEOMETRY
#undef XMC_GEOMETRY_FIFOS
#define XMC_GEOMETRY_FIFOS 0 /* of each class below XMC_PARKED_SLABS; 0: the header tells */
#undef XMC_GEOMETRY_PARKED_FIFOS
#define XMC_GEOMETRY_PARKED_FIFOS 0 /* of each from there on */
#undef XMC_GEOMETRY_OWN
#define XMC_GEOMETRY_OWN 0
#undef XMC_GEOMETRY_PRESENT
#define XMC_GEOMETRY_PRESENT 0 /* 0: the header tells */
#endif

/* ---- the fields ---- */

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

/* Pages that the arena has, and the spans in which they lie: where searches go. The tables' places, and whether a page has
 * an entry, depend on xmc_heap_pages and xmc_heap_spans alone. */
XMC_FN xmc_u32 xmc_heap_present(XMC_GLOBAL xmcHeap *heap) {
  return XMC_GEOMETRY_PRESENT ? XMC_GEOMETRY_PRESENT : heap->present;
}
XMC_FN xmc_u32 xmc_heap_present_spans(XMC_GLOBAL xmcHeap *heap) {
  return XMC_GEOMETRY_PRESENT ? (XMC_GEOMETRY_PRESENT + XMC_SPAN_PAGES - 1u) / XMC_SPAN_PAGES
                              : heap->present_spans;
}

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

/* Where a level of a bitmap begins: level 0 has a bit for each of its items, each further one a bit for a word below. */
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

/* Is this a heap of the layout and geometry that the program was built for? */
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
/* The tables of pages lie on both sides of the page map's begin, `map`: so one field of the header leads to all of them. */
XMC_FN XMC_GLOBAL xmc_u64 *xmc_map_span_word(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 span) {
  return xmc_at64(heap, map) - 1 - span;
}
XMC_FN XMC_GLOBAL xmc_u64 *xmc_map_entry(XMC_GLOBAL xmcHeap *heap, xmc_u32 map, xmc_u32 page) {
  return xmc_at64(heap, map) + page;
}
/* The hint under this page's in its FIFO's stack (xmc_pages_take) */
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
/* The room word of a region's chunk that begins at this page (regions/region.h): that of its first even page */
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
  h = xmc_geometry_mix(h, heap->max_bytes); /* so that a program is for a heap before and after it grew */
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
