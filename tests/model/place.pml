/* SPDX-License-Identifier: MIT */
/* cl/calls/full_group.cl: who takes a place of a slab for a whole sub-group learns from the slab's word whether a search must be told of
 * the Superblock (xmc_full_of_slab), and after a new slab whether room is scarce (xmc_full_of_page). The search: cl/pressure/reclaim.cl
 * (xmc_page_look), which watches the slab first, then looks at the places, and whether the slab is wholly free last.
 *
 * One page, a slab, a Superblock of one Basicblock. LARGER: the slab has more places than this one, some always in use, so that it
 * is never wholly free. Their words:
 *
 *      1        0
 *   +---------+------+
 *   | watched | free |       RETIRED: all bits set, and one more
 *   +---------+------+
 *
 * Checked: when nobody moves any more, a slab or Superblock in use that is not watched, and one that is wholly free, has its page's
 * bit; and what is taken is nobody else's.
 *
 * Mutants:  UNTOLD        who takes a place does not mind that the slab is watched
 *           SCARCE_FIRST  who starts a slab asks whether room is scarce before it has claimed the page
 *           ONE_LOOK      the searcher does not look again after it cleared the bit
 *           IN_USE_ONLY   a place where somebody is about to start a Superblock passes for looked at
 *           WATCH_LAST    the searcher watches the slab after it looked at the places
 */
#include "steps.h"
#define FREE 1
#define WATCHED 2
#define RETIRED 7
#define WHOLE(w) ((w) != RETIRED && ((w) & FREE))
#ifdef LARGER
#define WHOLE_SLAB(w) 0
#else
#define WHOLE_SLAB(w) WHOLE(w)
#endif

byte slab = RETIRED, word = RETIRED;
bit page = 1;  /* free */
bit bits = 1;  /* this page's in the whole bitmap: before room is scarce all are set */
bit scarce = 0;
bit owned = 0; /* ghost: the Superblock's block is in somebody's hands */

/* All of a Superblock, in the slab or in a new one */
inline claim() {
  take = 0;
  STEP(w = slab);
  if
  :: w != RETIRED && (w & FREE) ->
     STEP(if
          :: slab == w -> slab = w & ~FREE; take = 1
          :: else
          fi);
     if
     :: take ->
        STEP(assert(!owned && word == RETIRED); owned = 1; word = 0);
#ifndef UNTOLD
        if
        :: w & WATCHED -> STEP(bits = 1)
        :: else
        fi
#else
        skip
#endif
     :: else
     fi
  :: w == RETIRED ->
#ifdef SCARCE_FIRST
     STEP(due = scarce);
#endif
     STEP(take = page; page = 0);
     if
     :: take ->
        STEP(assert(slab == RETIRED); slab = 0);
#ifndef SCARCE_FIRST
        STEP(due = scarce);
#endif
        if
        :: due -> STEP(bits = 1)
        :: else
        fi;
        due = 0;
        STEP(assert(!owned && word == RETIRED); owned = 1; word = 0)
     :: else
     fi
  :: else
  fi
}

/* A watched one became wholly free. */
inline say(name) {
  if
  :: (w & WATCHED) ->
     STEP(if
          :: name == w -> name = w & ~WATCHED; won = 1
          :: else -> won = 0
          fi);
     if
     :: won -> STEP(bits = 1)
     :: else
     fi
  :: else
  fi
}

/* The place of a retired Superblock goes back; the slab stays (own.cl). */
inline give_back() {
  STEP(w = slab; assert(w != RETIRED && !(w & FREE)); slab = slab | FREE);
  w = w | FREE;
  if
  :: WHOLE_SLAB(w) -> say(slab)
  :: else
  fi
}

/* All at once: most often it is retired by the release itself; else whoever looks finds it. */
inline release() {
  STEP(owned = 0;
       if
       :: word == 0 -> word = RETIRED; won = 1
       :: else -> word = word | FREE; w = word; won = 0
       fi);
  if
  :: won -> give_back()
  :: else -> say(word)
  fi
}

proctype user(byte turns) {
  byte w = 0;
  bit take = 0, won = 0, due = 0;
  do
  :: turns > 0 ->
     claim();
     if
     :: take -> release()
     :: take -> turns = 1 /* kept for good */
     :: else
     fi;
     turns--
  :: else -> break
  od
}

inline look_at_place() {
  STEP(w = word);
  if
  :: w == RETIRED ->
     STEP(w = slab);
#ifndef IN_USE_ONLY
     if
     :: !(w & FREE) -> unsure = 1
     :: else
     fi
#endif
  :: WHOLE(w) ->
     STEP(if
          :: word == w -> word = RETIRED; won = 1
          :: else -> won = 0
          fi);
     if
     :: won -> give_back()
     :: else -> unsure = 1
     fi
  :: w != RETIRED && !(w & FREE) && !(w & WATCHED) ->
     STEP(if
          :: word == w -> word = w | WATCHED
          :: else -> unsure = 1
          fi)
  :: else
  fi
}

inline look_at_slab() {
  STEP(w = slab);
  if
  :: w == RETIRED -> unsure = 1
  :: WHOLE_SLAB(w) ->
     STEP(if
          :: slab == w -> slab = RETIRED; won = 1
          :: else -> won = 0
          fi);
     if
     :: won -> STEP(assert(!page && word == RETIRED); page = 1)
     :: else -> unsure = 1
     fi
  :: w != RETIRED && !WHOLE_SLAB(w) && !(w & WATCHED) -> unsure = 1
  :: else
  fi
}

inline watch_slab() {
  STEP(w = slab);
  if
  :: w != RETIRED && !(w & WATCHED) ->
     STEP(if
          :: slab == w -> slab = w | WATCHED
          :: else -> unsure = 1
          fi)
  :: else
  fi
}

inline look() {
  unsure = 0;
  STEP(won = page);
  if
  :: won /* free */
  :: else ->
#ifndef WATCH_LAST
     watch_slab();
#endif
     look_at_place();
     look_at_slab()
#ifdef WATCH_LAST
     ; watch_slab()
#endif
  fi
}

proctype searcher(byte turns) {
  byte w = 0;
  bit won = 0, unsure = 0;
  STEP(scarce = 1);
  do
  :: turns > 0 ->
     STEP(won = bits);
     if
     :: won ->
        look();
        if
        :: !unsure ->
           STEP(bits = 0);
#ifdef ONE_LOOK
           skip
#else
           look();
           if
           :: unsure -> STEP(bits = 1)
           :: else
           fi
#endif
        :: else
        fi
     :: else
     fi;
     turns--
  :: else -> break
  od
}

active proctype end() {
  timeout;
  d_step {
    assert(page -> slab == RETIRED : slab != RETIRED);
    assert(word == RETIRED || (word & WATCHED) || bits);
    assert(slab == RETIRED || (slab & WATCHED) || bits);
    assert(!WHOLE(word) || bits);
    assert(!WHOLE_SLAB(slab) || bits)
  }
}

init {
  atomic {
    run user(2);
    run user(1);
    run searcher(2)
#ifdef LARGER
    ; run searcher(1)
#endif
  }
}
