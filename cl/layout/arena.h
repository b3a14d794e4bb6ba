/* SPDX-License-Identifier: MIT */
/* XMalloc for OpenCL: the arena's layout. Shared by kernels and host; where the tables lie is in geometry.h.
 *
 * A heap is one buffer or SVM allocation, the arena. It holds offsets and indices, never addresses, so
 * it may lie at another address on every device and in every process.
 *
 *   0          header (xmcHeap): geometry, FIFO table, failure counters
 *   1024       uint[30][own]     where each slot looks first, its own (own.cl), if any
 *   fifo_table xmc_fifo[..]      one FIFO a size class and slot                 64 B each
 *   busy       bitmap            FIFOs that may hold something                  1 bit a FIFO
 *   parked     bitmap            pages with Superblocks that no FIFO had room for (a bit each, and class)
 *   whole      bitmap            pages that may hold wholly free Superblocks which nobody watches
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
 *      slab        1 to 32 Superblocks of one small class, state word at words[-5 - page]
 *      Superblock  1, 2, 4, 8 or 16 pages, at a multiple of it, that hold 1 to 32 Basicblocks of 512 B to 8 KiB,
 *                  state word in row 16 + log2 of the pages
 *      Memoryblock 1 or more pages handed out as one block, state word in row 0
 *   A Superblock of a small class (16 to 448 B) is slot j of a slab; state word in row j.
 *
 *   A row has a word for each page of its span, so that the words which neighbouring slots use lie together. In rows 16 + k
 * and 24 + k the pages' numbers are turned right by k of their 6 bits, for those that begin 2^k pages:
 *
 *     rows 0 … 16                page 0   1   2   3   4   5   6   7   8   9  …  63
 *     row 17, 2 pages each            0   2   4   6   8  10  12  14  16  18  …  62   1   3   5  …  63
 *     row 18, 4 pages each            0   4   8  12  16  20  24  28  32  36  …  60   1   5   9  …  63
 *
 *   An id is a state word's index in `words`; a slab's, below them, is negative.
 *
 * State word (paper 2010, figure 2.4, extended):
 *
 *    63     56 55     48 47     40 39   36 35       34        33       32      31            0
 *   +---------+---------+---------+-------+--------+---------+--------+--------+---------------+
 *   |  spare  |  count  |  class  | spare | seated | watched | parked | listed | free mask     |
 *   +---------+---------+---------+-------+--------+---------+--------+--------+---------------+
 *
 *   A heap that can grow has tables for the pages of its largest size, `pages`, and an arena with the first `present` of
 * them. What the tables say of the others: not free, no entry, no state word in use, no bit in any bitmap or index. So
 * no call touches them, and growing is to set their free bits, and their bits of the whole bitmap and the index.
 *
 * Invariants (P page, W state word; xmcCheckHeap verifies them on a quiet heap):
 *   free bit of P set         <=>  P is present and belongs to no slab, Superblock or Memoryblock
 *   free(W) is a subset of     (1 << count(W)) - 1 for every W in use
 *   free(W) != 0               =>  listed(W)
 *   listed(W) and not parked   =>  some FIFO of class(W) holds W
 *   parked(W)                  =>  bit (class, page) of the parked bitmap is set
 *   an id in seat or ring of
 *   FIFO (class, slot)         =>  bit (class, slot) of the busy bitmap is set
 *   W in use and not watched   =>  its page's bit in the whole bitmap is set
 *   W in use and wholly free   =>  the same
 *   room was never scarce      =>  the bits of all present pages in the whole bitmap are set
 *   W not in use               <=>  W == XMC_WORD_RETIRED, which no free can change
 *   free bit of P set          =>  the map entry of P leads to words that are not in use: P's own, or the one of a run
 *                                  that held P; a longer or shorter run at the same page has another word
 *   2^k pages at a multiple of 2^k are free in span s  =>  bit k of byte s of the index is set, on all levels
 * While calls are under way each implication may lag behind by the calls under way.
 */
#ifndef XMC_ARENA_H
#define XMC_ARENA_H

/* Debug level, 0 to 3: debug.cl lists what each does and costs. */
#ifndef XMC_DEBUG
#define XMC_DEBUG 0
#endif

/* 1 in programs for heaps with a ring of events (XMC_HEAP_TRACE_BYTES): their calls record what they do (trace/trace.cl). */
#ifndef XMC_TRACE
#define XMC_TRACE 0
#endif

/* Inline PTX: NVIDIA's OpenCL defines cl_nv_pragma_unroll or __NV_CL_C_VERSION. */
#ifndef XMC_NVIDIA
#if defined(__NV_CL_C_VERSION) || defined(cl_nv_pragma_unroll)
#define XMC_NVIDIA 1
#else
#define XMC_NVIDIA 0
#endif
#endif

/* AMD's GPUs by clang: lanes by its builtins */
#ifndef XMC_AMDGCN
#ifdef __AMDGCN__
#define XMC_AMDGCN 1
#else
#define XMC_AMDGCN 0
#endif
#endif

/* 0 on the host; in kernels the version of OpenCL C, 120, 200 or 300, or the one that C++ for OpenCL stands on */
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

/* The magic word names the layout and the debug level: a program built for others refuses the heap. */
#define XMC_LAYOUT_VERSION 18
#define XMC_MAGIC_OF(debug) (((xmc_u64)0x584d616cu << 32) | (xmc_u64)(debug) << 16 | XMC_LAYOUT_VERSION)
#define XMC_MAGIC XMC_MAGIC_OF(XMC_DEBUG)

#define XMC_PAGE_SHIFT 14
#define XMC_PAGE_BYTES (1u << XMC_PAGE_SHIFT) /* 16 KiB */
#define XMC_SPAN_PAGES 64u                    /* pages a span: bits of one word */
#define XMC_SPAN_SHIFT 6
#define XMC_ORDERS 7 /* run lengths 1, 2, 4 … 64 pages */
#define XMC_INDEX_LEVELS 5
#define XMC_SPAN_WORDS 2048u /* of Superblocks: 32 a page */
#define XMC_SLAB_WORDS 5u /* from there downwards: page 0 to 3 in one row of 32 bytes, and never XMC_NONE */
#define XMC_NONE 0xffffffffu

/* Size classes: 8 steps of 16 B to 128 B, then 4 steps a doubling to 8 KiB. Classes below
 * XMC_SMALL_CLASSES get their Superblocks from slabs; the slabs of class c are class XMC_CLASSES + c. */
#define XMC_CLASSES 32u
#define XMC_SMALL_CLASSES 15u /* 16 … 448 B: 32 Basicblocks are less than a page */
#define XMC_ALL_CLASSES (XMC_CLASSES + XMC_SMALL_CLASSES)
#define XMC_OWN_RUNS 15u /* rows: five lengths of runs, each for up to three times as many slots */
#define XMC_OWN_ROWS (XMC_OWN_RUNS + XMC_SMALL_CLASSES)
#define XMC_PARKED_SLABS \
  (XMC_CLASSES + 7u) /* slabs of four and fewer places, from 128 B on, which on GPUs are parked */
#define XMC_MAX_CLASS_BYTES 8192u
#define XMC_CLASS_MEMORYBLOCK 0xfdu /* first page of a Memoryblock */
#define XMC_CLASS_BODY 0xfeu        /* further pages of a Memoryblock */
#define XMC_CLASS_NONE 0xffu

/* State words */
#define XMC_WORD_LISTED ((xmc_u64)1 << 32)
#define XMC_WORD_PARKED ((xmc_u64)1 << 33)
#define XMC_WORD_WATCHED ((xmc_u64)1 << 34) /* who makes it wholly free says so (xmc_say_whole) */
#define XMC_WORD_SEATED ((xmc_u64)1 << 35)  /* it is the active one of some FIFO, most likely */
#define XMC_WORD_WHERE (XMC_WORD_LISTED | XMC_WORD_PARKED | XMC_WORD_SEATED)
#define XMC_WORD_CLASS_SHIFT 40
#define XMC_WORD_COUNT_SHIFT 48
#define XMC_WORD_RETIRED \
  (((xmc_u64)XMC_CLASS_NONE << XMC_WORD_CLASS_SHIFT) | XMC_WORD_PARKED | XMC_WORD_LISTED | 0xffffffffu)

/* Page map: from a page to its run.
 *
 *    63            32 31        17 16   12 11   8 7      0
 *   +----------------+------------+-------+------+--------+
 *   |     inverse    |   blocks   | place | back |  class |
 *   +----------------+------------+-------+------+--------+
 *
 * back: pages back to the first page of the run; place: the row of its (first) state word; blocks: Basicblocks
 * of the run, of all Superblocks of a slab; inverse: 2^32 / their bytes, rounded up. Runs that are none of Basicblocks
 * have the class only. */
#define XMC_MAP(cls, back, place, blocks) \
  ((xmc_u32)(cls) | (xmc_u32)(back) << 8 | (xmc_u32)(place) << 12 | (xmc_u32)(blocks) << 17)
#define XMC_MAP_NONE \
  XMC_MAP(XMC_CLASS_NONE, 0, 0, 0) /* of a page that was never used; no other entry becomes it */
#define XMC_RUN_PLACE \
  16u /* + log2 of its pages: the row of a run's state word; in slabs of 16 B a Superblock's */

/* The papers' FIFO (2011, figure 7) of 32-bit Superblock ids, and the Superblock in use beside it. */
#define XMC_FIFO_SIZE 4u /* messages; a power of two, so that sequence numbers may wrap */
typedef struct xmc_fifo {
  xmc_u64 active; /* id of the Superblock requests are served from, or XMC_NONE */
  xmc_u32 hint;   /* where to take pages first: xmc_pages_take; of a small class: the last slab's id + 1 */
  xmc_u32 partly; /* 0, or 1 on CPU devices: a guess that the active one is wholly free failed last time */
  xmc_u64 tail;   /* the whole tail message: sequence number << 32 | payload */
  xmc_u32 head;   /* sequence number of the head message */
  xmc_u32 spare;  /* 0 */
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
  xmc_u64 magic; /* XMC_MAGIC, written last */
  xmc_u64 data;  /* byte offset of page 0 */
  xmc_u64 words; /* byte offsets of the tables above; what each call needs is read at once (xmc_view) */
  xmc_u32 page_map;
  xmc_u32 pages;
  xmc_u64 fifo_table[XMC_ALL_CLASSES]; /* of each class: xmc_fifos_entry */
  xmc_u64 geometry;                    /* xmc_geometry_number */
  xmc_u32 spans;                       /* ceil(pages / 64) */
  xmc_u32 own;     /* slots that have slabs of their own (own.cl); a multiple of 64, or 0 */
  xmc_u32 present; /* pages that the arena has, the first ones of `pages`: all, but in heaps that can grow */
  xmc_u32 present_spans; /* ceil(present / 64) */
  xmc_u64 bytes;         /* size of the arena; with `present` all that changes when a heap grows */
  xmc_u64 max_bytes;     /* size of an arena that has all of `pages` */
  xmc_u32 slots;         /* stride of the busy bitmap: most FIFOs a class, a multiple of 64; 0 = unbuffered */
  xmc_u32 coalescing;    /* XMC_COALESCE_…: with compartments a free looks for their headers */
  xmc_bitmap bitmaps[XMC_BITMAPS];
  xmc_u64 index[XMC_INDEX_LEVELS]; /* span_index.cl */
  xmc_u32 fifo_start;              /* first sequence number of every FIFO */
  xmc_u32 debug;                   /* XMC_DEBUG level the heap was made for */
  xmc_u32 lanes; /* sub-groups that may run at the same time: the device's, whatever the number of FIFOs */
  xmc_u32 life;  /* debug heaps: another random number after each creation and reset; else 0 */
  /* Counted on the failure path only; see xmc_heap_stats in xmalloc.h. */
  xmc_u64 failed_requests;
  xmc_u64 first_failure_size;
  xmc_u64 first_failure_id;
  xmc_u64 double_frees;
  xmc_u64 invalid_frees;
  xmc_u64 first_double_free; /* offset in the arena + 1, so that 0 means none */
  xmc_u64 first_invalid_free;
  xmc_u64 scarce; /* XMC_SCARCE_…, XMC_ROOM_SHORT; once a request came to the last resort the next is kept */
  xmc_u64 flux;   /* bits 0..31: work-items that just now hold more room than they will keep; above:
                              moves when room became findable that a search may just have missed */
  xmc_u64 red_zone_errors;      /* debug heaps, from here on */
  xmc_u64 first_red_zone_error; /* offset in the arena + 1, as above */
  xmc_u64 use_after_frees;
  xmc_u64 first_use_after_free;
  xmc_u64 failed_bytes; /* any heap; of requests up to XMC_MAX_PAGES */
  xmc_u64 regions;      /* made so far (regions/region.h) */
  xmc_u32 room_used;    /* GPUs: pages in use, a mean (pages/room.cl) */
  xmc_u32 spare;
  /* Never change, and so belong to what the heap was made with; here, so that all else kept its place */
  xmc_u64 trace;         /* byte offset of the ring (ring.h); 0: the heap has none */
  xmc_u32 trace_records; /* a power of two; 0 without a ring */
  xmc_u32 trace_every;   /* of the places where blocks begin, one in so many is traced; 0 without a ring */
} xmcHeap;

/* In programs xmcHeap stands for a name that holds what the program was built for, such as xmcHeap_18_0_2: so the
 * type of a kernel's argument says it to the host (host/heap/kernel_arg.c), whatever defined the macros. */
#if XMC_OPENCL
#define XMC_HEAP_NAME(layout, debug, coalescing) XMC_HEAP_NAME_OF(layout, debug, coalescing)
#define XMC_HEAP_NAME_OF(layout, debug, coalescing) xmcHeap_##layout##_##debug##_##coalescing
typedef xmcHeap XMC_HEAP_NAME(XMC_LAYOUT_VERSION, XMC_DEBUG, XMC_COALESCING);
#define xmcHeap XMC_HEAP_NAME(XMC_LAYOUT_VERSION, XMC_DEBUG, XMC_COALESCING)
#endif

#define XMC_SCARCE_ONCE ((xmc_u64)1) /* for good */
#define XMC_SCARCE_NOW ((xmc_u64)2)  /* cleared by who starts a new Superblock or slab */
#define XMC_ROOM_SHORT ((xmc_u64)4)  /* GPUs: used memory first, then new (pages/room.cl) */
#define XMC_FLUX_MOVED ((xmc_u64)1 << 32)
#define XMC_HEADER_BYTES 1024u
#define XMC_DATA_STAYS 1u /* in `data` of a header that xmc_init_open has not seen */
/* The number of the first FIFO, behind so many slots' own places */
#define XMC_FIRST_FIFO(own) (XMC_HEADER_BYTES / (xmc_u32)sizeof(xmc_fifo) + (own) / 64u * (4u * XMC_OWN_ROWS))

/* An entry of fifo_table: the class's first FIFO, counted from the arena's start, their number, and how many slots have places
 * of their own for the class. FIFO n is at (xmc_fifo *)heap + n.
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
/* How many slots have a place of their own for a class, where `own` have slabs: places for runs hold nothing aside */
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

/* Fields of a state word */
XMC_FN xmc_u32 xmc_word_free(xmc_u64 word) { return (xmc_u32)word; }
XMC_FN xmc_u32 xmc_word_class(xmc_u64 word) { return (xmc_u32)(word >> XMC_WORD_CLASS_SHIFT) & 0xffu; }
XMC_FN xmc_u32 xmc_word_count(xmc_u64 word) { return (xmc_u32)(word >> XMC_WORD_COUNT_SHIFT) & 0xffu; }
XMC_FN xmc_u32 xmc_full_mask(xmc_u32 count) { return count >= 32u ? 0xffffffffu : (1u << count) - 1u; }
/* The same for counts that are known to be 1 … 32 */
XMC_FN xmc_u32 xmc_count_mask(xmc_u32 count) { return 0xffffffffu >> (32u - count); }
/* Pages of the largest heap. What bounds it: hints (supply.cl), which have 25 bits for a page; the parked bitmap, whose 47 bits
 * a page are counted in 32 bits; ids, which have 32 for each page and are signed. */
#define XMC_MAX_PAGES (1u << 24) /* 256 GiB */
/* Pages of the largest block: a Memoryblock's word keeps them in bits 34..39 and 48..63, where no release of a block, however
 * wrong, can change them. */
#define XMC_MAX_BLOCK_PAGES ((1u << 22) - 1u) /* a page less than 64 GiB */
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
