/* SPDX-License-Identifier: MIT */
/* Vectors that grow by xmcRealloc: each work-item has one, as long as its Collatz sequence. */
#include "sample.h"
#include "vectors.cl.h"

enum { COUNT = 20000 };

static int run(sample *s) {
  cl_ulong2 *out = calloc(COUNT, sizeof *out);
  cl_mem vectors = sample_buffer(s, COUNT * 16, NULL), buffer = sample_buffer(s, COUNT * sizeof *out, NULL);
  cl_ulong items = 0, n, length, total;
  cl_uint i, wrong = 0;
  sample_launch(s, "collect", COUNT, "mu", vectors, (cl_uint)COUNT);
  wrong += (cl_uint)sample_heap_differs(s, COUNT);
  sample_launch(s, "sum", COUNT, "mum", vectors, (cl_uint)COUNT, buffer);
  sample_read(s, buffer, out, COUNT * sizeof *out);
  for (i = 0; i < COUNT; i++) {
    for (n = i + 1, length = 1, total = n; n != 1; length++) {
      n = n % 2 ? 3 * n + 1 : n / 2;
      total += n;
    }
    wrong += out[i].x != length || out[i].y != total;
    items += length;
  }
  wrong += (cl_uint)sample_heap_differs(s, 0);
  printf("%u vectors with %llu items in all, %u wrong\n", (cl_uint)COUNT, (unsigned long long)items, wrong);
  clReleaseMemObject(vectors);
  clReleaseMemObject(buffer);
  free(out);
  return wrong != 0;
}

int main(int argc, char **argv) {
  static const sample_description vectors = {
      "sample_vectors\n"
      "Each work-item keeps the Collatz sequence of its number in a vector that "
      "grows.",
      vectors_cl, 128, run};
  return sample_main(argc, argv, &vectors);
}
