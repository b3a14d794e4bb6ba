/* SPDX-License-Identifier: MIT */
/* A linked list that the host begins and kernels extend, in one heap. Both walk it, and it can be saved to a file and
 * continued by another process on another device. */
#include "sample.h"
#include "list.cl.h"

typedef struct node {
  xmcRef next;
  cl_ulong value;
} node;

enum { BY_HOST = 1000, BY_KERNEL = 20000 };

static void push(xmc_heap heap, xmcRef *head, cl_ulong value) {
  cl_int e;
  node *n = xmcHostMalloc(heap, sizeof *n, &e);
  CHECK(e);
  n->value = value;
  n->next = *head;
  *head = xmcHostToRef(heap, n);
}

/* The number of nodes and the sum of their values, as the host sees them */
static void host_walk(xmc_heap heap, xmcRef root, cl_ulong *out) {
  xmcRef ref = *(xmcRef *)xmcHostFromRef(heap, root);
  out[0] = out[1] = 0;
  while (ref) {
    node *n = xmcHostFromRef(heap, ref);
    out[0]++;
    out[1] += n->value;
    ref = n->next;
  }
}

/* The list's root: a new one, or that of a loaded heap */
static xmcRef begin(sample *s) {
  cl_int e;
  xmcRef root;
  if (s->argc == 3 && !strcmp(s->argv[0], "--load")) {
    CHECK(xmcReleaseHeap(s->heap));
    s->heap = xmcLoadHeap(s->context, s->device, NULL, s->argv[1], &e);
    CHECK(e);
    CHECK(xmcCheckHeap(s->heap, s->queue, NULL));
    return strtoull(s->argv[2], NULL, 0);
  }
  CHECK(xmcMapHeap(s->heap, s->queue));
  root = xmcHostToRef(s->heap, xmcHostCalloc(s->heap, 1, sizeof(xmcRef), &e));
  CHECK(e);
  CHECK(xmcUnmapHeap(s->heap, s->queue));
  return root;
}

static int run(sample *s) {
  xmcRef root = begin(s);
  cl_ulong before[2], expected[2], host[2], kernel[2];
  cl_mem out = sample_buffer(s, sizeof kernel, NULL);
  cl_uint i;

  CHECK(xmcMapHeap(s->heap, s->queue));
  host_walk(s->heap, root, before);
  for (i = 0; i < BY_HOST; i++)
    push(s->heap, xmcHostFromRef(s->heap, root), i);
  CHECK(xmcUnmapHeap(s->heap, s->queue));

  sample_launch(s, "extend", BY_KERNEL, "Uuu", root, (cl_uint)BY_HOST, (cl_uint)BY_KERNEL);
  expected[0] = before[0] + BY_HOST + BY_KERNEL;
  expected[1] = before[1] + (cl_ulong)(BY_HOST + BY_KERNEL) * (BY_HOST + BY_KERNEL - 1) / 2;

  sample_launch(s, "walk", 1, "Um", root, out);
  sample_read(s, out, kernel, sizeof kernel);
  CHECK(xmcMapHeap(s->heap, s->queue));
  host_walk(s->heap, root, host);
  CHECK(xmcUnmapHeap(s->heap, s->queue));
  clReleaseMemObject(out);

  printf("%llu nodes by the host, %llu by a kernel, %llu expected\n", (unsigned long long)host[0],
         (unsigned long long)kernel[0], (unsigned long long)expected[0]);
  if (s->argc == 2 && !strcmp(s->argv[0], "--save")) {
    CHECK(xmcSaveHeap(s->heap, s->queue, s->argv[1]));
    printf("saved; the root is 0x%llx\n", (unsigned long long)root);
  }
  return memcmp(host, expected, sizeof host) || memcmp(kernel, expected, sizeof kernel) ||
         sample_heap_differs(s, expected[0] + 1);
}

int main(int argc, char **argv) {
  static const sample_description list = {
      "sample_list [--save FILE | --load FILE ROOT]\n"
      "A linked list that the host begins and kernels extend.\n"
      "  --save FILE       saves the heap to a file and prints the reference of the list's root\n"
      "  --load FILE ROOT  continues a saved list, whatever device it was made on",
      list_cl, 32, run};
  return sample_main(argc, argv, &list);
}
