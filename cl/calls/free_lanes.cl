/* SPDX-License-Identifier: MIT */
/* free where lanes run in lock step: lanes whose blocks are of the same Superblock release them together (coalesce.cl). */
#ifndef XMC_FREE_LANES_CL
#define XMC_FREE_LANES_CL
#include "full_group.cl"
#include "give_back.cl"

#if XMC_SIMT && XMC_COALESCING != XMC_COALESCE_NONE
/* Returns 1 if it is worth trying whether `lanes` lanes, whose blocks are the `bits` of a Superblock, free all its blocks. Of a small class
 * this is tried for 32 blocks only. Fewer are all blocks only in a slab's last Superblock, and where lanes free different sizes most of these CAS
 * failed, which made the chain of accesses half as long again (tests/test_steps.c). */
XMC_FN int xmc_may_be_all(xmc_u32 cls, xmc_u32 bits, xmc_u32 lanes) {
  return lanes >= (xmc_class_is_small(cls) ? 32u : 8u) && lanes <= 32u &&
         bits == 0xffffffffu >> (32u - lanes);
}

/* Releases `bits` of the Superblock at `place`, which may be all its blocks, by a CAS and a fetch-or. If they are, and the Superblock is not
 * listed, its word is `used`: the CAS retires it, and its memory is given back with this release. The fetch-or is issued at once, behind
 * the same fence. If the CAS failed, the fetch-or is the release; else it changes nothing, because a retired word has these bits set.
 * Returns 0 if the CAS found `used`, else another value. *old is what the fetch-or found. *fifo (or XMC_NONE), *hint, *own and *active are
 * those of the caller's slot for the class, loaded at the same time. */
XMC_PART_FN xmc_u32 xmc_release_whole(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_place place,
                                      xmc_u32 bits, xmc_u64 used, xmc_u64 *old, xmc_u32 *fifo, xmc_u32 *hint,
                                      xmc_u32 *own, xmc_u64 *active) {
  xmc_u64 was = xmc_cas_behind64_fast(xmc_word_at(heap, words, place.id), used, XMC_WORD_RETIRED), fifos;
  xmc_u32 partly;
  *old = xmc_or_hint64_fast(xmc_word_at(heap, words, place.id), XMC_WORD_LISTED | bits);
  fifos = xmc_fixed_fifos(heap, place.cls);
  *fifo = xmc_fifos_first(fifos) + xmc_slot_hint(me, xmc_fifos_count(fifos));
  *own = xmc_fifos_own(fifos);
  xmc_load_row_fast(&xmc_fifo_number(heap, *fifo)->active, active, hint, &partly);
  if (!xmc_fifos_count(fifos)) {
    *fifo = XMC_NONE;
    *active = partly = 0;
  }
  /* `partly` is less than 2^31 and adds nothing, but makes the result depend on the FIFO's row: otherwise ptxas waits for the CAS before
   * it issues the load of that row. */
  return (xmc_u32)was | ((xmc_u32)(was >> 32) ^ ((xmc_u32)(used >> 32) | partly >> 31));
}

/* Releases `bits` of the Superblock at `place` for `lanes` lanes, and does what follows. There are two forms: with XMC_NO_YIELDS all that must
 * be settled is settled in the end, in one place, and what atomics return is hidden (nvidia.h). */
#if XMC_NO_YIELDS
XMC_PART_FN void xmc_class_free_first(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_place place,
                                      xmc_u32 bits, xmc_u32 lanes) {
  xmc_u64 old, used, active, word = 0, found = 0;
  xmc_u32 fifo, hint, own, other = 1, due = XMC_NONE, cls = place.cls; /* what must be settled in the end */
  if (xmc_may_be_all(place.cls, bits, lanes)) {
    used = xmc_word_make(place.cls, lanes, 0);
    other = xmc_release_whole(heap, me, words, place, bits, used, &old, &fifo, &hint, &own, &active);
    other = XMC_NO_YIELD(other | ((old & XMC_WORD_LISTED) == 0)); /* this waits for the fetch-or, too */
    if (!other)
      due = XMC_HIDDEN(
          xmc_superblock_released(heap, me, words, &cls, place.id, used, fifo, hint, own, active, &word));
    else
      found = XMC_HIDDEN(old);
  } else {
    found = xmc_superblock_free(xmc_word_at(heap, words, place.id), bits);
  }
  if (other && !xmc_release_is_all(heap, place.cls, bits, lanes, found)) {
    XMC_AFRESH64(heap);
    XMC_AFRESH(place.id);
    cls = place.cls;
    XMC_AFRESH(cls);
    word = found;
    due = xmc_blocks_released(heap, me, words, &cls, place.id, bits, lanes, &word);
  }
  if (due != XMC_NONE)
    xmc_settle(heap, me, words, XMC_HIDDEN(cls), due, XMC_HIDDEN(word));
}
#else
XMC_PART_FN void xmc_class_free_first(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_place place,
                                      xmc_u32 bits, xmc_u32 lanes) {
  xmc_u64 old, used, active;
  xmc_u32 fifo, hint, own, other;
  if (xmc_may_be_all(place.cls, bits, lanes)) {
    used = xmc_word_make(place.cls, lanes, 0);
    other = xmc_release_whole(heap, me, words, place, bits, used, &old, &fifo, &hint, &own, &active);
    if (!other && (old & XMC_WORD_LISTED)) { /* this waits for the fetch-or, too */
      xmc_superblock_settled(heap, me, words, place.cls, place.id, used, fifo, hint, own, active);
      return;
    }
  } else {
    old = xmc_superblock_free(xmc_word_at(heap, words, place.id), bits);
  }
  if (!xmc_release_is_all(heap, place.cls, bits, lanes, old))
    xmc_blocks_settled(heap, me, words, place.cls, place.id, bits, lanes, old);
}
#endif

/* Frees the Basicblock that begins at `place`. Any lanes may call it: those whose blocks have the same state word form a group, and the
 * group's first lane releases for all. */
XMC_FN void xmc_class_free(XMC_GLOBAL xmcHeap *heap, xmc_u32 me, xmc_u32 words, xmc_place place) {
  xmc_u32 bits = 1u << place.bit, lanes;
  xmc_lanes group = xmc_lanes_at(xmc_word_at(heap, words, place.id));
  lanes = xmc_lanes_count(group);
  if (lanes > 1u)
    bits = xmc_lanes_gather32(group, bits); /* now what each lane wrote is ordered before the release */
  if (xmc_lanes_below(group) == 0)
    xmc_class_free_first(heap, me, words, place, bits, lanes);
}
#endif
#endif
