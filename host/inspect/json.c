/* SPDX-License-Identifier: MIT */
/* Statistics as JSON: the fields of xmc_heap_stats under their names, and the size classes in use. Most readers of JSON
 * hold numbers as doubles, exact up to 2^53. Fields that can be any 64-bit number are strings: references in hexadecimal, the
 * size of a failed request in decimal.
 */
#include "inspect.h"
#include <string.h>

void xmc_json_meta(xmcHeap *meta, FILE *file) {
  xmc_heap_stats stats;
  const char *comma = "";
  unsigned c;
  xmc_stats_meta(meta, &stats);
#define XMC_FIELD(name) \
  { #name, &stats.name, "%llu" }
#define XMC_SIZE(name) \
  { #name, &stats.name, "\"%llu\"" }
#define XMC_REF(name) \
  { #name, &stats.name, "\"0x%llx\"" }
  const struct {
    const char *name;
    const cl_ulong *value;
    const char *format;
  } fields[] = {XMC_FIELD(heap_bytes),
                XMC_FIELD(metadata_bytes),
                XMC_FIELD(live_blocks),
                XMC_FIELD(live_bytes),
                XMC_FIELD(free_bytes),
                XMC_FIELD(largest_free_bytes),
                XMC_FIELD(free_block_bytes),
                XMC_FIELD(superblocks),
                XMC_FIELD(memoryblocks),
                XMC_FIELD(memoryblock_bytes),
                XMC_FIELD(failed_requests),
                XMC_SIZE(first_failure_size),
                XMC_FIELD(first_failure_id),
                XMC_FIELD(double_frees),
                XMC_FIELD(invalid_frees),
                XMC_REF(first_double_free),
                XMC_REF(first_invalid_free),
                XMC_FIELD(red_zone_errors),
                XMC_REF(first_red_zone_error),
                XMC_FIELD(use_after_frees),
                XMC_REF(first_use_after_free),
                XMC_FIELD(failed_bytes),
                XMC_FIELD(high_water_bytes),
                XMC_FIELD(reclaimable_bytes),
                XMC_FIELD(regions),
                XMC_FIELD(region_chunks),
                XMC_FIELD(region_bytes)};
#undef XMC_FIELD
#undef XMC_SIZE
#undef XMC_REF
  fprintf(file, "{\n");
  for (c = 0; c < sizeof fields / sizeof *fields; c++) {
    fprintf(file, "  \"%s\": ", fields[c].name);
    fprintf(file, fields[c].format, (unsigned long long)*fields[c].value);
    fprintf(file, ",\n");
  }
  fprintf(file, "  \"classes\": [");
  for (c = 0; c < XMC_STATS_CLASSES; c++)
    if (stats.class_live_blocks[c]) {
      fprintf(file, "%s\n    {\"bytes\": %llu, \"live_blocks\": %llu}", comma,
              (unsigned long long)stats.class_bytes[c], (unsigned long long)stats.class_live_blocks[c]);
      comma = ",";
    }
  fprintf(file, "%s]\n}\n", *comma ? "\n  " : "");
}
