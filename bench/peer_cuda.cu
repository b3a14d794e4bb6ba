/* SPDX-License-Identifier: MIT */
// The workloads on CUDA's device malloc: the same kernels as kernels/*.cl.
#define BENCH_FN static inline __host__ __device__
#include "peer.h"
#include <cuda_runtime.h>

#define TRY(call) \
  do { \
    cudaError_t error_ = (call); \
    if (error_ != cudaSuccess) { \
      fprintf(stderr, "xmc-peer-cuda: %s: %s\n", #call, cudaGetErrorString(error_)); \
      exit(1); \
    } \
  } while (0)

// failures: NULLs, mismatches
__device__ unsigned failures[2];

static __device__ unsigned global_id() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void pair(unsigned size, unsigned lanes) {
  unsigned id = global_id();
  if ((id & 31u) >= lanes)
    return;
  volatile unsigned *p = (volatile unsigned *)malloc(size);
  if (p == NULL) {
    atomicAdd(&failures[0], 1u);
  } else {
    *p = id;
    free((void *)p);
  }
}

__global__ void alloc(unsigned **blocks, unsigned count, unsigned low, unsigned high) {
  unsigned id = global_id();
  if (id >= count)
    return;
  unsigned *p = (unsigned *)malloc(low == high ? high : bench_size(id, low, high));
  if (p == NULL)
    atomicAdd(&failures[0], 1u);
  else
    *p = id;
  blocks[id] = p;
}

__global__ void make(unsigned **blocks, unsigned count, unsigned seed, unsigned low, unsigned high) {
  unsigned id = global_id(), bytes = bench_wanted(id, seed, low, high);
  if (id >= count)
    return;
  unsigned *p = (unsigned *)malloc(bytes);
  if (p == NULL)
    atomicAdd(&failures[0], 1u);
  else
    p[0] = p[bytes / 4u - 1u] = id;
  blocks[id] = p;
}

__global__ void check(unsigned **blocks, unsigned count) {
  unsigned id = global_id();
  if (id < count && blocks[id] && *blocks[id] != id)
    atomicAdd(&failures[1], 1u);
}

__global__ void release(unsigned **blocks, unsigned count) {
  unsigned id = global_id();
  if (id < count)
    free(blocks[id]);
}

__global__ void overlap(unsigned **blocks, unsigned count) {
  unsigned id = global_id();
  if (id >= count)
    return;
  unsigned *p = (unsigned *)malloc(BENCH_OVERLAP_WORDS * 4u);
  if (p == NULL)
    atomicAdd(&failures[0], 1u);
  for (unsigned i = 0; p && i < BENCH_OVERLAP_WORDS; i++)
    p[i] = id;
  blocks[id] = p;
}

__global__ void churn(unsigned count) {
  unsigned id = global_id(), seed = bench_hash(id), nulls = 0, wrong = 0;
  if (id >= count)
    return;
  unsigned *slot[BENCH_SLOTS], tag[BENCH_SLOTS];
  for (unsigned s = 0; s < BENCH_SLOTS; s++)
    slot[s] = NULL;
  for (unsigned round = 0; round < PEER_ROUNDS; round++) {
    seed = bench_next(seed);
    unsigned s = seed >> 29;
    if (slot[s]) {
      wrong += *slot[s] != tag[s];
      free(slot[s]);
      slot[s] = NULL;
    } else {
      slot[s] = (unsigned *)malloc(BENCH_CHURN_LOW + (seed >> 8) % (BENCH_CHURN_HIGH - BENCH_CHURN_LOW + 1u));
      tag[s] = id * BENCH_SLOTS + s + round * 0x10001u;
      if (slot[s])
        *slot[s] = tag[s];
      else
        nulls++;
    }
  }
  for (unsigned s = 0; s < BENCH_SLOTS; s++) {
    wrong += slot[s] && *slot[s] != tag[s];
    free(slot[s]);
  }
  if (nulls)
    atomicAdd(&failures[0], nulls);
  if (wrong)
    atomicAdd(&failures[1], wrong);
}

static cudaEvent_t before, after;

static void start() { TRY(cudaEventRecord(before)); }
static double stop() {
  float ms = 0;
  TRY(cudaEventRecord(after));
  TRY(cudaEventSynchronize(after));
  TRY(cudaGetLastError());
  TRY(cudaEventElapsedTime(&ms, before, after));
  return ms;
}

static void clear_failures() {
  unsigned zero[2] = {0, 0};
  TRY(cudaMemcpyToSymbol(failures, zero, sizeof zero));
}
static void read_failures(unsigned counters[2]) {
  TRY(cudaMemcpyFromSymbol(counters, failures, 2 * sizeof *counters));
}

// Host time of both launches; the first round, which is checked, has no say.
static void run_generate(const peer_options *o, const peer_case *c, unsigned **blocks) {
  peer_series series = {};
  unsigned counters[2], count = (unsigned)c->count, groups = (count + 255u) / 256u, seed = 0;
  make<<<groups, 256>>>(blocks, count, seed, c->low, c->bytes);
  check<<<groups, 256>>>(blocks, count);
  release<<<groups, 256>>>(blocks, count);
  TRY(cudaDeviceSynchronize());
  for (seed = 1; peer_more(&series, o); seed += 0x9e3779b9u) {
    double began = peer_seconds();
    make<<<groups, 256>>>(blocks, count, seed, c->low, c->bytes);
    release<<<groups, 256>>>(blocks, count);
    TRY(cudaDeviceSynchronize());
    peer_sample(&series, o, 1e3 * (peer_seconds() - began));
  }
  read_failures(counters);
  peer_print(o, c, "", &series, counters[0], counters[1]);
}

static void run_case(const peer_options *o, const peer_case *c) {
  peer_series series = {}, frees = {};
  unsigned counters[2], count = (unsigned)c->count, groups = (count + 255u) / 256u;
  unsigned **blocks = NULL;
  char kind = c->workload[1];
  clear_failures();
  if (kind == '1' || kind == '6') {
    unsigned launched = count / c->lanes * 32u;
    while (peer_more(&series, o)) {
      start();
      if (kind == '1')
        pair<<<(launched + 255u) / 256u, 256>>>(c->bytes, c->lanes);
      else
        churn<<<groups, 256>>>(count);
      peer_sample(&series, o, stop());
    }
    read_failures(counters);
    peer_print(o, c, "", &series, counters[0], counters[1]);
    return;
  }
  TRY(cudaMalloc(&blocks, c->count * sizeof *blocks));
  if (strcmp(c->workload, "generate") == 0) {
    run_generate(o, c, blocks);
    TRY(cudaFree(blocks));
    return;
  }
  while (peer_more(&series, o)) {
    start();
    if (kind == '7')
      overlap<<<groups, 256>>>(blocks, count);
    else
      alloc<<<groups, 256>>>(blocks, count, c->low, c->bytes);
    peer_sample(&series, o, stop());
    check<<<groups, 256>>>(blocks, count);
    start();
    release<<<groups, 256>>>(blocks, count);
    peer_sample(&frees, o, stop());
  }
  read_failures(counters);
  TRY(cudaFree(blocks));
  peer_print(o, c, kind == '7' ? "" : "alloc", &series, counters[0], counters[1]);
  if (kind != '7')
    peer_print(o, c, "free", &frees, counters[0], counters[1]);
}

int main(int argc, char **argv) {
  peer_options o;
  int devices = 0;
  if (peer_helped("xmc-peer-cuda", argc, argv))
    return 0;
  if (peer_parse_options(&o, argc, argv)) {
    fprintf(stderr, "usage: xmc-peer-cuda NAME THREADS REPEAT SECONDS HEAP workload:count:bytes:detail…\n");
    return 2;
  }
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    return 127;
  TRY(cudaDeviceSetLimit(cudaLimitMallocHeapSize, o.heap));
  TRY(cudaEventCreate(&before));
  TRY(cudaEventCreate(&after));
  for (int i = 6; i < argc; i++) {
    peer_case c;
    if (peer_parse_case(&c, argv[i])) {
      fprintf(stderr, "xmc-peer-cuda: bad case `%s`\n", argv[i]);
      return 2;
    }
    run_case(&o, &c);
  }
  return 0;
}
