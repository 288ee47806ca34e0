/*
 * The routes that a cluster's certificate lists: those between the ranks of one
 * node, and between its ranks and its ports.
 */
#ifndef GT_PLAN_CHECK_CLUSTER_ROUTES_H
#define GT_PLAN_CHECK_CLUSTER_ROUTES_H

#include <stdint.h>

struct gt_arena;
struct gt_err;
struct gt_link_graph;
struct gt_plan;
struct gt_plan_route;

/*
 * The certificate's routes, of which there has to be one for every pair of a
 * node's ranks; the hops of the proof's row have to be made of these.
 */
struct gt_cluster_routes {
	const struct gt_plan *plan;
	const struct gt_link_graph *vertices;
	uint32_t places;                    /* ranks, then ports */
	const struct gt_plan_route **table; /* [from * places + to], or NULL */
	const uint8_t *unused; /* by link, for gt_check_cluster_unused() only */
};
int gt_check_cluster_routes(const struct gt_plan *plan,
			    const struct gt_link_graph *vertices,
			    struct gt_arena *arena,
			    struct gt_cluster_routes *routes,
			    struct gt_err *err);

/*
 * Mark in unused[], by link, those that the certificate says no route crosses,
 * and check that none does: neither between ranks nor between ranks and ports.
 */
int gt_check_cluster_unused(const struct gt_plan *plan,
			    const struct gt_link_graph *vertices,
			    struct gt_arena *arena, uint8_t *unused,
			    struct gt_err *err);

#endif
