/* SPDX-License-Identifier: MIT */
/* What the host library's files share. Nothing here is exported.
 *
 *   device.c    which devices are the same one: sub-devices
 *   probe.c     what a device can do, found out once a process         xmc_probe
 *   options.c   build options of a device and heap
 *   source.c    the embedded source in a user's
 *   program.c   programs of it, created and built
 *   link.c      objects linked with the library
 *   helpers.c   the library's own kernels, built once
 *   layout.c    the arena's geometry, from its size                    xmc_layout (layout.h)
 *   properties.c   what a heap is to be like, and which sizes it can have
 *   device_report.c   what the probe found, in words
 *   heap.c      life of a heap
 *   memory.c    what the arena lies in
 *   grow.c      xmcGrowHeap
 *   arena_io.c  the arena's bytes, whatever it lies in
 *   info.c      what a heap tells of itself
 *   kernel_arg.c   a heap as the argument of a kernel that is for it
 *   version.c   which version the library is
 *   map.c       map, unmap, and who may touch the arena when
 *   host_calls.c   xmcHostMalloc and the others, between map and unmap
 *   default_heap.c  xmcBindDefaultHeap
 *   walk.c, stats.c, check.c, check_tables.c, blocks.c, json.c, stats_table.c, heap_map*.c   what a heap holds, from a
 *                    copy of the metadata
 *   events.c    xmcSetHeapCallback; show.c: XMC_SHOW
 *   heap_text.c    the same as text, to streams and to memory (memory_stream.c)
 *   trace/events.c, chrome.c, sites.c   the events of a traced heap, and the texts about them
 *   sized.c     structs whose size the caller states
 *   debug_blocks.c   headers and red zones of debug heaps
 *   heap_file.c    heaps in files; believe.c: what a file may say; save.c: from and to devices
 *   file_replace.c   replaces a file as a whole: what the operating system has to do with it
 */
#ifndef XMC_INTERNAL_H
#define XMC_INTERNAL_H

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "xmalloc.h"
#include "../../cl/layout/arena.h"
#include <pthread.h>
#include <stdatomic.h>

/* What a device can do. A path is one of cl/platform_*.h in one OpenCL C version. */
typedef struct xmc_probe {
  cl_device_id device;
  cl_int status;      /* CL_SUCCESS, or why no path works */
  cl_uint units;      /* compute units */
  cl_ulong max_bytes; /* largest single allocation */
  cl_bitfield svm;    /* CL_DEVICE_SVM_CAPABILITIES; 0 before OpenCL 2.0 */
  int gpu;
  int nvidia;        /* inline PTX */
  int amd;           /* its compiler may have the builtins of cl/platform/amdgcn.h */
  int redux;         /* redux.sync: compute capability 8.0 and up */
  int c11;           /* C11 atomics at device scope */
  int simt;          /* sub-groups in lock step, ballot from divergent flow */
  int subgroups;     /* sub-group collectives, called by all */
  int svm_scope;     /* atomics at the scope of all SVM devices build */
  int svm_alias;     /* a buffer made of an SVM pointer has that address in kernels too */
  int program_scope; /* variables at program scope keep an address between launches: 1, if not weak; 2, all */
  int race_checker;  /* shared words are to be loaded by read-modify-write */
  int scalar_calls; /* work-items run through functions one after the other only if those are not optimised */
  char std[8];      /* "CL1.2", "CL2.0", "CL3.0" */
  char name[128];
  char platform[128];
  char path[96];
  char why[2048];
} xmc_probe;

/* Probes `device`, in `context` or, if that is NULL, in one of its own; later calls copy what the first
 * found. Returns probe->status, or an OpenCL error if the device could not even be asked. */
cl_int xmc_probe_device(cl_context context, cl_device_id device, xmc_probe *probe);

/* ---- device.c ---- */

/* The device that is nobody's sub-device. Sub-devices come and go, and their ids with them, so what is remembered
 * is remembered about this one. */
cl_device_id xmc_root_device(cl_device_id device);

/* Are both the same device, or sub-devices of the same? */
int xmc_same_device(cl_device_id a, cl_device_id b);

cl_int xmc_retain_device(cl_device_id device);
void xmc_release_device(cl_device_id device);

/* Which of the context's devices it is, from 0; -1 where the context has this one only. CL_INVALID_DEVICE if the
 * context lists neither the device nor anything of the same root device. Whether it takes queues of just this one is
 * seen when the queue is made. */
cl_int xmc_find_device(cl_context context, cl_device_id device, int *number);

#define XMC_OPTIONS_BYTES 768

/* The heap properties in force */
typedef struct xmc_settings {
  int backing; /* XMC_BACKING_… */
  int coalescing;
  long long fifos; /* XMC_FIFOS_DEFAULT or a number */
  xmc_u32 fifo_start;
  int debug;
  xmc_u64 max_bytes;     /* 0: the heap cannot grow */
  xmc_u32 trace_records; /* of the ring; 0: the heap is not traced */
  xmc_u32 trace_every;
} xmc_settings;

/* Writes the build options to `options`, XMC_OPTIONS_BYTES long. */
void xmc_write_options(const xmc_probe *probe, const xmc_settings *settings, char *options);

/* Appends one option, after a blank. */
void xmc_add_option(char *options, const char *option);

/* Appends what programs for heaps with own places, or without, are built with. */
void xmc_write_own_places(const xmcHeap *header, const xmc_probe *probe, char *options);

/* Appends which of the context's devices programs are for; nothing for -1. */
void xmc_write_device(int number, char *options);

/* Writes what xmcGetGeometryOptions returns. */
void xmc_write_geometry(const xmcHeap *header, char *options);

/* ---- map.c: who may touch the arena when ---- */

#define XMC_GATE_COUNTS 16u

/* Where host calls go in. Calls inside are counted, in several places, so that threads do not contend for one. */
typedef struct xmc_gate {
  _Atomic(xmcHeap *) arena; /* for host calls; NULL: the gate is closed */
  struct {
    atomic_uint inside;
    unsigned char apart[128 - sizeof(atomic_uint)]; /* two counts share no cache line */
  } counts[XMC_GATE_COUNTS];
} xmc_gate;

void xmc_gate_open(xmc_gate *gate, xmcHeap *arena);

/* Lets no further call in, and returns when those inside have left: the arena that they had, or NULL. */
xmcHeap *xmc_gate_close(xmc_gate *gate);

/* Checks the handle and the queue (NULL: becomes the heap's own), waits for the queue, and takes the heap's lock. Who
 * holds it may call the functions of arena_io.c and walk.c; no code of the user's may be called meanwhile.
 * Errors, without the lock: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH, OpenCL's. */
cl_int xmc_lock_heap(xmc_heap heap, cl_command_queue *queue);

/* Gives the lock back, and then calls back for the events that were noted (events.c). The callback may release the heap:
 * after this call nothing of the heap may be touched. */
void xmc_unlock_heap(xmc_heap heap);

/* These take the lock. Between xmcMapHeap and xmcUnmapHeap? The geometry's number, which a reset of a loaded heap changes */
int xmc_is_mapped(xmc_heap heap);
xmc_u64 xmc_geometry_now(xmc_heap heap);

/* ---- events.c: first failures of each kind ---- */

enum { XMC_EVENTS = XMC_EVENT_USE_AFTER_FREE - XMC_EVENT_FAILED_REQUEST + 1 };

typedef struct xmc_event {
  xmc_u64 count, value, id;
} xmc_event;

typedef struct xmc_news {
  unsigned kinds; /* a bit an event that is to be told */
  xmc_event_callback callback;
  void *data;
  xmc_event events[XMC_EVENTS];
} xmc_news;

/* What an arena lies in */
typedef struct xmc_memory {
  cl_mem buffer; /* it; or the SVM allocation as a buffer, where probe.svm_alias; or NULL */
  void *svm;     /* it, or NULL */
  xmc_u64 bytes; /* at least the arena's */
} xmc_memory;

struct _xmc_heap {
  xmc_u64 tag; /* XMC_HEAP_TAG while alive */
  atomic_uint references;
  cl_context context;
  cl_device_id device;
  cl_command_queue queue; /* in order; for callers that name none */
  cl_program helpers;     /* cl/kernels.cl */
  /* memory_lock guards what a growing heap changes: `memory`, and `bytes`, `present`, `present_spans` of `initial` and
   * `header`. Who changes them has the heap's lock as well, so that either lock does for reading. It is held for the change
   * alone, whatever a device is doing. */
  pthread_mutex_t memory_lock;
  xmc_memory memory;
  _Atomic(xmc_u64) bytes; /* of the arena: for host calls, which take no lock */
  xmc_settings settings;
  xmc_probe probe;
  xmcHeap
      initial; /* the header as xmc_layout made it: magic 0; what reset writes. Only `life` changes, and what growing
                      changes. */
  xmcHeap header; /* the header as the last xmc_init_done left it: the true geometry. Nothing in an
                      arena may be believed over it. Guarded by the lock. */
  char options[XMC_OPTIONS_BYTES];
  char geometry[XMC_OPTIONS_BYTES]; /* options of programs for one geometry; "" for a loaded heap */
  int host_always;                  /* host calls need no map */
  xmc_gate gate;
  pthread_mutex_t lock; /* xmc_lock_heap */
  xmcHeap *mapped;      /* the arena between xmcMapHeap and xmcUnmapHeap, else NULL. Guarded by the lock. */
  xmc_news news;        /* what is to be told when the lock is given back. Guarded by the lock. */
  /* Guards the next three; taken by those who have the lock, and by xmcSetHeapCallback. */
  pthread_mutex_t event_lock;
  xmc_event_callback event_callback;
  void *event_data;
  unsigned events_told; /* a bit an XMC_EVENT_… that the callback knows of */
};
#define XMC_HEAP_TAG 0x786d635f68656170ull

/* The counters are all of the header that changes after creation: what stands before them, and where the ring lies, stay. */
#define XMC_GEOMETRY_BYTES offsetof(xmcHeap, failed_requests)
#define XMC_GEOMETRY_RING offsetof(xmcHeap, trace)
/* Copies all but the counters, and compares it (arena_io.c). */
void xmc_copy_geometry(xmcHeap *to, const xmcHeap *from);
int xmc_same_geometry(const xmcHeap *a, const xmcHeap *b);

/* XMC_INVALID_HEAP unless `heap` is one. */
cl_int xmc_check_handle(xmc_heap heap);

/* What a new heap begins with instead of emptiness: a header, and what fills the arena behind it. */
typedef struct xmc_image {
  const xmcHeap *header;
  long long fifos; /* the property it was made with */
  cl_int (*fill)(xmc_heap heap, void *data);
  void *data;
} xmc_image;

/* ---- properties.c ---- */

/* The settings that a list of properties, which may be NULL, asks for; `image` may be NULL. */
cl_int xmc_read_properties(const xmc_heap_properties *properties, const xmc_image *image,
                           xmc_settings *settings);

/* XMC_SVM_UNAVAILABLE if the device lacks what the backing needs. */
cl_int xmc_check_backing(const xmc_probe *probe, const xmc_settings *settings);

/* Lays out the arena in `header`; XMC_HEAP_TOO_SMALL or XMC_HEAP_TOO_LARGE. */
cl_int xmc_plan(const xmc_probe *probe, const xmc_settings *settings, uint64_t bytes, xmcHeap *header);

/* As every Get…Info hands out an answer of so many bytes (info.c). */
cl_int xmc_answer(const void *from, size_t bytes, size_t size, void *value, size_t *size_ret);

/* xmcCreateHeap; `image` may be NULL. With an image, properties may choose the backing and must otherwise be
 * the image's own. */
xmc_heap xmc_make_heap(cl_context context, cl_device_id device, const xmc_heap_properties *properties,
                       size_t bytes, const xmc_image *image, cl_int *errcode_ret);

/* ---- sized.c: structs whose size the caller states (xmalloc.h) ---- */

/* Their sizes in version 0.1, the least that a caller may state. Members that come later do not change them. */
#define XMC_LEAST_STATS_BYTES (offsetof(xmc_heap_stats, first_use_after_free) + sizeof(cl_ulong))
#define XMC_LEAST_REPORT_BYTES (offsetof(xmc_heap_report, message) + 244u)
#define XMC_LEAST_BLOCK_BYTES (offsetof(xmc_block, file) + sizeof(const char *))

/* Copies a struct of `known` bytes to the caller's of `size` bytes: what fits, and zeros behind what is known. */
void xmc_copy_sized(void *to, size_t size, const void *from, size_t known);

/* Whether the header of an arena, which kernels may have overwritten, is still the heap's, but for the counters. The
 * caller has the lock or alone knows the heap. */
int xmc_is_geometry_of(xmc_heap heap, const xmcHeap *header);

/* ---- events.c: whoever calls the first three has the heap's lock ---- */

/* Notes what the heap's callback does not know yet, from a header whose geometry is intact. xmc_unlock_heap tells it. */
void xmc_note_events(xmc_heap heap, const xmcHeap *header);
/* The same from the arena; nothing is read where there is no callback. */
void xmc_look_for_events(xmc_heap heap, cl_command_queue queue);
void xmc_forget_events(xmc_heap heap);
/* Calls back. The callback may release the heap, so nothing but its handle is used. */
void xmc_tell_news(xmc_heap heap, const xmc_news *news);

/* show.c: prints what XMC_SHOW asks for. */
void xmc_show_at_release(xmc_heap heap);

/* ---- memory.c ---- */

/* Memory for an arena of `bytes`, of the heap's backing; room for `most` where that costs no memory yet. What was
 * allocated before and is no longer used is freed. After an error `memory` holds nothing. */
cl_int xmc_memory_create(xmc_heap heap, xmc_u64 bytes, xmc_u64 most, xmc_memory *memory);
/* Frees it, or lets it be freed when the commands that use it have ended. It holds nothing then. */
void xmc_memory_release(cl_context context, xmc_memory *memory);
/* Frees SVM memory whose last command has ended. */
void xmc_memory_free_unused(void);

/* ---- arena_io.c ----
 * The arena's bytes, for the thread that has the heap's lock or alone knows the heap. `queue` may be NULL: the heap's
 * own. All of them wait for everything in the queue first and return when done. A range that leaves the arena is CL_INVALID_VALUE. */

/* CL_SUCCESS and the queue to use; XMC_INVALID_HEAP; XMC_HEAP_MISMATCH for another device or context. */
cl_int xmc_arena_queue(xmc_heap heap, cl_command_queue queue, cl_command_queue *use);
cl_int xmc_arena_read(xmc_heap heap, cl_command_queue queue, xmc_u64 offset, xmc_u64 bytes, void *to);
cl_int xmc_arena_write(xmc_heap heap, cl_command_queue queue, xmc_u64 offset, xmc_u64 bytes,
                       const void *from);

/* The whole arena in host memory, for host code to read and write; kernels must not run on it until it is
 * unmapped (fine-grained SVM: they may). */
cl_int xmc_arena_map(xmc_heap heap, cl_command_queue queue, xmcHeap **arena);
cl_int xmc_arena_unmap(xmc_heap heap, cl_command_queue queue, xmcHeap *arena);

/* Sets argument `index` of `kernel` to the arena, with no checks. */
cl_int xmc_arena_set_arg(xmc_heap heap, cl_kernel kernel, cl_uint index);

/* ---- source.c ---- */

/* The user's strings, with the library in place of the includes that name it, or in front. malloc'ed. */
char *xmc_expand_source(cl_uint count, const char **strings, const size_t *lengths);

/* ---- program.c ---- */

/* Creates and builds a program from one string; on a build error `log` (may be NULL) gets the build log. */
cl_int xmc_build(cl_context context, cl_device_id device, const char *source, const char *options,
                 cl_program *program, char *log, size_t log_bytes);

/* ---- helpers.c ---- */

/* The program of cl/kernels.cl, built; `log` as in xmc_build */
cl_int xmc_build_helpers(cl_context context, cl_device_id device, const char *options, cl_program *program,
                         char *log, size_t log_bytes);

/* Embedded sources (made by cmake/EmbedSource.cmake), NUL-terminated. */
extern const char xmc_source_library[];
extern const char xmc_source_link[];
extern const char xmc_source_default[]; /* the next two without what they include */
extern const char xmc_source_std[];
extern const char xmc_source_kernels[];
extern const char xmc_source_probe[];
extern const char xmc_source_probe_pair[]; /* what follows xmc_source_kernels */
#endif
