/* SPDX-License-Identifier: MIT */
/* A stream whose text ends up in memory. */
#ifndef XMC_MEMORY_STREAM_H
#define XMC_MEMORY_STREAM_H
#include <stddef.h>
#include <stdio.h>

typedef struct xmc_memory_stream {
  FILE *file;
  char *text;   /* after the close: NUL-terminated, to be freed by the caller; NULL if the close failed */
  size_t bytes; /* after the close: its length */
} xmc_memory_stream;

/* Both return 0 when they fail. A failed close leaves nothing to free. */
int xmc_memory_stream_open(xmc_memory_stream *stream);
int xmc_memory_stream_close(xmc_memory_stream *stream);
#endif
