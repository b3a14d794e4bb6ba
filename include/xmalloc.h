/* SPDX-License-Identifier: MIT */
/* XMalloc for OpenCL: dynamic memory for kernels. The host API.
 *
 *   heap = xmcCreateHeap(context, device, NULL, 256 << 20, &status);
 *   program = xmcCreateProgramWithSource(heap, 1, &source, NULL, &status);
 *   clBuildProgram(program, 1, &device, xmcGetBuildOptions(heap), NULL, NULL);
 *   xmcSetKernelArgHeap(kernel, 0, heap);       // __global xmcHeap *heap: xmcMalloc(heap, size)
 *
 * It follows OpenCL's conventions: functions return a cl_int status or write it to errcode_ret, which may
 * be NULL; objects are counted by retain and release; sizes are bytes. A status is CL_SUCCESS, an error of
 * OpenCL, or one of the XMC_ errors below. Functions that take a command queue first wait for
 * everything in that queue; NULL means a queue of the heap's own, for which work in other queues must
 * have ended. Kernels see a heap as it was left by commands that ended before they started.
 *
 * Threads. Any function may be called from any thread at any time, also on one heap by several threads if each of
 * them has a reference to it (xmcRetainHeap): a heap must not go while another thread is in a call. On one heap
 *
 *   xmcMapHeap, xmcUnmapHeap, xmcResetHeap, xmcGrowHeap,    run one at a time, and wait for those before them.
 *   xmcSaveHeap and inspectors (xmcGetHeapStats,            Callbacks and writes to streams come after the
 *   xmcCheckHeap, xmcForEachBlock, xmcReportLeaks,          heap was read; they hold nobody up and may call
 *   xmcWriteHeapStats, xmcWriteHeapMap, xmcGetHeapText)     any function
 *   xmcHost... calls                                        never wait; during an unmap, reset or growth they
 *                                                         return XMC_HEAP_NOT_MAPPED
 *   all others                                              run as if alone
 *
 * A heap is quiet if no kernel and no host thread is working on it. An inspector or a save of one that is
 * not quiet tells a mixture of what it was and what it becomes, or XMC_HEAP_CORRUPT, but does no harm. As OpenCL has
 * it, one kernel object must not have its arguments set by two threads at the same time.
 *
 * Later versions may add members at the end of the structs that the library fills. So the library is told the size
 * of the caller's struct, and a program and a library of different versions understand each other: the library
 * writes the members that both know and sets to 0 those that only the caller knows. Programs call xmcGetHeapStats,
 * xmcCheckHeap and xmcForEachBlock, which pass the size of the struct that the program was compiled with. The
 * functions behind them, whose names end with Sized, are for bindings of other languages.
 */
#ifndef XMALLOC_H
#define XMALLOC_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif

/* Programs that link the static library define XMALLOC_STATIC_DEFINE (CMake's target and pkg-config's flags do);
 * XMALLOC_BUILDING is defined only while the library itself is compiled. */
#ifdef XMALLOC_STATIC_DEFINE
#define XMALLOC_EXPORT
#elif defined(_WIN32) && defined(XMALLOC_BUILDING)
#define XMALLOC_EXPORT __declspec(dllexport)
#elif defined(_WIN32)
#define XMALLOC_EXPORT __declspec(dllimport)
#elif defined(__GNUC__)
#define XMALLOC_EXPORT __attribute__((visibility("default")))
#else
#define XMALLOC_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* This header's version. A version as one number is laid out like OpenCL's cl_version, so that
 * `XMC_VERSION >= XMC_MAKE_VERSION(0, 2, 0)` works in #if, too, and CL_VERSION_MAJOR(xmcGetVersion()) as well.
 * Until 1.0 a new minor version may change the ABI (the shared library's name ends in .so.0.MINOR); a new patch
 * version does not. From 1.0 on only a new major version does. */
#define XMC_MAKE_VERSION(major, minor, patch) (((major)*0x400000u) | ((minor)*0x1000u) | ((patch)*1u))
#define XMC_VERSION_MAJOR 0
#define XMC_VERSION_MINOR 2
#define XMC_VERSION_PATCH 0
#define XMC_VERSION XMC_MAKE_VERSION(XMC_VERSION_MAJOR, XMC_VERSION_MINOR, XMC_VERSION_PATCH)

/* The version of the library that the program runs with, as XMC_MAKE_VERSION; XMC_VERSION is that of the header it
 * was compiled with. Needs no device and may be called at any time. */
XMALLOC_EXPORT cl_uint xmcGetVersion(void);

typedef struct _xmc_heap *xmc_heap;

/* ---- errors: beside OpenCL's own; xmcErrorString says each in words ---- */
#define XMC_HEAP_TOO_SMALL (-5801) /* no room for the metadata and a few pages: see xmcGetHeapLimits */
/* more than the device can allocate, than XMC_HEAP_MAX_BYTES, or than 32-bit references reach */
#define XMC_HEAP_TOO_LARGE (-5802)
#define XMC_NO_INT64_ATOMICS (-5803) /* the device has no working 64-bit atomics */
#define XMC_SVM_UNAVAILABLE (-5804)  /* the device lacks the kind of SVM asked for */
#define XMC_DEVICE_UNUSABLE (-5805)  /* no path of the library works on the device: see xmcGetDeviceReport */
#define XMC_INVALID_HEAP (-5806)     /* NULL or not a heap */
#define XMC_HEAP_CORRUPT (-5807)     /* an invariant of the arena is broken; see xmc_heap_report */
#define XMC_HEAP_MISMATCH (-5808)    /* program, kernel or queue of another device, context or kind of heap */
#define XMC_HEAP_MAPPED (-5809)      /* the heap is mapped to the host: unmap it first */
#define XMC_HEAP_NOT_MAPPED (-5810)  /* host calls on this heap need xmcMapHeap first */
#define XMC_FILE_UNUSABLE (-5811)    /* a file cannot be opened, read or written; errno says why */
#define XMC_FILE_FOREIGN (-5812)     /* not a heap that xmcSaveHeap wrote */
#define XMC_FILE_VERSION (-5813)     /* a heap of another file version, arena layout or byte order */
#define XMC_FILE_TRUNCATED (-5814)   /* the file ends too early */
#define XMC_FILE_DAMAGED (-5815)     /* a checksum is wrong, or what it protects contradicts itself */
#define XMC_NO_DEFAULT_HEAP (-5816)  /* the device has no working variables at program scope */
#define XMC_HEAP_IS_DEBUG (-5817)    /* host calls do not serve heaps made with XMC_HEAP_DEBUG */
#define XMC_FILE_NOT_REGULAR (-5818) /* the path names a folder, device, pipe or socket */
#define XMC_HEAP_NOT_TRACED (-5819)  /* the heap was made without XMC_HEAP_TRACE_BYTES: it has no trace */

/* ---- properties of xmcCreateHeap: a list of name, value, …, 0; each name at most once ---- */
typedef intptr_t xmc_heap_properties;
typedef cl_uint xmc_heap_info;

#define XMC_HEAP_BACKING 0x5801    /* XMC_BACKING_…; default XMC_BACKING_BUFFER */
#define XMC_HEAP_COALESCING 0x5802 /* XMC_COALESCE_…; default XMC_COALESCE_CLASS */
#define XMC_HEAP_FIFOS 0x5803      /* FIFOs a size class; 0: unbuffered; default XMC_FIFOS_DEFAULT */
#define XMC_HEAP_FIFO_START 0x5804 /* first 32-bit sequence number of every FIFO (to test wrap-around) */
/* bytes: xmcGrowHeap makes the heap as large as that; 0, the default: the heap cannot grow */
#define XMC_HEAP_MAX_BYTES 0x5806
#define XMC_HEAP_DEBUG 0x5805 /* debug level, 0 … XMC_DEBUG_MAX, costs: cl/calls/debug.cl; default 0 */
/* bytes of the heap for a ring of the last events, which xmcWriteTrace tells: 48 for each, rounded down to a power of two of events,
 * at least 64; 0, the default: nothing is recorded, and programs have no code for it */
#define XMC_HEAP_TRACE_BYTES 0x5807
/* n: a hash chooses one in n of the addresses at which blocks begin, and every request and free of a block there is recorded; regions always
 * are. 1, the default: each event */
#define XMC_HEAP_TRACE_EVERY 0x5808

#define XMC_BACKING_BUFFER 1   /* a cl_mem buffer */
#define XMC_BACKING_SVM 2      /* coarse-grained shared virtual memory */
#define XMC_BACKING_SVM_FINE 3 /* fine-grained SVM, with atomics where the device has them */

#define XMC_COALESCE_NONE 0        /* every work-item by itself */
#define XMC_COALESCE_COMPARTMENT 1 /* one block a sub-group, cut into compartments (2011, figures 3, 4) */
#define XMC_COALESCE_CLASS 2       /* one claim for the lanes of a sub-group that want the same size class */

/* one for each sub-group that can be resident; on CPU devices 4 a compute unit, rounded up to 64; fewer in small heaps,
 * there on GPUs fewest for the large classes */
#define XMC_FIFOS_DEFAULT (-1)
#define XMC_DEBUG_MAX 3

/* Creates a heap whose arena is one allocation of `bytes` bytes, metadata included (at most 2.4 % from
 * 64 MiB up), and waits until kernels may use it. It serves kernels on `device`, which must belong to
 * `context`; a context may have any number of heaps. To a heap all sub-devices of a root device, and the root device,
 * are one device: its queues and programs may be of any of them that the context takes. Kernels on several of them at
 * the same time may share a heap where the device is a CPU; elsewhere one must end before another starts. The first heap on a device probes it: a few small
 * programs, one of them with a malloc and a free, are built and run, once a process.
 * Errors: CL_INVALID_CONTEXT, CL_INVALID_DEVICE, CL_INVALID_PROPERTY (unknown, twice, or a bad value),
 * XMC_HEAP_TOO_SMALL, XMC_HEAP_TOO_LARGE, XMC_NO_INT64_ATOMICS, XMC_SVM_UNAVAILABLE, XMC_DEVICE_UNUSABLE,
 * CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY. */
XMALLOC_EXPORT xmc_heap xmcCreateHeap(cl_context context, cl_device_id device,
                                      const xmc_heap_properties *properties, size_t bytes,
                                      cl_int *errcode_ret);

/* The fewest and the most bytes that xmcCreateHeap takes on the device with these properties; each pointer may be NULL.
 * Where `least` is more than `most` there is no such heap. The most is one allocation of the device; it may still fail
 * for lack of memory. The context may be NULL: one of the library's own is used. Probes the device, as
 * xmcCreateHeap does. Errors: those of xmcCreateHeap that do not depend on the number of bytes. */
XMALLOC_EXPORT cl_int xmcGetHeapLimits(cl_context context, cl_device_id device,
                                       const xmc_heap_properties *properties, size_t *least, size_t *most);

/* What the library found out about a device, as text for people, with or without a heap: the path that programs take,
 * the sizes of heaps, build options, and each path that was tried, with what failed. As clGetDeviceInfo: `size` is the
 * room at `text`; `size_ret` gets the size of the text with its NUL; either pointer may be NULL. The context may be
 * NULL: one of the library's own is used. Probes the device, once a process.
 * CL_SUCCESS: heaps can be made there. XMC_NO_INT64_ATOMICS, XMC_DEVICE_UNUSABLE: they cannot, and the text, which is
 * written all the same, says why. Errors, without a text: CL_INVALID_DEVICE, CL_INVALID_VALUE (too little room),
 * CL_OUT_OF_HOST_MEMORY, OpenCL's. */
XMALLOC_EXPORT cl_int xmcGetDeviceReport(cl_context context, cl_device_id device, size_t size, char *text,
                                         size_t *size_ret);

/* Reference count + 1; a new heap has 1. Error: XMC_INVALID_HEAP. */
XMALLOC_EXPORT cl_int xmcRetainHeap(xmc_heap heap);

/* Counts the references down by one, and destroys the heap when the count reaches 0. A mapped heap is not destroyed: the call returns
 * XMC_HEAP_MAPPED and leaves the count as it was. Kernels that are queued already may still run on the heap: its arena is freed when they
 * have ended (SVM: by the next call that creates or releases a heap). Exception: an SVM heap whose info XMC_HEAP_DEFERRED_RELEASE is
 * CL_FALSE; there, finish the queues first. Errors: XMC_INVALID_HEAP, XMC_HEAP_MAPPED. */
XMALLOC_EXPORT cl_int xmcReleaseHeap(xmc_heap heap);

/* Forgets every block and every count: the heap is as new. Waits for the queue before and after, and until the host calls of
 * other threads have returned.
 * Errors: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH (queue of another device or context), XMC_HEAP_MAPPED, OpenCL's. */
XMALLOC_EXPORT cl_int xmcResetHeap(xmc_heap heap, cl_command_queue queue);

/* Makes a heap larger that was created with XMC_HEAP_MAX_BYTES: `bytes` is the new size of its arena, as of xmcCreateHeap.
 * Every block stays, with its contents and its xmcRef; so do counts, programs, one-geometry programs and the callback. The
 * heap must be quiet, and what is in `queue` is waited for. What changes:
 *
 *   addresses           Pointers into the heap that kernels or the host kept are void, unless XMC_HEAP_SVM_POINTER is what it
 *                       was: fine-grained SVM on CPU devices keeps its place, since addresses for the largest size are
 *                       reserved from the beginning (where there are so many).
 *   kernel arguments    Call xmcSetKernelArgHeap again for each kernel, xmcBindDefaultHeap for each program with a default
 *                       heap, and ask XMC_HEAP_ARGUMENT and its like anew. A launch with the old ones is undefined.
 *   alignments          Those beyond 16 that xmcAlignedAlloc grants depend on the new address, as after xmcLoadHeap; a reset does not
 *                       align the heap anew.
 *
 * A heap that moves exists twice while it is copied, by the device; its tables go through host memory. Growing to the size that
 * the heap has does nothing. If the call fails the heap is as it was.
 * Errors: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH (queue of another device or context), XMC_HEAP_MAPPED, CL_INVALID_VALUE
 * (smaller than the heap is), XMC_HEAP_TOO_LARGE (more than XMC_HEAP_MAX_BYTES, or than one allocation of the device),
 * XMC_HEAP_CORRUPT (the header was overwritten), CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES,
 * CL_OUT_OF_HOST_MEMORY, OpenCL's. Of threads that call it at the same time one comes after the other, and a size that is less than
 * what an earlier one made is CL_INVALID_VALUE. */
XMALLOC_EXPORT cl_int xmcGrowHeap(xmc_heap heap, cl_command_queue queue, size_t bytes);

/* Sets argument `index` of a kernel, declared as `__global xmcHeap *`. The kernel does not retain the heap.
 * Errors: XMC_INVALID_HEAP; XMC_HEAP_MISMATCH if the kernel's program is not for the heap's context and
 * device, or was built for another layout, debug level, coalescing, geometry or path, whether by options, by macros in
 * the source, or as another program that it was linked of, or if the argument is a pointer to numbers or references;
 * those of clSetKernelArg. The type of the argument tells (as xmcHeap_… in clGetKernelArgInfo and in compilers'
 * messages), in programs that were built with -cl-kernel-arg-info, which is one of xmcGetBuildOptions. A kernel that
 * still gets a heap of another layout or debug level does nothing: requests return NULL, frees have no effect. */
XMALLOC_EXPORT cl_int xmcSetKernelArgHeap(cl_kernel kernel, cl_uint index, xmc_heap heap);

/* What xmcGetHeapInfo tells, with the type of the value; the properties above can be asked as well, as
 * xmc_heap_properties, with the value in force. */
#define XMC_HEAP_REFERENCE_COUNT 0x5810  /* cl_uint */
#define XMC_HEAP_CONTEXT 0x5811          /* cl_context */
#define XMC_HEAP_DEVICE 0x5812           /* cl_device_id */
#define XMC_HEAP_BYTES 0x5813            /* size_t: the arena; room beyond 256 GiB is not used */
#define XMC_HEAP_METADATA_BYTES 0x5814   /* size_t: of these, what blocks can never use */
#define XMC_HEAP_MEM_OBJECT 0x5815       /* cl_mem: the arena's buffer; NULL for SVM */
#define XMC_HEAP_SVM_POINTER 0x5816      /* void *: the arena's address; NULL for a buffer */
#define XMC_HEAP_DEFERRED_RELEASE 0x5817 /* cl_bool: xmcReleaseHeap is safe with work queued */
#define XMC_HEAP_SUB_GROUPS 0x5818       /* cl_bool: programs have XMC_HAS_SUBGROUPS */
#define XMC_HEAP_PATH 0x5819        /* char[]: the path programs take, such as "NVIDIA PTX, OpenCL C 3.0" */
#define XMC_HEAP_WHY 0x581a         /* char[]: what the probe found, one line a finding */
#define XMC_HEAP_HOST_ALWAYS 0x581b /* cl_bool: host calls work at any time, without xmcMapHeap */

#define XMC_HEAP_DEFAULTS 0x581c /* cl_bool: xmcBindDefaultHeap works on the device */
/* cl_mem: the value by which clSetKernelArg hands the heap to a kernel, for language bindings that set arguments
 * themselves; NULL: it takes clSetKernelArgSVMPointer with XMC_HEAP_SVM_POINTER. xmcSetKernelArgHeap does this, and
 * checks the program. */
#define XMC_HEAP_ARGUMENT 0x581d

/* As clGetDeviceInfo: `size` is the room at `value`; `size_ret` gets the size of the answer. `value` or
 * `size_ret` may be NULL. Errors: XMC_INVALID_HEAP; CL_INVALID_VALUE (unknown name, too little room). */
XMALLOC_EXPORT cl_int xmcGetHeapInfo(xmc_heap heap, xmc_heap_info name, size_t size, void *value,
                                     size_t *size_ret);

/* ---- the same heap from the host ----
 * The calls below are the kernels' own, compiled for the host, on the same arena: what one side allocates the
 * other may use and free. They may be called by any number of threads at once; none waits for another.
 * xmcHostMalloc acquires and xmcHostFree releases, so a block's next owner, here or in a kernel, sees what was
 * done before.
 *
 * Where the info XMC_HEAP_HOST_ALWAYS is CL_TRUE (fine-grained SVM with atomics) they work at any time, while
 * kernels run on the heap as well. Other heaps must be mapped: between xmcMapHeap and xmcUnmapHeap the arena
 * is the host's, and no kernel may run on it. Without a map they return NULL or 0 and XMC_HEAP_NOT_MAPPED; so
 * do calls that begin while another thread unmaps the heap, or resets or grows one that needs no map, and that thread waits until the calls
 * that began earlier have returned.
 * Addresses are the host's, valid until the unmap; what is to be found again is kept as an xmcRef. Blocks must not be read or
 * written after that.
 *
 * Debug heaps are for kernels: all but the references return NULL or 0 and XMC_HEAP_IS_DEBUG.
 *
 * Every function's errcode_ret may be NULL; it gets CL_SUCCESS, XMC_INVALID_HEAP, XMC_HEAP_NOT_MAPPED, XMC_HEAP_IS_DEBUG,
 * CL_INVALID_VALUE where a function says so, or, where NULL means that no room was left, CL_MEM_OBJECT_ALLOCATION_FAILURE (counted in xmc_heap_stats). */

/* A block's offset from the start of the arena: the same on host and device, in every process; 0 is NULL. */
typedef uint64_t xmcRef;

/* Maps the whole arena for the host and waits for it; buffers in a GPU's memory are copied to the host and,
 * by the unmap, back. Where XMC_HEAP_HOST_ALWAYS it only waits for the queue. `queue` as everywhere; the unmap
 * may name another one of the same device. Errors: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH, XMC_HEAP_MAPPED (it is
 * mapped), XMC_HEAP_CORRUPT (the header was overwritten; the heap stays unmapped), OpenCL's. While it is mapped the heap can be inspected and saved, not reset or released. */
XMALLOC_EXPORT cl_int xmcMapHeap(xmc_heap heap, cl_command_queue queue);

/* Ends the map and waits; kernels enqueued after that see what the host did. On a heap that needs the map it first
 * waits until the host calls of other threads have returned. Errors: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH, XMC_HEAP_NOT_MAPPED, OpenCL's. */
XMALLOC_EXPORT cl_int xmcUnmapHeap(xmc_heap heap, cl_command_queue queue);

/* Allocates `size` bytes, aligned to 16. NULL with CL_SUCCESS for size 0. */
XMALLOC_EXPORT void *xmcHostMalloc(xmc_heap heap, size_t size, cl_int *errcode_ret);

/* … count * size bytes, all zero; a product that overflows is a failed request. */
XMALLOC_EXPORT void *xmcHostCalloc(xmc_heap heap, size_t count, size_t size, cl_int *errcode_ret);

/* … at a multiple of `alignment`, a power of two, in host addresses. 16 is always granted; more as far as the first
 * page of the arena is aligned in host memory, and any that the heap has room for if that is a multiple of 16 KiB. All else is a
 * failed request. */
XMALLOC_EXPORT void *xmcHostAlignedAlloc(xmc_heap heap, size_t alignment, size_t size, cl_int *errcode_ret);

/* Changes a block's size; contents are kept up to the smaller one, the address may change. NULL for ptr
 * allocates; size 0 frees and returns NULL with CL_SUCCESS. On failure NULL and the block stays. A ptr that is
 * no live block is counted as a bad free and gives CL_INVALID_VALUE. */
XMALLOC_EXPORT void *xmcHostRealloc(xmc_heap heap, void *ptr, size_t size, cl_int *errcode_ret);

/* Frees a block. NULL is a no-op. A pointer that is not the start of a live block changes nothing and is counted, as in
 * kernels and with the same two limits (cl/xmalloc.cl names them), and is CL_SUCCESS. Errors: XMC_INVALID_HEAP,
 * XMC_HEAP_NOT_MAPPED, XMC_HEAP_IS_DEBUG. */
XMALLOC_EXPORT cl_int xmcHostFree(xmc_heap heap, void *ptr);

/* Bytes that may be used at ptr, at least what was asked for; 0 if ptr is no block, or the heap not mapped. */
XMALLOC_EXPORT size_t xmcHostUsableSize(xmc_heap heap, void *ptr);

/* A region: blocks that are freed all at once. The same value in kernels (xmcRegionMalloc and its like in cl/regions/calls.cl), on
 * the host, in every process and after the heap was saved and loaded; 0 is none. */
typedef uint64_t xmcRegion;

/* A new region; 0 if there is no room. It takes 32 KiB of the heap, and as much or more for each thread that allocates in it. */
XMALLOC_EXPORT xmcRegion xmcHostRegionCreate(xmc_heap heap, cl_int *errcode_ret);

/* Allocates `size` bytes in the region, aligned to 16, which live until it is freed or reset. NULL with CL_SUCCESS for size 0; for
 * a region that is none, or was freed, CL_INVALID_VALUE, counted as an invalid free. */
XMALLOC_EXPORT void *xmcHostRegionMalloc(xmc_heap heap, xmcRegion region, size_t size, cl_int *errcode_ret);

/* Frees all blocks of the region, and the region; or all blocks only, and the region keeps its chunks for further requests, which no
 * other thread or kernel may make meanwhile. 0 is a no-op; a region that is none changes nothing and is counted as an
 * invalid free, and is CL_SUCCESS. Errors: XMC_INVALID_HEAP, XMC_HEAP_NOT_MAPPED, XMC_HEAP_IS_DEBUG. */
XMALLOC_EXPORT cl_int xmcHostRegionFree(xmc_heap heap, xmcRegion region);
XMALLOC_EXPORT cl_int xmcHostRegionReset(xmc_heap heap, xmcRegion region);

/* Bytes that the region has from the heap; 0 if it is none, or the heap not mapped. */
XMALLOC_EXPORT size_t xmcHostRegionBytes(xmc_heap heap, xmcRegion region);

/* Reference of an address in the arena, and back. NULL and 0 for each other, for what lies outside of the arena
 * and for a heap that is not mapped. */
XMALLOC_EXPORT xmcRef xmcHostToRef(xmc_heap heap, const void *ptr);
XMALLOC_EXPORT void *xmcHostFromRef(xmc_heap heap, xmcRef ref);

/* A reference in 32 bits, for data that holds many of them. A block starts at a multiple of 16 bytes, so 32 bits
 * reach 64 GiB. In kernels xmcToRef32 and xmcFromRef32 make and follow them. */
typedef uint32_t xmcRef32;

/* Do 32-bit references reach every block of the heap? Ask before a program relies on them. The heap need not be
 * mapped. CL_SUCCESS: yes. Errors: XMC_INVALID_HEAP, XMC_HEAP_TOO_LARGE (the arena has, or can
 * grow to, more than 64 GiB). */
XMALLOC_EXPORT cl_int xmcCheckRef32(xmc_heap heap);

/* As xmcHostToRef and xmcHostFromRef. An address that has no 32-bit reference, because it is no multiple of 16 from
 * the arena's start or lies beyond 64 GiB, gives 0: a reference is never cut. */
XMALLOC_EXPORT xmcRef32 xmcHostToRef32(xmc_heap heap, const void *ptr);
XMALLOC_EXPORT void *xmcHostFromRef32(xmc_heap heap, xmcRef32 ref);

/* ---- heaps in files ---- */

/* Writes the heap, which must be quiet, to a file: what is in use, so an 8 GiB heap with 1 MiB of blocks is a
 * small file.
 * It is written to a temporary file in the same folder, xmc-save-<16 hexadecimal digits>.part, flushed to the disk, and
 * then renamed, so whoever opens `path` finds the old file or the whole new one. Any number of threads and processes may
 * save to one path at the same time: the last one to be renamed stays. If the call fails, the old file stays as it was;
 * after a crash a temporary file may be left over, which no later save uses or removes. A symbolic link is followed, and the file
 * it points to is replaced, or created. The new file has the old one's mode and, where the process may
 * give it away, owner and group; other names (hard links) of the old file keep the old contents.
 * Errors: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH, XMC_HEAP_CORRUPT (nothing is written), CL_INVALID_VALUE (path is
 * NULL), XMC_FILE_NOT_REGULAR, XMC_FILE_UNUSABLE, CL_OUT_OF_HOST_MEMORY, OpenCL's. */
XMALLOC_EXPORT cl_int xmcSaveHeap(xmc_heap heap, cl_command_queue queue, const char *path);

/* Creates a heap as it was when it was saved, on any device of the same byte order: every xmcRef leads to its
 * data, bad frees and failures remain counted. `properties` may choose the backing; others, if given, must be
 * those of the saved heap. The FIFOs are as many as on the device that the heap was made on. Alignments over
 * 16 that xmcAlignedAlloc can give depend on the new arena's address, until a reset.
 * The whole file is checked before anything is created. Whatever a file says, with whatever sums, it is refused or it is
 * a heap in which no two live blocks overlap and no call, good or bad, leaves the arena; what the blocks contain is
 * as good as the file's author. Errors: those of xmcCreateHeap, CL_INVALID_VALUE (path
 * is NULL), XMC_FILE_NOT_REGULAR (the file is read twice), XMC_FILE_UNUSABLE, XMC_FILE_FOREIGN, XMC_FILE_VERSION,
 * XMC_FILE_TRUNCATED, XMC_FILE_DAMAGED. */
XMALLOC_EXPORT xmc_heap xmcLoadHeap(cl_context context, cl_device_id device,
                                    const xmc_heap_properties *properties, const char *path,
                                    cl_int *errcode_ret);

#define XMC_STATS_CLASSES 32

/* What a walk through the arena found. In the papers' words a Basicblock is a block of up to 8 KiB, a Superblock is 1 to 32 Basicblocks of
 * one size class, and a Memoryblock is a larger block, a run of 16 KiB pages. Byte figures of live blocks count whole size classes and
 * pages. */
typedef struct xmc_heap_stats {
  cl_ulong heap_bytes;     /* the arena */
  cl_ulong metadata_bytes; /* of these, what blocks can never use */
  cl_ulong live_blocks;
  cl_ulong live_bytes; /* of live blocks */
  cl_ulong free_bytes; /* in free pages, and in free Basicblocks */
  /* The largest request that would be granted if nobody else called meanwhile: pages in a row that are free, or can be taken
   * back because no block in them is live. Runs of more than 64 pages begin at a multiple of 64 pages. */
  cl_ulong largest_free_bytes;
  /* part of free_bytes: free Basicblocks in Superblocks, and unused places of slabs */
  cl_ulong free_block_bytes;
  cl_ulong superblocks;  /* Superblocks in use */
  cl_ulong memoryblocks; /* live blocks that are Memoryblocks of their own */
  cl_ulong memoryblock_bytes;
  cl_ulong failed_requests;    /* since creation or reset, as are the rest */
  cl_ulong first_failure_size; /* bytes asked for by the first request that failed */
  /* its work-item's global linear id; of a work-group call, the first's on CPU devices */
  cl_ulong first_failure_id;
  cl_ulong double_frees;
  /* of pointers at which no block begins (or none any more, if the page was used anew), and of bad regions */
  cl_ulong invalid_frees;
  cl_ulong first_double_free; /* xmcRef of the first one */
  /* the first such pointer minus the arena's address: its xmcRef if it lies in the arena; else, modulo 2^64, a number
   * beyond heap_bytes that is no xmcRef */
  cl_ulong first_invalid_free;
  cl_ulong class_bytes[XMC_STATS_CLASSES];       /* size of a Basicblock of each class */
  cl_ulong class_live_blocks[XMC_STATS_CLASSES]; /* how many of them are live */
  cl_ulong red_zone_errors;      /* debug heaps: freed blocks beside which something was overwritten */
  cl_ulong first_red_zone_error; /* xmcRef of the first one */
  cl_ulong use_after_frees;      /* debug heaps, level 2: blocks that were written to after their free */
  cl_ulong first_use_after_free;
  /* bytes asked for by all requests that failed, as a heap may have to grow by; those beyond 256 GiB, which no heap has, add
   * nothing */
  cl_ulong failed_bytes;
  /* Bytes of all pages that were ever in use since creation or reset: at least what was in use at once, which is not counted, because the
   * count would be one word that all work-items write to. */
  cl_ulong high_water_bytes;
  /* Pages in use in which no block is live. A request of any size gets them when free pages are used up, so that at once
   * there is room for free_bytes - free_block_bytes + reclaimable_bytes. */
  cl_ulong reclaimable_bytes;
  cl_ulong regions;       /* live; each counts as one of live_blocks, and its chunks in live_bytes */
  cl_ulong region_chunks; /* runs of pages that they consist of */
  cl_ulong region_bytes;  /* of all these pages */
} xmc_heap_stats;

/* As xmcGetHeapStats; `size` is the size in bytes of the struct at `stats`. */
XMALLOC_EXPORT cl_int xmcGetHeapStatsSized(xmc_heap heap, cl_command_queue queue, size_t size,
                                           xmc_heap_stats *stats);

/* Fills `stats`. Exact when no kernel is working on the heap.
 * Errors: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH, XMC_HEAP_CORRUPT (the header was overwritten, or a state word with
 * something impossible), CL_INVALID_VALUE (stats is NULL, or its size less than in version 0.1), CL_OUT_OF_HOST_MEMORY, OpenCL's. Cost:
 * copies the metadata, at most 2.4 % of heaps from 64 MiB up, and walks through it. After an
 * error `stats` is as it was. */
static inline cl_int xmcGetHeapStats(xmc_heap heap, cl_command_queue queue, xmc_heap_stats *stats) {
  return xmcGetHeapStatsSized(heap, queue, sizeof *stats, stats);
}

typedef enum xmc_problem {
  XMC_PROBLEM_NONE = 0,
  XMC_PROBLEM_HEADER,      /* magic, geometry or a table's place is not what the heap was made with */
  XMC_PROBLEM_PAGE_MAP,    /* a page's entry and its neighbours' or its Superblock contradict each other */
  XMC_PROBLEM_FREE_PAGES,  /* a page is free and in use, or neither */
  XMC_PROBLEM_STATE_WORD,  /* a Superblock's word is impossible */
  XMC_PROBLEM_NOT_LISTED,  /* a Superblock with free Basicblocks that no FIFO leads to: room is lost */
  XMC_PROBLEM_FIFO,        /* impossible head, tail, sequence number or entry */
  XMC_PROBLEM_BITMAP,      /* an index misses what it should find */
  XMC_PROBLEM_COMPARTMENT, /* a coalesced block's headers contradict each other */
  XMC_PROBLEM_RED_ZONE,    /* a debug heap: bytes beside a block were overwritten */
  XMC_PROBLEM_REGION       /* a chunk that belongs to no region, or has more room than pages */
} xmc_problem;

typedef struct xmc_heap_report {
  cl_ulong problems; /* how many were found; the rest is about the first */
  cl_ulong offset;   /* where in the arena, bytes */
  xmc_problem code;
  char message[244]; /* in words */
} xmc_heap_report;

/* As xmcCheckHeap; `size` is the size in bytes of the struct at `report`, and is ignored if that is NULL. */
XMALLOC_EXPORT cl_int xmcCheckHeapSized(xmc_heap heap, cl_command_queue queue, size_t size,
                                        xmc_heap_report *report);

/* Verifies every invariant of the arena, which must be quiet; in debug heaps from level 2 on the red zones of all
 * live blocks as well (on GPUs not of those that lanes share by compartments). CL_SUCCESS: intact. XMC_HEAP_CORRUPT:
 * the report, which may be NULL, says what is broken and where. Nothing is changed, and whatever the arena
 * holds, nothing outside it is read.
 * Other errors: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH, CL_INVALID_VALUE (the report's size is less than in version
 * 0.1), CL_OUT_OF_HOST_MEMORY, OpenCL's. Cost: as xmcGetHeapStats, and in debug heaps from level 2 on a read of all live blocks. */
static inline cl_int xmcCheckHeap(xmc_heap heap, cl_command_queue queue, xmc_heap_report *report) {
  return xmcCheckHeapSized(heap, queue, sizeof *report, report);
}

/* ---- what a heap holds ---- */

#define XMC_BLOCK_OF_PAGES 0xffffffffu
#define XMC_BLOCK_OF_REGION 0xfffffffeu

/* A live block, or a region, which is one for all its blocks: `ref` is where it begins, `usable` the bytes of its chunks */
typedef struct xmc_block {
  xmcRef ref;
  cl_ulong size;   /* bytes asked for, where a debug heap knows; else as usable */
  cl_ulong usable; /* bytes; in a debug heap those asked for */
  cl_uint
      size_class; /* index into xmc_heap_stats' class_bytes; XMC_BLOCK_OF_PAGES for one of whole pages, XMC_BLOCK_OF_REGION */
  cl_uint line; /* of the call that allocated it, where a debug heap knows; else 0 */
  /* likewise; else NULL. "<kernel>": the source of xmcCreateProgramWithSource; "file 0x…": another one, by its hash */
  const char *file;
} xmc_block;

/* Non-zero ends the listing. The block is valid until the return. */
typedef int(CL_CALLBACK *xmc_block_callback)(const xmc_block *block, void *data);

/* As xmcForEachBlock; `size` is the size in bytes of the struct xmc_block that the callback knows. */
XMALLOC_EXPORT cl_int xmcForEachBlockSized(xmc_heap heap, cl_command_queue queue, size_t size,
                                           xmc_block_callback callback, void *data);

/* Calls back for each live block, by ascending reference. Blocks that lanes share by compartments are one. The
 * heap must be quiet. The blocks are those that were live when the call began, so the callback may do as it likes with
 * the heap, which includes to release it; of a debug heap all blocks are read before the first callback, into 24 bytes of
 * memory for each. Errors: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH, XMC_HEAP_CORRUPT (the header or the tables say what cannot
 * be, and no block is told; xmcCheckHeap says what), CL_INVALID_VALUE (no callback, or a block's size less than in version
 * 0.1), CL_OUT_OF_HOST_MEMORY, OpenCL's. */
static inline cl_int xmcForEachBlock(xmc_heap heap, cl_command_queue queue, xmc_block_callback callback,
                                     void *data) {
  return xmcForEachBlockSized(heap, queue, sizeof(xmc_block), callback, data);
}

/* Writers of text to a stream. Errors: as xmcForEachBlock; CL_INVALID_VALUE (no file), XMC_FILE_UNUSABLE. */

/* What is still allocated: how much of each size, and the first blocks. */
XMALLOC_EXPORT cl_int xmcReportLeaks(xmc_heap heap, cl_command_queue queue, FILE *file);

/* xmc_heap_stats as JSON. */
XMALLOC_EXPORT cl_int xmcWriteHeapStats(xmc_heap heap, cl_command_queue queue, FILE *file);

/* A picture of the heap, as SVG: what every part of the arena is used for, what is free and how it is cut up.
 * Reads the metadata only; a file of some 10 KiB whatever the heap's size. */
XMALLOC_EXPORT cl_int xmcWriteHeapMap(xmc_heap heap, cl_command_queue queue, FILE *file);

/* The same texts, and a table, in memory. */
typedef cl_uint xmc_heap_text;
#define XMC_TEXT_STATS_TABLE 0x5841 /* xmc_heap_stats as a table for people, with human units */
#define XMC_TEXT_STATS_JSON 0x5842  /* what xmcWriteHeapStats writes */
#define XMC_TEXT_LEAKS 0x5843       /* what xmcReportLeaks writes */
#define XMC_TEXT_MAP_SVG 0x5844     /* what xmcWriteHeapMap writes */

/* Writes one of these texts, in UTF-8, to `text`, which has room for `size` bytes. `size_ret` gets the text's length
 * in bytes with the NUL at its end. `text` or `size_ret` may be NULL; the usual way is to call twice, first for the
 * length. Those of xmcWriteTrace (XMC_TRACE_…) are had in the same way. Each call reads the heap anew, so the heap must be quiet in between for the length to stay the same.
 * Errors: as xmcForEachBlock; CL_INVALID_VALUE (unknown `what`, or too little room: `size_ret` is set then, and
 * nothing is written). */
XMALLOC_EXPORT cl_int xmcGetHeapText(xmc_heap heap, cl_command_queue queue, xmc_heap_text what, size_t size,
                                     char *text, size_t *size_ret);

/* ---- what kernels did over time ----
 *
 * A heap that is created with XMC_HEAP_TRACE_BYTES keeps its last events in a ring: which call, when, how many bytes, where the call
 * stands in the source (file and line), in which work-item. This works at every debug level, in kernels and in host calls,
 * and the ring is saved with the heap. Time is the device's where kernels can read a clock: NVIDIA's %globaltimer in
 * nanoseconds; cl_khr_kernel_clock, and on PoCL for x86 the time-stamp counter, in ticks whose length is not known and which are
 * told as nanoseconds. Elsewhere it is the number of the event. A host call has the time of the event before it.
 * Nobody waits for the ring: an event that is overwritten before it was told is lost, and counted. Programs must be built with this
 * heap's xmcGetBuildOptions; those for a heap without a ring are XMC_HEAP_MISMATCH. Objects that xmcLinkProgram links with the
 * library record nothing: only programs that have its source do. include/guides/timeline.md shows pictures, and
 * what a trace costs. */

/* A text about the trace. Sites are "<kernel>:57": line 57 of the source of xmcCreateProgramWithSource; "file 0x…:57" of another file,
 * by its hash; "<host>": a host call. */
typedef cl_uint xmc_trace_format;
/* JSON of the Trace Event Format, which ui.perfetto.dev and chrome://tracing open: each event, and live bytes of each size class over
 * time. `otherData` has totals: events and how many of them are lost, allocations, frees, live blocks and bytes as xmc_heap_stats
 * counts them but for regions, which are told apart. If every event is recorded and none is lost they are those of
 * xmcGetHeapStats. */
#define XMC_TRACE_CHROME 0x5845
/* Folded stacks for flame graphs, a line for each call site and size class: "<kernel>;<kernel>:57;64 B 4096", bytes that are live */
#define XMC_TRACE_FOLDED 0x5846
/* … where the number is of allocations, whether they are live or not */
#define XMC_TRACE_FOLDED_ALLOCATIONS 0x5847
/* A table for people: call sites by live bytes, allocations, frees and failures */
#define XMC_TRACE_TOP 0x5848

/* Writes such a text to a stream. The heap must be quiet. xmcGetHeapText takes the same numbers.
 * Errors: as xmcForEachBlock; XMC_HEAP_NOT_TRACED; CL_INVALID_VALUE (no file, or an unknown format), XMC_FILE_UNUSABLE. */
XMALLOC_EXPORT cl_int xmcWriteTrace(xmc_heap heap, cl_command_queue queue, FILE *file,
                                    xmc_trace_format format);

/* ---- failures that show ----
 *
 * Kernels only count what goes wrong. A program sees it in xmc_heap_stats, by a callback, or, without any change, by
 * the environment: XMC_SHOW=stats,leaks,errors, or some of these words, makes xmcReleaseHeap print to stderr what
 * it releases. `stats` is XMC_TEXT_STATS_TABLE, `leaks` is XMC_TEXT_LEAKS, `errors` is a line for each kind of failure
 * that was counted. Colours are used on a terminal, unless NO_COLOR is set or TERM is dumb. The figures are exact if
 * the queues that used the heap were finished before. */

/* A kind of failure */
typedef cl_uint xmc_heap_event;
#define XMC_EVENT_FAILED_REQUEST 0x5851 /* a request got NULL; `value`: the bytes asked for */
#define XMC_EVENT_DOUBLE_FREE 0x5852 /* `value`: the xmcRef, as xmc_heap_stats has it; so for the next ones */
#define XMC_EVENT_INVALID_FREE 0x5853
/* debug heaps: an overwritten header; from level 2 on any overwritten byte beside a block */
#define XMC_EVENT_RED_ZONE 0x5854
#define XMC_EVENT_USE_AFTER_FREE 0x5855 /* debug heaps from level 2 on */

/* The first failure of a kind: what xmc_heap_stats says of it. `id` is the work-item's global linear id for a failed
 * request, and 0 for other kinds. */
typedef void(CL_CALLBACK *xmc_event_callback)(xmc_heap heap, xmc_heap_event event, cl_ulong value,
                                              cl_ulong id, void *data);

/* Calls back, once for each kind of failure that happened in kernels or host calls since the heap was created, loaded
 * or reset, or since this function was called. It is called by the host functions that look at the heap, when the
 * first of them sees the failure: xmcGetHeapStats, xmcCheckHeap, xmcForEachBlock, xmcSaveHeap and the texts; xmcMapHeap
 * and xmcUnmapHeap; xmcResetHeap; and xmcReleaseHeap that destroys the heap. Without a callback (NULL, as a new
 * heap has it) these cost nothing more; with one, map, unmap, reset and release read the heap's header.
 *
 * The callback runs in the thread that called the host function, before that returns, and the library holds no lock
 * then. If several threads look at a heap at the same time, one of them calls back, and another one may return
 * before it has. The callback may do as it likes with the heap, which includes to release it (if one call has several events
 * to tell, the callback may then come once more, with the handle of a heap that is gone); only if xmcReleaseHeap
 * calls it, because the heap is to be destroyed, it must neither retain nor release nor map it. `data` is handed
 * through, and must live as long as the callback is set. Error: XMC_INVALID_HEAP. */
XMALLOC_EXPORT cl_int xmcSetHeapCallback(xmc_heap heap, xmc_event_callback callback, void *data);

/* What changed between two xmc_heap_stats of one heap, for instance by one launch. Kernels count failures, but no
 * allocations: a block that was both allocated and freed in between is not seen. Which blocks are new is the
 * difference of two listings by xmcForEachBlock. */
typedef struct xmc_heap_change {
  /* of the size classes of which more blocks are live than before, how many more: what a launch that should free its
   * blocks leaked. Whole pages count as one class. */
  cl_ulong added_blocks;
  cl_ulong added_bytes;
  cl_ulong removed_blocks; /* of the other size classes, how many fewer */
  cl_ulong removed_bytes;
  cl_ulong failed_requests; /* from here on: what happened in between */
  cl_ulong double_frees;
  cl_ulong invalid_frees;
  cl_ulong red_zone_errors;
  cl_ulong use_after_frees;
  cl_long memoryblocks; /* live blocks of whole pages, after less before */
  cl_long memoryblock_bytes;
  cl_long class_live_blocks[XMC_STATS_CLASSES]; /* live blocks of each size class, after less before */
  cl_long regions;                              /* live regions, after less before */
  cl_long region_bytes;
} xmc_heap_change;

/* Fills `change` from two statistics of a heap that was not reset in between. */
static inline void xmcCompareHeapStats(const xmc_heap_stats *before, const xmc_heap_stats *after,
                                       xmc_heap_change *change) {
  const cl_long blocks = (cl_long)(after->memoryblocks - before->memoryblocks);
  const cl_long bytes = (cl_long)(after->memoryblock_bytes - before->memoryblock_bytes);
  const cl_long regions = (cl_long)(after->regions - before->regions);
  const cl_long region_bytes = (cl_long)(after->region_bytes - before->region_bytes);
  int i;
  change->added_blocks = blocks > 0 ? (cl_ulong)blocks : 0;
  change->removed_blocks = blocks < 0 ? (cl_ulong)-blocks : 0;
  change->added_bytes = bytes > 0 ? (cl_ulong)bytes : 0;
  change->removed_bytes = bytes < 0 ? (cl_ulong)-bytes : 0;
  change->memoryblocks = blocks;
  change->memoryblock_bytes = bytes;
  change->regions = regions;
  change->region_bytes = region_bytes;
  change->added_blocks += regions > 0 ? (cl_ulong)regions : 0;
  change->removed_blocks += regions < 0 ? (cl_ulong)-regions : 0;
  change->added_bytes += region_bytes > 0 ? (cl_ulong)region_bytes : 0;
  change->removed_bytes += region_bytes < 0 ? (cl_ulong)-region_bytes : 0;
  for (i = 0; i < XMC_STATS_CLASSES; i++) {
    const cl_long n = (cl_long)(after->class_live_blocks[i] - before->class_live_blocks[i]);
    change->class_live_blocks[i] = n;
    change->added_blocks += n > 0 ? (cl_ulong)n : 0;
    change->added_bytes += n > 0 ? (cl_ulong)n * after->class_bytes[i] : 0;
    change->removed_blocks += n < 0 ? (cl_ulong)-n : 0;
    change->removed_bytes += n < 0 ? (cl_ulong)-n * after->class_bytes[i] : 0;
  }
  change->failed_requests = after->failed_requests - before->failed_requests;
  change->double_frees = after->double_frees - before->double_frees;
  change->invalid_frees = after->invalid_frees - before->invalid_frees;
  change->red_zone_errors = after->red_zone_errors - before->red_zone_errors;
  change->use_after_frees = after->use_after_frees - before->use_after_frees;
}

/* As clCreateProgramWithSource, with the device library in front, or in place of each `#include "xmalloc.cl"`,
 * "xmalloc_default.cl" or "xmalloc_std.h" that the strings hold, whatever folder these name; line numbers in messages
 * remain those of the strings. A byte order mark at the beginning of a string is left out. Where strings and lengths
 * cut the text does not matter.
 * Includes in files of your own, and by macros, are the compiler's affair: it finds "xmalloc.cl" if the build options
 * have -I and the folder of the kernel sources (pkg-config --variable=cldir xmalloc; CMake: xmalloc_CL_DIR). What it
 * finds there adds nothing to the library that the program has already. Headers that are to do without that folder
 * include nothing, or only `#ifndef XMC_XMALLOC_CL`.
 * Build the program with xmcGetBuildOptions(heap), and any options of your own after them. The program serves any
 * heap made with the same properties on the same device and context.
 * NVIDIA's compiler takes seconds for each place of a kernel at which the library stands. If a kernel in the strings has more than 2 places
 * that allocate (names with "alloc" before a parenthesis), or all of them together more than 8, the program gets XMC_CALLS 1: each
 * place has the short way of malloc and free, and the rest stands in the program once and is called. It compiles in a quarter of the
 * time; pairs of malloc and free take 1.0 to 1.2 times as long, and so do mixed sizes. With more than 16 places it gets XMC_CALLS 2: each
 * place is a call, and pairs take 1.1 to 1.3 times as long, the benchmark's `churn` 1.6. `#define XMC_CALLS 0` (or 1, or 2) before the
 * include, or -DXMC_CALLS=0 among the options, decides it otherwise; where no string includes the library, only the option does. Other
 * devices' programs are as they are with 0.
 * On NVIDIA a program with XMC_CALLS 0 for a heap with fewer FIFOs of some class than sub-groups can be resident, such as one of 1 GiB, is compiled with
 * XMC_NO_YIELDS 1: work-items of a sub-group that call in a loop of their own stay together. Kernels in which each work-item
 * allocates and frees many sizes (the benchmark's `ageing` and `churn`) take 0.3 to 0.65 of the time. Where all ask for the
 * same size at the same time, malloc and free take 1.0 to 1.15 times as long (malloc of 2 KiB 1.25). -DXMC_NO_YIELDS=0 or =1 among
 * the options decides it otherwise.
 * Errors: XMC_INVALID_HEAP, CL_INVALID_VALUE, CL_OUT_OF_HOST_MEMORY, OpenCL's. */
XMALLOC_EXPORT cl_program xmcCreateProgramWithSource(xmc_heap heap, cl_uint count, const char **strings,
                                                     const size_t *lengths, cl_int *errcode_ret);

/* Links programs that clCompileProgram compiled from OpenCL C with the device library, for the heap's device. They need not include
 * xmalloc.cl but only declare what they call; the header xmalloc_link.h beside it has all declarations. The library
 * is compiled with the heap's build options; those of the objects are the caller's own affair. The program serves the
 * heaps that one of xmcCreateProgramWithSource serves. `options` are clLinkProgram's, or NULL.
 * With XMC_LINK_DEFAULT_HEAP the program has a default heap as well, to be set by xmcBindDefaultHeap, and objects without a heap
 * to pass may call xmcMallocDefault and the like, malloc, free, calloc, realloc, aligned_alloc, C++'s operators new and
 * delete, __chip_malloc and __chip_free, gpu_malloc and gpu_free. Their pointers are generic where the device has a generic
 * address space, else __global. Such objects must not include xmalloc_default.cl.
 * Objects of an intermediate language (clCreateProgramWithIL) are linked with the modules that are installed instead, by
 * clLinkProgram: include/guides/plug-in.md.
 * Cost: the library is compiled anew in each call.
 * Errors: XMC_INVALID_HEAP, CL_INVALID_VALUE (no program, more than 32, an unknown flag), XMC_NO_DEFAULT_HEAP,
 * CL_INVALID_OPERATION (an object of an intermediate language, or one that was not compiled), OpenCL's; after
 * CL_LINK_PROGRAM_FAILURE the returned program, unless it is NULL, has the log. */
typedef cl_bitfield xmc_link_flags;
#define XMC_LINK_DEFAULT_HEAP 1u
XMALLOC_EXPORT cl_program xmcLinkProgram(xmc_heap heap, xmc_link_flags flags, cl_uint count,
                                         const cl_program *programs, const char *options,
                                         cl_int *errcode_ret);

/* Makes the heap the default heap of a built program, for kernels enqueued after the return: what
 * xmcMallocDefault and xmcFreeDefault use, and with `#include "xmalloc_std.h"` malloc and free. The program's
 * source has `#include "xmalloc_default.cl"` (or that header) in place of "xmalloc.cl"; where the device has no
 * variables at program scope it does not build, and its log says what to do. The last call counts; of a program that was linked of several, all share
 * the heap. The program does not retain the heap, which must outlive its kernels. The heap is no argument of those kernels: before
 * xmcReleaseHeap, finish their queues; for SVM without XMC_HEAP_DEFERRED_RELEASE name it by
 * clSetKernelExecInfo.
 * Errors: XMC_INVALID_HEAP, XMC_NO_DEFAULT_HEAP, CL_INVALID_KERNEL_NAME (the source lacks the include),
 * XMC_HEAP_MISMATCH, OpenCL's. */
XMALLOC_EXPORT cl_int xmcBindDefaultHeap(cl_program program, xmc_heap heap, cl_command_queue queue);

/* `-cl-std=…` and the `-DXMC_…` for the heap and its device; valid until the heap goes. NULL for NULL. In a context of
 * several devices they name the heap's, so that its programs are refused for heaps of the others; a program that is
 * built for all of them at once, where their options are otherwise the same, gets `-DXMC_DEVICE=-1` after these. */
XMALLOC_EXPORT const char *xmcGetBuildOptions(xmc_heap heap);

/* More options, for programs that are to serve heaps of this geometry only: the same bytes and properties, in memory
 * of the same alignment. Where its tables lie are constants of the program then. Append them to
 * xmcGetBuildOptions(heap), with a space between. On GPUs such programs allocate and free some per cent faster
 * (bench/experiments.md); each size of heap needs a program of its own.
 * xmcSetKernelArgHeap returns XMC_HEAP_MISMATCH for another heap. Handed to a kernel past that, a heap of at least
 * this size is refused: requests get NULL, frees do nothing; of a smaller one a GPU may read beyond its end.
 * Valid until the heap goes; "" for a loaded heap; NULL for NULL. */
XMALLOC_EXPORT const char *xmcGetGeometryOptions(xmc_heap heap);

/* The whole device library as one OpenCL C string. */
XMALLOC_EXPORT const char *xmcGetSource(void);

/* A status in words, its name first; never NULL. Knows OpenCL's errors too. Of a number that is neither, the text holds
 * the number, and is valid until the thread's next call. */
XMALLOC_EXPORT const char *xmcErrorString(cl_int status);

#ifdef __cplusplus
}
#endif
#endif
