/* xmc-heap: looks into a heap that xmcSaveHeap wrote. Needs no OpenCL device: the checks and walks are the
 * library's own, on the metadata in the file.
 */
#include "heap_file.h"
#include "inspect.h"
#include "text.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: xmc-heap COMMAND FILE [OUTPUT]\n"
    "  info    room, live blocks by size, failures and bad frees, as a table with human units\n"
    "  stats   the same as JSON, for programs\n"
    "  check   verifies sums and every invariant; exit 1 if one is broken\n"
    "  blocks  a line a live block: reference, bytes, and for whole pages `pages`\n"
    "  leaks   live blocks by size, and the first ones\n"
    "  map     an SVG picture of the heap\n"
    "FILE is what xmcSaveHeap wrote. OUTPUT is a file to write instead of the terminal.\n";

static void print_info(xmcHeap *meta, FILE *out) { xmc_table_meta(meta, out, xmc_has_colours(out)); }

static int CL_CALLBACK print_block(const xmc_block *block, void *out) {
  fprintf(out, "0x%llx %llu%s\n", (unsigned long long)block->ref, (unsigned long long)block->usable,
          block->size_class == XMC_BLOCK_OF_PAGES ? " pages" : "");
  return ferror(out);
}

static void print_blocks(xmcHeap *meta, FILE *out) { xmc_blocks_meta(meta, NULL, print_block, out); }

static void print_leaks(xmcHeap *meta, FILE *out) { xmc_leaks_meta(meta, NULL, out); }

static void print_map(xmcHeap *meta, FILE *out) {
  xmc_map *map = malloc(sizeof *map);
  if (!map)
    return;
  xmc_map_meta(meta, map);
  xmc_map_svg(map, out);
  free(map);
}

/* A file that can be read is intact: reading checks it. */
static void print_check(xmcHeap *meta, FILE *out) {
  xmc_heap_stats s;
  char a[XMC_TEXT_BYTES];
  xmc_stats_meta(meta, &s);
  fprintf(out, "intact: %s live blocks\n", xmc_text_count(a, s.live_blocks));
}

static const struct {
  const char *name;
  void (*run)(xmcHeap *meta, FILE *out);
} commands[] = {{"info", print_info},     {"stats", xmc_json_meta}, {"check", print_check},
                {"blocks", print_blocks}, {"leaks", print_leaks},   {"map", print_map}};

/* The file's metadata, or NULL and a message */
static xmcHeap *open_heap(const char *path) {
  xmcHeap *meta = NULL;
  long long fifos;
  FILE *file = fopen(path, "rb");
  cl_int status = file ? xmc_file_read(file, &meta, &fifos, NULL, NULL) : XMC_FILE_UNUSABLE;
  if (status != CL_SUCCESS)
    fprintf(stderr, "xmc-heap: %s: %s%s%s\n", path, xmcErrorString(status), file ? "" : ": ",
            file ? "" : strerror(errno));
  if (file)
    fclose(file);
  return meta;
}

int main(int argc, char **argv) {
  xmcHeap *meta;
  FILE *out = stdout;
  size_t c = 0;
  int failed, help = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
  while (argc > 1 && c < sizeof commands / sizeof *commands && strcmp(commands[c].name, argv[1]) != 0)
    c++;
  if (argc < 3 || argc > 4 || c == sizeof commands / sizeof *commands) {
    fputs(usage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  meta = open_heap(argv[2]);
  if (!meta)
    return 1;
  if (argc == 4 && !(out = fopen(argv[3], "w"))) {
    fprintf(stderr, "xmc-heap: %s: %s\n", argv[3], strerror(errno));
    free(meta);
    return 1;
  }
  commands[c].run(meta, out);
  failed = fflush(out) != 0 || ferror(out);
  if (out != stdout)
    failed |= fclose(out) != 0;
  if (failed)
    fprintf(stderr, "xmc-heap: cannot write\n");
  free(meta);
  return failed;
}
