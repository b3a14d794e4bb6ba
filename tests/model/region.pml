/* SPDX-License-Identifier: MIT */
/* A region's chunks: cl/regions/request.cl (xmc_region_try), cl/regions/region.cl (xmc_region_more, xmc_region_grow, xmc_ring_insert), cl/regions/end.cl
 * (xmc_region_close, xmc_region_empty_slot) and cl/regions/chunk.cl (xmc_room_take, xmc_chain_release), with one slot. Page 0 is for
 * headers, the others for chunks of two units each. All pages may be taken by somebody else, who writes what he likes and finds
 * it unchanged.
 *
 *   owner, slot, link: in pages       a tag and a page       room: in a table of its own, which is never anything else
 *
 * One process asks twice and reads owner and slot, the second time, from a cache as old as the first. Others ask once; one frees the
 * region, makes another one at the same place and asks that; one frees the first region as well.
 *
 * Checked: no unit is handed out twice, nor one of a page that is no chunk; what lies in others' pages stays as it was; of two frees one
 * succeeds; when all is quiet each chunk is in the ring of the region that lives, but for one that a stopped process had
 * in hand, or those of a free that stopped.
 *
 * Mutants:  NO_TAG         words in pages hold no tag
 *           ROOM_IN_CHUNK  the room word lies in the chunk
 *           ROOM_OPEN      the free leaves the room word as it is
 *           LINK_OPEN      the free reads links and does not close them
 *           SLOT_OPEN      the same for the slot
 *           OWNER_BY_STORE the free looks at the owner word and then clears it
 *           KEPT           who cannot attach a chunk does not give it back
 *           BY_STORE       a chunk is attached by a store
 *           MOVE_BY_STORE  a slot is moved on by a store
 *           WAITS          who finds the slot without a chunk waits for one, but for the first
 * TWO_FREES: two processes free the region. SHORT: fewer that ask. AHEAD: who was served, by choice, moves the slot on to the next
 * chunk, a new one if need be, as requests on GPUs do
 */
#include "steps.h"
#define PAGES 4 /* 0: the header's */
#define UNITS 2
#define BASE 8
#define GARBAGE 255
#define NONE 7
#ifdef NO_TAG
#define WORD(tag, page) (8 + (page))
#define IS_OF(w, tag) ((w) / 8 == 1)
#else
#define WORD(tag, page) ((tag) * 8 + (page))
#define IS_OF(w, tag) ((w) / 8 == (tag))
#endif
#define PAGE(w) ((w) & 7)
#ifdef AHEAD
#define AHEAD_FLAG bit ahead = 0;
#else
#define AHEAD_FLAG
#define ahead 0
#endif

mtype = { FREE, HEADER, CHUNK, USER };
mtype use[PAGES] = FREE;
byte owner = 0, slot = 0;                    /* in page 0 */
byte link[PAGES] = 0;                        /* in the others */
byte tag_of[PAGES] = 0, room[PAGES] = 0;     /* the room words: one word each */
byte taken[PAGES] = 0;                       /* ghost: units of this use of the chunk */
byte frees = 0, kept = 0;                    /* ghosts: frees of the first region that succeeded; chunks in hand */

#define TAKES(c, t) \
  if \
  ::tag_of[c] == (t) && room[c] > BASE->assert(use[c] == CHUNK && !(taken[c] & 1 << (room[c] - BASE - 1))); \
  taken[c] = taken[c] | 1 << (room[c] - BASE - 1); \
  got = 1 ::else->got = 0 fi; \
  room[c] = room[c] - 1

/* A new chunk, its last unit the caller's */
inline grow(tag) {
  STEP(p = NONE;
       if
       :: use[1] == FREE -> p = 1
       :: else ->
          if
          :: use[2] == FREE -> p = 2
          :: else ->
             if
             :: use[3] == FREE -> p = 3
             :: else
             fi
          fi
       fi;
       if
       :: p != NONE -> use[p] = CHUNK; taken[p] = 0; kept++
       :: else
       fi);
  if
  :: p != NONE ->
     STEP(tag_of[p] = tag; room[p] = BASE + UNITS - (1 - ahead); taken[p] = (1 - ahead) << (UNITS - 1));
     do
     :: STEP(s = slot);
        c = PAGE(s);
        if
        :: !IS_OF(s, tag) -> break
        :: IS_OF(s, tag) && c == 0 ->
           STEP(link[p] = WORD(tag, p));
           STEP(if
                :: slot == s -> slot = WORD(tag, p); got = 1; kept--
                :: else
                fi)
        :: else ->
           STEP(l = 0;
                if
                :: use[c] == CHUNK && tag_of[c] == tag -> l = link[c]
                :: else
                fi);
           if
           :: !IS_OF(l, tag) -> break
           :: else
           fi;
           STEP(link[p] = l);
#ifdef BY_STORE
           STEP(link[c] = WORD(tag, p); got = 1; kept--);
#else
           STEP(if
                :: link[c] == l -> link[c] = WORD(tag, p); got = 1; kept--
                :: else
                fi);
#endif
           if
           :: got ->
              STEP(if
                   :: slot == s -> slot = WORD(tag, p)
                   :: else
                   fi)
           :: else
           fi
        fi;
        if
        :: got -> break
        :: else
        fi
     od;
     if
     :: !got ->
#ifndef KEPT
        STEP(tag_of[p] = 0);
        STEP(use[p] = FREE; kept--)
#else
        STEP(kept--)
#endif
     :: else
     fi
  :: else
  fi;
  p = 0
}

/* o and s: as the cache has them */
inline request(tag) {
  got = 0;
  if
  :: o == tag && IS_OF(s, tag) && PAGE(s) != 0 && PAGE(s) < PAGES ->
     c = PAGE(s);
     STEP(TAKES(c, tag))
  :: else
  fi;
#ifdef AHEAD
  if
  :: got -> got = 0; ahead = 1
  :: skip
  fi;
#endif
  if
  :: got
  :: else ->
     do
     :: STEP(o = 0;
             if
             :: use[0] == HEADER -> o = owner
             :: else
             fi);
        if
        :: o != tag -> break
        :: else
        fi;
        STEP(s = slot);
        c = PAGE(s);
        if
        :: !IS_OF(s, tag) -> break
        :: IS_OF(s, tag) && c == 0 ->
#ifdef WAITS
           STEP(if
                :: !waits -> waits = 1; l = 1
                :: else -> l = 0
                fi);
           if
           :: l -> grow(tag); break
           :: else
           fi
#else
           grow(tag);
           break
#endif
        :: else ->
           STEP(l = use[c] == CHUNK && tag_of[c] == tag);
           if
           :: !l -> break
           :: else
           fi;
           if
           :: !ahead -> STEP(TAKES(c, tag))
           :: else
           fi;
           if
           :: got -> break
           :: else
           fi;
           STEP(l = link[c]);
           if
           :: IS_OF(l, tag) && PAGE(l) != c && PAGE(l) < PAGES && tag_of[PAGE(l)] == tag && room[PAGE(l)] > BASE ->
#ifdef MOVE_BY_STORE
              STEP(slot = l);
#else
              STEP(if
                   :: slot == s -> slot = l
                   :: else
                   fi);
#endif
              if
              :: ahead -> break
              :: else
              fi
           :: else -> grow(tag); break
           fi
        fi
     od
  fi;
progress_request:
#ifdef AHEAD
  ahead = 0;
#endif
  got = 0;
  c = 0;
  l = 0;
  p = 0
}
#ifdef WAITS
bit waits = 0;
#endif

inline free_region(tag) {
#ifdef OWNER_BY_STORE
  STEP(got = use[0] == HEADER && owner == tag);
  if
  :: got -> STEP(owner = 0)
  :: else
  fi;
#else
  STEP(got = use[0] == HEADER && owner == tag;
       if
       :: got -> owner = 0
       :: else
       fi);
#endif
  if
  :: got ->
     frees++;
     assert(frees == 1);
#ifdef SLOT_OPEN
     STEP(s = slot);
#else
     STEP(s = slot; slot = 0);
#endif
     do
     :: IS_OF(s, tag) && PAGE(s) != 0 ->
        c = PAGE(s);
        STEP(l = 0;
             if
             :: use[c] == CHUNK && tag_of[c] == tag -> l = link[c]
#ifndef LINK_OPEN
                ; link[c] = 0
#endif
             :: else
             fi);
#ifndef ROOM_OPEN
        STEP(if
             :: tag_of[c] == tag -> tag_of[c] = 0; room[c] = 0
             :: else
             fi);
#endif
        if
        :: !IS_OF(l, tag) -> break
        :: else
        fi;
        STEP(assert(use[c] == CHUNK); use[c] = FREE);
        s = l
     :: else -> break
     od;
     STEP(use[0] = FREE)
  :: else
  fi;
progress_free:
  got = 0;
  c = 0;
  l = 0;
  s = 0
}

proctype asks(byte turns) {
  byte o = 0, s = 0, c = 0, l = 0, p = 0;
  AHEAD_FLAG
  bit got = 0;
  STEP(o = owner);
  STEP(s = slot);
  do
  :: turns > 0 ->
     request(1);
     turns--
  :: else -> break
  od
}

proctype frees_only() {
  byte s = 0, c = 0, l = 0;
  bit got = 0;
  free_region(1)
}

proctype frees_and_makes() {
  byte o = 0, s = 0, c = 0, l = 0, p = 0;
  AHEAD_FLAG
  bit got = 0;
  free_region(1);
  STEP(got = use[0] == FREE;
       if
       :: got -> use[0] = HEADER
       :: else
       fi);
  if
  :: got ->
     STEP(slot = WORD(2, 0));
     STEP(owner = 2);
     got = 0;
     o = 2;
     s = WORD(2, 0);
     request(2)
  :: else
  fi
}

/* Takes a free page for something else, and finds what he wrote there. */
proctype user(byte page) {
  bit got = 0;
  byte r = 0;
  STEP(got = use[page] == FREE;
       if
       :: got ->
          use[page] = USER;
          if
          :: page == 0 -> owner = GARBAGE; slot = GARBAGE
          :: else -> link[page] = GARBAGE
          fi;
          r = room[page]
       :: else
       fi);
  if
  :: got ->
     STEP(assert(use[page] == USER);
          if
          :: page == 0 -> assert(owner == GARBAGE && slot == GARBAGE)
          :: else ->
             assert(link[page] == GARBAGE);
#ifdef ROOM_IN_CHUNK
             assert(room[page] == r)
#endif
          fi;
          use[page] = FREE)
  :: else
  fi
}

/* Chunks that no ring leads to */
active proctype end() {
  byte n = 0, c, i;
  timeout;
  d_step {
    for (c : 1 .. PAGES - 1) {
      if
      :: use[c] == CHUNK -> n++
      :: else
      fi
    }
    if
    :: use[0] == HEADER && owner != 0 && owner != GARBAGE ->
       c = PAGE(slot);
       i = 0;
       do
       :: c != 0 && i < PAGES && !(i > 0 && c == PAGE(slot)) ->
          assert(use[c] == CHUNK && tag_of[c] == owner);
          n--;
          c = PAGE(link[c]);
          i++
       :: else -> break
       od
    :: else
    fi;
    assert(stopped != NOBODY || n == 0);
    assert(n <= kept || stopped == 3) /* who frees, and stops, loses chunks */
  }
}

init {
  atomic {
    use[0] = HEADER;
    owner = 1;
    slot = WORD(1, 0);
    if
    :: stopped = NOBODY
    :: stopped = 2
    :: stopped = 3
    fi;
#ifdef TWO_FREES
    run asks(1);
    run frees_and_makes();
    run frees_only();
    run user(0)
#else
    run asks(2);
    run frees_and_makes();
#ifndef SHORT
    run asks(1);
#else
    run user(0);
#endif
    run user(1)
#endif
  }
}
