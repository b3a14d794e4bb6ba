/* SPDX-License-Identifier: MIT */
/* Inserts the embedded device library into a user's source.
 *
 * `#include "xmalloc.cl"` would need an include path. Here the library's text replaces each such line, and each include of
 * "xmalloc_default.cl" and "xmalloc_std.h", which include it; a `#line` behind it restores the user's line numbers. If the user
 * has no such line, the library is put in front. The library has an include guard, so several includes are as harmless as real
 * ones, and so is an include in a header of the user's that the compiler finds by -I.
 *
 * A line is read as the compiler reads it: a backslash at its end joins the next line to it, and a comment of any number of
 * lines is a space. All other text stays as it was, to the byte.
 */
#include "internal.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text that grows. After a failed allocation `failed` is 1, and nothing more is added. */
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

/* ---- lines ---- */

/* Returns the bytes of the line end at p, which is \n, \r\n or \r, or 0 if p is not at a line end. */
static size_t xmc_newline(const char *p, const char *end) {
  if (p < end && *p == '\r')
    return p + 1 < end && p[1] == '\n' ? 2 : 1;
  return p < end && *p == '\n';
}

/* Returns the bytes of a backslash and the line end behind it, which join the next line to this one; else 0. */
static size_t xmc_splice(const char *p, const char *end) {
  size_t newline = p < end && *p == '\\' ? xmc_newline(p + 1, end) : 0;
  return newline ? newline + 1 : 0;
}

/* Reads a line as the compiler does: joined lines become one, and each comment a space. Returns where the next line begins, and
 * adds the number of line ends that were passed to *lines. */
static const char *xmc_read_line(const char *p, const char *end, xmc_text *line, unsigned long *lines) {
  enum { CODE, TO_LINE_END, COMMENT } where = CODE;
  char quote = 0, last = 0; /* last: the character before, for comment marks and escapes of two characters */
  line->used = 0;
  xmc_text_add(line, "", 0);
  while (p < end) {
    size_t splice = xmc_splice(p, end), newline = xmc_newline(p, end);
    if (splice || (newline && where == COMMENT)) {
      p += splice ? splice : newline;
      ++*lines;
      continue;
    }
    if (newline) {
      ++*lines;
      return p + newline;
    }
    if (where == COMMENT && last == '*' && *p == '/') {
      where = CODE;
      xmc_text_add(line, " ", 1);
      last = 0;
    } else if (where == CODE && !quote && last == '/' && (*p == '/' || *p == '*')) {
      where = *p == '/' ? TO_LINE_END : COMMENT;
      line->used--;
      last = 0;
    } else if (where == CODE) {
      if (quote && last == '\\')
        last = 0; /* *p is escaped */
      else {
        if (*p == quote)
          quote = 0;
        else if (!quote && (*p == '"' || *p == '\''))
          quote = *p;
        last = *p;
      }
      xmc_text_add(line, p, 1);
    } else {
      last = *p;
    }
    p++;
  }
  return p;
}

/* ---- includes ---- */

/* The files that can be included; each one includes those before it. */
static const char *const xmc_parts[][2] = {{"xmalloc.cl", xmc_source_library},
                                           {"xmalloc_default.cl", xmc_source_default},
                                           {"xmalloc_std.h", xmc_source_std}};
enum { XMC_PARTS = sizeof xmc_parts / sizeof *xmc_parts };

/* A program with more than XMC_FEW_PLACES places that allocate in one kernel, or more than XMC_SOME_PLACES in all kernels, gets XMC_CALLS
 * 1; a program with more than XMC_MANY_PLACES gets 2 (arena.h), unless it or its options define XMC_CALLS. NVIDIA's compiler takes
 * far longer for the second and further places of a kernel than for the first one. */
enum { XMC_FEW_PLACES = 2, XMC_SOME_PLACES = 8, XMC_MANY_PLACES = 16 };

/* Returns the end of the word that begins at `at`; `at` itself if no word begins there. */
static const char *xmc_word_end(const char *at) {
  while (isalnum((unsigned char)*at) || *at == '_')
    at++;
  return at;
}

/* True if the text from `at` to `end` is `word`. */
static int xmc_is_word(const char *at, const char *end, const char *word) {
  return strlen(word) == (size_t)(end - at) && memcmp(at, word, (size_t)(end - at)) == 0;
}

/* Returns the text behind an include directive's name, which is what the line includes; NULL if the line is no such directive. */
static const char *xmc_included(const char *line) {
  static const char *const directives[] = {"include", "include_next", "import"};
  const char *name, *behind;
  size_t i;
  line += strspn(line, " \t\v\f");
  if (*line++ != '#')
    return NULL;
  name = line + strspn(line, " \t\v\f");
  behind = xmc_word_end(name);
  for (i = 0; i < sizeof directives / sizeof *directives; i++)
    if (xmc_is_word(name, behind, directives[i]))
      return behind + strspn(behind, " \t\v\f");
  return NULL;
}

/* Returns the number of entries of xmc_parts, from the first on, that "file" or <file> stands for, in any folder; 0 if it is another
 * file. */
static int xmc_included_parts(const char *file) {
  const char *close = *file == '"' || *file == '<' ? strchr(file + 1, *file == '"' ? '"' : '>') : NULL;
  int part;
  for (part = 0; close && part < XMC_PARTS; part++) {
    size_t name = strlen(xmc_parts[part][0]);
    const char *at = close - name;
    if ((size_t)(close - file - 1) >= name && memcmp(at, xmc_parts[part][0], name) == 0 &&
        (at == file + 1 || at[-1] == '/' || at[-1] == '\\'))
      return part + 1;
  }
  return 0;
}

static void xmc_add_line_number(xmc_text *text, unsigned long line) {
  char back[64];
  int n = snprintf(back, sizeof back, "\n#line %lu \"<kernel>\"\n", line);
  xmc_text_add(text, back, (size_t)n);
}

/* Adds the first `parts` parts of the library. `calls`: the program's XMC_CALLS */
static void xmc_add_library(xmc_text *text, int parts, int calls, unsigned long next_line) {
  char define[64];
  int part, n = snprintf(define, sizeof define, "#ifndef XMC_CALLS\n#define XMC_CALLS %d\n#endif\n", calls);
  if (calls)
    xmc_text_add(text, define, (size_t)n);
  for (part = 0; part < parts; part++) /* The analyzer takes the addresses in xmc_parts for unset. */
    xmc_text_add(text, xmc_parts[part][1], strlen(xmc_parts[part][1])); /* NOLINT(clang-analyzer-core.*) */
  xmc_add_line_number(text, next_line);
}

/* Adds a check in front of an include by a macro, whose value only the compiler knows: if the compiler finds no such file, its log says
 * what to do. */
static void xmc_add_advice(xmc_text *text, const char *macro, unsigned long line) {
  static const char ask[] = "#ifdef __has_include\n#if !__has_include(";
  static const char advice[] =
      "#error \"XMalloc: no such file is found. If it is xmalloc.cl, write that name itself in the #include, "
      "or "
      "build with -I and the folder of xmalloc.cl (pkg-config --variable=cldir xmalloc; CMake: "
      "xmalloc_CL_DIR).\"\n#endif\n#endif";
  xmc_text_add(text, ask, sizeof ask - 1);
  xmc_text_add(text, macro, strlen(macro));
  xmc_text_add(text, ")", 1);
  xmc_add_line_number(text, line);
  xmc_text_add(text, advice, sizeof advice - 1);
  xmc_add_line_number(text, line);
}

/* Returns 1 if the word from `at` to `end` contains "alloc" or "Alloc", else 0. */
static unsigned xmc_names_allocation(const char *at, const char *end) {
  for (; at + 5 <= end; at++)
    if ((*at == 'a' || *at == 'A') && memcmp(at + 1, "lloc", 4) == 0)
      return 1;
  return 0;
}

/* Returns XMC_CALLS for the text. A place that allocates is a name with "alloc" or "Alloc" in it before a parenthesis, unless it is a
 * kernel's name. A kernel extends from the words `kernel` and `void` to the next such two. Comments and macros count like other text. */
static int xmc_calls_for(const char *text) {
  enum { XMC_NO_KERNEL, XMC_KERNEL, XMC_KERNEL_NAME } next = XMC_NO_KERNEL;
  unsigned all = 0, here = 0, most = 0;
  unsigned allocates;
  const char *at = text, *end;
  for (; *at; at = end) {
    end = xmc_word_end(at);
    if (end == at) {
      end++;
    } else if (xmc_is_word(at, end, "kernel") || xmc_is_word(at, end, "__kernel")) {
      next = XMC_KERNEL;
    } else if (next == XMC_KERNEL && xmc_is_word(at, end, "void")) {
      next = XMC_KERNEL_NAME;
      here = 0;
    } else if (next == XMC_KERNEL_NAME) {
      next = XMC_NO_KERNEL;
    } else if (end[strspn(end, " \t")] == '(') {
      allocates = xmc_names_allocation(at, end);
      all += allocates;
      here += allocates;
    }
    most = here > most ? here : most;
  }
  return all > XMC_MANY_PLACES ? 2 : most > XMC_FEW_PLACES || all > XMC_SOME_PLACES ? 1 : 0;
}

static void xmc_expand_lines(xmc_text *out, const char *source, size_t bytes, int calls, int *found) {
  const char *p = source, *end = source + bytes, *next, *file;
  unsigned long line = 1, lines = 0;
  xmc_text text = {0};
  *found = 0;
  for (; p < end && !text.failed; p = next, line += lines) {
    int parts;
    lines = 0;
    next = xmc_read_line(p, end, &text, &lines);
    file = text.failed ? NULL : xmc_included(text.at);
    parts = file ? xmc_included_parts(file) : 0;
    if (parts) {
      *found = 1;
      xmc_add_library(out, parts, calls, line + lines);
      continue;
    }
    if (file && (isalpha((unsigned char)*file) || *file == '_'))
      xmc_add_advice(out, file, line);
    xmc_text_add(out, p, (size_t)(next - p));
  }
  out->failed |= text.failed;
  free(text.at);
}

/* Adds a string up to its end, without the byte order mark that some editors put in front. */
static void xmc_add_string(xmc_text *text, const char *string, size_t length) {
  static const char mark[] = "\xef\xbb\xbf";
  const char *nul = length ? memchr(string, '\0', length) : NULL; /* some callers' lengths include it */
  size_t n = nul ? (size_t)(nul - string) : length ? length : strlen(string);
  size_t skip = n >= sizeof mark - 1 && memcmp(string, mark, sizeof mark - 1) == 0 ? sizeof mark - 1 : 0;
  xmc_text_add(text, string + skip, n - skip);
}

char *xmc_expand_source(cl_uint count, const char **strings, const size_t *lengths) {
  xmc_text user = {0}, out = {0};
  cl_uint i;
  int found, calls;
  xmc_text_add(&user, "", 0);
  for (i = 0; i < count; i++)
    xmc_add_string(&user, strings[i], lengths ? lengths[i] : 0);
  if (!user.failed) {
    xmc_text_add(&out, "", 0);
    calls = xmc_calls_for(user.at);
    xmc_expand_lines(&out, user.at, user.used, calls, &found);
    if (!found) {
      xmc_text whole = {0};
      xmc_add_library(&whole, 1, calls, 1);
      xmc_text_add(&whole, out.at ? out.at : "", out.used);
      whole.failed |= out.failed;
      free(out.at);
      out = whole;
    }
  }
  if (user.failed || out.failed) {
    free(out.at);
    out.at = NULL;
  }
  free(user.at);
  return out.at;
}
