/* SPDX-License-Identifier: MIT */
/* The supply of Superblocks: FIFOs of those in use, slabs, pages; where they come from and go back to.
 *
 *        claim                                              settle (who set `listed` answers for it)
 *          |                                                   |
 *   FIFO of my slot and class:  active  <-- FIFO ring  <-------+  active is empty: becomes the active one
 *          | exhausted: unlist, next                           |  wholly free: retired, goes back to
 *   slab of my class (small classes): claim one of its         |  its slab or the pages
 *          | none                                   Superblocks |  else into the ring
 *   free pages: a new Superblock or slab (carve.cl)            +  ring full: parked
 *          | none
 *   last resort: other slots' FIFOs, parked ones (steal.cl), wholly free ones of every class (reclaim.cl)
 *
 * (On GPUs slabs of four and fewer places are always parked, and so are slots' own slabs: own.cl.)
 *
 * `active` is the head of the queue, looked at without dequeuing. As long as it has blocks a claim costs
 * one load of it and one CAS on its word; a release costs one fetch-or. An exhausted active Superblock
 * keeps its listed bit until the next visitor, so malloc, free, malloc on one FIFO touch no FIFO word.
 */
#ifndef XMC_SUPPLY_CL
#define XMC_SUPPLY_CL
#include "../pages/room.cl"
#include "fifo.cl"
#include "own.cl"

/* Fields of the geometry by loads that are issued where they stand, if by any */
XMC_FN xmc_u64 xmc_fixed_words(XMC_GLOBAL xmcHeap *heap) {
  return XMC_GEOMETRY ? xmc_heap_words(heap) : xmc_load_fixed64(&heap->words);
}
XMC_FN xmc_u64 xmc_fixed_fifos(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls) {
  return XMC_GEOMETRY_FIFOS ? xmc_heap_fifos(heap, cls) : xmc_load_fixed64(&heap->fifo_table[cls]);
}
/* Where the page map begins, and above that the number of pages */
XMC_FN xmc_u64 xmc_fixed_map(XMC_GLOBAL xmcHeap *heap) {
  return XMC_GEOMETRY ? (xmc_u64)xmc_heap_pages(heap) << 32 | xmc_heap_map(heap)
                      : xmc_load_fixed64((XMC_GLOBAL const xmc_u64 *)&heap->page_map);
}

/* On GPUs a program for one geometry looks first, and asks whose heap it is at the same time (geometry.h). */
#define XMC_LOOKS_FIRST (XMC_SIMT && XMC_GEOMETRY_FIFOS > 0)

XMC_FN xmc_u32 xmc_slab_class(xmc_u32 cls) { return cls + XMC_CLASSES; }

XMC_FN XMC_GLOBAL xmc_fifo *xmc_fifo_at(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot) {
  return (XMC_GLOBAL xmc_fifo *)heap + (xmc_fifos_first(xmc_heap_fifos(heap, cls)) + slot);
}
/* What a request needs of the header, read at once: after each acquire the caches of a GPU start anew, and
 * one field after the other would wait for as many accesses. */
typedef struct xmc_view {
  xmc_u32 data, words;  /* where they begin, in 16 and 8 bytes from the arena's start */
  xmc_u32 first, count; /* the class's FIFOs; none of a heap that is not ours, unless XMC_LOOKS_FIRST */
  xmc_u32 own;          /* xmc_own_slots */
  int ours;
} xmc_view;
XMC_FN void xmc_view_read(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_view *view) {
#if XMC_GEOMETRY
  xmc_u64 number = xmc_load_fixed64(&heap->geometry), fifos = xmc_heap_fifos(heap, cls);
  view->data = (xmc_u32)(xmc_heap_data(heap) >> 4);
  view->words = xmc_words(heap);
  view->ours = number == XMC_GEOMETRY;
  view->count = XMC_LOOKS_FIRST || view->ours ? xmc_fifos_count(fifos) : 0;
#else
  xmc_u64 magic, data, words, map, fifos = heap->fifo_table[cls];
  xmc_load_four(&heap->magic, &magic, &data, &words, &map);
  view->data = (xmc_u32)(data >> 4);
  view->words = (xmc_u32)(words >> 3);
  /* The second half of the words' offset, too, so that it is read together with the rest. */
  view->ours = magic == XMC_MAGIC && words >> 40 == 0;
  view->count = view->ours ? xmc_fifos_count(fifos) : 0;
#endif
  view->own = xmc_fifos_own(fifos);
  view->first = xmc_fifos_first(fifos);
}

/* The caller's FIFO of this class, counted as in fifo_table, or XMC_NONE in an unbuffered heap */
XMC_FN xmc_u32 xmc_view_fifo(xmc_view view, xmc_u32 me) {
  return view.count ? view.first + xmc_slot_hint(me, view.count) : XMC_NONE;
}
XMC_HOT_FN xmc_u32 xmc_fifo_slot(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls) {
  xmc_u32 count = xmc_fifos_count(xmc_heap_fifos(heap, cls));
  return count ? xmc_slot_hint(me, count) : XMC_NONE;
}
XMC_FN xmc_u32 xmc_fifo_of(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls) {
  xmc_u64 fifos = xmc_heap_fifos(heap, cls);
  xmc_u32 count = xmc_fifos_count(fifos);
  return count ? xmc_fifos_first(fifos) + xmc_slot_hint(me, count) : XMC_NONE;
}
XMC_FN XMC_GLOBAL xmc_fifo *xmc_fifo_number(XMC_GLOBAL xmcHeap *heap, xmc_u32 number) {
  return (XMC_GLOBAL xmc_fifo *)heap + number;
}
XMC_HOT_FN void xmc_fifo_mark_busy(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot) {
  xmc_bitmap_set(heap, XMC_BUSY, cls * xmc_heap_slots(heap) + slot);
}

/* Hints at pages: 0, or a page + 1 in bits 0..24 and log2 of the pages of a run there in bits 25..27. */
#define XMC_HINT_PAGE_BITS 25
#define XMC_HINT_PAGE_MASK ((1u << XMC_HINT_PAGE_BITS) - 1u)
#define XMC_HINT(page, order) ((page) + 1u + ((order) << XMC_HINT_PAGE_BITS))
#define XMC_HINT_ONWARD 0x80000000u /* only a place to go on from */
#define XMC_HINT_ALONE 0x40000000u  /* a run with none under it */
XMC_FN xmc_u32 xmc_hint_page(xmc_u32 hint) { return (hint & XMC_HINT_PAGE_MASK) - 1u; }
XMC_FN xmc_u32 xmc_hint_order(xmc_u32 hint) { return hint >> XMC_HINT_PAGE_BITS & 7u; }
XMC_FN int xmc_hint_is_run(xmc_u32 hint) { return (hint & XMC_HINT_PAGE_MASK) && !(hint & XMC_HINT_ONWARD); }
XMC_FN int xmc_hint_is_stack(xmc_u32 hint) { return xmc_hint_is_run(hint) && !(hint & XMC_HINT_ALONE); }

/* Where a slot has its hint for a class: at its own place, one of `own`, if there are such places; else in the FIFO */
XMC_FN XMC_GLOBAL xmc_u32 *xmc_hint_place(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 own,
                                          xmc_u32 fifo) {
  return own ? xmc_own_entry(heap, me, cls, own) : &xmc_fifo_number(heap, fifo)->hint;
}

/* A run that went back is the next that the slot takes (xmc_pages_take). */
XMC_FN void xmc_hint_push(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 page, xmc_u32 order,
                          xmc_u32 fifo, xmc_u32 hint, xmc_u32 own) {
  if (own)
    xmc_store_relaxed32(xmc_own_entry(heap, me, cls, own), XMC_HINT_ALONE | XMC_HINT(page, order));
  else if (fifo != XMC_NONE && hint != XMC_HINT(page, order)) {
    xmc_store_relaxed32(xmc_next_hint(heap, page), hint);
    xmc_store_relaxed32(&xmc_fifo_number(heap, fifo)->hint, XMC_HINT(page, order));
  }
}

/* Returns the pages of a retired Superblock or slab. Their entries still lead to the retired word, whoever frees there
 * again. */
XMC_FN void xmc_pages_return(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 id) {
  XMC_AFRESH64(heap);
  xmc_u32 page = xmc_any_page(id), order = cls < XMC_CLASSES ? xmc_run_order(id) : 0,
          fifo = xmc_fifo_of(heap, me, cls);
  if (fifo != XMC_NONE)
    xmc_hint_push(heap, me, cls, page, order, fifo, xmc_load_relaxed32(&xmc_fifo_number(heap, fifo)->hint),
                  cls < XMC_CLASSES ? xmc_own_slots(heap, cls) : 0);
  xmc_span_give(heap, page >> XMC_SPAN_SHIFT, xmc_run_mask(page & (XMC_SPAN_PAGES - 1u), 1u << order));
}

/* From now on a search for what is wholly free looks at this page (reclaim.cl). */
XMC_HOT_FN void xmc_whole_add(XMC_GLOBAL xmcHeap *heap, xmc_u32 page) {
  XMC_AFRESH64(heap);
  xmc_bitmap_set(heap, XMC_WHOLE, page);
}

/* Parks a listed Superblock that no FIFO has room for. Released blocks may make it wholly free later: then
 * the release retires it. */
XMC_FN void xmc_park(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 id) {
  XMC_GLOBAL xmc_u64 *word = xmc_word_of(heap, id);
  xmc_u64 w = xmc_load_relaxed64(word), old;
  XMC_ROLLED
  while (xmc_word_class(w) == cls && (w & XMC_WORD_LISTED)) { /* else another one took the duty away */
    old = xmc_cas_release64(word, w, w | XMC_WORD_PARKED);
    if (old == w) {
      xmc_bitmap_set(heap, XMC_PARKED, cls * xmc_heap_spans(heap) * XMC_SPAN_PAGES + xmc_any_page(id));
      if (xmc_word_is_whole(w))
        xmc_whole_add(heap, xmc_any_page(id));
      return;
    }
    w = old;
  }
}

/* The pressure words. xmc_room_near: all bits. xmc_scarce_near, xmc_scarce_look: not 0 once a request ever found nothing in a turn of the
 * last resort (XMC_SCARCE_ONCE). xmc_is_scarce: did that happen since a Superblock or slab was last started? Then what the caller's FIFO
 * cannot serve at once is better parked, in everybody's sight, than in its ring. "Near": as of the caller's last acquire, or newer. */
XMC_FN xmc_u32 xmc_room_near(XMC_GLOBAL xmcHeap *heap) {
  return xmc_load_near32((XMC_GLOBAL const xmc_u32 *)&heap->scarce);
}
XMC_FN xmc_u32 xmc_scarce_near(XMC_GLOBAL xmcHeap *heap) {
  return xmc_room_near(heap) & ~(xmc_u32)XMC_ROOM_SHORT;
}
XMC_FN xmc_u32 xmc_scarce_look(XMC_GLOBAL xmcHeap *heap) {
  return xmc_load_relaxed32((XMC_GLOBAL const xmc_u32 *)&heap->scarce) & ~(xmc_u32)XMC_ROOM_SHORT;
}
XMC_FN int xmc_is_scarce(XMC_GLOBAL xmcHeap *heap) {
  return (xmc_load_relaxed64(&heap->scarce) & XMC_SCARCE_NOW) != 0;
}
XMC_FN int xmc_stays_parked(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls) {
  return !xmc_fifos_count(xmc_heap_fifos(heap, cls)) || xmc_is_scarce(heap);
}

/* Puts a listed Superblock into the ring of the slot, or parks it. The FIFO is marked each time: how much was in the
 * ring, another one may have taken meanwhile, and a third one found it empty. */
XMC_FN void xmc_put(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u32 slot, xmc_u32 id) {
  if (slot != XMC_NONE && xmc_fifo_enqueue(xmc_fifo_at(heap, cls, slot), id)) {
    xmc_fifo_mark_busy(heap, cls, slot);
    return;
  }
  xmc_park(heap, cls, id);
}

/* Does a Superblock that is wholly free, with the word w, stay where it is listed? One of a page or less does. On GPUs, none of more pages in
 * a heap of less than XMC_MANY_PAGES; else one of two pages does, and one with blocks of more than 4 KiB does not: the rings and seats of a large
 * GPU together would keep most of the heap. All others, on CPU devices all of several pages, stay as long as they are in a seat and room is
 * not scarce now. */
XMC_FN int xmc_stays_whole(XMC_GLOBAL xmcHeap *heap, xmc_u32 cls, xmc_u64 w) {
  if (!xmc_class_is_long(cls))
    return 1;
  if (XMC_SIMT && xmc_heap_present(heap) < XMC_MANY_PAGES)
    return 0;
  if (XMC_SIMT && !xmc_class_is_wide(cls))
    return 1;
  if (XMC_SIMT && xmc_class_is_largest(cls))
    return 0;
  return (w & XMC_WORD_SEATED) && !xmc_is_scarce(heap);
}

/* Is this the active Superblock of the caller's FIFO, as far as a relaxed load can tell? Then it stays although it is wholly free. */
XMC_FN int xmc_is_active_here(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 cls, xmc_u32 id) {
  xmc_u32 slot = xmc_fifo_slot(heap, me, cls);
  return slot != XMC_NONE && xmc_active_id(xmc_load_relaxed64(&xmc_fifo_at(heap, cls, slot)->active)) == id;
}

/* A watched Superblock or slab became wholly free, with the word w: a search shall look at its page. It is no longer
 * watched, so that others who free here need not say it again. A word that changed meanwhile is some other one's to
 * say: it is not wholly free, was said, or was parked just now (xmc_park). */
XMC_FN void xmc_say_whole(XMC_GLOBAL xmcHeap *heap, xmc_u32 words, xmc_u32 cls, xmc_u32 id, xmc_u64 w) {
  if (xmc_word_class(w) == cls && (w & XMC_WORD_WATCHED) && xmc_word_is_whole(w) &&
      xmc_cas_relaxed64(xmc_word_at(heap, words, id), w, w & ~XMC_WORD_WATCHED) == w)
    xmc_whole_add(heap, xmc_any_page(id));
}

/* The places of slabs that stay parked: 128 and 160, 192 and 224, from 256 bytes on */
XMC_FN xmc_u32 xmc_parked_places(xmc_u32 cls) {
  return cls < XMC_CLASSES + 9u ? 4u : cls < XMC_CLASSES + 11u ? 3u : 2u;
}

/* A place of a slab went back: `set` was added to the slab's word, which was w before. Returns XMC_NONE, or the slab's id if
 * the caller must answer for it now. */
XMC_FN xmc_u32 xmc_slab_got(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls, xmc_u32 id,
                            xmc_u64 set, xmc_u64 w) {
  XMC_AFRESH64(heap);
  xmc_u32 item;
  set |= w;
  xmc_say_whole(heap, words, cls, id, set);
  if (set & ~w & XMC_WORD_PARKED) {
    item = cls * xmc_heap_spans(heap) * XMC_SPAN_PAGES + xmc_any_page(id);
    xmc_bitmap_ensure(heap, XMC_PARKED, item);
  } else if (!(w & XMC_WORD_LISTED))
    return id;
  /* Somebody answers for the slab. If it is wholly free and another one is in use here, it goes. */
  if (xmc_word_is_whole(set) &&
      !((set & XMC_WORD_PARKED) ? xmc_is_own_here(heap, me, cls, id)
                                : xmc_is_active_here(heap, me, cls, id)) &&
      xmc_superblock_retire(xmc_word_at(heap, words, id), cls, set)) {
    xmc_pages_return(heap, me, cls, id);
  }
  return XMC_NONE;
}

/* Gives the memory of a retired Superblock (or slab) back: its pages to the spans, or its place in the slab
 * to the slab. Returns XMC_NONE, or the slab's id if the caller must answer for the slab now. */
XMC_FN xmc_u32 xmc_give_back(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls, xmc_u32 id) {
  xmc_u32 bit = 1u << xmc_id_row(id);
  if (!xmc_class_is_small(cls)) {
    xmc_pages_return(heap, me, cls, id);
    return XMC_NONE;
  }
  cls = xmc_slab_class(cls);
  id = xmc_slab_id(xmc_id_page(id));
  return xmc_slab_got(heap, me, words, cls, id, XMC_WORD_LISTED | bit,
                      xmc_superblock_release(xmc_word_at(heap, words, id), bit));
}

/* The caller answers for a Superblock or slab whose listed bit it set; w is the word as last seen; `words`:
 * of the header. */
XMC_SETTLE_FN void xmc_settle(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls, xmc_u32 id,
                              xmc_u64 w) {
  XMC_GLOBAL xmc_fifo *fifo;
  xmc_u64 active;
  xmc_u32 slot;
  if (XMC_NO_YIELDS) {
    XMC_AFRESH64(heap);
    XMC_AFRESH(words);
    XMC_AFRESH(cls);
  }
  XMC_ROLLED
  for (;;) { /* once, and once more for the slab */
    slot = xmc_fifo_slot(heap, me, cls);
    if (slot != XMC_NONE) {
      fifo = xmc_fifo_at(heap, cls, slot);
      active = xmc_load_relaxed64(&fifo->active);
      if ((xmc_active_id(active) == XMC_NONE || xmc_active_id(active) == id) &&
          xmc_cas_hint64(&fifo->active, active, xmc_active_next(active, id)) == active) {
        xmc_fifo_mark_busy(heap, cls, slot);
        return;
      }
    }
    w = xmc_superblock_retire(xmc_word_at(heap, words, id), cls, w);
    if (!w) {
      xmc_put(heap, cls, xmc_is_scarce(heap) ? XMC_NONE : slot, id);
      return;
    }
    id = xmc_give_back(heap, me, words, cls, id);
    if (id == XMC_NONE)
      return;
    cls = xmc_slab_class(cls);
    w = xmc_load_relaxed64(xmc_word_at(heap, words, id));
  }
}

/* Settles what a free answers for, if `id` is not XMC_NONE, and returns XMC_NONE. With XMC_NO_YIELDS it leaves that to the free's end, which has
 * the only copy of xmc_settle, and returns `id`: lanes part at a call, and where a function has several places that call it, it is called. */
XMC_FN xmc_u32 xmc_settle_due(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_u32 cls, xmc_u32 id,
                              xmc_u64 w) {
  if (XMC_NO_YIELDS)
    return id;
  if (id != XMC_NONE)
    xmc_settle(heap, me, words, cls, id, w);
  return XMC_NONE;
}
#endif
