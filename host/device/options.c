/* SPDX-License-Identifier: MIT */
/* Build options of programs for a device and heap. Every feature macro is defined, as 0 or 1, so that programs do not
 * depend on the device's own macros, which may be wrong. */
#include "heap/internal.h"
#include <stdio.h>
#include <string.h>

void xmc_add_option(char *options, const char *option) {
  size_t used = strlen(options);
  snprintf(options + used, XMC_OPTIONS_BYTES - used, "%s%s", used ? " " : "", option);
}

static void xmc_add_number(char *options, const char *name, xmc_u64 value) {
  char option[64];
  snprintf(option, sizeof option, "-DXMC_GEOMETRY%s=%lluu%s", name, (unsigned long long)value,
           value >> 32 ? "l" : "");
  xmc_add_option(options, option);
}

/* Writes the constants that geometry.h uses instead of a header. The number of present pages is a constant only if the heap cannot
 * grow. */
void xmc_write_geometry(const xmcHeap *heap, char *options) {
  xmc_u32 fifos = xmc_fifos_count(heap->fifo_table[0]);
  xmc_u32 parked = xmc_fifos_count(heap->fifo_table[XMC_PARKED_SLABS]), cls;
  char name[] = "_INDEX0";
  for (cls = 0; cls < XMC_ALL_CLASSES; cls++)
    if (xmc_fifos_count(heap->fifo_table[cls]) != (cls < XMC_PARKED_SLABS ? fifos : parked))
      fifos = 0;
  options[0] = 0;
  xmc_add_number(options, "", heap->geometry);
  xmc_add_number(options, "_DATA", heap->data);
  xmc_add_number(options, "_WORDS", heap->words);
  xmc_add_number(options, "_MAP", heap->page_map);
  xmc_add_number(options, "_PAGES", heap->pages);
  xmc_add_number(options, "_PRESENT", heap->max_bytes > heap->bytes ? 0 : heap->present);
  xmc_add_number(options, "_LANES", heap->lanes);
  xmc_add_number(options, "_SLOTS", heap->slots);
  xmc_add_number(options, "_FIFOS", fifos);
  xmc_add_number(options, "_PARKED_FIFOS", parked);
  xmc_add_number(options, "_OWN", heap->own);
  xmc_add_number(options, "_BUSY", heap->bitmaps[XMC_BUSY].level[0]);
  xmc_add_number(options, "_PARKED", heap->bitmaps[XMC_PARKED].level[0]);
  xmc_add_number(options, "_WHOLE", heap->bitmaps[XMC_WHOLE].level[0]);
  for (cls = 0; cls < XMC_INDEX_LEVELS; cls++, name[6]++)
    xmc_add_number(options, name, heap->index[cls]);
}

void xmc_write_options(const xmc_probe *probe, const xmc_settings *settings, char *options) {
  snprintf(options, XMC_OPTIONS_BYTES,
           "-cl-std=%s -cl-kernel-arg-info -DXMC_NVIDIA=%d -DXMC_NVIDIA_REDUX=%d -DXMC_NVIDIA_FENCE=%d "
           "-DXMC_C11_ATOMICS=%d -DXMC_SIMT=%d "
           "-DXMC_HAS_SUBGROUPS=%d -DXMC_COALESCING=%d -DXMC_DEBUG=%d -DXMC_TRACE=%d -DXMC_PROGRAM_SCOPE=%d",
           probe->std, probe->nvidia, probe->redux, probe->fence, probe->c11, probe->simt, probe->subgroups,
           settings->coalescing, settings->debug, settings->trace_records != 0, probe->program_scope);
  if (probe->scalar_calls)
    xmc_add_option(options, "-DXMC_SCALAR_CALLS=1");
  if (probe->race_checker)
    xmc_add_option(options, "-DXMC_LOAD_BY_RMW=1");
  /* Host threads may work on a heap in fine-grained memory at the same time as kernels. */
  if (probe->c11 && settings->backing == XMC_BACKING_SVM_FINE && probe->svm_scope)
    xmc_add_option(options, "-DXMC_SCOPE=memory_scope_all_svm_devices");
  else if (probe->c11)
    xmc_add_option(options, "-DXMC_SCOPE=memory_scope_device");
}

/* Programs for heaps with a FIFO for each sub-group do without own places, which take more registers (own.cl). */
void xmc_write_own_places(const xmcHeap *heap, const xmc_probe *probe, char *options) {
  if (probe->simt && !heap->own)
    xmc_add_option(options, "-DXMC_OWN_PLACES=0");
}

/* The number lets kernel_arg.c refuse a program that was built for another device of the context, because implementations do not
 * report reliably for which devices a program was built. */
void xmc_write_device(int number, char *options) {
  char option[32];
  snprintf(option, sizeof option, "-DXMC_DEVICE=%d", number);
  if (number >= 0)
    xmc_add_option(options, option);
}

const char *xmcGetBuildOptions(xmc_heap heap) {
  return xmc_check_handle(heap) == CL_SUCCESS ? heap->options : NULL;
}

const char *xmcGetGeometryOptions(xmc_heap heap) {
  return xmc_check_handle(heap) == CL_SUCCESS ? heap->geometry : NULL;
}
