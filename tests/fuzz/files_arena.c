/* SPDX-License-Identifier: MIT */
/* One arena in the middle of a range of addresses where every access is an error. */
#include "files.h"
#include <string.h>
#include <sys/mman.h>
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FUZZ_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(FUZZ_ASAN)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

/* A file of a few bytes may ask for gigabytes of metadata: the reader must take NULL for an answer. Little is kept of what
 * was freed, for fresh memory takes most of a run's time. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "max_allocation_size_mb=64:allocator_may_return_null=1:quarantine_size_mb=8";
}

#define MOST ((size_t)64 << 20)
#define SIDE ((size_t)40 << 30) /* more than any index of 32 bits times 8 reaches */
#define STEP ((size_t)16384)    /* a page of the system, or several */

static size_t round_up(size_t bytes) { return (bytes + STEP - 1u) / STEP * STEP; }

void *fuzz_arena(size_t bytes) {
  static char *base;
  static size_t open;
  if (bytes > MOST)
    return NULL;
  if (!base) {
    size_t side = SIDE;
    char *range = MAP_FAILED;
    while (side >= MOST && (range = mmap(NULL, 2u * side, PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) == MAP_FAILED)
      side /= 2u;
    if (range == MAP_FAILED)
      return NULL;
    base = range + side;
  }
  ASAN_UNPOISON_MEMORY_REGION(base, open);
  if (round_up(bytes) != open) {
    mprotect(base, open, PROT_NONE);
    madvise(base, open, MADV_DONTNEED);
    open = round_up(bytes);
    if (mprotect(base, open, PROT_READ | PROT_WRITE) != 0) {
      open = 0;
      return NULL;
    }
  } else if (open > (size_t)1 << 20) {
    madvise(base, open, MADV_DONTNEED);
  } else { /* faster than new pages */
    memset(base, 0, open);
  }
  ASAN_POISON_MEMORY_REGION(base + bytes, open - bytes);
  return base;
}
