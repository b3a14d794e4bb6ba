/* SPDX-License-Identifier: MIT */
/* Calls about regions, with good handles and forged ones. A part of files_core.h.
 *
 * Which handles are good follows from the host's list of regions and the owner words in their headers. Where the file had
 * regions its pages may lie about them: then nothing is expected but that no call leaves the arena, that a free or reset is
 * counted if and only if the handle is a bad one, and that the blocks of others stay live.
 */
#ifndef XMC_FUZZ_FILES_REGIONS_H
#define XMC_FUZZ_FILES_REGIONS_H

/* The handle that the header at a region's page holds */
static xmcRegion region_in(const shadow *s, xmc_u32 page) {
  return *xmc_region_owner(s->heap, page) ^ XMC_REGION_KEY;
}

/* The handle of one of the live regions; 0: there is none */
static xmcRegion some_region(const shadow *s, uint32_t number) {
  xmc_region_sum *regions = NULL;
  size_t count = 0;
  xmcRegion region = 0;
  if (xmc_regions_read(s->heap, &regions, &count) && count)
    region = region_in(s, regions[number % count].page);
  free(regions);
  return region;
}

static int is_region(const shadow *s, xmcRegion region) {
  xmc_region_sum *regions = NULL;
  size_t count = 0, i;
  int is = 0;
  if (xmc_regions_read(s->heap, &regions, &count))
    for (i = 0; i < count; i++)
      is |= regions[i].page == xmc_region_page(region) && region_in(s, regions[i].page) == region &&
            xmc_region_log(region) <= XMC_REGION_MOST_LOG;
  free(regions);
  return is;
}

/* A handle that a program may hand over, good or bad */
static xmcRegion any_region(const shadow *s, fuzz_input *in) {
  uint32_t how = fuzz_byte(in), r = fuzz_word(in);
  xmcRegion live = some_region(s, r >> 8);
  switch (how & 7u) {
  case 0: /* any number */
    return (xmcRegion)r << 32 | fuzz_word(in);
  case 1: /* one bit is wrong */
    return live ^ (xmcRegion)1 << (r & 63u);
  case 2: /* another page, or number of slots */
    return xmc_region_make(xmc_region_tag(live), r & 15u, (r >> 8) % (s->heap->pages + 2u));
  case 3: /* an earlier one, which may be freed */
    return s->regions[r % EARLIER_REGIONS];
  default:
    return live;
  }
}

static void got_of_region(shadow *s, char *p, size_t size) {
  xmc_u64 offset = (xmc_u64)(p - (char *)s->heap), first = s->heap->data, i;
  xmc_u64 end = first + xmc_data_bytes(s->heap);
  if (offset < first || size > end - first || offset > end - size || offset % 16u) {
    expect(s, 0, "a region's block is outside of the pages, or not aligned");
    return;
  }
  for (i = offset / 16u; i < (offset + size + 15u) / 16u; i++)
    expect(s, s->regions_lie || s->owner[i] == 0, "a region's block is in a live block");
  memset(p, 0xa5, size < 64u ? size : 64u);
  p[size - 1u] = (char)0xa5;
}

static xmc_u64 blocks_without_regions(const shadow *s) {
  xmc_heap_stats stats;
  xmc_stats_meta(s->heap, &stats);
  return stats.live_blocks - stats.regions;
}

static void region_call(shadow *s, fuzz_input *in, uint32_t what, size_t size) {
  xmcRegion region = any_region(s, in);
  int is = is_region(s, region);
  xmc_u64 bad = bad_frees(s), blocks = blocks_without_regions(s);
  char *p;
  switch (what & 7u) {
  case 0:
    s->regions[size % EARLIER_REGIONS] = xmcRegionCreateFor(s->heap, (xmc_u32)(size % 700u));
    break;
  case 1:
    xmcRegionReset(s->heap, region);
    bad += region && !is;
    break;
  case 2:
    xmcRegionFree(s->heap, region);
    bad += region && !is;
    expect(s, !is_region(s, region), "a region is live after its free");
    break;
  case 3:
    expect(s, (xmcRegionBytes(s->heap, region) != 0) == is, "the bytes of what is no region, or none");
    break;
  default:
    p = xmcRegionMalloc(s->heap, region, size);
    expect(s, s->regions_lie || is || !p, "a block of what is no region");
    if (s->regions_lie ||
        (XMC_DEBUG && size > xmc_data_bytes(s->heap))) /* more than there is: counted as that */
      bad = bad_frees(s);
    else
      bad += !is;
    if (p)
      got_of_region(s, p, size);
  }
  s->regions_lost |= s->regions_lie;
  expect(s, bad_frees(s) == bad, "a bad region is not counted, or a good one is");
  if (s->trusts_memory)
    list_anew(s);
  else
    expect(s, blocks_without_regions(s) == blocks, "a region's call changes who is live");
}

/* Frees all that can be freed. */
static void free_regions(shadow *s) {
  xmcRegion region;
  while ((region = some_region(s, 0)) != 0 && is_region(s, region))
    xmcRegionFree(s->heap, region);
  expect(s, s->regions_lie || !region, "a region cannot be freed");
  s->regions_lost |= s->regions_lie;
}
#endif
