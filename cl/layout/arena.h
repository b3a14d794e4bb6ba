/* SPDX-License-Identifier: MIT */
/* XMalloc for OpenCL: the layout of the arena, for kernels and host. geometry.h computes where the tables lie.
 *
 * A heap consists of one buffer or SVM allocation, the arena. It holds offsets and indices, never addresses, so it may
 * have another address on each device and in each process.
 *
 *   0          header (xmcHeap): geometry, FIFO table, failure counters
 *   1024       uint[30][own]     own places: where each slot looks first (own.cl), if the heap has any
 *   fifo_table xmc_fifo[..]      one FIFO a size class and slot                 64 B each
 *   busy       bitmap            FIFOs that may hold an id                    1 bit a FIFO
 *   parked     bitmap            pages with parked Superblocks or slabs       1 bit a page and class
 *   whole      bitmap            pages that may hold a Superblock or slab that is wholly free, or not watched
 *   index      5 levels          spans with free runs of 1, 2, 4 … 64 pages      1 B a span
 *   free_pages ulong[spans]      bit i of word s: page 64 s + i is free         8 B / MiB; the last span first
 *   page_map   ulong[pages]      what a page is used for                        8 B / 16 KiB
 *   hints      uint[pages]       stacks of pages that slots returned            4 B / 16 KiB
 *   rooms      ulong[pages / 2]  what chunks of regions have left (region.h)    4 B / 16 KiB
 *   slab words ulong[pages]      state words of slabs, the last page first       8 B / 16 KiB
 *   words      ulong[2048 spans] state words of Superblocks, 32 rows of 64       256 B / 16 KiB
 *   ring       xmc_trace_ring    traced heaps only: what kernels did (ring.h)    48 B an event
 *   data       pages of 16 KiB, what users get
 *
 *   span (1 MiB)  = 64 pages, whose free bits are one word
 *   page (16 KiB) = unit of Memoryblocks (runs of pages); one of
 *      slab        1 to 32 Superblocks of one small class; state word at words[-5 - page]
 *      Superblock  1, 2, 4, 8 or 16 pages, starting at a multiple of that number, with 1 to 32 Basicblocks of 512 B to 8 KiB;
 *                  state word in row 16 + log2 of the pages
 *      Memoryblock 1 or more pages handed out as one block; state word in row 0
 *   A Superblock of a small class (16 to 448 B) is in place j of a slab; its state word is in row j.
 *
 *   A row has a word for each page of its span, so that words which neighbouring slots use lie together. In rows 16 + k and
 * 24 + k the page's number in its span is rotated right by k of its 6 bits, so that runs of 2^k pages, which start at
 * multiples of 2^k, have adjacent words:
 *
 *     rows 0 … 16                page 0   1   2   3   4   5   6   7   8   9  …  63
 *     row 17, 2 pages each            0   2   4   6   8  10  12  14  16  18  …  62   1   3   5  …  63
 *     row 18, 4 pages each            0   4   8  12  16  20  24  28  32  36  …  60   1   5   9  …  63
 *
 *   An id is the index of a state word in `words`. The words of slabs lie before `words`: the id of a slab is negative.
 *
 * State word (paper 2010, figure 2.4, extended):
 *
 *    63     56 55     48 47     40 39   36 35       34        33       32      31            0
 *   +---------+---------+---------+-------+--------+---------+--------+--------+---------------+
 *   |  spare  |  count  |  class  | spare | seated | watched | parked | listed | free mask     |
 *   +---------+---------+---------+-------+--------+---------+--------+--------+---------------+
 *
 *   A heap that can grow has tables for the pages of its largest size, `pages`, and an arena with the first `present` of
 * them. In the tables each of the other pages has no free bit, no entry in the page map, no state word in use, and no bit in
 * any bitmap or the index, so that no call touches it. Growing sets the free bits of the new pages and their bits in the
 * whole bitmap and the index.
 *
 * Invariants (P page, W state word; xmcCheckHeap verifies them on a quiet heap):
 *   free bit of P set         <=>  P is present and belongs to no slab, Superblock, Memoryblock or region
 *   free(W) is a subset of     (1 << count(W)) - 1 for every W in use
 *   free(W) != 0               =>  listed(W)
 *   listed(W) and not parked   =>  some FIFO of class(W) holds W
 *   parked(W)                  =>  bit (class, page) of the parked bitmap is set
 *   an id in seat or ring of
 *   FIFO (class, slot)         =>  bit (class, slot) of the busy bitmap is set
 *   W in use and not watched   =>  its page's bit in the whole bitmap is set
 *   W in use and wholly free   =>  the same
 *   room was never scarce      =>  the bits of all present pages in the whole bitmap are set
 *   W not in use               <=>  W == XMC_WORD_RETIRED, which no free can change (a joined word is in use while it differs)
 *   joined word of W, bit i is 0  =>  Basicblocks i and i - 1 of W are in use, and the entries of its pages have 0 blocks (joined.cl)
 *   free bit of P set          =>  the map entry of P leads to words that are not in use: P's own, or the one of a run
 *                                  that held P; a longer or shorter run at the same page has another word
 *   2^k pages at a multiple of 2^k are free in span s  =>  bit k of byte s of the index is set, on all levels
 * While calls are in progress, an implication may be false for the words and pages that these calls are changing.
 */
#ifndef XMC_ARENA_H
#define XMC_ARENA_H

/* Debug level, 0 to 3: debug.cl lists what each level does and costs. */
#ifndef XMC_DEBUG
#define XMC_DEBUG 0
#endif

/* 1 in programs for heaps with a ring of events (XMC_HEAP_TRACE_BYTES): their calls record what they do (trace/trace.cl). */
#ifndef XMC_TRACE
#define XMC_TRACE 0
#endif

/* 1: the primitives are inline PTX (nvidia.h). NVIDIA's OpenCL defines cl_nv_pragma_unroll or __NV_CL_C_VERSION. */
#ifndef XMC_NVIDIA
#if defined(__NV_CL_C_VERSION) || defined(cl_nv_pragma_unroll)
#define XMC_NVIDIA 1
#else
#define XMC_NVIDIA 0
#endif
#endif

/* 1: AMD's GPUs, compiled by clang, whose builtins serve for the lanes (amdgcn.h) */
#ifndef XMC_AMDGCN
#ifdef __AMDGCN__
#define XMC_AMDGCN 1
#else
#define XMC_AMDGCN 0
#endif
#endif

/* 0 on the host; in kernels the version of OpenCL C, 120, 200 or 300; in C++ for OpenCL the version it is based on */
#if defined(__OPENCL_CPP_VERSION__)
#define XMC_OPENCL (__OPENCL_CPP_VERSION__ >= 202100 ? 300 : 200)
#elif defined(__OPENCL_C_VERSION__)
#define XMC_OPENCL __OPENCL_C_VERSION__
#else
#define XMC_OPENCL 0
#endif

#if XMC_OPENCL
typedef uint xmc_u32;
typedef ulong xmc_u64;
#define XMC_GLOBAL __global
#ifndef XMC_FN
#if defined(XMC_SCALAR_CALLS) && XMC_SCALAR_CALLS /* platform/platform.h */
#define XMC_FN static inline __attribute__((always_inline))
#else
#define XMC_FN static inline
#endif
#endif
#else
#include <stddef.h>
#include <stdint.h>
typedef uint32_t xmc_u32;
typedef uint64_t xmc_u64;
#define XMC_GLOBAL
#define XMC_FN static inline __attribute__((unused))
#endif

#include "api.h"

/* The magic word holds layout version and debug level; a program that was built for other ones refuses the heap. */
#define XMC_LAYOUT_VERSION 20
#define XMC_MAGIC_OF(debug) (((xmc_u64)0x584d616cu << 32) | (xmc_u64)(debug) << 16 | XMC_LAYOUT_VERSION)
#define XMC_MAGIC XMC_MAGIC_OF(XMC_DEBUG)

#define XMC_PAGE_SHIFT 14
#define XMC_PAGE_BYTES (1u << XMC_PAGE_SHIFT) /* 16 KiB */
#define XMC_SPAN_PAGES 64u                    /* pages of a span, whose free bits are one word */
#define XMC_SPAN_SHIFT 6
#define XMC_ORDERS 7 /* run lengths 1, 2, 4 … 64 pages */
#define XMC_INDEX_LEVELS 5
#define XMC_SPAN_WORDS 2048u /* state words of a span's Superblocks: 32 for each page */
#define XMC_SLAB_WORDS 5u /* id of the slab of page 0, negated: pages 0 to 3 share 32 bytes; never XMC_NONE */
#define XMC_NONE 0xffffffffu

/* Size classes: 8 in steps of 16 B up to 128 B, then 4 for each doubling up to 8 KiB. The Superblocks of classes below
 * XMC_SMALL_CLASSES are in slabs; the slabs of small class c have class XMC_CLASSES + c. */
#define XMC_CLASSES 32u
#define XMC_SMALL_CLASSES 15u /* 16 … 448 B: 32 Basicblocks take less than a page */
#define XMC_ALL_CLASSES (XMC_CLASSES + XMC_SMALL_CLASSES)
#define XMC_OWN_RUNS 15u /* rows of own places for runs: five lengths, 3 rows each, for up to 3 * own slots */
#define XMC_OWN_ROWS (XMC_OWN_RUNS + XMC_SMALL_CLASSES)
#define XMC_PARKED_SLABS \
  (XMC_CLASSES + 7u) /* slabs from this class on (128 B) have at most four places; on GPUs they are parked */
#define XMC_MAX_CLASS_BYTES 8192u
#define XMC_CLASS_JOINED 0x40u      /* plus a size class, in an xmc_place: page with joined blocks */
#define XMC_CLASS_MEMORYBLOCK 0xfdu /* first page of a Memoryblock */
#define XMC_CLASS_BODY 0xfeu        /* further pages of a Memoryblock, or of a region's chunk */
#define XMC_CLASS_NONE 0xffu

/* State words */
#define XMC_WORD_LISTED ((xmc_u64)1 << 32)
#define XMC_WORD_PARKED ((xmc_u64)1 << 33)
#define XMC_WORD_WATCHED ((xmc_u64)1 << 34) /* a release that makes it wholly free says so (xmc_say_whole) */
#define XMC_WORD_SEATED ((xmc_u64)1 << 35)  /* it is most likely the active one of a FIFO */
#define XMC_WORD_WHERE (XMC_WORD_LISTED | XMC_WORD_PARKED | XMC_WORD_SEATED)
#define XMC_WORD_CLASS_SHIFT 40
#define XMC_WORD_COUNT_SHIFT 48
#define XMC_WORD_RETIRED \
  (((xmc_u64)XMC_CLASS_NONE << XMC_WORD_CLASS_SHIFT) | XMC_WORD_PARKED | XMC_WORD_LISTED | 0xffffffffu)

/* Page map: the entry of a page describes the run that the page belongs to.
 *
 *    63            32 31        17 16   12 11   8 7      0
 *   +----------------+------------+-------+------+--------+
 *   |     inverse    |   blocks   | place | back |  class |
 *   +----------------+------------+-------+------+--------+
 *
 * back: how many pages before this one the run starts; place: the row of the run's (first) state word; blocks: how many
 * Basicblocks the run has, in a slab those of all its Superblocks, or 0 if it has joined blocks (calls/joined.cl); inverse: 2^32 /
 * bytes of a Basicblock, rounded up. Entries of runs without Basicblocks, such as Memoryblocks, have the class only, and in further pages
 * (XMC_CLASS_BODY) the run's first page in place of `inverse`. */
#define XMC_MAP(cls, back, place, blocks) \
  ((xmc_u32)(cls) | (xmc_u32)(back) << 8 | (xmc_u32)(place) << 12 | (xmc_u32)(blocks) << 17)
#define XMC_MAP_NONE \
  XMC_MAP(XMC_CLASS_NONE, 0, 0, 0) /* of a page that was never used; no used page gets this entry again */
#define XMC_RUN_PLACE \
  16u /* + log2 of its pages: the row of a run's state word; slabs of 16 B use these rows for places, too */

/* The papers' FIFO (2011, figure 7) of 32-bit Superblock ids, and beside it the seat, which holds the active Superblock. */
#define XMC_FIFO_SIZE 4u /* messages; a power of two, so that sequence numbers may wrap around */
typedef struct xmc_fifo {
  xmc_u64 active;  /* the seat: the active Superblock's id or XMC_NONE; above: how often it changed */
  xmc_u32 hint;    /* where to take pages first (xmc_pages_take); of a small class: id of the last slab + 1 */
  xmc_u32 partly;  /* CPU devices: 1 if the last guess that the active one is wholly free was wrong, else 0 */
  xmc_u64 tail;    /* the whole tail message: sequence number << 32 | payload */
  xmc_u32 head;    /* sequence number of the head message */
  xmc_u32 carving; /* GPUs, a hint: 1 while a work-item carves for this FIFO (xmc_seat_changes), else 0 */
  xmc_u64 message[XMC_FIFO_SIZE]; /* message n is at n % XMC_FIFO_SIZE */
} xmc_fifo;

/* The bitmaps (bitmap.cl) */
#define XMC_BUSY 0u
#define XMC_PARKED 1u
#define XMC_WHOLE 2u
#define XMC_BITMAPS 3u
#define XMC_BITMAP_LEVELS 4
typedef struct xmc_bitmap {
  xmc_u64 level[XMC_BITMAP_LEVELS]; /* byte offsets in the arena */
} xmc_bitmap;

/* Coalescing of a sub-group's requests; chosen when a program is built (XMC_COALESCING, see coalesce.cl). */
#define XMC_COALESCE_NONE 0
#define XMC_COALESCE_COMPARTMENT 1
#define XMC_COALESCE_CLASS 2
#ifndef XMC_COALESCING
#define XMC_COALESCING XMC_COALESCE_CLASS
#endif

typedef struct xmcHeap {
  xmc_u64 magic; /* XMC_MAGIC; written after all else */
  xmc_u64 data;  /* byte offset of page 0 */
  xmc_u64 words; /* this and page_map: byte offsets of the tables; each call reads them at once (xmc_view) */
  xmc_u32 page_map;
  xmc_u32 pages;
  xmc_u64 fifo_table[XMC_ALL_CLASSES]; /* for each class: xmc_fifos_entry */
  xmc_u64 geometry;                    /* xmc_geometry_number */
  xmc_u32 spans;                       /* ceil(pages / 64) */
  xmc_u32 own;                         /* how many slots have own slabs (own.cl): a multiple of 64, or 0 */
  xmc_u32 present; /* the arena has the first `present` of `pages` pages: all, unless the heap can grow */
  xmc_u32 present_spans; /* ceil(present / 64) */
  xmc_u64 bytes;         /* size of the arena; growing changes no geometry but this, present, present_spans */
  xmc_u64 max_bytes;     /* size of an arena with all of `pages` */
  xmc_u32 slots;      /* stride of the busy bitmap: most FIFOs of a class, a multiple of 64; 0: unbuffered */
  xmc_u32 coalescing; /* if it is XMC_COALESCE_COMPARTMENT a free looks for compartments */
  xmc_bitmap bitmaps[XMC_BITMAPS];
  xmc_u64 index[XMC_INDEX_LEVELS]; /* span_index.cl */
  xmc_u32 fifo_start;              /* first sequence number of every FIFO */
  xmc_u32 debug;                   /* XMC_DEBUG level the heap was made for */
  xmc_u32 lanes; /* how many sub-groups the device can run at the same time, even if there are fewer FIFOs */
  xmc_u32 life;  /* debug heaps: a new random number at each creation and reset; others: 0 */
  /* Counters that only failed requests and bad frees change; see xmc_heap_stats in xmalloc.h. */
  xmc_u64 failed_requests;
  xmc_u64 first_failure_size;
  xmc_u64 first_failure_id;
  xmc_u64 double_frees;
  xmc_u64 invalid_frees;
  xmc_u64 first_double_free; /* offset in the arena + 1, so that 0 means none */
  xmc_u64 first_invalid_free;
  xmc_u64 scarce; /* XMC_SCARCE_… and XMC_ROOM_BITS; with XMC_SCARCE_ONCE set, calls maintain `flux` */
  xmc_u64 flux;   /* bits 0..31: how many work-items hold more room now than they will keep; bits 32..63 are
                              incremented when room can be found again that a search may just have missed */
  xmc_u64 red_zone_errors;      /* in debug heaps, as the next three */
  xmc_u64 first_red_zone_error; /* offset in the arena + 1, as above */
  xmc_u64 use_after_frees;
  xmc_u64 first_use_after_free;
  xmc_u64 failed_bytes; /* in any heap; sum of failed requests of up to XMC_MAX_PAGES pages */
  xmc_u64 regions;      /* how many were made so far (regions/region.h) */
  xmc_u32 room_used;    /* GPUs: mean of the pages in use, and tries (pages/room.cl) */
#define XMC_JOINS_NEVER 0xffffffffu
  xmc_u32 joins; /* searches for blocks to join, and misses in a row (calls/joined.cl); or XMC_JOINS_NEVER */
  /* These three never change. They stand last so that the fields before them kept their offsets. */
  xmc_u64 trace;         /* byte offset of the ring (ring.h); 0: the heap has none */
  xmc_u32 trace_records; /* a power of two; 0 without a ring */
  xmc_u32 trace_every;   /* of the places where blocks begin one in trace_every is traced; 0 without a ring */
} xmcHeap;

/* In programs xmcHeap is a macro for a name with the layout version, debug level and coalescing that the program was built
 * for, such as xmcHeap_20_0_2. So the host finds them in the type of a kernel's argument (host/heap/kernel_arg.c). */
#if XMC_OPENCL
#define XMC_HEAP_NAME(layout, debug, coalescing) XMC_HEAP_NAME_OF(layout, debug, coalescing)
#define XMC_HEAP_NAME_OF(layout, debug, coalescing) xmcHeap_##layout##_##debug##_##coalescing
typedef xmcHeap XMC_HEAP_NAME(XMC_LAYOUT_VERSION, XMC_DEBUG, XMC_COALESCING);
#define xmcHeap XMC_HEAP_NAME(XMC_LAYOUT_VERSION, XMC_DEBUG, XMC_COALESCING)
#endif

#define XMC_SCARCE_ONCE ((xmc_u64)1) /* set for good */
#define XMC_SCARCE_NOW ((xmc_u64)2)  /* cleared when a new Superblock or slab is put into use */
#define XMC_ROOM_SHORT ((xmc_u64)4)  /* GPUs: less stays when it becomes wholly free (pages/room.cl) */
#define XMC_USED_FIRST ((xmc_u64)8)  /* and used memory is looked for before new memory is taken */
#define XMC_ROOM_BITS (XMC_ROOM_SHORT | XMC_USED_FIRST)
#define XMC_FLUX_MOVED ((xmc_u64)1 << 32)
#define XMC_HEADER_BYTES 1024u
#define XMC_DATA_STAYS 1u /* added to `data` before xmc_init_open: page 0 must stay where it is */
/* The number of the first FIFO: FIFOs lie behind the table of own places of `own` slots */
#define XMC_FIRST_FIFO(own) (XMC_HEADER_BYTES / (xmc_u32)sizeof(xmc_fifo) + (own) / 64u * (4u * XMC_OWN_ROWS))

/* An entry of fifo_table: the number of the class's first FIFO, how many FIFOs the class has, and how many slots have own places
 * for it. FIFO number n is at (xmc_fifo *)heap + n, so numbers count 64 B from the arena's start.
 *
 *    63     53 52      32 31       0
 *   +---------+----------+----------+
 *   | own/64  |  count   |  first   |
 *   +---------+----------+----------+
 */
#define XMC_MAX_SLOTS (1u << 20)
#define XMC_MAX_LANES (1u << 20)
#define XMC_MAX_OWN (0x7ffu * 64u)
XMC_FN xmc_u64 xmc_fifos_entry(xmc_u32 first, xmc_u32 count, xmc_u32 own) {
  return (xmc_u64)(own << 15 | count) << 32 | first;
}
XMC_FN xmc_u32 xmc_fifos_first(xmc_u64 entry) { return (xmc_u32)entry; }
XMC_FN xmc_u32 xmc_fifos_count(xmc_u64 entry) { return (xmc_u32)(entry >> 32) & 0x1fffffu; }
/* Returns how many slots have an own place for class cls if `own` slots have own slabs. Up to 3 * own slots have places for
 * runs, because these hold no memory; classes of slabs have none. */
XMC_FN xmc_u32 xmc_class_own(xmc_u32 cls, xmc_u32 own, xmc_u32 lanes) {
  xmc_u32 runs = 3u * own < lanes ? 3u * own : lanes & ~63u;
  runs = runs < XMC_MAX_OWN ? runs : XMC_MAX_OWN;
  return cls < XMC_SMALL_CLASSES ? own : cls < XMC_CLASSES ? runs : 0;
}

/* Fields of an entry of the page map */
XMC_FN xmc_u32 xmc_map_class(xmc_u64 entry) { return (xmc_u32)entry & 0xffu; }
XMC_FN xmc_u32 xmc_map_back(xmc_u64 entry) { return (xmc_u32)entry >> 8 & 0xfu; }
XMC_FN xmc_u32 xmc_map_place(xmc_u64 entry) { return (xmc_u32)entry >> 12 & 0x1fu; }
XMC_FN xmc_u32 xmc_map_blocks(xmc_u64 entry) { return (xmc_u32)entry >> 17; }
XMC_FN xmc_u32 xmc_map_inverse(xmc_u64 entry) { return (xmc_u32)(entry >> 32); }
/* The same entry for a page with joined blocks: with 0 in the field `blocks` */
XMC_FN xmc_u64 xmc_map_joined(xmc_u64 entry) { return entry & ~(xmc_u64)0xfffe0000u; }
/* The entry of a further page of the Memoryblock or chunk that begins at page `first`, which xmc_map_inverse returns */
XMC_FN xmc_u64 xmc_map_body(xmc_u32 first) { return (xmc_u64)first << 32 | XMC_MAP(XMC_CLASS_BODY, 0, 0, 0); }

/* Fields of a state word */
XMC_FN xmc_u32 xmc_word_free(xmc_u64 word) { return (xmc_u32)word; }
XMC_FN xmc_u32 xmc_word_class(xmc_u64 word) { return (xmc_u32)(word >> XMC_WORD_CLASS_SHIFT) & 0xffu; }
XMC_FN xmc_u32 xmc_word_count(xmc_u64 word) { return (xmc_u32)(word >> XMC_WORD_COUNT_SHIFT) & 0xffu; }
XMC_FN xmc_u32 xmc_full_mask(xmc_u32 count) { return count >= 32u ? 0xffffffffu : (1u << count) - 1u; }
/* The same, for a count that is known to be 1 … 32 */
XMC_FN xmc_u32 xmc_count_mask(xmc_u32 count) { return 0xffffffffu >> (32u - count); }
/* Pages of the largest heap. Three things limit it: hints (supply.cl) have 25 bits for a page; the parked bitmap has 47 bits for
 * each page, which are numbered in 32 bits; ids are signed 32-bit numbers, 32 for each page. */
#define XMC_MAX_PAGES (1u << 24) /* 256 GiB */
/* Pages of the largest block. The state word of a Memoryblock stores its number of pages in bits 34..39 and 48..63, which no
 * release, even one by a bad free, can change. */
#define XMC_MAX_BLOCK_PAGES ((1u << 22) - 1u) /* 64 GiB less a page */
XMC_FN xmc_u32 xmc_word_pages(xmc_u64 word) {
  return (xmc_u32)(word >> 48) | ((xmc_u32)(word >> 34) & 0x3fu) << 16;
}
XMC_FN xmc_u64 xmc_word_memoryblock(xmc_u32 pages) {
  return (xmc_u64)(pages & 0xffffu) << 48 | (xmc_u64)(pages >> 16) << 34 |
         (xmc_u64)XMC_CLASS_MEMORYBLOCK << XMC_WORD_CLASS_SHIFT;
}
XMC_FN xmc_u64 xmc_word_make(xmc_u32 cls, xmc_u32 count, xmc_u32 free_mask) {
  return (xmc_u64)cls << XMC_WORD_CLASS_SHIFT | (xmc_u64)count << XMC_WORD_COUNT_SHIFT | free_mask;
}

#include "geometry.h"
#endif
