/*
 * The certificate of a tree packing: the exact prices of the last basis, made
 * coarser until all numbers fit 64 bits.
 */
#include "search/tree/shares.h"

#include "base/arena.h"
#include "base/err.h"
#include "search/graph/graph.h"
#include "search/problem/shape.h"
#include "search/tree/exact.h"
#include "search/tree/forest.h"

/*
 * The cost of the cheapest trees of all roots together, or -1 when memory ran
 * out.
 */
static int64_t gt_forest_total(struct gt_forest *f)
{
	int64_t sum = 0, one;

	if (gt_forest_weigh(f))
		return -1;
	for (uint32_t i = 0; i < f->nroots; i++) {
		if (f->trees.wants)
			one = gt_forest_shortest(f, f->starts[i]);
		else
			one = gt_arborescence(f->hops.n, f->mixed, f->starts[i],
					      NULL);
		if (one < 0)
			return -1;
		sum += one;
	}
	return sum;
}

/*
 * Prices such that the roots' cheapest trees cost 1 on average, and what they
 * prove; 0 when the numbers do not fit.
 */
static int gt_forest_certify(const struct gt_forest *f, int64_t total,
			     struct gt_proposal *proposal)
{
	struct gt_rat bound = GT_RAT(0, 1), product, each;

	proposal->nprices = 0;
	if (!gt_rat_make((int64_t)f->hops.unit * f->nroots, total, &each))
		return 0;
	for (uint32_t i = 0; i < f->hops.nrows; i++) {
		struct gt_proposal_price *price =
			&proposal->prices[proposal->nprices];

		if (!f->prices[i])
			continue;
		price->link = f->hops.rows[i].link;
		if (!gt_rat_mul(each, GT_RAT(f->prices[i], 1), &price->price) ||
		    !gt_rat_mul(f->hops.rows[i].gbs, price->price, &product) ||
		    !gt_rat_add(bound, product, &bound))
			return 0;
		proposal->nprices++;
	}
	proposal->bound = bound;
	return 1;
}

/* Prices rounded up to fewer digits; 0 when they have none left. */
static int gt_forest_coarsen(struct gt_forest *f)
{
	int changed = 0;

	for (uint32_t i = 0; i < f->hops.nrows; i++) {
		changed |= f->prices[i] > 1;
		f->prices[i] = (f->prices[i] + 3) / 4;
	}
	return changed;
}

int gt_forest_prove(struct gt_forest *f, struct gt_proposal *proposal,
		    struct gt_err *err)
{
	int rc = gt_forest_prices(f, f->lp, f->prices, err);
	int64_t total;

	if (rc)
		return rc;
	proposal->prices = gt_arena_array(f->args->arena, f->hops.nrows,
					  sizeof(*proposal->prices));
	if (!proposal->prices)
		return gt_err_nomem(err);
	do {
		total = gt_forest_total(f);
		if (total < 0)
			return gt_err_nomem(err);
		if (total && gt_forest_certify(f, total, proposal))
			return GT_OK;
	} while (gt_forest_coarsen(f));
	proposal->nprices = 0;
	return GT_ENO;
}
