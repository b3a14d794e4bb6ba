/* SPDX-License-Identifier: MIT */
/* Finds out what a device can do. A device's macros and extension strings may be wrong (some devices declare features that do
 * not build, others build features that give wrong results). So after the queries each candidate path is built and run on small
 * problems, the last of them a malloc and a free, and the results are compared. The first path that works is taken:
 *
 *   NVIDIA                          inline PTX: lanes and device-scope order, OpenCL C 3.0, else 1.2
 *   device-scope C11 atomics        OpenCL C 3.0, or 2.0 on devices without it; with lanes on GPUs that have them: by sub-group
 *                                   functions, or by the compiler's builtins on AMD's GPUs, which declare no such functions
 *   cl_khr_int64_*_atomics          OpenCL C 1.2
 *
 * The results are kept until the process ends.
 */
#include "probe.h"
#include "inspect/text.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cl_nv_device_attribute_query */
#define XMC_COMPUTE_CAPABILITY_MAJOR_NV 0x4000

/* True if `word` is one of the words of `words`, whole: an extension in a list. */
static int xmc_has_word(const char *words, const char *word) {
  size_t n = strlen(word);
  const char *at;
  for (at = words; (at = strstr(at, word)) != NULL; at += n)
    if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
      return 1;
  return 0;
}

static char *xmc_device_string(cl_device_id device, cl_device_info name) {
  size_t bytes = 0;
  char *text;
  if (clGetDeviceInfo(device, name, 0, NULL, &bytes) != CL_SUCCESS)
    bytes = 0;
  text = calloc(1, bytes + 1);
  if (text && bytes && clGetDeviceInfo(device, name, bytes, text, NULL) != CL_SUCCESS)
    text[0] = '\0';
  return text;
}

/* Tries the path that the probe's members describe, in OpenCL C `std`. Returns 1 if it works. */
static int xmc_path_works(const xmc_bench *bench, const char *std, const char *path) {
  static const xmc_settings plain = {
      XMC_BACKING_BUFFER, XMC_COALESCE_CLASS, XMC_FIFOS_DEFAULT, 0, 0, 0, 0, 1};
  xmc_probe *probe = bench->probe;
  char options[XMC_OPTIONS_BYTES];
  snprintf(probe->std, sizeof probe->std, "%s", std);
  snprintf(probe->path, sizeof probe->path, "%s, OpenCL C %s", path, std + 2);
  xmc_say(probe, "try %s:", probe->path);
  xmc_write_options(probe, &plain, options);
  if (!xmc_atomics_work(bench, options) || (probe->simt && !xmc_lanes_work(bench, options)) ||
      !xmc_pair_works(bench, &plain, options))
    return 0;
  xmc_say(probe, "  builds%s and computes right: taken",
          probe->scalar_calls ? ", malloc without optimisation," : "");
  return 1;
}

static int xmc_ptx_works(const xmc_bench *bench, cl_uint version) {
  return (version >= 300 && xmc_path_works(bench, "CL3.0", "NVIDIA PTX")) ||
         xmc_path_works(bench, "CL1.2", "NVIDIA PTX");
}

static cl_int xmc_choose_path(const xmc_bench *bench, const char *extensions, cl_uint version) {
  xmc_probe *probe = bench->probe;
  int lanes;
  if (probe->nvidia) {
    probe->simt = 1;
    if (xmc_ptx_works(bench, version))
      return CL_SUCCESS;
    if (probe->fence) { /* a compiler may know less PTX than its driver's version says */
      probe->fence = 0;
      xmc_say(probe, "without fence.release:");
      if (xmc_ptx_works(bench, version))
        return CL_SUCCESS;
    }
    probe->nvidia = probe->redux = probe->fence = probe->simt = 0;
  }
  lanes = probe->gpu && (probe->amd || (xmc_has_word(extensions, "cl_khr_subgroup_ballot") &&
                                        xmc_has_word(extensions, "cl_khr_subgroup_shuffle")));
  if (version >= 200) { /* sub-groups, too, came with OpenCL C 2.0 */
    const char *std = version >= 300 ? "CL3.0" : "CL2.0";
    probe->c11 = 1;
    probe->simt = lanes;
    if (lanes && xmc_path_works(bench, std, "sub-group lanes and C11 atomics"))
      return CL_SUCCESS;
    probe->simt = 0;
    if (xmc_path_works(bench, std, "C11 atomics"))
      return CL_SUCCESS;
    probe->c11 = 0;
  }
  if (xmc_path_works(bench, "CL1.2", "cl_khr_int64 atomics"))
    return CL_SUCCESS;
  snprintf(probe->path, sizeof probe->path, "none");
  return xmc_has_word(extensions, "cl_khr_int64_base_atomics") ? XMC_DEVICE_UNUSABLE : XMC_NO_INT64_ATOMICS;
}

/* The sub-group collectives are the plain calls, so no further test is needed. */
static void xmc_choose_subgroups(xmc_probe *probe, const char *extensions) {
  probe->subgroups = xmc_has_word(extensions, "cl_khr_subgroup_ballot");
  xmc_say(probe, "sub-group collectives: %s",
          probe->subgroups ? "the plain calls" : "none (no cl_khr_subgroup_ballot)");
}

/* True if the device declares atomics at the scope of all SVM devices, which are part of OpenCL 2 and optional in 3. */
static int xmc_scope_is_declared(cl_device_id device, cl_uint version) {
  cl_device_atomic_capabilities scopes = 0;
  return version < 300 || (clGetDeviceInfo(device, CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES, sizeof scopes,
                                           &scopes, NULL) == CL_SUCCESS &&
                           (scopes & CL_DEVICE_ATOMIC_SCOPE_ALL_DEVICES));
}

static void xmc_choose_svm(const xmc_bench *bench, cl_uint version) {
  static const xmc_settings fine = {
      XMC_BACKING_SVM_FINE, XMC_COALESCE_CLASS, XMC_FIFOS_DEFAULT, 0, 0, 0, 0, 1};
  xmc_probe *probe = bench->probe;
  char options[XMC_OPTIONS_BYTES];
  if (!probe->svm) {
    xmc_say(probe, "shared virtual memory: none");
    return;
  }
  /* A CPU device is the host: its device scope is wide enough. */
  probe->svm_scope = probe->gpu && probe->c11 && (probe->svm & CL_DEVICE_SVM_ATOMICS) &&
                     xmc_scope_is_declared(probe->device, version);
  if (probe->svm_scope) {
    xmc_write_options(probe, &fine, options);
    probe->svm_scope = xmc_atomics_work(bench, options);
  }
  xmc_write_options(probe, &fine, options);
  probe->svm_alias = xmc_svm_alias_works(bench, options);
  xmc_say(probe, "shared virtual memory: %s%s; kernels get %s",
          probe->svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER ? "fine" : "coarse",
          probe->svm & CL_DEVICE_SVM_ATOMICS ? " with atomics" : "",
          probe->svm_alias ? "it as a buffer, whose use OpenCL tracks" : "its address");
}

/* Tests variables at program scope, which the default heap needs; they are optional in OpenCL C 3.0. */
static void xmc_choose_program_scope(const xmc_bench *bench, cl_uint version) {
  static const xmc_settings plain = {
      XMC_BACKING_BUFFER, XMC_COALESCE_CLASS, XMC_FIFOS_DEFAULT, 0, 0, 0, 0, 1};
  static const char *const says[] = {"do not keep an address", "keep its address unless they are weak",
                                     "keep its address"};
  xmc_probe *probe = bench->probe;
  char options[XMC_OPTIONS_BYTES];
  size_t most = 0;
  if (version < 200 || !probe->c11 ||
      clGetDeviceInfo(probe->device, CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, sizeof most, &most, NULL) !=
          CL_SUCCESS ||
      most < sizeof(void *)) {
    xmc_say(probe, "default heap: none (no variables at program scope)");
    return;
  }
  for (probe->program_scope = 2; probe->program_scope > 0; probe->program_scope--) {
    xmc_write_options(probe, &plain, options);
    if (xmc_program_scope_works(bench, options))
      break;
  }
  xmc_say(probe, "default heap: variables at program scope %s", says[probe->program_scope]);
}

static cl_int xmc_query_size(xmc_probe *probe) {
  cl_int status =
      clGetDeviceInfo(probe->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof probe->units, &probe->units, NULL);
  if (status == CL_SUCCESS)
    status = clGetDeviceInfo(probe->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof probe->max_bytes,
                             &probe->max_bytes, NULL);
  return status;
}

/* Which instructions NVIDIA's compiler has for this device. PTX 8.6 came with CUDA 12.7, so its drivers from 570 on know it; other
 * implementations on NVIDIA's devices count their versions from lower numbers. */
static void xmc_query_ptx(xmc_probe *probe) {
  char *driver = xmc_device_string(probe->device, CL_DRIVER_VERSION);
  cl_uint major = 0;
  if (clGetDeviceInfo(probe->device, XMC_COMPUTE_CAPABILITY_MAJOR_NV, sizeof major, &major, NULL) !=
      CL_SUCCESS)
    major = 0;
  probe->redux = major >= 8;
  probe->fence = major >= 9 && driver && strtol(driver, NULL, 10) >= 570;
  if (major)
    xmc_say(probe, "compute capability %u.x: redux.sync %s, fence.release %s", major,
            probe->redux ? "used" : "missing", probe->fence ? "used" : "missing");
  free(driver);
}

/* Queries the device. Returns CL_SUCCESS or an OpenCL error. */
static cl_int xmc_query(xmc_probe *probe, cl_uint *version) {
  cl_device_id device = probe->device;
  cl_platform_id platform = NULL;
  cl_device_type type = 0;
  cl_uint vendor_id = 0;
  char *vendor = NULL, *device_version = NULL;
  unsigned first = 0, second = 0;
  cl_int status = clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  if (status == CL_SUCCESS)
    status = xmc_query_size(probe);
  if (status == CL_SUCCESS)
    status = clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
  if (status != CL_SUCCESS)
    return status;
  clGetDeviceInfo(device, CL_DEVICE_VENDOR_ID, sizeof vendor_id, &vendor_id, NULL);
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof probe->name - 1, probe->name, NULL);
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof probe->platform - 1, probe->platform, NULL);
  vendor = xmc_device_string(device, CL_DEVICE_VENDOR);
  device_version = xmc_device_string(device, CL_DEVICE_VERSION);
  if (vendor && device_version && sscanf(device_version, "OpenCL %u.%u", &first, &second) == 2) {
    *version = first * 100 + second * 10;
    probe->gpu = (type & CL_DEVICE_TYPE_GPU) && !(type & CL_DEVICE_TYPE_CPU); /* simulators say both */
    probe->nvidia = probe->gpu && (vendor_id == 0x10de || strstr(vendor, "NVIDIA"));
    probe->scalar_calls = !probe->gpu && strstr(probe->platform, "Intel(R) OpenCL") != NULL;
    probe->amd = probe->gpu && vendor_id == 0x1002;
    probe->race_checker = strstr(probe->name, "Oclgrind") != NULL;
    if (*version >= 200 && clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof probe->svm, &probe->svm,
                                           NULL) != CL_SUCCESS)
      probe->svm = 0;
    xmc_say(probe, "%s device of %s: %s", probe->gpu ? "GPU" : "CPU or other", vendor, device_version);
    if (probe->nvidia)
      xmc_query_ptx(probe);
  } else {
    status = CL_OUT_OF_HOST_MEMORY;
  }
  free(vendor);
  free(device_version);
  return status;
}

static cl_int xmc_probe_now(cl_context context, cl_device_id device, xmc_probe *probe) {
  xmc_bench bench = {NULL, NULL, probe};
  char *extensions = NULL;
  cl_uint version = 0;
  cl_int status;
  memset(probe, 0, sizeof *probe);
  probe->device = device;
  status = xmc_query(probe, &version);
  if (status != CL_SUCCESS)
    return status;
  extensions = xmc_device_string(device, CL_DEVICE_EXTENSIONS);
  status = CL_OUT_OF_HOST_MEMORY;
  if (!extensions)
    goto cleanup;
  if (context) {
    status = clRetainContext(context);
    if (status == CL_SUCCESS)
      bench.context = context;
  } else {
    bench.context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  }
  if (status != CL_SUCCESS)
    goto cleanup;
  bench.queue = clCreateCommandQueue(bench.context, device, 0, &status);
  if (status != CL_SUCCESS)
    goto cleanup;
  probe->status = xmc_choose_path(&bench, extensions, version);
  if (probe->status == CL_SUCCESS) {
    xmc_choose_subgroups(probe, extensions);
    xmc_choose_svm(&bench, version);
    xmc_choose_program_scope(&bench, version);
  }
cleanup:
  free(extensions);
  if (bench.queue)
    clReleaseCommandQueue(bench.queue);
  if (bench.context)
    clReleaseContext(bench.context);
  return status;
}

/* Adapts a probe to `device`: a root device's sub-devices share all results but the number of compute units. */
static cl_int xmc_probe_as(cl_device_id device, xmc_probe *probe) {
  char size[XMC_TEXT_BYTES];
  cl_int status;
  probe->device = device;
  status = xmc_query_size(probe);
  if (status == CL_SUCCESS)
    xmc_say(probe, "%s: %u compute units, at most %s in one allocation",
            xmc_root_device(device) == device ? "the whole device" : "a sub-device", probe->units,
            xmc_text_size(size, probe->max_bytes));
  return status == CL_SUCCESS ? probe->status : status;
}

cl_int xmc_probe_device(cl_context context, cl_device_id device, xmc_probe *probe) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static struct xmc_known {
    cl_device_id root;
    xmc_probe probe;
    struct xmc_known *next;
  } * known;
  struct xmc_known *k;
  cl_device_id root = xmc_root_device(device);
  cl_int status = CL_SUCCESS;
  pthread_mutex_lock(&lock); /* held while probing, so that each device is probed once */
  for (k = known; k && k->root != root; k = k->next)
    ;
  if (k) {
    *probe = k->probe;
  } else {
    status = xmc_probe_now(context, device, probe);
    k = status == CL_SUCCESS ? malloc(sizeof *k) : NULL;
    if (k) {
      k->root = root;
      k->probe = *probe;
      k->next = known;
      known = k;
    }
  }
  pthread_mutex_unlock(&lock);
  return status == CL_SUCCESS ? xmc_probe_as(device, probe) : status;
}
