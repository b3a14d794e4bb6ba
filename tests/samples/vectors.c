/* Vectors that grow by xmcRealloc, one a work-item, each as long as its Collatz sequence. */
#include "sample.h"

enum { COUNT = 20000 };

static int run(sample *s) {
  cl_ulong2 *out = calloc(COUNT, sizeof *out);
  cl_mem vectors = sample_buffer(s, COUNT * 3 * sizeof(cl_uint), NULL),
         buffer = sample_buffer(s, COUNT * sizeof *out, NULL);
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
  printf("%u vectors of %llu items together%s\n", (cl_uint)COUNT, (unsigned long long)items,
         wrong ? ": wrong" : "");
  clReleaseMemObject(vectors);
  clReleaseMemObject(buffer);
  free(out);
  return wrong != 0;
}

int main(int argc, char **argv) { return sample_main(argc, argv, "vectors.cl", 128 << 20, run); }
