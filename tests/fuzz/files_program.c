/* SPDX-License-Identifier: MIT */
/* Bytes as a lying file and what is done with it:
 *
 *   0        which core (2 bits), which of its heaps (3), is the file itself edited?, is the geometry's number made right?
 *   1        edits of words (5 bits), has the heap regions?, are there calls about regions?
 *   2 …      edits: what, where (2 bytes), a value (4 bytes)
 *   …        edits of the file, if any: how many, then where (2 bytes) and what of each
 *   …        calls (files_core.h); when the input ends, numbers that follow from it
 *
 * Nothing here knows what the words mean. An edit goes to one that differs from the word before it, or to its
 * neighbours, more often than to others: most words of the tables are one of long rows of the same.
 */
#include "program.h"
#include "files.h"
#include "file/heap_file.h"
#include "heap/layout.h"
#include <stdlib.h>
#include <string.h>

#define MOST_EDITS 32u
#define FIRST_WORDS 128u    /* of the header */
#define PAGE_BEGIN_WORDS 8u /* where regions have their owner, slots and links */

typedef struct fuzz_base {
  fuzz_heap made;
  uint32_t *
      marks; /* words of the metadata that differ from the one before; with regions, of the pages' beginnings, too */
  size_t mark_count, words, end; /* words of the metadata; where marks end */
} fuzz_base;

static const fuzz_core *const cores[] = {&fuzz_core_plain, &fuzz_core_lanes, &fuzz_core_debug,
                                         &fuzz_core_plain};

static fuzz_base *base_of(uint32_t core, uint32_t seed) {
  static fuzz_base bases[3][FUZZ_SEEDS];
  fuzz_base *b = &bases[core % 3u][seed];
  const uint64_t *words;
  size_t i;
  if (b->made.heap)
    return b;
  b->made = cores[core]->make(seed);
  b->words = b->made.heap->data / 8u;
  b->end = seed & 8u ? (size_t)(b->made.heap->bytes / 8u) : b->words;
  b->marks = malloc(b->end * sizeof *b->marks);
  words = (const uint64_t *)b->made.heap;
  for (i = 0; b->marks && i < b->end; i++)
    if (i == 0 || (words[i] != words[i - 1u] &&
                   (i < b->words || (i - b->words) % (XMC_PAGE_BYTES / 8u) < PAGE_BEGIN_WORDS)))
      b->marks[b->mark_count++] = (uint32_t)i;
  return b;
}

/* Which word of the arena the next edit is about */
static size_t pick(const fuzz_base *b, uint32_t how, uint32_t number, size_t last) {
  size_t all = (size_t)(b->made.heap->bytes / 8u), at;
  switch (how & 7u) {
  case 0:
    return number % FIRST_WORDS;
  case 1:
    return number * (size_t)2654435769u % b->words;
  case 2: /* what is in pages; of many heaps most is nothing */
    return b->words + number * (size_t)8u % (all - b->words);
  case 3:
    return (last + 1u) % all;
  default:
    at = b->marks[number % b->mark_count] + (how & 7u) - 5u;
    return at < b->end ? at : 0;
  }
}

static uint64_t changed(const fuzz_base *b, uint32_t how, uint64_t was, uint32_t value) {
  uint64_t other = ((const uint64_t *)b->made.heap)[b->marks[value % b->mark_count]];
  switch (how & 7u) {
  case 0:
    return was ^ (uint64_t)1 << value % 64u;
  case 1:
    return was + (uint64_t)(int64_t)(int8_t)value;
  case 2:
    return other;
  case 3:
    return (was & ~(uint64_t)0xffffffffu) | value;
  case 4:
    return (was & 0xffffffffu) | (uint64_t)value << 32;
  case 5:
    return (was & ~(uint64_t)0xffffffffu) | (uint32_t)(other + (value >> 16));
  case 6:
    return was ^ (uint64_t)(value & 0xffffu) << (value >> 16) % 49u;
  default:
    return was + ((uint64_t)value << (value & 31u));
  }
}

/* Makes so many edits, in pages too, and those of the metadata in its copy. */
static void edit(const fuzz_base *b, xmcHeap *meta, fuzz_edit *edits, size_t count, fuzz_input *in) {
  size_t i, last = 0;
  for (i = 0; i < count; i++) {
    uint32_t how = fuzz_byte(in), number = fuzz_byte(in), value;
    size_t at;
    number |= fuzz_byte(in) << 8;
    value = fuzz_word(in);
    at = pick(b, how >> 3, number, last);
    last = at;
    edits[i].offset = 8u * at;
    if (at < b->words)
      edits[i].value = ((uint64_t *)meta)[at] = changed(b, how, ((uint64_t *)meta)[at], value);
    else
      edits[i].value = changed(b, how, ((const uint64_t *)b->made.heap)[at], value);
  }
}

static void edit_file(uint8_t *file, size_t size, fuzz_input *in) {
  uint32_t count = 1u + fuzz_byte(in) % 4u;
  while (count--) {
    size_t at = fuzz_byte(in);
    at |= (size_t)fuzz_byte(in) << 8;
    at = at < 0x4000u ? at % 256u : at * 7u; /* the head and the first section more often than the rest */
    file[at % size] ^= (uint8_t)fuzz_byte(in);
  }
  fuzz_repair(file, size);
}

static cl_int put_page(void *data, xmc_u64 offset, xmc_u64 bytes, const void *from) {
  memcpy((char *)data + offset, from,
         (size_t)bytes); /* out of the arena is the reader's mistake, and is caught */
  return CL_SUCCESS;
}

/* As xmcLoadHeap reads: once to see, once to fill an arena. NULL: refused. */
static xmcHeap *load(const uint8_t *file, size_t size, const char **wrong) {
  FILE *f = fmemopen((void *)file, size, "rb");
  xmcHeap *meta = NULL, *again = NULL, *arena = NULL;
  xmc_heap_report report = {0};
  long long fifos;
  if (!f)
    return NULL;
  if (xmc_file_read(f, &meta, &fifos, NULL, NULL) == CL_SUCCESS &&
      (arena = fuzz_arena((size_t)meta->bytes)) != NULL) {
    rewind(f);
    if (xmc_file_read(f, &again, &fifos, put_page, arena) != CL_SUCCESS)
      *wrong = "a file is accepted once and refused then";
    else if (xmc_check_meta(meta, &report) != CL_SUCCESS || xmc_walk_believe(meta, 1) != CL_SUCCESS)
      *wrong = "what the reader accepts does not pass the check";
    memcpy(arena, meta, (size_t)meta->data);
  }
  fclose(f);
  free(meta);
  free(again);
  return arena;
}

const char *fuzz_program(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size, 1};
  uint32_t first = fuzz_byte(&in), second = fuzz_byte(&in);
  const fuzz_base *b = base_of(first & 3u, (first >> 2 & 7u) | (second >> 2 & 8u));
  fuzz_edit edits[MOST_EDITS];
  const char *wrong = NULL;
  xmcHeap *meta = malloc(8u * b->words), *arena = NULL;
  uint8_t *file = NULL;
  size_t count, bytes = 0;
  if (meta) {
    memcpy(meta, b->made.heap, 8u * b->words);
    count = second % MOST_EDITS;
    edit(b, meta, edits, count, &in);
    if (first & 64u)
      meta->geometry = xmc_geometry_number(meta);
    file = fuzz_forge(&b->made, meta, edits, count, &bytes);
  }
  if (file && (first & 32u))
    edit_file(file, bytes, &in);
  if (file)
    arena = load(file, bytes, &wrong);
  if (arena && !wrong)
    wrong = cores[first & 3u]->use(arena, &in, second >> 6 & 1u);
  free(file);
  free(meta);
  return wrong;
}
