/* SPDX-License-Identifier: MIT */
/* Strings that grow: each work-item writes a line whose length nobody knows in advance, and then pairs of strings are
 * joined until one text is left. The host reads it where it lies and compares it with its own. */
#include "sample.h"
#include "string_builder.cl.h"

enum { LINES = 20000 };

typedef struct string {
  xmcRef text;
  cl_uint length, room;
} string;

/* The same text by the host */
static char *host_text(void) {
  char *text = malloc(LINES * 100), *at = text;
  unsigned n, rest, p;
  for (n = 2; n < LINES + 2; n++) {
    at += sprintf(at, "%u", n);
    for (rest = n, p = 2; rest > 1; p++)
      for (; rest % p == 0; rest /= p)
        at += sprintf(at, "%s%u", rest == n ? " = " : " x ", p);
    at += sprintf(at, "\n");
  }
  return text;
}

/* Compares the text that the kernels made, shows its last line and frees it. */
static int check(sample *s, const string *found, const char *expected) {
  const char *text, *line;
  int wrong;
  CHECK(xmcMapHeap(s->heap, s->queue));
  text = xmcHostFromRef(s->heap, found->text);
  wrong = !text || found->length != strlen(expected) || memcmp(text, expected, found->length) != 0;
  if (wrong) {
    printf("the texts differ\n");
  } else {
    for (line = text + found->length - 1; line[-1] != '\n';)
      line--;
    printf("%u lines, %u characters, the last line: %.*s", (cl_uint)LINES, found->length,
           (int)(text + found->length - line), line);
  }
  CHECK(xmcHostFree(s->heap, (void *)(uintptr_t)text));
  CHECK(xmcUnmapHeap(s->heap, s->queue));
  return wrong;
}

static int run(sample *s) {
  char *expected = host_text();
  cl_mem strings = sample_buffer(s, LINES * sizeof(string), NULL),
         joined = sample_buffer(s, LINES * sizeof(string), NULL), other;
  cl_uint count = LINES;
  string whole;
  int wrong;
  sample_launch(s, "factorise", LINES, "mu", strings, (cl_uint)LINES);
  wrong = sample_heap_differs(s, LINES);
  for (; count > 1; count = (count + 1) / 2) {
    sample_launch(s, "join", (count + 1) / 2, "mmu", strings, joined, count);
    other = strings;
    strings = joined;
    joined = other;
  }
  sample_read(s, strings, &whole, sizeof whole);
  wrong |= check(s, &whole, expected);
  wrong |= sample_heap_differs(s, 0);
  clReleaseMemObject(strings);
  clReleaseMemObject(joined);
  free(expected);
  return wrong;
}

int main(int argc, char **argv) {
  static const sample_description string_builder = {
      "sample_string_builder\n"
      "Kernels write the factors of 20000 numbers, a line for each, and join the lines.",
      string_builder_cl, 64, run};
  return sample_main(argc, argv, &string_builder);
}
