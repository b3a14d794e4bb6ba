/* Statistics as JSON: the fields of xmc_heap_stats under their names, and the size classes in use. */
#include "inspect.h"
#include <string.h>

void xmc_json_meta(xmcHeap *meta, FILE *file) {
  xmc_heap_stats stats;
  const char *comma = "";
  unsigned c;
  xmc_stats_meta(meta, &stats);
#define XMC_FIELD(name) \
  { #name, &stats.name }
  const struct {
    const char *name;
    const cl_ulong *value;
  } fields[] = {
      XMC_FIELD(heap_bytes),           XMC_FIELD(metadata_bytes),     XMC_FIELD(live_blocks),
      XMC_FIELD(live_bytes),           XMC_FIELD(free_bytes),         XMC_FIELD(largest_free_bytes),
      XMC_FIELD(free_block_bytes),     XMC_FIELD(superblocks),        XMC_FIELD(memoryblocks),
      XMC_FIELD(memoryblock_bytes),    XMC_FIELD(failed_requests),    XMC_FIELD(first_failure_size),
      XMC_FIELD(first_failure_id),     XMC_FIELD(double_frees),       XMC_FIELD(invalid_frees),
      XMC_FIELD(first_double_free),    XMC_FIELD(first_invalid_free), XMC_FIELD(red_zone_errors),
      XMC_FIELD(first_red_zone_error), XMC_FIELD(use_after_frees),    XMC_FIELD(first_use_after_free)};
#undef XMC_FIELD
  fprintf(file, "{\n");
  for (c = 0; c < sizeof fields / sizeof *fields; c++)
    fprintf(file, "  \"%s\": %llu,\n", fields[c].name, (unsigned long long)*fields[c].value);
  fprintf(file, "  \"classes\": [");
  for (c = 0; c < XMC_STATS_CLASSES; c++)
    if (stats.class_live_blocks[c]) {
      fprintf(file, "%s\n    {\"bytes\": %llu, \"live_blocks\": %llu}", comma,
              (unsigned long long)stats.class_bytes[c], (unsigned long long)stats.class_live_blocks[c]);
      comma = ",";
    }
  fprintf(file, "%s]\n}\n", *comma ? "\n  " : "");
}
