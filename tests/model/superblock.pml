/* SPDX-License-Identifier: MIT */
/* cl/superblocks/superblock.cl, cl/superblocks/seat.cl and cl/superblocks/supply.cl: the state word, the active Superblock, listing, parking, retiring, reuse.
 *
 * Two Superblocks of two Basicblocks on a page each, two classes A and B with one FIFO each. The ring, whose
 * steps fifo.pml checks, is one step here; an id that is stale stays in it as it does there. The words:
 *
 *     5   4    3      2     1   0
 *   +-------+-------+------+-------+
 *   | class | parked|listed|  free |       class 3: none; RETIRED: all bits set
 *   +-------+-------+------+-------+
 *
 * Checked: no block has two owners, none is handed out as another class's; at the end every block that is free
 * can be found (the invariants of arena.h), and after all frees everything is free; with one process stopped
 * anywhere, at most one Superblock is out of sight.
 *
 * Variants: THREE              a third process, and nobody is stopped
 *           NO_RING            the ring is always full, so that Superblocks are parked
 *           SCARCE             they are parked, and stay so while blocks are claimed from them
 *           UNBUFFERED         no FIFO: all are parked, and stay so while blocks are claimed from them
 * Mutants:  NOT_ENQUEUED       a release sets the listed bit and nobody enqueues
 *           CLASS_UNCHECKED    a claim does not look at the class: a stale id gives a block of another size
 *           UNLIST_BLINDLY     unlisting does not look for free blocks
 *           NO_COUNT           the active Superblock's CAS has no count above the id
 *           RETIRE_BY_STORE    a wholly free Superblock is retired without a CAS
 *           NO_RING PARK_UNSEEN  parking sets no bit in the bitmap
 *           UNBUFFERED UNPARK_ONE_LOOK  who took the last parked one of a page clears its bit and looks no more
 *           SEAT_BY_STORE      a new Superblock takes the exhausted one's seat, whoever sits there by now
 *           WAITS              who finds no Superblock waits for one: not lock-free
 */
#include "steps.h"
#if defined(UNBUFFERED) || defined(SCARCE)
#define NO_RING
#endif
#define A 0
#define B 1
#define NO 3 /* no id, no class */
#define LISTED 4
#define PARKED 8
#if defined(UNBUFFERED) || defined(SCARCE)
#define DUTY 0
#else
#define DUTY PARKED /* goes with a claim */
#endif
#define FREE(w) ((w) & 3)
#define CLASS(w) ((w) >> 4 & 3)
#define MAKE(cls, free) ((cls) << 4 | (free))
#define RETIRED 63
#define WHOLE(w) (FREE(w) == 3)
/* Parameters of inlines have a letter of their own: an argument of the same name would be expanded for ever. */
#define LOWEST(f) ((f) & 1 -> 1 : (f))
#ifdef CLASS_UNCHECKED
#define AVAILABLE(w, cls) (CLASS(w) != NO -> FREE(w) : 0)
#else
#define AVAILABLE(w, cls) (CLASS(w) == cls -> FREE(w) : 0)
#endif

byte word[2] = RETIRED;
byte map[2] = NO;      /* the page map */
byte pages = 3;        /* bit i: page i is free */
byte fifo_active[2] = NO;   /* by class: id, and above it how often it changed */
byte ring0[2] = NO;    /* by class: two messages, the head first */
byte ring1[2] = NO;
bit parked[4];         /* the parked bitmap: by class, then by page */
#define UNKNOWN 255 /* no seat */
#define ID(a) ((a) & 3)
#ifdef NO_COUNT
#define NEXT(a, id) (id)
#else
#define NEXT(a, id) ((((a) >> 2) + 1 & 15) << 2 | (id))
#endif

byte owned[2]; /* ghost: blocks in somebody's hands */

#define CAS(at, old, new) \
  if \
  :: at == old -> at = new; won = 1 \
  :: else -> won = 0 \
  fi

inline retire(r_id, r_cls) {
  won = 0;
  do
  :: CLASS(w) == r_cls && WHOLE(w) ->
     STEP(
       if
#ifdef RETIRE_BY_STORE
       :: true ->
#else
       :: word[r_id] == w ->
#endif
          word[r_id] = RETIRED; won = 1
       :: else -> w = word[r_id]
       fi);
     if
     :: won -> break
     :: else
     fi
  :: else -> break
  od
}

/* xmc_pages_return */
inline give_back(g_id) {
  STEP(assert(!(pages >> g_id & 1)); pages = pages | 1 << g_id)
}

inline park(k_cls, k_id) {
  STEP(w = word[k_id]);
  do
  :: CLASS(w) == k_cls && (w & LISTED) ->
     STEP(
       if
       :: word[k_id] == w -> word[k_id] = w | PARKED; won = 1
       :: else -> w = word[k_id]; won = 0
       fi);
     if
     :: won ->
#ifndef PARK_UNSEEN
        STEP(parked[k_cls * 2 + k_id] = 1);
#endif
        break
     :: else
     fi
  :: else -> break
  od
}

inline put(p_cls, p_id) {
  STEP(
    won = 1;
    if
#ifdef NO_RING
    :: true -> won = 0
#else
    :: ring0[p_cls] == NO -> ring0[p_cls] = p_id
    :: ring0[p_cls] != NO && ring1[p_cls] == NO -> ring1[p_cls] = p_id
    :: else -> won = 0
#endif
    fi);
  if
  :: won
  :: else -> park(p_cls, p_id)
  fi
}

inline settle(s_cls, s_id) {
#ifndef UNBUFFERED
  STEP(a = fifo_active[s_cls]);
#endif
  won = 0;
  if
#ifndef UNBUFFERED
  :: ID(a) == NO || ID(a) == s_id -> STEP(CAS(fifo_active[s_cls], a, NEXT(a, s_id)))
#endif
  :: else
  fi;
  if
  :: won
  :: else ->
     retire(s_id, s_cls);
     if
     :: won -> give_back(s_id)
     :: else -> put(s_cls, s_id)
     fi
  fi
}

/* `clear`: 0 or PARKED. Leaves the block's bit in `take`, the word as last seen in w. */
inline claim(c_id, c_cls, c_clear) {
  do
  :: take = AVAILABLE(w, c_cls);
     take = LOWEST(take);
     if
     :: take == 0 || (w & c_clear) != c_clear -> take = 0; break
     :: else
     fi;
     STEP(
       if
       :: word[c_id] == w ->
          word[c_id] = w & ~c_clear & ~take;
          won = 1;
          assert(CLASS(w) == c_cls && map[c_id] == c_cls); /* the right size */
          assert(!(owned[c_id] & take));               /* nobody's yet */
          owned[c_id] = owned[c_id] | take
       :: else -> w = word[c_id]; won = 0
       fi);
     if
     :: won -> break
     :: else
     fi
  od
}

/* won = 1: not listed any more, or was not to be */
inline unlist(u_id, u_cls) {
  do
  :: CLASS(w) != u_cls || !(w & LISTED) -> won = 1; break
#ifndef UNLIST_BLINDLY
  :: CLASS(w) == u_cls && (w & LISTED) && AVAILABLE(w, u_cls) -> won = 0; break
  :: CLASS(w) == u_cls && (w & LISTED) && !AVAILABLE(w, u_cls) ->
#else
  :: CLASS(w) == u_cls && (w & LISTED) ->
#endif
     STEP(
       if
       :: word[u_id] == w -> word[u_id] = w & ~(LISTED | PARKED); won = 1
       :: else -> w = word[u_id]; won = 0
       fi);
     if
     :: won -> break
     :: else
     fi
  od
}

/* xmc_fifo_claim with xmc_fifo_advance in it. Leaves id and take; take = 0: the FIFO has none, and a new Superblock
 * may take the seat of the exhausted one, as it was seen. */
inline fifo_claim(f_cls) {
  take = 0;
  do
  :: STEP(a = fifo_active[f_cls]; id = ID(a));
     won = 1;
     if
     :: id != NO ->
        w = MAKE(f_cls, 3) | LISTED; /* a guess */
        claim(id, f_cls, 0);
        if
        :: take -> break
        :: else ->
           STEP(turn = (ring0[f_cls] != NO)); /* looked at before, so that both accesses are under way at once */
           unlist(id, f_cls)
        fi
     :: else -> STEP(turn = (ring0[f_cls] != NO))
     fi;
     if
     :: !won /* it has blocks again */
     :: else ->
        if
        :: turn -> STEP(next = ring0[f_cls]; ring0[f_cls] = ring1[f_cls]; ring1[f_cls] = NO)
        :: else -> next = NO
        fi;
        if
        :: next == NO ->
#ifndef WAITS
           seat = a;
           break
#endif
        :: else ->
           STEP(CAS(fifo_active[f_cls], a, NEXT(a, next)));
           if
           :: !won -> put(f_cls, next) /* somebody else moved it on */
           :: else
           fi
        fi;
        next = 0
     fi
  od;
  next = 0;
  turn = 0
}

/* xmc_superblock_start in the seat, if there is one. won = 1: it is there */
#ifdef SEAT_BY_STORE
#define SIT(t_cls, id) fifo_active[t_cls] = NEXT(seat, id); won = 1
#else
#define SIT(t_cls, id) CAS(fifo_active[t_cls], seat, NEXT(seat, id))
#endif

/* A new Superblock: take = 1 or, all of it, 3; or 0 when no page is free. */
inline carve(v_cls) {
  id = 0;
  take = 0;
  do
  :: id < 2 ->
     STEP(won = pages >> id & 1; pages = pages & ~(1 << id));
     if
     :: won ->
        STEP(map[id] = v_cls);
        if
        :: take = 1
        :: take = 3
        fi;
        w = MAKE(v_cls, 3 & ~take) | (take == 1 -> LISTED : 0);
        STEP(assert(word[id] == RETIRED && owned[id] == 0); owned[id] = take; word[id] = w);
        won = 0;
        if
        :: seat != UNKNOWN && take == 1 -> STEP(SIT(v_cls, id))
        :: seat != UNKNOWN && take == 3 && ID(seat) != NO -> STEP(CAS(fifo_active[v_cls], seat, NEXT(seat, NO)))
        :: else
        fi;
        if
        :: take == 1 && !won -> put(v_cls, id)
        :: else
        fi;
        break
     :: else -> id++
     fi
  :: else -> break
  od;
  seat = UNKNOWN
}

/* xmc_page_unpark. Leaves take. */
inline page_unpark(q_cls, q_id) {
  take = 0;
  STEP(won = (map[q_id] == q_cls));
  if
  :: won ->
     STEP(w = word[q_id]);
     do
     :: CLASS(w) == q_cls && (w & PARKED) ->
        take = AVAILABLE(w, q_cls);
        take = LOWEST(take);
        next = w & ~take;
        if
        :: !AVAILABLE(next, q_cls) -> next = next & ~(LISTED | PARKED)
        :: else -> next = next & ~DUTY
        fi;
        STEP(
          if
          :: word[q_id] == w ->
             word[q_id] = next;
             won = 1;
             assert(map[q_id] == q_cls);
             assert(!(owned[q_id] & take));
             owned[q_id] = owned[q_id] | take
          :: else -> w = word[q_id]; won = 0
          fi);
        if
        :: won && take && AVAILABLE(next, q_cls) && !(next & PARKED) ->
           w = next;
           settle(q_cls, q_id);
           break
        :: won && !(take && AVAILABLE(next, q_cls) && !(next & PARKED)) -> break
        :: else
        fi
     :: else -> take = 0; break
     od
  :: else
  fi
}

#define PLACE(cls, id) parked[(cls) * 2 + (id)]
/* xmc_unpark */
inline unpark(n_cls) {
  take = 0;
  id = 0;
  do
  :: id < 2 ->
     STEP(won = PLACE(n_cls, id));
     if
     :: won ->
        page_unpark(n_cls, id);
        won = 0;
        if
        :: take -> STEP(won = (word[id] & PARKED) != 0)
        :: else
        fi;
        if
        :: won
        :: else ->
           STEP(PLACE(n_cls, id) = 0);
#ifndef UNPARK_ONE_LOOK
           won = 0;
           if
           :: take -> STEP(won = (word[id] & PARKED) != 0)
           :: else ->
              page_unpark(n_cls, id);
              won = take != 0
           fi;
           if
           :: won -> STEP(PLACE(n_cls, id) = 1)
           :: else
           fi
#endif
        fi;
        if
        :: take -> break
        :: else
        fi
     :: else
     fi;
     id++
  :: else -> break
  od
}

/* xmc_fifo_reclaim: retires where they stand what is wholly free of a FIFO. */
inline reclaim(m_cls) {
  turn = 0;
  STEP(a = fifo_active[m_cls]);
  id = ID(a);
  do
  :: turn < 3 ->
     if
     :: turn == 1 -> STEP(id = ring0[m_cls])
     :: turn == 2 -> STEP(id = ring1[m_cls])
     :: else
     fi;
     if
     :: id != NO ->
        STEP(w = word[id]);
        if
        :: CLASS(w) == m_cls && WHOLE(w) ->
           retire(id, m_cls);
           if
           :: won -> give_back(id)
           :: else
           fi
        :: turn == 0 && !(CLASS(w) == m_cls && WHOLE(w)) -> unlist(id, m_cls)
        :: else
        fi;
        if
        :: turn == 0 && won -> STEP(CAS(fifo_active[m_cls], a, NEXT(a, NO)))
        :: else
        fi
     :: else
     fi;
     won = 0;
     turn++
  :: else -> break
  od
}

inline last_resort(l_cls) {
  unpark(l_cls);
  if
  :: !take ->
#ifndef UNBUFFERED
     reclaim(l_cls);
     reclaim(1 - l_cls);
#endif
     carve(l_cls)
  :: else
  fi
}

inline release(e_cls) {
  STEP(owned[id] = owned[id] & ~take; w = word[id]; assert(!(w & take)); word[id] = w | LISTED | take);
  if
  :: !(w & LISTED) ->
     w = w | LISTED | take;
#ifndef NOT_ENQUEUED
     settle(e_cls, id)
#endif
  :: else ->
     won = 0;
     if
     :: FREE(w) && WHOLE(w | take) && (w & PARKED) -> won = 1
     :: FREE(w) && WHOLE(w | take) && !(w & PARKED) -> STEP(won = (ID(fifo_active[e_cls]) != id)) /* xmc_is_active_here */
     :: else
     fi;
     if
     :: won ->
        w = w | LISTED | take;
        retire(id, e_cls);
        if
        :: won -> give_back(id)
        :: else
        fi
     :: else
     fi
  fi
}

/* `program`: an operation a digit of 2 bits, from the lowest: 1 malloc of A, 2 malloc of B, 3 free the oldest */
proctype user(byte program) {
  byte a, w, id, next, take, turn, seat = UNKNOWN;
  byte id1 = NO, take1, id2 = NO, take2; /* blocks it holds, the oldest first */
  byte cls;
  bit won;
  do
  :: program & 3 ->
     if
     :: (program & 3) == 3 ->
        id = id1;
        take = take1;
        atomic { id1 = id2; take1 = take2; id2 = NO; take2 = 0 };
        if
        :: id != NO ->
           STEP(cls = map[id]);
           release(cls)
        :: else
        fi
     :: else ->
        cls = (program & 3) - 1;
#ifndef UNBUFFERED
        fifo_claim(cls);
        if
        :: !take -> carve(cls)
        :: else
        fi;
#endif
        seat = UNKNOWN;
        if
        :: !take -> last_resort(cls)
        :: else
        fi;
        if
        :: take && id1 == NO -> id1 = id; take1 = take
        :: take && id1 != NO -> id2 = id; take2 = take
        :: else
        fi
     fi;
progress:
     atomic { program = program >> 2; a = 0; w = 0; id = 0; next = 0; take = 0; turn = 0; cls = 0; won = 0 }
  :: else -> break
  od
}

#define IN_FIFO(id, cls) (ID(fifo_active[cls]) == id || ring0[cls] == id || ring1[cls] == id)
#define USED_WELL(id, w, cls) \
  (map[id] == cls && (!(w & LISTED) -> FREE(w) == 0 : ((w & PARKED) -> parked[(cls) * 2 + (id)] : IN_FIFO(id, cls))))
#define WELL(id) \
  ((pages >> id & 1) -> word[id] == RETIRED : (CLASS(word[id]) != NO && USED_WELL(id, word[id], CLASS(word[id]))))
#if defined(THREE) && defined(UNBUFFERED)
#define EMPTY(id) (FREE(word[id]) + owned[id] == 3 || word[id] == RETIRED)
#else
#define EMPTY(id) ((pages >> id & 1) || (WHOLE(word[id]) && owned[id] == 0))
#endif

/* When nobody can move: the invariants */
active proctype end() {
  timeout;
  d_step {
    if
    :: stopped == NOBODY -> assert(WELL(0) && WELL(1)); assert(EMPTY(0) && EMPTY(1))
    :: else -> assert(WELL(0) || WELL(1))
    fi
  }
}

init {
  atomic {
    run user(245); /* A A free free */
    run user(237); /* A free B free */
#if defined(THREE) && defined(UNBUFFERED)
    run user(1)    /* A: a block stays out, or its Superblock would be retired whatever shows it */
#elif defined(THREE)
    run user(14)   /* B free */
#endif
  };
#ifndef THREE
  if
  :: STOP(2)
  :: STOP(3)
  fi
#endif
}
