/* SPDX-License-Identifier: MIT */
/* Soak: the churn of kernels/soak.cl for as long as is asked, on one device, its heap nearly full all the time:
 * what is free are blocks of Superblocks in use, a page for a moment at most, and requests are refused. Launches
 * are as long as a tenth of a second or so; between them the heap is checked, as often as takes a twentieth of the
 * time at most. A line a second. At the end all is freed: no tag may have been wrong, every bad free must have been
 * counted, and the heap must be one free run. See tests/soak for the arguments.
 */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xmalloc.h>

#define FREE 0.25 /* share of the heap that stays free, as blocks */
#define EXCHANGES 4096u
#define CL_OK(call) check((call), #call, __LINE__)

static void check(cl_int status, const char *call, int line) {
  if (status == CL_SUCCESS)
    return;
  fprintf(stderr, "soak: line %d: %s: %s\n", line, call, xmcErrorString(status));
  exit(1);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int find_device(const char *part, cl_device_id *device, char *name, size_t bytes) {
  cl_platform_id platforms[16];
  cl_device_id ids[16];
  cl_uint platform_count = 0, count, p, i;
  clGetPlatformIDs(16, platforms, &platform_count);
  for (p = 0; p < platform_count && p < 16; p++) {
    char platform[128] = "";
    clGetPlatformInfo(platforms[p], CL_PLATFORM_NAME, sizeof platform, platform, NULL);
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 16, ids, &count) != CL_SUCCESS)
      continue;
    for (i = 0; i < count && i < 16; i++) {
      clGetDeviceInfo(ids[i], CL_DEVICE_NAME, bytes, name, NULL);
      if (strstr(name, part) || strstr(platform, part)) {
        *device = ids[i];
        return 1;
      }
    }
  }
  return 0;
}

typedef struct soak {
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  xmc_heap heap;
  cl_program program;
  cl_kernel churn, free, region_check, region_next;
  cl_mem rows, exchange, counters, regions;
  cl_uint items, row, mean, exchanges;
  cl_uint blocks; /* of a region; 0: no regions */
  cl_ulong regions_made, blocks_before;
  size_t region_room; /* kept free for them */
  cl_ulong count[6];  /* operations, refused, mismatches, bad frees, blocks of regions, those found again */
} soak;

static cl_mem zeroed(soak *s, size_t bytes) {
  static const cl_uint zero;
  cl_int status;
  cl_mem buffer = clCreateBuffer(s->context, CL_MEM_READ_WRITE, bytes, NULL, &status);
  check(status, "clCreateBuffer", __LINE__);
  CL_OK(clEnqueueFillBuffer(s->queue, buffer, &zero, sizeof zero, 0, bytes, 0, NULL, NULL));
  return buffer;
}

/* Enough rows for blocks of a kilobyte or so each: the more the heap holds, the more work-items there are. */
static void set_up(soak *s, size_t heap_bytes) {
  char options[2048], path[1024], *source = calloc(1, 1 << 16);
  const char *sources[1];
  FILE *f;
  size_t room = 0;
  cl_ulong live;
  cl_device_type type = 0;
  cl_int status;
  s->context = clCreateContext(NULL, 1, &s->device, NULL, NULL, &status);
  check(status, "clCreateContext", __LINE__);
  s->queue = clCreateCommandQueue(s->context, s->device, 0, &status);
  check(status, "clCreateCommandQueue", __LINE__);
  s->heap = xmcCreateHeap(s->context, s->device, NULL, heap_bytes, &status);
  check(status, "xmcCreateHeap", __LINE__);
  CL_OK(xmcGetHeapInfo(s->heap, XMC_HEAP_METADATA_BYTES, sizeof room, &room, NULL));
  room = heap_bytes - room;
  if (s->region_room >= room / 2u) {
    fprintf(stderr, "soak: two regions of %u blocks do not fit half of the heap\n", s->blocks);
    exit(2);
  }
  room -= s->region_room;
  snprintf(path, sizeof path, "%ssoak.cl", XMC_TEST_KERNELS);
  f = fopen(path, "rb");
  if (!f || !source || fread(source, 1, (1 << 16) - 1, f) == 0) {
    perror(path);
    exit(1);
  }
  fclose(f);
  sources[0] = source;
  clGetDeviceInfo(s->device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  s->items = type & CL_DEVICE_TYPE_GPU ? 1u << 20 : 1u << 12;
  s->row = 8;
  while (s->items > 64u && room / s->items / s->row < 512u)
    s->items /= 2;
  while (s->row < 64u && room / s->items / s->row > 1024u)
    s->row *= 2;
  s->program = xmcCreateProgramWithSource(s->heap, 1, sources, NULL, &status);
  check(status, "xmcCreateProgramWithSource", __LINE__);
  snprintf(options, sizeof options, "%s -DROW=%uu", xmcGetBuildOptions(s->heap), s->row);
  CL_OK(clBuildProgram(s->program, 1, &s->device, options, NULL, NULL));
  s->churn = clCreateKernel(s->program, "soak_churn", &status);
  check(status, "clCreateKernel", __LINE__);
  s->free = clCreateKernel(s->program, "soak_free", &status);
  check(status, "clCreateKernel", __LINE__);
  s->region_check = clCreateKernel(s->program, "soak_region_check", &status);
  check(status, "clCreateKernel", __LINE__);
  s->region_next = clCreateKernel(s->program, "soak_region_next", &status);
  check(status, "clCreateKernel", __LINE__);
  free(source);
  s->exchanges = s->items < EXCHANGES ? s->items : EXCHANGES;
  /* A place is full 3 times out of 5, and one block in 256 has eight times the size: 0.63 of all places live. */
  live = (cl_ulong)(0.63 * s->row * s->items) + s->exchanges;
  s->mean = (cl_uint)(0.93 * (1 - FREE) * (double)room / (double)live);
  if (s->mean < 64)
    s->mean = 64;
  if (s->mean > 1u << 24)
    s->mean = 1u << 24;
  s->rows = zeroed(s, (size_t)s->items * s->row * 8u);
  s->exchange = zeroed(s, s->exchanges * 8u);
  s->counters = zeroed(s, sizeof s->count);
  s->regions = zeroed(s, (2u + (size_t)s->items) * sizeof(cl_ulong));
}

static void launch(soak *s, cl_kernel kernel, size_t count) {
  size_t local = 32, global = (count + local - 1) / local * local;
  CL_OK(clEnqueueNDRangeKernel(s->queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
  CL_OK(clEnqueueReadBuffer(s->queue, s->counters, CL_TRUE, 0, sizeof s->count, s->count, 0, NULL, NULL));
}

/* The region's blocks are looked at; another one takes its place, or none. */
static void next_region(soak *s, cl_uint last) {
  CL_OK(xmcSetKernelArgHeap(s->region_check, 0, s->heap));
  CL_OK(clSetKernelArg(s->region_check, 1, sizeof s->regions, &s->regions));
  CL_OK(clSetKernelArg(s->region_check, 2, sizeof s->counters, &s->counters));
  CL_OK(clSetKernelArg(s->region_check, 3, sizeof s->items, &s->items));
  launch(s, s->region_check, s->items);
  CL_OK(xmcSetKernelArgHeap(s->region_next, 0, s->heap));
  CL_OK(clSetKernelArg(s->region_next, 1, sizeof s->regions, &s->regions));
  CL_OK(clSetKernelArg(s->region_next, 2, sizeof s->counters, &s->counters));
  CL_OK(clSetKernelArg(s->region_next, 3, sizeof last, &last));
  launch(s, s->region_next, 32);
  s->regions_made += !last;
  s->blocks_before = s->count[4];
}

/* Every sixteenth launch asks for more than there is, for a while. A region is filled by eight launches. */
static void churn(soak *s, cl_uint number, cl_uint rounds) {
  cl_uint more = number % 16u == 15u, mean = more ? s->mean / 4u * 5u : s->mean;
  cl_uint blocks = (s->blocks + 8u * s->items - 1u) / (8u * s->items);
  rounds = more && rounds > 8u ? rounds / 8u : rounds;
  CL_OK(xmcSetKernelArgHeap(s->churn, 0, s->heap));
  CL_OK(clSetKernelArg(s->churn, 1, sizeof s->rows, &s->rows));
  CL_OK(clSetKernelArg(s->churn, 2, sizeof s->exchange, &s->exchange));
  CL_OK(clSetKernelArg(s->churn, 3, sizeof s->exchanges, &s->exchanges));
  CL_OK(clSetKernelArg(s->churn, 4, sizeof s->counters, &s->counters));
  CL_OK(clSetKernelArg(s->churn, 5, sizeof s->items, &s->items));
  CL_OK(clSetKernelArg(s->churn, 6, sizeof number, &number));
  CL_OK(clSetKernelArg(s->churn, 7, sizeof rounds, &rounds));
  CL_OK(clSetKernelArg(s->churn, 8, sizeof mean, &mean));
  CL_OK(clSetKernelArg(s->churn, 9, sizeof s->regions, &s->regions));
  CL_OK(clSetKernelArg(s->churn, 10, sizeof blocks, &blocks));
  launch(s, s->churn, s->items);
}

/* The sizes of what comes next see to it that the heap stays as full as it should be. */
static void keep_nearly_full(soak *s, double free_share) {
  if (free_share > FREE + 0.01 && s->mean < 1u << 24)
    s->mean += s->mean / 32u;
  else if (free_share < FREE - 0.01 && s->mean > 64u)
    s->mean -= s->mean / 64u;
}

static void free_table(soak *s, cl_mem table, cl_uint count) {
  CL_OK(xmcSetKernelArgHeap(s->free, 0, s->heap));
  CL_OK(clSetKernelArg(s->free, 1, sizeof table, &table));
  CL_OK(clSetKernelArg(s->free, 2, sizeof count, &count));
  CL_OK(clSetKernelArg(s->free, 3, sizeof s->counters, &s->counters));
  launch(s, s->free, count);
}

static void intact(soak *s) {
  xmc_heap_report report;
  cl_int status = xmcCheckHeap(s->heap, s->queue, &report);
  if (status == XMC_HEAP_CORRUPT) {
    printf("the heap is corrupt: %s (offset %llu, %llu problems)\n", report.message,
           (unsigned long long)report.offset, (unsigned long long)report.problems);
    exit(1);
  }
  check(status, "xmcCheckHeap", __LINE__);
}

/* Wholly free Superblocks may still wait in FIFOs: a request for everything gets them back. */
static int is_one_run(soak *s, size_t heap_bytes) {
  xmc_heap_stats stats;
  size_t metadata = 0, one = 1;
  cl_ulong bytes;
  cl_kernel whole;
  cl_int status;
  CL_OK(xmcGetHeapInfo(s->heap, XMC_HEAP_METADATA_BYTES, sizeof metadata, &metadata, NULL));
  bytes = heap_bytes - metadata;
  whole = clCreateKernel(s->program, "soak_whole", &status);
  check(status, "clCreateKernel", __LINE__);
  CL_OK(xmcSetKernelArgHeap(whole, 0, s->heap));
  CL_OK(clSetKernelArg(whole, 1, sizeof bytes, &bytes));
  CL_OK(clEnqueueNDRangeKernel(s->queue, whole, 1, NULL, &one, &one, 0, NULL, NULL));
  CL_OK(xmcGetHeapStats(s->heap, s->queue, &stats));
  clReleaseKernel(whole);
  printf("largest free run %llu of %llu bytes\n", (unsigned long long)stats.largest_free_bytes,
         (unsigned long long)bytes);
  return stats.largest_free_bytes == bytes && stats.free_bytes == bytes;
}

const char test_usage[] = "usage: soak [--minutes N] [--device SUBSTRING] [--heap BYTES] [--regions BLOCKS]\n"
                          "Churns a nearly full heap; tests/soak builds it first and says more.\n";

int main(int argc, char **argv) {
  const char *part = getenv("XMC_TEST_DEVICE") ? getenv("XMC_TEST_DEVICE") : "";
  char name[256] = "", *end = name;
  double length = 60, begin, last, now, check_time = 0, checked;
  size_t heap_bytes = 64u << 20;
  cl_uint number = 0, rounds = 16, checks = 0;
  cl_ulong before = 0;
  xmc_heap_stats stats;
  soak s;
  int i, failed;
  memset(&s, 0, sizeof s);
  for (i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "--minutes"))
      length = 60 * atof(argv[i + 1]);
    else if (!strcmp(argv[i], "--device"))
      part = argv[i + 1];
    else if (!strcmp(argv[i], "--regions"))
      s.blocks = (cl_uint)strtoull(argv[i + 1], &end, 0);
    else if (!strcmp(argv[i], "--heap"))
      heap_bytes = (size_t)strtoull(argv[i + 1], &end, 0);
    else
      break;
  }
  if (i < argc || *end) { /* such as 1G: a number of bytes is wanted */
    fprintf(stderr, "soak: wrong arguments; see --help\n");
    return 2;
  }
  if (!find_device(part, &s.device, name, sizeof name)) {
    fprintf(stderr, "soak: no OpenCL device whose name contains %s\n", part);
    return 1;
  }
  s.region_room = (size_t)s.blocks * 2u * 96u; /* two of them; with what is left in chunks */
  set_up(&s, heap_bytes);
  if (s.blocks)
    next_region(&s, 0);
  printf("%s: %zu bytes, %u work-items with %u places each, blocks of %u bytes on average\n", name,
         heap_bytes, s.items, s.row, s.mean);
  fflush(stdout);
  begin = last = checked = seconds();
  for (now = begin; now < begin + length;) {
    double start = now, took;
    churn(&s, number++, rounds);
    if (s.blocks && s.count[4] - s.blocks_before >= s.blocks)
      next_region(&s, 0);
    now = seconds();
    took = now - start;
    if (took < 0.05 && number % 16u && rounds < 1u << 20)
      rounds *= 2;
    else if (took > 0.4 && rounds > 8u)
      rounds /= 2;
    if (now - checked >= 19 * check_time) {
      intact(&s);
      CL_OK(xmcGetHeapStats(s.heap, s.queue, &stats));
      keep_nearly_full(&s, ((double)stats.free_bytes + (double)stats.region_bytes - (double)s.region_room) /
                               (double)heap_bytes);
      checks++;
      checked = seconds();
      check_time = checked - now;
      now = checked;
    }
    if (s.count[2])
      break;
    if (now - last >= 1 || now >= begin + length) {
      printf("%6.0f s  %14llu operations, %.3g a second; %llu live, %.1f %% of the heap, %.1f %% free; "
             "%llu refused, "
             "%llu bad frees, %llu mismatches, %u checks\n",
             now - begin, (unsigned long long)s.count[0], (double)(s.count[0] - before) / (now - last),
             (unsigned long long)stats.live_blocks, 100.0 * (double)stats.live_bytes / (double)heap_bytes,
             100.0 * (double)stats.free_bytes / (double)heap_bytes, (unsigned long long)s.count[1],
             (unsigned long long)s.count[3], (unsigned long long)s.count[2], checks);
      fflush(stdout);
      before = s.count[0];
      last = now;
    }
  }
  if (s.blocks)
    next_region(&s, 1);
  free_table(&s, s.rows, s.items * s.row);
  free_table(&s, s.exchange, s.exchanges);
  intact(&s);
  CL_OK(xmcGetHeapStats(s.heap, s.queue, &stats));
  printf("%llu operations in %.1f s, %llu mismatches, %llu refused (%llu counted), %llu bad frees (%llu "
         "counted), "
         "%llu blocks left\n",
         (unsigned long long)s.count[0], now - begin, (unsigned long long)s.count[2],
         (unsigned long long)s.count[1], (unsigned long long)stats.failed_requests,
         (unsigned long long)s.count[3], (unsigned long long)(stats.double_frees + stats.invalid_frees),
         (unsigned long long)stats.live_blocks);
  if (s.blocks)
    printf("%llu regions of %u blocks or more, %llu blocks in all, %llu found again\n",
           (unsigned long long)s.regions_made, s.blocks, (unsigned long long)s.count[4],
           (unsigned long long)s.count[5]);
  failed = s.count[2] || s.count[4] != s.count[5] || stats.live_blocks ||
           stats.failed_requests != s.count[1] || stats.double_frees + stats.invalid_frees != s.count[3];
  if (!failed)
    failed = !is_one_run(&s, heap_bytes);
  clReleaseKernel(s.churn);
  clReleaseKernel(s.free);
  clReleaseKernel(s.region_check);
  clReleaseKernel(s.region_next);
  clReleaseProgram(s.program);
  clReleaseMemObject(s.rows);
  clReleaseMemObject(s.exchange);
  clReleaseMemObject(s.counters);
  clReleaseMemObject(s.regions);
  CL_OK(xmcReleaseHeap(s.heap));
  clReleaseCommandQueue(s.queue);
  clReleaseContext(s.context);
  printf(failed ? "soak: FAILED\n" : "soak: passed\n");
  return failed;
}
