/* xmc-info: each OpenCL device found, the path that programs take on it, and why. */
#include "internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints text with every line indented. */
static void print_lines(const char *text) {
  while (*text) {
    size_t n = strcspn(text, "\n");
    printf("      %.*s\n", (int)n, text);
    text += n + (text[n] == '\n');
  }
}

static void print_options(const xmc_probe *probe) {
  static const xmc_settings plain = {XMC_BACKING_BUFFER, XMC_COALESCE_CLASS, XMC_FIFOS_DEFAULT, 0, 0};
  char options[XMC_OPTIONS_BYTES];
  xmc_write_options(probe, &plain, options);
  printf("  options  %s\n", options);
}

/* 0 if the device can be used */
static int print_device(cl_device_id device) {
  xmc_probe probe;
  cl_int status = xmc_probe_device(NULL, device, &probe);
  if (status != CL_SUCCESS && status != probe.status) {
    printf("device: %s\n", xmcErrorString(status));
    return 1;
  }
  printf("%s: %s\n", probe.platform, probe.name);
  printf("  path     %s\n", probe.path);
  if (status == CL_SUCCESS) {
    printf("  lanes    %s\n",
           probe.simt ? "work-items that call together are coalesced" : "each work-item is served alone");
    printf("  groups   work-group collectives%s\n", probe.subgroups ? " and sub-group collectives" : "");
    printf("  arena    up to %llu MiB, buffer%s%s\n", (unsigned long long)(probe.max_bytes >> 20),
           probe.svm ? ", SVM" : "", probe.svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER ? ", fine-grained SVM" : "");
    print_options(&probe);
  } else {
    printf("  error    %s\n", xmcErrorString(status));
  }
  printf("  why\n");
  print_lines(probe.why);
  return status != CL_SUCCESS;
}

/* Prints the devices of one platform that have `wanted` in their names; returns how many. */
static int print_platform(cl_platform_id platform, const char *wanted, int *unusable) {
  cl_uint count = 0, i;
  int printed = 0;
  cl_device_id *devices = NULL;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count) == CL_SUCCESS)
    devices = calloc(count ? count : 1, sizeof *devices);
  if (devices && clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices, NULL) == CL_SUCCESS)
    for (i = 0; i < count; i++) {
      char name[256] = "";
      clGetDeviceInfo(devices[i], CL_DEVICE_NAME, sizeof name - 1, name, NULL);
      if (wanted && !strstr(name, wanted))
        continue;
      *unusable += print_device(devices[i]);
      printed++;
    }
  free(devices);
  return printed;
}

int main(int argc, char **argv) {
  cl_platform_id platforms[32];
  cl_uint count = 0, i;
  int printed = 0, unusable = 0;
  cl_int status = clGetPlatformIDs(32, platforms, &count);
  const char *wanted = argc > 1 ? argv[1] : NULL;
  int help = wanted && (strcmp(wanted, "--help") == 0 || strcmp(wanted, "-h") == 0);
  if (wanted && strcmp(wanted, "--version") == 0) {
    printf("xmc-info %d.%d.%d\n", XMC_VERSION_MAJOR, XMC_VERSION_MINOR, XMC_VERSION_PATCH);
    return 0;
  }
  if (argc > 2 || (wanted && wanted[0] == '-')) {
    fprintf(help ? stdout : stderr,
            "usage: xmc-info [DEVICE]\n"
            "Prints the OpenCL devices whose names contain DEVICE, or all, and how XMalloc works on each.\n");
    return help ? 0 : 2;
  }
  if (status != CL_SUCCESS) {
    fprintf(stderr, "xmc-info: %s\n", xmcErrorString(status));
    return 1;
  }
  for (i = 0; i < count && i < 32; i++)
    printed += print_platform(platforms[i], wanted, &unusable);
  if (printed == 0)
    fprintf(stderr, "xmc-info: no such device\n");
  return printed == 0 || unusable == printed;
}
