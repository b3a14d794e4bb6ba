/* SPDX-License-Identifier: MIT */
/* A quadtree over 4,000 points, built by kernels from the top, level by level: each work-item cuts one square into four,
 * and what is cut again goes into the next launch's queue. Another kernel finds each point's nearest neighbour in it. The
 * host compares the neighbours with its own and draws the tree. */
#include "sample.h"
#include "draw.h"
#include "quadtree.cl.h"

enum { COUNT = 4000, SIZE = 1 << 16 };

/* A spiral galaxy of two arms. It is computed with integers, so that every machine has the same. */
static void make_points(cl_uint2 *points) {
  long long x = 1 << 20, y = 0, turned; /* the arm's direction: a vector of length 2^20 */
  cl_uint random = 1;
  int i, k;
  for (i = 0; i < COUNT; i++) {
    long long along = 29000ll * i * (i + COUNT / 2) / (COUNT * (COUNT * 3 / 2)), scatter[2] = {0, 0},
              side = i % 2 ? 1 : -1;
    for (k = 0; k < 12; k++) {
      random = random * 1664525u + 1013904223u;
      scatter[k % 2] += (int)(random >> 16) - (1 << 15);
    }
    k = i % 8 == 0 ? 14 : 44; /* every eighth star lies between the arms */
    turned = (x * 1048573 - y * 2373) / (1 << 20);
    y = (y * 1048573 + x * 2373) / (1 << 20);
    x = turned;
    points[i].s[0] = (cl_uint)(SIZE / 2 + side * along * x / (1 << 20) + scatter[0] / k) % SIZE;
    points[i].s[1] = (cl_uint)(SIZE / 2 + side * along * y / (1 << 20) + scatter[1] / k) % SIZE;
  }
}

/* The root: a leaf with all points. The host makes it. */
static xmcRef plant(sample *s) {
  cl_int e;
  node *root;
  cl_uint *list, i;
  xmcRef ref;
  CHECK(xmcMapHeap(s->heap, s->queue));
  root = xmcHostCalloc(s->heap, 1, sizeof *root, &e);
  CHECK(e);
  list = xmcHostMalloc(s->heap, COUNT * sizeof *list, &e);
  CHECK(e);
  for (i = 0; i < COUNT; i++)
    list[i] = i;
  root->points = xmcHostToRef(s->heap, list);
  root->count = COUNT;
  root->size = SIZE;
  ref = xmcHostToRef(s->heap, root);
  CHECK(xmcUnmapHeap(s->heap, s->queue));
  return ref;
}

/* Cuts leaves until none has too many points; returns the number of launches. */
static cl_uint grow(sample *s, cl_mem points, xmcRef root) {
  cl_mem queues[2] = {sample_buffer(s, COUNT * sizeof root, NULL),
                      sample_buffer(s, COUNT * sizeof root, NULL)};
  cl_uint count = 1, launches;
  CHECK(clEnqueueWriteBuffer(s->queue, queues[0], CL_TRUE, 0, sizeof root, &root, 0, NULL, NULL));
  for (launches = 0; count > 0; launches++) {
    cl_mem out_count = sample_buffer(s, sizeof count, NULL);
    sample_launch(s, "split", count, "mmumm", points, queues[launches % 2], count, queues[(launches + 1) % 2],
                  out_count);
    sample_read(s, out_count, &count, sizeof count);
    clReleaseMemObject(out_count);
  }
  clReleaseMemObject(queues[0]);
  clReleaseMemObject(queues[1]);
  return launches;
}

/* How many of the neighbours are not what the host finds by looking at all points */
static cl_uint count_wrong(const cl_uint2 *points, const cl_uint *found) {
  cl_uint wrong = 0, best, i, j;
  for (i = 0; i < COUNT; i++) {
    long long least = -1;
    for (best = j = 0; j < COUNT; j++) {
      long long dx = (long long)points[i].s[0] - points[j].s[0],
                dy = (long long)points[i].s[1] - points[j].s[1];
      if (j != i && (least < 0 || dx * dx + dy * dy < least)) {
        least = dx * dx + dy * dy;
        best = j;
      }
    }
    wrong += found[i] != best;
  }
  return wrong;
}

static int run(sample *s) {
  const char *path = s->argc > 0 ? s->argv[0] : "quadtree.svg";
  cl_uint2 *points = calloc(COUNT, sizeof *points);
  cl_uint *found = calloc(COUNT, sizeof *found), launches, wrong;
  cl_mem point_buffer, found_buffer = sample_buffer(s, COUNT * sizeof *found, NULL);
  tree_size size = {0};
  xmcRef root = plant(s), children;

  make_points(points);
  point_buffer = sample_buffer(s, COUNT * sizeof *points, points);
  launches = grow(s, point_buffer, root);
  sample_launch(s, "nearest", COUNT, "muUm", point_buffer, (cl_uint)COUNT, root, found_buffer);
  sample_read(s, found_buffer, found, COUNT * sizeof *found);
  wrong = count_wrong(points, found);

  CHECK(xmcMapHeap(s->heap, s->queue));
  children = ((node *)xmcHostFromRef(s->heap, root))->children;
  if (!draw_tree(path, s->heap, xmcHostFromRef(s->heap, root), points, found, COUNT, &size)) {
    perror(path);
    wrong++;
  }
  CHECK(xmcHostFree(s->heap, xmcHostFromRef(s->heap, root)));
  CHECK(xmcUnmapHeap(s->heap, s->queue));
  wrong += size.points != COUNT;
  wrong += (cl_uint)sample_heap_differs(s, size.blocks);
  sample_launch(s, "fell", 1, "U", children);
  wrong += (cl_uint)sample_heap_differs(s, 0);
  printf("%u points in %u squares, %u launches, %u nearest neighbours wrong\n", (cl_uint)COUNT, size.leaves,
         launches, wrong);

  clReleaseMemObject(point_buffer);
  clReleaseMemObject(found_buffer);
  free(points);
  free(found);
  return wrong != 0;
}

int main(int argc, char **argv) {
  static const sample_description quadtree = {
      "sample_quadtree [FILE]\n"
      "Builds a quadtree over 4000 points, finds each point's nearest neighbour in it, and draws it.\n"
      "  FILE  where the picture goes; default: quadtree.svg in the current folder",
      quadtree_cl, 16, run};
  return sample_main(argc, argv, &quadtree);
}
