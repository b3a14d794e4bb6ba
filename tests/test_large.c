/* SPDX-License-Identifier: MIT */
/* A heap of 256 GiB, the largest there is, in memory that is reserved and hardly touched: blocks of every class, runs of pages and
 * regions at both of its ends, the largest block, references, the check, and a file of it. test_large_simt.c is this with lanes as
 * on GPUs. Skipped, with a word, where so much address space cannot be reserved.
 */
#include <sys/mman.h>
#include <unistd.h>
#include "support/core.h"
#include "../cl/layout/ring.h"
#include "../host/file/heap_file.h"
#include "../host/inspect/inspect.h"
#include "support/named.h"

#define GIB ((xmc_u64)1 << 30)
#define BYTES (256 * GIB)
#define PIECE_BYTES ((size_t)8 << 20)
enum { LANES = 64, MOST_BIG = 6000 };

static struct {
  xmcHeap *heap;
  char *big[MOST_BIG]; /* blocks of whole pages, as they were handed out */
  size_t big_bytes[MOST_BIG];
  uint32_t bigs;
  uint64_t *block[LANES][XMC_CLASSES];
  xmc_u64 low, high; /* where the blocks have to be: offsets from page 0 */
  xmcRegion region;
  uint32_t wrong;
} t;

/* ---- a heap that is hardly touched: all its state words are copies of a piece of memory, until they are written ---- */

static void map_words(xmcHeap *heap) {
  xmc_u32 slabs = XMC_SLAB_WORDS - 1u + heap->pages;
  xmc_u64 *at = xmc_word_of(heap, 0u - slabs), *end = xmc_word_of(heap, heap->spans * XMC_SPAN_WORDS);
  int file = memfd_create("words", 0);
  xmc_u64 *piece;
  size_t i, bytes;
  assert_true(file >= 0 && ftruncate(file, (off_t)PIECE_BYTES) == 0);
  piece = mmap(NULL, PIECE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  assert_true(piece != MAP_FAILED);
  for (i = 0; i < PIECE_BYTES / 8; i++)
    piece[i] = XMC_WORD_RETIRED;
  munmap(piece, PIECE_BYTES);
  while (at < end) {
    bytes = (size_t)((char *)end - (char *)at) & ~(size_t)4095;
    bytes = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
    if (((uintptr_t)at & 4095u) || !bytes) {
      *at++ = XMC_WORD_RETIRED;
      continue;
    }
    assert_ptr_equal(mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0), at);
    at += bytes / 8u;
  }
  close(file);
}

static int open_heap(void **state) {
  xmcHeap header = core_header(BYTES, CORE_SLOTS_DEFAULT, 0, XMC_COALESCE_CLASS);
  void *memory =
      mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  (void)state;
  memset(&t, 0, sizeof t);
#if defined(__SANITIZE_THREAD__) /* its shadow of the tables would be several times as large */
  munmap(memory, BYTES);
  return 0;
#endif
  if (memory == MAP_FAILED)
    return 0;
  t.heap = memory;
  memcpy(t.heap, &header, sizeof header);
  xmc_init_tables(t.heap, 0, 1);
  map_words(t.heap);
  xmc_init_open(t.heap);
  return 0;
}
static int close_heap(void **state) {
  (void)state;
  if (t.heap)
    munmap(t.heap, BYTES);
  return 0;
}
static void need_heap(void) {
  if (t.heap)
    return;
  print_message("no address space for 256 GiB, or ThreadSanitizer\n");
  skip();
}

static void intact(xmcHeap *heap) {
  xmc_heap_report report;
  memset(&report, 0, sizeof report);
  if (xmc_check_meta(heap, &report) != CL_SUCCESS)
    fail_msg("%s", report.message);
}

/* ---- by lanes, or one after the other ---- */

static void all_lanes(void (*what)(uint32_t number, void *data)) {
#if XMC_SIMT
  simt s = {LANES / SIMT_LANES, 5, 0, (xmc_u64)1 << 40, 0, 0};
  simt_run(&s, what, NULL);
  assert_int_equal(s.hung, 0);
#else
  uint32_t i;
  for (i = 0; i < LANES; i++)
    what(i, NULL);
#endif
  assert_int_equal(t.wrong, 0);
}

/* A run of pages; where lanes would search, by what one lane's request comes to */
static char *big_malloc(size_t bytes) {
#if XMC_SIMT
  xmc_u32 pages = (xmc_u32)(bytes >> XMC_PAGE_SHIFT), span = 0, page;
  if (pages > XMC_SPAN_PAGES) {
    page = xmc_run_claim_long(t.heap, 0, pages);
  } else {
    xmc_u64 mask = xmc_run_claim(t.heap, 1, pages, 1, XMC_NONE, XMC_NONE, &span);
    page = mask ? span * XMC_SPAN_PAGES + xmc_lowest64(mask) : XMC_NONE;
  }
  if (page == XMC_NONE)
    return NULL;
  xmc_memoryblock_start(t.heap, page, pages);
  return xmc_page_address(t.heap, page);
#else
  return xmcMalloc(t.heap, bytes);
#endif
}
static void big_free(char *block) {
  xmc_memoryblock_release(t.heap,
                          (xmc_u32)((xmc_u64)(block - xmc_page_address(t.heap, 0)) >> XMC_PAGE_SHIFT));
}

/* Runs of pages until there is no page left. */
static void fill_all(void) {
  size_t bytes = GIB;
  while (bytes >= XMC_PAGE_BYTES) {
    char *block = big_malloc(bytes);
    if (!block) {
      bytes /= 2;
      continue;
    }
    assert_true(t.bigs < MOST_BIG);
    t.big_bytes[t.bigs] = bytes;
    t.big[t.bigs++] = block;
  }
  assert_int_equal(core_free_pages(t.heap), 0);
}

static xmc_u64 place_of(const void *block) {
  return (xmc_u64)((const char *)block - xmc_page_address(t.heap, 0));
}

/* Each page belongs to one of them, and they lead to themselves. */
static void runs(void **state) {
  xmc_u64 sum = 0;
  uint32_t i;
  (void)state;
  need_heap();
  fill_all();
  for (i = 0; i < t.bigs; i++) {
    xmc_u64 at = place_of(t.big[i]);
    sum += t.big_bytes[i];
    assert_true(at + t.big_bytes[i] <= xmc_data_bytes(t.heap));
    assert_int_equal(xmcUsableSize(t.heap, t.big[i]), t.big_bytes[i]);
    *(xmc_u64 *)t.big[i] = *((xmc_u64 *)(t.big[i] + t.big_bytes[i]) - 1) = at;
    assert_ptr_equal(xmcFromRef(t.heap, xmcToRef(t.heap, t.big[i])), t.big[i]);
    assert_int_equal(xmcToRef32(t.heap, t.big[i]),
                     xmcToRef(t.heap, t.big[i]) < 64 * GIB ? xmcToRef(t.heap, t.big[i]) >> 4 : 0);
  }
  assert_true(sum == xmc_data_bytes(t.heap) && sum > 250 * GIB);
  for (i = 0; i < t.bigs; i++)
    assert_true(*(xmc_u64 *)t.big[i] == place_of(t.big[i]) &&
                *((xmc_u64 *)(t.big[i] + t.big_bytes[i]) - 1) == place_of(t.big[i]));
}

/* ---- where only one end has room ---- */

static int is_at_end(const void *block, size_t bytes) {
  return block && place_of(block) >= t.low && place_of(block) + bytes <= t.high;
}
static void get_blocks(uint32_t number, void *data) {
  xmc_u32 cls;
  (void)data;
  for (cls = 0; cls < XMC_CLASSES; cls++) {
    uint64_t *block = t.block[number][cls] = xmcMalloc(t.heap, xmc_class_bytes(cls));
    if (!is_at_end(block, xmc_class_bytes(cls)) || xmcUsableSize(t.heap, block) != xmc_class_bytes(cls)) {
      t.wrong++;
      continue;
    }
    block[0] = xmcToRef(t.heap, block);
    block[xmc_class_bytes(cls) / 8u - 1u] = number;
  }
}
static void check_blocks(uint32_t number, void *data) {
  xmc_u32 cls;
  (void)data;
  for (cls = 0; cls < XMC_CLASSES; cls++) {
    uint64_t *block = t.block[number][cls];
    t.wrong +=
        xmcFromRef(t.heap, block[0]) != (void *)block || block[xmc_class_bytes(cls) / 8u - 1u] != number;
  }
}
static void free_blocks(uint32_t number, void *data) {
  xmc_u32 cls;
  (void)data;
  for (cls = 0; cls < XMC_CLASSES; cls++)
    xmcFree(t.heap, t.block[number][cls]);
}
static void use_pages(uint32_t number, void *data) {
  char *block = xmcMalloc(t.heap, 5u * XMC_PAGE_BYTES);
  (void)data;
  t.wrong += !is_at_end(block, 5u * XMC_PAGE_BYTES);
  block = xmcRealloc(t.heap, block, (size_t)(3u + number % 5u) * XMC_PAGE_BYTES);
  t.wrong += !is_at_end(block, (size_t)(3u + number % 5u) * XMC_PAGE_BYTES);
  xmcFree(t.heap, block);
}
static void make_region(uint32_t number, void *data) {
  (void)data;
  if (number == 0)
    t.region = xmcRegionCreate(t.heap);
}
static void use_region(uint32_t number, void *data) {
  uint32_t i;
  (void)data;
  for (i = 0; i < 60; i++) { /* the same sizes, sizes of the lanes' own, and some of a chunk each */
    size_t bytes = i % 20u == 19u ? 40000 : i % 2u ? 16u + 8u * number : 48u;
    uint64_t *block = xmcRegionMalloc(t.heap, t.region, bytes);
    if (is_at_end(block, bytes))
      block[0] = block[bytes / 8u - 1u] = number;
    else
      t.wrong++;
  }
}
static void free_region(uint32_t number, void *data) {
  (void)data;
  if (number == 0)
    xmcRegionFree(t.heap, t.region);
}

/* Room is only where block i was. */
static void open_end(uint32_t i) {
  t.low = place_of(t.big[i]);
  t.high = t.low + t.big_bytes[i];
  big_free(t.big[i]);
  t.big[i] = NULL;
  all_lanes(get_blocks);
  all_lanes(check_blocks);
  all_lanes(free_blocks);
  all_lanes(get_blocks); /* by the way of whole sub-groups, now that the slots have hints */
  all_lanes(check_blocks);
}
static void free_runs(void) {
  uint32_t i;
  for (i = 0; i < t.bigs; i++)
    if (t.big[i])
      big_free(t.big[i]);
}

/* All that a heap does, in the room that block i had. In the end that is in use again. */
static void use_end(uint32_t i) {
  open_end(i);
  all_lanes(use_pages);
  all_lanes(make_region);
  assert_true(t.region != 0);
  all_lanes(use_region);
  all_lanes(check_blocks);
  assert_true(xmcRegionBytes(t.heap, t.region) > 0);
  all_lanes(free_region);
  all_lanes(free_blocks);
  while (xmc_reclaim(t.heap, 1, XMC_MAX_PAGES))
    ;
  fill_all();
}
static uint32_t last_run(void) {
  uint32_t i, last = 0;
  for (i = 0; i < t.bigs; i++)
    last = t.big_bytes[i] == GIB && t.big[i] > t.big[last] ? i : last;
  assert_true(place_of(t.big[last]) > 249 * GIB);
  return last;
}
static void ends(void **state) {
  (void)state;
  need_heap();
  fill_all();
  assert_int_equal(place_of(t.big[0]), 0);
  use_end(last_run());
  use_end(0);
  free_runs();
  assert_int_equal(t.heap->double_frees + t.heap->invalid_frees, 0);
}

/* ---- the largest block ---- */

static void ask_largest(uint32_t number, void *data) {
  size_t most = (size_t)XMC_MAX_BLOCK_PAGES * XMC_PAGE_BYTES;
  char *block;
  (void)data;
  if (number != 0)
    return;
  t.wrong += xmcMalloc(t.heap, most + 1u) != NULL || xmcMalloc(t.heap, 200 * GIB) != NULL;
  block = xmcMalloc(t.heap, most);
  t.wrong += !block || xmcUsableSize(t.heap, block) != most;
  t.wrong +=
      xmcRealloc(t.heap, block, most + 1u) != NULL; /* free pages follow, and a word cannot say so many */
  t.wrong += xmcUsableSize(t.heap, block) != most;
  xmcFree(t.heap, block);
  t.wrong += t.heap->failed_requests != 3;
  t.wrong += xmcRegionMalloc(t.heap, t.region, most) != NULL; /* its head takes 16 of the bytes */
  t.wrong += t.heap->failed_requests != 4;
}
static void largest(void **state) {
  (void)state;
  need_heap();
  all_lanes(make_region);
  all_lanes(ask_largest);
  all_lanes(free_region);
  assert_int_equal(core_free_pages(t.heap), t.heap->pages);
}

/* The most tables that a heap can have lie where 32 bits reach, as far as they have to, and a file may have as many. */
static void most_tables(void **state) {
  xmc_layout_request request;
  xmcHeap header;
  (void)state;
  memset(&request, 0, sizeof request);
  request.slots = request.lanes = XMC_MAX_SLOTS;
  request.slots_exact = 1;
  request.trace_records = XMC_TRACE_MOST_RECORDS;
  request.trace_every = 1;
  assert_true(xmc_layout(&header, 400 * GIB, &request));
  assert_int_equal(header.pages, XMC_MAX_PAGES);
  header.geometry = xmc_geometry_number(&header);
  assert_true(xmc_layout_is_consistent(&header));
  assert_true(header.page_map > header.index[XMC_INDEX_LEVELS - 1]);
  assert_true(header.page_map + (16u * (xmc_u64)header.pages) < (xmc_u64)1 << 32);
  assert_true(header.data < 9 * GIB && header.data > 8 * GIB); /* XMC_MOST_METADATA of heap_file.c */
}

/* ---- check and file ---- */

static cl_int get_page(void *data, xmc_u64 offset, xmc_u64 bytes, void *to) {
  memcpy(to, (char *)data + offset, (size_t)bytes);
  return CL_SUCCESS;
}
static cl_int compare_page(void *data, xmc_u64 offset, xmc_u64 bytes, const void *from) {
  t.wrong += memcmp((char *)data + offset, from, (size_t)bytes) != 0;
  return CL_SUCCESS;
}

/* Blocks at the end only; the file has their pages. At full scale it is read, too, which takes 5 GiB of memory, and what is read is
 * the heap. */
static void file(void **state) {
  FILE *saved = tmpfile();
  xmcHeap *read = NULL;
  xmc_heap_stats stats;
  long long fifos = 0;
  const char *scale = getenv("XMC_TEST_SCALE");
  (void)state;
  need_heap();
  assert_non_null(saved);
  fill_all();
  open_end(last_run());
  free_runs();
  intact(t.heap);
  xmc_stats_meta(t.heap, &stats);
  assert_int_equal(stats.live_blocks, LANES * XMC_CLASSES);
  assert_int_equal(stats.largest_free_bytes, (cl_ulong)XMC_MAX_BLOCK_PAGES * XMC_PAGE_BYTES);
  assert_int_equal(xmc_file_write(saved, t.heap, -1, get_page, t.heap), CL_SUCCESS);
  if (scale && !strcmp(scale, "full")) {
    rewind(saved);
    assert_int_equal(xmc_file_read(saved, &read, &fifos, compare_page, t.heap), CL_SUCCESS);
    assert_int_equal(t.wrong, 0);
    t.heap->flux = 0; /* as in what was read: nobody works on it */
    assert_int_equal(memcmp(read, t.heap, (size_t)t.heap->data), 0);
    free(read);
  }
  fclose(saved);
  all_lanes(free_blocks);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(runs, open_heap, close_heap),
      cmocka_unit_test_setup_teardown(ends, open_heap, close_heap),
      cmocka_unit_test_setup_teardown(largest, open_heap, close_heap),
      cmocka_unit_test(most_tables),
      cmocka_unit_test_setup_teardown(file, open_heap, close_heap),
  };
  return run_named(tests, argc, argv);
}
