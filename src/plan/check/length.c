/*
 * The bound on collectives that only move blocks: with prices as lengths of
 * links, the shortest paths of all pairs cost 1 or more together.
 */
#include "plan/check/bounds.h"

#include <stdlib.h>

#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/hop_costs.h"
#include "plan/ir/plan.h"

/* Distances, and sums of two, fit 64 bits below this. */
static const int64_t gt_length_max = (int64_t)1 << 60;

/*
 * The shortest paths of all pairs take the cube of the ranks in time, so larger
 * plans are not checked.
 */
enum { GT_LENGTH_MAX_RANKS = 1024 };

/*
 * Make cost[] that of every pair's shortest path over any ranks (Floyd 1962;
 * Warshall 1962).
 */
static void gt_length_close(uint32_t n, int64_t *cost)
{
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < n; j++) {
				int64_t over =
					cost[i * n + k] + cost[k * n + j];

				if (over < cost[i * n + j])
					cost[i * n + j] = over;
			}
}

/*
 * Each pair's distance counts as its part of the largest block.  A distance of
 * as many units as the largest block has counts as that, which is enough for
 * the proof, even of a pair with one unit.
 */
static int gt_check_distances(const struct gt_plan *plan, const int64_t *cost,
			      int64_t unit, struct gt_err *err)
{
	uint32_t n = plan->nranks;
	int64_t enough = unit * gt_plan_most_units(plan, plan->coll);
	__int128 sum = 0;

	for (uint32_t i = 0; i < n * n; i++)
		sum += (__int128)gt_plan_pair_units(plan, plan->coll, i / n,
						    i % n) *
		       (cost[i] < enough ? cost[i] : enough);
	if (sum >= enough)
		return GT_OK;
	return gt_plan_wrong(plan, gt_plan_at("proof.certificate.prices"), err,
			     "prove nothing: the pairs' shortest ways together "
			     "cost less than 1 (%.6g)",
			     (double)sum / (double)enough);
}

int gt_check_length_bound(const struct gt_plan *plan,
			  const struct gt_plan_route **table,
			  const struct gt_rat *prices,
			  enum gt_bound_state *state, struct gt_err *err)
{
	size_t nn = (size_t)plan->nranks * plan->nranks;
	uint32_t most = gt_plan_most_units(plan, plan->coll);
	struct gt_hop_costs costs = {
		.most = most,
		.unit_max = gt_length_max / most,
	};
	int rc = GT_OK;

	if (plan->nranks > GT_LENGTH_MAX_RANKS) {
		*state = GT_BOUND_TOO_MANY;
		return GT_OK;
	}
	costs.cost = calloc(nn, sizeof(*costs.cost));
	if (!costs.cost)
		return gt_err_nomem(err);
	gt_check_costs(plan, table, prices, &costs);
	*state = costs.unit ? GT_BOUND_PROVEN : GT_BOUND_TOO_FINE;
	if (costs.unit) {
		gt_length_close(plan->nranks, costs.cost);
		rc = gt_check_distances(plan, costs.cost, costs.unit, err);
	}
	free(costs.cost);
	return rc;
}
