/* SPDX-License-Identifier: MIT */
/* A heap map as SVG.
 *
 *   title; a sentence: how much is used, and into how many pieces the free pages are divided
 *   bar: blocks | blocks of whole pages (Memoryblocks) | regions, if any | free blocks beside live ones |
 *        pages in use without a live block | free pages | metadata; a mark at the bytes of pages that were ever in use
 *   cells, 64 a row, the lowest address at the top left:       legend: colour, sizes, live blocks, bytes
 *     colour    the group of size classes to which most of its pages belong
 *     filled    from the bottom: live blocks; pale above that:  free runs by length
 *               free blocks of Superblocks; grey: free pages
 *
 * Neighbours in a row that look the same are one rectangle, and all rectangles of one colour are one path, so that the
 * file stays small; the lines between cells are drawn over them.
 *
 * One HTML page may hold several maps, which share their styles: so no element has an id, all classes begin with
 * xmc-, and the rules are the same in every map. Colours are attributes, which programs without CSS know, too; the
 * rules change them if the reader prefers dark pages.
 */
#include "inspect.h"
#include "text.h"
#include <string.h>

enum {
  MARGIN = 24,
  LEFT = 78,
  TOP = 132,
  PITCH = 11,
  COLUMNS = 64,
  LEGEND = LEFT + COLUMNS * PITCH + 28,
  WIDTH = LEGEND + 300
};

static const char *const colours[XMC_MAP_GROUPS] = {"#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187",
                                                    "#4ac16d", "#a0da39", "#f5dc1e", "#e4682a", "#c2417c"};
static const char *const names[XMC_MAP_GROUPS] = {
    "16 to 64 B",   "80 to 128 B",  "160 to 256 B", "320 to 512 B", "640 B to 1 KiB",
    "1.3 to 2 KiB", "2.5 to 4 KiB", "5 to 8 KiB",   "whole pages",  "regions"};
#define FREE_COLOUR "#dde1e6"
#define METADATA_COLOUR "#30343a"
#define PAGE_COLOUR "#ffffff"

static const char style[] =
    "<style>.xmc-map .xmc-t{font-size:20px;font-weight:bold}.xmc-map .xmc-n{font-size:12px}"
    ".xmc-map .xmc-s{font-size:11px}.xmc-map .xmc-h{font-size:12px;font-weight:bold}"
    ".xmc-map .xmc-r{text-anchor:end}\n"
    "@media(prefers-color-scheme:dark){.xmc-map text{fill:#e6edf3}.xmc-map [fill=\"" PAGE_COLOUR
    "\"]{fill:#0d1117}.xmc-map [stroke=\"" PAGE_COLOUR "\"]{stroke:#0d1117}\n"
    ".xmc-map [stroke=\"#000\"]{stroke:#fff}.xmc-map [fill=\"" FREE_COLOUR "\"]{fill:#2b3138}"
    ".xmc-map [fill=\"" METADATA_COLOUR "\"]{fill:#8b949e}\n"
    ".xmc-map [fill=\"#440154\"]{fill:#b07cd6}.xmc-map [fill=\"#46327e\"]{fill:#8f86e0}"
    ".xmc-map [fill=\"#365c8d\"]{fill:#6ea0e0}\n.xmc-map [fill=\"#277f8e\"]{fill:#4fb0b8}"
    ".xmc-map [fill=\"#a9ccd2\"]{fill:#1f5058}.xmc-map [fill=\"#c8b6dc\"]{fill:#4b3a60}}</style>\n";

static double percent(xmc_u64 part, xmc_u64 whole) {
  return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static void write_text(FILE *file, int x, int y, const char *classes, const char *text) {
  fprintf(file, "<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>\n", x, y, classes, text);
}

/* ---- the head: title, sentence, bar ---- */

static void write_sentence(const xmc_map *map, FILE *file) {
  char text[320], a[XMC_TEXT_BYTES], b[XMC_TEXT_BYTES], c[XMC_TEXT_BYTES], d[XMC_TEXT_BYTES];
  size_t n;
  snprintf(text, sizeof text, "XMalloc heap, %s: %.0f %% used", xmc_text_size(a, map->stats.heap_bytes),
           percent(map->stats.live_bytes, map->stats.heap_bytes - map->stats.metadata_bytes));
  write_text(file, MARGIN, 36, "xmc-t", text);
  if (map->runs == 0)
    snprintf(text, sizeof text, "%s live blocks; no page is free", xmc_text_count(a, map->stats.live_blocks));
  else
    snprintf(text, sizeof text, "%s live blocks; %s of free pages in %s %s; one request can have up to %s",
             xmc_text_count(a, map->stats.live_blocks), xmc_text_size(b, map->free_pages_bytes),
             xmc_text_count(c, map->runs), map->runs == 1 ? "piece" : "pieces",
             xmc_text_size(d, map->stats.largest_free_bytes));
  n = strlen(text);
  snprintf(text + n, sizeof text - n, "; pages of %s were ever in use",
           xmc_text_size(a, map->stats.high_water_bytes));
  write_text(file, MARGIN, 60, "xmc-n", text);
}

static void write_bar(const xmc_map *map, FILE *file) {
  const xmc_heap_stats *s = &map->stats;
  xmc_u64 memoryblocks = s->memoryblock_bytes, regions = s->region_bytes,
          blocks = s->live_bytes - memoryblocks - regions;
  xmc_u64 beside =
      s->free_block_bytes > s->reclaimable_bytes ? s->free_block_bytes - s->reclaimable_bytes : 0;
  const struct {
    const char *name, *colour;
    xmc_u64 bytes;
  } parts[] = {{"blocks", colours[3], blocks},
               {"whole pages", colours[XMC_MAP_MEMORYBLOCKS], memoryblocks},
               {"regions", colours[XMC_MAP_REGIONS], regions},
               {"free blocks", "#a9ccd2", beside},
               {"reclaimable", "#c8b6dc", s->reclaimable_bytes},
               {"free pages", FREE_COLOUR, map->free_pages_bytes},
               {"metadata", METADATA_COLOUR, s->metadata_bytes}};
  double x = MARGIN, width = WIDTH - 2 * MARGIN, label = MARGIN;
  char size[XMC_TEXT_BYTES];
  unsigned i;
  for (i = 0; i < sizeof parts / sizeof *parts; i++) {
    double share = percent(parts[i].bytes, s->heap_bytes);
    if (parts[i].colour == colours[XMC_MAP_REGIONS] && !regions)
      continue;
    fprintf(file,
            "<rect x=\"%.1f\" y=\"76\" width=\"%.1f\" height=\"18\" fill=\"%s\"><title>%s: %s, %.1f "
            "%%</title></rect>\n",
            x, share / 100 * width, parts[i].colour, parts[i].name, xmc_text_size(size, parts[i].bytes),
            share);
    fprintf(file, "<rect x=\"%.0f\" y=\"103\" width=\"10\" height=\"10\" fill=\"%s\"/>", label,
            parts[i].colour);
    fprintf(file, "<text x=\"%.0f\" y=\"112\" class=\"xmc-s\">%s %s, %.1f %%</text>\n", label + 14,
            parts[i].name, size, share);
    x += share / 100 * width;
    label += regions ? 154 : 180;
  }
  x = MARGIN + percent(s->high_water_bytes, s->heap_bytes) / 100 * width;
  fprintf(
      file,
      "<path stroke=\"#000\" stroke-width=\"2\" d=\"M%.1f 72v26\"><title>ever in use: %s</title></path>\n", x,
      xmc_text_size(size, s->high_water_bytes));
}

/* ---- the cells ---- */

/* Returns the group to which most of a cell's pages belong; XMC_MAP_GROUPS if none is in use. *height gets the height, in pixels, of
 * the part of the cell that is live (if `live` is 1) or in use (if it is 0). */
static xmc_u32 look(const xmc_map *map, xmc_u32 i, int live, int *height) {
  const xmc_map_cell *cell = &map->cell[i];
  xmc_u64 most = 0, all = 0, bytes;
  xmc_u32 group = XMC_MAP_GROUPS, g;
  for (g = 0; g < XMC_MAP_GROUPS; g++) {
    all += cell->claimed[g];
    if (cell->claimed[g] > most) {
      most = cell->claimed[g];
      group = g;
    }
  }
  bytes = live ? cell->live : all;
  *height = (int)((double)bytes / (double)map->cell_bytes * PITCH + 0.5);
  if (bytes && !*height)
    *height = 1;
  return group;
}

/* Writes one path: all cells of a group, filled as far as they are live (if `live` is 1) or in use. */
static void write_group(const xmc_map *map, FILE *file, xmc_u32 group, int live) {
  char blocks[XMC_TEXT_BYTES], size[XMC_TEXT_BYTES], pages[XMC_TEXT_BYTES];
  xmc_u32 i, n;
  int height, other;
  fprintf(file, "<path fill=\"%s\"%s d=\"", colours[group], live ? "" : " fill-opacity=\".33\"");
  for (i = 0; i < map->cells; i += n) {
    n = 1;
    if (look(map, i, live, &height) != group || !height)
      continue;
    while (i + n < map->cells && (i + n) % COLUMNS && look(map, i + n, live, &other) == group &&
           other == height)
      n++;
    fprintf(file, "M%d %dh%dv%dh-%dz", LEFT + (int)(i % COLUMNS) * PITCH,
            TOP + (int)(i / COLUMNS + 1) * PITCH - height, (int)n * PITCH, height, (int)n * PITCH);
  }
  fprintf(file, "\"><title>%s: %s live blocks, %s, in %s of pages</title></path>\n", names[group],
          xmc_text_count(blocks, map->group_blocks[group]), xmc_text_size(size, map->group_live[group]),
          xmc_text_size(pages, map->group_claimed[group]));
}

static void write_begins(const xmc_map *map, FILE *file) {
  xmc_u32 i;
  fprintf(file, "<path stroke=\"#000\" stroke-width=\"2\" d=\"");
  for (i = 0; i < map->cells; i++)
    if (map->cell[i].begins)
      fprintf(file, "M%d %dv%d", LEFT + (int)(i % COLUMNS) * PITCH + 1, TOP + (int)(i / COLUMNS) * PITCH,
              PITCH);
  fprintf(file, "\"/>\n");
}

/* Writes the area of all cells: whole rows, then the cells of the last row. */
static void write_area(const xmc_map *map, FILE *file) {
  int rows = (int)(map->cells / COLUMNS), rest = (int)(map->cells % COLUMNS);
  char size[XMC_TEXT_BYTES];
  fprintf(file, "<path fill=\"" FREE_COLOUR "\" d=\"M%d %dh%dv%dh-%dz", LEFT, TOP, COLUMNS * PITCH,
          rows * PITCH, COLUMNS * PITCH);
  if (rest)
    fprintf(file, "M%d %dh%dv%dh-%dz", LEFT, TOP + rows * PITCH, rest * PITCH, PITCH, rest * PITCH);
  fprintf(file, "\"><title>free pages: %s</title></path>\n", xmc_text_size(size, map->free_pages_bytes));
}

/* Writes the lines between the cells, and at each fourth row its distance from the first page. */
static void write_grid(const xmc_map *map, FILE *file) {
  int rows = (int)((map->cells + COLUMNS - 1) / COLUMNS), i;
  char size[XMC_TEXT_BYTES];
  fprintf(file, "<path stroke=\"" PAGE_COLOUR "\" pointer-events=\"none\" d=\"");
  for (i = 0; i < rows; i++)
    fprintf(file, "M%d %d.5h%d", LEFT, TOP + i * PITCH, COLUMNS * PITCH);
  for (i = 0; i < COLUMNS; i++)
    fprintf(file, "M%d.5 %dv%d", LEFT + i * PITCH, TOP, rows * PITCH);
  fprintf(file, "\"/>\n");
  for (i = 0; i < rows; i += 4)
    write_text(file, LEFT - 6, TOP + i * PITCH + 10, "xmc-s xmc-r",
               xmc_text_size(size, (xmc_u64)i * COLUMNS * map->cell_bytes));
}

static void write_cells(const xmc_map *map, FILE *file) {
  xmc_u32 g;
  write_area(map, file);
  for (g = 0; g < XMC_MAP_GROUPS; g++)
    if (map->group_claimed[g]) {
      write_group(map, file, g, 0);
      write_group(map, file, g, 1);
    }
  write_grid(map, file);
  write_begins(map, file);
}

/* ---- the legend ---- */

static int write_legend(const xmc_map *map, FILE *file) {
  char text[160], a[XMC_TEXT_BYTES], b[XMC_TEXT_BYTES];
  int y = TOP + 10;
  xmc_u32 g;
  write_text(file, LEGEND, y, "xmc-h", "used for");
  write_text(file, LEGEND + 200, y, "xmc-h xmc-r", "live blocks");
  write_text(file, LEGEND + 276, y, "xmc-h xmc-r", "bytes");
  for (g = 0; g < XMC_MAP_GROUPS; g++) {
    if (g == XMC_MAP_REGIONS && !map->group_claimed[g])
      continue;
    y += 18;
    fprintf(file, "<rect x=\"%d\" y=\"%d\" width=\"11\" height=\"11\" fill=\"%s\"/>", LEGEND, y - 10,
            colours[g]);
    write_text(file, LEGEND + 18, y, "xmc-n", names[g]);
    write_text(file, LEGEND + 200, y, "xmc-n xmc-r", xmc_text_count(a, map->group_blocks[g]));
    write_text(file, LEGEND + 276, y, "xmc-n xmc-r", xmc_text_size(a, map->group_live[g]));
  }
  y += 24;
  fprintf(file, "<path fill=\"%s\" fill-opacity=\".33\" d=\"M%d %dh11v11h-11z\"/>", colours[3], LEGEND,
          y - 10);
  fprintf(file, "<path fill=\"%s\" d=\"M%d %dh11v5h-11z\"/>", colours[3], LEGEND, y - 4);
  write_text(file, LEGEND + 18, y, "xmc-n", "filled: live blocks; pale: free blocks");
  y += 18;
  fprintf(file, "<path fill=\"%s\" d=\"M%d %dh11v11h-11z\"/>", FREE_COLOUR, LEGEND, y - 10);
  write_text(file, LEGEND + 18, y, "xmc-n", "free pages");
  y += 18;
  fprintf(file, "<path stroke=\"#000\" stroke-width=\"2\" d=\"M%d %dv11\"/>", LEGEND + 5, y - 10);
  snprintf(text, sizeof text, "a block over %s begins", xmc_text_size(b, map->cell_bytes));
  write_text(file, LEGEND + 18, y, "xmc-n", text);
  y += 18;
  snprintf(text, sizeof text, "a square is %s, a row %s", xmc_text_size(a, map->cell_bytes),
           xmc_text_size(b, map->cell_bytes * COLUMNS));
  write_text(file, LEGEND + 18, y, "xmc-n", text);
  return y;
}

/* Writes the bars of free runs: bytes of free pages by the length of their run. */
static void write_runs(const xmc_map *map, FILE *file, int y) {
  char a[XMC_TEXT_BYTES], b[XMC_TEXT_BYTES];
  xmc_u32 i, last = 0;
  xmc_u64 most = 1;
  int x = LEGEND, base = y + 104;
  for (i = 0; i < XMC_MAP_RUNS; i++) {
    if (map->run_bytes[i])
      last = i;
    if (map->run_bytes[i] > most)
      most = map->run_bytes[i];
  }
  if (map->runs == 0)
    return;
  write_text(file, LEGEND, y + 28, "xmc-h", "free pages by length of the piece");
  for (i = 0; i <= last; i++) {
    double height = 56.0 * (double)map->run_bytes[i] / (double)most;
    fprintf(file,
            "<rect x=\"%d\" y=\"%.1f\" width=\"11\" height=\"%.1f\" fill=\"#8a939d\"><title>pieces from %s "
            "on: %s</title></rect>\n",
            x, base - height, height, xmc_text_size(a, (xmc_u64)XMC_PAGE_BYTES << i),
            xmc_text_size(b, map->run_bytes[i]));
    if (i == 0 || (i == last && i > 3) || (i % 6 == 0 && last - i > 2))
      write_text(file, x, base + 14, "xmc-s", xmc_text_size(a, (xmc_u64)XMC_PAGE_BYTES << i));
    x += 14;
  }
  fprintf(file, "<path stroke=\"#8a939d\" d=\"M%d %d.5h276\"/>\n", LEGEND, base);
}

void xmc_map_svg(const xmc_map *map, FILE *file) {
  int grid = TOP + (int)((map->cells + COLUMNS - 1) / COLUMNS) * PITCH + 20,
      legend = TOP + 18 * (map->stats.regions ? 10 : 9) + 24 + 54 + 10 + 134;
  int height = grid > legend ? grid : legend;
  fprintf(file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
          "class=\"xmc-map\" font-family=\"sans-serif\" fill=\"#20242a\">\n%s"
          "<rect width=\"%d\" height=\"%d\" fill=\"" PAGE_COLOUR "\"/>\n",
          WIDTH, height, WIDTH, height, style, WIDTH, height);
  write_sentence(map, file);
  write_bar(map, file);
  write_cells(map, file);
  write_runs(map, file, write_legend(map, file));
  fprintf(file, "</svg>\n");
}
