/* SPDX-License-Identifier: MIT */
/* Traced calls at lines that the test knows. */
#include "xmalloc.cl"

#line 100
__kernel void trace_malloc(__global xmcHeap *heap, ulong size, __global ulong *refs) {
  refs[get_global_id(0)] = xmcToRef(heap, xmcMalloc(heap, (size_t)size + get_global_id(0) % 64));
}
#line 200
__kernel void trace_free(__global xmcHeap *heap, __global ulong *refs) {
  xmcFree(heap, xmcFromRef(heap, refs[get_global_id(0)]));
}

/* One work-item, each call once; refs has places for ten blocks. */
__kernel void trace_calls(__global xmcHeap *heap, __global ulong *refs) {
  __global void *p = xmcMalloc(heap, 100);
#line 301
  p = xmcRealloc(heap, p, 1000);
#line 302
  p = xmcRealloc(heap, p, 990);
  refs[0] = xmcToRef(heap, p);
#line 303
  refs[1] = xmcToRef(heap, xmcCalloc(heap, 3, 50));
#line 304
  refs[2] = xmcToRef(heap, xmcAlignedAlloc(heap, 256, 20));
#line 305
  p = xmcRealloc(heap, 0, 70);
#line 306
  xmcRealloc(heap, p, 0);
#line 307
  refs[3] = xmcToRef(heap, xmcMalloc(heap, (size_t)1 << 40));
#line 308
  refs[4] = xmcToRef(heap, xmcCalloc(heap, ~(size_t)0, 16));
#line 309
  xmcFree(heap, (__global char *)heap + 8);
#line 310
  xmcFree(heap, 0);
  xmcMalloc(heap, 0);
#line 311
  refs[5] = xmcToRef(heap, xmcMalloc(heap, 100000));
#line 312
  refs[5] = xmcToRef(heap, xmcRealloc(heap, xmcFromRef(heap, refs[5]), 50000));
}

/* Regions: one that stays, one that is freed. refs[0]: the first. One work-item: PoCL 7.1 would run a part twice if the calls had loops
 * in the kernel (xmc_region_create). */
__kernel void trace_regions(__global xmcHeap *heap, __global ulong *refs) {
  xmcRegion region, other;
  uint i;
#line 401
  region = xmcRegionCreate(heap);
#line 402
  other = xmcRegionCreateFor(heap, 1);
  for (i = 0; i < 10; i++)
#line 403
    xmcRegionMalloc(heap, region, 40);
#line 404
  xmcRegionReset(heap, region);
#line 405
  xmcRegionMalloc(heap, region, 60);
#line 406
  xmcRegionMalloc(heap, other, 70);
#line 407
  xmcRegionFree(heap, other);
#line 408
  xmcRegionFree(heap, other);
  refs[0] = region;
}

/* Work-groups: half of the blocks go again. */
__kernel void trace_groups(__global xmcHeap *heap, __global ulong *refs) {
  __local xmcGroupScratch scratch;
  __local xmcRegionScratch region_scratch;
  uint i = (uint)get_global_id(0);
#line 501
  __global void *p = xmcMallocWorkGroup(heap, 16 + i % 200, &scratch);
  refs[i] = i % 2 ? xmcToRef(heap, p) : 0;
#line 502
  xmcFreeWorkGroup(heap, i % 2 ? 0 : p, &scratch);
  xmcRegionOpenWorkGroup(&region_scratch);
}
