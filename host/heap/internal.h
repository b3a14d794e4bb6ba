/* SPDX-License-Identifier: MIT */
/* Declarations that the host library's files share. Nothing here is exported.
 *
 *   device.c    devices and sub-devices: whether two are the same device
 *   probe.c     what a device can do, found out once a process         xmc_probe
 *   options.c   build options for a device and heap
 *   source.c    inserts the embedded library into a user's source
 *   program.c   creates and builds programs
 *   link.c      links objects with the library
 *   helpers.c   the library's own kernels, built once
 *   layout.c    the arena's geometry, computed from its size           xmc_layout (layout.h)
 *   properties.c   properties of heaps, and which sizes heaps can have
 *   device_report.c   a text on what the probe found
 *   heap.c      creation, reset and release of heaps
 *   memory.c    the buffer or SVM allocation of an arena
 *   grow.c      xmcGrowHeap
 *   arena_io.c  reads, writes and maps the arena, in a buffer or in SVM
 *   info.c      xmcGetHeapInfo
 *   kernel_arg.c   xmcSetKernelArgHeap: whether a kernel is for the heap
 *   version.c   xmcGetVersion
 *   map.c       map, unmap, and the rules which thread may access the arena when
 *   host_calls.c   xmcHostMalloc and the others, between map and unmap
 *   default_heap.c  xmcBindDefaultHeap
 *   walk.c, stats.c, check.c, check_tables.c, blocks.c, json.c, stats_table.c, heap_map*.c   what a heap holds, from a
 *                    copy of the metadata
 *   events.c    xmcSetHeapCallback; show.c: XMC_SHOW
 *   heap_text.c    these as text, to streams and to memory (memory_stream.c)
 *   trace/events.c, chrome.c, sites.c   the events of a traced heap, and the texts about them
 *   sized.c     structs whose size the caller states
 *   debug_blocks.c   headers and red zones of debug heaps
 *   heap_file.c    heaps in files; believe.c: checks of a file's contents; save.c: from and to devices
 *   file_replace.c   replaces a file as a whole, by the operating system's calls
 */
#ifndef XMC_INTERNAL_H
#define XMC_INTERNAL_H

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "xmalloc.h"
#include "../../cl/layout/arena.h"
#include <pthread.h>
#include <stdatomic.h>

/* What a device can do. A path is one of the files cl/platform/ in one OpenCL C version. */
typedef struct xmc_probe {
  cl_device_id device;
  cl_int status;      /* CL_SUCCESS, or why no path works */
  cl_uint units;      /* compute units */
  cl_ulong max_bytes; /* largest single allocation */
  cl_bitfield svm;    /* CL_DEVICE_SVM_CAPABILITIES; 0 before OpenCL 2.0 */
  int gpu;
  int nvidia;        /* inline PTX */
  int amd;           /* the compiler may have the builtins of cl/platform/amdgcn.h */
  int redux;         /* redux.sync: compute capability 8.0 and up */
  int fence;         /* fence.release: compute capability 9.0 and up, PTX 8.6 */
  int c11;           /* C11 atomics at device scope */
  int simt;          /* sub-groups in lock step, ballot from divergent flow */
  int subgroups;     /* sub-group collectives, called by all */
  int svm_scope;     /* atomics at the scope of all SVM devices build and work */
  int svm_alias;     /* a buffer made of an SVM pointer has that address in kernels too */
  int program_scope; /* variables at program scope keep an address between launches: 1, if not weak; 2, all */
  int race_checker;  /* shared words must be loaded by read-modify-write */
  int scalar_calls;  /* work-items run functions one after the other only if these are not optimised */
  char std[8];       /* "CL1.2", "CL2.0", "CL3.0" */
  char name[128];
  char platform[128];
  char path[96];
  char why[2048];
} xmc_probe;

/* Probes `device`, in `context` or, if that is NULL, in a context of its own; later calls copy the first call's
 * result. Returns probe->status, or an OpenCL error if the device could not even be queried. */
cl_int xmc_probe_device(cl_context context, cl_device_id device, xmc_probe *probe);

/* ---- device.c ---- */

/* Returns the device of which `device` is a sub-device, directly or not, or `device` itself. Caches are keyed by this device, because
 * sub-devices and their ids are created and released. */
cl_device_id xmc_root_device(cl_device_id device);

/* True if both are the same device, or have the same root device. */
int xmc_same_device(cl_device_id a, cl_device_id b);

/* Retain and release a sub-device; a root device needs neither. */
cl_int xmc_retain_device(cl_device_id device);
void xmc_release_device(cl_device_id device);

/* *number gets the index of `device` among the context's devices, from 0; -1 if the context has this device only. Returns
 * CL_INVALID_DEVICE if the context lists no device of the same root device. Whether the context accepts queues of `device` itself
 * shows only when a queue is created. */
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
  xmc_u32 trace_records; /* records of the ring; 0: the heap is not traced */
  xmc_u32 trace_every;
} xmc_settings;

/* Writes the build options to `options`, XMC_OPTIONS_BYTES long. */
void xmc_write_options(const xmc_probe *probe, const xmc_settings *settings, char *options);

/* Appends one option, after a blank. */
void xmc_add_option(char *options, const char *option);

/* Appends the option for programs of heaps without own places, if the heap has none. */
void xmc_write_own_places(const xmcHeap *header, const xmc_probe *probe, char *options);

/* Appends the option that names the context's device `number`, for which programs are built; nothing for -1. */
void xmc_write_device(int number, char *options);

/* Writes the options that xmcGetGeometryOptions returns. */
void xmc_write_geometry(const xmcHeap *header, char *options);

/* ---- map.c: which thread may access the arena when ---- */

#define XMC_GATE_COUNTS 16u

/* Lets host calls use the arena or not, and counts the calls that use it. There are several counts, so that threads do not contend
 * for one word. */
typedef struct xmc_gate {
  _Atomic(xmcHeap *) arena; /* the arena for host calls; NULL: the gate is closed */
  struct {
    atomic_uint inside;
    unsigned char apart[128 - sizeof(atomic_uint)]; /* two counts share no cache line */
  } counts[XMC_GATE_COUNTS];
} xmc_gate;

void xmc_gate_open(xmc_gate *gate, xmcHeap *arena);

/* Closes the gate, and waits until the calls that are inside have left. Returns the arena that they used, or NULL. */
xmcHeap *xmc_gate_close(xmc_gate *gate);

/* Checks the handle and the queue (NULL becomes the heap's own), waits for the queue, and takes the heap's lock. The thread that
 * holds the lock may call the functions of arena_io.c and walk.c; it must not call code of the user.
 * Errors, without the lock: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH, OpenCL's. */
cl_int xmc_lock_heap(xmc_heap heap, cl_command_queue *queue);

/* Gives the lock back, and then calls back for the events that were noted (events.c). The callback may release the heap, so
 * the caller must not access the heap after this call. */
void xmc_unlock_heap(xmc_heap heap);

/* These take the lock. True between xmcMapHeap and xmcUnmapHeap; the geometry's number, which a reset of a loaded heap changes */
int xmc_is_mapped(xmc_heap heap);
xmc_u64 xmc_geometry_now(xmc_heap heap);

/* ---- events.c: first failures of each kind ---- */

enum { XMC_EVENTS = XMC_EVENT_USE_AFTER_FREE - XMC_EVENT_FAILED_REQUEST + 1 };

typedef struct xmc_event {
  xmc_u64 count, value, id;
} xmc_event;

/* Events for which the callback must still be called, and that callback */
typedef struct xmc_news {
  unsigned kinds; /* a bit for each event that must be reported */
  xmc_event_callback callback;
  void *data;
  xmc_event events[XMC_EVENTS];
} xmc_news;

/* The memory of an arena */
typedef struct xmc_memory {
  cl_mem buffer; /* the buffer; or, if probe.svm_alias, the SVM allocation as a buffer; or NULL */
  void *svm;     /* the SVM allocation, or NULL */
  xmc_u64 bytes; /* its size, at least the arena's */
} xmc_memory;

struct _xmc_heap {
  xmc_u64 tag; /* XMC_HEAP_TAG while alive */
  atomic_uint references;
  cl_context context;
  cl_device_id device;
  cl_command_queue queue; /* in order; for callers that name no queue */
  cl_program helpers;     /* cl/kernels.cl */
  /* memory_lock guards the members that growing changes: `memory`, and `bytes`, `present`, `present_spans` of `initial` and
   * `header`. A thread that changes them holds the heap's lock as well, so that either lock suffices for reading. It is held only
   * during the change, never while a device works. */
  pthread_mutex_t memory_lock;
  xmc_memory memory;
  _Atomic(xmc_u64) bytes; /* the arena's size, for host calls, which take no lock */
  xmc_settings settings;
  xmc_probe probe;
  xmcHeap
      initial; /* the header as xmc_layout made it, with magic 0; a reset writes it. Only `life` and the members
                      that growing changes change. */
  xmcHeap header; /* the header as the last xmc_init_done left it: the true geometry. If the arena's header
                      differs, the arena is damaged. Guarded by the lock. */
  char options[XMC_OPTIONS_BYTES];
  char geometry[XMC_OPTIONS_BYTES]; /* options of programs for one geometry; "" for a loaded heap */
  int host_always;                  /* host calls need no map */
  xmc_gate gate;
  pthread_mutex_t lock; /* xmc_lock_heap */
  xmcHeap *mapped;      /* the arena between xmcMapHeap and xmcUnmapHeap, else NULL. Guarded by the lock. */
  xmc_news news;        /* the events to report when the lock is given back. Guarded by the lock. */
  /* Guards the next three. Threads that hold `lock` take it, and xmcSetHeapCallback. */
  pthread_mutex_t event_lock;
  xmc_event_callback event_callback;
  void *event_data;
  unsigned events_told; /* a bit for each XMC_EVENT_… for which the callback was called */
};
#define XMC_HEAP_TAG 0x786d635f68656170ull

/* Only the counters of a header change after creation. The members before them, and those from `trace` on, do not. */
#define XMC_GEOMETRY_BYTES offsetof(xmcHeap, failed_requests)
#define XMC_GEOMETRY_RING offsetof(xmcHeap, trace)
/* Copy and compare all members of headers but the counters (arena_io.c). */
void xmc_copy_geometry(xmcHeap *to, const xmcHeap *from);
int xmc_same_geometry(const xmcHeap *a, const xmcHeap *b);

/* Returns CL_SUCCESS if `heap` is a heap, else XMC_INVALID_HEAP. */
cl_int xmc_check_handle(xmc_heap heap);

/* The contents of a new heap that is not empty: a header, and a function that fills the arena. */
typedef struct xmc_image {
  const xmcHeap *header;
  long long fifos; /* the value of XMC_HEAP_FIFOS that the heap was created with */
  cl_int (*fill)(xmc_heap heap, void *data);
  void *data;
} xmc_image;

/* ---- properties.c ---- */

/* Fills `settings` from a list of properties, which may be NULL; `image` may be NULL. Error: CL_INVALID_PROPERTY. */
cl_int xmc_read_properties(const xmc_heap_properties *properties, const xmc_image *image,
                           xmc_settings *settings);

/* Returns XMC_SVM_UNAVAILABLE if the device lacks the SVM that the backing needs. */
cl_int xmc_check_backing(const xmc_probe *probe, const xmc_settings *settings);

/* Lays out the arena in `header`. Errors: XMC_HEAP_TOO_SMALL, XMC_HEAP_TOO_LARGE, CL_INVALID_PROPERTY. */
cl_int xmc_plan(const xmc_probe *probe, const xmc_settings *settings, uint64_t bytes, xmcHeap *header);

/* Copies a value of `bytes` bytes to the caller, by the rules of clGet…Info (info.c). Error: CL_INVALID_VALUE (too little room). */
cl_int xmc_answer(const void *from, size_t bytes, size_t size, void *value, size_t *size_ret);

/* xmcCreateHeap; `image` may be NULL. With an image, properties may choose the backing and must otherwise be
 * the image's own. */
xmc_heap xmc_make_heap(cl_context context, cl_device_id device, const xmc_heap_properties *properties,
                       size_t bytes, const xmc_image *image, cl_int *errcode_ret);

/* ---- sized.c: structs whose size the caller states (xmalloc.h) ---- */

/* The sizes of the structs in version 0.1, which are the least that a caller may state. Later members do not change them. */
#define XMC_LEAST_STATS_BYTES (offsetof(xmc_heap_stats, first_use_after_free) + sizeof(cl_ulong))
#define XMC_LEAST_REPORT_BYTES (offsetof(xmc_heap_report, message) + 244u)
#define XMC_LEAST_BLOCK_BYTES (offsetof(xmc_block, file) + sizeof(const char *))

/* Copies a struct of `known` bytes to the caller's struct of `size` bytes: as much as fits, and zeros behind the known bytes. */
void xmc_copy_sized(void *to, size_t size, const void *from, size_t known);

/* True if the header of an arena, which kernels may have overwritten, is still the heap's, apart from the counters. The
 * caller must hold the lock or be the only one that knows the heap. */
int xmc_is_geometry_of(xmc_heap heap, const xmcHeap *header);

/* ---- events.c: the caller of the first three must hold the heap's lock ---- */

/* Notes the events that the heap's callback was not called for yet, from a header whose geometry is intact. xmc_unlock_heap then
 * calls back. */
void xmc_note_events(xmc_heap heap, const xmcHeap *header);
/* The same from the arena's header, which is read only if there is a callback. */
void xmc_look_for_events(xmc_heap heap, cl_command_queue queue);
void xmc_forget_events(xmc_heap heap);
/* Calls back for each event. The callback may release the heap, so this function uses only the heap's handle. */
void xmc_tell_news(xmc_heap heap, const xmc_news *news);

/* show.c: prints the texts that XMC_SHOW names. */
void xmc_show_at_release(xmc_heap heap);

/* ---- memory.c ---- */

/* Allocates memory for an arena of `bytes` bytes, of the heap's backing; of `most` bytes if the rest costs no memory yet (memory.c). SVM
 * memory of released heaps that is no longer used is freed first. After an error `memory` is empty. */
cl_int xmc_memory_create(xmc_heap heap, xmc_u64 bytes, xmc_u64 most, xmc_memory *memory);
/* Frees the memory, now or when the commands that use it have ended. `memory` is empty then. */
void xmc_memory_release(cl_context context, xmc_memory *memory);
/* Frees SVM memory whose last command has ended. */
void xmc_memory_free_unused(void);

/* ---- arena_io.c ----
 * Access to the arena's bytes. The caller must hold the heap's lock or be the only one that knows the heap. If `queue` is NULL, the
 * heap's own queue is used. Each function first waits for all commands in the queue and returns when its own work is done. A range
 * that leaves the arena is CL_INVALID_VALUE. */

/* *use gets the queue to use. Errors: XMC_INVALID_HEAP; XMC_HEAP_MISMATCH (queue of another device or context); OpenCL's. */
cl_int xmc_arena_queue(xmc_heap heap, cl_command_queue queue, cl_command_queue *use);
cl_int xmc_arena_read(xmc_heap heap, cl_command_queue queue, xmc_u64 offset, xmc_u64 bytes, void *to);
cl_int xmc_arena_write(xmc_heap heap, cl_command_queue queue, xmc_u64 offset, xmc_u64 bytes,
                       const void *from);

/* Map the whole arena for host code to read and write, and unmap it. Kernels must not run on it in between, except in fine-grained
 * SVM. */
cl_int xmc_arena_map(xmc_heap heap, cl_command_queue queue, xmcHeap **arena);
cl_int xmc_arena_unmap(xmc_heap heap, cl_command_queue queue, xmcHeap *arena);

/* Sets argument `index` of `kernel` to the arena, with no checks. */
cl_int xmc_arena_set_arg(xmc_heap heap, cl_kernel kernel, cl_uint index);

/* ---- source.c ---- */

/* Returns the user's strings as one, malloc'ed, with the library in place of the includes that name it, or in front. NULL: no memory */
char *xmc_expand_source(cl_uint count, const char **strings, const size_t *lengths);

/* ---- program.c ---- */

/* Creates and builds a program from one string. After a build error `log`, which may be NULL, gets the build log, as much as fits. */
cl_int xmc_build(cl_context context, cl_device_id device, const char *source, const char *options,
                 cl_program *program, char *log, size_t log_bytes);

/* ---- helpers.c ---- */

/* Builds the program of cl/kernels.cl; `log` as in xmc_build. */
cl_int xmc_build_helpers(cl_context context, cl_device_id device, const char *options, cl_program *program,
                         char *log, size_t log_bytes);

/* Embedded sources (made by cmake/EmbedSource.cmake), NUL-terminated. */
extern const char xmc_source_library[];
extern const char xmc_source_link[];
extern const char xmc_source_default[]; /* the next two without the files that they include */
extern const char xmc_source_std[];
extern const char xmc_source_kernels[];
extern const char xmc_source_probe[];
extern const char xmc_source_probe_pair[]; /* appended to xmc_source_kernels */
#endif
