/* SPDX-License-Identifier: MIT */
/* Heaps in files, without OpenCL: functions that save.c and xmc-heap use. */
#ifndef XMC_HEAP_FILE_H
#define XMC_HEAP_FILE_H
#include "inspect/walk.h"
#include <stdio.h>

/* Reads or writes `bytes` bytes of the arena from `offset` on. Returns CL_SUCCESS or an error. */
typedef cl_int (*xmc_file_get)(void *data, xmc_u64 offset, xmc_u64 bytes, void *to);
typedef cl_int (*xmc_file_put)(void *data, xmc_u64 offset, xmc_u64 bytes, const void *from);

/* Writes a heap whose metadata is `meta` and whose pages `get` reads; `fifos` is its property XMC_HEAP_FIFOS.
 * Errors: XMC_FILE_UNUSABLE, CL_OUT_OF_HOST_MEMORY, those of get. */
cl_int xmc_file_write(FILE *file, xmcHeap *meta, long long fifos, xmc_file_get get, void *data);

/* Reads a whole file and checks all of it: sums, geometry, every invariant of the metadata. *meta gets the
 * metadata (free with free()), *fifos the heap's property XMC_HEAP_FIFOS. Each page in use is passed to `put`, if that is not
 * NULL, after the metadata passed the checks. No value of the file is used before it was checked.
 * Errors: XMC_FILE_…, CL_OUT_OF_HOST_MEMORY, those of put. */
cl_int xmc_file_read(FILE *file, xmcHeap **meta, long long *fifos, xmc_file_put put, void *data);

/* believe.c: returns CL_SUCCESS if these `bytes` bytes of metadata are those of a quiet heap that the library could have made with
 * this value of XMC_HEAP_FIFOS; else XMC_FILE_DAMAGED, or CL_OUT_OF_HOST_MEMORY. Sets the header's flux to 0. */
cl_int xmc_believe(xmcHeap *meta, xmc_u64 bytes, long long fifos);
#endif
