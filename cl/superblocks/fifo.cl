/* SPDX-License-Identifier: MIT */
/* The papers' FIFO (2011, figures 7, 8 and 9): fixed capacity, lock-free, sequence numbers.
 *
 *    head = 7                                  tail = (10, D)
 *      |                                         |
 *      v      message[3]  message[0]  message[1] | message[2]
 *             (7, A)      (8, B)      (9, C)     | (6, old): the tail message itself goes here when the
 *                                                            next one is enqueued
 *
 *   messages in the FIFO == tail number - head number + 1      (modulo 2^32), 0 … XMC_FIFO_SIZE
 *   message n, once it is not the tail, is at message[n % XMC_FIFO_SIZE]
 *
 * The payload is a Superblock id. A message carries its number, which tells a reader whether it is the right message, and makes the CAS
 * on it safe from ABA. A dequeue reads head and tail with acquire: the tail must not be older than the head, and a message must not be
 * older than the tail that says it is there. Without that order the algorithm as printed hands the same message to two readers. An
 * enqueue reads them at once, in any order: a head or message that is too old makes the FIFO look full, and if the head is beyond the
 * tail, the number of messages comes out above XMC_FIFO_SIZE, so that the enqueue looks again. */
#ifndef XMC_FIFO_CL
#define XMC_FIFO_CL
#include "../layout/arena.h"
#include "../platform/platform.h"

XMC_FN xmc_u64 xmc_message(xmc_u32 number, xmc_u32 payload) { return (xmc_u64)number << 32 | payload; }
XMC_FN xmc_u32 xmc_message_number(xmc_u64 message) { return (xmc_u32)(message >> 32); }
XMC_FN xmc_u32 xmc_message_payload(xmc_u64 message) { return (xmc_u32)message; }

/* `active` has the active Superblock's id and, above it, how often it changed. Without that number a CAS by a work-item that read the
 * id before it was taken away and put back would succeed (ABA), and the id would be lost. */
XMC_FN xmc_u32 xmc_active_id(xmc_u64 active) { return (xmc_u32)active; }
XMC_FN xmc_u64 xmc_active_next(xmc_u64 active, xmc_u32 id) { return ((active >> 32) + 1u) << 32 | id; }

/* Makes a FIFO empty. Its first message will have the number `start`. */
XMC_FN void xmc_fifo_init(XMC_GLOBAL xmc_fifo *fifo, xmc_u32 start) {
  xmc_u32 i;
  xmc_store_relaxed64(&fifo->active, XMC_NONE);
  xmc_store_relaxed32(&fifo->head, start);
  xmc_store_relaxed32(&fifo->hint, 0);
  xmc_store_relaxed32(&fifo->partly, 0);
  xmc_store_relaxed32(&fifo->carving, 0);
  xmc_store_relaxed64(&fifo->tail, xmc_message(start - 1u, XMC_NONE));
  XMC_ROLLED
  for (i = 1; i <= XMC_FIFO_SIZE; i++) {
    xmc_u32 number = start - 1u - i;
    xmc_store_relaxed64(&fifo->message[number % XMC_FIFO_SIZE], xmc_message(number, XMC_NONE));
  }
}

/* Appends a payload. Returns 1; or 0 if the FIFO is full, or was a moment ago. */
XMC_FN int xmc_fifo_enqueue(XMC_GLOBAL xmc_fifo *fifo, xmc_u32 payload) {
  XMC_GLOBAL xmc_u64 *place;
  xmc_u32 head, number, used, spare;
  xmc_u64 tail, old;
  int done, again;
  XMC_ROLLED
  do { /* again only if another work-item enqueued */
    xmc_load_row(&fifo->tail, &tail, &head, &spare);
    number = xmc_message_number(tail);
    used = number - head + 1u;
    place = &fifo->message[number % XMC_FIFO_SIZE];
    done = 0;
    again = used != XMC_FIFO_SIZE;
    if (used >= XMC_FIFO_SIZE)
      continue; /* it is full, or head and tail are not of the same time */
    old = xmc_load_relaxed64(place);
    if (xmc_message_number(old) + XMC_FIFO_SIZE == number)
      xmc_cas_release64(place, old, tail); /* if it fails, another enqueue did it */
    else
      again = xmc_message_number(old) == number;
    if (again)
      done = xmc_cas_acq_rel64(&fifo->tail, tail, xmc_message(number + 1u, payload)) == tail;
  } while (XMC_NO_YIELD(again && !done));
  return done;
}

/* Takes the head's payload. Returns it, or XMC_NONE if the FIFO is empty. */
XMC_HOT_FN xmc_u32 xmc_fifo_dequeue(XMC_GLOBAL xmc_fifo *fifo) {
  xmc_u32 head, number;
  xmc_u64 message;
  int again;
  XMC_ROLLED
  do { /* again only if another work-item moved the head */
    head = xmc_load_acquire32(&fifo->head);
    message = xmc_load_acquire64(&fifo->tail);
    number = xmc_message_number(message);
    again = 0;
    if (number - head + 1u == 0) {
      message = XMC_NONE;
      continue;
    }
    if (number != head)
      message = xmc_load_relaxed64(&fifo->message[head % XMC_FIFO_SIZE]);
    again = xmc_message_number(message) != head || xmc_cas_release32(&fifo->head, head, head + 1u) != head;
  } while (XMC_NO_YIELD(again));
  return xmc_message_payload(message);
}

/* Tries once to take the head's payload; `message` is what was read at its place, at any time before. The message's number tells
 * whether it is the head's, however old that look is, and the CAS that no other work-item takes it; so no order is needed. Returns
 * XMC_NONE on failure. */
XMC_FN xmc_u32 xmc_fifo_dequeue_seen(XMC_GLOBAL xmc_fifo *fifo, xmc_u32 head, xmc_u64 message) {
  if (xmc_message_number(message) == head && xmc_cas_hint32(&fifo->head, head, head + 1u) == head)
    return xmc_message_payload(message);
  return XMC_NONE;
}

XMC_FN int xmc_fifo_is_empty(XMC_GLOBAL xmc_fifo *fifo) {
  xmc_u32 head = xmc_load_acquire32(&fifo->head);
  return xmc_message_number(xmc_load_acquire64(&fifo->tail)) - head + 1u == 0;
}
#endif
