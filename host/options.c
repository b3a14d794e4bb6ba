/* Build options of programs for a device and heap. Every feature macro is given, as 0 or 1, so that
 * nothing is left to the device's own macros, which may lie. */
#include "internal.h"
#include <stdio.h>
#include <string.h>

static void xmc_add_option(char *options, const char *option) {
  size_t used = strlen(options);
  snprintf(options + used, XMC_OPTIONS_BYTES - used, "%s%s", used ? " " : "", option);
}

void xmc_write_options(const xmc_probe *probe, const xmc_settings *settings, char *options) {
  snprintf(options, XMC_OPTIONS_BYTES,
           "-cl-std=%s -DXMC_NVIDIA=%d -DXMC_NVIDIA_REDUX=%d -DXMC_C11_ATOMICS=%d -DXMC_SIMT=%d "
           "-DXMC_HAS_SUBGROUPS=%d -DXMC_COALESCING=%d -DXMC_DEBUG=%d -DXMC_PROGRAM_SCOPE=%d",
           probe->std, probe->nvidia, probe->redux, probe->c11, probe->simt, probe->subgroups,
           settings->coalescing, settings->debug, probe->program_scope);
  if (probe->race_checker)
    xmc_add_option(options, "-DXMC_LOAD_BY_RMW=1");
  /* Host threads may work on a heap in fine-grained memory at the same time as kernels. */
  if (probe->c11 && settings->backing == XMC_BACKING_SVM_FINE && probe->svm_scope)
    xmc_add_option(options, "-DXMC_SCOPE=memory_scope_all_svm_devices");
  else if (probe->c11)
    xmc_add_option(options, "-DXMC_SCOPE=memory_scope_device");
}

const char *xmcGetBuildOptions(xmc_heap heap) {
  return xmc_check_handle(heap) == CL_SUCCESS ? heap->options : NULL;
}
