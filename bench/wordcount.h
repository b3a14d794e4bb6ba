/* SPDX-License-Identifier: MIT */
/* The word count: a text in chunks, and the host's own count to compare with. */
#ifndef BENCH_WORDCOUNT_H
#define BENCH_WORDCOUNT_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A text file, read in pieces that end between words. */
typedef struct wc_text {
  FILE *file;
  uint64_t bytes; /* of the whole file */
  unsigned char *buffer;
  size_t room;
  size_t length; /* of the piece */
  size_t kept;   /* bytes after the piece, the start of the next one */
} wc_text;

int wc_text_open(wc_text *t, const char *path, size_t chunk);
/* The next piece in buffer[0 … length); length 0 at the end. Returns 1 on an error. */
int wc_text_next(wc_text *t);
void wc_text_rewind(wc_text *t);
void wc_text_close(wc_text *t);

typedef struct wc_word {
  uint64_t count;
  uint64_t at; /* in the table's text */
  uint64_t length;
  uint32_t hash;
} wc_word;

typedef struct wc_table {
  wc_word *slots; /* open addressing; length 0 is empty */
  size_t size, used;
  unsigned char *text;
  size_t text_used, text_room;
  uint64_t words;
} wc_table;

/* Both return 1 if memory ran out. */
int wc_table_count(wc_table *t, const unsigned char *text, size_t length);
/* The count of a word in lower case; 0 if it never came. */
uint64_t wc_table_find(const wc_table *t, const unsigned char *word, size_t length);
void wc_table_close(wc_table *t);
#endif
