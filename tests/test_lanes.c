/* SPDX-License-Identifier: MIT */
/* What the lanes of a group do together on NVIDIA (cl/platform/nvidia_lanes.h), on the host's sub-groups in lock step (support/simt.h):
 * the groups of a sub-group at the same time, and lanes that part at any point. test_lanes_redux.c is this with redux.sync. */
#include "support/simt.h"
#define XMC_SIMT 1
#define XMC_HOST_LANES "support/simt_lanes.h"
#define XMC_HOST_STEP() simt_step()
#define XMC_HOST_THREAD() (simt_number() + 1u)
#define SIMT_NVIDIA
#define SIMT_PART() part()
#define CORE_OWN_STEPS
static void part(void) { /* an access, during which other lanes may go on without this one */
  if (simt_random() % 8u == 0)
    simt_step();
}
#include "support/core.h"
#include "support/named.h"

enum { GROUPS = 4, ROUNDS = 24, LANES = GROUPS * SIMT_LANES };

/* What each lane brings to each round. A lane writes its own before it takes part. */
typedef struct party {
  uint64_t random[LANES];
  uint32_t value[LANES][ROUNDS];
  xmc_lanes set[LANES][ROUNDS]; /* the lanes with which it takes part; 0: not yet */
  uint64_t wrong, early, joined;
} party;

/* Keys in runs, as those of blocks that were allocated together, or mixed: 1 to 32 of them */
static uint32_t key_of(uint32_t number, uint32_t round) {
  uint64_t random = (number / SIMT_LANES * 977u + round * 31u + 1u) * 0x9e3779b97f4a7c15u;
  uint32_t kinds = 1u + (uint32_t)(random >> 32) % 32u, lane = number % SIMT_LANES;
  return random >> 48 & 1u ? lane / kinds : (lane * 7u + (uint32_t)(random >> 40)) % kinds;
}

/* Counts in `early` the lanes of this round's group that have not come yet; *all gets the values of all its lanes, by or. */
static void all_came(party *p, uint32_t number, uint32_t round, xmc_lanes set, uint32_t *all) {
  uint32_t first = number - number % SIMT_LANES, i;
  for (*all = 0, i = 0; i < SIMT_LANES; i++)
    if (set >> i & 1u) {
      p->early += p->set[first + i][round] != set;
      *all |= p->value[first + i][round];
    }
}

static void take_part(uint32_t number, void *data) {
  party *p = data;
  uint32_t round, all, got, low, high;
  xmc_lanes set;
  for (round = 0; round < ROUNDS; round++) {
    uint64_t random = core_random(&p->random[number]);
    part();
    if (random >> 8 & 7u) { /* else it does not come to this round */
      p->value[number][round] = 1u << (random >> 16 & 31u) | 1u << (random >> 24 & 31u);
      set = xmc_lanes_matching(key_of(number, round) | round << 8);
      p->set[number][round] = set;
      got = xmc_lanes_gather32(set, p->value[number][round]);
      all_came(p, number, round, set, &all);
      p->wrong += xmc_lanes_below(set) == 0 && got != all;
      p->joined += xmc_lanes_count(set) > 1u;
      low = number;
      high = round;
      xmc_lanes_share(set, xmc_lanes_first(set), &low, &high);
      p->wrong += low != number - number % SIMT_LANES + xmc_lanes_first(set) || high != round;
    }
  }
}

static void groups_join(void **state) {
  static const uint32_t diverge_one_in[] = {0, 40, 8, 3, 2};
  party *p = calloc(1, sizeof *p);
  uint64_t joined = 0;
  uint32_t i, seed, lane;
  (void)state;
  assert_non_null(p);
  for (i = 0; i < sizeof diverge_one_in / sizeof *diverge_one_in; i++)
    for (seed = 1; seed <= 40u; seed++) {
      simt s = {GROUPS, seed, diverge_one_in[i], 0, 0, 0};
      memset(p, 0, sizeof *p);
      for (lane = 0; lane < LANES; lane++)
        p->random[lane] = seed * 1000u + lane;
      simt_run(&s, take_part, p);
      assert_false(s.hung);
      assert_int_equal(p->wrong, 0);
      assert_int_equal(p->early, 0);
      joined += p->joined;
    }
  assert_true(joined > 10000u);
  free(p);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(groups_join)};
  return run_named(tests, argc, argv);
}
