/* Programs: the embedded device library in a user's source.
 *
 * `#include "xmalloc.cl"` would need an include path; here the library's text takes the place of each such
 * line, likewise for "xmalloc_default.cl" and "xmalloc_std.h", which include it, and `#line` puts the user's
 * numbers right again. Where the user has no such line the library goes in front. The library guards itself,
 * so several are as harmless as with a real include.
 */
#include "internal.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text that grows; after a failed allocation it stays NULL. */
typedef struct xmc_text {
  char *at;
  size_t used, room;
  int failed;
} xmc_text;

static void xmc_text_add(xmc_text *text, const char *from, size_t n) {
  if (text->failed)
    return;
  if (text->used + n + 1 > text->room) {
    size_t room = 2 * (text->used + n + 1);
    char *at = realloc(text->at, room);
    if (!at) {
      text->failed = 1;
      return;
    }
    text->at = at;
    text->room = room;
  }
  memcpy(text->at + text->used, from, n);
  text->used += n;
  text->at[text->used] = '\0';
}

/* What can be included, each with all before it */
static const char *const xmc_parts[][2] = {{"xmalloc.cl", xmc_source_library},
                                           {"xmalloc_default.cl", xmc_source_default},
                                           {"xmalloc_std.h", xmc_source_std}};
enum { XMC_PARTS = sizeof xmc_parts / sizeof *xmc_parts };

/* How many parts does `line` (n characters) include, whatever folder it names? 0: it is something else. */
static int xmc_included_parts(const char *line, size_t n) {
  int part;
  const char *end = line + n, *p = line, *close;
  while (p < end && (*p == ' ' || *p == '\t'))
    p++;
  if (p == end || *p++ != '#')
    return 0;
  while (p < end && (*p == ' ' || *p == '\t'))
    p++;
  if ((size_t)(end - p) < 7 || memcmp(p, "include", 7) != 0)
    return 0;
  p += 7;
  while (p < end && (*p == ' ' || *p == '\t'))
    p++;
  if (p == end || (*p != '"' && *p != '<'))
    return 0;
  close = memchr(p + 1, *p == '"' ? '"' : '>', (size_t)(end - p - 1));
  for (part = 0; close && part < XMC_PARTS; part++) {
    size_t name = strlen(xmc_parts[part][0]);
    const char *at = close - name;
    if ((size_t)(close - p - 1) >= name && memcmp(at, xmc_parts[part][0], name) == 0 &&
        (at == p + 1 || at[-1] == '/'))
      return part + 1;
  }
  return 0;
}

/* Follows one line; returns whether the next one starts inside a comment. */
static int xmc_in_comment_after(const char *line, size_t n, int in_comment) {
  size_t i;
  char quote = 0;
  for (i = 0; i < n; i++) {
    char next = i + 1 < n ? line[i + 1] : '\0';
    if (in_comment) {
      if (line[i] == '*' && next == '/') {
        in_comment = 0;
        i++;
      }
    } else if (quote) {
      if (line[i] == '\\')
        i++;
      else if (line[i] == quote)
        quote = 0;
    } else if (line[i] == '"' || line[i] == '\'') {
      quote = line[i];
    } else if (line[i] == '/' && next == '/') {
      return 0;
    } else if (line[i] == '/' && next == '*') {
      in_comment = 1;
      i++;
    }
  }
  return in_comment;
}

static void xmc_add_library(xmc_text *text, int parts, unsigned long next_line) {
  char back[64];
  int n = snprintf(back, sizeof back, "\n#line %lu \"<kernel>\"\n", next_line), part;
  for (part = 0; part < parts; part++)
    xmc_text_add(text, xmc_parts[part][1], strlen(xmc_parts[part][1]));
  xmc_text_add(text, back, (size_t)n);
}

static void xmc_expand_lines(xmc_text *out, const char *source, size_t bytes, int *found) {
  const char *p = source, *end = source + bytes;
  unsigned long line = 1;
  int in_comment = 0;
  *found = 0;
  while (p < end) {
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    size_t n = newline ? (size_t)(newline - p) + 1 : (size_t)(end - p);
    int parts = in_comment ? 0 : xmc_included_parts(p, n);
    if (parts) {
      *found = 1;
      xmc_add_library(out, parts, line + 1);
    } else {
      in_comment = xmc_in_comment_after(p, n, in_comment);
      xmc_text_add(out, p, n);
    }
    line++;
    p += n;
  }
}

char *xmc_expand_source(cl_uint count, const char **strings, const size_t *lengths) {
  xmc_text user = {0}, out = {0};
  cl_uint i;
  int found;
  xmc_text_add(&user, "", 0);
  for (i = 0; i < count; i++)
    xmc_text_add(&user, strings[i], lengths && lengths[i] ? lengths[i] : strlen(strings[i]));
  if (!user.failed) {
    xmc_text_add(&out, "", 0);
    xmc_expand_lines(&out, user.at, user.used, &found);
    if (!found) {
      out.used = 0;
      xmc_add_library(&out, 1, 1);
      xmc_text_add(&out, user.at, user.used);
    }
  }
  if (user.failed || out.failed) {
    free(out.at);
    out.at = NULL;
  }
  free(user.at);
  return out.at;
}

cl_program xmcCreateProgramWithSource(xmc_heap heap, cl_uint count, const char **strings,
                                      const size_t *lengths, cl_int *errcode_ret) {
  cl_int status = xmc_check_handle(heap);
  cl_program program = NULL;
  char *source = NULL;
  cl_uint i;
  if (status != CL_SUCCESS)
    goto cleanup;
  status = CL_INVALID_VALUE;
  if (count == 0 || !strings)
    goto cleanup;
  for (i = 0; i < count; i++)
    if (!strings[i])
      goto cleanup;
  status = CL_OUT_OF_HOST_MEMORY;
  source = xmc_expand_source(count, strings, lengths);
  if (!source)
    goto cleanup;
  program = clCreateProgramWithSource(heap->context, 1, (const char **)&source, NULL, &status);
cleanup:
  free(source);
  if (errcode_ret)
    *errcode_ret = status;
  return program;
}

/* The build log's beginning */
static void xmc_build_log(cl_program program, cl_device_id device, char *log, size_t log_bytes) {
  size_t bytes = 0;
  char *whole = NULL;
  if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) == CL_SUCCESS &&
      bytes > 0)
    whole = malloc(bytes);
  if (whole && clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, whole, NULL) == CL_SUCCESS)
    snprintf(log, log_bytes, "%s", whole);
  free(whole);
}

cl_int xmc_build(cl_context context, cl_device_id device, const char *source, const char *options,
                 cl_program *program, char *log, size_t log_bytes) {
  cl_int status;
  if (log)
    log[0] = '\0';
  *program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
  if (status != CL_SUCCESS)
    return status;
  status = clBuildProgram(*program, 1, &device, options, NULL, NULL);
  if (status == CL_SUCCESS)
    return CL_SUCCESS;
  if (log)
    xmc_build_log(*program, device, log, log_bytes);
  clReleaseProgram(*program);
  *program = NULL;
  return status;
}

const char *xmcGetSource(void) { return xmc_source_library; }
