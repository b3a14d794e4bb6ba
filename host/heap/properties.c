/* SPDX-License-Identifier: MIT */
/* The properties of a heap, and what follows from them and the device: the arena's layout, and the sizes that it can have. */
#include "internal.h"
#include "layout.h"

static int xmc_set_property(xmc_settings *settings, xmc_heap_properties name, xmc_heap_properties value) {
  switch (name) {
  case XMC_HEAP_BACKING:
    settings->backing = (int)value;
    return value >= XMC_BACKING_BUFFER && value <= XMC_BACKING_SVM_FINE;
  case XMC_HEAP_COALESCING:
    settings->coalescing = (int)value;
    return value >= XMC_COALESCE_NONE && value <= XMC_COALESCE_CLASS;
  case XMC_HEAP_FIFOS:
    settings->fifos = value;
    return value == XMC_FIFOS_DEFAULT || (value >= 0 && value <= 1 << 20);
  case XMC_HEAP_FIFO_START:
    settings->fifo_start = (xmc_u32)value;
    return value >= 0 && (uint64_t)value <= 0xffffffffu;
  case XMC_HEAP_DEBUG:
    settings->debug = (int)value;
    return value >= 0 && value <= XMC_DEBUG_MAX;
  case XMC_HEAP_MAX_BYTES:
    settings->max_bytes = (xmc_u64)value;
    return value >= 0;
  case XMC_HEAP_TRACE_BYTES:
    settings->trace_records = value > 0 ? xmc_ring_records((xmc_u64)value) : 0;
    return value == 0 || settings->trace_records > 0;
  case XMC_HEAP_TRACE_EVERY:
    settings->trace_every = (xmc_u32)value;
    return value > 0 && (uint64_t)value <= 0xffffffffu;
  default:
    return 0;
  }
}

cl_int xmc_read_properties(const xmc_heap_properties *properties, const xmc_image *image,
                           xmc_settings *settings) {
  const xmc_heap_properties *p, *q;
  xmc_settings own;
  *settings = (xmc_settings){.backing = XMC_BACKING_BUFFER,
                             .coalescing = XMC_COALESCE_CLASS,
                             .fifos = XMC_FIFOS_DEFAULT,
                             .trace_every = 1};
  if (image)
    *settings = (xmc_settings){
        XMC_BACKING_BUFFER,
        (int)image->header->coalescing,
        image->fifos,
        image->header->fifo_start,
        (int)image->header->debug,
        image->header->max_bytes,
        image->header->trace_records,
        image->header->trace_records ? image->header->trace_every : 1u,
    };
  own = *settings;
  for (p = properties; p && *p; p += 2) {
    for (q = properties; q != p; q += 2)
      if (*q == *p)
        return CL_INVALID_PROPERTY;
    if (!xmc_set_property(settings, p[0], p[1]))
      return CL_INVALID_PROPERTY;
  }
  if (image && !settings->max_bytes && image->header->bytes == image->header->max_bytes)
    settings->max_bytes = own.max_bytes; /* 0 stands for the heap's size */
  if (image && !settings->trace_records)
    settings->trace_every = own.trace_every; /* has no meaning without a trace */
  if (image && (own.coalescing != settings->coalescing || own.fifos != settings->fifos ||
                own.fifo_start != settings->fifo_start || own.debug != settings->debug ||
                own.max_bytes != settings->max_bytes || own.trace_records != settings->trace_records ||
                own.trace_every != settings->trace_every))
    return CL_INVALID_PROPERTY;
  return CL_SUCCESS;
}

cl_int xmc_check_backing(const xmc_probe *probe, const xmc_settings *settings) {
  cl_bitfield any = CL_DEVICE_SVM_FINE_GRAIN_BUFFER;
  if (settings->backing == XMC_BACKING_BUFFER)
    return CL_SUCCESS;
  if (settings->backing == XMC_BACKING_SVM)
    any |= CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
  return probe->svm & any ? CL_SUCCESS : XMC_SVM_UNAVAILABLE;
}

/* Returns the default number of FIFOs for each class: one for each sub-group that can be resident. A CPU device runs a work-group on
 * each unit; it gets more slots than that, so that fewer work-items share one. */
static xmc_u32 xmc_default_fifos(const xmc_probe *probe) {
  return probe->gpu ? probe->units * 64u : (4u * probe->units + 63u) / 64u * 64u;
}

/* Lays out the arena in `header`. Returns 1, or 0 if there is no room for the tables and the least number of pages. */
static int xmc_fits(const xmc_probe *probe, const xmc_settings *settings, uint64_t bytes, xmcHeap *header) {
  xmc_layout_request request = {0};
  int by_device = settings->fifos == XMC_FIFOS_DEFAULT;
  request.slots = by_device ? xmc_default_fifos(probe) : (xmc_u32)settings->fifos;
  request.slots_exact = !by_device;
  request.lanes = xmc_default_fifos(probe);
  request.fifo_start = settings->fifo_start;
  request.coalescing = (xmc_u32)settings->coalescing;
  request.debug = (xmc_u32)settings->debug;
  request.simt = probe->simt;
  request.max_bytes = settings->max_bytes;
  request.trace_records = settings->trace_records;
  request.trace_every = settings->trace_every;
  return xmc_layout(header, bytes, &request);
}

cl_int xmc_plan(const xmc_probe *probe, const xmc_settings *settings, uint64_t bytes, xmcHeap *header) {
  if (bytes > probe->max_bytes || settings->max_bytes > probe->max_bytes)
    return XMC_HEAP_TOO_LARGE;
  if (settings->max_bytes && bytes > settings->max_bytes)
    return CL_INVALID_PROPERTY;
  if (!xmc_fits(probe, settings, bytes, header))
    return XMC_HEAP_TOO_SMALL;
  header->magic = 0;
  return CL_SUCCESS;
}

/* Returns the fewest bytes that fit, by bisection, because any larger size fits as well. The result may be more than XMC_HEAP_MAX_BYTES, if
 * a heap of that size has no room for its own tables. */
static uint64_t xmc_least(const xmc_probe *probe, const xmc_settings *settings) {
  uint64_t too_few = 0, enough = 1u << 16, middle;
  xmcHeap header;
  while (!xmc_fits(probe, settings, enough, &header)) {
    too_few = enough;
    enough *= 2u;
  }
  while (enough - too_few > 1u) {
    middle = too_few + (enough - too_few) / 2u;
    if (xmc_fits(probe, settings, middle, &header))
      enough = middle;
    else
      too_few = middle;
  }
  return enough;
}

cl_int xmcGetHeapLimits(cl_context context, cl_device_id device, const xmc_heap_properties *properties,
                        size_t *least, size_t *most) {
  xmc_settings settings;
  xmc_probe probe;
  int number;
  xmc_u64 limit;
  cl_int status = xmc_read_properties(properties, NULL, &settings);
  if (status == CL_SUCCESS && context)
    status = xmc_find_device(context, device, &number);
  if (status == CL_SUCCESS)
    status = device ? xmc_probe_device(context, device, &probe) : CL_INVALID_DEVICE;
  if (status == CL_SUCCESS)
    status = xmc_check_backing(&probe, &settings);
  if (status != CL_SUCCESS)
    return status;
  if (least)
    *least = (size_t)xmc_least(&probe, &settings);
  limit = settings.max_bytes && settings.max_bytes < probe.max_bytes ? settings.max_bytes : probe.max_bytes;
  if (most)
    *most = limit < SIZE_MAX ? (size_t)limit : SIZE_MAX;
  return CL_SUCCESS;
}
