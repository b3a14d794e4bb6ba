/* pair, alloc and free through the collective calls: every work-item of the group calls. */
#include "xmalloc.cl"

__kernel void pair_workgroup(__global xmcHeap *heap, uint size, __global uint *failures) {
  __local xmcGroupScratch scratch;
  uint id = (uint)get_global_id(0);
  __global uint *p = (__global uint *)xmcMallocWorkGroup(heap, size, &scratch);
  if (p == 0)
    atomic_inc(failures);
  else
    *p = id;
  xmcFreeWorkGroup(heap, p, &scratch);
}

__kernel void alloc_workgroup(__global xmcHeap *heap, __global ulong *refs, uint size,
                              __global uint *failures) {
  __local xmcGroupScratch scratch;
  uint id = (uint)get_global_id(0);
  __global uint *p = (__global uint *)xmcMallocWorkGroup(heap, size, &scratch);
  if (p == 0)
    atomic_inc(failures);
  else
    *p = id;
  refs[id] = xmcToRef(heap, p);
}

__kernel void release_workgroup(__global xmcHeap *heap, __global const ulong *refs) {
  __local xmcGroupScratch scratch;
  xmcFreeWorkGroup(heap, xmcFromRef(heap, refs[get_global_id(0)]), &scratch);
}

#if XMC_HAS_SUBGROUPS
__kernel void pair_subgroup(__global xmcHeap *heap, uint size, __global uint *failures) {
  uint id = (uint)get_global_id(0);
  __global uint *p = (__global uint *)xmcMallocSubGroup(heap, size);
  if (p == 0)
    atomic_inc(failures);
  else
    *p = id;
  xmcFreeSubGroup(heap, p);
}

__kernel void alloc_subgroup(__global xmcHeap *heap, __global ulong *refs, uint size,
                             __global uint *failures) {
  uint id = (uint)get_global_id(0);
  __global uint *p = (__global uint *)xmcMallocSubGroup(heap, size);
  if (p == 0)
    atomic_inc(failures);
  else
    *p = id;
  refs[id] = xmcToRef(heap, p);
}

__kernel void release_subgroup(__global xmcHeap *heap, __global const ulong *refs) {
  xmcFreeSubGroup(heap, xmcFromRef(heap, refs[get_global_id(0)]));
}
#endif
