/* SPDX-License-Identifier: MIT */
/* Texts about a heap: statistics, leaks, the map and the trace, to a stream or to memory. */
#include "inspect.h"
#include "memory_stream.h"
#include "trace/trace.h"
#include <stdlib.h>
#include <string.h>

/* ---- the writers: visitors whose data is a FILE ---- */

static cl_int write_table(xmcHeap *meta, const xmc_debug_block *debug, void *file) {
  (void)debug;
  xmc_table_meta(meta, file, xmc_has_colours(file));
  return CL_SUCCESS;
}

static cl_int write_json(xmcHeap *meta, const xmc_debug_block *debug, void *file) {
  (void)debug;
  xmc_json_meta(meta, file);
  return CL_SUCCESS;
}

static cl_int write_leaks(xmcHeap *meta, const xmc_debug_block *debug, void *file) {
  xmc_leaks_meta(meta, debug, file);
  return CL_SUCCESS;
}

static cl_int write_map(xmcHeap *meta, const xmc_debug_block *debug, void *file) {
  xmc_map *map = malloc(sizeof *map);
  (void)debug;
  if (!map)
    return CL_OUT_OF_HOST_MEMORY;
  xmc_map_meta(meta, map);
  xmc_map_svg(map, file);
  free(map);
  return CL_SUCCESS;
}

#define XMC_TRACE_WRITER(name, text) \
  static cl_int name(xmcHeap *meta, const xmc_debug_block *debug, void *file) { \
    (void)debug; \
    return text(meta, file); \
  }
XMC_TRACE_WRITER(write_chrome, xmc_trace_chrome)
XMC_TRACE_WRITER(write_folded, xmc_trace_folded)
XMC_TRACE_WRITER(write_allocations, xmc_trace_allocations)
XMC_TRACE_WRITER(write_top, xmc_trace_top)

static xmc_meta_visitor writer_of(xmc_heap_text what) {
  switch (what) {
  case XMC_TEXT_STATS_TABLE:
    return write_table;
  case XMC_TEXT_STATS_JSON:
    return write_json;
  case XMC_TEXT_LEAKS:
    return write_leaks;
  case XMC_TEXT_MAP_SVG:
    return write_map;
  case XMC_TRACE_CHROME:
    return write_chrome;
  case XMC_TRACE_FOLDED:
    return write_folded;
  case XMC_TRACE_FOLDED_ALLOCATIONS:
    return write_allocations;
  case XMC_TRACE_TOP:
    return write_top;
  default:
    return NULL;
  }
}

static cl_int write_to(FILE *file, xmc_heap heap, cl_command_queue queue, xmc_heap_text what) {
  return xmc_visit_meta(heap, queue, what == XMC_TEXT_LEAKS, writer_of(what), file);
}

/* ---- to a stream ---- */

cl_int xmc_write_text(xmc_heap heap, cl_command_queue queue, xmc_heap_text what, FILE *file) {
  cl_int status = file ? write_to(file, heap, queue, what) : CL_INVALID_VALUE;
  if (status != CL_SUCCESS)
    return status;
  return fflush(file) == 0 && !ferror(file) ? CL_SUCCESS : XMC_FILE_UNUSABLE;
}

cl_int xmcReportLeaks(xmc_heap heap, cl_command_queue queue, FILE *file) {
  return xmc_write_text(heap, queue, XMC_TEXT_LEAKS, file);
}

cl_int xmcWriteHeapStats(xmc_heap heap, cl_command_queue queue, FILE *file) {
  return xmc_write_text(heap, queue, XMC_TEXT_STATS_JSON, file);
}

cl_int xmcWriteHeapMap(xmc_heap heap, cl_command_queue queue, FILE *file) {
  return xmc_write_text(heap, queue, XMC_TEXT_MAP_SVG, file);
}

cl_int xmcWriteTrace(xmc_heap heap, cl_command_queue queue, FILE *file, xmc_trace_format format) {
  if (format < XMC_TRACE_CHROME || format > XMC_TRACE_TOP)
    return CL_INVALID_VALUE;
  return xmc_write_text(heap, queue, format, file);
}

/* ---- to memory ---- */

cl_int xmcGetHeapText(xmc_heap heap, cl_command_queue queue, xmc_heap_text what, size_t size, char *text,
                      size_t *size_ret) {
  xmc_memory_stream stream;
  cl_int status;
  if (!writer_of(what))
    return CL_INVALID_VALUE;
  if (!xmc_memory_stream_open(&stream))
    return CL_OUT_OF_HOST_MEMORY;
  status = write_to(stream.file, heap, queue, what);
  if (!xmc_memory_stream_close(&stream) && status == CL_SUCCESS)
    status = CL_OUT_OF_HOST_MEMORY;
  if (status == CL_SUCCESS && size_ret)
    *size_ret = stream.bytes + 1;
  if (status == CL_SUCCESS && text && size <= stream.bytes)
    status = CL_INVALID_VALUE;
  if (status == CL_SUCCESS && text)
    memcpy(text, stream.text, stream.bytes + 1);
  free(stream.text);
  return status;
}
