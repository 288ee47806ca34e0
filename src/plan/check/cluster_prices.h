/* Proofs by prices of links and uplinks about a cluster's rings and flows. */
#ifndef GT_PLAN_CHECK_CLUSTER_PRICES_H
#define GT_PLAN_CHECK_CLUSTER_PRICES_H

#include "plan/check/cluster_routes.h"
#include "plan/check/check.h"

struct gt_arena;
struct gt_err;
struct gt_link_graph;
struct gt_plan;
struct gt_rat;

/* Prices of links, then of uplinks, and the routes that they are about. */
struct gt_cluster_prices {
	const struct gt_plan *plan;
	struct gt_rat *prices;
	struct gt_cluster_routes routes;
	struct gt_rat *costs;
};

/*
 * Do the prices, as lengths of links, prove the bound on what only moves: that
 * the shortest paths from the ranks of one node to all others cost 1 together?
 */
int gt_check_cluster_lengths(const struct gt_cluster_prices *p,
			     struct gt_arena *arena, enum gt_bound_state *state,
			     struct gt_err *err);

/*
 * Do the prices of links and uplinks prove the bound?  That of a flow as
 * lengths, and that of rings because no path of the kind that the cluster
 * allows, through all ranks of a node, costs less than 1.
 */
int gt_check_cluster_prices(const struct gt_plan *plan,
			    const struct gt_link_graph *vertices,
			    struct gt_arena *arena,
			    struct gt_plan_report *report, struct gt_err *err);

#endif
