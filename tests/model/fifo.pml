/* SPDX-License-Identifier: MIT */
/* cl/superblocks/fifo.cl: the papers' FIFO, step by step; `active` and the busy bit are in superblock.pml.
 *
 * SIZE and NUMBERS stand for XMC_FIFO_SIZE and 2^32; numbers wrap in every run. Three processes enqueue and
 * dequeue in any order. Checked: what comes out came in, once, in order (order is by the CAS on the tail);
 * "empty" is said only when it was; nothing is left behind when all have ended, or one was stopped anywhere.
 *
 * Variants:  PAPERS          figures 8 and 9 as printed, whose dequeue does not compare the message's number
 *            LOOKED          who dequeues looks at head and tail in any order first (xmc_fifo_dequeue_seen)
 * Mutants:   LOOKED NO_LOOK_NUMBER  … and takes what stands there, whatever its number
 *            PAPERS SWAPPED  … and reads the tail before the head: hands a message out twice
 *            SWAPPED         the same order here: the number saves the message, but "empty" is said when it is not
 *            NO_NUMBER       dequeue compares no number and knows no tail: reads the ring only
 *            NO_TRANSFER     enqueue does not write the old tail to the ring: messages are lost
 *            WAITS           dequeue waits for the message instead of taking it from the tail: not lock-free
 */
#include "steps.h"
#define SIZE 2
#define NUMBERS 8 /* more than all enqueues together, so that no process sleeps through a whole turn */
#define START 6   /* the second message has the number 7, the third 0 */
#define NONE 0
#define MESSAGES 5

typedef message_t { byte number; byte payload };
byte head = START;
message_t tail;
message_t message[SIZE];

/* Ghosts: messages enqueued and dequeued so far; place[v]: which one v was; payloads are 1, 2 … */
byte put = 0, got = 0, made = 0;
byte place[MESSAGES + 1];

#if defined(PAPERS) && defined(SWAPPED)
#define SWAPPED_PAPERS || true /* to see what is worse */
#else
#define SWAPPED_PAPERS
#endif
#define minus(a, b) ((a + NUMBERS - b) % NUMBERS)

#ifdef SWAPPED
#define READ_BOTH STEP(t_number = tail.number; t_payload = tail.payload; empty_seen = (put == got)); STEP(h = head)
#else
#define READ_BOTH STEP(h = head); STEP(t_number = tail.number; t_payload = tail.payload; empty_seen = (put == got))
#endif

#ifdef PAPERS
#define READ_ANY READ_BOTH
#else
#define READ_ANY if \
  :: READ_BOTH \
  :: STEP(t_number = tail.number; t_payload = tail.payload); STEP(h = head) \
  fi
#endif

inline enqueue(value) {
  do
  :: READ_ANY; /* at once, so in any order */
     used = minus(t_number + 1, h);
     if
     :: used == SIZE -> break /* full */
     :: used > SIZE  -> skip  /* head was older than tail */
     :: else ->
        STEP(old_number = message[t_number % SIZE].number);
#if !defined(PAPERS) && !defined(NO_TRANSFER)
        if
        :: old_number != t_number && (old_number + SIZE) % NUMBERS != t_number -> break /* full a moment ago */
        :: else
        fi;
#endif
#ifndef NO_TRANSFER
        if
        :: (old_number + SIZE) % NUMBERS == t_number ->
           STEP(
             if
             :: message[t_number % SIZE].number == old_number -> /* CAS */
                message[t_number % SIZE].number = t_number;
                message[t_number % SIZE].payload = t_payload
             :: else
             fi)
        :: else
        fi;
#endif
        STEP(
          if
          :: tail.number == t_number && tail.payload == t_payload -> /* CAS */
             tail.number = (t_number + 1) % NUMBERS;
             tail.payload = value;
             place[value] = put;
             put++;
             won = 1
          :: else -> won = 0
          fi);
        if
        :: won -> break
        :: else
        fi
     fi
  od
}

inline dequeue() {
  do
  :: READ_BOTH;
     if
     :: minus(t_number + 1, h) == 0 -> assert(empty_seen SWAPPED_PAPERS); out = NONE; break
     :: else
     fi;
     m_number = t_number;
     m_payload = t_payload;
#if defined(WAITS)
     m_number = h - 1;
     if
     :: true ->
#elif defined(NO_NUMBER)
     if
     :: true ->
#else
     if
     :: t_number != h ->
#endif
        STEP(m_number = message[h % SIZE].number; m_payload = message[h % SIZE].payload)
     :: else
     fi;
#if defined(PAPERS) || defined(NO_NUMBER)
     m_number = h;
#endif
     won = 0;
     if
     :: m_number == h ->
        STEP(
          if
          :: head == h -> /* CAS */
             head = (h + 1) % NUMBERS;
             won = 1;
             assert(m_payload != NONE && place[m_payload] == got); /* the next one, for the first time */
             got++
          :: else
          fi)
     :: else
     fi;
     if
     :: won -> out = m_payload; break
     :: else
     fi
  od
}

/* xmc_fifo_look and xmc_fifo_dequeue_seen; then, as xmc_fifo_advance does, the whole way */
inline dequeue_looked() {
  if
  :: STEP(h = head); STEP(t_number = tail.number; t_payload = tail.payload)
  :: STEP(t_number = tail.number; t_payload = tail.payload); STEP(h = head)
  fi;
  won = 0;
  if
  :: minus(t_number + 1, h) == 0 -> out = NONE
  :: else ->
     m_number = t_number;
     m_payload = t_payload;
     if
     :: t_number != h -> STEP(m_number = message[h % SIZE].number; m_payload = message[h % SIZE].payload)
     :: else
     fi;
#ifdef NO_LOOK_NUMBER
     m_number = h;
#endif
     if
     :: m_number == h ->
        STEP(
          if
          :: head == h -> /* CAS */
             head = (h + 1) % NUMBERS;
             won = 1;
             assert(m_payload != NONE && place[m_payload] == got);
             got++
          :: else
          fi)
     :: else
     fi;
     if
     :: won -> out = m_payload
     :: else -> dequeue()
     fi
  fi
}
#ifdef LOOKED
#define DEQUEUE dequeue_looked()
#else
#define DEQUEUE dequeue()
#endif

#define LOCALS byte h, t_number, t_payload, used, old_number, m_number, m_payload, out; bit won, empty_seen = 1
#define FORGET { h = 0; t_number = 0; t_payload = 0; used = 0; old_number = 0; m_number = 0; m_payload = 0; out = 0; won = 0; empty_seen = 1 }

/* `program`: an operation a bit, from the lowest: 1 enqueue, 0 dequeue; a 1 above the last */
proctype user(byte program) {
  LOCALS;
  byte mine;
  do
  :: program > 1 ->
     if
     :: program & 1 -> atomic { made++; mine = made }; enqueue(mine); mine = 0
     :: else -> DEQUEUE
     fi;
progress:
     atomic { program = program / 2; FORGET }
  :: else -> break
  od
}

/* Takes out what is left, as one more user. */
proctype last() {
  LOCALS;
  timeout;
  do
  :: dequeue();
progress:
     if
     :: out == NONE -> break
     :: else -> FORGET
     fi
  od;
  assert(got == put)
}

init {
  atomic {
    tail.number = START - 1;
    message[(START - 2) % SIZE].number = START - 2;
    message[(START - 3) % SIZE].number = START - 3;
#ifdef SHORT /* for the second run, which has many times the states */
    run user(5); /* enqueue, dequeue */
    run user(7); /* enqueue, enqueue */
    run user(2); /* dequeue */
#else
    run user(9);  /* enqueue, dequeue, dequeue */
    run user(15); /* enqueue, enqueue, enqueue */
    run user(5);  /* enqueue, dequeue */
#endif
    run last()
  };
#ifndef SHORT
  if
  :: STOP(1)
  :: STOP(2)
  fi
#endif
}
