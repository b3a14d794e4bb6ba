/* SPDX-License-Identifier: MIT */
/* The fuzzer of heap files: what its parts share.
 *
 *   files_program.c   bytes -> edits of a saved heap, then calls on what the reader made of it
 *   files_forge.c     an edited heap as a file with right sums
 *   files_arena.c     the arena: whoever leaves it is caught
 *   files_core.h      the core as C: makes the heaps to be edited (files_seeds.h), and uses what was accepted. Compiled
 *                     three times:
 *     files_plain.c     as on CPU devices
 *     files_debug.c     for debug heaps
 *     files_lanes.c     as on GPUs, each work-item a sub-group of its own
 */
#ifndef XMC_FUZZ_FILES_H
#define XMC_FUZZ_FILES_H
#include "inspect/inspect.h"
#include <stddef.h>
#include <stdint.h>

/* The input; when it ends, numbers that follow from what it was. */
typedef struct fuzz_input {
  const uint8_t *at;
  size_t left;
  uint64_t state;
} fuzz_input;

static inline uint32_t fuzz_random(fuzz_input *in) {
  in->state = in->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(in->state >> 33);
}

static inline uint32_t fuzz_byte(fuzz_input *in) {
  if (!in->left)
    return fuzz_random(in) & 0xffu;
  in->left--;
  in->state = (in->state ^ *in->at) * 0x9fb21c651e98df25u;
  return *in->at++;
}

static inline uint32_t fuzz_word(fuzz_input *in) {
  uint32_t a = fuzz_byte(in), b = fuzz_byte(in), c = fuzz_byte(in), d = fuzz_byte(in); /* in this order */
  return a | b << 8 | c << 16 | d << 24;
}

#define FUZZ_SEEDS 16u

/* A quiet heap to be edited: its arena, and the property it was made with */
typedef struct fuzz_heap {
  xmcHeap *heap;
  long long fifos;
} fuzz_heap;

typedef struct fuzz_core {
  /* One of FUZZ_SEEDS heaps that differ in size, FIFOs, coalescing, history, and regions */
  fuzz_heap (*make)(uint32_t seed);
  /* Calls of all kinds on an accepted heap; about regions only if `regions`. NULL, or what went wrong. */
  const char *(*use)(xmcHeap *heap, fuzz_input *in, uint32_t regions);
} fuzz_core;
extern const fuzz_core fuzz_core_plain, fuzz_core_debug, fuzz_core_lanes;

/* files_forge.c: one word of the arena that the file will have otherwise */
typedef struct fuzz_edit {
  size_t offset; /* a multiple of 8 */
  uint64_t value;
} fuzz_edit;

/* The heap with its edits as a file, all sums right; malloc'ed. */
uint8_t *fuzz_forge(const fuzz_heap *base, const xmcHeap *meta, const fuzz_edit *edits, size_t count,
                    size_t *size);

/* Makes all sums of a file right again, as far as its sections can be told. */
void fuzz_repair(uint8_t *file, size_t size);

/* files_arena.c: `bytes` zero bytes between pages that nobody may touch; NULL if there is no room. There is one arena,
 * valid until the next call. */
void *fuzz_arena(size_t bytes);
#endif
