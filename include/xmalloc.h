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
 * OpenCL, or one of the XMC_ errors below. A function that takes a command queue first waits for all commands in
 * that queue. NULL stands for a queue of the heap's own; the commands in other queues that use the heap must then
 * have ended before the call. Kernels see a heap as it was left by commands that ended before they started.
 *
 * Threads. Any function may be called from any thread at any time, also on one heap by several threads if each of
 * them has a reference to it (xmcRetainHeap): a heap must not be destroyed while another thread is in a call. On one heap
 *
 *   xmcMapHeap, xmcUnmapHeap, xmcResetHeap, xmcGrowHeap,    run one at a time: a call waits until earlier ones have
 *   xmcSaveHeap and inspectors (xmcGetHeapStats,            returned. Callbacks and writes to streams run after the
 *   xmcCheckHeap, xmcForEachBlock, xmcReportLeaks,          heap was read; other calls do not wait for them, and
 *   xmcWriteHeapStats, xmcWriteHeapMap, xmcGetHeapText)     a callback may call any function
 *   xmcHost... calls                                        never wait; during an unmap, reset or growth they
 *                                                         return XMC_HEAP_NOT_MAPPED
 *   all others                                              run as if alone
 *
 * A heap is quiet if no kernel and no host thread is working on it. An inspector or a save of a heap that is not
 * quiet gets a mixture of its old and new contents, or returns XMC_HEAP_CORRUPT, but damages nothing. As in OpenCL,
 * two threads must not set arguments of one kernel object at the same time.
 *
 * Later versions may add members at the end of the structs that the library fills. So that a program and a library of
 * different versions work together, the program states the size of its struct: the library writes the members that
 * both know and sets to 0 those that only the program knows. Programs call xmcGetHeapStats, xmcCheckHeap and
 * xmcForEachBlock, which pass the size of the struct that the program was compiled with. The functions behind them,
 * whose names end with Sized, are for bindings of other languages.
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

/* This header's version. A version is one number with the layout of OpenCL's cl_version, so that
 * `XMC_VERSION >= XMC_MAKE_VERSION(0, 2, 0)` works in #if, too, and CL_VERSION_MAJOR(xmcGetVersion()) as well.
 * Until 1.0 a new minor version may change the ABI (the shared library's name ends in .so.0.MINOR); a new patch
 * version does not. From 1.0 on only a new major version does. */
#define XMC_MAKE_VERSION(major, minor, patch) (((major)*0x400000u) | ((minor)*0x1000u) | ((patch)*1u))
#define XMC_VERSION_MAJOR 0
#define XMC_VERSION_MINOR 2
#define XMC_VERSION_PATCH 0
#define XMC_VERSION XMC_MAKE_VERSION(XMC_VERSION_MAJOR, XMC_VERSION_MINOR, XMC_VERSION_PATCH)

/* Returns the version of the library that the program runs with, as XMC_MAKE_VERSION makes it; XMC_VERSION is the version of
 * the header that the program was compiled with. Needs no device and may be called at any time. */
XMALLOC_EXPORT cl_uint xmcGetVersion(void);

typedef struct _xmc_heap *xmc_heap;

/* ---- errors beside OpenCL's own; xmcErrorString returns a text for each ---- */
#define XMC_HEAP_TOO_SMALL (-5801) /* no room for the metadata and a few pages: see xmcGetHeapLimits */
/* more than the device can allocate, than XMC_HEAP_MAX_BYTES, or than 32-bit references reach */
#define XMC_HEAP_TOO_LARGE (-5802)
#define XMC_NO_INT64_ATOMICS (-5803) /* the device has no working 64-bit atomics */
#define XMC_SVM_UNAVAILABLE (-5804)  /* the device lacks the kind of SVM asked for */
#define XMC_DEVICE_UNUSABLE (-5805)  /* no path of the library works on the device: see xmcGetDeviceReport */
#define XMC_INVALID_HEAP (-5806)     /* NULL or, where that can be seen, not a heap */
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
/* bytes: the largest size to which xmcGrowHeap can make the heap; 0, the default: the heap cannot grow */
#define XMC_HEAP_MAX_BYTES 0x5806
#define XMC_HEAP_DEBUG 0x5805 /* debug level, 0 … XMC_DEBUG_MAX, costs: cl/calls/debug.cl; default 0 */
/* bytes of the heap for a ring of the last events, which xmcWriteTrace writes as text. An event takes 48 bytes, the ring's
 * head 64; the number of events is rounded down to a power of two, and fewer than 64 (3,136 bytes) are refused. 0, the default: nothing
 * is recorded, and programs have no code for it */
#define XMC_HEAP_TRACE_BYTES 0x5807
/* n: a hash chooses one in n of the addresses at which blocks begin, and every request and free of a block there is recorded; regions are
 * always recorded. 1, the default: each event */
#define XMC_HEAP_TRACE_EVERY 0x5808

#define XMC_BACKING_BUFFER 1   /* a cl_mem buffer */
#define XMC_BACKING_SVM 2      /* coarse-grained shared virtual memory */
#define XMC_BACKING_SVM_FINE 3 /* fine-grained SVM, with atomics where the device has them */

#define XMC_COALESCE_NONE 0        /* every work-item is served by itself */
#define XMC_COALESCE_COMPARTMENT 1 /* one block a sub-group, cut into compartments (2011, figures 3, 4) */
#define XMC_COALESCE_CLASS 2       /* one claim for the lanes of a sub-group that want the same size class */

/* A FIFO of each class for each sub-group that can be resident; on CPU devices 4 for each compute unit, rounded up to a multiple of 64.
 * Small heaps have fewer; on GPUs the large classes have fewest there. */
#define XMC_FIFOS_DEFAULT (-1)
#define XMC_DEBUG_MAX 3

/* Creates a heap whose arena is one allocation of `bytes` bytes, metadata included (at most 2.4 % from 64 MiB up), and waits until
 * kernels may use it. `properties` is a list as described above, or NULL. The heap serves kernels on `device`, which must belong to
 * `context`; a context may have any number of heaps. For a heap a root device and all its sub-devices are one device: queues and
 * programs may be of any of them that the context accepts. On a CPU, kernels on several of them may use a heap at the same time; on
 * other devices one kernel must end before a kernel on another of them starts.
 * Cost: the device writes the metadata. The first heap on a device in a process also probes it: a few small programs, one of them with
 * a malloc and a free, are built and run.
 * Errors: CL_INVALID_CONTEXT, CL_INVALID_DEVICE, CL_INVALID_PROPERTY (unknown, twice, or a bad value),
 * XMC_HEAP_TOO_SMALL, XMC_HEAP_TOO_LARGE, XMC_NO_INT64_ATOMICS, XMC_SVM_UNAVAILABLE, XMC_DEVICE_UNUSABLE,
 * CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY. */
XMALLOC_EXPORT xmc_heap xmcCreateHeap(cl_context context, cl_device_id device,
                                      const xmc_heap_properties *properties, size_t bytes,
                                      cl_int *errcode_ret);

/* Writes the fewest and the most bytes that xmcCreateHeap accepts on the device with these properties; each pointer may be NULL.
 * If `least` is more than `most`, no such heap can be made. The most is the device's largest single allocation, or XMC_HEAP_MAX_BYTES if
 * that is less; its allocation may still fail for lack of memory. If the context is NULL, one of the library's own is used. Probes the
 * device as xmcCreateHeap does. Errors: those of xmcCreateHeap that do not depend on the number of bytes. */
XMALLOC_EXPORT cl_int xmcGetHeapLimits(cl_context context, cl_device_id device,
                                       const xmc_heap_properties *properties, size_t *least, size_t *most);

/* Writes what the library knows about a device as text for people: the path that programs take, the sizes of heaps, build options, and
 * each path that was tried and what failed on it. The device needs no heap. `size` is the room at `text` in bytes; `size_ret` gets the
 * size of the text in bytes with its NUL; either pointer may be NULL. If the context is NULL, one of the library's own is used. Probes
 * the device at the first call in a process.
 * CL_SUCCESS: the device can have heaps. XMC_NO_INT64_ATOMICS, XMC_DEVICE_UNUSABLE: it cannot, and the text, which is
 * written nevertheless, says why. Errors, without a text: CL_INVALID_DEVICE, CL_INVALID_VALUE (too little room),
 * CL_OUT_OF_HOST_MEMORY, OpenCL's. */
XMALLOC_EXPORT cl_int xmcGetDeviceReport(cl_context context, cl_device_id device, size_t size, char *text,
                                         size_t *size_ret);

/* Adds 1 to the heap's reference count, which is 1 for a new heap. Error: XMC_INVALID_HEAP. */
XMALLOC_EXPORT cl_int xmcRetainHeap(xmc_heap heap);

/* Subtracts 1 from the heap's reference count, and destroys the heap when the count reaches 0. A mapped heap is not destroyed: the call
 * returns XMC_HEAP_MAPPED and leaves the count as it was. Kernels that are queued already may still run on the heap: its arena is freed
 * when they have ended (SVM: by the next call that creates or releases a heap). Exception: if the info XMC_HEAP_DEFERRED_RELEASE of an
 * SVM heap is CL_FALSE, finish the queues first. Errors: XMC_INVALID_HEAP, XMC_HEAP_MAPPED. */
XMALLOC_EXPORT cl_int xmcReleaseHeap(xmc_heap heap);

/* Forgets every block and every count, so that the heap is as new. Waits for the queue, for the host calls of other threads to
 * return, and for the reset itself. Cost: the device writes the metadata.
 * Errors: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH (queue of another device or context), XMC_HEAP_MAPPED, OpenCL's. */
XMALLOC_EXPORT cl_int xmcResetHeap(xmc_heap heap, cl_command_queue queue);

/* Makes a heap larger that was created with XMC_HEAP_MAX_BYTES: `bytes` is the new size of its arena, metadata included.
 * Every block stays, with its contents and its xmcRef; so do counts, programs, one-geometry programs and the callback. The
 * heap must be quiet. The call waits for the commands in `queue`. It changes:
 *
 *   addresses           Pointers into the heap that kernels or the host kept are void, unless the info XMC_HEAP_SVM_POINTER is
 *                       the same afterwards: fine-grained SVM on CPU devices keeps its place, since addresses for the
 *                       largest size are reserved from the beginning (if there are so many).
 *   kernel arguments    Call xmcSetKernelArgHeap again for each kernel and xmcBindDefaultHeap for each program with a default
 *                       heap, and ask for XMC_HEAP_ARGUMENT and other infos anew. A launch with old arguments is undefined.
 *   alignments          Alignments over 16 that xmcAlignedAlloc grants depend on the new address, as after xmcLoadHeap; a
 *                       reset does not align the heap anew.
 *
 * Cost: a heap that moves exists twice while the device copies its pages; its tables go through host memory. Growing to the size that
 * the heap has already does nothing. If the call fails, the heap is as it was.
 * Errors: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH (queue of another device or context), XMC_HEAP_MAPPED, CL_INVALID_VALUE
 * (smaller than the heap is), XMC_HEAP_TOO_LARGE (more than XMC_HEAP_MAX_BYTES, or than one allocation of the device),
 * XMC_HEAP_CORRUPT (the header was overwritten), CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES,
 * CL_OUT_OF_HOST_MEMORY, OpenCL's. If several threads call it at the same time, the calls run one after the other, and a call whose
 * size is less than that which an earlier one made returns CL_INVALID_VALUE. */
XMALLOC_EXPORT cl_int xmcGrowHeap(xmc_heap heap, cl_command_queue queue, size_t bytes);

/* Sets argument `index` of a kernel, declared as `__global xmcHeap *`, to the heap. The kernel does not retain the heap.
 * Errors: XMC_INVALID_HEAP; XMC_HEAP_MISMATCH if the kernel's program is not for the heap's context and
 * device, or if it, or a program that it was linked from, was built for another layout, debug level, coalescing, geometry or
 * path, by options or by macros in the source, or if the argument is a pointer to numbers or references; those of
 * clSetKernelArg. Part of this shows in the name of the argument's type (xmcHeap_… in clGetKernelArgInfo and in compilers'
 * messages), but only in programs that were built with -cl-kernel-arg-info, which is one of xmcGetBuildOptions. If a kernel
 * gets a heap of another layout or debug level nevertheless, requests return NULL and frees do nothing. Cost: some queries
 * of the program, no work on the device. */
XMALLOC_EXPORT cl_int xmcSetKernelArgHeap(cl_kernel kernel, cl_uint index, xmc_heap heap);

/* The names that xmcGetHeapInfo takes, with the type of the value. It takes the properties above as well; their values, those in
 * force, are of type xmc_heap_properties. */
#define XMC_HEAP_REFERENCE_COUNT 0x5810  /* cl_uint */
#define XMC_HEAP_CONTEXT 0x5811          /* cl_context */
#define XMC_HEAP_DEVICE 0x5812           /* cl_device_id */
#define XMC_HEAP_BYTES 0x5813            /* size_t: the arena; room beyond 256 GiB is not used */
#define XMC_HEAP_METADATA_BYTES 0x5814   /* size_t: the part of the arena that blocks can never use */
#define XMC_HEAP_MEM_OBJECT 0x5815       /* cl_mem: the arena's buffer; NULL for SVM */
#define XMC_HEAP_SVM_POINTER 0x5816      /* void *: the arena's address; NULL for a buffer */
#define XMC_HEAP_DEFERRED_RELEASE 0x5817 /* cl_bool: xmcReleaseHeap is safe with work queued */
#define XMC_HEAP_SUB_GROUPS 0x5818       /* cl_bool: programs have XMC_HAS_SUBGROUPS */
#define XMC_HEAP_PATH 0x5819        /* char[]: the path programs take, such as "NVIDIA PTX, OpenCL C 3.0" */
#define XMC_HEAP_WHY 0x581a         /* char[]: what the probe found, one line a finding */
#define XMC_HEAP_HOST_ALWAYS 0x581b /* cl_bool: host calls work at any time, without xmcMapHeap */

#define XMC_HEAP_DEFAULTS 0x581c /* cl_bool: xmcBindDefaultHeap works on the device */
/* cl_mem: the value to pass to clSetKernelArg, for language bindings that set arguments themselves. If it is NULL, pass
 * XMC_HEAP_SVM_POINTER to clSetKernelArgSVMPointer instead. xmcSetKernelArgHeap does this, and checks the program. */
#define XMC_HEAP_ARGUMENT 0x581d

/* Writes the value of `name`, as clGetDeviceInfo does: `size` is the room at `value`, `size_ret` gets the value's size, both in bytes.
 * `value` or `size_ret` may be NULL. Errors: XMC_INVALID_HEAP; CL_INVALID_VALUE (unknown name, too little room). */
XMALLOC_EXPORT cl_int xmcGetHeapInfo(xmc_heap heap, xmc_heap_info name, size_t size, void *value,
                                     size_t *size_ret);

/* ---- the same heap from the host ----
 * The calls below are the kernels' calls, compiled for the host, on the same arena: a block that one side allocated the
 * other side may use and free. Any number of threads may call them at the same time; none waits for another.
 * xmcHostMalloc acquires and xmcHostFree releases, so what a block's earlier owner did with it comes before what its next owner does, on
 * the host or in a kernel.
 *
 * If the info XMC_HEAP_HOST_ALWAYS is CL_TRUE (fine-grained SVM with atomics), they work at any time, also while
 * kernels run on the heap. Other heaps must be mapped: between xmcMapHeap and xmcUnmapHeap the arena
 * is the host's, and no kernel may run on it. On a heap that is not mapped they return NULL or 0 with XMC_HEAP_NOT_MAPPED; so
 * do calls that begin while another thread unmaps the heap, or resets or grows a heap that needs no map. That thread waits until
 * the calls that began earlier have returned.
 * Addresses are the host's and valid until the unmap; blocks must not be read or written after it. Keep an xmcRef to find a block
 * again.
 *
 * Debug heaps are for kernels only: all calls but those on references return NULL or 0 with XMC_HEAP_IS_DEBUG.
 *
 * Every function's errcode_ret may be NULL. It gets CL_SUCCESS, XMC_INVALID_HEAP, XMC_HEAP_NOT_MAPPED, XMC_HEAP_IS_DEBUG,
 * CL_INVALID_VALUE if the function's comment names it, or CL_MEM_OBJECT_ALLOCATION_FAILURE if a request failed because no room was
 * left (counted in xmc_heap_stats). Cost: as in kernels, plus two atomics on a counter that few threads share. */

/* A block's offset from the start of the arena: the same on host and device, in every process; 0 is NULL. */
typedef uint64_t xmcRef;

/* Maps the whole arena for the host and waits until it is mapped. Cost: buffers in a GPU's memory are copied to the host and, by the
 * unmap, back; if the info XMC_HEAP_HOST_ALWAYS is CL_TRUE, the call only waits for the queue. The unmap may name another queue of
 * the same device. A mapped heap can be inspected and saved, but not reset, grown or destroyed. Errors: XMC_INVALID_HEAP,
 * XMC_HEAP_MISMATCH, XMC_HEAP_MAPPED (it is mapped already), XMC_HEAP_CORRUPT (the header was overwritten; the heap stays unmapped),
 * OpenCL's. */
XMALLOC_EXPORT cl_int xmcMapHeap(xmc_heap heap, cl_command_queue queue);

/* Ends the map and waits until it has ended; kernels enqueued after the return see what the host wrote. On a heap that needs the map
 * it first waits until the host calls of other threads have returned. Errors: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH,
 * XMC_HEAP_NOT_MAPPED, OpenCL's. */
XMALLOC_EXPORT cl_int xmcUnmapHeap(xmc_heap heap, cl_command_queue queue);

/* Allocates `size` bytes, aligned to 16 bytes. Returns NULL with CL_SUCCESS if size is 0. */
XMALLOC_EXPORT void *xmcHostMalloc(xmc_heap heap, size_t size, cl_int *errcode_ret);

/* Allocates count * size bytes, all zero. A product that overflows is a failed request. */
XMALLOC_EXPORT void *xmcHostCalloc(xmc_heap heap, size_t count, size_t size, cl_int *errcode_ret);

/* Allocates `size` bytes at a host address that is a multiple of `alignment`, a power of two in bytes. 16 is always granted; more up
 * to the alignment that the arena's first page has in host memory, and, if that is 16 KiB or more, any for which the heap has room.
 * Any other alignment is a failed request. */
XMALLOC_EXPORT void *xmcHostAlignedAlloc(xmc_heap heap, size_t alignment, size_t size, cl_int *errcode_ret);

/* Changes a block's size. Contents are kept up to the smaller size; the address may change. If ptr is NULL, allocates. If size is
 * 0, frees the block and returns NULL with CL_SUCCESS. If the request fails, returns NULL and the block stays as it was. If no live
 * block begins at ptr, a bad free is counted and the error is CL_INVALID_VALUE. */
XMALLOC_EXPORT void *xmcHostRealloc(xmc_heap heap, void *ptr, size_t size, cl_int *errcode_ret);

/* Frees a block. NULL is a no-op. A pointer that is not the start of a live block changes nothing and is counted, as in
 * kernels and with the same two limits (cl/xmalloc.cl names them); the call then returns CL_SUCCESS. Errors: XMC_INVALID_HEAP,
 * XMC_HEAP_NOT_MAPPED, XMC_HEAP_IS_DEBUG. */
XMALLOC_EXPORT cl_int xmcHostFree(xmc_heap heap, void *ptr);

/* Returns the bytes that may be used at ptr, at least as many as were asked for; 0 if no block begins at ptr, or host calls cannot be
 * made now. */
XMALLOC_EXPORT size_t xmcHostUsableSize(xmc_heap heap, void *ptr);

/* The handle of a region: blocks that are freed all at once. It has the same value in kernels (cl/regions/calls.cl has their calls),
 * on the host, in every process and after the heap was saved and loaded; 0 is no region. */
typedef uint64_t xmcRegion;

/* Creates a region. Returns 0 if there is no room. A region takes 32 KiB of the heap, and as much or more for each thread that
 * allocates in it. */
XMALLOC_EXPORT xmcRegion xmcHostRegionCreate(xmc_heap heap, cl_int *errcode_ret);

/* Allocates `size` bytes in the region, aligned to 16 bytes, which live until the region is freed or reset. Returns NULL with
 * CL_SUCCESS if size is 0. If the handle is bad or the region was freed, the error is CL_INVALID_VALUE, and an invalid free is counted. */
XMALLOC_EXPORT void *xmcHostRegionMalloc(xmc_heap heap, xmcRegion region, size_t size, cl_int *errcode_ret);

/* xmcHostRegionFree frees all blocks of the region, and the region. xmcHostRegionReset frees all blocks only, and the region keeps its
 * chunks for further requests; no other thread or kernel may use the region meanwhile. Both release; their cost grows with the number of
 * chunks. 0 is a no-op. A bad handle changes nothing and is counted as an invalid free; the call then returns CL_SUCCESS. Errors:
 * XMC_INVALID_HEAP, XMC_HEAP_NOT_MAPPED, XMC_HEAP_IS_DEBUG. */
XMALLOC_EXPORT cl_int xmcHostRegionFree(xmc_heap heap, xmcRegion region);
XMALLOC_EXPORT cl_int xmcHostRegionReset(xmc_heap heap, xmcRegion region);

/* Returns the bytes that the region has from the heap; 0 if the handle is bad, or host calls cannot be made now. Walks through the
 * region's chunks. */
XMALLOC_EXPORT size_t xmcHostRegionBytes(xmc_heap heap, xmcRegion region);

/* Convert an address in the arena to its reference, and back. They return 0 or NULL for NULL and 0, for an address or reference
 * outside of the arena, and for a heap that is not mapped. */
XMALLOC_EXPORT xmcRef xmcHostToRef(xmc_heap heap, const void *ptr);
XMALLOC_EXPORT void *xmcHostFromRef(xmc_heap heap, xmcRef ref);

/* A reference in 32 bits, in units of 16 bytes, for data that holds many references. Blocks start at multiples of 16 bytes, so 32 bits
 * reach 64 GiB. In kernels xmcToRef32 and xmcFromRef32 convert them. */
typedef uint32_t xmcRef32;

/* Returns CL_SUCCESS if 32-bit references reach every block of the heap. Call it before a program relies on them. The heap need
 * not be mapped. Errors: XMC_INVALID_HEAP, XMC_HEAP_TOO_LARGE (the arena has, or can grow to, more than 64 GiB). */
XMALLOC_EXPORT cl_int xmcCheckRef32(xmc_heap heap);

/* As xmcHostToRef and xmcHostFromRef. If an address is not a multiple of 16 bytes from the arena's start, or lies beyond 64 GiB, it has
 * no 32-bit reference, and the result is 0: a reference is never truncated. */
XMALLOC_EXPORT xmcRef32 xmcHostToRef32(xmc_heap heap, const void *ptr);
XMALLOC_EXPORT void *xmcHostFromRef32(xmc_heap heap, xmcRef32 ref);

/* ---- heaps in files ---- */

/* Writes the heap, which must be quiet, to a file. Only what is in use is written: the file of an 8 GiB heap with 1 MiB of blocks is
 * small.
 * The call writes a temporary file in the same folder, xmc-save-<16 hexadecimal digits>.part, flushes it to the disk, and
 * then renames it, so a program that opens `path` finds the old file or the whole new one. Any number of threads and processes may
 * save to one path at the same time: the file that is renamed last stays. If the call fails, the old file stays as it was;
 * after a crash a temporary file may be left over, which no later save uses or removes. A symbolic link is followed, and the file
 * that it points to is replaced, or created. The new file has the old one's mode and, if the process has the right to set
 * them, its owner and group; other names (hard links) of the old file keep the old contents.
 * Errors: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH, XMC_HEAP_CORRUPT (nothing is written), CL_INVALID_VALUE (path is
 * NULL), XMC_FILE_NOT_REGULAR, XMC_FILE_UNUSABLE, CL_OUT_OF_HOST_MEMORY, OpenCL's. */
XMALLOC_EXPORT cl_int xmcSaveHeap(xmc_heap heap, cl_command_queue queue, const char *path);

/* Creates a heap as it was when it was saved, on any device of the same byte order: every xmcRef leads to its
 * data, and the counts of bad frees and failures are kept. `properties` may choose the backing; other properties, if given, must have
 * the saved heap's values. The heap has as many FIFOs as on the device for which it was created. Alignments over
 * 16 that xmcAlignedAlloc can give depend on the new arena's address, until a reset.
 * The whole file is checked before anything is created. A file with any contents and any checksums is either refused or gives
 * a heap in which no two live blocks overlap and no call, good or bad, accesses memory outside of the arena; the contents of the
 * blocks are not checked. Cost: the file is read twice. Errors: those of xmcCreateHeap, CL_INVALID_VALUE (path
 * is NULL), XMC_HEAP_MISMATCH (the device is a GPU, and the heap of a CPU device has blocks that were joined while room was scarce),
 * XMC_FILE_NOT_REGULAR, XMC_FILE_UNUSABLE, XMC_FILE_FOREIGN, XMC_FILE_VERSION, XMC_FILE_TRUNCATED, XMC_FILE_DAMAGED. */
XMALLOC_EXPORT xmc_heap xmcLoadHeap(cl_context context, cl_device_id device,
                                    const xmc_heap_properties *properties, const char *path,
                                    cl_int *errcode_ret);

#define XMC_STATS_CLASSES 32

/* The figures that a walk through the arena finds. In the papers' words a Basicblock is a block of up to 8 KiB, a Superblock is 1 to 32
 * Basicblocks of one size class, and a Memoryblock is a larger block, a run of 16 KiB pages. Byte figures of live blocks count whole
 * Basicblocks and pages. */
typedef struct xmc_heap_stats {
  cl_ulong heap_bytes;     /* the arena */
  cl_ulong metadata_bytes; /* the part of the arena that blocks can never use */
  cl_ulong live_blocks;
  cl_ulong live_bytes; /* of live blocks */
  cl_ulong free_bytes; /* in free pages, and in free Basicblocks */
  /* The largest request that would succeed if no other call ran at the same time: adjacent pages that are free, or can be taken back
   * because no block in them is live. Runs of more than 64 pages begin at a multiple of 64 pages. */
  cl_ulong largest_free_bytes;
  /* part of free_bytes: free Basicblocks in Superblocks, and unused places of slabs */
  cl_ulong free_block_bytes;
  cl_ulong superblocks;  /* Superblocks in use */
  cl_ulong memoryblocks; /* live blocks that are Memoryblocks of their own */
  cl_ulong memoryblock_bytes;
  cl_ulong failed_requests;    /* since creation or reset, like all counts of errors below */
  cl_ulong first_failure_size; /* bytes asked for by the first request that failed */
  /* global linear id of the work-item whose request failed first; for a work-group call on CPU devices, of the group's first work-item */
  cl_ulong first_failure_id;
  cl_ulong double_frees;
  /* calls with a pointer at which no block begins (or none any more, if the page was reused), or with a bad region */
  cl_ulong invalid_frees;
  cl_ulong first_double_free; /* xmcRef of the first block that was freed twice */
  /* the first such pointer minus the arena's address: its xmcRef if it lies in the arena; else, modulo 2^64, a number
   * beyond heap_bytes that is no xmcRef */
  cl_ulong first_invalid_free;
  cl_ulong class_bytes[XMC_STATS_CLASSES];       /* size of a Basicblock of each class */
  cl_ulong class_live_blocks[XMC_STATS_CLASSES]; /* live Basicblocks of a class; a joined block has several */
  cl_ulong red_zone_errors;      /* debug heaps: freed blocks beside which something was overwritten */
  cl_ulong first_red_zone_error; /* xmcRef of the first such block */
  cl_ulong use_after_frees;      /* debug heaps from level 2 on: blocks written to after their free */
  cl_ulong first_use_after_free; /* xmcRef of the first such block */
  /* Bytes asked for by all requests that failed: an estimate of how much larger the heap should be. Requests beyond 256 GiB, which no
   * heap can serve, add nothing. */
  cl_ulong failed_bytes;
  /* Bytes of all pages that were ever in use since creation or reset. This is an upper bound of the bytes that were in use at the same
   * time; that number itself is not counted, because all work-items would write to one word. */
  cl_ulong high_water_bytes;
  /* Bytes of pages in use in which no block is live. A request of any size gets such pages when free pages are used up, so that
   * there is room for free_bytes - free_block_bytes + reclaimable_bytes. */
  cl_ulong reclaimable_bytes;
  cl_ulong regions;       /* live regions; each counts as one of live_blocks, and its chunks in live_bytes */
  cl_ulong region_chunks; /* chunks (runs of pages) of these regions */
  cl_ulong region_bytes;  /* bytes of these chunks */
} xmc_heap_stats;

/* As xmcGetHeapStats; `size` is the size in bytes of the struct at `stats`. */
XMALLOC_EXPORT cl_int xmcGetHeapStatsSized(xmc_heap heap, cl_command_queue queue, size_t size,
                                           xmc_heap_stats *stats);

/* Fills `stats`. The figures are exact if the heap is quiet. After an error `stats` is as it was.
 * Errors: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH, XMC_HEAP_CORRUPT (the header was overwritten, or a state word holds
 * an impossible value), CL_INVALID_VALUE (stats is NULL, or its size less than in version 0.1), CL_OUT_OF_HOST_MEMORY, OpenCL's.
 * Cost: copies the metadata, at most 2.4 % of heaps from 64 MiB up, to the host and walks through it. */
static inline cl_int xmcGetHeapStats(xmc_heap heap, cl_command_queue queue, xmc_heap_stats *stats) {
  return xmcGetHeapStatsSized(heap, queue, sizeof *stats, stats);
}

typedef enum xmc_problem {
  XMC_PROBLEM_NONE = 0,
  XMC_PROBLEM_HEADER,      /* magic, geometry or a table's place is not as the heap was created */
  XMC_PROBLEM_PAGE_MAP,    /* a page's entry contradicts the neighbouring entries or its Superblock */
  XMC_PROBLEM_FREE_PAGES,  /* a page is free and in use, or neither */
  XMC_PROBLEM_STATE_WORD,  /* a Superblock's word is impossible */
  XMC_PROBLEM_NOT_LISTED,  /* a Superblock with free Basicblocks that no FIFO leads to: room is lost */
  XMC_PROBLEM_FIFO,        /* impossible head, tail, sequence number or entry */
  XMC_PROBLEM_BITMAP,      /* a bitmap or the span index lacks a bit that must be set */
  XMC_PROBLEM_COMPARTMENT, /* a coalesced block's headers contradict each other */
  XMC_PROBLEM_RED_ZONE,    /* a debug heap: bytes beside a block were overwritten */
  XMC_PROBLEM_REGION       /* a chunk that belongs to no region, or has more room than pages */
} xmc_problem;

typedef struct xmc_heap_report {
  cl_ulong problems; /* the number of problems; the other members describe the first */
  cl_ulong offset;   /* where it lies: bytes from the arena's start */
  xmc_problem code;
  char message[244]; /* a description for people */
} xmc_heap_report;

/* As xmcCheckHeap; `size` is the size in bytes of the struct at `report`, and is ignored if that is NULL. */
XMALLOC_EXPORT cl_int xmcCheckHeapSized(xmc_heap heap, cl_command_queue queue, size_t size,
                                        xmc_heap_report *report);

/* Verifies every invariant of the arena, which must be quiet; in debug heaps from level 2 on also the red zones of all
 * live blocks (on GPUs not of those that lanes share by compartments). Returns CL_SUCCESS if all hold. Returns XMC_HEAP_CORRUPT if one
 * does not; the report, which may be NULL, then says what is broken and where. Nothing is changed, and nothing outside the arena is
 * read, whatever the arena holds.
 * Other errors: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH, CL_INVALID_VALUE (the report's size is less than in version
 * 0.1), CL_OUT_OF_HOST_MEMORY, OpenCL's. Cost: as xmcGetHeapStats, and in debug heaps from level 2 on a read of all live blocks. */
static inline cl_int xmcCheckHeap(xmc_heap heap, cl_command_queue queue, xmc_heap_report *report) {
  return xmcCheckHeapSized(heap, queue, sizeof *report, report);
}

/* ---- what a heap holds ---- */

#define XMC_BLOCK_OF_PAGES 0xffffffffu
#define XMC_BLOCK_OF_REGION 0xfffffffeu

/* A live block, or a region. A region is listed once, for all its blocks: `ref` is where it begins, `usable` the bytes of its chunks. */
typedef struct xmc_block {
  xmcRef ref;
  cl_ulong size;   /* bytes asked for, if the heap is a debug heap and knows; else as usable */
  cl_ulong usable; /* bytes that may be used; in a debug heap those asked for */
  cl_uint
      size_class; /* index into xmc_heap_stats' class_bytes; or XMC_BLOCK_OF_PAGES (a block of whole pages), XMC_BLOCK_OF_REGION */
  cl_uint line;   /* of the call that allocated it, if a debug heap knows; else 0 */
  /* its source file, or NULL. "<kernel>": the source of xmcCreateProgramWithSource; "file 0x…": another file, by its hash */
  const char *file;
} xmc_block;

/* Called for each block. A result other than 0 ends the listing. The block is valid until the callback returns. */
typedef int(CL_CALLBACK *xmc_block_callback)(const xmc_block *block, void *data);

/* As xmcForEachBlock; `size` is the size in bytes of the struct xmc_block that the callback knows. */
XMALLOC_EXPORT cl_int xmcForEachBlockSized(xmc_heap heap, cl_command_queue queue, size_t size,
                                           xmc_block_callback callback, void *data);

/* Calls back for each live block, by ascending reference. A block that lanes share by compartments is listed once. The
 * heap must be quiet. The blocks are those that were live when the call began, so the callback may do anything with
 * the heap, even release it. Cost: as xmcGetHeapStats; of a debug heap all blocks are read before the first callback, into 24 bytes of
 * memory for each. Errors: XMC_INVALID_HEAP, XMC_HEAP_MISMATCH, XMC_HEAP_CORRUPT (the header or the tables hold impossible
 * values, and no block is listed; xmcCheckHeap describes them), CL_INVALID_VALUE (no callback, or a block's size less than in version
 * 0.1), CL_OUT_OF_HOST_MEMORY, OpenCL's. */
static inline cl_int xmcForEachBlock(xmc_heap heap, cl_command_queue queue, xmc_block_callback callback,
                                     void *data) {
  return xmcForEachBlockSized(heap, queue, sizeof(xmc_block), callback, data);
}

/* Writers of text to a stream. The heap must be quiet. Cost: as xmcForEachBlock. Errors: as xmcForEachBlock; CL_INVALID_VALUE
 * (no file), XMC_FILE_UNUSABLE. */

/* Writes which blocks are still allocated: how many and how many bytes of each size, and the first blocks. */
XMALLOC_EXPORT cl_int xmcReportLeaks(xmc_heap heap, cl_command_queue queue, FILE *file);

/* Writes xmc_heap_stats as JSON. */
XMALLOC_EXPORT cl_int xmcWriteHeapStats(xmc_heap heap, cl_command_queue queue, FILE *file);

/* Writes a picture of the heap, as SVG: the use of every part of the arena, and which parts are free. Reads the metadata only; the
 * picture has some 10 KiB whatever the heap's size. */
XMALLOC_EXPORT cl_int xmcWriteHeapMap(xmc_heap heap, cl_command_queue queue, FILE *file);

/* The texts that xmcGetHeapText writes to memory: those above, and a table */
typedef cl_uint xmc_heap_text;
#define XMC_TEXT_STATS_TABLE 0x5841 /* xmc_heap_stats as a table for people, with human units */
#define XMC_TEXT_STATS_JSON 0x5842  /* what xmcWriteHeapStats writes */
#define XMC_TEXT_LEAKS 0x5843       /* what xmcReportLeaks writes */
#define XMC_TEXT_MAP_SVG 0x5844     /* what xmcWriteHeapMap writes */

/* Writes one of these texts, or one of xmcWriteTrace's (XMC_TRACE_…), in UTF-8 to `text`, which has room for `size` bytes. `size_ret`
 * gets the text's length in bytes with the NUL at its end. `text` or `size_ret` may be NULL; the usual way is to call twice, first for
 * the length. Each call reads the heap anew, so the heap must be quiet in between for the length to stay the same.
 * Errors: as xmcForEachBlock; CL_INVALID_VALUE (unknown `what`, or too little room: `size_ret` is set then, and
 * nothing is written). */
XMALLOC_EXPORT cl_int xmcGetHeapText(xmc_heap heap, cl_command_queue queue, xmc_heap_text what, size_t size,
                                     char *text, size_t *size_ret);

/* ---- what kernels did over time ----
 *
 * A heap that is created with XMC_HEAP_TRACE_BYTES keeps its last events in a ring: for each the call, its time, its bytes, its place
 * in the source (file and line), and its work-item. This works at every debug level, in kernels and in host calls,
 * and the ring is saved with the heap. If kernels can read a clock of the device, an event has its time: NVIDIA's %globaltimer in
 * nanoseconds; cl_khr_kernel_clock, and on PoCL for x86 the time-stamp counter, in ticks of unknown length, which the texts show
 * as nanoseconds. On other devices the time is the number of the event. A host call has the time of the event before it.
 * No call waits for the ring: an event that is overwritten before the host reads it is lost, and counted. Programs must be built with
 * this heap's xmcGetBuildOptions; programs for a heap without a ring are refused (XMC_HEAP_MISMATCH). Objects that xmcLinkProgram links
 * with the library record nothing; only programs that have its source do. include/guides/timeline.md shows pictures, and
 * what a trace costs. */

/* The format of a text about the trace. A call site in it is "<kernel>:57", line 57 of the source of xmcCreateProgramWithSource;
 * "file 0x…:57", a line of another file, which its hash names; or "<host>", a host call. */
typedef cl_uint xmc_trace_format;
/* JSON of the Trace Event Format, which ui.perfetto.dev and chrome://tracing open: each event, and live bytes of each size class over
 * time. `otherData` has totals: events and lost events, allocations, frees, live blocks and bytes as xmc_heap_stats
 * counts them, but with regions apart. If every event is recorded and none is lost, they equal the figures of xmcGetHeapStats. */
#define XMC_TRACE_CHROME 0x5845
/* Folded stacks for flame graphs, a line for each call site and size class with its live bytes: "<kernel>;<kernel>:57;64 B 4096" */
#define XMC_TRACE_FOLDED 0x5846
/* The same with the number of allocations, whether they are live or not */
#define XMC_TRACE_FOLDED_ALLOCATIONS 0x5847
/* A table for people: call sites by live bytes, allocations, frees and failures */
#define XMC_TRACE_TOP 0x5848

/* Writes a text about the trace to a stream. The heap must be quiet. xmcGetHeapText takes the same formats. Cost: copies the ring.
 * Errors: as xmcForEachBlock; XMC_HEAP_NOT_TRACED; CL_INVALID_VALUE (no file, or an unknown format), XMC_FILE_UNUSABLE. */
XMALLOC_EXPORT cl_int xmcWriteTrace(xmc_heap heap, cl_command_queue queue, FILE *file,
                                    xmc_trace_format format);

/* ---- reports of failures ----
 *
 * Kernels only count failures. A program reads the counts from xmc_heap_stats, or sets a callback. Without a change to the program,
 * the environment variable XMC_SHOW=stats,leaks,errors, or some of these words, makes xmcReleaseHeap print texts about a heap to stderr
 * before it destroys the heap. `stats` is XMC_TEXT_STATS_TABLE, `leaks` is XMC_TEXT_LEAKS, `errors` is a line for each kind of failure
 * that was counted. Colours are used on a terminal, unless NO_COLOR is set or TERM is dumb. The figures are exact if
 * the queues that used the heap were finished before. */

/* A kind of failure */
typedef cl_uint xmc_heap_event;
#define XMC_EVENT_FAILED_REQUEST 0x5851 /* a request got NULL; `value`: the bytes asked for */
#define XMC_EVENT_DOUBLE_FREE 0x5852    /* here and below `value` is first_… of xmc_heap_stats */
#define XMC_EVENT_INVALID_FREE 0x5853
/* debug heaps: an overwritten header; from level 2 on any overwritten byte beside a block */
#define XMC_EVENT_RED_ZONE 0x5854
#define XMC_EVENT_USE_AFTER_FREE 0x5855 /* debug heaps from level 2 on */

/* Gets the first failure of a kind, as xmc_heap_stats has it. `id` is the work-item's global linear id for a failed
 * request, and 0 for other kinds. */
typedef void(CL_CALLBACK *xmc_event_callback)(xmc_heap heap, xmc_heap_event event, cl_ulong value,
                                              cl_ulong id, void *data);

/* Sets the callback, which is called once for each kind of failure that happened in kernels or host calls since the heap was created,
 * loaded or reset, or since this function was called. The host functions that read the heap call it, the first one that sees the
 * failure: xmcGetHeapStats, xmcCheckHeap, xmcForEachBlock, xmcSaveHeap and the texts; xmcMapHeap and xmcUnmapHeap; xmcResetHeap; and
 * xmcReleaseHeap if it destroys the heap. NULL, as for a new heap, means no callback; these functions then cost nothing more. With a
 * callback, map, unmap, reset and release read the heap's header.
 *
 * The callback runs in the thread that called the host function, before that function returns, and the library holds no lock
 * then. If several threads read a heap at the same time, one of them calls back, and another may return
 * before the callback has run. The callback may do anything with the heap, even release it (if one call has several events
 * to report, the callback may then be called once more, with the handle of a heap that does not exist any more). But if xmcReleaseHeap
 * calls it because the heap is to be destroyed, it must neither retain nor release nor map the heap. `data` is passed to the callback,
 * and must live as long as the callback is set. Error: XMC_INVALID_HEAP. */
XMALLOC_EXPORT cl_int xmcSetHeapCallback(xmc_heap heap, xmc_event_callback callback, void *data);

/* The difference between two xmc_heap_stats of one heap, for instance before and after one launch. Kernels count failures, but not
 * allocations: a block that was both allocated and freed in between does not show. To find out which blocks are new, compare two
 * listings by xmcForEachBlock. */
typedef struct xmc_heap_change {
  /* for the size classes of which more blocks are live than before: how many more, which a launch that should free its
   * blocks has leaked. Blocks of whole pages count as one class. */
  cl_ulong added_blocks;
  cl_ulong added_bytes;
  cl_ulong removed_blocks; /* for the other size classes: how many fewer */
  cl_ulong removed_bytes;
  cl_ulong failed_requests; /* these five: how many more than before */
  cl_ulong double_frees;
  cl_ulong invalid_frees;
  cl_ulong red_zone_errors;
  cl_ulong use_after_frees;
  cl_long memoryblocks; /* live blocks of whole pages: after minus before */
  cl_long memoryblock_bytes;
  cl_long class_live_blocks[XMC_STATS_CLASSES]; /* live blocks of each size class: after minus before */
  cl_long regions;                              /* live regions: after minus before */
  cl_long region_bytes;
} xmc_heap_change;

/* Fills `change` from two statistics of a heap that was not reset in between. Reads neither heap nor device. */
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

/* As clCreateProgramWithSource, but with the device library in place of each `#include "xmalloc.cl"`, "xmalloc_default.cl" or
 * "xmalloc_std.h" in the strings, whatever folder the include names; if there is none, the library is put in front. Line numbers in
 * messages remain those of the strings. A byte order mark at the beginning of a string is left out. The text may be divided into
 * strings at any place.
 * Includes in files of your own, and includes by macros, are left to the compiler: it finds "xmalloc.cl" if the build options
 * have -I and the folder of the kernel sources (pkg-config --variable=cldir xmalloc; CMake: xmalloc_CL_DIR). If the program has the
 * library already, such an include adds nothing. A header that must work without that folder includes nothing, or includes the
 * library only in `#ifndef XMC_XMALLOC_CL`.
 * Build the program with xmcGetBuildOptions(heap), and any options of your own after them. The program serves any
 * heap made with the same properties on the same device and context.
 *
 * NVIDIA's compiler takes seconds for each place of a kernel at which the library's code is inlined. A place that allocates is a name
 * with "alloc" in it before a parenthesis. Programs with many such places get the macro XMC_CALLS (programs for other devices are as
 * with 0):
 *
 *   places in the strings                 XMC_CALLS                                        time of malloc and free
 *   up to 2 in each kernel, 8 in all      0: all is inlined                                1
 *   more than 2 in one kernel, or         1: the short way of malloc and free is           pairs and mixed sizes 1.0 to 1.2; the program
 *   more than 8 in all                    inlined, the rest is called                      compiles in a quarter of the time
 *   more than 16 in all                   2: each place is a call                          pairs 1.1 to 1.3, the benchmark's `churn` 1.6
 *
 * `#define XMC_CALLS 0` (or 1, or 2) before the include, or -DXMC_CALLS=0 among the options, overrides this; if no string includes
 * the library, only the option does.
 * On NVIDIA a program with XMC_CALLS 0 is compiled with XMC_NO_YIELDS 1 if its heap has fewer FIFOs of some class than sub-groups can
 * be resident, such as a heap of 1 GiB: work-items of a sub-group that call in a loop of their own then stay together. Kernels in which
 * each work-item allocates and frees many sizes (the benchmark's `ageing` and `churn`) take 0.3 to 0.65 of the time. If all work-items
 * ask for the same size at the same time, malloc and free take 1.0 to 1.15 times as long (malloc of 2 KiB 1.25). -DXMC_NO_YIELDS=0
 * or =1 among the options overrides this.
 * Errors: XMC_INVALID_HEAP, CL_INVALID_VALUE (no string, or a NULL one), CL_OUT_OF_HOST_MEMORY, OpenCL's. */
XMALLOC_EXPORT cl_program xmcCreateProgramWithSource(xmc_heap heap, cl_uint count, const char **strings,
                                                     const size_t *lengths, cl_int *errcode_ret);

/* Links the device library with programs that clCompileProgram compiled from OpenCL C for the heap's device (at most 32). These need not
 * include xmalloc.cl but only declare the functions that they call; the header xmalloc_link.h beside it has all declarations. The
 * library is compiled with the heap's build options; the caller chooses those of its objects. The linked program serves the same
 * heaps as a program of xmcCreateProgramWithSource. `options` are clLinkProgram's, or NULL.
 * With XMC_LINK_DEFAULT_HEAP the program has a default heap as well, which xmcBindDefaultHeap sets, and its objects may call functions
 * that take no heap: xmcMallocDefault and the like, malloc, free, calloc, realloc, aligned_alloc, C++'s operators new and
 * delete, __chip_malloc and __chip_free, gpu_malloc and gpu_free. Their pointers are generic if the device has a generic
 * address space, else __global. Such objects must not include xmalloc_default.cl.
 * Objects of an intermediate language (clCreateProgramWithIL) are not accepted; clLinkProgram links them with installed modules of
 * the library (include/guides/plug-in.md).
 * Cost: the library is compiled anew in each call.
 * Errors: XMC_INVALID_HEAP, CL_INVALID_VALUE (no program, more than 32, an unknown flag), XMC_NO_DEFAULT_HEAP,
 * CL_INVALID_OPERATION (an object of an intermediate language, or one that was not compiled), OpenCL's; after
 * CL_LINK_PROGRAM_FAILURE the returned program, unless it is NULL, has the log. */
typedef cl_bitfield xmc_link_flags;
#define XMC_LINK_DEFAULT_HEAP 1u
XMALLOC_EXPORT cl_program xmcLinkProgram(xmc_heap heap, xmc_link_flags flags, cl_uint count,
                                         const cl_program *programs, const char *options,
                                         cl_int *errcode_ret);

/* Makes the heap the default heap of a built program, for kernels enqueued after the return. xmcMallocDefault and xmcFreeDefault use
 * it, and with `#include "xmalloc_std.h"` malloc and free. The program's source has `#include "xmalloc_default.cl"` (or that header) in
 * place of "xmalloc.cl"; if the device has no variables at program scope, such a program does not build, and its log says what to do.
 * The last call counts. Programs that were linked into one share its default heap. The program does not retain the heap, which must
 * outlive its kernels. Because the heap is no argument of those kernels, finish their queues before xmcReleaseHeap; if it is an SVM heap
 * whose info XMC_HEAP_DEFERRED_RELEASE is CL_FALSE, name it by clSetKernelExecInfo. Cost: waits for the queue, and one launch.
 * Errors: XMC_INVALID_HEAP, XMC_NO_DEFAULT_HEAP, CL_INVALID_KERNEL_NAME (the source lacks the include),
 * XMC_HEAP_MISMATCH, OpenCL's. */
XMALLOC_EXPORT cl_int xmcBindDefaultHeap(cl_program program, xmc_heap heap, cl_command_queue queue);

/* Returns the build options for the heap and its device: `-cl-std=…` and the `-DXMC_…`. The string is valid until the heap is destroyed.
 * Returns NULL if `heap` is not a heap. In a context of several devices the options name the heap's device, so that a program built
 * with them is refused for heaps of the other devices. To build one program for several devices, whose options must otherwise be the
 * same, append `-DXMC_DEVICE=-1`. */
XMALLOC_EXPORT const char *xmcGetBuildOptions(xmc_heap heap);

/* Returns more options, for programs that serve only heaps of this geometry: the same bytes and properties, in memory
 * of the same alignment. The places of the tables are then constants of the program. Append the options to
 * xmcGetBuildOptions(heap), with a space between. On GPUs such programs allocate and free some per cent faster
 * (bench/experiments.md); each size of heap needs a program of its own.
 * xmcSetKernelArgHeap returns XMC_HEAP_MISMATCH for another heap. If a kernel gets another heap by other ways, and that heap has at
 * least this size, requests return NULL and frees do nothing; with a smaller heap a GPU may read beyond the heap's end.
 * The string is valid until the heap is destroyed; it is "" for a loaded heap. Returns NULL if `heap` is not a heap. */
XMALLOC_EXPORT const char *xmcGetGeometryOptions(xmc_heap heap);

/* Returns the whole device library as one OpenCL C string, which is never freed. */
XMALLOC_EXPORT const char *xmcGetSource(void);

/* Returns a text for a status, its name first; never NULL. Covers OpenCL's errors, too. For an unknown status the text holds
 * the number, and is valid until the thread's next call. */
XMALLOC_EXPORT const char *xmcErrorString(cl_int status);

#ifdef __cplusplus
}
#endif
#endif
