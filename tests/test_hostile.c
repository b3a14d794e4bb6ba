/* SPDX-License-Identifier: MIT */
/* Heap files with right sums whose contents lie. The reader refuses each: a call on such a heap would leave the arena,
 * divide by zero, or free another one's block. And what lies in users' memory, which no reader can judge.
 */
#define XMC_TRACE 1
#include "support/core.h"
#include "support/named.h"
#include "file/heap_file.h"
#include "trace/trace.h"

enum { BYTES = 4 << 20, BLOCKS = 60 };

/* Pages that a header lies about are zeroes. */
static cl_int get_page(void *data, xmc_u64 offset, xmc_u64 bytes, void *to) {
  const xmcHeap *heap = data;
  if (offset <= heap->bytes && bytes <= heap->bytes - offset)
    memcpy(to, (const char *)heap + offset, (size_t)bytes);
  else
    memset(to, 0, (size_t)bytes);
  return CL_SUCCESS;
}

/* Writes the metadata, with the pages of `heap` behind it, and reads it again. */
static cl_int status_of(xmcHeap *heap, xmcHeap *meta, long long fifos) {
  char *text = NULL;
  size_t size = 0;
  xmcHeap *got = NULL;
  FILE *f = open_memstream(&text, &size);
  cl_int status;
  assert_non_null(f);
  assert_int_equal(xmc_file_write(f, meta, fifos, get_page, heap), CL_SUCCESS);
  fclose(f);
  f = fmemopen(text, size, "rb");
  assert_non_null(f);
  status = xmc_file_read(f, &got, &fifos, NULL, NULL);
  fclose(f);
  assert_true((got != NULL) == (status == CL_SUCCESS));
  free(got);
  free(text);
  return status;
}

/* Blocks of many sizes, every third of which is freed again */
static xmcHeap *some_heap(void) {
  static const uint32_t sizes[] = {16, 64, 300, 600, 448, 1000, 16384, 30000, 24, 8000, 3000, 512, 128};
  xmcHeap *heap = core_heap(BYTES, CORE_SLOTS_DEFAULT, 0xfffffffdu, XMC_COALESCE_CLASS);
  void *blocks[BLOCKS];
  int i;
  for (i = 0; i < BLOCKS; i++)
    assert_non_null(blocks[i] = xmcMalloc(heap, sizes[i % 13]));
  for (i = 0; i < BLOCKS; i += 3)
    xmcFree(heap, blocks[i]);
  return heap;
}

/* ---- what lies ---- */

static xmc_u32 free_page(xmcHeap *meta) {
  xmc_u32 page = meta->pages - 1u;
  while (!(*xmc_span_word(meta, page / 64u) >> page % 64u & 1u))
    page--;
  return page;
}

/* All FIFOs of class 17 have an active Superblock of this page. */
static void seat(xmcHeap *meta, xmc_u32 id, xmc_u64 word) {
  xmc_u32 slot;
  for (slot = 0; slot < xmc_fifos_count(meta->fifo_table[17]); slot++) {
    xmc_fifo_at(meta, 17, slot)->active = id;
    xmc_bitmap_set(meta, XMC_BUSY, 17u * meta->slots + slot);
  }
  if (word)
    *xmc_word_of(meta, id) = word;
}

static void active_behind_the_last_page(xmcHeap *meta) {
  xmc_u64 word = xmc_word_make(17, xmc_class_count(17), xmc_full_mask(xmc_class_count(17)));
  seat(meta, xmc_run_id(meta->pages + 3u, 0), word | XMC_WORD_LISTED | XMC_WORD_SEATED);
}
static void active_behind_the_last_page_retired(xmcHeap *meta) {
  seat(meta, xmc_run_id(meta->pages + 3u, 0), 0);
}
static void active_between_the_tables(xmcHeap *meta) {
  seat(meta, 0xfffffffeu, xmc_word_make(17, 25, 0x1ffffff) | XMC_WORD_LISTED | XMC_WORD_SEATED);
}
static void active_beyond_the_tables(xmcHeap *meta) { seat(meta, 0x7fffffffu, 0); }
static void active_of_another_kind(xmcHeap *meta) { seat(meta, xmc_superblock_id(0, 3), 0); }
static void message_behind_the_last_page(xmcHeap *meta) {
  xmc_fifo *fifo = xmc_fifo_at(meta, 17, 0);
  fifo->tail = xmc_message(fifo->head, xmc_run_id(meta->pages, 0));
  xmc_bitmap_set(meta, XMC_BUSY, 17u * meta->slots);
}
static void message_that_says_nothing(xmcHeap *meta) {
  xmc_fifo *fifo = xmc_fifo_at(meta, 17, 0);
  fifo->tail = xmc_message(fifo->head, XMC_NONE);
  xmc_bitmap_set(meta, XMC_BUSY, 17u * meta->slots);
}
static void old_message_beyond_the_tables(xmcHeap *meta) {
  xmc_fifo *fifo = xmc_fifo_at(meta, 40, 0);
  fifo->message[1] = (fifo->message[1] & ~(xmc_u64)0xffffffffu) | 0x12345678u;
}
static void hint_between_the_tables(xmcHeap *meta) { xmc_fifo_at(meta, 2, 0)->hint = 0xffffffffu; }
static void fifo_flags(xmcHeap *meta) { xmc_fifo_at(meta, 2, 0)->partly = 0x80000000u; }
static void fifo_carving(xmcHeap *meta) { xmc_fifo_at(meta, 30, 0)->carving = 2u; }

static void word_of_no_page(xmcHeap *meta) {
  *xmc_word_of(meta, xmc_superblock_id(meta->pages, 2)) = xmc_word_make(3, 32, 0);
}
static void word_between_the_tables(xmcHeap *meta) { *xmc_word_of(meta, 0xffffffffu) = 0; }
static void parked_and_not_listed(xmcHeap *meta) {
  xmc_u32 page = 0;
  xmc_u64 *word;
  while (xmc_map_class(*xmc_page_entry(meta, page)) != 16u)
    page++;
  word = xmc_word_of(meta, xmc_run_id(page, 0));
  *word = xmc_word_make(16, xmc_word_count(*word), 0) | XMC_WORD_PARKED;
  xmc_bitmap_set(meta, XMC_PARKED, 16u * meta->spans * XMC_SPAN_PAGES + page);
}

static void entry(xmcHeap *meta, xmc_u32 bytes, xmc_u32 low) {
  *xmc_page_entry(meta, free_page(meta)) = (xmc_u64)(0xffffffffu / bytes + 1u) << 32 | low;
}
static void entry_of_a_slab_with_back(xmcHeap *meta) { entry(meta, 16, XMC_MAP(0, 3, 0, 1024)); }
static void entry_of_a_slab_in_another_row(xmcHeap *meta) { entry(meta, 16, XMC_MAP(0, 0, 1, 1024)); }
static void entry_with_more_blocks(xmcHeap *meta) { entry(meta, 16, XMC_MAP(0, 0, 0, 0x7fff)); }
static void entry_with_another_divisor(xmcHeap *meta) { entry(meta, 32, XMC_MAP(0, 0, 0, 1024)); }
static void entry_of_no_class_with_blocks(xmcHeap *meta) { entry(meta, 16, XMC_MAP(0xff, 0, 0, 0x7fff)); }
static void entry_of_no_class_far_back(xmcHeap *meta) { entry(meta, 16384, XMC_MAP(0xff, 15, 0, 0x7fff)); }
/* A run of class 19 that began at the even one of two free pages, which says that none did (xmc_runs_forget) */
static void entry_of_a_run(xmcHeap *meta, xmc_u64 first) {
  xmc_u32 page = (free_page(meta) - 1u) & ~1u, i;
  for (i = 0; i < 2u; i++)
    *xmc_page_entry(meta, page + i) =
        (xmc_u64)xmc_class_inverse(19) << 32 | XMC_MAP(19, i, XMC_RUN_PLACE + 1u, xmc_class_blocks(19, 2));
  *xmc_page_entry(meta, page) = first;
}
static void entry_of_a_run_in_a_page_never_used(xmcHeap *meta) { entry_of_a_run(meta, XMC_MAP_NONE); }
static void entry_of_a_run_in_a_slab_of_16_bytes(xmcHeap *meta) {
  entry_of_a_run(meta, (xmc_u64)(0xffffffffu / 16u + 1u) << 32 | XMC_MAP(0, 0, 0, 1024));
}
static void entry_of_a_run_that_cannot_be(xmcHeap *meta) {
  entry(meta, 512, XMC_MAP(15, 1, XMC_RUN_PLACE + 1u, 32));
}
static void entry_that_leads_to_a_live_word(xmcHeap *meta) {
  xmc_u32 page = free_page(meta) & ~1u;
  *xmc_page_entry(meta, page + 1u) =
      (xmc_u64)xmc_class_inverse(19) << 32 | XMC_MAP(19, 1, XMC_RUN_PLACE + 1u, xmc_class_blocks(19, 2));
  *xmc_word_of(meta, xmc_run_id(page, 1)) = xmc_word_make(19, xmc_class_blocks(19, 2), 0);
}

/* A Superblock of two pages at an odd one, right in all else */
static void superblock_at_an_odd_page(xmcHeap *meta) {
  xmc_u32 page = (free_page(meta) & ~1u) - 3u, blocks = xmc_class_blocks(19, 2), i;
  *xmc_span_word(meta, page / 64u) &= ~((xmc_u64)3 << page % 64u);
  for (i = 0; i < 2u; i++)
    *xmc_page_entry(meta, page + i) =
        (xmc_u64)xmc_class_inverse(19) << 32 | XMC_MAP(19, i, XMC_RUN_PLACE + 1u, blocks);
  *xmc_word_of(meta, xmc_run_id(page, 1)) = xmc_word_make(19, blocks, 0);
}
static void memoryblock_over_free_pages(xmcHeap *meta) {
  xmc_u32 page = 0;
  while (*xmc_page_entry(meta, page) != XMC_MAP(XMC_CLASS_MEMORYBLOCK, 0, 0, 0))
    page++;
  *xmc_word_of(meta, xmc_superblock_id(page, 0)) = xmc_word_memoryblock(meta->pages - page);
}

static void busy_without_a_fifo(xmcHeap *meta) {
  xmc_bitmap_set(meta, XMC_BUSY, 31u * meta->slots + xmc_fifos_count(meta->fifo_table[31]));
}
static void parked_in_no_page(xmcHeap *meta) {
  xmc_bitmap_set(meta, XMC_PARKED, 3u * meta->spans * XMC_SPAN_PAGES + meta->pages);
}
static void whole_bit_of_no_page(xmcHeap *meta) { xmc_bitmap_set(meta, XMC_WHOLE, meta->pages); }
static void free_bit_of_no_page(xmcHeap *meta) { *xmc_span_word(meta, meta->spans - 1u) |= (xmc_u64)1 << 63; }
static void index_of_no_span(xmcHeap *meta) { *xmc_index_word(meta, 0, 0) |= (xmc_u64)1 << 56; }

static void so_many_sub_groups(xmcHeap *meta) { meta->lanes = 0xffffffffu; } /* rounded up to 64: 0 */
static void no_sub_groups(xmcHeap *meta) { meta->lanes = 0; }
static void fewer_pages_than_fit(xmcHeap *meta) { meta->bytes += 1 << 20; }
static void more_pages_than_are_there(xmcHeap *meta) { meta->present++; }
static void fewer_pages_than_are_there(xmcHeap *meta) { meta->present--; }
static void other_spans_than_are_there(xmcHeap *meta) { meta->present_spans++; }
static void larger_than_the_largest(xmcHeap *meta) { meta->bytes = meta->max_bytes + 1; }
static void larger_than_tables_are_for(xmcHeap *meta) { meta->max_bytes += 1 << 20; }
static void smaller_than_tables_are_for(xmcHeap *meta) { meta->max_bytes -= 1 << 20; }
static void unknown_coalescing(xmcHeap *meta) { meta->coalescing = XMC_COALESCE_CLASS + 1u; }
static void scarce_flags(xmcHeap *meta) { meta->scarce = XMC_USED_FIRST; }
static void scarce_now_but_never_before(xmcHeap *meta) { meta->scarce = XMC_SCARCE_NOW; }
static void life_of_a_plain_heap(xmcHeap *meta) { meta->life = 1; }

#define LIE(name) \
  { #name, name }
typedef struct lie {
  const char *name;
  void (*tell)(xmcHeap *meta);
} lie;
static const lie lies[] = {LIE(active_behind_the_last_page),
                           LIE(active_behind_the_last_page_retired),
                           LIE(active_between_the_tables),
                           LIE(active_beyond_the_tables),
                           LIE(active_of_another_kind),
                           LIE(message_behind_the_last_page),
                           LIE(message_that_says_nothing),
                           LIE(old_message_beyond_the_tables),
                           LIE(hint_between_the_tables),
                           LIE(fifo_flags),
                           LIE(fifo_carving),
                           LIE(word_of_no_page),
                           LIE(word_between_the_tables),
                           LIE(parked_and_not_listed),
                           LIE(entry_of_a_slab_with_back),
                           LIE(entry_of_a_slab_in_another_row),
                           LIE(entry_with_more_blocks),
                           LIE(entry_with_another_divisor),
                           LIE(entry_of_no_class_with_blocks),
                           LIE(entry_of_no_class_far_back),
                           LIE(entry_of_a_run_that_cannot_be),
                           LIE(entry_of_a_run_in_a_page_never_used),
                           LIE(entry_of_a_run_in_a_slab_of_16_bytes),
                           LIE(entry_that_leads_to_a_live_word),
                           LIE(superblock_at_an_odd_page),
                           LIE(memoryblock_over_free_pages),
                           LIE(busy_without_a_fifo),
                           LIE(parked_in_no_page),
                           LIE(whole_bit_of_no_page),
                           LIE(free_bit_of_no_page),
                           LIE(index_of_no_span),
                           LIE(so_many_sub_groups),
                           LIE(no_sub_groups),
                           LIE(fewer_pages_than_fit),
                           LIE(more_pages_than_are_there),
                           LIE(fewer_pages_than_are_there),
                           LIE(other_spans_than_are_there),
                           LIE(larger_than_the_largest),
                           LIE(larger_than_tables_are_for),
                           LIE(smaller_than_tables_are_for),
                           LIE(unknown_coalescing),
                           LIE(scarce_flags),
                           LIE(scarce_now_but_never_before),
                           LIE(life_of_a_plain_heap)};

/* Lies of a heap that can grow, about pages that it does not have yet */
static void entry_of_an_absent_page(xmcHeap *meta) {
  *xmc_page_entry(meta, meta->present) = XMC_MAP(XMC_CLASS_BODY, 0, 0, 0);
}
static void entry_of_the_last_absent_page(xmcHeap *meta) {
  *xmc_page_entry(meta, meta->pages - 1u) = XMC_MAP(3, 0, 0, 32);
}
static void absent_memoryblock(xmcHeap *meta) {
  *xmc_page_entry(meta, meta->present) = XMC_MAP(XMC_CLASS_MEMORYBLOCK, 0, 0, 0);
  *xmc_word_of(meta, xmc_superblock_id(meta->present, 0)) = xmc_word_memoryblock(1);
}
static void memoryblock_into_absent_pages(xmcHeap *meta) {
  xmc_u32 page = meta->present - 1u;
  *xmc_span_word(meta, page / 64u) &= ~((xmc_u64)1 << page % 64u);
  *xmc_page_entry(meta, page) = XMC_MAP(XMC_CLASS_MEMORYBLOCK, 0, 0, 0);
  *xmc_page_entry(meta, page + 1u) = XMC_MAP(XMC_CLASS_BODY, 0, 0, 0);
  *xmc_word_of(meta, xmc_superblock_id(page, 0)) = xmc_word_memoryblock(2);
}
static void word_of_an_absent_page(xmcHeap *meta) {
  *xmc_word_of(meta, xmc_superblock_id(meta->present, 2)) = xmc_word_make(3, 32, 0);
}
static void slab_word_of_an_absent_page(xmcHeap *meta) {
  *xmc_word_of(meta, xmc_slab_id(meta->present)) = xmc_word_make(xmc_slab_class(3), 8, 0);
}
static void absent_page_that_is_free(xmcHeap *meta) {
  *xmc_span_word(meta, meta->present / 64u) |= (xmc_u64)1 << meta->present % 64u;
}
static void absent_span_that_is_free(xmcHeap *meta) { *xmc_span_word(meta, meta->spans - 1u) = 1; }
static void index_of_an_absent_span(xmcHeap *meta) { xmc_index_add(meta, 0, meta->spans - 1u, 1u); }
static void whole_bit_of_an_absent_page(xmcHeap *meta) { xmc_bitmap_set(meta, XMC_WHOLE, meta->present); }
static void whole_bit_of_an_absent_page_once_scarce(xmcHeap *meta) {
  meta->scarce = XMC_SCARCE_ONCE;
  xmc_bitmap_set(meta, XMC_WHOLE, meta->pages - 1u);
}
static void parked_in_an_absent_page(xmcHeap *meta) {
  xmc_bitmap_set(meta, XMC_PARKED, 3u * meta->spans * XMC_SPAN_PAGES + meta->present);
}
static void active_in_an_absent_page(xmcHeap *meta) {
  seat(meta, xmc_run_id(meta->present + 3u, 0), XMC_WORD_RETIRED);
}

static const lie growing_lies[] = {LIE(more_pages_than_are_there),
                                   LIE(fewer_pages_than_are_there),
                                   LIE(other_spans_than_are_there),
                                   LIE(larger_than_the_largest),
                                   LIE(larger_than_tables_are_for),
                                   LIE(smaller_than_tables_are_for),
                                   LIE(entry_of_an_absent_page),
                                   LIE(entry_of_the_last_absent_page),
                                   LIE(absent_memoryblock),
                                   LIE(memoryblock_into_absent_pages),
                                   LIE(word_of_an_absent_page),
                                   LIE(slab_word_of_an_absent_page),
                                   LIE(absent_page_that_is_free),
                                   LIE(absent_span_that_is_free),
                                   LIE(index_of_an_absent_span),
                                   LIE(whole_bit_of_an_absent_page),
                                   LIE(parked_in_an_absent_page),
                                   LIE(active_in_an_absent_page),
                                   LIE(whole_bit_of_an_absent_page_once_scarce)};

static void are_refused(xmcHeap *heap, const lie *told, size_t count) {
  xmcHeap *meta = malloc(heap->data);
  size_t i;
  unsigned believed = 0;
  assert_non_null(meta);
  assert_int_equal(status_of(heap, heap, -1), CL_SUCCESS);
  for (i = 0; i < count; i++) {
    memcpy(meta, heap, heap->data);
    told[i].tell(meta);
    meta->geometry = xmc_geometry_number(meta);
    if (status_of(heap, meta, -1) != XMC_FILE_DAMAGED) {
      print_error("%s is believed\n", told[i].name);
      believed++;
    }
  }
  assert_int_equal(believed, 0);
  free(meta);
  core_heap_free(heap);
}

static void lies_are_refused(void **state) {
  xmcHeap *heap = some_heap();
  (void)state;
  assert_true(heap->pages % XMC_SPAN_PAGES != 0 && heap->spans < 8u);
  are_refused(heap, lies, sizeof lies / sizeof *lies);
}

static void lies_of_a_growing_heap(void **state) {
  xmcHeap *heap;
  (void)state;
  core_max_bytes = 3 * BYTES;
  heap = some_heap();
  core_max_bytes = 0;
  assert_true(heap->present % XMC_SPAN_PAGES != 0 && heap->present_spans < heap->spans);
  are_refused(heap, growing_lies, sizeof growing_lies / sizeof *growing_lies);
}

/* The property must fit the FIFOs that the heap has. */
/* ---- the ring of a traced heap ---- */

static void no_ring(xmcHeap *meta) { meta->trace_records = 0; }
static void nothing_of_a_ring(xmcHeap *meta) { meta->trace = meta->trace_records = meta->trace_every = 0; }
static void ring_elsewhere(xmcHeap *meta) { meta->trace += 64; }
static void ring_of_more_records(xmcHeap *meta) { meta->trace_records *= 2u; }
static void ring_of_fewer_records(xmcHeap *meta) { meta->trace_records /= 2u; }
static void ring_of_no_power_of_two(xmcHeap *meta) { meta->trace_records -= 1u; }
static void ring_of_all_records(xmcHeap *meta) { meta->trace_records = 1u << 31; }
static void never_traced(xmcHeap *meta) { meta->trace_every = 0; }
static const lie ring_lies[] = {LIE(no_ring),
                                LIE(nothing_of_a_ring),
                                LIE(ring_elsewhere),
                                LIE(ring_of_more_records),
                                LIE(ring_of_fewer_records),
                                LIE(ring_of_no_power_of_two),
                                LIE(ring_of_all_records),
                                LIE(never_traced)};

static void traced_for_nothing(xmcHeap *meta) { meta->trace_every = 1u; }
static void ring_where_none_is(xmcHeap *meta) {
  meta->trace = meta->words;
  meta->trace_records = 64u;
  meta->trace_every = 1u;
}
static const lie no_ring_lies[] = {LIE(traced_for_nothing), LIE(ring_where_none_is)};

static void lies_about_the_ring(void **state) {
  (void)state;
  are_refused(some_heap(), no_ring_lies, sizeof no_ring_lies / sizeof *no_ring_lies);
  core_trace_records = 1024;
  are_refused(some_heap(), ring_lies, sizeof ring_lies / sizeof *ring_lies);
  core_trace_records = 0;
}

/* Whatever is in the ring, the heap is as good as without; the texts tell something, and end. */
static void any_ring(void **state) {
  static char text[8 << 20];
  xmcHeap *heap;
  xmc_u64 random = 99, place;
  int round;
  (void)state;
  core_trace_records = 256;
  heap = some_heap();
  core_trace_records = 0;
  for (round = 0; round < 300; round++) {
    xmc_u64 *taken = &xmc_trace_ring_of(heap)->taken;
    FILE *file = fmemopen(text, sizeof text, "w");
    *taken = round % 3 == 0   ? core_random(&random)
             : round % 3 == 1 ? 10u + (unsigned)round
                              : ~(xmc_u64)0 - 3u;
    for (place = *taken - 256u; place != *taken; place++) {
      xmc_u64 *record = (xmc_u64 *)xmc_trace_record_of(heap, place);
      int word = (int)(core_random(&random) % 8u), i;
      for (i = 1; i < 6; i++) /* often few values, so that events are about the same blocks */
        record[i] = core_random(&random) >> core_random(&random) % 64u;
      record[0] = word == 7 ? core_random(&random) : xmc_trace_state(place);
      record[2] = (core_random(&random) % 13u) << 56 | (record[2] & (word & 1 ? 0x30u : 0xffffffffffffffu));
      if (word & 2)
        record[4] = record[4] % 3u * 1000u;
    }
    assert_int_equal(status_of(heap, heap, -1), CL_SUCCESS);
    assert_non_null(file);
    assert_int_equal(xmc_trace_chrome(heap, file), CL_SUCCESS);
    assert_int_equal(xmc_trace_folded(heap, file), CL_SUCCESS);
    assert_int_equal(xmc_trace_allocations(heap, file), CL_SUCCESS);
    assert_int_equal(xmc_trace_top(heap, file), CL_SUCCESS);
    assert_false(ferror(file));
    fclose(file);
  }
  core_heap_free(heap);
}

static void property_of_fifos(void **state) {
  static const xmc_u32 numbers[] = {0, 1, 3, 65}; /* of every class */
  size_t i;
  long long told;
  (void)state;
  for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    xmcHeap *heap = core_heap(BYTES, numbers[i], 0, XMC_COALESCE_NONE);
    for (told = -2; told < 70; told++) {
      int right = told == (long long)numbers[i] || (told == XMC_FIFOS_DEFAULT && numbers[i]);
      assert_int_equal(status_of(heap, heap, told), right ? CL_SUCCESS : XMC_FILE_DAMAGED);
    }
    core_heap_free(heap);
  }
}

/* A compartment's header lies in users' memory, where a file or a kernel may write what it likes. */
static void forged_compartment(void **state) {
  xmcHeap *heap = core_heap(BYTES, 1, 0, XMC_COALESCE_COMPARTMENT);
  char *block = xmcMalloc(heap, 512), *inside = block + 16;
  static const xmc_u32 sizes[] = {496, 497, 8192, 0xffff};
  size_t i;
  (void)state;
  assert_non_null(block);
  for (i = 0; i < 4; i++) {
    ((xmc_u64 *)inside)[-1] = xmc_compartment_header(xmc_arena_offset(heap, inside), 16, sizes[i]);
    assert_int_equal(xmcUsableSize(heap, inside), i == 0 ? 496 : 0);
  }
  xmcFree(heap, inside);
  assert_int_equal(heap->invalid_frees, 1);
  core_heap_free(heap);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lies_are_refused),    cmocka_unit_test(lies_of_a_growing_heap),
      cmocka_unit_test(lies_about_the_ring), cmocka_unit_test(any_ring),
      cmocka_unit_test(property_of_fifos),   cmocka_unit_test(forged_compartment),
  };
  return run_named(tests, argc, argv);
}
