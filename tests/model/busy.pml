/* SPDX-License-Identifier: MIT */
/* The busy bit of a FIFO: cl/superblocks/fifo.cl (xmc_fifo_enqueue), cl/superblocks/supply.cl (xmc_put, xmc_settle), cl/superblocks/seat.cl (xmc_fifo_advance) and
 * cl/pressure/steal.cl (xmc_fifo_mark_idle). A FIFO with something in it must be in sight of those who steal.
 *
 * The ring is its head and its tail; fifo.pml has the messages. Each enqueue sets the bit, and who puts something into
 * an empty `active`; who finds both empty clears it and looks again.
 *
 * Checked: when nobody moves any more, what is not empty has its bit.
 *
 * Mutants:  STALE_COUNT  only an enqueue that finds the ring empty sets it, by the head it read before it moved the tail
 *           ONE_LOOK     who clears the bit does not look again
 *           SEAT_ONLY    the second look is at the seat alone
 *           SEAT_SILENT  who takes the empty seat sets no bit
 * SHORT: fewer turns
 */
#include "steps.h"

byte head = 0, tail = 0; /* messages head … tail - 1 */
bit seat = 0;            /* `active` holds something */
bit busy = 0;

/* Something comes into the FIFO: it takes the seat or goes into the ring. */
proctype giver(byte turns) {
  byte h, t;
  bit won;
  do
  :: turns > 0 ->
     STEP(won = !seat);
     if
     :: won ->
        STEP(won = !seat; seat = 1);
        if
        :: won ->
#ifndef SEAT_SILENT
           STEP(busy = 1)
#else
           skip
#endif
        :: else
        fi
     :: else
     fi;
     if
     :: !won ->
        do
        :: STEP(h = head);
           STEP(t = tail);
           STEP(if
                :: tail == t -> tail = t + 1; won = 1
                :: else
                fi);
           if
           :: won -> break
           :: else
           fi
        od;
        if
#ifdef STALE_COUNT
        :: h < t
        :: else -> STEP(busy = 1)
#else
        :: STEP(busy = 1)
#endif
        fi
     :: else
     fi;
     turns--;
     h = 0;
     t = 0
  :: else -> break
  od
}

/* Takes what is there; when nothing is, the bit goes. */
proctype taker(byte turns) {
  byte h, t;
  bit won, seated;
  do
  :: turns > 0 ->
     STEP(seated = seat);
     STEP(h = head);
     STEP(t = tail);
     if
     :: h < t ->
        STEP(if
             :: head == h -> head = h + 1; won = 1
             :: else -> won = 0
             fi);
        if
        :: won && !seated -> /* into the seat, as xmc_fifo_advance does */
           STEP(won = !seat; seat = 1);
           if
           :: won -> STEP(busy = 1)
           :: else /* xmc_put would bring it back: here it is gone */
           fi
        :: else
        fi
     :: h >= t && seated -> STEP(seat = 0)
     :: else ->
        STEP(busy = 0);
#ifndef ONE_LOOK
        STEP(seated = seat);
        STEP(h = head);
        STEP(t = tail);
        if
#ifndef SEAT_ONLY
        :: seated || h < t -> STEP(busy = 1)
#else
        :: seated -> STEP(busy = 1)
#endif
        :: else
        fi
#endif
     fi;
     turns--;
     h = 0;
     t = 0;
     won = 0;
     seated = 0
  :: else -> break
  od
}

active proctype end() {
  timeout;
  assert(busy || (!seat && head == tail))
}

init {
  atomic {
#ifdef SHORT
    run giver(2);
    run giver(1);
    run taker(2);
    run taker(1)
#else
    run giver(2);
    run giver(2);
    run taker(3);
    run taker(2)
#endif
  }
}
