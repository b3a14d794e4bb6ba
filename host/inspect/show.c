/* SPDX-License-Identifier: MIT */
/* XMC_SHOW=stats,leaks,errors: texts that the release of a heap prints to stderr. */
#include "inspect.h"
#include "memory_stream.h"
#include <stdlib.h>
#include <string.h>

enum { SHOW_STATS = 1, SHOW_LEAKS = 2, SHOW_ERRORS = 4 };

/* Returns a bit for each known word of XMC_SHOW, and prints a hint for each other word. */
static int parse_show(const char *words, FILE *file) {
  static const char *const names[] = {"stats", "leaks", "errors"};
  int show = 0;
  while (*words) {
    size_t n = strcspn(words, ","), i = 0;
    while (i < 3 && (strlen(names[i]) != n || strncmp(names[i], words, n) != 0))
      i++;
    if (i < 3)
      show |= 1 << i;
    else if (n > 0)
      fprintf(file, "XMalloc: XMC_SHOW is stats, leaks, errors, or several of them with commas; not %.*s\n",
              (int)n, words);
    words += n + (words[n] == ',');
  }
  return show;
}

typedef struct xmc_show {
  FILE *file;
  int what, colours;
} xmc_show;

static cl_int show_meta(xmcHeap *meta, const xmc_debug_block *debug, void *data) {
  const xmc_show *show = data;
  if (show->what & SHOW_STATS)
    xmc_table_meta(meta, show->file, show->colours);
  else if (show->what & SHOW_ERRORS)
    xmc_mistakes_meta(meta, show->file, show->colours);
  if (show->what & SHOW_LEAKS)
    xmc_leaks_meta(meta, debug, show->file);
  return CL_SUCCESS;
}

void xmc_show_at_release(xmc_heap heap) {
  const char *words = getenv("XMC_SHOW");
  xmc_memory_stream stream;
  xmc_show show;
  cl_int status = CL_SUCCESS;
  if (!words || !*words || !xmc_memory_stream_open(&stream))
    return;
  show.file = stream.file;
  show.what = parse_show(words, stream.file);
  show.colours = xmc_has_colours(stderr);
  if (show.what)
    status = xmc_visit_meta(heap, NULL, (show.what & SHOW_LEAKS) != 0, show_meta, &show);
  if (status != CL_SUCCESS)
    fprintf(stream.file, "XMalloc: %s\n", xmcErrorString(status));
  if (xmc_memory_stream_close(&stream))
    fputs(stream.text, stderr); /* in one call, because other threads may write there, too */
  free(stream.text);
}
