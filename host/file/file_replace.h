/* SPDX-License-Identifier: MIT */
/* Replaces a file as a whole: readers find the old contents or the new ones, never a part of either. */
#ifndef XMC_FILE_REPLACE_H
#define XMC_FILE_REPLACE_H
#include "xmalloc.h"
#include <stdio.h>

typedef struct xmc_replacement {
  FILE *file;   /* the temporary file, to be written to */
  char *part;   /* its name */
  char *target; /* the file that it replaces; symbolic links of the path are followed */
} xmc_replacement;

/* True if the path names something that is not a regular file: a folder, device, pipe or socket. */
int xmc_path_is_special(const char *path);

/* Creates a temporary file, under a name that no other file has, in the folder of the file that `path` names.
 * Errors: XMC_FILE_NOT_REGULAR, XMC_FILE_UNUSABLE (errno says why), CL_OUT_OF_HOST_MEMORY. */
cl_int xmc_replace_begin(xmc_replacement *replacement, const char *path);

/* `status` says whether the caller wrote the temporary file without an error. If it is CL_SUCCESS, flushes the file to the disk and
 * gives it the target's name. Otherwise, or if that fails, removes the file and leaves the target as it was. Must be called once
 * after each xmc_replace_begin that succeeded. Returns `status` if that is an error, else CL_SUCCESS or XMC_FILE_UNUSABLE (errno
 * says why). */
cl_int xmc_replace_end(xmc_replacement *replacement, cl_int status);
#endif
