/*
 * The demand of an all-to-all whose blocks are not all alike: how many bytes
 * each rank has for each other one.
 *
 * Channels then carry shares of each pair's block.  A channel's gbs, and the
 * plan's value, are of the pair that has most; every other pair moves its part
 * of that, so that all are done at the same time: the largest block over the
 * value.
 */
#ifndef GT_PLAN_IR_DEMAND_H
#define GT_PLAN_IR_DEMAND_H

#include <stdint.h>

#include "base/rat.h"

struct gt_arena;
struct gt_err;

/* The most units of all pairs together; more than 1 rank of them. */
enum { GT_DEMAND_MAX_UNITS = 1 << 20, GT_DEMAND_MAX_RANKS = 1024 };

/* Matrices are by from * n + to. */
struct gt_plan_demand {
	uint64_t *bytes; /* what a rank has for itself goes over no link */
	/* Bytes over their greatest common divisor; 0 on the diagonal. */
	uint32_t *units;
	uint32_t most;    /* the largest of units */
	uint64_t largest; /* of bytes, a rank's for itself as well */
};

/*
 * The demand of n ranks with these bytes, which are copied.  GT_EINPUT when no
 * rank has anything for another, when a block or a sum needs more than 62 bits,
 * or when there are more units than GT_DEMAND_MAX_UNITS.
 */
int gt_demand_new(uint32_t n, const uint64_t *bytes, struct gt_arena *arena,
		  struct gt_plan_demand **demand, struct gt_err *err);

/*
 * Round bytes up to multiples of a power of 2, which is returned, so that no
 * more than GT_DEMAND_MAX_UNITS units are left; 1: nothing was rounded, as it
 * need not be, or as the sum is more than gt_demand_new() takes.
 */
uint64_t gt_demand_round(uint32_t n, uint64_t *bytes);

/*
 * How many elements the block of a pair, or of a rank for itself, has when the
 * largest of all has `count`.
 */
uint64_t gt_demand_elems(const struct gt_plan_demand *demand, uint32_t pair,
			 uint64_t count);

/* The most that one rank sends or gets, in blocks as large as the largest. */
struct gt_rat gt_demand_most(const struct gt_plan_demand *demand, uint32_t n);

/*
 * The most that one rank sends or gets, in blocks of the pair that has most:
 * all of it, or only what crosses links.
 */
struct gt_rat gt_demand_busiest(const struct gt_plan_demand *demand, uint32_t n,
				int crossing);

#endif
