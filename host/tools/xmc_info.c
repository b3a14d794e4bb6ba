/* SPDX-License-Identifier: MIT */
/* xmc-info: prints each OpenCL device, the path that programs take on it, and why. */
#include <xmalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints a device's report. Returns 0 if the device can have heaps, else 1. */
static int print_device(cl_device_id device) {
  size_t size = 0;
  cl_int status = xmcGetDeviceReport(NULL, device, 0, NULL, &size);
  char *text = size ? malloc(size) : NULL;
  if (text && xmcGetDeviceReport(NULL, device, size, text, NULL) == status)
    printf("%s\n", text);
  else
    printf("device: %s\n", xmcErrorString(status));
  free(text);
  return status != CL_SUCCESS;
}

/* Prints the devices of one platform whose name, or the platform's name, contains `wanted`, or all if it is NULL. Returns how many. */
static int print_platform(cl_platform_id platform, const char *wanted, int *unusable) {
  cl_uint count = 0, i;
  int printed = 0;
  cl_device_id *devices = NULL;
  char platform_name[256] = "";
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name - 1, platform_name, NULL);
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count) == CL_SUCCESS)
    devices = calloc(count ? count : 1, sizeof *devices);
  if (devices && clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices, NULL) == CL_SUCCESS)
    for (i = 0; i < count; i++) {
      char name[256] = "";
      clGetDeviceInfo(devices[i], CL_DEVICE_NAME, sizeof name - 1, name, NULL);
      if (wanted && !strstr(name, wanted) && !strstr(platform_name, wanted))
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
    fprintf(help ? stdout : stderr, "usage: xmc-info [DEVICE]\n"
                                    "Prints the OpenCL devices whose name or platform's name contains "
                                    "DEVICE, or all, and how XMalloc works on each.\n");
    return help ? 0 : 2;
  }
  if (status != CL_SUCCESS)
    count = 0;
  for (i = 0; i < count && i < 32; i++)
    printed += print_platform(platforms[i], wanted, &unusable);
  if (printed == 0 && wanted)
    fprintf(stderr,
            "xmc-info: no OpenCL device's or platform's name contains \"%s\"; without it all are listed\n",
            wanted);
  else if (printed == 0)
    fprintf(stderr,
            "xmc-info: no OpenCL device was found (%s).\n"
            "A device needs an OpenCL implementation. For the CPU that is PoCL: on Debian and Ubuntu, in the "
            "package\n"
            "pocl-opencl-icd. For a GPU it comes with the vendor's driver. Where one is installed, the "
            "OpenCL loader\n"
            "finds it by a file in /etc/OpenCL/vendors, or in the folder that OCL_ICD_VENDORS names.\n",
            status == CL_SUCCESS ? "the implementations that are installed have none"
                                 : xmcErrorString(status));
  return printed == 0 || unusable == printed;
}
