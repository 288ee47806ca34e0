/*
 * The bound of a small fabric, by looking at every cut and every partition, in
 * the unit of a ring's rate (search/bound/bound.h).  Ranks are the first nodes.
 */
#ifndef GT_TESTS_UNIT_SEARCH_EVERY_CUT_H
#define GT_TESTS_UNIT_SEARCH_EVERY_CUT_H

#include "unit/test.h"

#include "search/problem/fabric.h"

/* The least capacity leaving a node set with exactly these ranks. */
static inline struct gt_rat cut_of(const struct gt_fabric *f, uint32_t ranks,
				   int reverse)
{
	uint32_t others = f->nnodes - f->nranks;
	struct gt_rat best = GT_RAT(INT64_MAX, 1), sum;

	for (uint32_t more = 0; more < 1u << others; more++) {
		uint32_t set = ranks | more << f->nranks;

		sum = GT_RAT(0, 1);
		for (uint32_t i = 0; i < f->nlinks; i++) {
			const struct gt_fabric_link *l = &f->links[i];
			int from = set >> l->from & 1, to = set >> l->to & 1;

			if (reverse ? to && !from : from && !to)
				assert_true(gt_rat_add(sum, l->gbs, &sum));
		}
		if (gt_rat_cmp(sum, best) < 0)
			best = sum;
	}
	return best;
}

static inline struct gt_rat spread_bound(const struct gt_fabric *f, int reverse)
{
	struct gt_rat best = GT_RAT(INT64_MAX, 1), one;
	uint32_t n = f->nranks;

	for (uint32_t set = 1; set < (1u << n) - 1; set++) {
		one = cut_of(f, set, reverse);
		assert_true(gt_rat_mul(
			one, GT_RAT(n - 1, __builtin_popcount(set)), &one));
		if (gt_rat_cmp(one, best) < 0)
			best = one;
	}
	return best;
}

static inline struct gt_rat rooted_bound(const struct gt_fabric *f, int reverse)
{
	struct gt_rat best = GT_RAT(INT64_MAX, 1), one;

	for (uint32_t set = 1; set < (1u << f->nranks) - 1; set += 2) {
		one = cut_of(f, set, reverse);
		if (gt_rat_cmp(one, best) < 0)
			best = one;
	}
	return best;
}

/* Try every partition: part[i] is at most one more than all before it. */
static inline void parts_bound(const struct gt_fabric *f, uint32_t *part,
			       uint32_t i, uint32_t count, struct gt_rat *best)
{
	int64_t n = f->nranks;
	struct gt_rat sum = GT_RAT(0, 1);

	if (i < f->nranks) {
		for (uint32_t p = 0; p <= count; p++) {
			part[i] = p;
			parts_bound(f, part, i + 1, count + (p == count), best);
		}
		return;
	}
	if (count < 2)
		return;
	for (uint32_t p = 0; p < count; p++) {
		uint32_t set = 0;

		for (uint32_t k = 0; k < f->nranks; k++)
			set |= (uint32_t)(part[k] == p) << k;
		assert_true(gt_rat_add(sum, cut_of(f, set, 0), &sum));
	}
	assert_true(gt_rat_mul(sum, GT_RAT(n - 1, n * (count - 1)), &sum));
	if (gt_rat_cmp(sum, *best) < 0)
		*best = sum;
}

#endif
