/* SPDX-License-Identifier: MIT */
/* Devices and sub-devices.
 *
 * A sub-device is a part of its root device's compute units, with the same memory and the same compiler. So to this
 * library a root device and all its sub-devices are one device: the probe's results for one of them hold for all,
 * and queues and programs of each serve heaps of each. Only the number of compute units is the sub-device's own.
 *
 * Implementations differ in the devices that a context of sub-devices lists. Intel's lists the sub-devices, and refuses
 * queues of other devices; PoCL's lists the root device, and accepts queues of it and of any sub-device.
 */
#include "heap/internal.h"
#include <stdlib.h>

static cl_device_id xmc_parent(cl_device_id device) {
  cl_device_id parent = NULL;
  if (clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL) != CL_SUCCESS)
    parent = NULL; /* before OpenCL 1.2 */
  return parent;
}

cl_device_id xmc_root_device(cl_device_id device) {
  cl_device_id parent;
  while ((parent = xmc_parent(device)) != NULL)
    device = parent;
  return device;
}

int xmc_same_device(cl_device_id a, cl_device_id b) {
  return a == b || xmc_root_device(a) == xmc_root_device(b);
}

cl_int xmc_retain_device(cl_device_id device) {
  return xmc_parent(device) ? clRetainDevice(device) : CL_SUCCESS;
}

void xmc_release_device(cl_device_id device) {
  if (xmc_parent(device))
    clReleaseDevice(device);
}

cl_int xmc_find_device(cl_context context, cl_device_id device, int *number) {
  cl_device_id *devices = NULL;
  size_t bytes = 0, i, same = 0;
  cl_int status = device ? clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &bytes) : CL_INVALID_DEVICE;
  if (status != CL_SUCCESS)
    return status;
  devices = malloc(bytes + 1);
  if (!devices)
    return CL_OUT_OF_HOST_MEMORY;
  *number = -1;
  status = clGetContextInfo(context, CL_CONTEXT_DEVICES, bytes, devices, NULL);
  for (i = 0; i < bytes / sizeof *devices && status == CL_SUCCESS; i++)
    if (xmc_same_device(devices[i], device) && same++ == 0)
      *number = (int)i;
  free(devices);
  if (status == CL_SUCCESS && *number < 0)
    status = CL_INVALID_DEVICE;
  if (same == i)
    *number = -1;
  return status;
}
