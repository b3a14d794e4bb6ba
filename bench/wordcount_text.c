/* SPDX-License-Identifier: MIT */
#include "wordcount.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Runs of ASCII letters, digits, apostrophes, and all bytes from 0x80. */
static int is_word(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '\'' || c >= 0x80;
}

static unsigned char lower(unsigned char c) {
  return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 'a' - 'A') : c;
}

int wc_text_open(wc_text *t, const char *path, size_t chunk) {
  long long end;
  memset(t, 0, sizeof *t);
  t->file = fopen(path, "rb");
  if (t->file == NULL) {
    fprintf(stderr, "xmc-wordcount: cannot read %s: %s\n", path, strerror(errno));
    return 1;
  }
  if (fseeko(t->file, 0, SEEK_END) != 0 || (end = ftello(t->file)) < 0) {
    fprintf(stderr, "xmc-wordcount: %s is not a file that can be read twice\n", path);
    wc_text_close(t);
    return 1;
  }
  rewind(t->file);
  t->bytes = (uint64_t)end;
  t->room = chunk;
  t->buffer = malloc(t->room);
  if (t->buffer == NULL)
    wc_text_close(t);
  return t->buffer == NULL;
}

/* Fills the buffer and cuts it after its last byte that belongs to no word; the rest starts the next piece.
 * A word that fills the buffer makes it grow. */
int wc_text_next(wc_text *t) {
  size_t have = t->kept, got;
  memmove(t->buffer, t->buffer + t->length, t->kept);
  for (;;) {
    got = fread(t->buffer + have, 1, t->room - have, t->file);
    have += got;
    t->length = have;
    if (have < t->room) /* the end of the file is the end of its last word */
      break;
    while (t->length > 0 && is_word(t->buffer[t->length - 1]))
      t->length--;
    if (t->length > 0)
      break;
    unsigned char *larger = t->room < (size_t)1 << 30 ? realloc(t->buffer, 2 * t->room) : NULL;
    if (larger == NULL) {
      fprintf(stderr, "xmc-wordcount: a word of more than %zu bytes\n", t->room);
      return 1;
    }
    t->buffer = larger;
    t->room *= 2;
  }
  t->kept = have - t->length;
  if (ferror(t->file))
    fprintf(stderr, "xmc-wordcount: reading failed\n");
  return ferror(t->file) != 0;
}

void wc_text_rewind(wc_text *t) {
  rewind(t->file);
  t->length = t->kept = 0;
}

void wc_text_close(wc_text *t) {
  if (t->file)
    fclose(t->file);
  free(t->buffer);
  memset(t, 0, sizeof *t);
}

static uint32_t hash_of(const unsigned char *word, size_t length) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < length; i++)
    hash = (hash ^ lower(word[i])) * 16777619u;
  return hash;
}

/* The slot of the word, or the empty one where it would be. `word` may have capitals. */
static wc_word *slot_of(const wc_table *t, const unsigned char *word, size_t length, uint32_t hash) {
  size_t i = hash * (size_t)0x9e3779b97f4a7c15u >> 20 & (t->size - 1);
  for (;; i = (i + 1) & (t->size - 1)) {
    wc_word *w = &t->slots[i];
    size_t k = 0;
    if (w->length == 0)
      return w;
    if (w->hash != hash || w->length != length)
      continue;
    while (k < length && t->text[w->at + k] == lower(word[k]))
      k++;
    if (k == length)
      return w;
  }
}

/* Twice the slots. */
static int grow(wc_table *t) {
  wc_table larger = *t;
  larger.size = t->size ? 2 * t->size : 4096;
  larger.slots = calloc(larger.size, sizeof *larger.slots);
  if (larger.slots == NULL)
    return 1;
  for (size_t i = 0; i < t->size; i++)
    if (t->slots[i].length)
      *slot_of(&larger, t->text + t->slots[i].at, t->slots[i].length, t->slots[i].hash) = t->slots[i];
  free(t->slots);
  *t = larger;
  return 0;
}

static int keep_text(wc_table *t, const unsigned char *word, size_t length) {
  if (t->text_used + length > t->text_room) {
    size_t room = 2 * t->text_room + length + 65536;
    unsigned char *larger = realloc(t->text, room);
    if (larger == NULL)
      return 1;
    t->text = larger;
    t->text_room = room;
  }
  for (size_t i = 0; i < length; i++)
    t->text[t->text_used + i] = lower(word[i]);
  t->text_used += length;
  return 0;
}

static int add(wc_table *t, const unsigned char *word, size_t length) {
  uint32_t hash = hash_of(word, length);
  wc_word *w;
  if (2 * t->used >= t->size && grow(t))
    return 1;
  w = slot_of(t, word, length, hash);
  if (w->length == 0) {
    *w = (wc_word){.at = t->text_used, .length = length, .hash = hash};
    t->used++;
    if (keep_text(t, word, length))
      return 1;
  }
  w->count++;
  t->words++;
  return 0;
}

int wc_table_count(wc_table *t, const unsigned char *text, size_t length) {
  for (size_t at = 0; at < length;) {
    size_t start = at;
    while (at < length && is_word(text[at]))
      at++;
    if (at == start)
      at++;
    else if (add(t, text + start, at - start))
      return 1;
  }
  return 0;
}

uint64_t wc_table_find(const wc_table *t, const unsigned char *word, size_t length) {
  return t->size ? slot_of(t, word, length, hash_of(word, length))->count : 0;
}

void wc_table_close(wc_table *t) {
  free(t->slots);
  free(t->text);
  memset(t, 0, sizeof *t);
}
