/* SPDX-License-Identifier: MIT */
/* xmcSaveHeap and xmcLoadHeap: copy heaps between devices and files (heap_file.c).
 *
 * A file is read twice: first all of it is checked, then a heap is created and filled. References are
 * offsets in the arena, so page 0 keeps its offset, whatever the alignment of the new arena is; only
 * xmcAlignedAlloc depends on real addresses. A reset aligns page 0 anew.
 */
#include "file_replace.h"
#include "heap_file.h"
#include <stdlib.h>
#include <string.h>

/* ---- saving ---- */

typedef struct xmc_saved {
  xmc_heap heap;
  cl_command_queue queue;
} xmc_saved;

static cl_int get_arena(void *data, xmc_u64 offset, xmc_u64 bytes, void *to) {
  xmc_saved *saved = data;
  return xmc_arena_read(saved->heap, saved->queue, offset, bytes, to);
}

/* Checks the heap, creates the temporary file and writes the heap to it. The caller must hold the heap's lock. */
static cl_int write_heap(xmc_heap heap, cl_command_queue queue, const char *path,
                         xmc_replacement *replacement) {
  xmc_saved saved = {heap, queue};
  xmc_heap_report report = {0};
  xmcHeap *meta = NULL;
  int intact = 0;
  cl_int status = xmc_walk_open(heap, queue, &meta, &intact);
  if (status != CL_SUCCESS)
    return status;
  status = intact ? xmc_check_meta(meta, &report) : XMC_HEAP_CORRUPT;
  if (status == CL_SUCCESS)
    status = xmc_replace_begin(replacement, path);
  if (status == CL_SUCCESS)
    status = xmc_file_write(replacement->file, meta, heap->settings.fifos, get_arena, &saved);
  free(meta);
  return status;
}

cl_int xmcSaveHeap(xmc_heap heap, cl_command_queue queue, const char *path) {
  xmc_replacement replacement = {NULL, NULL, NULL};
  cl_int status = path ? xmc_lock_heap(heap, &queue) : CL_INVALID_VALUE;
  if (status != CL_SUCCESS)
    return status;
  status = write_heap(heap, queue, path, &replacement);
  xmc_unlock_heap(heap);
  return replacement.file ? xmc_replace_end(&replacement, status) : status;
}

/* ---- loading ---- */

static cl_int put_arena(void *data, xmc_u64 offset, xmc_u64 bytes, const void *from) {
  return xmc_arena_write(data, NULL, offset, bytes, from);
}

/* Reads the file for the second time and fills the arena: pages, then the metadata. The file is checked again, because it may have
 * changed since. */
static cl_int fill_heap(xmc_heap heap, void *data) {
  FILE *file = data;
  xmcHeap *meta = NULL;
  long long fifos;
  cl_int status;
  rewind(file);
  status = xmc_file_read(file, &meta, &fifos, put_arena, heap);
  if (status == CL_SUCCESS && !xmc_is_geometry_of(heap, meta))
    status = XMC_FILE_DAMAGED;
  if (status == CL_SUCCESS && (heap->probe.simt || meta->debug) && xmc_walk_has_joined(meta))
    status = XMC_HEAP_MISMATCH;
  if (status == CL_SUCCESS) {
    meta->joins = heap->initial.joins;
    status = xmc_arena_write(heap, NULL, 0, meta->data, meta);
  }
  free(meta);
  return status;
}

xmc_heap xmcLoadHeap(cl_context context, cl_device_id device, const xmc_heap_properties *properties,
                     const char *path, cl_int *errcode_ret) {
  xmc_image image = {NULL, 0, fill_heap, NULL};
  xmc_heap heap = NULL;
  xmcHeap *meta = NULL;
  /* A heap is read twice, which pipes and most devices do not allow; and to open a named pipe would wait for a writer. */
  int special = path && xmc_path_is_special(path);
  FILE *file = path && !special ? fopen(path, "rb") : NULL;
  cl_int status = !path ? CL_INVALID_VALUE : special ? XMC_FILE_NOT_REGULAR : XMC_FILE_UNUSABLE;
  if (file)
    status = xmc_file_read(file, &meta, &image.fifos, NULL, NULL);
  if (status == CL_SUCCESS) {
    image.header = meta;
    image.data = file;
    heap = xmc_make_heap(context, device, properties, (size_t)meta->bytes, &image, &status);
  }
  free(meta);
  if (file)
    fclose(file);
  if (errcode_ret)
    *errcode_ret = status;
  return heap;
}
