/* SPDX-License-Identifier: MIT */
/* Heaps as kernel arguments: checks that a kernel's program is for the heap.
 *
 * The settings with which a program was built are read from two sources, because neither has all of them:
 *
 *   the argument's type   xmcHeap is a macro for a name that contains layout version, debug level and coalescing (arena.h),
 *                         whether they came from options in any spelling, macros in the source, another version's source,
 *                         programs that were linked, or binaries. The name is known if the program was built with
 *                         -cl-kernel-arg-info, which xmcGetBuildOptions has, and the argument is declared as
 *                         __global xmcHeap *.
 *   the build options     all other macros of the library: path and geometry
 *
 * A mismatch that neither shows the kernel finds by the arena's magic word: requests get NULL, frees do nothing.
 */
#include "internal.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the argument's type ---- */

/* True if the name of the argument's type is a pointer to numbers or references. A heap that was passed at the wrong index is
 * found by this; the kernel would use the arena as its data, and overwrite it. Pointers to bytes and void may be for an arena. */
static int xmc_is_data(const char *type) {
  static const char *const data[] = {"xmcRef", "xmcRef32", "xmcRegion", "short", "ushort", "int",
                                     "uint",   "long",     "ulong",     "float", "double", "size_t"};
  size_t n = strcspn(type, " *"), i;
  for (i = 0; i < sizeof data / sizeof *data; i++)
    if (strchr(type, '*') && strlen(data[i]) == n && strncmp(data[i], type, n) == 0)
      return 1;
  return 0;
}

static cl_int xmc_check_argument(xmc_heap heap, cl_kernel kernel, cl_uint index) {
  static const char stem[] = "xmcHeap_";
  char type[256] = "", wanted[64];
  const char *name = type;
  size_t n;
  if (clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof type - 1, type, NULL) != CL_SUCCESS)
    return CL_SUCCESS;
  if (strncmp(name, "struct ", 7) == 0)
    name += 7;
  n = sizeof stem - 1;
  if (strncmp(name, stem, n) != 0 || !isdigit((unsigned char)name[n]))
    return xmc_is_data(name) ? XMC_HEAP_MISMATCH : CL_SUCCESS;
  n = (size_t)snprintf(wanted, sizeof wanted, "%s%d_%d_%d", stem, XMC_LAYOUT_VERSION, heap->settings.debug,
                       heap->settings.coalescing);
  return strncmp(name, wanted, n) == 0 && strspn(name + n, " *") == strlen(name + n) ? CL_SUCCESS
                                                                                     : XMC_HEAP_MISMATCH;
}

/* ---- build options ---- */

/* Appends the next word at *at to `word`, without quotes and backslashes, and moves *at behind it. */
static void xmc_next_word(const char **at, char *word) {
  const char *p = *at;
  char quote = 0;
  word += strlen(word);
  for (p += strspn(p, " \t\r\n"); *p && (quote || !isspace((unsigned char)*p)); p++) {
    if (*p == quote)
      quote = 0;
    else if (!quote && (*p == '"' || *p == '\''))
      quote = *p;
    else if (*p == '\\' && p[1])
      *word++ = *++p;
    else
      *word++ = *p;
  }
  *word = '\0';
  *at = p + strspn(p, " \t\r\n");
}

/* Returns the options as words, malloc'ed: each word ends with a NUL, and an empty word is last. -D and -U are joined with their macro. */
static char *xmc_option_words(const char *options) {
  char *words = calloc(1, strlen(options) + 2), *word = words;
  while (words && *options) {
    *word = '\0';
    xmc_next_word(&options, word);
    if (strcmp(word, "-D") == 0 || strcmp(word, "-U") == 0)
      xmc_next_word(&options, word);
    if (*word)
      word += strlen(word) + 1;
  }
  if (words)
    *word = '\0';
  return words;
}

/* Returns the value that the macro `name` (n characters) has after all these words; NULL if they leave it undefined. */
static const char *xmc_macro(const char *words, const char *name, size_t n) {
  const char *value = NULL, *word;
  for (word = words; *word; word += strlen(word) + 1) {
    if (word[0] != '-' || (word[1] != 'D' && word[1] != 'U') || strncmp(word + 2, name, n) != 0)
      continue;
    if (word[2 + n] == '=' && word[1] == 'D')
      value = word + 2 + n + 1;
    else if (word[2 + n] == '\0')
      value = word[1] == 'D' ? "1" : NULL;
  }
  return value;
}

static int xmc_same_value(const char *a, const char *b) {
  char *end_a, *end_b;
  unsigned long long x = strtoull(a, &end_a, 0), y = strtoull(b, &end_b, 0);
  if (strcmp(a, b) == 0)
    return 1;
  return end_a != a && end_b != b && x == y && !end_a[strspn(end_a, "uUlL")] && !end_b[strspn(end_b, "uUlL")];
}

/* True if every macro of the library that a program was built with has the heap's value, and the geometry is the heap's. The value
 * -1 agrees with any other: programs for several devices have it for XMC_DEVICE. */
static int xmc_options_agree(xmc_heap heap, const char *heap_words, const char *program_words) {
  static const char geometry[] = "XMC_GEOMETRY";
  const char *word, *built;
  for (word = heap_words; *word; word += strlen(word) + 1) {
    size_t n = strcspn(word, "=");
    if (strncmp(word, "-DXMC_", 6) != 0 || !word[n])
      continue;
    built = xmc_macro(program_words, word + 2, n - 2);
    if (built && !xmc_same_value(built, word + n + 1) && strcmp(built, "-1") != 0)
      return 0;
  }
  built = xmc_macro(program_words, geometry, sizeof geometry - 1);
  return !built || !strtoull(built, NULL, 0) || strtoull(built, NULL, 0) == xmc_geometry_now(heap);
}

static cl_int xmc_check_options(xmc_heap heap, cl_program program, cl_device_id device) {
  char *options = NULL, *words = NULL, *heap_words = NULL;
  size_t bytes = 0;
  cl_int status = clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, 0, NULL, &bytes);
  if (status != CL_SUCCESS)
    return status;
  options = calloc(1, bytes + 1);
  if (!options)
    return CL_OUT_OF_HOST_MEMORY;
  status = clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, bytes, options, NULL);
  if (status != CL_SUCCESS)
    goto cleanup;
  words = xmc_option_words(options);
  heap_words = xmc_option_words(heap->options);
  status = CL_OUT_OF_HOST_MEMORY;
  if (words && heap_words)
    status = xmc_options_agree(heap, heap_words, words) ? CL_SUCCESS : XMC_HEAP_MISMATCH;
cleanup:
  free(heap_words);
  free(words);
  free(options);
  return status;
}

/* Returns CL_SUCCESS if the program was built for the heap's device or sub-devices of it, and with the heap's options for each of
 * them; else XMC_HEAP_MISMATCH. */
static cl_int xmc_check_program(xmc_heap heap, cl_program program) {
  cl_device_id *devices = NULL;
  size_t bytes = 0, i, built = 0;
  cl_int status = clGetProgramInfo(program, CL_PROGRAM_DEVICES, 0, NULL, &bytes);
  if (status != CL_SUCCESS)
    return status;
  devices = malloc(bytes + 1);
  if (!devices)
    return CL_OUT_OF_HOST_MEMORY;
  status = clGetProgramInfo(program, CL_PROGRAM_DEVICES, bytes, devices, NULL);
  for (i = 0; i < bytes / sizeof *devices && status == CL_SUCCESS; i++) {
    cl_build_status is_built = CL_BUILD_NONE;
    if (!xmc_same_device(devices[i], heap->device) ||
        clGetProgramBuildInfo(program, devices[i], CL_PROGRAM_BUILD_STATUS, sizeof is_built, &is_built,
                              NULL) != CL_SUCCESS ||
        is_built != CL_BUILD_SUCCESS)
      continue;
    built++;
    status = xmc_check_options(heap, program, devices[i]);
  }
  free(devices);
  return status == CL_SUCCESS && !built ? XMC_HEAP_MISMATCH : status;
}

cl_int xmcSetKernelArgHeap(cl_kernel kernel, cl_uint index, xmc_heap heap) {
  cl_context context = NULL;
  cl_program program = NULL;
  cl_int status = xmc_check_handle(heap);
  if (status == CL_SUCCESS)
    status = clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof context, &context, NULL);
  if (status == CL_SUCCESS)
    status = clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
  if (status == CL_SUCCESS && context != heap->context)
    status = XMC_HEAP_MISMATCH;
  if (status == CL_SUCCESS)
    status = xmc_check_program(heap, program);
  /* Intel's runtime for CPUs does not know a program any more that was released, although its kernels still exist. */
  if (status == CL_SUCCESS || status == CL_INVALID_PROGRAM)
    status = xmc_check_argument(heap, kernel, index);
  if (status == CL_SUCCESS) {
    pthread_mutex_lock(&heap->memory_lock);
    status = xmc_arena_set_arg(heap, kernel, index);
    pthread_mutex_unlock(&heap->memory_lock);
  }
  return status;
}
