/* SPDX-License-Identifier: MIT */
/* With XMC_TEST_AS_GPU in the environment every device says that it is a GPU, so that the library tries its lanes: a CPU device
 * whose compiler runs sub-groups in lock step then takes the way that GPUs take. */
#include "harness.h"
#include <dlfcn.h>

cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device, cl_device_info name, size_t bytes, void *value,
                                   size_t *bytes_ret) {
  __typeof__(&clGetDeviceInfo) real = (__typeof__(real))(intptr_t)dlsym(RTLD_NEXT, "clGetDeviceInfo");
  cl_int status = real(device, name, bytes, value, bytes_ret);
  if (status == CL_SUCCESS && name == CL_DEVICE_TYPE && value && getenv("XMC_TEST_AS_GPU"))
    *(cl_device_type *)value = CL_DEVICE_TYPE_GPU;
  return status;
}
