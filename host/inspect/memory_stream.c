/* SPDX-License-Identifier: MIT */
/* Uses open_memstream if the C library has it (POSIX), else a temporary file. */
#include "memory_stream.h"
#include <stdlib.h>

#ifndef XMC_HAS_OPEN_MEMSTREAM
#ifdef _WIN32
#define XMC_HAS_OPEN_MEMSTREAM 0
#else
#define XMC_HAS_OPEN_MEMSTREAM 1
#endif
#endif

#if XMC_HAS_OPEN_MEMSTREAM

int xmc_memory_stream_open(xmc_memory_stream *stream) {
  *stream = (xmc_memory_stream){NULL, NULL, 0};
  stream->file = open_memstream(&stream->text, &stream->bytes);
  return stream->file != NULL;
}

int xmc_memory_stream_close(xmc_memory_stream *stream) {
  int failed = ferror(stream->file);
  failed |= fclose(stream->file);
  if (failed) {
    free(stream->text);
    stream->text = NULL;
  }
  return !failed;
}

#else

#ifdef _WIN32
/* tmpfile() of Windows creates its files in the root of the drive, where few processes may write. */
static FILE *xmc_temporary_file(void) {
  char *name = _tempnam(NULL, "xmc-");
  FILE *file = name ? fopen(name, "w+bTD") : NULL; /* removed when it is closed */
  free(name);
  return file;
}
#else
#define xmc_temporary_file tmpfile
#endif

int xmc_memory_stream_open(xmc_memory_stream *stream) {
  *stream = (xmc_memory_stream){xmc_temporary_file(), NULL, 0};
  return stream->file != NULL;
}

int xmc_memory_stream_close(xmc_memory_stream *stream) {
  int failed = ferror(stream->file);
  long bytes = ftell(stream->file);
  if (!failed && bytes >= 0)
    stream->text = malloc((size_t)bytes + 1);
  if (stream->text) {
    rewind(stream->file);
    stream->bytes = fread(stream->text, 1, (size_t)bytes, stream->file);
    stream->text[stream->bytes] = '\0';
    failed = stream->bytes != (size_t)bytes;
  }
  fclose(stream->file);
  if (failed) {
    free(stream->text);
    stream->text = NULL;
  }
  return stream->text != NULL;
}

#endif
