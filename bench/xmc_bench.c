/* SPDX-License-Identifier: MIT */
/* xmc-bench: measures the allocator. See README.md here, or --help. */
#include "bench.h"
#include <string.h>
#include <unistd.h>

static const bench_workload workloads[] = {
    {"pair", "malloc, write, free in each work-item; 4 to 8192 bytes, 1 to 32 active lanes", bench_run_pair},
    {"alloc", "one kernel allocates, another frees; 4 bytes to 64 KiB", bench_run_alloc},
    {"free", "the same as alloc, whose rows come in twos", bench_run_alloc},
    {"mixed", "alloc and free of sizes drawn by each work-item, up to 64, 256, 1024, 4096", bench_run_mixed},
    {"scaling", "alloc and free of 16 and 512 bytes by 2^10 to 2^20 work-items", bench_run_scaling},
    {"oom", "share of a heap handed out before NULL, fresh and after other sizes", bench_run_oom},
    {"churn", "64 rounds of malloc, check, free in 8 slots a work-item", bench_run_churn},
    {"overlap", "24 bytes each, all written, checked by another kernel", bench_run_overlap},
    {"large", "alloc and free of 64 KiB, 1 MiB and 16 MiB", bench_run_large},
    {"filled", "pair while 1 KiB blocks fill a quarter of the heap, beside an empty heap", bench_run_filled},
    {"latency", "one work-item alone, beside clCreateBuffer on the host", bench_run_latency},
    {"calls",
     "median, 99th of 100 and worst of single mallocs and frees under full load, by the device's clock",
     bench_run_calls},
    {"collective", "pair, alloc and free by the work-group and sub-group calls", bench_run_collective},
    {"generate",
     "2^0 to 2^20 work-items each make a buffer of a drawn size: malloc and free, two passes, bump pointers",
     bench_run_generate},
    {"write", "100 launches that write a word to each block, beside the same sizes laid end to end",
     bench_run_write},
    {"range", "what 100,000 blocks span over what they take, 4 to 8192 bytes, fresh and in 100 rounds",
     bench_run_range},
    {"larson", "64 rounds in which a block is handed to another work-item, which frees it", bench_run_larson},
    {"producer", "work-groups that allocate, work-groups that free", bench_run_producer},
    {"warp",
     "one work-item of 32 allocates; then 10,000, 100,000 and 1,000,000, on a heap that is never reset",
     bench_run_warp},
    {"graph", "adjacency lists in blocks: initialisation, batches of edges inserted and removed",
     bench_run_graph},
    {"ageing",
     "sizes that drift from phase to phase on heaps of 1.5 to 5 times what is live: refused requests, time; "
     "and the smallest heap",
     bench_run_ageing},
    {"pin", "what blocks of each size get after all but 1 in 1,000, 100 and 10 small blocks were freed",
     bench_run_pin},
    {"full", "requests that full heaps refuse and grant, 16 and 20,000 bytes, 1 MiB to 8 GiB",
     bench_run_full},
    {"region", "blocks of one region, and their free all at once", bench_run_region},
    {"init", "xmcCreateHeap and xmcResetHeap by heap size", bench_run_init},
    {"modes", "pair by active lanes for each way to coalesce, buffered and not", bench_run_modes},
    {"fifos", "pair by active lanes for 0, 1, 2, 4 … FIFOs a class", bench_run_fifos},
    {"threads", "pair by the number of work-items, buffered and not", bench_run_threads},
    {"cas", "one shared word: a CAS a lane against one a sub-group", bench_run_cas},
    {"build", "clBuildProgram and first launch of a kernel with 1, 4, 16, 64, 256 places that allocate",
     bench_run_build},
};
enum { WORKLOADS = sizeof workloads / sizeof *workloads };

static void remember_command(bench *b, int argc, char **argv) {
  size_t used = 0;
  for (int i = 0; i < argc && used < sizeof b->command; i++) {
    const char *name = i == 0 ? strrchr(argv[0], '/') : NULL;
    used += (size_t)snprintf(b->command + used, sizeof b->command - used, "%s%s", i ? " " : "",
                             name ? name + 1 : argv[i]);
  }
}

static int asked_for(const bench *b, const char *name) {
  size_t length = strlen(name);
  const char *list = b->options.workloads;
  while (list) {
    if (strncmp(list, "all", 3) == 0 && (list[3] == 0 || list[3] == ','))
      return 1;
    if (strncmp(list, name, length) == 0 && (list[length] == 0 || list[length] == ','))
      return 1;
    list = strchr(list, ',');
    list += list != NULL;
  }
  return 0;
}

/* Runs one workload with its peers, prints its table and writes all rows so far. */
static int run(bench *b, const bench_workload *w) {
  int status;
  b->section = b->row_count;
  status = w->run(b);
  if (!status && b->options.peers)
    bench_peers(b);
  if (isatty(2))
    fprintf(stderr, "\r%100s\r", "");
  if (b->row_count > b->section)
    bench_table(b, w->name, w->summary);
  if (b->options.csv)
    status |= bench_write_csv(b, b->options.csv);
  if (b->options.json)
    status |= bench_write_json(b, b->options.json);
  return status;
}

int main(int argc, char **argv) {
  bench b = {0};
  int status = bench_parse(&b.options, argc, argv, workloads, WORKLOADS);
  unsigned long failures = 0;
  if (status)
    return status == 1 ? 0 : 2;
  remember_command(&b, argc, argv);
  status = bench_open(&b);
  if (status)
    goto cleanup;
  printf("%s, %s, driver %s, %u compute units, heap %zu MiB\n", b.device_name, b.platform_name, b.driver,
         b.units, b.heap_bytes >> 20);
  fflush(stdout);
  b.options.trace = b.options.trace_path ? b.heap_bytes / 2 : 0; /* its records are a power of two */
  if ((b.options.csv && bench_write_csv(&b, b.options.csv)) ||
      (b.options.json && bench_write_json(&b, b.options.json))) {
    status = 1; /* before hours of work */
    goto cleanup;
  }
  for (size_t i = 0; i < WORKLOADS; i++) {
    int again = i > 0 && workloads[i].run == workloads[i - 1].run && asked_for(&b, workloads[i - 1].name);
    if (!again && asked_for(&b, workloads[i].name))
      status |= run(&b, &workloads[i]);
  }
  status |= bench_heap_close(&b, b.heap);
  for (size_t i = 0; i < b.row_count; i++)
    failures += b.rows[i].peer == BENCH_PEER ? 0 : b.rows[i].failures;
  if (failures)
    printf("\n! %lu failures: rows with this mark are not to be quoted\n", failures);
  if (b.corrupt)
    printf("\n! heaps damaged or not empty after all frees: %lu\n", b.corrupt);
cleanup:
  bench_close(&b);
  return status || failures || b.corrupt;
}
