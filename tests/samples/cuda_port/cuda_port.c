/* SPDX-License-Identifier: MIT */
/* A CUDA program that uses the device's malloc (cuda_port.cu), ported (cuda_port.cl): each work-item collects the
 * neighbours of a point in a list that grows, and another kernel consumes and frees it. */
#include "sample.h"
#include "cuda_port.cl.h"

enum { POINTS = 3000, RADIUS = 700 };

static int run(sample *s) {
  cl_int2 *points = calloc(POINTS, sizeof *points);
  cl_uint *sums = calloc(POINTS, sizeof *sums), state = 1, wrong = 0, pairs = 0, sum;
  cl_mem point_buffer, lists = sample_buffer(s, POINTS * 16, NULL),
                       sum_buffer = sample_buffer(s, POINTS * sizeof *sums, NULL);
  int i, j;
  for (i = 0; i < POINTS; i++) {
    points[i].x = (cl_int)((state = state * 1664525u + 1013904223u) >> 18);
    points[i].y = (cl_int)((state = state * 1664525u + 1013904223u) >> 18);
  }
  point_buffer = sample_buffer(s, POINTS * sizeof *points, points);
  sample_launch(s, "find", POINTS, "mm", point_buffer, lists);
  sample_launch(s, "consume", POINTS, "mm", lists, sum_buffer);
  sample_read(s, sum_buffer, sums, POINTS * sizeof *sums);
  for (i = 0; i < POINTS; i++) {
    for (sum = 0, j = 0; j < POINTS; j++) {
      int dx = points[i].x - points[j].x, dy = points[i].y - points[j].y;
      if (j != i && dx * dx + dy * dy < RADIUS * RADIUS) {
        sum = sum * 31u + (cl_uint)j;
        pairs++;
      }
    }
    wrong += sum != sums[i];
  }
  wrong += (cl_uint)sample_heap_differs(s, 0);
  printf("%d points, %u neighbours, %u wrong\n", POINTS, pairs, wrong);
  clReleaseMemObject(point_buffer);
  clReleaseMemObject(lists);
  clReleaseMemObject(sum_buffer);
  free(points);
  free(sums);
  return wrong != 0;
}

int main(int argc, char **argv) {
  static const sample_description cuda_port = {
      "sample_cuda_port\n"
      "The port of cuda_port.cu: neighbour lists that grow by malloc and free.",
      cuda_port_cl, 64, run};
  return sample_main(argc, argv, &cuda_port);
}
