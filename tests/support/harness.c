/* SPDX-License-Identifier: MIT */
/* Devices, configurations and the cmocka runner. Programs and launches are in launch.c. */
#include "harness.h"
#include "named.h"

#define MAX_DEVICES 16
#define MAX_CONFIGS 48

static const int fifo_choices[] = {FIFOS_DEFAULT, 0, 1, 4};
static const char *const coalescing_names[] = {"none", "compartment", "class"};

static const char *backing_name(cl_uint backing) {
  return backing == XMC_BACKING_BUFFER ? "buffer" : backing == XMC_BACKING_SVM ? "svm" : "svm_fine";
}

static test_scale scale_of(const char *platform) {
  const char *wish = getenv("XMC_TEST_SCALE");
  if (wish && !strcmp(wish, "small"))
    return SCALE_SMALL;
  if (wish && !strcmp(wish, "short"))
    return strstr(platform, "Oclgrind") ? SCALE_SMALL : SCALE_SHORT;
  if (wish && !strcmp(wish, "full"))
    return SCALE_FULL;
  if (wish && *wish && strcmp(wish, "normal"))
    fprintf(stderr, "XMC_TEST_SCALE=%s is none of small, short, normal, full; taken as normal\n", wish);
  return !(wish && *wish) && strstr(platform, "Oclgrind") ? SCALE_SMALL : SCALE_NORMAL;
}

static int open_device(cl_platform_id platform, cl_device_id id, test_device *d) {
  const char *wish = getenv("XMC_TEST_DEVICE");
  char platform_name[128] = "";
  cl_device_type type = 0;
  cl_int status;
  memset(d, 0, sizeof *d);
  d->platform = platform;
  d->id = id;
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name, platform_name, NULL);
  clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof d->name, d->name, NULL);
  if (wish && *wish && !strstr(d->name, wish) && !strstr(platform_name, wish))
    return 0;
  clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof d->max_local, &d->max_local, NULL);
  clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof d->max_alloc, &d->max_alloc, NULL);
  if (clGetDeviceInfo(id, CL_DEVICE_SVM_CAPABILITIES, sizeof d->svm, &d->svm, NULL) != CL_SUCCESS)
    d->svm = 0;
  d->gpu = (type & CL_DEVICE_TYPE_GPU) != 0;
  d->scale = scale_of(platform_name);
  d->context = clCreateContext(NULL, 1, &id, NULL, NULL, &status);
  if (status == CL_SUCCESS)
    d->queue = clCreateCommandQueue(d->context, id, 0, &status);
  if (status != CL_SUCCESS) {
    fprintf(stderr, "%s, %s: no context or queue, status %d\n", platform_name, d->name, status);
    exit(1);
  }
  return 1;
}

static size_t find_devices(test_device *devices) {
  cl_platform_id platforms[MAX_DEVICES];
  cl_uint platform_count = 0, p, i;
  size_t n = 0;
  if (clGetPlatformIDs(MAX_DEVICES, platforms, &platform_count) != CL_SUCCESS)
    platform_count = 0;
  for (p = 0; p < platform_count && p < MAX_DEVICES; p++) {
    cl_device_id ids[MAX_DEVICES];
    cl_uint count = 0;
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &count) != CL_SUCCESS)
      continue;
    for (i = 0; i < count && i < MAX_DEVICES && n < MAX_DEVICES; i++)
      n += (size_t)open_device(platforms[p], ids[i], &devices[n]);
  }
  return n;
}

static int has_backing(const test_device *d, cl_uint backing) {
  return backing == XMC_BACKING_BUFFER ||
         (backing == XMC_BACKING_SVM && (d->svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) ||
         (backing == XMC_BACKING_SVM_FINE && (d->svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER));
}

/* The short form keeps the default configuration, and of the others one, or two of a test that is to run under all
 * combinations: the next ones at each `turn`, so that the tests of a program have all of them together. On GPUs, whose
 * compilers take long, all tests of a program have the same others. */
static size_t deal_configs(test_config *configs, size_t n, size_t keep, size_t turn) {
  test_config all[MAX_CONFIGS];
  size_t i;
  memcpy(all, configs, n * sizeof *all);
  if (keep >= n)
    return n;
  for (i = 1; i < keep; i++)
    configs[i] = all[1 + (turn + (i - 1) * (n / 2)) % (n - 1)];
  return keep;
}

static size_t list_configs(const test_device *d, test_spread spread, size_t turn, test_config *configs) {
  static const cl_uint coalescings[] = {XMC_COALESCE_CLASS, XMC_COALESCE_COMPARTMENT, XMC_COALESCE_NONE};
  static const cl_uint backings[] = {XMC_BACKING_BUFFER, XMC_BACKING_SVM, XMC_BACKING_SVM_FINE};
  size_t n = 0, c, f, b, keep = spread == SPREAD_MATRIX ? 3 : 2;
  if (spread == SPREAD_MATRIX && d->scale <= SCALE_SHORT)
    spread = SPREAD_AXES;
  for (c = 0; c < 3; c++)
    for (f = 0; f < sizeof fifo_choices / sizeof *fifo_choices; f++)
      for (b = 0; b < 3; b++) {
        unsigned varied = (c > 0) + (f > 0) + (b > 0);
        if (!has_backing(d, backings[b]) || (spread == SPREAD_ONE && varied > 0) ||
            (spread == SPREAD_AXES && varied > 1))
          continue;
        configs[n].coalescing = coalescings[c];
        configs[n].fifos = fifo_choices[f];
        configs[n].backing = backings[b];
        configs[n].one_geometry = 0;
        n++;
      }
  if (spread != SPREAD_ONE && d->scale != SCALE_SMALL) {
    configs[n] = configs[0];
    configs[n++].one_geometry = 1;
  }
  return d->scale == SCALE_SHORT ? deal_configs(configs, n, keep, turn) : n;
}

/* What a cmocka test gets as its initial state */
typedef struct planned_test {
  test_device *device;
  test_config config;
  void (*run)(test_env *env);
  char name[320];
} planned_test;

static int set_up(void **state) {
  const planned_test *plan = *state;
  test_env *env = calloc(1, sizeof *env);
  if (!env)
    return -1;
  env->device = plan->device;
  env->config = plan->config;
  env->context = plan->device->context;
  env->queue = plan->device->queue;
  env->plan_run = plan->run;
  *state = env;
  return 0;
}

static void call_test(void **state) {
  test_env *env = *state;
  env->plan_run(env);
}

static int tear_down(void **state) {
  test_env *env = *state;
  unsigned i;
  clFinish(env->queue);
  for (i = 0; i < env->queue_count; i++) {
    clFinish(env->queues[i]);
    clReleaseCommandQueue(env->queues[i]);
  }
  for (i = 0; i < env->kernel_count; i++)
    clReleaseKernel(env->kernels[i]);
  for (i = 0; i < env->heap_count; i++)
    if (env->heaps[i])
      xmcReleaseHeap(env->heaps[i]);
  for (i = 0; i < env->buffer_count; i++)
    clReleaseMemObject(env->buffers[i]);
  for (i = 0; i < env->block_count; i++)
    free(env->blocks[i]);
  free(env);
  return 0;
}

static void plan_name(planned_test *plan, const char *test) {
  char fifos[16] = "default";
  if (plan->config.fifos != FIFOS_DEFAULT)
    snprintf(fifos, sizeof fifos, "%d", plan->config.fifos);
  snprintf(plan->name, sizeof plan->name, "%s [%s, %s, fifos %s%s] on %s", test,
           coalescing_names[plan->config.coalescing], backing_name(plan->config.backing), fifos,
           plan->config.one_geometry ? ", one geometry" : "", plan->device->name);
}

int test_main(const char *topic, const test_case *cases, size_t count, int argc, char **argv) {
  static test_device devices[MAX_DEVICES];
  const char *filter = test_filter(argc, argv);
  size_t device_count, most, n = 0, d, i, c, turn = 0;
  planned_test *plans;
  struct CMUnitTest *tests;
  int failed;
  if (test_wants_help(argc, argv)) {
    for (i = 0; i < count; i++)
      printf("  %s\n", cases[i].name);
    return 0;
  }
  device_count = find_devices(devices);
  if (device_count == 0) {
    fprintf(stderr, "%s: no OpenCL device%s%s\n", topic,
            getenv("XMC_TEST_DEVICE") ? " whose name contains " : "",
            getenv("XMC_TEST_DEVICE") ? getenv("XMC_TEST_DEVICE") : "");
    return 1;
  }
  for (i = 0; topic[i]; i++) /* programs begin at different configurations */
    turn += (unsigned char)topic[i];
  most = device_count * count * MAX_CONFIGS;
  plans = calloc(most, sizeof *plans);
  tests = calloc(most, sizeof *tests);
  if (!plans || !tests)
    return 1;
  for (d = 0; d < device_count; d++)
    for (i = 0; i < count; i++) {
      test_config configs[MAX_CONFIGS];
      size_t config_count =
          list_configs(&devices[d], cases[i].spread, turn + (devices[d].gpu ? 0 : i), configs);
      for (c = 0; c < config_count; c++) {
        plans[n].device = &devices[d];
        plans[n].config = configs[c];
        plans[n].run = cases[i].run;
        plan_name(&plans[n], cases[i].name);
        if (filter && !strstr(plans[n].name, filter))
          continue;
        tests[n].name = plans[n].name;
        tests[n].test_func = call_test;
        tests[n].setup_func = set_up;
        tests[n].teardown_func = tear_down;
        tests[n].initial_state = &plans[n];
        n++;
      }
    }
  if (n == 0) {
    fprintf(stderr, "%s: no test's name contains %s\n", topic, filter ? filter : "");
    return 1;
  }
  failed = _cmocka_run_group_tests(topic, tests, n, NULL, NULL);
  for (d = 0; d < device_count; d++)
    test_programs_release(&devices[d]);
  free(plans);
  free(tests);
  return failed != 0;
}

size_t test_scaled(const test_env *env, size_t small, size_t normal, size_t full) {
  return env->device->scale == SCALE_SMALL ? small : env->device->scale == SCALE_FULL ? full : normal;
}

int test_is_default(const test_env *env) {
  return env->config.coalescing == XMC_COALESCE_CLASS && env->config.fifos == FIFOS_DEFAULT &&
         env->config.backing == XMC_BACKING_BUFFER && !env->config.one_geometry;
}

int test_has_threads(const test_env *env) {
  if (!strstr(env->device->name, "Oclgrind"))
    return 1;
  print_message("this OpenCL implementation knows one thread only\n");
  return 0;
}

size_t test_step(const test_env *env) {
  return env->device->scale <= SCALE_SHORT && !test_is_default(env) ? 3 : 1;
}

uint64_t test_hash(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdu;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53u;
  return x ^ x >> 33;
}
