/* SPDX-License-Identifier: MIT */
/* cl/pressure/reclaim.cl: which Superblocks a search for wholly free ones must look at (xmc_page_look, xmc_reclaim), and who
 * says so (xmc_say_whole, xmc_superblock_show).
 *
 * One page, one Superblock of two Basicblocks, its word:
 *
 *      2        1   0
 *   +---------+-------+
 *   | watched |  free |       RETIRED: all bits set
 *   +---------+-------+
 *
 * Checked: when nobody moves any more, a Superblock in use that is not watched, and one that is wholly free, has its
 * page's bit, so that the next search looks at it; and it is retired by one searcher at most.
 *
 * Mutants:  SAYS_NOTHING   a release that makes a watched one wholly free sets no bit
 *           SILENT_BIRTH   a new Superblock sets no bit
 *           SCARCE_FIRST   who starts one asks whether room is scarce before it has claimed the page
 *           IN_USE_ONLY    a page where somebody is about to start one passes for looked at
 *           ONE_LOOK       the searcher does not look again after it cleared the bit
 *           SURE           a searcher whose CAS fails does not mind
 * SHORT: fewer processes
 */
#include "steps.h"
#define WATCHED 4
#define RETIRED 7
#define FREE(w) ((w) & 3)
#define WHOLE(w) ((w) != RETIRED && FREE(w) == 3)

byte word = RETIRED;
bit page = 1;   /* free */
bit bits = 1;   /* this page's in the whole bitmap: before room is scarce all are set */
bit scarce = 0;
byte owned = 0; /* ghost: blocks in somebody's hands */

/* A block of the Superblock, or of a new one */
inline claim() {
  take = 0;
  STEP(w = word);
  do
  :: w != RETIRED && FREE(w) ->
     take = (FREE(w) & 1 -> 1 : 2);
     STEP(if
          :: word == w -> word = w & ~take; assert(!(owned & take)); owned = owned | take; won = 1
          :: else -> w = word; won = 0
          fi);
     if
     :: won -> break
     :: else -> take = 0
     fi
  :: w == RETIRED ->
#ifdef SCARCE_FIRST
     STEP(due = scarce);
#endif
     STEP(won = page; page = 0);
     if
     :: won ->
        take = 1;
#ifndef SCARCE_FIRST
        STEP(due = scarce);
#endif
        STEP(assert(word == RETIRED && !owned); word = 2; owned = 1);
#ifdef SILENT_BIRTH
        due = 0;
#endif
        if
        :: due -> STEP(bits = 1)
        :: else
        fi
     :: else
     fi;
     due = 0;
     break
  :: else -> break
  od
}

inline release() {
  STEP(w = word; assert(w != RETIRED && (owned & take)); owned = owned & ~take; word = word | take);
  w = w | take;
  if
  :: (w & WATCHED) && FREE(w) == 3 ->
#ifdef SAYS_NOTHING
     skip
#else
     STEP(if
          :: word == w -> word = w & ~WATCHED; won = 1
          :: else -> won = 0
          fi);
     if
     :: won -> STEP(bits = 1)
     :: else
     fi
#endif
  :: else
  fi;
  take = 0
}

proctype user(byte turns) {
  byte w = 0, take = 0;
  bit won = 0, due = 0;
  do
  :: turns > 0 ->
     claim();
     if
     :: take -> release()
     :: else
     fi;
     turns--
  :: else -> break
  od
}

inline look() {
  unsure = 0;
  STEP(won = page);
  if
  :: won /* free */
  :: else ->
     STEP(w = word);
     if
     :: w == RETIRED ->
#ifdef IN_USE_ONLY
        skip
#else
        unsure = 1
#endif
     :: WHOLE(w) ->
        STEP(if
             :: word == w -> word = RETIRED; won = 1
             :: else -> won = 0
             fi);
        if
        :: won -> STEP(assert(!owned && !page); page = 1)
        :: else -> unsure = 1
        fi
     :: w != RETIRED && !WHOLE(w) && !(w & WATCHED) ->
        STEP(if
             :: word == w -> word = w | WATCHED
             :: else -> unsure = 1
             fi)
     :: else
     fi
  fi;
#ifdef SURE
  unsure = 0
#endif
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
#ifndef ONE_LOOK
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
    assert(!owned);
    assert(page -> word == RETIRED : word != RETIRED);
    assert(word == RETIRED || (word & WATCHED) || bits);
    assert(!WHOLE(word) || bits)
  }
}

init {
  atomic {
#ifdef SHORT
    run user(2);
    run user(1);
    run searcher(2)
#else
    run user(2);
    run user(2);
    run searcher(2);
    run searcher(1)
#endif
  }
}
