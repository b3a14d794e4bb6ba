/* SPDX-License-Identifier: MIT */
/* xmcGetDeviceReport: a text for people on the probe's results, also for devices that can have no heap. */
#include "heap/internal.h"
#include "inspect/memory_stream.h"
#include "inspect/text.h"
#include <stdlib.h>
#include <string.h>

/* Prints the properties of heaps and programs on a device that can have heaps. */
static void xmc_print_path(FILE *file, cl_context context, const xmc_probe *probe) {
  static const xmc_settings plain = {
      XMC_BACKING_BUFFER, XMC_COALESCE_CLASS, XMC_FIFOS_DEFAULT, 0, 0, 0, 0, 1};
  char options[XMC_OPTIONS_BYTES], a[XMC_TEXT_BYTES], b[XMC_TEXT_BYTES];
  size_t least = 0, most = 0;
  fprintf(file, "lanes    %s\n",
          probe->simt ? "work-items that call together are coalesced" : "each work-item is served alone");
  fprintf(file, "groups   work-group collectives%s\n", probe->subgroups ? " and sub-group collectives" : "");
  if (xmcGetHeapLimits(context, probe->device, NULL, &least, &most) == CL_SUCCESS)
    fprintf(file, "heaps    of %s to %s, in a buffer%s%s\n", xmc_text_size(a, least), xmc_text_size(b, most),
            probe->svm ? ", in SVM" : "",
            probe->svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER ? ", in fine-grained SVM" : "");
  xmc_write_options(probe, &plain, options);
  fprintf(file, "options  %s\n", options);
}

/* Prints each line of `text` with `front` before it. */
static void xmc_print_lines(FILE *file, const char *front, const char *text) {
  while (*text) {
    size_t n = strcspn(text, "\n");
    fprintf(file, "%s%.*s\n", front, (int)n, text);
    text += n + (text[n] == '\n');
  }
}

cl_int xmcGetDeviceReport(cl_context context, cl_device_id device, size_t size, char *text,
                          size_t *size_ret) {
  xmc_memory_stream stream;
  xmc_probe probe;
  int number;
  cl_int found = device ? CL_SUCCESS : CL_INVALID_DEVICE, status;
  if (found == CL_SUCCESS && context)
    found = xmc_find_device(context, device, &number);
  if (found != CL_SUCCESS)
    return found;
  memset(&probe, 0, sizeof probe);
  found = xmc_probe_device(context, device, &probe);
  if (found != CL_SUCCESS && found != probe.status)
    return found; /* the device could not even be queried */
  if (!xmc_memory_stream_open(&stream))
    return CL_OUT_OF_HOST_MEMORY;
  if (found != CL_SUCCESS)
    fprintf(stream.file, "error    %s\n", xmcErrorString(found));
  fprintf(stream.file, "device   %s: %s\n", probe.platform, probe.name);
  fprintf(stream.file, "path     %s\n", probe.path);
  if (found == CL_SUCCESS)
    xmc_print_path(stream.file, context, &probe);
  fprintf(stream.file, "why\n");
  xmc_print_lines(stream.file, "    ", probe.why);
  if (!xmc_memory_stream_close(&stream))
    return CL_OUT_OF_HOST_MEMORY;
  status = xmc_answer(stream.text, stream.bytes + 1, size, text, size_ret);
  free(stream.text);
  return status == CL_SUCCESS ? found : status;
}
