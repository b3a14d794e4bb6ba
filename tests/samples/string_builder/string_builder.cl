/* SPDX-License-Identifier: MIT */
/* Kernels of string_builder.c: strings that grow as they are written, and are then joined to one text. */
#include "xmalloc.cl"

typedef struct string {
  xmcRef text; /* `room` bytes; 0 if there are none */
  uint length;
  uint room;
} string;

static void copy(__global uchar *to, __global const uchar *from, uint bytes) {
  for (; bytes > 0; bytes--)
    *to++ = *from++;
}

/* Appends `bytes` characters. Returns 0 if the heap is full: the string stays as it is, and the heap counts the request
 * that failed. */
static int append(__global xmcHeap *heap, string *s, const uchar *piece, uint bytes) {
  __global uchar *text = (__global uchar *)xmcFromRef(heap, s->text);
  uint i;
  if (s->length + bytes > s->room) {
    uint room = 2 * (s->length + bytes);
    text = (__global uchar *)xmcRealloc(heap, text, room); /* of NULL: allocates */
    if (!text)
      return 0;
    s->text = xmcToRef(heap, text);
    s->room = room;
  }
  for (i = 0; i < bytes; i++)
    text[s->length++] = piece[i];
  return 1;
}

/* Writes a text and the number n > 0 behind it to `piece`; returns the number of characters. */
static uint print(uchar *piece, __constant const char *text, uint n) {
  uint bytes = 0, digit = 1000000000u;
  for (; text[bytes]; bytes++)
    piece[bytes] = (uchar)text[bytes];
  while (digit > n)
    digit /= 10;
  for (; digit > 0; digit /= 10)
    piece[bytes++] = (uchar)('0' + n / digit % 10);
  return bytes;
}

/* Work-item i writes a line with the factors of i + 2, such as "12 = 2 x 2 x 3". */
__kernel void factorise(__global xmcHeap *heap, __global string *lines, uint count) {
  uint i = (uint)get_global_id(0), n = i + 2, rest = n, factor = 2, bytes;
  string s = {0, 0, 0};
  uchar piece[32];
  if (i >= count)
    return;
  bytes = print(piece, "", n);
  while (append(heap, &s, piece, bytes) && rest > 1) {
    while (rest % factor != 0)
      factor = factor * factor > rest ? rest : factor + 1;
    bytes = print(piece, rest == n ? " = " : " x ", factor);
    rest /= factor;
    if (rest == 1)
      piece[bytes++] = '\n';
  }
  lines[i] = s;
}

/* Work-item i joins strings 2 i and 2 i + 1 to one, which replaces both. The last string may be without a partner. */
__kernel void join(__global xmcHeap *heap, __global const string *in, __global string *out, uint count) {
  uint i = (uint)get_global_id(0);
  __global uchar *both;
  string first, second;
  if (2 * i >= count)
    return;
  first = out[i] = in[2 * i];
  if (2 * i + 1 == count)
    return;
  second = in[2 * i + 1];
  both = (__global uchar *)xmcMalloc(heap, first.length + second.length);
  if (!both)
    return;
  copy(both, (__global uchar *)xmcFromRef(heap, first.text), first.length);
  copy(both + first.length, (__global uchar *)xmcFromRef(heap, second.text), second.length);
  out[i].text = xmcToRef(heap, both);
  out[i].length = out[i].room = first.length + second.length;
  xmcFree(heap, xmcFromRef(heap, first.text));
  xmcFree(heap, xmcFromRef(heap, second.text));
}
