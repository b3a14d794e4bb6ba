/* SPDX-License-Identifier: MIT */
/* Heaps in files, without OpenCL: what save.c and xmc-heap stand on. */
#ifndef XMC_HEAP_FILE_H
#define XMC_HEAP_FILE_H
#include "inspect/walk.h"
#include <stdio.h>

/* Gives or takes bytes of the arena. */
typedef cl_int (*xmc_file_get)(void *data, xmc_u64 offset, xmc_u64 bytes, void *to);
typedef cl_int (*xmc_file_put)(void *data, xmc_u64 offset, xmc_u64 bytes, const void *from);

/* Writes a heap whose metadata is `meta` and whose pages `get` reads.
 * Errors: XMC_FILE_UNUSABLE, CL_OUT_OF_HOST_MEMORY, those of get. */
cl_int xmc_file_write(FILE *file, xmcHeap *meta, long long fifos, xmc_file_get get, void *data);

/* Reads a whole file and checks all of it: sums, geometry, every invariant of the metadata. *meta gets the
 * metadata (free with free()) and *fifos the heap's property; each page in use goes to `put`, if that is not
 * NULL, after the metadata was found right. Nothing it holds is believed further than it was checked.
 * Errors: XMC_FILE_…, CL_OUT_OF_HOST_MEMORY, those of put. */
cl_int xmc_file_read(FILE *file, xmcHeap **meta, long long *fifos, xmc_file_put put, void *data);

/* believe.c: CL_SUCCESS if these `bytes` of metadata are those of a quiet heap that the library could have made, with the
 * property XMC_HEAP_FIFOS as given. Else XMC_FILE_DAMAGED, or CL_OUT_OF_HOST_MEMORY. */
cl_int xmc_believe(xmcHeap *meta, xmc_u64 bytes, long long fifos);
#endif
