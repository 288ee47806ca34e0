/*
 * The certificate of an all-to-all's bound: prices of links under which all
 * paths that one node sends cost at least so much together.
 */
#include "search/cluster/alltoall_master.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/cluster/quotient.h"
#include "search/lp/exact_basis.h"
#include "search/lp/lp.h"
#include "search/problem/fabric.h"

/*
 * The prices of rows as whole numbers without a common divisor: exact ones from
 * the last basis, or else rounded from floating point.
 */
static int integer_prices(struct gt_alltoall_master *m)
{
	const struct gt_basis_program of = gt_alltoall_basis(m);
	int64_t *price = m->lengths.price, all = 0;
	int rc = gt_basis_link_prices(&of, m->lp, price);

	for (uint32_t r = 0; rc == GT_ENO && r < m->a2a->rows.n; r++)
		price[r] = (int64_t)(m->prices[r] /
				     (m->prices[m->a2a->rows.n] + 1e-30) *
				     (double)(1 << 20));
	for (uint32_t r = 0; r < m->a2a->rows.n; r++)
		all = (int64_t)gt_rat_gcd((uint64_t)all, (uint64_t)price[r]);
	for (uint32_t r = 0; all && r < m->a2a->rows.n; r++)
		price[r] /= all;
	return rc == GT_ESYS ? rc : GT_OK;
}

/*
 * The bound that these lengths of rows prove, and the prices that say so:
 * lengths over what all paths of a node have together.  0 when it needs more
 * than 64 bits.
 */
static int certify_lengths(struct gt_alltoall *a2a, const int64_t *lengths,
			   int64_t total)
{
	const struct gt_plan_cluster *cluster = &a2a->quotient->cluster;
	uint32_t nlinks = a2a->quotient->fabric->nlinks;
	struct gt_rat each, term;

	a2a->nprices = 0;
	a2a->bound = GT_RAT(0, 1);
	if (!gt_rat_make(a2a->rows.unit, total, &each))
		return 0;
	for (uint32_t r = 0; r < a2a->rows.n; r++) {
		struct gt_plan_price *price = &a2a->prices[a2a->nprices];

		if (!lengths[r])
			continue;
		price->link = r;
		if (!gt_rat_mul(each, GT_RAT(lengths[r], 1), &price->price) ||
		    !gt_rat_mul(price->price, a2a->rows.gbs[r], &term) ||
		    !gt_rat_add(a2a->bound, term, &a2a->bound))
			return 0;
		if (r >= nlinks) {
			uint32_t l = (r - nlinks) / 2 / cluster->nrails;

			if (!gt_rat_div(price->price,
					GT_RAT(cluster->levels[l].nodes, 1),
					&price->price))
				return 0;
		}
		a2a->nprices++;
	}
	return a2a->nprices > 0;
}

/* Drop digits of all prices if one exceeds `most`; 0 if none does. */
static int coarsen_prices(struct gt_alltoall_master *m, int64_t most)
{
	int64_t *price = m->lengths.price;
	int changed = 0;

	for (uint32_t r = 0; r < m->a2a->rows.n; r++)
		if (price[r] > most) {
			changed = 1;
			break;
		}
	for (uint32_t r = 0; changed && r < m->a2a->rows.n; r++)
		price[r] = (price[r] + 3) / 4;
	return changed;
}

int gt_alltoall_certify(struct gt_alltoall_master *m, struct gt_err *err)
{
	struct gt_alltoall *a2a = m->a2a;
	int64_t total;

	a2a->prices =
		gt_arena_array(a2a->arena, a2a->rows.n, sizeof(*a2a->prices));
	if (!a2a->prices || integer_prices(m))
		return gt_err_nomem(err);
	while (coarsen_prices(m, GT_ALLTOALL_PRICE_MAX / a2a->rows.unit))
		;
	m->lengths.relaxed = 1;
	do {
		gt_alltoall_lengths_set(&m->lengths);
		total = gt_alltoall_lengths_total(&m->lengths);
		a2a->has_bound = total > 0 &&
				 certify_lengths(a2a, m->lengths.price, total);
	} while (!a2a->has_bound && coarsen_prices(m, 1));
	if (!a2a->has_bound)
		a2a->nprices = 0;
	return GT_OK;
}
