/* SPDX-License-Identifier: MIT */
/* Uses of xmalloc.h that must compile in every language that a program may be written in (tests/header). */
#include <xmalloc.h>

#if XMC_VERSION < XMC_MAKE_VERSION(0, 2, 0)
#error "a version as one number"
#endif

/* What the header defines rather than declares has an address, too. */
typedef cl_int (*stats_function)(xmc_heap, cl_command_queue, xmc_heap_stats *);
typedef cl_int (*check_function)(xmc_heap, cl_command_queue, xmc_heap_report *);
typedef cl_int (*blocks_function)(xmc_heap, cl_command_queue, xmc_block_callback, void *);

static int CL_CALLBACK count(const xmc_block *block, void *data) {
  *(cl_ulong *)data += block->usable;
  return 0;
}

int main(void) {
  stats_function stats_of = xmcGetHeapStats;
  check_function check = &xmcCheckHeap;
  blocks_function for_each = xmcForEachBlock;
  xmc_heap_stats stats;
  cl_ulong bytes = 0;
  return stats_of(NULL, NULL, &stats) == XMC_INVALID_HEAP && check(NULL, NULL, NULL) == XMC_INVALID_HEAP &&
                 for_each(NULL, NULL, count, &bytes) == XMC_INVALID_HEAP &&
                 xmcForEachBlock(NULL, NULL, NULL, NULL) == CL_INVALID_VALUE
             ? 0
             : 1;
}
