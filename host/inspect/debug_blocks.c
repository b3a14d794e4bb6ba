/* SPDX-License-Identifier: MIT */
/* Live blocks of debug heaps, read by the host: headers, call sites, red zones (cl/calls/debug.cl). */
#include "inspect.h"
#include "../../cl/calls/debug_header.h"
#include <stdlib.h>
#include <string.h>

#define XMC_WINDOW_BYTES (1u << 20)

void xmc_window_open(xmc_window *window, xmc_heap heap, cl_command_queue queue) {
  *window = (xmc_window){heap, queue, CL_SUCCESS, 0, 0, NULL};
}

void xmc_window_close(xmc_window *window) { free(window->at); }

/* Returns the arena's bytes from `offset` on. *bytes is the number wanted, and gets the number that is there, at least 16 or all. Returns
 * NULL if they lie outside of the arena, or after an error, which is in window->status. */
static const unsigned char *window_at(xmc_window *window, xmc_u64 offset, xmc_u64 *bytes) {
  xmc_u64 end = window->heap->header.bytes, least = *bytes < 16u ? *bytes : 16u;
  if (window->status != CL_SUCCESS || offset > end || *bytes > end - offset)
    return NULL;
  if (!window->at && !(window->at = malloc(XMC_WINDOW_BYTES))) {
    window->status = CL_OUT_OF_HOST_MEMORY;
    return NULL;
  }
  if (offset < window->begin || offset + least > window->begin + window->bytes) {
    window->begin = offset;
    window->bytes = end - offset < XMC_WINDOW_BYTES ? end - offset : XMC_WINDOW_BYTES;
    window->status = xmc_arena_read(window->heap, window->queue, offset, window->bytes, window->at);
    if (window->status != CL_SUCCESS)
      return NULL;
  }
  if (*bytes > window->begin + window->bytes - offset)
    *bytes = window->begin + window->bytes - offset;
  return window->at + (offset - window->begin);
}

static int read_header(xmc_window *window, xmc_u64 offset, xmc_debug_header *header) {
  xmc_u64 bytes = sizeof *header;
  const unsigned char *at = window_at(window, offset, &bytes);
  if (at)
    memcpy(header, at, sizeof *header);
  return at != NULL;
}

int xmc_debug_look(xmc_window *window, const xmcHeap *meta, xmc_u64 ref, xmc_u64 room,
                   xmc_debug_block *block) {
  xmc_debug_header h;
  if (!read_header(window, ref, &h) ||
      h.tag != xmc_debug_tag(xmc_debug_first(XMC_DEBUG_LIVE, h.extent), meta->life, ref, h.site, h.extent))
    return 0;
  block->front = xmc_debug_front(h.extent);
  block->size = xmc_debug_size(h.extent);
  block->site = h.site;
  return block->front >= XMC_DEBUG_HEADER_BYTES && block->front <= room && block->size <= room - block->front;
}

typedef struct xmc_debug_reader {
  xmc_window window;
  const xmcHeap *meta;
  xmc_debug_block *blocks;
  size_t count;
} xmc_debug_reader;

static int CL_CALLBACK count_block(const xmc_block *block, void *data) {
  (void)block;
  ++*(size_t *)data;
  return 0;
}

static int CL_CALLBACK read_block(const xmc_block *plain, void *data) {
  xmc_debug_reader *reader = data;
  xmc_debug_block *block = &reader->blocks[reader->count++];
  if (!xmc_debug_look(&reader->window, reader->meta, plain->ref, plain->usable, block))
    block->front = 0;
  return reader->window.status != CL_SUCCESS;
}

cl_int xmc_debug_read(xmc_heap heap, cl_command_queue queue, xmcHeap *meta, xmc_debug_block **blocks) {
  xmc_debug_reader reader = {.meta = meta};
  size_t count = 0;
  xmc_blocks_meta(meta, NULL, count_block, &count);
  *blocks = reader.blocks = malloc((count + 1u) * sizeof *reader.blocks);
  if (!reader.blocks)
    return CL_OUT_OF_HOST_MEMORY;
  xmc_window_open(&reader.window, heap, queue);
  xmc_blocks_meta(meta, NULL, read_block, &reader);
  xmc_window_close(&reader.window);
  return reader.window.status;
}

/* A site holds a hash of its file's name. The host knows two names: that of a source for xmcCreateProgramWithSource, and host calls'. */
const char *xmc_debug_file(xmc_u32 site, char *name) {
  if (site == 0)
    return NULL;
  if ((site ^ xmc_debug_site("<kernel>", 0)) >> 16 == 0)
    return "<kernel>";
  if ((site ^ xmc_debug_site("<host>", 0)) >> 16 == 0)
    return "<host>";
  snprintf(name, 32, "file 0x%04x", site >> 16);
  return name;
}

/* Returns the first place in [from, to) whose byte is not the red zone's; `to` if there is none. */
static xmc_u64 first_overwritten(xmc_window *window, xmc_u64 from, xmc_u64 to) {
  while (from < to) {
    xmc_u64 bytes = to - from, i;
    const unsigned char *at = window_at(window, from, &bytes);
    if (!at)
      return to;
    for (i = 0; i < bytes; i++)
      if (at[i] != XMC_DEBUG_RED_BYTE)
        return from + i;
    from += bytes;
  }
  return to;
}

xmc_u64 xmc_debug_overwritten(xmc_window *window, const xmcHeap *meta, xmc_u64 ref, xmc_u64 room,
                              const xmc_debug_block *block) {
  xmc_u64 user = ref + block->front, at;
  xmc_debug_header h;
  if (block->front > XMC_DEBUG_HEADER_BYTES) {
    if ((at = first_overwritten(window, ref + 16u, user - 16u)) != user - 16u)
      return at;
    if (read_header(window, user - 16u, &h) &&
        h.tag != xmc_debug_tag(XMC_DEBUG_LIVE, meta->life, user - 16u, h.site, h.extent))
      return user - 16u;
  }
  at = first_overwritten(window, user + block->size, ref + room);
  return at == ref + room ? 0 : at;
}
