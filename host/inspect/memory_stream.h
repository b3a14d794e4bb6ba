/* SPDX-License-Identifier: MIT */
/* A stream whose text is in memory after the close. */
#ifndef XMC_MEMORY_STREAM_H
#define XMC_MEMORY_STREAM_H
#include <stddef.h>
#include <stdio.h>

typedef struct xmc_memory_stream {
  FILE *file;
  char *text;   /* after the close: NUL-terminated, the caller frees it; NULL if the close failed */
  size_t bytes; /* after the close: its length without the NUL */
} xmc_memory_stream;

/* Both return 1, or 0 if they fail. After a failed close there is nothing to free. */
int xmc_memory_stream_open(xmc_memory_stream *stream);
int xmc_memory_stream_close(xmc_memory_stream *stream);
#endif
