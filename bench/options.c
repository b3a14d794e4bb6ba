/* SPDX-License-Identifier: MIT */
#include "bench.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: xmc-bench [options]\n"
    "Measures the allocator on an OpenCL device, beside the same kernels without an allocator (the floor)\n"
    "and beside other allocators (peers).\n"
    "\n"
    "  --workload A,B,…     what to measure, or `all`; default pair; --list names them\n"
    "  --device SUBSTRING   device or platform whose name holds this; default the first GPU, else the first\n"
    "  --heap BYTES         heap of most workloads (K, M, G may follow); default 8G, on CPUs 1G; oom,\n"
    "                       filled and pin take 1G, 512M and 1G (on CPUs 64M) unless this is given; full: "
    "the\n"
    "                       largest heap\n"
    "  --workers N          work-items of most workloads, a multiple of 4096; default 1048576\n"
    "  --repeat N           timed rounds after one cold round, the median counts; 1 to 256, default 7\n"
    "  --seconds S          no further round of a row after S seconds; default 3\n"
    "  --coalescing MODE    none, compartment or class; default class\n"
    "  --fifos N            FIFOs a size class; 0: none; default: one a resident sub-group\n"
    "  --backing KIND       buffer, svm or svm_fine; default buffer\n"
    "  --geometry KIND      any, or one: programs for the one geometry of their heap; default any\n"
    "  --build-options TEXT more options for clBuildProgram, whose log is then printed for each program:\n"
    "                       -cl-nv-verbose says how many registers each kernel takes on NVIDIA\n"
    "  --graph FILE         graph takes this file of the Matrix Market instead of the graphs that it makes\n"
    "  --trace FILE         records each allocation in up to half of the heap; graph then takes one graph "
    "and\n"
    "                       saves the heap for xmc-heap trace, top and map: to FILE with the last batch, and "
    "to\n"
    "                       FILE.end when it is empty\n"
    "  --peers on|off       measure other allocators too; default on\n"
    "  --peer-seconds S     stop a peer that takes longer for one row; default 20\n"
    "  --csv FILE           write the rows, as they come, as allocator,workload,params,threads,bytes,\n"
    "                       milliseconds,failures\n"
    "  --json FILE          write the rows as JSON\n"
    "  --list               list the workloads\n"
    "  --help, --version    this text; the version\n"
    "\n"
    "Exit status: 0; 1 if a row has failures, a heap was damaged, or something went wrong; 2 for wrong\n"
    "arguments.\n";

static int parse_long(const char *text, long low, long high, long *value) {
  char *end;
  errno = 0;
  *value = strtol(text, &end, 10);
  return errno != 0 || end == text || *end != 0 || *value < low || *value > high;
}

static int parse_seconds(const char *text, double *value) {
  char *end;
  *value = strtod(text, &end);
  return end == text || *end != 0 || !(*value > 0) || *value > 1e6;
}

/* The place of `text` in a 0-terminated list, or -1. */
static int parse_word(const char *text, const char *const *words) {
  for (int i = 0; words[i]; i++)
    if (strcmp(text, words[i]) == 0)
      return i;
  return -1;
}

static int known_workloads(const char *names, const bench_workload *workloads, size_t count) {
  char copy[512], *save = NULL;
  if (snprintf(copy, sizeof copy, "%s", names) >= (int)sizeof copy || *names == 0) {
    fprintf(stderr, "xmc-bench: --workload: a list of names is wanted\n");
    return 0;
  }
  for (char *name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
    size_t i = 0;
    while (i < count && strcmp(name, workloads[i].name) != 0)
      i++;
    if (i == count && strcmp(name, "all") != 0) {
      fprintf(stderr, "xmc-bench: no workload `%s`; --list names them\n", name);
      return 0;
    }
  }
  return 1;
}

/* 0 if `name` took `value`, else what was wanted. */
static const char *set_option(bench_options *o, const char *name, const char *value) {
  static const char *const modes[] = {"none", "compartment", "class", NULL};
  static const int mode_values[] = {XMC_COALESCE_NONE, XMC_COALESCE_COMPARTMENT, XMC_COALESCE_CLASS};
  static const char *const backings[] = {"buffer", "svm", "svm_fine", NULL};
  static const int backing_values[] = {XMC_BACKING_BUFFER, XMC_BACKING_SVM, XMC_BACKING_SVM_FINE};
  static const char *const geometries[] = {"any", "one", NULL};
  static const char *const switches[] = {"off", "on", NULL};
  long n;
  int word;
  if (strcmp(name, "--device") == 0) {
    o->device = value;
  } else if (strcmp(name, "--workload") == 0) {
    o->workloads = value;
  } else if (strcmp(name, "--build-options") == 0) {
    if (strlen(value) > BENCH_MAX_BUILD_OPTIONS)
      return "at most 1,000 characters";
    o->build_options = value;
  } else if (strcmp(name, "--graph") == 0) {
    o->graph = value;
  } else if (strcmp(name, "--trace") == 0) {
    o->trace_path = value;
  } else if (strcmp(name, "--csv") == 0) {
    o->csv = value;
  } else if (strcmp(name, "--json") == 0) {
    o->json = value;
  } else if (strcmp(name, "--heap") == 0) {
    return bench_parse_bytes(value, &o->heap) ? "a number of bytes, such as 512M" : NULL;
  } else if (strcmp(name, "--workers") == 0) {
    if (parse_long(value, 4096, 1L << 26, &n) || n % 4096 != 0)
      return "a multiple of 4096, up to 67108864";
    o->workers = (size_t)n;
  } else if (strcmp(name, "--repeat") == 0) {
    if (parse_long(value, 1, BENCH_MAX_REPEAT, &n))
      return "a number from 1 to 256";
    o->repeat = (int)n;
  } else if (strcmp(name, "--seconds") == 0) {
    return parse_seconds(value, &o->seconds) ? "a number of seconds" : NULL;
  } else if (strcmp(name, "--peer-seconds") == 0) {
    return parse_seconds(value, &o->peer_seconds) ? "a number of seconds" : NULL;
  } else if (strcmp(name, "--coalescing") == 0) {
    if ((word = parse_word(value, modes)) < 0)
      return "none, compartment or class";
    o->coalescing = mode_values[word];
  } else if (strcmp(name, "--fifos") == 0) {
    return parse_long(value, 0, 1L << 24, &o->fifos) ? "a number from 0" : NULL;
  } else if (strcmp(name, "--backing") == 0) {
    if ((word = parse_word(value, backings)) < 0)
      return "buffer, svm or svm_fine";
    o->backing = backing_values[word];
  } else if (strcmp(name, "--geometry") == 0) {
    if ((word = parse_word(value, geometries)) < 0)
      return "any or one";
    o->one_geometry = word;
  } else if (strcmp(name, "--peers") == 0) {
    if ((word = parse_word(value, switches)) < 0)
      return "on or off";
    o->peers = word;
  } else {
    return "";
  }
  return NULL;
}

int bench_parse(bench_options *o, int argc, char **argv, const bench_workload *workloads, size_t count) {
  *o = (bench_options){.workloads = "pair",
                       .workers = (size_t)1 << 20,
                       .repeat = 7,
                       .seconds = 3,
                       .peer_seconds = 20,
                       .coalescing = XMC_COALESCE_CLASS,
                       .fifos = XMC_FIFOS_DEFAULT,
                       .backing = XMC_BACKING_BUFFER,
                       .peers = 1};
  int list = 0;
  for (int i = 1; i < argc; i++) {
    char name[32];
    const char *value = strchr(argv[i], '='), *wanted;
    size_t length = value ? (size_t)(value - argv[i]) : strlen(argv[i]);
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      fputs(usage, stdout);
      return 1;
    }
    if (strcmp(argv[i], "--version") == 0) {
      printf("xmc-bench %d.%d.%d\n", XMC_VERSION_MAJOR, XMC_VERSION_MINOR, XMC_VERSION_PATCH);
      return 1;
    }
    if (strcmp(argv[i], "--list") == 0) {
      list = 1;
      continue;
    }
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), argv[i]);
    wanted = set_option(o, name, value ? value + 1 : i + 1 < argc ? argv[i + 1] : "");
    if (wanted && *wanted == 0) {
      fprintf(stderr, "xmc-bench: unknown argument `%s`; see --help\n", argv[i]);
      return 2;
    }
    if (!value && ++i >= argc) {
      fprintf(stderr, "xmc-bench: %s wants a value\n", name);
      return 2;
    }
    if (wanted) {
      fprintf(stderr, "xmc-bench: %s wants %s, not `%s`\n", name, wanted, value ? value + 1 : argv[i]);
      return 2;
    }
  }
  if (!known_workloads(o->workloads, workloads, count))
    return 2;
  for (size_t w = 0; list && w < count; w++)
    printf("%-11s %s\n", workloads[w].name, workloads[w].summary);
  return list;
}
