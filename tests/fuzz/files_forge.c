/* SPDX-License-Identifier: MIT */
/* Heap files whose sums are right, whatever they say: by the writer's own functions. */
#include "files.h"
#include "file/heap_file.h"
#include "heap/layout.h"
#include <stdlib.h>

/* The reader and the writer take a buffer of 1 MiB each time. Most of the fuzzer's time went into getting it from the
 * system and giving it back: here it is one for all, of just that size. */
static void *buffer;
static void *take_buffer(size_t bytes) { return buffer ? buffer : (buffer = malloc(bytes)); }
static void give(void *p) {
  if (p != buffer)
    free(p);
}
#define malloc(n) ((n) == XMC_BUFFER_BYTES ? take_buffer(n) : malloc(n))
#define free(p) give(p)
#include "../../host/file/heap_file.c"
#undef malloc
#undef free

typedef struct source {
  const fuzz_heap *base;
  const fuzz_edit *edits;
  size_t count;
} source;

/* Pages: the heap's, with the edits that lie in them */
static cl_int get_page(void *data, xmc_u64 offset, xmc_u64 bytes, void *to) {
  const source *s = data;
  xmc_u64 all = s->base->heap->bytes;
  size_t i;
  memset(to, 0x77, (size_t)bytes);
  if (offset < all)
    memcpy(to, (const char *)s->base->heap + offset, (size_t)(bytes < all - offset ? bytes : all - offset));
  for (i = 0; i < s->count; i++)
    if (s->edits[i].offset >= offset && s->edits[i].offset - offset + 8u <= bytes)
      memcpy((char *)to + (s->edits[i].offset - offset), &s->edits[i].value, 8);
  return CL_SUCCESS;
}

/* With a header that the writer cannot go by: the metadata and the end, no pages */
static void write_blindly(FILE *file, const xmcHeap *meta, xmc_u64 bytes, long long fifos) {
  xmc_file_head head = {{0}, XMC_FILE_FORMAT, XMC_LAYOUT_VERSION, XMC_FILE_ORDER, bytes, fifos, 0};
  xmc_stream s = {file, 0, take_buffer(XMC_BUFFER_BYTES)};
  xmc_u64 at, left;
  xmc_u32 number = 0;
  if (!s.buffer)
    return;
  memcpy(head.magic, XMC_FILE_MAGIC, sizeof head.magic);
  head.sum = s.sum = head_sum(&head);
  fwrite(&head, sizeof head, 1, file);
  for (at = 0; at < bytes; at += XMC_PIECE_BYTES) {
    left = bytes - at < XMC_PIECE_BYTES ? bytes - at : XMC_PIECE_BYTES;
    left = 8u * pack_words((const xmc_u64 *)((const char *)meta + at), (size_t)(left / 8u), s.buffer);
    write_section(&s, XMC_SECTION_METADATA, number++, left);
  }
  write_section(&s, XMC_SECTION_END, 0, 0);
}

uint8_t *fuzz_forge(const fuzz_heap *base, const xmcHeap *meta, const fuzz_edit *edits, size_t count,
                    size_t *size) {
  source s = {base, edits, count};
  char *text = NULL;
  FILE *file = open_memstream(&text, size);
  if (!file)
    return NULL;
  if (meta->data == base->heap->data && xmc_layout_is_consistent(meta))
    xmc_file_write(file, (xmcHeap *)meta, base->fifos, get_page, &s);
  else
    write_blindly(file, meta, base->heap->data, base->fifos);
  fclose(file);
  return (uint8_t *)text;
}

void fuzz_repair(uint8_t *file, size_t size) {
  xmc_stream s = {NULL, 0, take_buffer(XMC_BUFFER_BYTES)};
  xmc_file_head head;
  xmc_section section;
  size_t at = sizeof head;
  if (s.buffer && size >= sizeof head) {
    memcpy(&head, file, sizeof head);
    head.sum = s.sum = head_sum(&head);
    memcpy(file, &head, sizeof head);
  }
  while (s.buffer && size >= at && size - at >= sizeof section) {
    memcpy(&section, file + at, sizeof section);
    if (section.bytes > size - at - sizeof section || section.bytes > XMC_BUFFER_BYTES)
      break;
    memcpy(s.buffer, file + at + sizeof section, (size_t)section.bytes);
    section.check = section_check(&s, &section);
    section.sum = s.sum = section_sum(&s, &section);
    memcpy(file + at, &section, sizeof section);
    at += sizeof section + (size_t)section.bytes;
  }
}
