/* SPDX-License-Identifier: MIT */
/* A queue of work whose items make further items: boards with n queens that do not attack each other. The host puts one
 * empty board into the queue. Each launch serves what is there and fills the next queue, until none is left. The host
 * counts the solutions by recursion. */
#include "sample.h"
#include "work_queue.cl.h"

enum { ROOM = 1 << 19 }; /* items in a queue */

typedef struct item {
  cl_uint row;
  cl_uint column[16];
} item;

static cl_uint host_count(unsigned n, unsigned columns, unsigned left, unsigned right) {
  unsigned free_places = ~(columns | left | right) & ((1u << n) - 1u);
  cl_uint found = columns == (1u << n) - 1u;
  while (free_places) {
    unsigned place = free_places & -free_places;
    free_places ^= place;
    found += host_count(n, columns | place, (left | place) << 1, (right | place) >> 1);
  }
  return found;
}

static int run(sample *s) {
  cl_uint n = s->argc > 0 ? (cl_uint)atoi(s->argv[0]) : 8, count = 1, served = 0, launches = 0, expected,
          zero = 0;
  cl_uint counts[3] = {0};
  xmcRef first;
  cl_mem queues[2], buffer;
  int wrong;
  cl_int e;
  if (n < 4 || n > 12) {
    fprintf(stderr, "boards are of 4 to 12 rows\n");
    return 1;
  }
  CHECK(xmcMapHeap(s->heap, s->queue));
  first = xmcHostToRef(s->heap, xmcHostCalloc(s->heap, 1, sizeof(item), &e));
  CHECK(e);
  CHECK(xmcUnmapHeap(s->heap, s->queue));
  queues[0] = sample_buffer(s, ROOM * sizeof(xmcRef), NULL);
  queues[1] = sample_buffer(s, ROOM * sizeof(xmcRef), NULL);
  buffer = sample_buffer(s, sizeof counts, counts);
  CHECK(clEnqueueWriteBuffer(s->queue, queues[0], CL_TRUE, 0, sizeof first, &first, 0, NULL, NULL));
  while (count > 0) {
    CHECK(clEnqueueWriteBuffer(s->queue, buffer, CL_TRUE, 0, sizeof zero, &zero, 0, NULL, NULL));
    sample_launch(s, "serve", count, "mumuum", queues[launches % 2], count, queues[(launches + 1) % 2],
                  (cl_uint)ROOM, n, buffer);
    sample_read(s, buffer, counts, sizeof counts);
    served += count;
    launches++;
    count = counts[2] ? 0 : counts[0];
  }
  expected = host_count(n, 0, 0, 0);
  wrong = counts[1] != expected || counts[2] || sample_heap_differs(s, 0);
  printf("%u queens: %u solutions, %u expected; %u items in %u launches\n", n, counts[1], expected, served,
         launches);
  clReleaseMemObject(queues[0]);
  clReleaseMemObject(queues[1]);
  clReleaseMemObject(buffer);
  return wrong;
}

int main(int argc, char **argv) {
  static const sample_description work_queue = {
      "sample_work_queue [N]\n"
      "Counts the ways to place N queens, 4 to 12, on a board of N by N; "
      "default 8.",
      work_queue_cl, 128, run};
  return sample_main(argc, argv, &work_queue);
}
