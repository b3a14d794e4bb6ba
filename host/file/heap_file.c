/* SPDX-License-Identifier: MIT */
/* Heaps in files: metadata and pages in use, in sections that are each protected by a sum.
 *
 *   +------+---------+----------+-----+--------+--------+-----+-----+
 *   | head | section | metadata | ... | section|  pages | ... | end |
 *   +------+---------+----------+-----+--------+--------+-----+-----+
 *
 *   head      magic, versions, byte order, metadata bytes, the FIFOs property, sum
 *   section   kind, number, bytes of contents, check of these and of the sections before, sum of the contents too
 *   metadata  a piece of 1 MiB of the bytes before page 0, in which repeated words are counted (the tables of an empty
 *             heap become a few words): token n << 1 | 1 and a word = n times that word; n << 1 and n words = these
 *   pages     the pages of one span that are not free, in order; a span whose pages are all free has no section
 *
 *   check of a section = hash(sum of the head or section before, kind, number, bytes)
 *   sum of a section   = hash(check, contents)
 *
 * so if a section was altered, dropped or moved, every later sum is wrong. The hash is invertible in each word
 * of its input, so any change of a single word changes it. It is not cryptographic: an author can forge the sums on
 * purpose. Words are in the writer's byte order.
 */
#include "heap_file.h"
#include <stdlib.h>
#include <string.h>

#define XMC_FILE_MAGIC "XMCHEAP\n"
#define XMC_FILE_FORMAT 1u
#define XMC_FILE_ORDER 0x0102030405060708u
#define XMC_PIECE_BYTES (1u << 20)
#define XMC_BUFFER_BYTES (XMC_PIECE_BYTES + 64u) /* room for a piece without any repetition and its tokens */
#define XMC_MOST_METADATA \
  ((xmc_u64)9 << 30) /* a heap of XMC_MAX_PAGES, XMC_MAX_SLOTS and the largest ring has less */

enum { XMC_SECTION_METADATA = 1, XMC_SECTION_PAGES = 2, XMC_SECTION_END = 3 };

typedef struct xmc_file_head {
  char magic[8];
  xmc_u32 format;
  xmc_u32 layout; /* XMC_LAYOUT_VERSION */
  xmc_u64 order;
  xmc_u64 metadata;
  int64_t fifos;
  xmc_u64 sum; /* of the members above */
} xmc_file_head;

typedef struct xmc_section {
  xmc_u32 kind;
  xmc_u32 number; /* of the piece or span */
  xmc_u64 bytes;
  xmc_u64 check; /* tells a wrong length from a file that was truncated */
  xmc_u64 sum;
} xmc_section;

typedef struct xmc_stream {
  FILE *file;
  xmc_u64 sum; /* of the last head or section */
  xmc_u64 *buffer;
} xmc_stream;

static xmc_u64 hash_word(xmc_u64 h, xmc_u64 word) {
  h = (h ^ word) * 0x9fb21c651e98df25u;
  return h ^ h >> 32;
}

static xmc_u64 hash_words(xmc_u64 h, const xmc_u64 *words, size_t count) {
  size_t i;
  for (i = 0; i < count; i++)
    h = hash_word(h, words[i]);
  return h;
}

static xmc_u64 head_sum(const xmc_file_head *head) {
  xmc_u64 words[sizeof *head / 8u];
  memcpy(words, head, sizeof words);
  return hash_words(0x584d616cu, words, offsetof(xmc_file_head, sum) / 8u);
}

static xmc_u64 section_check(const xmc_stream *s, const xmc_section *section) {
  return hash_word(hash_word(s->sum, (xmc_u64)section->number << 32 | section->kind), section->bytes);
}

static xmc_u64 section_sum(const xmc_stream *s, const xmc_section *section) {
  return hash_words(section->check, s->buffer, (size_t)(section->bytes / 8u));
}

/* Returns a bit for each present page of a span that is not free. */
static xmc_u64 used_pages(xmcHeap *meta, xmc_u32 span) {
  return ~*xmc_span_word(meta, span) & xmc_run_mask(0, meta->present - span * XMC_SPAN_PAGES);
}

/* Removes the first run of set bits from *mask. Returns its length, or 0 if no bit is set; *first gets its first bit. */
static xmc_u32 next_run(xmc_u64 *mask, xmc_u32 *first) {
  xmc_u32 n = 0;
  if (!*mask)
    return 0;
  *first = xmc_lowest64(*mask);
  while (*first + n < XMC_SPAN_PAGES && *mask >> (*first + n) & 1u)
    n++;
  *mask &= ~xmc_run_mask(*first, n);
  return n;
}

static xmc_u64 page_offset(xmcHeap *meta, xmc_u32 span, xmc_u32 page) {
  return meta->data + (((xmc_u64)span * XMC_SPAN_PAGES + page) << XMC_PAGE_SHIFT);
}

/* ---- writing ---- */

/* Writes the section whose contents are in the buffer. */
static cl_int write_section(xmc_stream *s, xmc_u32 kind, xmc_u32 number, xmc_u64 bytes) {
  xmc_section section = {kind, number, bytes, 0, 0};
  section.check = section_check(s, &section);
  section.sum = s->sum = section_sum(s, &section);
  return fwrite(&section, sizeof section, 1, s->file) == 1 &&
                 fwrite(s->buffer, 1, (size_t)bytes, s->file) == (size_t)bytes
             ? CL_SUCCESS
             : XMC_FILE_UNUSABLE;
}

/* Returns the number of equal words from words[at] on. */
static size_t repetition(const xmc_u64 *words, size_t at, size_t count) {
  size_t n = 1;
  while (at + n < count && words[at + n] == words[at])
    n++;
  return n;
}

/* Packs `count` words into tokens at `out`, and returns the number of words there. Only three and more equal words are counted as a
 * repetition, so that the result has at most one word more than the input. */
static size_t pack_words(const xmc_u64 *words, size_t count, xmc_u64 *out) {
  size_t at = 0, used = 0, n, literal;
  while (at < count) {
    n = repetition(words, at, count);
    if (n >= 3) {
      out[used++] = (xmc_u64)n << 1 | 1u;
      out[used++] = words[at];
      at += n;
      continue;
    }
    literal = at;
    while (at < count && (n = repetition(words, at, count)) < 3)
      at += n;
    out[used++] = (xmc_u64)(at - literal) << 1;
    memcpy(out + used, words + literal, 8u * (at - literal));
    used += at - literal;
  }
  return used;
}

static cl_int write_metadata(xmc_stream *s, xmcHeap *meta) {
  xmc_u64 at, left;
  xmc_u32 number = 0;
  cl_int status = CL_SUCCESS;
  for (at = 0; at < meta->data && status == CL_SUCCESS; at += XMC_PIECE_BYTES) {
    left = meta->data - at < XMC_PIECE_BYTES ? meta->data - at : XMC_PIECE_BYTES;
    left = 8u * pack_words(xmc_at64(meta, at), (size_t)(left / 8u), s->buffer);
    status = write_section(s, XMC_SECTION_METADATA, number++, left);
  }
  return status;
}

static cl_int write_span(xmc_stream *s, xmcHeap *meta, xmc_u32 span, xmc_file_get get, void *data) {
  xmc_u64 used = used_pages(meta, span), bytes = 0;
  xmc_u32 first = 0, n;
  cl_int status;
  if (!used)
    return CL_SUCCESS;
  while ((n = next_run(&used, &first)) > 0) {
    xmc_u64 run = (xmc_u64)n << XMC_PAGE_SHIFT;
    status = get(data, page_offset(meta, span, first), run, (char *)s->buffer + bytes);
    if (status != CL_SUCCESS)
      return status;
    bytes += run;
  }
  return write_section(s, XMC_SECTION_PAGES, span, bytes);
}

cl_int xmc_file_write(FILE *file, xmcHeap *meta, long long fifos, xmc_file_get get, void *data) {
  xmc_file_head head = {{0}, XMC_FILE_FORMAT, XMC_LAYOUT_VERSION, XMC_FILE_ORDER, meta->data, fifos, 0};
  xmc_stream s = {file, 0, malloc(XMC_BUFFER_BYTES)};
  cl_int status = CL_OUT_OF_HOST_MEMORY;
  xmc_u32 span;
  if (!s.buffer)
    return status;
  memcpy(head.magic, XMC_FILE_MAGIC, sizeof head.magic);
  head.sum = s.sum = head_sum(&head);
  status = fwrite(&head, sizeof head, 1, file) == 1 ? CL_SUCCESS : XMC_FILE_UNUSABLE;
  if (status == CL_SUCCESS)
    status = write_metadata(&s, meta);
  for (span = 0; span < meta->present_spans && status == CL_SUCCESS; span++)
    status = write_span(&s, meta, span, get, data);
  if (status == CL_SUCCESS)
    status = write_section(&s, XMC_SECTION_END, 0, 0);
  if (status == CL_SUCCESS && fflush(file) != 0)
    status = XMC_FILE_UNUSABLE;
  free(s.buffer);
  return status;
}

/* ---- reading ---- */

static cl_int read_bytes(FILE *file, void *to, size_t bytes) {
  if (fread(to, 1, bytes, file) == bytes)
    return CL_SUCCESS;
  return ferror(file) ? XMC_FILE_UNUSABLE : XMC_FILE_TRUNCATED;
}

static cl_int read_head(xmc_stream *s, xmc_file_head *head) {
  cl_int status = read_bytes(s->file, head, sizeof head->magic);
  if (status == XMC_FILE_UNUSABLE)
    return status;
  if (status != CL_SUCCESS || memcmp(head->magic, XMC_FILE_MAGIC, sizeof head->magic) != 0)
    return XMC_FILE_FOREIGN;
  status = read_bytes(s->file, (char *)head + sizeof head->magic, sizeof *head - sizeof head->magic);
  if (status != CL_SUCCESS)
    return status;
  if (head->format != XMC_FILE_FORMAT || head->layout != XMC_LAYOUT_VERSION || head->order != XMC_FILE_ORDER)
    return XMC_FILE_VERSION;
  if (head->sum != head_sum(head) || head->metadata % 8u || head->metadata < XMC_HEADER_BYTES ||
      head->metadata > XMC_MOST_METADATA || head->fifos < XMC_FIFOS_DEFAULT || head->fifos > 1 << 20)
    return XMC_FILE_DAMAGED;
  s->sum = head->sum;
  return CL_SUCCESS;
}

/* Reads the next section, which must have this kind and number. The buffer gets its contents, *bytes their size. */
static cl_int read_section(xmc_stream *s, xmc_u32 kind, xmc_u32 number, xmc_u64 *bytes) {
  xmc_section section;
  cl_int status = read_bytes(s->file, &section, sizeof section);
  if (status != CL_SUCCESS)
    return status;
  if (section.check != section_check(s, &section) || section.kind != kind || section.number != number ||
      section.bytes > XMC_BUFFER_BYTES || section.bytes % 8u)
    return XMC_FILE_DAMAGED;
  status = read_bytes(s->file, s->buffer, (size_t)section.bytes);
  if (status != CL_SUCCESS)
    return status;
  if (section.sum != section_sum(s, &section))
    return XMC_FILE_DAMAGED;
  s->sum = section.sum;
  *bytes = section.bytes;
  return CL_SUCCESS;
}

/* Unpacks `used` words of tokens. Returns 1 if they stand for exactly `count` words, else 0. */
static int unpack_words(const xmc_u64 *tokens, size_t used, xmc_u64 *words, size_t count) {
  size_t at = 0, done = 0, i;
  while (at < used) {
    xmc_u64 token = tokens[at++], n = token >> 1;
    if (n > count - done || (token & 1u ? 1u : n) > used - at)
      return 0;
    for (i = 0; i < n; i++)
      words[done + i] = tokens[token & 1u ? at : at + i];
    done += (size_t)n;
    at += token & 1u ? 1u : (size_t)n;
  }
  return done == count;
}

static cl_int read_metadata(xmc_stream *s, xmcHeap *meta, xmc_u64 bytes) {
  xmc_u64 at, piece, packed;
  xmc_u32 number = 0;
  cl_int status;
  for (at = 0; at < bytes; at += piece) {
    piece = bytes - at < XMC_PIECE_BYTES ? bytes - at : XMC_PIECE_BYTES;
    status = read_section(s, XMC_SECTION_METADATA, number++, &packed);
    if (status != CL_SUCCESS)
      return status;
    if (!unpack_words(s->buffer, (size_t)(packed / 8u), xmc_at64(meta, at), (size_t)(piece / 8u)))
      return XMC_FILE_DAMAGED;
  }
  return CL_SUCCESS;
}

static cl_int read_span(xmc_stream *s, xmcHeap *meta, xmc_u32 span, xmc_file_put put, void *data) {
  xmc_u64 used = used_pages(meta, span), bytes = 0, at = 0;
  xmc_u32 first = 0, n;
  cl_int status;
  if (!used)
    return CL_SUCCESS;
  status = read_section(s, XMC_SECTION_PAGES, span, &bytes);
  if (status == CL_SUCCESS && bytes != (xmc_u64)__builtin_popcountll(used) << XMC_PAGE_SHIFT)
    status = XMC_FILE_DAMAGED;
  while (put && status == CL_SUCCESS && (n = next_run(&used, &first)) > 0) {
    status = put(data, page_offset(meta, span, first), (xmc_u64)n << XMC_PAGE_SHIFT, (char *)s->buffer + at);
    at += (xmc_u64)n << XMC_PAGE_SHIFT;
  }
  return status;
}

cl_int xmc_file_read(FILE *file, xmcHeap **meta, long long *fifos, xmc_file_put put, void *data) {
  xmc_stream s = {file, 0, malloc(XMC_BUFFER_BYTES)};
  xmc_file_head head;
  xmcHeap *copy = NULL;
  xmc_u64 bytes;
  xmc_u32 span;
  cl_int status = CL_OUT_OF_HOST_MEMORY;
  if (!s.buffer)
    return status;
  status = read_head(&s, &head);
  if (status == CL_SUCCESS && !(copy = malloc((size_t)head.metadata)))
    status = CL_OUT_OF_HOST_MEMORY;
  if (status == CL_SUCCESS)
    status = read_metadata(&s, copy, head.metadata);
  if (status == CL_SUCCESS)
    status = xmc_believe(copy, head.metadata, head.fifos);
  for (span = 0; status == CL_SUCCESS && span < copy->present_spans; span++)
    status = read_span(&s, copy, span, put, data);
  if (status == CL_SUCCESS)
    status = read_section(&s, XMC_SECTION_END, 0, &bytes);
  if (status == CL_SUCCESS && (bytes != 0 || fgetc(file) != EOF))
    status = XMC_FILE_DAMAGED;
  if (status == CL_SUCCESS) {
    *meta = copy;
    *fifos = head.fifos;
    copy = NULL;
  }
  free(copy);
  free(s.buffer);
  return status;
}
