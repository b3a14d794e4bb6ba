/* SPDX-License-Identifier: MIT */
/* An unmap, or a reset of a heap that needs no map, while a host call is inside: it waits for that call, and refuses others. */
#include "support/harness.h"
#include "heap/internal.h"
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

typedef struct closer {
  xmc_heap heap;
  cl_int (*close)(xmc_heap heap, cl_command_queue queue);
  cl_int status;
  int done;
} closer;

static void *close_gate(void *data) {
  closer *c = data;
  c->status = c->close(c->heap, NULL);
  __atomic_store_n(&c->done, 1, __ATOMIC_RELEASE);
  return NULL;
}

/* The call is played by a count. Others are refused from then on, and the thread waits until the count is down. */
static void waits_for_call(xmc_heap heap, cl_int (*close)(xmc_heap heap, cl_command_queue queue)) {
  closer c = {.heap = heap, .close = close};
  atomic_uint *inside = &heap->gate.counts[XMC_GATE_COUNTS / 2].inside;
  pthread_t thread;
  cl_int status;
  void *block;
  atomic_fetch_add(inside, 1);
  assert_int_equal(pthread_create(&thread, NULL, close_gate, &c), 0);
  while ((block = xmcHostMalloc(heap, 100, &status)) != NULL) {
    xmcHostFree(heap, block);
    sched_yield();
  }
  assert_int_equal(status, XMC_HEAP_NOT_MAPPED);
  usleep(50000);
  assert_int_equal(__atomic_load_n(&c.done, __ATOMIC_ACQUIRE), 0);
  atomic_fetch_sub(inside, 1);
  pthread_join(thread, NULL);
  CL_OK(c.status);
}

static int has_backing(const test_env *env, cl_uint backing) {
  cl_bitfield svm = env->device->svm;
  return backing == XMC_BACKING_BUFFER ||
         (backing == XMC_BACKING_SVM && (svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) ||
         (backing == XMC_BACKING_SVM_FINE && (svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER));
}

static void calls_are_waited_for(test_env *env) {
  xmc_heap heap;
  cl_int status;
  for (env->config.backing = XMC_BACKING_BUFFER; env->config.backing <= XMC_BACKING_SVM_FINE;
       env->config.backing++) {
    if (!has_backing(env, env->config.backing))
      continue;
    heap = test_heap(env, 4 << 20);
    if (heap->host_always) {
      waits_for_call(heap, xmcResetHeap);
      assert_non_null(xmcHostMalloc(heap, 100, &status));
    } else {
      CL_OK(xmcMapHeap(heap, NULL));
      waits_for_call(heap, xmcUnmapHeap);
      assert_null(xmcHostMalloc(heap, 100, &status));
    }
    test_intact(env, heap);
  }
}

int main(int argc, char **argv) {
  static const test_case cases[] = {TEST(calls_are_waited_for, SPREAD_ONE)};
  return test_main("gate", cases, sizeof cases / sizeof *cases, argc, argv);
}
