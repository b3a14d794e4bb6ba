/* SPDX-License-Identifier: MIT */
/* Statistics as a table for people:
 *
 *   XMalloc heap, 64 MiB
 *     room                        bytes    share
 *     live blocks               8.2 MiB   12.8 %
 *     free                     54.6 MiB   85.2 %
 *     ...
 *     block size                 blocks        bytes
 *     ...
 */
#include "inspect.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <io.h>
#define isatty _isatty
#define fileno _fileno
#else
#include <unistd.h>
#endif

typedef struct xmc_table {
  FILE *file;
  int colours;
} xmc_table;

#define BOLD "1"
#define GREEN "32"
#define RED "31"

int xmc_has_colours(FILE *file) {
  const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
  int descriptor = fileno(file);
  if ((no_color && *no_color) || (term && strcmp(term, "dumb") == 0))
    return 0;
  return descriptor >= 0 && isatty(descriptor);
}

/* Writes a line in a colour; without one if `colour` is "". */
static void write_line(const xmc_table *table, const char *colour, const char *line) {
  if (table->colours && *colour)
    fprintf(table->file, "\033[%sm%s\033[0m\n", colour, line);
  else
    fprintf(table->file, "%s\n", line);
}

static void write_room(const xmc_table *table, const char *colour, const char *name, xmc_u64 bytes,
                       xmc_u64 whole) {
  char line[128], size[XMC_TEXT_BYTES];
  snprintf(line, sizeof line, "  %-22s %12s %6.1f %%", name, xmc_text_size(size, bytes),
           whole ? 100.0 * (double)bytes / (double)whole : 0.0);
  write_line(table, colour, line);
}

static void write_blocks(const xmc_table *table, const char *name, xmc_u64 blocks, xmc_u64 bytes) {
  char line[128], count[XMC_TEXT_BYTES], size[XMC_TEXT_BYTES];
  snprintf(line, sizeof line, "  %-22s %12s %10s", name, xmc_text_count(count, blocks),
           xmc_text_size(size, bytes));
  write_line(table, "", line);
}

/* Writes a count of mistakes, in red if it is not 0, with `first`, a text about the first mistake. */
static void write_mistakes(const xmc_table *table, const char *name, xmc_u64 number, const char *first) {
  char line[256], count[XMC_TEXT_BYTES];
  snprintf(line, sizeof line, "  %-22s %12s%s%s", name, xmc_text_count(count, number), number ? "  " : "",
           number ? first : "");
  write_line(table, number ? RED : "", line);
}

static void write_classes(const xmc_table *table, const xmc_heap_stats *stats) {
  char name[2 * XMC_TEXT_BYTES], size[XMC_TEXT_BYTES];
  unsigned c;
  write_line(table, BOLD, "  block size                   blocks      bytes");
  for (c = 0; c < XMC_STATS_CLASSES; c++)
    if (stats->class_live_blocks[c]) {
      snprintf(name, sizeof name, "%10s B", xmc_text_count(size, stats->class_bytes[c]));
      write_blocks(table, name, stats->class_live_blocks[c],
                   stats->class_live_blocks[c] * stats->class_bytes[c]);
    }
  if (stats->memoryblocks)
    write_blocks(table, "whole pages", stats->memoryblocks, stats->memoryblock_bytes);
  if (stats->regions)
    write_blocks(table, "regions", stats->regions, stats->region_bytes);
  write_blocks(table, "all", stats->live_blocks, stats->live_bytes);
}

/* Calls `write` for each kind of mistake; `write` may leave out kinds with the count 0. */
static void write_all_mistakes(const xmc_table *table, const xmc_heap_stats *stats, int debug,
                               void (*write)(const xmc_table *, const char *, xmc_u64, const char *)) {
  const struct {
    const char *name;
    xmc_u64 number, first;
  } at[] = {{"double frees", stats->double_frees, stats->first_double_free},
            {"invalid frees", stats->invalid_frees, stats->first_invalid_free},
            {"red zones overwritten", stats->red_zone_errors, stats->first_red_zone_error},
            {"writes after free", stats->use_after_frees, stats->first_use_after_free}};
  char first[128], size[XMC_TEXT_BYTES], all[XMC_TEXT_BYTES];
  unsigned i;
  int n =
      snprintf(first, sizeof first, "the first: %s by work-item %llu",
               xmc_text_size(size, stats->first_failure_size), (unsigned long long)stats->first_failure_id);
  if (stats->failed_bytes) /* without requests that no heap can serve */
    snprintf(first + n, sizeof first - (size_t)n, "; %s in all", xmc_text_size(all, stats->failed_bytes));
  write(table, "failed requests", stats->failed_requests, first);
  for (i = 0; i < (debug ? 4u : 2u); i++) {
    snprintf(first, sizeof first, "the first at 0x%llx", (unsigned long long)at[i].first);
    write(table, at[i].name, at[i].number, first);
  }
}

static void write_sentence(const xmc_table *table, const char *name, xmc_u64 number, const char *first) {
  char line[256], count[XMC_TEXT_BYTES];
  snprintf(line, sizeof line, "XMalloc: %s: %s, %s", name, xmc_text_count(count, number), first);
  if (number)
    write_line(table, RED, line);
}

void xmc_mistakes_meta(xmcHeap *meta, FILE *file, int colours) {
  xmc_table table = {file, colours};
  xmc_heap_stats stats;
  xmc_stats_meta(meta, &stats);
  write_all_mistakes(&table, &stats, meta->debug != 0, write_sentence);
}

void xmc_table_meta(xmcHeap *meta, FILE *file, int colours) {
  static const char *const coalescing[] = {"none", "compartment", "class"};
  xmc_table table = {file, colours};
  xmc_heap_stats stats;
  char line[128], size[XMC_TEXT_BYTES];
  xmc_stats_meta(meta, &stats);
  snprintf(line, sizeof line, "XMalloc heap, %s", xmc_text_size(size, stats.heap_bytes));
  write_line(&table, BOLD, line);
  write_line(&table, BOLD, "  room                          bytes    share");
  write_room(&table, GREEN, "live blocks", stats.live_bytes, stats.heap_bytes);
  write_room(&table, "", "free", stats.free_bytes, stats.heap_bytes);
  write_room(&table, "", "  largest request", stats.largest_free_bytes, stats.heap_bytes);
  write_room(&table, "", "  in pages in use", stats.free_block_bytes, stats.heap_bytes);
  write_room(&table, "", "  usable as pages",
             stats.free_bytes - stats.free_block_bytes + stats.reclaimable_bytes, stats.heap_bytes);
  write_room(&table, "", "pages ever used", stats.high_water_bytes, stats.heap_bytes);
  write_room(&table, "", "metadata", stats.metadata_bytes, stats.heap_bytes);
  write_classes(&table, &stats);
  write_line(&table, BOLD, "  failures                      count");
  write_all_mistakes(&table, &stats, meta->debug != 0, write_mistakes);
  fprintf(file, "  made with: coalescing %s; FIFOs a size class, at most: %u; debug level %u\n",
          coalescing[meta->coalescing], meta->slots ? xmc_fifos_count(meta->fifo_table[0]) : 0, meta->debug);
}
