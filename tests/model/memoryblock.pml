/* SPDX-License-Identifier: MIT */
/* cl/pages/memoryblock.cl and cl/pages/span_index.cl: runs of pages, split by CAS, merged by fetch-or, found by the index.
 *
 * Two spans of four pages (64 in the code), so runs of 1, 2 and 4 pages have a bit in the index; level 0 is one
 * word with a byte (three bits here) a span, level 1 is their union.
 *
 * Checked: no page has two owners; free pages and pages in use are all there are, at most one process's run
 * is missing when it was stopped anywhere; when all is quiet every run that a span has is in the index, on both
 * levels; a long run is not refused while nobody uses its pages (LONG: one process asks for 6 pages and
 * has to step back when a third one splits the second span; the other asks for 5 and gets them unless the
 * first one is just in the middle of that).
 *
 * Mutants:  SPLIT_BY_STORE    a claim stores the span's word without a CAS
 *           NO_SECOND_LOOK    who clears a wrong bit of the index does not look at the span once more
 *           LONG NO_STEP_BACK a long run that meets a page in use keeps what it took
 *           LONG NO_LAST_LOOK refused without a search after the flux was read: although there is room
 *           CLEAR_FIRST       a release adds to the index before it sets the page bits
 */
#include "steps.h"
#define NO 255
#define ORDERS(x) ((((x) != 0) | (((x) & (x) >> 1) != 0) << 1 | ((x) == 15) << 2))
#define ORDER(n) ((n) == 1 -> 0 : ((n) == 2 -> 1 : 2))
#define MASK(n) ((1 << (n)) - 1)
#define FIT(n) (free_pages[0] == 15 && (free_pages[1] & MASK(n)) == MASK(n))
#define COUNT(x) (((x) & 1) + ((x) >> 1 & 1) + ((x) >> 2 & 1) + ((x) >> 3 & 1))
#define UNION(x) ((x) & 7 | (x) >> 3)

byte free_pages[2] = 15;
byte index0 = 63;
byte index1 = 7;
byte flux = 0; /* its upper half: how often room moved */
byte owned[2];    /* ghosts */
bit stepped_back[2]; /* by who asks: somebody did, since the last search began or flux was read */
bit holding;   /* somebody took the first span of a long run and has not said yet that he gave it back */

/* xmc_index_add from level 0 */
inline index_add(a_span, a_orders) {
  STEP(old = index0; index0 = index0 | a_orders << 3 * a_span);
  a_orders = a_orders & ~UNION(old);
  if
  :: a_orders -> STEP(index1 = index1 | a_orders)
  :: else
  fi
}

inline index_remove(r_span, r_orders) {
  STEP(index0 = index0 & ~(r_orders << 3 * r_span); old = index0);
  r_orders = r_orders & ~UNION(old);
  if
  :: r_orders ->
     STEP(index1 = index1 & ~r_orders);
     STEP(old = index0);
     r_orders = r_orders & UNION(old);
     if
     :: r_orders -> STEP(index1 = index1 | r_orders)
     :: else
     fi
  :: else
  fi
}

inline span_give(g_span, g_mask) {
#ifdef CLEAR_FIRST
  STEP(old = free_pages[g_span]);
#else
  STEP(old = free_pages[g_span]; assert(!(old & g_mask)); free_pages[g_span] = old | g_mask;
       owned[g_span] = owned[g_span] & ~g_mask);
#endif
  orders = ORDERS(old | g_mask) & ~ORDERS(old);
  if
  :: orders -> index_add(g_span, orders)
  :: else
  fi;
#ifdef CLEAR_FIRST
  STEP(free_pages[g_span] = free_pages[g_span] | g_mask; owned[g_span] = owned[g_span] & ~g_mask);
#endif
  orders = 0
}

/* A claim of `got` in span by CAS on the word seen; won */
#ifdef SPLIT_BY_STORE
#define SAME(c_span) true
#else
#define SAME(c_span) free_pages[c_span] == seen
#endif
inline split(c_span) {
  STEP(
    if
    :: SAME(c_span) ->
       free_pages[c_span] = seen & ~got;
       holding = holding | (got == 15);
       assert(!(owned[c_span] & got));
       owned[c_span] = owned[c_span] | got;
       won = 1
    :: else -> seen = free_pages[c_span]; won = 0
    fi)
}

/* One run of n pages of a span: its mask in got, or 0 */
inline span_claim(s_span, s_n) {
  STEP(seen = free_pages[s_span]);
  do
  :: got = MASK(s_n);
     do
     :: got < 16 && (seen & got) != got -> got = got << 1
     :: else -> break
     od;
     if
     :: got >= 16 -> got = 0; break
     :: else
     fi;
     split(s_span);
     if
     :: won -> break
     :: else
     fi
  od;
  won = 0
}

inline span_mend(m_span, m_order) {
  STEP(orders = 1 << m_order & ~ORDERS(free_pages[m_span]));
  if
  :: orders ->
     want = orders;
     index_remove(m_span, orders);
#ifndef NO_SECOND_LOOK
     STEP(want = want & ORDERS(free_pages[m_span]));
     if
     :: want -> index_add(m_span, want)
     :: else
     fi;
#endif
     want = 0
  :: else
  fi;
  orders = 0
}

/* xmc_run_claim and, before it, xmc_index_find: the run's span in at, its pages in got, or got = 0 */
inline run_claim(n_pages) {
  do
  :: STEP(old = index1);
     if
     :: old >> ORDER(n_pages) & 1 ->
        STEP(old = index0);
        at = (old >> ORDER(n_pages) & 1 -> 0 : (old >> (3 + ORDER(n_pages)) & 1 -> 1 : NO))
     :: else -> at = NO
     fi;
     old = 0;
     if
     :: at == NO -> got = 0; break
     :: else ->
        span_claim(at, n_pages);
        if
        :: got -> break
        :: else -> span_mend(at, ORDER(n_pages))
        fi
     fi
  od
}

/* xmc_run_claim_long: 4 + more pages from the start of the heap, by xmc_spans_look, xmc_pages_claim and xmc_index_remove. With only one
 * span to begin in, that the index is asked first changes nothing, and is left out. */
inline run_claim_long(l_more) {
  got = 0;
  STEP(won = free_pages[0] == 15);
  if
  :: won -> STEP(won = (free_pages[1] & MASK(l_more)) == MASK(l_more))
  :: else
  fi;
  if
  :: won ->
     seen = 15;
     got = 15;
     split(0);
     if
     :: won ->
        got = MASK(l_more);
        STEP(seen = free_pages[1]);
        do
        :: (seen & got) == got ->
           split(1);
           if
           :: won -> break
           :: else
           fi
        :: else -> got = 0; break
        od;
        if
        :: got -> orders = 4; index_remove(0, orders); orders = 0
        :: else ->
#ifndef NO_STEP_BACK
           span_give(0, 15);
#endif
           STEP(flux++; holding = 0; stepped_back[0] = 1; stepped_back[1] = 1)
        fi
     :: else -> got = 0
     fi
  :: else
  fi;
  won = 0;
  seen = 0
}

/* xmc_memoryblock_malloc and xmc_make_room: a search, then as long as `flux` moves or a second look is due; and a
 * last one, wherever the run may begin. */
#define LOOKS 1 /* at XMC_PATIENCE nothing is new */
#ifdef LONG
#define REFUSED_RIGHTLY(n) assert(stepped_back[n - 1] || holding || !FIT(n))
#else
#define REFUSED_RIGHTLY(n) true
#endif
inline malloc_long(k_more) {
  turns = 0;
  do
  :: STEP(stepped_back[k_more - 1] = 0);
     run_claim_long(k_more);
     if
     :: got -> break
     :: turns == NO -> atomic { REFUSED_RIGHTLY(k_more); break }
     :: else
     fi;
     STEP(was = flux; stepped_back[k_more - 1] = 0);
     STEP(won = flux == was);
     if
#ifdef NO_LAST_LOOK
     :: won && turns >= LOOKS -> atomic { REFUSED_RIGHTLY(k_more); break }
#else
     :: won && turns >= LOOKS -> turns = NO
#endif
     :: won && turns < LOOKS -> turns++
     :: else
     fi;
     won = 0
  od;
  turns = 0;
  was = 0
}

byte has = 0; /* ghost: pages in hands */
#define LOCALS byte old, orders, seen, got, want, at, was, turns; bit won
#define FORGET atomic { old = 0; orders = 0; seen = 0; got = 0; want = 0; at = 0; was = 0; turns = 0; won = 0 }

/* Claims and releases runs of these lengths; keeps the last. */
proctype user(byte first; byte second; byte keep) {
  LOCALS;
  byte n = 0;
  do
  :: n < 3 ->
     want = (n == 0 -> first : (n == 1 -> second : keep));
     if
     :: want == 1 -> want = 0; run_claim(1)
     :: want == 2 -> want = 0; run_claim(2)
     :: want == 4 -> want = 0; run_claim(4)
     :: else -> got = 0
     fi;
     if
     :: got && n < 2 -> want = got; got = 0; span_give(at, want)
     :: got && n == 2 -> has = has + COUNT(got)
     :: else
     fi;
progress:
     atomic { n++; FORGET }
  :: else -> break
  od
}

/* A long run and back */
proctype long_user() {
  LOCALS;
  malloc_long(1);
  if
  :: got -> span_give(0, 15); span_give(1, 1)
  :: else
  fi;
progress:
  FORGET
}

/* For LONG */
proctype asks_for_6() {
  LOCALS;
  malloc_long(2);
  has = has + (got -> 6 : 0);
progress:
  FORGET
}
proctype asks_for_5() {
  LOCALS;
  malloc_long(1);
  has = has + (got -> 5 : 0);
progress:
  FORGET
}
proctype splits() { /* the second page of the second span */
  LOCALS;
  STEP(seen = free_pages[1]; free_pages[1] = seen & ~2; got = seen & 2; owned[1] = owned[1] | got; has = has + (got -> 1 : 0));
progress:
  FORGET
}

#define FOUND(span) !(ORDERS(free_pages[span]) & ~(index0 >> 3 * span & index1))
active proctype end() {
  timeout;
  d_step {
    assert(!(free_pages[0] & owned[0]) && !(free_pages[1] & owned[1]));
    if
    :: stopped == NOBODY ->
       assert((free_pages[0] | owned[0]) == 15 && (free_pages[1] | owned[1]) == 15);
       assert(COUNT(owned[0]) + COUNT(owned[1]) == has);
       assert(FOUND(0) && FOUND(1))
    :: else
    fi
  }
}

init {
  atomic {
#if defined(LONG)
    run asks_for_6();
    run asks_for_5();
    run splits()
#else
    run user(2, 4, 0);
    run user(1, 0, 0);
    run long_user()
#endif
  };
#ifndef SHORT
  if
  :: STOP(2)
  :: STOP(4)
  fi
#endif
}
