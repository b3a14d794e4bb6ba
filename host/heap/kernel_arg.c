/* SPDX-License-Identifier: MIT */
/* Heaps as kernel arguments: is the kernel's program for this heap?
 *
 * What a program was built with shows in two places, since neither tells all:
 *
 *   the argument's type   layout version, debug level and coalescing are part of the name that xmcHeap stands for
 *                         (arena.h), however they came about: options in any spelling, macros in the source, another
 *                         version's source, programs that were linked, or loaded as binaries. Known where the
 *                         program was built with -cl-kernel-arg-info, which xmcGetBuildOptions has, and where the
 *                         argument is declared as __global xmcHeap *.
 *   the build options     of the library's macros all others: which path, which geometry
 *
 * What neither shows the kernel finds out itself, by the arena's magic word: requests get NULL, frees do nothing.
 */
#include "internal.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the argument's type ---- */

/* Is the argument a pointer to numbers or references, as its type's name says? So a heap that was given to the wrong
 * index is found: the kernel would take the arena for its data, and overwrite it. Bytes and void may be an arena. */
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

/* The next word at *at, without quotes and backslashes, appended to `word` */
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

/* Options as words, each ended by a NUL, an empty one last; -D and -U together with the macro. malloc'ed. */
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

/* The value of the macro `name` (n characters) after all of these words; NULL if they leave it undefined */
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

/* Has every macro of the library that a program was built with the value that the heap asks for? -1 is any: for
 * XMC_DEVICE, in programs for several devices. */
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

/* Was the program built for the heap's device, in whichever of its sub-devices, and with the heap's options for
 * each of them? */
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
  /* Intel's runtime for CPUs forgets a program that was released, although its kernels are still there. */
  if (status == CL_SUCCESS || status == CL_INVALID_PROGRAM)
    status = xmc_check_argument(heap, kernel, index);
  if (status == CL_SUCCESS) {
    pthread_mutex_lock(&heap->memory_lock);
    status = xmc_arena_set_arg(heap, kernel, index);
    pthread_mutex_unlock(&heap->memory_lock);
  }
  return status;
}
