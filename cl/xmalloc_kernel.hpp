/* SPDX-License-Identifier: MIT */
/* Typed blocks and references for kernels in C++ for OpenCL (-cl-std=clc++1.0, clc++2021). Templates only, which compile to the
 * calls that they stand for: a ptr<T> is a `__global T *`, a ref<T> is an xmcRef.
 *
 *   struct Node { uint value; xmc::ref<Node> next; Node(uint v) : value(v) {} };
 *
 *   xmc::ptr<Node> node = xmc::make<Node>(heap, 7u);   // NULL if there is no room
 *   if (node) {
 *     xmc::ref<Node> kept(heap, node);                 // to store in memory; the same in the next launch
 *     node->next = kept;
 *     xmc::destroy(heap, kept.get(heap));
 *   }
 *
 * Include it after xmalloc.cl, or without it in objects that are linked with the library. Convergence, memory order and cost are
 * those of xmcMalloc, xmcFree, xmcToRef and xmcFromRef.
 */
#ifndef XMC_XMALLOC_KERNEL_HPP
#define XMC_XMALLOC_KERNEL_HPP
#ifndef __OPENCL_CPP_VERSION__
#error "XMalloc: xmalloc_kernel.hpp is for kernels in C++ for OpenCL; hosts include xmalloc.hpp."
#endif
#ifndef XMC_XMALLOC_CL
#include "xmalloc_link.h"
#endif

namespace xmc {

/* Where make() constructs; a type of its own, so that a program's placement new does not collide with it */
struct place {
  __global void *at;
};

} // namespace xmc

inline void *operator new(size_t, xmc::place place) noexcept { return place.at; }

namespace xmc {

/* A pointer to a T in a heap, or NULL. Valid in this launch only. */
template <class T> class ptr {
public:
  ptr() = default;
  ptr(__global T *at) : at_(at) {}
  __global T *get() const { return at_; }
  __global T &operator*() const { return *at_; }
  __global T *operator->() const { return at_; }
  __global T &operator[](size_t i) const { return at_[i]; }
  explicit operator bool() const { return at_ != nullptr; }
  bool operator==(ptr other) const { return at_ == other.at_; }
  bool operator!=(ptr other) const { return at_ != other.at_; }

private:
  __global T *at_;
};

/* A reference to a T in a heap, or none: position-independent, to be stored in blocks, passed to other launches and to the host,
 * and kept in files. Zero bytes are none. */
template <class T> class ref {
public:
  ref() = default;
  explicit ref(xmcRef number) : number_(number) {}
  ref(__global xmcHeap *heap, ptr<T> block) : number_(xmcToRef(heap, block.get())) {}
  ptr<T> get(__global xmcHeap *heap) const { return ptr<T>((__global T *)xmcFromRef(heap, number_)); }
  xmcRef number() const { return number_; }
  explicit operator bool() const { return number_ != 0; }

private:
  xmcRef number_;
};

/* Allocates a T and constructs it from the arguments; NULL, with nothing constructed, if no room is left. For types of larger
 * alignments clang (14 to 19) needs -fno-aligned-allocation: it crashes where C++ asks for an operator new that takes one. */
template <class T, class... Arguments> ptr<T> make(__global xmcHeap *heap, Arguments... arguments) {
#ifdef __cpp_aligned_new
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                "XMalloc: build with -fno-aligned-allocation for a type of this alignment");
#endif
  __global void *at =
      alignof(T) > 16 ? xmcAlignedAlloc(heap, alignof(T), sizeof(T)) : xmcMalloc(heap, sizeof(T));
  if (at)
    new (place{at}) T(arguments...);
  return ptr<T>((__global T *)at);
}

/* Destroys a T that make() made, and frees it. NULL is a no-op. */
template <class T> void destroy(__global xmcHeap *heap, ptr<T> block) {
  if (!block)
    return;
  block->~T();
  xmcFree(heap, block.get());
}

} // namespace xmc
#endif
