/* SPDX-License-Identifier: MIT */
/* xmc-heap: inspects a heap that xmcSaveHeap wrote. Needs no OpenCL device: the library's own checks and walks run on the
 * metadata in the file.
 */
#include "file/heap_file.h"
#include "inspect/inspect.h"
#include "inspect/text.h"
#include "trace/trace.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char usage[] =
    "usage: xmc-heap COMMAND [--folded | --allocations] FILE [OUTPUT]\n"
    "  info    room, live blocks by size, failures and bad frees, as a table with human units\n"
    "  stats   the same as JSON, for programs\n"
    "  check   verifies sums and every invariant; exit 1 if one is broken\n"
    "  blocks  a line for each live block: reference, bytes, and `pages` if it is of whole pages, `region` "
    "for a region\n"
    "  leaks   live blocks by size, and the first 20 of them\n"
    "  map     an SVG picture of the heap\n"
    "  trace   what a traced heap recorded, as JSON that ui.perfetto.dev opens; with --folded live bytes, "
    "and with\n"
    "          --allocations the number of allocations, of each call site as folded stacks for flame graphs\n"
    "  top     the call sites of a traced heap by live bytes and by allocations\n"
    "FILE is what xmcSaveHeap wrote. OUTPUT is a file to write instead of the terminal.\n"
    "xmc-heap --help prints this text, xmc-heap --version the version.\n";

/* ---- the commands: all return a status ---- */

static cl_int print_info(xmcHeap *meta, FILE *out) {
  xmc_table_meta(meta, out, xmc_has_colours(out));
  return CL_SUCCESS;
}

static cl_int print_stats(xmcHeap *meta, FILE *out) {
  xmc_json_meta(meta, out);
  return CL_SUCCESS;
}

static int CL_CALLBACK print_block(const xmc_block *block, void *out) {
  fprintf(out, "0x%llx %llu%s\n", (unsigned long long)block->ref, (unsigned long long)block->usable,
          block->size_class == XMC_BLOCK_OF_PAGES    ? " pages"
          : block->size_class == XMC_BLOCK_OF_REGION ? " region"
                                                     : "");
  return ferror(out);
}

static cl_int print_blocks(xmcHeap *meta, FILE *out) {
  xmc_blocks_meta(meta, NULL, print_block, out);
  return CL_SUCCESS;
}

static cl_int print_leaks(xmcHeap *meta, FILE *out) {
  xmc_leaks_meta(meta, NULL, out);
  return CL_SUCCESS;
}

static cl_int print_map(xmcHeap *meta, FILE *out) {
  static xmc_map map;
  xmc_map_meta(meta, &map);
  xmc_map_svg(&map, out);
  return CL_SUCCESS;
}

/* A file that could be read is intact, because reading checks it. The red zones of a debug heap's blocks are not checked. */
static cl_int print_check(xmcHeap *meta, FILE *out) {
  xmc_heap_stats s;
  char a[XMC_TEXT_BYTES];
  xmc_stats_meta(meta, &s);
  fprintf(out, "intact: %s live blocks%s\n", xmc_text_count(a, s.live_blocks),
          meta->debug >= 2 ? "; red zones are not checked: xmcLoadHeap and xmcCheckHeap do that" : "");
  return CL_SUCCESS;
}

static const struct {
  const char *name, *option;
  cl_int (*run)(xmcHeap *meta, FILE *out);
} commands[] = {{"info", NULL, print_info},
                {"stats", NULL, print_stats},
                {"check", NULL, print_check},
                {"blocks", NULL, print_blocks},
                {"leaks", NULL, print_leaks},
                {"map", NULL, print_map},
                {"trace", NULL, xmc_trace_chrome},
                {"trace", "--folded", xmc_trace_folded},
                {"trace", "--allocations", xmc_trace_allocations},
                {"top", NULL, xmc_trace_top}};
enum { COMMANDS = sizeof commands / sizeof *commands };

/* Returns the index of the command with this name and option, which may be NULL; COMMANDS if there is none. */
static size_t find_command(const char *name, const char *option) {
  size_t c = 0;
  while (c < COMMANDS && (strcmp(commands[c].name, name) != 0 || !option != !commands[c].option ||
                          (option && strcmp(commands[c].option, option) != 0)))
    c++;
  return c;
}

/* Returns the file's metadata, malloc'ed, or NULL after printing a message. */
static xmcHeap *open_heap(const char *path) {
  xmcHeap *meta = NULL;
  long long fifos;
  FILE *file = fopen(path, "rb");
  cl_int status;
  if (!file) {
    fprintf(stderr, "xmc-heap: cannot open %s: %s\n", path, strerror(errno));
    return NULL;
  }
  status = xmc_file_read(file, &meta, &fifos, NULL, NULL);
  if (status == XMC_FILE_UNUSABLE)
    fprintf(stderr, "xmc-heap: cannot read %s: %s\n", path, strerror(errno));
  else if (status != CL_SUCCESS)
    fprintf(stderr, "xmc-heap: %s: %s\n", path, xmcErrorString(status));
  fclose(file);
  return meta;
}

/* True if both paths name the same file, so that the output would overwrite the heap. */
static int is_same_file(const char *path, const char *output) {
#ifdef _WIN32 /* has no inode numbers */
  char a[_MAX_PATH], b[_MAX_PATH];
  return _fullpath(a, path, sizeof a) && _fullpath(b, output, sizeof b) && _stricmp(a, b) == 0;
#else
  struct stat a, b;
  return stat(path, &a) == 0 && stat(output, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
#endif
}

/* Runs command c on the file, and closes the output. Returns the exit code. */
static int run_command(size_t c, const char *path, const char *output) {
  FILE *out = stdout;
  int failed;
  xmcHeap *meta;
  cl_int status;
  if (output && is_same_file(path, output)) {
    fprintf(stderr, "xmc-heap: %s is the heap itself, which is not overwritten\n", output);
    return 1;
  }
  meta = open_heap(path);
  if (!meta)
    return 1;
  if (output && !(out = fopen(output, "w"))) {
    fprintf(stderr, "xmc-heap: cannot open %s: %s\n", output, strerror(errno));
    free(meta);
    return 1;
  }
  errno = 0;
  status = commands[c].run(meta, out);
  failed = fflush(out) != 0 || ferror(out);
  if (out != stdout)
    failed |= fclose(out) != 0;
  if (status != CL_SUCCESS)
    fprintf(stderr, "xmc-heap: %s: %s\n", path, xmcErrorString(status));
  else if (failed)
    fprintf(stderr, "xmc-heap: cannot write %s: %s\n", output ? output : "the output",
            errno ? strerror(errno) : "the device refused it");
  free(meta);
  return failed || status != CL_SUCCESS;
}

int main(int argc, char **argv) {
  const char *first = argc > 1 ? argv[1] : "", *option = NULL;
  size_t c;
  if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) {
    fputs(usage, stdout);
    return 0;
  }
  if (strcmp(first, "--version") == 0) {
    printf("xmc-heap %d.%d.%d\n", XMC_VERSION_MAJOR, XMC_VERSION_MINOR, XMC_VERSION_PATCH);
    return 0;
  }
  if (argc > 2 && strncmp(argv[2], "--", 2) == 0) {
    option = argv[2];
    argv++;
    argc--;
  }
  c = find_command(first, option);
  if (argc < 3 || argc > 4 || c == COMMANDS) {
    if (*first && find_command(first, NULL) == COMMANDS)
      fprintf(stderr, "xmc-heap: no command %s\n", first);
    else if (option && c == COMMANDS)
      fprintf(stderr, "xmc-heap: %s has no option %s\n", first, option);
    fputs(usage, stderr);
    return 2;
  }
  return run_command(c, argv[2], argc == 4 ? argv[3] : NULL);
}
