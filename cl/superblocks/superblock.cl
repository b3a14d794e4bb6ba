/* SPDX-License-Identifier: MIT */
/* Superblocks: 1 to 32 Basicblocks whose whole state is one 64-bit word (paper 2010, figure 2.4).
 *
 *              claim 3 blocks              release 2 blocks
 *   free mask  1 1 1 0 1 1  --CAS-->  0 0 0 0 1 1  --fetch-or-->  0 1 1 0 1 1
 *                   acquire                         release
 *
 *   blocks handed out + popcount(free) == count          while the Superblock is in use
 *
 * A slab is the same thing one level up: its Basicblocks are Superblocks of a small class.
 *
 * The listed bit says that the Superblock can be found in a FIFO, or is parked, or that the work-item which set the bit is bringing it
 * there. A work-item that sets it (a release that finds it clear, or the start of a new Superblock) takes on that duty. It is cleared
 * only while no block is free, so that the next release gets the duty. An id may still be in a FIFO after its Superblock was retired,
 * or listed a second time elsewhere. That does no harm, because the CAS of each claim compares the class in the word: so a stale id
 * yields nothing or a good block.
 *
 * A word that is not in use is XMC_WORD_RETIRED. It has all bits that a release can set, so a bad free changes nothing, and sees from
 * the old word that it was one. */
#ifndef XMC_SUPERBLOCK_CL
#define XMC_SUPERBLOCK_CL
#include "../layout/arena.h"
#include "../platform/platform.h"
#include "../pages/bits.cl"

/* xmc_superblock_id returns the id of the Superblock whose state word is in this row of the words of its (first) page; xmc_id_row and
 * xmc_id_page compute the reverse. arena.h says which rows are rotated. CPU devices skip the rotation of rows 0 to 15, which have none,
 * by a branch, because they predict the branch, while the arithmetic would wait for the row's number. */
XMC_FN xmc_u32 xmc_row_turn(xmc_u32 row) { return (row & 7u) * (row >> 4); }
#define XMC_TURN_ROUND 0x1041u /* makes three copies of six bits, so that a shift rotates them */
XMC_FN xmc_u32 xmc_superblock_id(xmc_u32 page, xmc_u32 row) {
  xmc_u32 at = page & (XMC_SPAN_PAGES - 1u);
  if (!XMC_SIMT && row < 16u)
    return (page & ~(XMC_SPAN_PAGES - 1u)) << 5 | row << 6 | at;
  return (page & ~(XMC_SPAN_PAGES - 1u)) << 5 | row << 6 | (at * XMC_TURN_ROUND >> xmc_row_turn(row) & 63u);
}
XMC_FN xmc_u32 xmc_id_row(xmc_u32 id) { return id >> 6 & 31u; }
XMC_FN xmc_u32 xmc_id_page(xmc_u32 id) {
  xmc_u32 at;
  if (!XMC_SIMT && xmc_id_row(id) < 16u)
    return id >> 11 << 6 | (id & 63u);
  at = (id & 63u) * XMC_TURN_ROUND >> (12u - xmc_row_turn(xmc_id_row(id)));
  return id >> 11 << 6 | (at & 63u);
}
XMC_FN xmc_u32 xmc_slab_id(xmc_u32 page) { return 0u - XMC_SLAB_WORDS - page; }
XMC_FN xmc_u32 xmc_slab_page(xmc_u32 id) { return 0u - XMC_SLAB_WORDS - id; }
XMC_HOT_FN xmc_u32 xmc_any_page(xmc_u32 id) { return id >> 31 ? xmc_slab_page(id) : xmc_id_page(id); }

/* Returns the id of a run of 2^order pages as one Superblock. Runs of different lengths at the same page have different words, so an
 * entry that one of them left in the page map does not lead to the other. */
XMC_FN xmc_u32 xmc_run_id(xmc_u32 page, xmc_u32 order) {
  return xmc_superblock_id(page, XMC_RUN_PLACE + order);
}
XMC_FN xmc_u32 xmc_run_order(xmc_u32 id) { return xmc_id_row(id) - XMC_RUN_PLACE; }

/* Returns the mask of the blocks that are free for a claim of this class; 0 if the word is of another class. Bits beyond the count can
 * only come from a bad free that raced with the reuse of a page; they are never handed out. */
XMC_FN xmc_u32 xmc_word_available(xmc_u64 word, xmc_u32 cls) {
  return xmc_word_class(word) == cls ? xmc_word_free(word) & xmc_full_mask(xmc_word_count(word)) : 0u;
}

/* Returns the seated bit, which claims set in the word of an active Superblock; 0 for a slab, because work-items that give its places
 * back guess its whole word (xmc_parked_place_gone). */
XMC_FN xmc_u64 xmc_word_seat(xmc_u32 cls) { return cls < XMC_CLASSES ? XMC_WORD_SEATED : 0; }

/* Tries once to claim up to `want` Basicblocks of an active Superblock, or places of a slab, by one CAS. If `acquires` is 0 it is a claim
 * of blocks, which comes after what their previous owners did with them (xmc_cas_claim64). Else the CAS acquires: whoever starts a
 * Superblock in a slab's place reads `scarce` next (xmc_load_near32). *seen is the word as last seen, or a guess: a wrong guess costs a
 * try, a right one saves the load. Returns the mask of the claimed ones. Returns 0 if none was free by that word, or if the word was
 * another one, which is in *seen then.
 *
 * It tries only once because on NVIDIA a loop around a CAS costs more than the CAS: ptxas puts YIELD at its head, and where all lanes
 * come together, the waiting ones go on without those that yield. From then on the sub-group is in parts, and each part works alone. So
 * a caller that fails a second time reads the FIFO again, in a loop that few ever reach (xmc_class_malloc_rest in malloc_lanes.cl). */
XMC_FN xmc_u32 xmc_superblock_claim(XMC_GLOBAL xmc_u64 *word, xmc_u32 cls, xmc_u32 want, xmc_u64 *seen,
                                    int acquires) {
  xmc_u64 w = *seen, old, next;
  xmc_u32 take = xmc_lowest_bits(xmc_word_available(w, cls), want);
  if (!take)
    return 0;
  next = (w & ~(xmc_u64)take) | xmc_word_seat(cls);
  old = acquires ? xmc_cas_acquire64(word, w, next) : xmc_cas_claim64(word, w, next);
  if (old == w)
    return take;
  *seen = old;
  return 0;
}

/* The same off the fast path. CPU devices call this function, so that PoCL compiles it once (platform.h). */
XMC_HOT_FN xmc_u32 xmc_superblock_claim_called(XMC_GLOBAL xmc_u64 *word, xmc_u32 cls, xmc_u32 want,
                                               xmc_u64 *seen, int acquires) {
  return xmc_superblock_claim(word, cls, want, seen, acquires);
}

/* Returns 1 if slabs of this class are parked when they are made, and stay parked: on GPUs those of four and fewer places. Otherwise
 * nearly every request and free would have to handle their FIFO; the slot's hint finds the last slab. Their classes have no FIFOs. */
XMC_FN int xmc_slab_is_parked(xmc_u32 cls) { return XMC_SIMT && cls >= XMC_PARKED_SLABS; }

/* As xmc_superblock_claim, for one place of a slab that a slot uses without a FIFO. If it takes the last place of a parked slab whose
 * class does not stay parked, the same CAS unlists the slab. *seen becomes the word that the CAS found. The CAS acquires if `acquires`
 * is 1; else it is xmc_cas_claim64, for callers that take all blocks of the place and read no `scarce`. */
XMC_FN xmc_u32 xmc_place_try_as(XMC_GLOBAL xmc_u64 *word, xmc_u32 cls, xmc_u64 *seen, int acquires) {
  xmc_u64 w = *seen, next;
  xmc_u32 left = xmc_word_available(w, cls), take = left & -left;
  if (!take)
    return 0;
  next = w & ~(xmc_u64)take;
  if (left == take && (w & XMC_WORD_PARKED) && !xmc_slab_is_parked(cls))
    next &= ~XMC_WORD_WHERE;
  *seen = acquires ? xmc_cas_acquire64(word, w, next) : xmc_cas_claim64(word, w, next);
  return *seen == w ? take : 0;
}
XMC_HOT_FN xmc_u32 xmc_place_try(XMC_GLOBAL xmc_u64 *word, xmc_u32 cls, xmc_u64 *seen) {
  return xmc_place_try_as(word, cls, seen, 1);
}

/* The same by up to three tries, because in a heap of few FIFOs several sub-groups take from the same slab. */
XMC_FN xmc_u32 xmc_place_claim(XMC_GLOBAL xmc_u64 *word, xmc_u32 cls, xmc_u64 *seen) {
  xmc_u32 take = xmc_place_try(word, cls, seen);
  if (!take)
    take = xmc_place_try(word, cls, seen);
  if (!take)
    take = xmc_place_try(word, cls, seen);
  return take;
}

/* Releases the Basicblocks in `bits`. Returns the word before; if that was not listed, the caller has the listed duty now. */
XMC_FN xmc_u64 xmc_superblock_release(XMC_GLOBAL xmc_u64 *word, xmc_u32 bits) {
  return xmc_or_release64(word, XMC_WORD_LISTED | bits);
}
/* The same for a free, whose lanes had their fence before (xmc_fence_ahead). */
XMC_FN xmc_u64 xmc_superblock_free(XMC_GLOBAL xmc_u64 *word, xmc_u32 bits) {
  return xmc_or_behind64(word, XMC_WORD_LISTED | bits);
}

/* Clears the listed, parked and seated bits of an exhausted Superblock; *seen is its word as last seen or guessed. Returns 1 if it
 * cleared them, or if the Superblock was not listed or is of another class; 0 if it has free blocks, or if other work-items changed the
 * word twice. If the first CAS failed, *seen is the word that it found. */
XMC_FN int xmc_superblock_unlist(XMC_GLOBAL xmc_u64 *word, xmc_u32 cls, xmc_u64 *seen) {
  xmc_u64 w = *seen, old;
  if (xmc_word_class(w) != cls || !(w & XMC_WORD_LISTED))
    return 1;
  if (xmc_word_available(w, cls))
    return 0;
  old = xmc_cas_relaxed64(word, w, w & ~XMC_WORD_WHERE);
  if (old == w)
    return 1;
  *seen = old;
  if (xmc_word_class(old) != cls || !(old & XMC_WORD_LISTED))
    return 1;
  if (xmc_word_available(old, cls))
    return 0;
  return xmc_cas_relaxed64(word, old, old & ~XMC_WORD_WHERE) == old;
}

XMC_FN int xmc_word_is_whole(xmc_u64 word) {
  return xmc_word_class(word) < XMC_ALL_CLASSES && xmc_word_free(word) == xmc_full_mask(xmc_word_count(word));
}

/* Retires a wholly free Superblock; w is its word as last seen. Returns the word that it had, or 0 if it is not wholly free or of
 * another class. If it succeeds, the caller owns the memory and must give it back to the slab or the spans (xmc_give_back). It acquires
 * what the last owners released; giving the memory back releases that in turn. */
XMC_HOT_FN xmc_u64 xmc_superblock_retire(XMC_GLOBAL xmc_u64 *word, xmc_u32 cls, xmc_u64 w) {
  xmc_u64 old;
  XMC_ROLLED
  while (xmc_word_class(w) == cls && xmc_word_is_whole(w)) {
    old = xmc_cas_acquire64(word, w, XMC_WORD_RETIRED);
    if (old == w)
      return w;
    w = old;
  }
  return 0;
}
#endif
