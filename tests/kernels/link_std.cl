/* SPDX-License-Identifier: MIT */
/* Objects without a heap to pass, as other compilers make them: by the names of the C library, of chipStar's device library
 * and of Julia's GPUCompiler. Their pointers are generic ones. */
void *malloc(size_t size);
void free(void *ptr);
void *calloc(size_t count, size_t size);
void *realloc(void *ptr, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void *__chip_malloc(uint size);
void __chip_free(void *ptr);
void *_Znwm(size_t size); /* operator new, new[], delete, delete[], as clang mangles them for HIP */
void *_Znam(size_t size);
void _ZdlPvm(void *ptr, size_t size);
void _ZdaPv(void *ptr);
void *gpu_malloc(ulong size);
void gpu_free(void *ptr);

/* As a HIP kernel that allocates in one launch what another one uses and frees */
__kernel void chip_take(__global ulong *at) {
  uint id = (uint)get_global_id(0), n = 1u + id % 100u, i;
  uint *p = (uint *)__chip_malloc(n * (uint)sizeof(uint));
  for (i = 0; p && i < n; i++)
    p[i] = id;
  at[id] = (ulong)p;
}
__kernel void chip_give(__global const ulong *at, __global uint *right) {
  uint id = (uint)get_global_id(0), n = 1u + id % 100u, same = 0, i;
  uint *p = (uint *)(size_t)at[id];
  for (i = 0; p && i < n; i++)
    same += p[i] == id;
  if (same == n)
    atomic_inc(right);
  __chip_free(p);
}

/* As a HIP kernel with new S, delete, new S[n] and delete[] */
__kernel void chip_new(__global uint *right) {
  uint id = (uint)get_global_id(0), n = 1u + id % 30u, same = 0, i;
  uint2 *one = (uint2 *)_Znwm(sizeof(uint2)), *many = (uint2 *)_Znam(n * sizeof(uint2));
  if (one)
    *one = (uint2)(id, ~id);
  for (i = 0; many && i < n; i++)
    many[i] = (uint2)(id + i, i);
  for (i = 0; many && i < n; i++)
    same += many[i].x == id + i && many[i].y == i;
  if (one && one->x == id && one->y == ~id && same == n)
    atomic_inc(right);
  _ZdlPvm(one, sizeof(uint2));
  _ZdaPv(many);
}

/* As Julia boxes values: many small ones, each freed by nobody but the kernel itself */
__kernel void julia(__global uint *right) {
  ulong id = get_global_id(0);
  ulong *boxes[8];
  uint i, same = 0;
  for (i = 0; i < 8u; i++) {
    boxes[i] = (ulong *)gpu_malloc(sizeof(ulong));
    if (boxes[i])
      *boxes[i] = id * 8u + i;
  }
  for (i = 0; i < 8u; i++) {
    same += boxes[i] && *boxes[i] == id * 8u + i;
    gpu_free(boxes[i]);
  }
  if (same == 8u)
    atomic_inc(right);
}

/* The C library's five */
__kernel void standard(__global uint *right) {
  uint id = (uint)get_global_id(0), n = 1u + id % 60u, same = 0, zero = 0, i;
  uint *p = (uint *)malloc(n * sizeof(uint));
  uint *q = (uint *)calloc(n, sizeof(uint));
  char *r = (char *)aligned_alloc(256, n);
  for (i = 0; p && i < n; i++)
    p[i] = id + i;
  p = (uint *)realloc(p, 40u * n * sizeof(uint));
  for (i = 0; p && q && i < n; i++) {
    same += p[i] == id + i;
    zero += q[i] == 0;
  }
  if (same == n && zero == n && r && (size_t)r % 256u == 0)
    atomic_inc(right);
  free(p);
  free(q);
  free(r);
}
