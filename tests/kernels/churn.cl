/* SPDX-License-Identifier: MIT */
/* Random lifetimes: every work-item owns `slots` places and, in each round, picks one: a full one is
 * checked and freed, an empty one allocated and stamped. Items take over other items' places in the next
 * launch by `shift`, so most blocks are freed by another work-group than allocated them.
 */
#include "xmalloc.cl"

typedef struct churn_slot {
  ulong ref;
  uint size;
  uint tag;
} churn_slot;

enum { CHURN_ERRORS, CHURN_FAILURES, CHURN_MALLOCS, CHURN_FREES };

static inline uint churn_random(uint *state) {
  uint x = *state;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  *state = x;
  return x;
}

/* finish 1: every round checks and frees the next slot, so that `slots` rounds free all. Sizes are
 * 1 … max_size, most of them small. */
__kernel void churn(__global xmcHeap *heap, __global churn_slot *table, uint items, uint slots, uint rounds,
                    uint max_size, uint seed, uint shift, uint finish, __global uint *counts) {
  uint item = (uint)get_global_id(0), round, errors = 0, failures = 0, mallocs = 0, frees = 0;
  uint state = (item + 1u) * 2654435769u ^ seed * 0x85ebca6bu;
  __global churn_slot *mine = table + (ulong)((item + shift) % items) * slots;
  if (item >= items)
    return;
  state = state ? state : 1u;
  for (round = 0; round < rounds; round++) {
    __global churn_slot *slot = mine + (finish ? round % slots : churn_random(&state) % slots);
    if (slot->ref) {
      __global char *p = (__global char *)xmcFromRef(heap, slot->ref);
      errors += pattern_errors(p, slot->size, slot->tag, 0, 1);
      xmcFree(heap, p);
      slot->ref = 0;
      frees++;
    } else if (!finish) {
      uint bits = churn_random(&state), size = 1u + bits % (1u + (max_size - 1u) / (1u + (bits >> 16) % 16u));
      __global char *p = (__global char *)xmcMalloc(heap, size);
      if (p) {
        slot->size = size;
        slot->tag = bits ^ item;
        pattern_fill(p, size, slot->tag, 0, 1);
        slot->ref = xmcToRef(heap, p);
        mallocs++;
      } else
        failures++;
    }
  }
  if (errors)
    atomic_add(&counts[CHURN_ERRORS], errors);
  if (failures)
    atomic_add(&counts[CHURN_FAILURES], failures);
  atomic_add(&counts[CHURN_MALLOCS], mallocs);
  atomic_add(&counts[CHURN_FREES], frees);
}
