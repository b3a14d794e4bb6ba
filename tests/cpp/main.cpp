/* SPDX-License-Identifier: MIT */
/* xmalloc.hpp on every device: a list that kernels extend and the host walks, through typed references; copies and
 * moves of a heap; errors. Compiled with exceptions and, by -fno-exceptions, without. */
#ifdef __cpp_exceptions
#define CL_HPP_ENABLE_EXCEPTIONS
#endif
#define CL_HPP_TARGET_OPENCL_VERSION 300
#include <xmalloc.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Node {
  xmc::Ref<Node> next;
  cl_uint value;
};
static_assert(sizeof(xmc::Ref<Node>) == sizeof(xmcRef) && std::is_trivial<xmc::Ref<Node>>::value &&
                  std::is_standard_layout<xmc::Ref<Node>>::value,
              "a typed reference is an xmcRef");

static const char source[] = "typedef struct node { xmcRef next; uint value; } node;\n"
                             "__kernel void push(__global xmcHeap *heap, volatile __global uint *head) {\n"
                             "  __global node *n = (__global node *)xmcMalloc(heap, sizeof(node));\n"
                             "  if (!n) return;\n"
                             "  n->value = (uint)get_global_id(0);\n"
                             "  n->next = atomic_xchg(head, (uint)xmcToRef(heap, n));\n"
                             "}\n";

static void expect(bool right, const char *what, int line) {
  if (!right) {
    std::fprintf(stderr, "line %d: %s\n", line, what);
    std::exit(1);
  }
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

/* CALL(status, call): `status` is what the call reports, by either way. */
#ifdef CL_HPP_ENABLE_EXCEPTIONS
static const char *thrown_by = "";
#define CALL(status, ...) \
  do { \
    try { \
      cl_int *err = &status; \
      (void)err; \
      status = CL_SUCCESS; \
      __VA_ARGS__; \
    } catch (const cl::Error &error) { \
      status = error.err(); \
      thrown_by = error.what(); \
    } \
  } while (0)
#else
#define CALL(status, ...) \
  do { \
    cl_int *err = &status; \
    (void)err; \
    __VA_ARGS__; \
  } while (0)
#endif

static void test_list(const cl::Context &context, const cl::CommandQueue &queue, const xmc::Heap &heap) {
  enum { ITEMS = 200, BY_HOST = 10 };
  cl_int status = CL_SUCCESS;
  cl_uint head = 0;
  cl::Program program;
  CALL(status, program = heap.buildProgram(source, "-DANYTHING", err));
  EXPECT(status == CL_SUCCESS);
  {
    xmc::Mapping map(heap, queue);
    for (int i = 0; i < BY_HOST; i++) {
      Node *node = map.allocate<Node>();
      EXPECT(node != nullptr);
      node->next = xmc::Ref<Node>(head);
      node->value = 0;
      head = (cl_uint)map.ref(node).value;
      EXPECT(map.get(map.ref(node)) == node);
    }
  }
  cl::Kernel push(program, "push");
  cl::Buffer head_buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof head, &head);
  EXPECT(heap.setArg(push, 0) == CL_SUCCESS);
  push.setArg(1, head_buffer);
  EXPECT(queue.enqueueNDRangeKernel(push, cl::NullRange, cl::NDRange(ITEMS)) == CL_SUCCESS);
  EXPECT(queue.enqueueReadBuffer(head_buffer, CL_TRUE, 0, sizeof head, &head) == CL_SUCCESS);
  EXPECT(heap.stats(queue).live_blocks == ITEMS + BY_HOST);

  xmc::Mapping map(heap, queue);
  cl_ulong nodes = 0, sum = 0;
  for (xmc::Ref<Node> at(head), next; at; at = next) {
    next = map[at].next;
    nodes++;
    sum += map[at].value;
    EXPECT(map.free(map.get(at)) == CL_SUCCESS);
  }
  EXPECT(nodes == ITEMS + BY_HOST && sum == (cl_ulong)ITEMS * (ITEMS - 1) / 2);
  EXPECT(map.unmap() == CL_SUCCESS);
  EXPECT(heap.stats(queue).live_blocks == 0);
  EXPECT(heap.check(queue) == CL_SUCCESS);
}

/* An object that only declares what it calls */
static void test_linked(const cl::Context &context, const cl::CommandQueue &queue, const xmc::Heap &heap) {
  cl_int status = CL_SUCCESS;
  cl::Program object(context,
                     "struct xmcHeap;\n"
                     "__global void *xmcMalloc(__global struct xmcHeap *heap, size_t size);\n"
                     "__kernel void take(__global struct xmcHeap *heap) { xmcMalloc(heap, 100); }\n");
  cl::Program program;
  EXPECT(object.compile(heap.buildOptions().c_str()) == CL_SUCCESS);
  CALL(status, program = heap.linkProgram(std::vector<cl::Program>(1, object), 0, "", err));
  EXPECT(status == CL_SUCCESS);
  cl::Kernel take(program, "take");
  EXPECT(heap.setArg(take, 0) == CL_SUCCESS);
  EXPECT(queue.enqueueNDRangeKernel(take, cl::NullRange, cl::NDRange(50)) == CL_SUCCESS);
  EXPECT(queue.finish() == CL_SUCCESS);
  EXPECT(heap.stats(queue).live_blocks == 50);
  EXPECT(heap.reset(queue) == CL_SUCCESS);
  CALL(status, heap.linkProgram(std::vector<cl::Program>(), 0, "", err));
  EXPECT(status == CL_INVALID_VALUE);
}

static void test_life(const cl::Context &context, const cl::Device &device) {
  xmc::Heap first(context, device, 4 << 20, {XMC_HEAP_COALESCING, XMC_COALESCE_NONE}), copy(first), none;
  EXPECT(first.getInfo<XMC_HEAP_REFERENCE_COUNT>() == 2);
  EXPECT(first.getInfo<XMC_HEAP_COALESCING>() == XMC_COALESCE_NONE);
  EXPECT(first.getInfo<XMC_HEAP_BYTES>() == 4 << 20);
  EXPECT(first.getInfo<XMC_HEAP_DEVICE>()() == device() && first.getInfo<XMC_HEAP_CONTEXT>()() == context());
  EXPECT(first.getInfo<XMC_HEAP_PATH>().find("OpenCL C") != std::string::npos);
  xmc::Heap moved(std::move(copy));
  EXPECT(!copy && moved() == first() && first.getInfo<XMC_HEAP_REFERENCE_COUNT>() == 2);
  moved = none;
  EXPECT(!moved && first.getInfo<XMC_HEAP_REFERENCE_COUNT>() == 1);
  copy = first;
  xmc::Heap &same = copy; /* an assignment to itself, which compilers would warn of in plain sight */
  copy = std::move(same);
  EXPECT(copy() == first() && first.getInfo<XMC_HEAP_REFERENCE_COUNT>() == 2);
}

static void test_growing(const cl::Context &context, const cl::Device &device) {
  xmc::Heap heap(context, device, 4 << 20, {XMC_HEAP_MAX_BYTES, 16 << 20});
  cl_int status = CL_SUCCESS;
  xmc::Ref<Node> ref;
  EXPECT(heap.getInfo<XMC_HEAP_MAX_BYTES>() == 16 << 20 && heap.getInfo<XMC_HEAP_BYTES>() == 4 << 20);
  {
    xmc::Mapping map(heap);
    Node *node = map.allocate<Node>();
    node->value = 42;
    ref = map.ref(node);
    CALL(status, status = heap.grow(16 << 20));
    EXPECT(status == XMC_HEAP_MAPPED);
  }
  EXPECT(heap.grow(16 << 20) == CL_SUCCESS && heap.getInfo<XMC_HEAP_BYTES>() == 16 << 20);
  {
    xmc::Mapping map(heap);
    EXPECT(map[ref].value == 42 && map.allocate<char>(10 << 20) != nullptr);
  }
  xmc_heap_stats stats = heap.stats();
  EXPECT(heap.check() == CL_SUCCESS && stats.high_water_bytes > 10 << 20 && stats.reclaimable_bytes == 0);
  EXPECT(stats.failed_bytes == 0);
  CALL(status, status = heap.grow((16 << 20) + 1));
  EXPECT(status == XMC_HEAP_TOO_LARGE);
}

static void test_mapping(const xmc::Heap &heap) {
  cl_int status = CL_SUCCESS;
  {
    xmc::Mapping one(heap), two(std::move(one));
    cl_uint *numbers = two.allocate<cl_uint>(4);
    numbers[3] = 7;
    numbers = two.reallocate(numbers, 4000);
    EXPECT(numbers && numbers[3] == 7);
    EXPECT(two.free(numbers) == CL_SUCCESS);
    EXPECT(two.allocate<cl_uint>(0) == nullptr);
    xmcRegion region = two.createRegion();
    cl_uint *first = two.allocateIn<cl_uint>(region, 1000);
    first[999] = 7;
    EXPECT(region != 0 && two.allocateIn<cl_uint>(region, 0) == nullptr);
    EXPECT(two.allocateIn<cl_uint>(region) != first && first[999] == 7 && two.regionBytes(region) > 4000);
    CALL(status, two.allocateIn<cl_uint>(region, (std::size_t)-1 / 2, err));
    EXPECT(status == CL_MEM_OBJECT_ALLOCATION_FAILURE);
    EXPECT(two.resetRegion(region) == CL_SUCCESS && two.allocateIn<cl_uint>(region, 1000) == first);
    EXPECT(two.freeRegion(region) == CL_SUCCESS && two.regionBytes(region) == 0);
    CALL(status, two.allocateIn<cl_uint>(region, 1, err)); /* counted as a bad free */
    EXPECT(status == CL_INVALID_VALUE);
    CALL(status, two.allocate<cl_uint>((std::size_t)-1 / 2, err));
    EXPECT(status == CL_MEM_OBJECT_ALLOCATION_FAILURE);
    CALL(status, xmc::Mapping(heap, cl::CommandQueue(), err));
    EXPECT(status == XMC_HEAP_MAPPED);
  }
  EXPECT(heap.stats().failed_requests == 2 && heap.stats().invalid_frees == 1);
  EXPECT(heap.reset() == CL_SUCCESS && heap.stats().failed_requests == 0); /* nothing is mapped any more */
}

/* Blocks are listed until the function has enough; the first failure is told to the function that is set. */
static void test_inspect(const xmc::Heap &heap) {
  enum { BLOCKS = 5 };
  cl_int status = CL_SUCCESS;
  cl_ulong told = 0, asked = 0;
  int listed = 0;
  auto on_failure = [&](xmc_heap_event event, cl_ulong value, cl_ulong) {
    told += event == XMC_EVENT_FAILED_REQUEST;
    asked = value;
  };
  EXPECT(heap.reset() == CL_SUCCESS && heap.setCallback(on_failure) == CL_SUCCESS);
  {
    xmc::Mapping map(heap);
    for (int i = 0; i < BLOCKS; i++)
      EXPECT(map.allocate<cl_uint>(100) != nullptr);
    CALL(status, map.allocate<char>(1 << 30, err));
    EXPECT(status == CL_MEM_OBJECT_ALLOCATION_FAILURE);
  }
  heap.stats();
  EXPECT(told == 1 && asked == 1 << 30);
  EXPECT(heap.setCallback(nullptr) == CL_SUCCESS);
  EXPECT(heap.forEachBlock([&](const xmc_block &block) {
    listed += block.ref != 0 && block.usable >= 400;
    return false;
  }) == CL_SUCCESS);
  EXPECT(listed == BLOCKS);
  const auto until_second = [&](const xmc_block &) { return ++listed == BLOCKS + 2; };
  EXPECT(heap.forEachBlock(until_second) == CL_SUCCESS && listed == BLOCKS + 2);
  EXPECT(heap.checkRef32() == CL_SUCCESS);
  CALL(status, status = xmc::Heap().checkRef32());
  EXPECT(status == XMC_INVALID_HEAP);
  EXPECT(heap.reset() == CL_SUCCESS);
}

static void test_errors(const cl::Context &context, const cl::Device &device, const xmc::Heap &heap) {
  cl_int status = CL_SUCCESS;
  CALL(status, xmc::Heap(context, device, 100, {}, err));
  EXPECT(status == XMC_HEAP_TOO_SMALL);
#ifdef CL_HPP_ENABLE_EXCEPTIONS
  EXPECT(!std::strcmp(thrown_by, "xmcCreateHeap"));
  try {
    heap.buildProgram("no OpenCL C");
    EXPECT(false);
  } catch (const cl::BuildError &error) {
    EXPECT(error.getBuildLog().size() == 1);
  }
#else
  cl::Program bad = heap.buildProgram("no OpenCL C", "", &status);
  EXPECT(status == CL_BUILD_PROGRAM_FAILURE && bad() != nullptr);
#endif
  CALL(status, status = xmc::Heap().reset());
  EXPECT(status == XMC_INVALID_HEAP);
  CALL(status, xmc::Heap::load(context, device, "/nowhere/heap", {}, err));
  EXPECT(status == XMC_FILE_UNUSABLE);
}

static void test_device(const cl::Device &device) {
  cl::Context context(device);
  cl::CommandQueue queue(context, device);
  xmc::Heap heap(context, device, 4 << 20);
  test_list(context, queue, heap);
  test_linked(context, queue, heap);
  test_life(context, device);
  test_growing(context, device);
  test_mapping(heap);
  test_inspect(heap);
  test_errors(context, device, heap);
  std::printf("%s: passed\n", device.getInfo<CL_DEVICE_NAME>().c_str());
}

extern "C" {
extern const char test_usage[];
const char test_usage[] = "usage: a test of xmalloc.hpp on the first OpenCL device; it takes no arguments.\n";
}

int main() {
  const char *wish = std::getenv("XMC_TEST_DEVICE");
  std::vector<cl::Platform> platforms;
  int tested = 0;
  cl::Platform::get(&platforms);
  for (const cl::Platform &platform : platforms) {
    std::vector<cl::Device> devices;
    cl_int status = CL_SUCCESS; /* a platform without devices reports an error */
    CALL(status, status = platform.getDevices(CL_DEVICE_TYPE_ALL, &devices));
    for (const cl::Device &device : devices)
      if (!wish || device.getInfo<CL_DEVICE_NAME>().find(wish) != std::string::npos ||
          platform.getInfo<CL_PLATFORM_NAME>().find(wish) != std::string::npos) {
        test_device(device);
        tested++;
      }
  }
  if (!tested)
    std::fprintf(stderr, "no OpenCL device\n");
  return tested ? 0 : 1;
}
