/* SPDX-License-Identifier: MIT */
/* The library's kernels under NVIDIA's tools: compute-sanitizer and ncu see no OpenCL, but the program binary of
 * NVIDIA's OpenCL is PTX, which the CUDA driver loads as well.
 *
 *   ptx_host dump FILE.cl OUT.ptx MODE   builds kernels of the tests or of the bench by OpenCL and writes their PTX; MODE: how to
 *                                        coalesce (XMC_COALESCING: 0, 1, 2)
 *   ptx_host churn CHURN.ptx FIFOS MODE  random lifetimes on a heap, which is checked between the launches
 *   ptx_host pair PAIR.ptx LANES         three launches of the bench's pair of 4 bytes by 2^20 work-items, LANES of each 32 neighbours, for
 *                                        ncu to count
 *   ptx_host planted PLANTED.ptx         a kernel that writes beyond the end of the arena
 *
 * The heap's tables are made here by the device's own code (init.cl) and copied over. tests/sanitize/run does all.
 */
#include "../../cl/xmalloc.cl"
#include "../../cl/superblocks/init.cl"
#include "../../host/inspect/inspect.h"
#include "../../host/heap/layout.h"
#include "../../include/xmalloc.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void stop(const char *what, long code) {
  fprintf(stderr, "ptx_host: %s: %ld\n", what, code);
  exit(1);
}

/* ---- OpenCL: source to PTX ---- */

static char *read_file(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  char *text;
  if (!f)
    stop(path, 0);
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  text = calloc(1, *size + 1);
  if (!text || fread(text, 1, *size, f) != *size)
    stop(path, 1);
  fclose(f);
  return text;
}

static cl_device_id find_nvidia(cl_platform_id *platform) {
  cl_platform_id platforms[16];
  cl_device_id device;
  char name[256];
  cl_uint n = 0, i;
  clGetPlatformIDs(16, platforms, &n);
  for (i = 0; i < n; i++) {
    *platform = platforms[i];
    if (clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL) == CL_SUCCESS &&
        strstr(name, "NVIDIA") &&
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_GPU, 1, &device, NULL) == CL_SUCCESS)
      return device;
  }
  stop("no NVIDIA OpenCL", 0);
  return NULL;
}

static int dump(const char *kernels, const char *out, int mode) {
  const xmc_heap_properties properties[] = {XMC_HEAP_COALESCING, mode, 0};
  cl_platform_id platform;
  cl_device_id device = find_nvidia(&platform);
  cl_int status;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  xmc_heap heap = xmcCreateHeap(context, device, properties, 64u << 20, &status);
  char pattern[1024], *strings[2];
  unsigned char *binary;
  cl_program program;
  size_t size;
  FILE *f;
  if (status != CL_SUCCESS)
    stop("xmcCreateHeap", status);
  snprintf(pattern, sizeof pattern, "%s", kernels);
  /* What a folder's kernels begin with: pattern.h in the tests, common.h in the bench */
  if (strrchr(pattern, '/')) {
    strcpy(strrchr(pattern, '/'), "/pattern.h");
    if (access(pattern, R_OK))
      strcpy(strrchr(pattern, '/'), "/common.h");
  }
  strings[0] = read_file(pattern, &size);
  strings[1] = read_file(kernels, &size);
  program = xmcCreateProgramWithSource(heap, 2, (const char **)strings, NULL, &status);
  if (status == CL_SUCCESS)
    status = clBuildProgram(program, 1, &device, xmcGetBuildOptions(heap), NULL, NULL);
  if (status != CL_SUCCESS)
    stop("clBuildProgram", status);
  clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
  binary = calloc(1, size + 1);
  clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
  while (size > 0 && !binary[size - 1]) /* the string's end */
    size--;
  f = fopen(out, "wb");
  if (!f || fwrite(binary, 1, size, f) != size || fclose(f))
    stop(out, 2);
  printf("%s: %zu bytes of PTX\n", out, size);
  free(binary);
  free(strings[0]);
  free(strings[1]);
  clReleaseProgram(program);
  xmcReleaseHeap(heap);
  clReleaseContext(context);
  return 0;
}

/* ---- the CUDA driver, found at run time ---- */

static int (*cu_init)(unsigned);
static int (*cu_retain)(void **, int);
static int (*cu_current)(void *);
static int (*cu_load)(void **, const void *);
static int (*cu_function)(void **, void *, const char *);
static int (*cu_alloc)(uint64_t *, size_t);
static int (*cu_set)(uint64_t, unsigned char, size_t);
static int (*cu_up)(uint64_t, const void *, size_t);
static int (*cu_down)(void *, uint64_t, size_t);
static int (*cu_launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                        void **, void **);
static int (*cu_wait)(void);

#define CU(call) \
  do { \
    int code_ = (call); \
    if (code_) \
      stop(#call, code_); \
  } while (0)

static void *find(void *library, const char *name) {
  void *at = dlsym(library, name);
  if (!at)
    stop(name, 0);
  return at;
}

static void open_cuda(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
  if (!library)
    stop("no libcuda.so.1", 0);
  *(void **)&cu_init = find(library, "cuInit");
  *(void **)&cu_retain = find(library, "cuDevicePrimaryCtxRetain");
  *(void **)&cu_current = find(library, "cuCtxSetCurrent");
  *(void **)&cu_load = find(library, "cuModuleLoadData");
  *(void **)&cu_function = find(library, "cuModuleGetFunction");
  *(void **)&cu_alloc = find(library, "cuMemAlloc_v2");
  *(void **)&cu_set = find(library, "cuMemsetD8_v2");
  *(void **)&cu_up = find(library, "cuMemcpyHtoD_v2");
  *(void **)&cu_down = find(library, "cuMemcpyDtoH_v2");
  *(void **)&cu_launch = find(library, "cuLaunchKernel");
  *(void **)&cu_wait = find(library, "cuCtxSynchronize");
  CU(cu_init(0));
  CU(cu_retain(&context, 0));
  CU(cu_current(context));
}

/* ---- a heap on the device ---- */

static xmcHeap *tables; /* header and tables, on the host */
static size_t tables_bytes;

static uint64_t make_heap(size_t bytes, xmc_u32 fifos, xmc_u32 mode) {
  xmc_layout_request request = {0};
  xmcHeap header;
  uint64_t device;
  request.lanes = 132 * 64;
  request.slots = fifos;
  request.slots_exact = fifos < request.lanes;
  request.coalescing = mode;
  request.simt = 1;
  if (!xmc_layout(&header, bytes, &request))
    stop("xmc_layout", 0);
  CU(cu_alloc(&device, bytes));
  if (device % XMC_PAGE_BYTES)
    stop("the arena is not page-aligned", 0);
  tables_bytes = (header.data + XMC_PAGE_BYTES) / XMC_PAGE_BYTES * XMC_PAGE_BYTES;
  tables = aligned_alloc(XMC_PAGE_BYTES, tables_bytes);
  if (!tables)
    stop("memory", 0);
  memset(tables, 0, tables_bytes);
  memcpy(tables, &header, sizeof header);
  xmc_init_part(tables, 0, 1);
  xmc_init_open(tables);
  CU(cu_up(device, tables, tables_bytes));
  return device;
}

static unsigned check_heap(uint64_t device) {
  xmc_heap_report report = {0};
  CU(cu_down(tables, device, tables_bytes));
  xmc_check_meta(tables, &report);
  if (report.problems)
    printf("%u problems; the first: %s\n", (unsigned)report.problems, report.message);
  return (unsigned)report.problems;
}

static void *load(const char *path, const char *kernel) {
  size_t size;
  char *ptx = read_file(path, &size);
  void *module, *function;
  CU(cu_load(&module, ptx));
  CU(cu_function(&function, module, kernel));
  free(ptx);
  return function;
}

static int churn(const char *ptx, xmc_u32 fifos, xmc_u32 mode) {
  enum { ITEMS = 4096, SLOTS = 8, ROUNDS = 24, LOCAL = 64 };
  void *kernel;
  uint64_t heap, table, counts;
  xmc_u32 items = ITEMS, slots = SLOTS, rounds = ROUNDS, max_size = 3000, seed, shift, finish, launch,
          result[4];
  void *args[] = {&heap, &table, &items, &slots, &rounds, &max_size, &seed, &shift, &finish, &counts};
  open_cuda();
  kernel = load(ptx, "churn");
  heap = make_heap((size_t)64 << 20, fifos, mode);
  CU(cu_alloc(&table, (size_t)ITEMS * SLOTS * 16));
  CU(cu_set(table, 0, (size_t)ITEMS * SLOTS * 16));
  CU(cu_alloc(&counts, 16));
  for (launch = 0; launch < 5; launch++) {
    finish = launch == 4;
    rounds = finish ? SLOTS : ROUNDS;
    seed = 1 + 7919u * launch;
    shift = launch * 5u * LOCAL;
    CU(cu_set(counts, 0, 16));
    CU(cu_launch(kernel, ITEMS / LOCAL, 1, 1, LOCAL, 1, 1, 0, NULL, args, NULL));
    CU(cu_wait());
    CU(cu_down(result, counts, 16));
    printf("launch %u: %u wrong words, %u failures, %u mallocs, %u frees\n", launch, result[0], result[1],
           result[2], result[3]);
    if (result[0] || check_heap(heap))
      return 1;
  }
  return 0;
}

static int pair(const char *ptx, xmc_u32 lanes) {
  enum { ITEMS = 1 << 20, LOCAL = 256 };
  xmc_u32 size = 4, failures = 0, launch;
  uint64_t heap, counts;
  void *args[] = {&heap, &size, &lanes, &counts}, *kernel;
  open_cuda();
  kernel = load(ptx, "pair");
  heap = make_heap((size_t)8 << 30, 132 * 64, XMC_COALESCE_CLASS);
  CU(cu_alloc(&counts, sizeof failures));
  CU(cu_set(counts, 0, sizeof failures));
  for (launch = 0; launch < 3; launch++)
    CU(cu_launch(kernel, ITEMS / LOCAL, 1, 1, LOCAL, 1, 1, 0, NULL, args, NULL));
  CU(cu_wait());
  CU(cu_down(&failures, counts, sizeof failures));
  printf("%u failures\n", failures);
  return failures != 0 || check_heap(heap);
}

static int planted(const char *ptx) {
  uint64_t heap, bytes = (uint64_t)64 << 20;
  void *args[] = {&heap, &bytes}, *kernel;
  open_cuda();
  kernel = load(ptx, "planted");
  heap = make_heap((size_t)bytes, 1, XMC_COALESCE_CLASS);
  CU(cu_launch(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
  CU(cu_wait());
  return 0;
}

const char test_usage[] = "usage: ptx_host dump FILE.cl OUT.ptx MODE | churn CHURN.ptx FIFOS MODE | pair "
                          "PAIR.ptx LANES | planted PLANTED.ptx\n"
                          "The kernels as PTX, for NVIDIA's tools; tests/sanitize/run calls it.\n";

int main(int argc, char **argv) {
  if (argc == 5 && !strcmp(argv[1], "dump"))
    return dump(argv[2], argv[3], atoi(argv[4]));
  if (argc == 5 && !strcmp(argv[1], "churn"))
    return churn(argv[2], (xmc_u32)atoi(argv[3]), (xmc_u32)atoi(argv[4]));
  if (argc == 4 && !strcmp(argv[1], "pair"))
    return pair(argv[2], (xmc_u32)atoi(argv[3]));
  if (argc == 3 && !strcmp(argv[1], "planted"))
    return planted(argv[2]);
  fputs(test_usage, stderr);
  return 2;
}
