/* A plan for simulated jobs. */
#ifndef GT_TESTS_SIM_RING_H
#define GT_TESTS_SIM_RING_H

#include <stdint.h>

struct gt_plan;

enum { SIM_RING_RANKS = 12 }; /* at most */

/* An all-reduce by one ring; it is the same each time, and borrowed. */
const struct gt_plan *sim_ring(uint32_t nranks);

/* The same, which is the caller's. */
struct gt_plan *sim_ring_new(uint32_t nranks);

#endif
