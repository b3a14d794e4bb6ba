/* SPDX-License-Identifier: MIT */
// Neighbour lists with the device's malloc: the CUDA program that cuda_port.cl and cuda_port.c are ported from.
// nvcc cuda_port.cu -o cuda_port && ./cuda_port
#include <cstdio>
#include <cstdlib>

#define POINTS 3000
#define RADIUS 700

struct list {
  int *items;
  int count;
  int room;
};

__device__ void push(list *l, int item) {
  if (l->count == l->room) {
    int room = l->room ? 2 * l->room : 4;
    int *items = (int *)malloc(room * sizeof(int));
    if (!items)
      return;
    for (int i = 0; i < l->count; i++)
      items[i] = l->items[i];
    free(l->items);
    l->items = items;
    l->room = room;
  }
  l->items[l->count++] = item;
}

__global__ void find(const int2 *points, list *lists) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= POINTS)
    return;
  list l = {NULL, 0, 0};
  for (int j = 0; j < POINTS; j++) {
    int dx = points[i].x - points[j].x, dy = points[i].y - points[j].y;
    if (j != i && dx * dx + dy * dy < RADIUS * RADIUS)
      push(&l, j);
  }
  lists[i] = l;
}

__global__ void consume(list *lists, unsigned *sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= POINTS)
    return;
  unsigned sum = 0;
  for (int k = 0; k < lists[i].count; k++)
    sum = sum * 31 + lists[i].items[k];
  sums[i] = sum;
  free(lists[i].items);
}

int main() {
  static int2 points[POINTS];
  static unsigned sums[POINTS];
  unsigned state = 1, wrong = 0;
  for (int i = 0; i < POINTS; i++) {
    points[i].x = (state = state * 1664525u + 1013904223u) >> 18;
    points[i].y = (state = state * 1664525u + 1013904223u) >> 18;
  }
  int2 *device_points;
  list *lists;
  unsigned *device_sums;
  cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20);
  cudaMalloc(&device_points, sizeof points);
  cudaMalloc(&lists, POINTS * sizeof(list));
  cudaMalloc(&device_sums, sizeof sums);
  cudaMemcpy(device_points, points, sizeof points, cudaMemcpyHostToDevice);
  find<<<(POINTS + 63) / 64, 64>>>(device_points, lists);
  consume<<<(POINTS + 63) / 64, 64>>>(lists, device_sums);
  cudaMemcpy(sums, device_sums, sizeof sums, cudaMemcpyDeviceToHost);
  for (int i = 0; i < POINTS; i++) {
    unsigned sum = 0;
    for (int j = 0; j < POINTS; j++) {
      int dx = points[i].x - points[j].x, dy = points[i].y - points[j].y;
      if (j != i && dx * dx + dy * dy < RADIUS * RADIUS)
        sum = sum * 31 + j;
    }
    wrong += sum != sums[i];
  }
  printf("%d points, %u wrong\n", POINTS, wrong);
  return wrong != 0;
}
