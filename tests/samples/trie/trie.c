/* SPDX-License-Identifier: MIT */
/* A trie of a text's words, which kernels build in parallel and the host reads where it lies: the words in order, with
 * their counts, equal those of the host's own sort. */
#include "sample.h"
#include "address.txt.h"
#include "trie.cl.h"
#include <ctype.h>

typedef struct node {
  xmcRef child[26];
  cl_uint count;
} node;

typedef struct words {
  char *text; /* in small letters, with a NUL behind each word */
  cl_uint *start;
  cl_uint count;
} words;

/* Takes `text` over. */
static words split_words(char *text) {
  words w = {0};
  size_t bytes = strlen(text), i;
  w.text = text;
  w.start = calloc(bytes / 2 + 2, sizeof *w.start);
  for (i = 0; i < bytes; i++) {
    int c = tolower((unsigned char)w.text[i]);
    w.text[i] = (char)(c >= 'a' && c <= 'z' ? c : '\0');
    if (w.text[i] && (i == 0 || !w.text[i - 1]))
      w.start[w.count++] = (cl_uint)i;
  }
  return w;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The host's result: a line for each word and its count */
static char *host_list(const words *w, size_t room) {
  char **sorted = calloc(w->count + 1, sizeof *sorted), *list = calloc(1, room), *at = list;
  cl_uint i, n;
  for (i = 0; i < w->count; i++)
    sorted[i] = w->text + w->start[i];
  qsort(sorted, w->count, sizeof *sorted, by_text);
  for (i = 0; i < w->count; i += n) {
    for (n = 1; i + n < w->count && !strcmp(sorted[i], sorted[i + n]);)
      n++;
    at += sprintf(at, "%s %u\n", sorted[i], n);
  }
  free(sorted);
  return list;
}

/* Appends the words below a node in order, and counts the nodes. */
static char *walk(xmc_heap heap, xmcRef ref, char *word, size_t length, char *at, cl_uint *nodes) {
  const node *n = xmcHostFromRef(heap, ref);
  unsigned i;
  ++*nodes;
  if (n->count)
    at += sprintf(at, "%.*s %u\n", (int)length, word, n->count);
  for (i = 0; i < 26; i++)
    if (n->child[i]) {
      word[length] = (char)('a' + i);
      at = walk(heap, n->child[i], word, length + 1, at, nodes);
    }
  return at;
}

static int run(sample *s) {
  words w = split_words(s->argc > 0 ? sample_file(s->argv[0]) : strdup(address_txt));
  size_t bytes = w.count ? w.start[w.count - 1] + strlen(w.text + w.start[w.count - 1]) + 1 : 1;
  size_t room = bytes + 16 * (size_t)w.count + 1;
  char *expected = host_list(&w, room), *found = calloc(1, room), *word = calloc(1, bytes);
  cl_mem text = sample_buffer(s, bytes, w.text),
         start = sample_buffer(s, (w.count + 1) * sizeof *w.start, w.start);
  cl_uint nodes = 0;
  xmcRef root;
  int wrong;
  cl_int e;
  CHECK(xmcMapHeap(s->heap, s->queue));
  root = xmcHostToRef(s->heap, xmcHostCalloc(s->heap, 1, sizeof(node), &e));
  CHECK(e);
  CHECK(xmcUnmapHeap(s->heap, s->queue));
  if (w.count)
    sample_launch(s, "insert", w.count, "Ummu", root, text, start, w.count);
  CHECK(xmcMapHeap(s->heap, s->queue));
  walk(s->heap, root, word, 0, found, &nodes);
  CHECK(xmcUnmapHeap(s->heap, s->queue));
  wrong = strcmp(found, expected) != 0 || !w.count;
  wrong |= sample_heap_differs(s, nodes);
  printf("%u words in a trie of %u nodes%s\n", w.count, nodes, wrong ? ": wrong" : "");
  clReleaseMemObject(text);
  clReleaseMemObject(start);
  free(expected);
  free(found);
  free(word);
  free(w.text);
  free(w.start);
  return wrong;
}

int main(int argc, char **argv) {
  static const sample_description trie = {
      "sample_trie [FILE]\n"
      "Counts the words of a text in a trie; default: the Gettysburg Address.",
      trie_cl, 64, run};
  return sample_main(argc, argv, &trie);
}
