/* SPDX-License-Identifier: MIT */
/* Heaps to be saved and edited: they differ in size, FIFOs, coalescing, regions and in what was done with them. A part of files_core.h. */
#ifndef XMC_FUZZ_FILES_SEEDS_H
#define XMC_FUZZ_FILES_SEEDS_H

/* `most`: it can grow up to so many; 0: it cannot. `records` of its ring; 0: it has none */
static xmcHeap *any_heap(size_t bytes, size_t most, xmc_u32 slots, int exact, xmc_u32 coalescing,
                         xmc_u32 records) {
  xmc_layout_request request = {slots,     64,       exact, 0xfffffffcu, coalescing,
                                XMC_DEBUG, XMC_SIMT, most,  records,     records ? 1u : 0};
  xmcHeap header, *heap = NULL;
  if (bytes) {
    if (!xmc_layout(&header, bytes, &request))
      abort();
  } else { /* the least heap */
    for (bytes = 65536; !xmc_layout(&header, bytes, &request); bytes += 4096)
      ;
  }
  heap = aligned_alloc(XMC_PAGE_BYTES, (bytes + XMC_PAGE_BYTES - 1u) / XMC_PAGE_BYTES * XMC_PAGE_BYTES);
  if (!heap)
    abort();
  memset(heap, 0xa5, bytes);
  memset(heap, 0, XMC_HEADER_BYTES);
  *heap = header;
  xmc_init_part(heap, 0, 1);
  xmc_init_open(heap);
  return heap;
}

static xmcHeap *new_heap(size_t bytes, xmc_u32 slots, int exact, xmc_u32 coalescing) {
  return any_heap(bytes, 0, slots, exact, coalescing, 0);
}

static size_t some_size(uint32_t r) {
  static const uint32_t most[] = {16,   64,   128,  448,   512,   1024,  2048,   3072,
                                  8192, 8192, 9000, 16384, 40000, 65536, 200000, 3000000};
  return 1u + (r >> 4) % most[r & 15u];
}

/* Many blocks come and go; every `keep`-th stays. */
static void age(xmcHeap *heap, uint32_t rounds, uint32_t keep, uint32_t largest) {
  fuzz_input in = {NULL, 0, rounds};
  void *held[16] = {NULL};
  uint32_t i;
  for (i = 0; i < rounds; i++) {
    uint32_t r = fuzz_random(&in);
    xmcFree(heap, held[i % 16u]);
    held[i % 16u] = xmcMalloc(heap, some_size(r % largest | (r & ~15u)));
    if (held[i % 16u])
      memset(held[i % 16u], (int)i, 16);
    if (i % keep == 0)
      held[i % 16u] = NULL;
  }
  xmcFree(heap, (char *)heap + 1); /* bad frees are counted, too */
}

/* Regions, as far as there is room: two that live, whose blocks are of all sizes, and one that is freed */
static void add_regions(xmcHeap *heap) {
  xmcRegion regions[] = {xmcRegionCreateFor(heap, 1), xmcRegionCreateFor(heap, 300)};
  xmcRegion gone = xmcRegionCreate(heap);
  uint32_t i;
  for (i = 0; i < 60; i++) {
    void *p = xmcRegionMalloc(heap, i % 5 ? regions[i & 1u] : gone, some_size(i * 0x9e3779b1u >> 4));
    if (p)
      memset(p, (int)i, 16);
  }
  xmcRegionFree(heap, gone);
}

static fuzz_heap make(uint32_t seed) {
  fuzz_heap made = {NULL, -1};
  switch (seed & 7u) {
  case 0: /* empty */
    made = (fuzz_heap){new_heap(0, 1, 1, XMC_COALESCE_CLASS), 1};
    break;
  case 1:
    made = (fuzz_heap){new_heap(0, 1, 1, XMC_COALESCE_CLASS), 1};
    age(made.heap, 60, 5, 8);
    break;
  case 2: /* full */
    made = (fuzz_heap){new_heap(150000, 2, 1, XMC_COALESCE_NONE), 2};
    age(made.heap, 2000, 2, 16);
    break;
  case 3: /* unbuffered */
    made = (fuzz_heap){new_heap(200000, 0, 1, XMC_COALESCE_CLASS), 0};
    age(made.heap, 100, 7, 12);
    break;
  case 4:                                                            /* as many FIFOs as by default */
    made.heap = any_heap(400000, 0, 64, 0, XMC_COALESCE_CLASS, 128); /* traced: the ring came round */
    age(made.heap, 150, 4, 16);
    break;
  case 5:
    made.heap = new_heap(250000, 64, 0, XMC_COALESCE_COMPARTMENT);
    age(made.heap, 100, 4, 10);
    break;
  case 6: /* two spans; it was full once */
    made = (fuzz_heap){new_heap(1600000, 4, 1, XMC_COALESCE_CLASS), 4};
    age(made.heap, 300, 1, 15);
    age(made.heap, 100, 9, 9);
    break;
  default: /* that can grow; on GPUs with places of their own for sub-groups */
    made.heap = any_heap(XMC_SIMT ? (size_t)4 << 20 : 700000, XMC_SIMT ? (size_t)9 << 20 : (size_t)3 << 20,
                         64, 0, XMC_COALESCE_CLASS, 0);
    age(made.heap, 200, 3, 14);
  }
  if (seed & 8u)
    add_regions(made.heap);
  return made;
}
#endif
