/* SPDX-License-Identifier: MIT */
/* XMalloc for OpenCL in C++: what xmalloc.h declares, on the types of CL/opencl.hpp. Header only, C++11.
 *
 *   #define CL_HPP_ENABLE_EXCEPTIONS
 *   #include <xmalloc.hpp>
 *
 *   xmc::Heap heap(context, device, 256 << 20);
 *   cl::Program program = heap.buildProgram(source);     // holds the device library
 *   cl::Kernel kernel(program, "push");
 *   heap.setArg(kernel, 0);                               // __global xmcHeap *heap
 *   ...
 *   xmc::Mapping map(heap, queue);                        // until the end of the scope
 *   for (xmc::Ref<Node> at = head; at; at = map[at].next)
 *     sum += map[at].value;
 *
 * Errors are reported as CL/opencl.hpp does it. With CL_HPP_ENABLE_EXCEPTIONS each function that fails throws
 * cl::Error, whose what() is the name of the C function and whose err() the status (a failed build cl::BuildError).
 * Without it nothing throws: functions return the status, or take a last parameter `cl_int *err`, which may be
 * nullptr. xmcErrorString says a status in words in both cases.
 *
 * What each function does, its errors, and who may call it when, is said at the C function of the same name in
 * xmalloc.h. `heap()` is the C handle, for every function that has no counterpart here. Where a queue may be left
 * out, it is the heap's own.
 */
#ifndef XMALLOC_HPP
#define XMALLOC_HPP

#ifndef CL_HPP_TARGET_OPENCL_VERSION
#define CL_HPP_TARGET_OPENCL_VERSION 300
#endif
#include <CL/opencl.hpp>
#include <xmalloc.h>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace xmc {

/* A list of names and values, without the final 0 of C: {XMC_HEAP_BACKING, XMC_BACKING_SVM} */
typedef std::vector<xmc_heap_properties> Properties;

namespace detail {

/* Throws, or writes `status` to `err` and returns it. `function` must outlive the exception. */
inline cl_int report(cl_int status, const char *function, cl_int *err = nullptr) {
  if (err)
    *err = status;
#ifdef CL_HPP_ENABLE_EXCEPTIONS
  if (status != CL_SUCCESS)
    throw cl::Error(status, function);
#else
  (void)function;
#endif
  return status;
}

inline Properties terminated(Properties properties) {
  properties.push_back(0);
  return properties;
}

/* Reads a piece of information as it is, as a string, or as an object of OpenCL. */
template <class T>
typename std::enable_if<std::is_scalar<T>::value, cl_int>::type read(xmc_heap heap, xmc_heap_info name,
                                                                     T &value) {
  return xmcGetHeapInfo(heap, name, sizeof value, &value, nullptr);
}

inline cl_int read(xmc_heap heap, xmc_heap_info name, std::string &value) {
  std::size_t size = 0;
  cl_int status = xmcGetHeapInfo(heap, name, 0, nullptr, &size);
  if (status != CL_SUCCESS || size == 0)
    return status;
  value.resize(size);
  status = xmcGetHeapInfo(heap, name, size, &value[0], nullptr);
  value.resize(size - 1); /* C's 0 at the end */
  return status;
}

template <class T>
typename std::enable_if<!std::is_scalar<T>::value, cl_int>::type read(xmc_heap heap, xmc_heap_info name,
                                                                      T &value) {
  typename T::cl_type object = nullptr;
  cl_int status = xmcGetHeapInfo(heap, name, sizeof object, &object, nullptr);
  if (status == CL_SUCCESS)
    value = T(object, true);
  return status;
}

/* What C calls back: the function objects of Heap::forEachBlock and Heap::setCallback, which C knows as data */
template <class F> void *data_of(F &function) {
  return const_cast<void *>(static_cast<const void *>(&function));
}

template <class F> int CL_CALLBACK call_with_block(const xmc_block *block, void *function) noexcept {
  return (*static_cast<F *>(function))(*block) ? 1 : 0;
}

template <class F>
void CL_CALLBACK call_with_event(xmc_heap, xmc_heap_event event, cl_ulong value, cl_ulong id,
                                 void *function) noexcept {
  (*static_cast<F *>(function))(event, value, id);
}

/* The type of each piece of information */
template <xmc_heap_info name> struct info;
template <> struct info<XMC_HEAP_BACKING> { typedef xmc_heap_properties type; };
template <> struct info<XMC_HEAP_COALESCING> { typedef xmc_heap_properties type; };
template <> struct info<XMC_HEAP_FIFOS> { typedef xmc_heap_properties type; };
template <> struct info<XMC_HEAP_FIFO_START> { typedef xmc_heap_properties type; };
template <> struct info<XMC_HEAP_DEBUG> { typedef xmc_heap_properties type; };
template <> struct info<XMC_HEAP_MAX_BYTES> { typedef xmc_heap_properties type; };
template <> struct info<XMC_HEAP_TRACE_BYTES> { typedef xmc_heap_properties type; };
template <> struct info<XMC_HEAP_TRACE_EVERY> { typedef xmc_heap_properties type; };
template <> struct info<XMC_HEAP_REFERENCE_COUNT> { typedef cl_uint type; };
template <> struct info<XMC_HEAP_CONTEXT> { typedef cl::Context type; };
template <> struct info<XMC_HEAP_DEVICE> { typedef cl::Device type; };
template <> struct info<XMC_HEAP_BYTES> { typedef std::size_t type; };
template <> struct info<XMC_HEAP_METADATA_BYTES> { typedef std::size_t type; };
template <> struct info<XMC_HEAP_MEM_OBJECT> { typedef cl::Buffer type; };
template <> struct info<XMC_HEAP_SVM_POINTER> { typedef void *type; };
template <> struct info<XMC_HEAP_DEFERRED_RELEASE> { typedef cl_bool type; };
template <> struct info<XMC_HEAP_SUB_GROUPS> { typedef cl_bool type; };
template <> struct info<XMC_HEAP_PATH> { typedef std::string type; };
template <> struct info<XMC_HEAP_WHY> { typedef std::string type; };
template <> struct info<XMC_HEAP_HOST_ALWAYS> { typedef cl_bool type; };
template <> struct info<XMC_HEAP_DEFAULTS> { typedef cl_bool type; };
template <> struct info<XMC_HEAP_ARGUMENT> { typedef cl_mem type; };

} // namespace detail

/* A heap. A copy is the same heap, retained; the heap is destroyed with its last object. An object made by default
 * holds none: its functions fail with XMC_INVALID_HEAP. */
class Heap {
public:
  Heap() noexcept : heap_(nullptr) {}

  /* xmcCreateHeap */
  Heap(const cl::Context &context, const cl::Device &device, std::size_t bytes,
       const Properties &properties = Properties(), cl_int *err = nullptr)
      : heap_(nullptr) {
    cl_int status;
    heap_ = xmcCreateHeap(context(), device(), detail::terminated(properties).data(), bytes, &status);
    detail::report(status, "xmcCreateHeap", err);
  }

  /* Takes over the caller's reference, or adds one. */
  explicit Heap(xmc_heap heap, bool retain = false) noexcept : heap_(heap) {
    if (retain)
      xmcRetainHeap(heap_);
  }

  Heap(const Heap &other) noexcept : Heap(other.heap_, other.heap_ != nullptr) {}
  Heap(Heap &&other) noexcept : heap_(other.heap_) { other.heap_ = nullptr; }
  Heap &operator=(Heap other) noexcept {
    std::swap(heap_, other.heap_);
    return *this;
  }

  /* A heap that is still mapped is not destroyed, as xmcReleaseHeap says; a Mapping keeps its heap so long. */
  ~Heap() {
    if (heap_)
      xmcReleaseHeap(heap_);
  }

  /* xmcLoadHeap */
  static Heap load(const cl::Context &context, const cl::Device &device, const std::string &path,
                   const Properties &properties = Properties(), cl_int *err = nullptr) {
    cl_int status;
    Heap heap(xmcLoadHeap(context(), device(), detail::terminated(properties).data(), path.c_str(), &status));
    detail::report(status, "xmcLoadHeap", err);
    return heap;
  }

  xmc_heap operator()() const noexcept { return heap_; }
  explicit operator bool() const noexcept { return heap_ != nullptr; }

  /* xmcSaveHeap */
  cl_int save(const std::string &path, const cl::CommandQueue &queue = cl::CommandQueue()) const {
    return detail::report(xmcSaveHeap(heap_, queue(), path.c_str()), "xmcSaveHeap");
  }

  /* xmcResetHeap */
  cl_int reset(const cl::CommandQueue &queue = cl::CommandQueue()) const {
    return detail::report(xmcResetHeap(heap_, queue()), "xmcResetHeap");
  }

  /* xmcGrowHeap. Kernels get the heap by setArg again, programs with a default heap by bindDefault. */
  cl_int grow(std::size_t bytes, const cl::CommandQueue &queue = cl::CommandQueue()) const {
    return detail::report(xmcGrowHeap(heap_, queue(), bytes), "xmcGrowHeap");
  }

  /* xmcGetHeapInfo: heap.getInfo<XMC_HEAP_BYTES>() */
  template <xmc_heap_info name> typename detail::info<name>::type getInfo(cl_int *err = nullptr) const {
    typename detail::info<name>::type value = typename detail::info<name>::type();
    detail::report(detail::read(heap_, name, value), "xmcGetHeapInfo", err);
    return value;
  }

  /* xmcGetHeapStats */
  xmc_heap_stats stats(const cl::CommandQueue &queue = cl::CommandQueue(), cl_int *err = nullptr) const {
    xmc_heap_stats stats = xmc_heap_stats();
    detail::report(xmcGetHeapStats(heap_, queue(), &stats), "xmcGetHeapStats", err);
    return stats;
  }

  /* xmcCheckHeap. A broken heap is an answer, not an error: XMC_HEAP_CORRUPT is returned and never thrown. */
  cl_int check(const cl::CommandQueue &queue = cl::CommandQueue(), xmc_heap_report *report = nullptr) const {
    cl_int status = xmcCheckHeap(heap_, queue(), report);
    return status == XMC_HEAP_CORRUPT ? status : detail::report(status, "xmcCheckHeap");
  }

  /* xmcCheckRef32. A heap that is too large for 32-bit references is an answer, not an error: XMC_HEAP_TOO_LARGE is
   * returned and never thrown. */
  cl_int checkRef32() const {
    cl_int status = xmcCheckRef32(heap_);
    return status == XMC_HEAP_TOO_LARGE ? status : detail::report(status, "xmcCheckRef32");
  }

  /* xmcForEachBlock: function(block) for each live block, an `xmc_block` that is valid until the return, until it
   * returns true. It must not throw. */
  template <class F>
  cl_int forEachBlock(F &&function, const cl::CommandQueue &queue = cl::CommandQueue()) const {
    typedef typename std::remove_reference<F>::type Function;
    return detail::report(
        xmcForEachBlock(heap_, queue(), detail::call_with_block<Function>, detail::data_of(function)),
        "xmcForEachBlock");
  }

  /* xmcSetHeapCallback: function(event, value, id) for the first failure of each kind. It must not throw, and must live
   * until another one takes its place or the heap is destroyed. nullptr: no callback any more. */
  template <class F> cl_int setCallback(F &function) const {
    return detail::report(xmcSetHeapCallback(heap_, detail::call_with_event<F>, detail::data_of(function)),
                          "xmcSetHeapCallback");
  }
  cl_int setCallback(std::nullptr_t) const {
    return detail::report(xmcSetHeapCallback(heap_, nullptr, nullptr), "xmcSetHeapCallback");
  }

  /* ---- programs ---- */

  /* xmcGetBuildOptions and xmcGetGeometryOptions; empty for no heap */
  std::string buildOptions() const { return heap_ ? xmcGetBuildOptions(heap_) : ""; }
  std::string geometryOptions() const { return heap_ ? xmcGetGeometryOptions(heap_) : ""; }

  /* xmcCreateProgramWithSource, not built yet */
  cl::Program createProgram(const std::vector<std::string> &sources, cl_int *err = nullptr) const {
    std::vector<const char *> strings;
    std::vector<std::size_t> lengths;
    cl_int status;
    for (const std::string &source : sources) {
      strings.push_back(source.data());
      lengths.push_back(source.size());
    }
    cl::Program program(
        xmcCreateProgramWithSource(heap_, (cl_uint)strings.size(), strings.data(), lengths.data(), &status));
    detail::report(status, "xmcCreateProgramWithSource", err);
    return program;
  }

  cl::Program createProgram(const std::string &source, cl_int *err = nullptr) const {
    return createProgram(std::vector<std::string>(1, source), err);
  }

  /* Builds a program for the heap's device with its options and then the caller's. */
  cl_int build(const cl::Program &program, const std::string &options = std::string()) const {
    cl_int status = CL_SUCCESS;
    cl::Device device = getInfo<XMC_HEAP_DEVICE>(&status);
    if (status != CL_SUCCESS)
      return status;
    return program.build(device, (buildOptions() + " " + options).c_str());
  }

  /* Both in one. Without exceptions, a program that does not build is returned as well, for its log. */
  cl::Program buildProgram(const std::string &source, const std::string &options = std::string(),
                           cl_int *err = nullptr) const {
    cl_int status = CL_SUCCESS;
    cl::Program program = createProgram(source, &status);
    if (status == CL_SUCCESS)
      status = build(program, options);
    if (err)
      *err = status;
    return program;
  }

  /* xmcLinkProgram, of programs that cl::Program::compile compiled. Without exceptions, a program that does not link is returned as
   * well, for its log. */
  cl::Program linkProgram(const std::vector<cl::Program> &objects, xmc_link_flags flags = 0,
                          const std::string &options = std::string(), cl_int *err = nullptr) const {
    std::vector<cl_program> programs;
    cl_int status;
    for (const cl::Program &object : objects)
      programs.push_back(object());
    cl::Program program(xmcLinkProgram(heap_, flags, (cl_uint)programs.size(), programs.data(),
                                       options.empty() ? nullptr : options.c_str(), &status));
    detail::report(status, "xmcLinkProgram", err);
    return program;
  }

  /* xmcSetKernelArgHeap */
  cl_int setArg(const cl::Kernel &kernel, cl_uint index) const {
    return detail::report(xmcSetKernelArgHeap(kernel(), index, heap_), "xmcSetKernelArgHeap");
  }

  /* xmcBindDefaultHeap */
  cl_int bindDefault(const cl::Program &program, const cl::CommandQueue &queue = cl::CommandQueue()) const {
    return detail::report(xmcBindDefaultHeap(program(), heap_, queue()), "xmcBindDefaultHeap");
  }

private:
  xmc_heap heap_;
};

/* A reference to a T in a heap. It has the layout of the device's xmcRef, so that a struct which holds one can be
 * shared with kernels; a default-initialised one holds nothing in particular, Ref<T>() is the null reference. */
template <class T> struct Ref {
  xmcRef value;

  Ref() = default;
  explicit Ref(xmcRef ref) noexcept : value(ref) {}
  explicit operator bool() const noexcept { return value != 0; }
  friend bool operator==(Ref a, Ref b) noexcept { return a.value == b.value; }
  friend bool operator!=(Ref a, Ref b) noexcept { return a.value != b.value; }
};

/* A heap mapped to the host: xmcMapHeap now, xmcUnmapHeap at the end of the scope. Meanwhile no kernel may run on the
 * heap, unless it has XMC_HEAP_HOST_ALWAYS. A heap has one mapping at a time. Addresses are valid as long as the
 * mapping; any number of threads may allocate and free through it. */
class Mapping {
public:
  explicit Mapping(const Heap &heap, const cl::CommandQueue &queue = cl::CommandQueue(),
                   cl_int *err = nullptr)
      : queue_(queue) {
    cl_int status = xmcMapHeap(heap(), queue_());
    if (status == CL_SUCCESS)
      heap_ = heap;
    detail::report(status, "xmcMapHeap", err);
  }

  Mapping(Mapping &&other) noexcept : heap_(std::move(other.heap_)), queue_(std::move(other.queue_)) {}
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;

  /* Errors are lost here; whoever wants them calls unmap before. */
  ~Mapping() {
    if (heap_)
      xmcUnmapHeap(heap_(), queue_());
  }

  /* xmcUnmapHeap, early */
  cl_int unmap() {
    cl_int status = xmcUnmapHeap(heap_(), queue_());
    if (status == CL_SUCCESS)
      heap_ = Heap();
    return detail::report(status, "xmcUnmapHeap");
  }

  /* xmcHostFromRef and xmcHostToRef. The reference of operator[] must not be null. */
  template <class T> T *get(Ref<T> ref) const { return static_cast<T *>(xmcHostFromRef(heap_(), ref.value)); }
  template <class T> T &operator[](Ref<T> ref) const { return *get(ref); }
  template <class T> Ref<T> ref(T *ptr) const { return Ref<T>(xmcHostToRef(heap_(), ptr)); }

  /* Room for `count` objects, whose contents are undefined: xmcHostMalloc, or xmcHostAlignedAlloc for types that want
   * more than 16. A T is what kernels can use: no constructors, no destructor. nullptr for count 0; no room is the
   * error CL_MEM_OBJECT_ALLOCATION_FAILURE. */
  template <class T> T *allocate(std::size_t count = 1, cl_int *err = nullptr) const {
    static_assert(std::is_trivially_copyable<T>::value, "kernels share bytes, not objects with constructors");
    const bool fits = count <= (std::size_t)-1 / sizeof(T);
    const std::size_t bytes =
        fits ? count * sizeof(T) : (std::size_t)-1; /* which no heap has: counted there */
    cl_int status;
    void *ptr = alignof(T) > 16 ? xmcHostAlignedAlloc(heap_(), alignof(T), bytes, &status)
                                : xmcHostMalloc(heap_(), bytes, &status);
    detail::report(status, "xmcHostMalloc", err);
    return static_cast<T *>(ptr);
  }

  /* xmcHostRealloc */
  template <class T> T *reallocate(T *ptr, std::size_t count, cl_int *err = nullptr) const {
    static_assert(std::is_trivially_copyable<T>::value && alignof(T) <= 16,
                  "bytes that may move, aligned to 16");
    const bool fits = count <= (std::size_t)-1 / sizeof(T);
    cl_int status;
    void *moved = xmcHostRealloc(heap_(), ptr, fits ? count * sizeof(T) : (std::size_t)-1, &status);
    detail::report(status, "xmcHostRealloc", err);
    return static_cast<T *>(moved);
  }

  /* xmcHostFree */
  cl_int free(void *ptr) const { return detail::report(xmcHostFree(heap_(), ptr), "xmcHostFree"); }

  /* xmcHostRegionCreate: a region, whose blocks are freed all at once; kernels take it as a ulong. No room is the error
   * CL_MEM_OBJECT_ALLOCATION_FAILURE. */
  xmcRegion createRegion(cl_int *err = nullptr) const {
    cl_int status;
    xmcRegion region = xmcHostRegionCreate(heap_(), &status);
    detail::report(status, "xmcHostRegionCreate", err);
    return region;
  }

  /* xmcHostRegionMalloc: as allocate, in a region */
  template <class T> T *allocateIn(xmcRegion region, std::size_t count = 1, cl_int *err = nullptr) const {
    static_assert(std::is_trivially_copyable<T>::value && alignof(T) <= 16,
                  "bytes that kernels share, aligned to 16");
    const bool fits = count <= (std::size_t)-1 / sizeof(T);
    cl_int status;
    void *ptr = xmcHostRegionMalloc(heap_(), region, fits ? count * sizeof(T) : (std::size_t)-1, &status);
    detail::report(status, "xmcHostRegionMalloc", err);
    return static_cast<T *>(ptr);
  }

  /* xmcHostRegionFree, xmcHostRegionReset and xmcHostRegionBytes */
  cl_int freeRegion(xmcRegion region) const {
    return detail::report(xmcHostRegionFree(heap_(), region), "xmcHostRegionFree");
  }
  cl_int resetRegion(xmcRegion region) const {
    return detail::report(xmcHostRegionReset(heap_(), region), "xmcHostRegionReset");
  }
  std::size_t regionBytes(xmcRegion region) const noexcept { return xmcHostRegionBytes(heap_(), region); }

private:
  Heap heap_; /* none: not mapped */
  cl::CommandQueue queue_;
};

} // namespace xmc
#endif
