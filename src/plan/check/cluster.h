/*
 * gt_plan_check() of a cluster's plan, which is never expanded: what holds for
 * node 0 holds for all, since adding a vector of digits (plan/ir/cluster.h) maps
 * templates, links and switches to their like.
 */
#ifndef GT_PLAN_CHECK_CLUSTER_H
#define GT_PLAN_CHECK_CLUSTER_H

#include <stdint.h>

#include "base/rat.h"
#include "plan/check/check.h"
#include "plan/check/link_graph.h"

struct gt_arena;
struct gt_err;
struct gt_hop_costs;
struct gt_plan;
struct gt_plan_channel;
struct gt_plan_hop;
struct gt_plan_route;
struct gt_plan_report;

/* In place of gt_check_channels(), gt_check_loads() and gt_check_proof(). */
int gt_check_templates(const struct gt_plan *plan, struct gt_err *err);
int gt_check_cluster_loads(const struct gt_plan *plan, struct gt_err *err);
int gt_check_cluster_proof(const struct gt_plan *plan,
			   struct gt_plan_report *report, struct gt_err *err);

/* The hops of a channel, each by itself: routes that meet, from port to port. */
int gt_check_cluster_hops(const struct gt_plan *plan,
			  const struct gt_link_graph *vertices, uint32_t c,
			  struct gt_err *err);

/* A pair's tree, and what a row of such loads, at all nodes and switches. */
int gt_check_cluster_tree(const struct gt_plan *plan, uint32_t c,
			  struct gt_err *err);
struct gt_plan_select;
int gt_check_cluster_tree_row(const struct gt_plan *plan,
			      const struct gt_plan_select *row,
			      struct gt_err *err);

/* A ring through all nodes (plan/ir/cluster.h). */
int gt_check_cluster_ring(const struct gt_plan *plan, uint32_t c,
			  struct gt_err *err);

/*
 * What a row's channels load: a node's links, each, and those of a node of odd
 * number, which differ where rings alternate; of what goes back from leaves to
 * the root the links back, by the link they are back of; and the uplinks above
 * a node, out and in, by gt_cluster_load_uplink().
 */
struct gt_cluster_load {
	const struct gt_plan *plan;
	struct gt_link_graph vertices;
	struct gt_rat *links, *odd, *back;
	struct gt_rat *up[2];
	struct gt_rat rate; /* of one block, or of a ring, in this channel */
};
uint32_t gt_cluster_load_uplink(const struct gt_cluster_load *load,
				uint32_t level, uint32_t port);

/* Its parts: memory and vertices; a load that has to fit, called `what`. */
int gt_cluster_load_init(struct gt_cluster_load *load,
			 const struct gt_plan *plan, struct gt_arena *arena,
			 struct gt_err *err);
int gt_cluster_load_fits(const struct gt_plan *plan, struct gt_rat load,
			 struct gt_rat gbs, const char *what,
			 struct gt_err *err);

/*
 * Add `load->rate` to the links of a hop up to its port, or (in) from it on;
 * 0: that takes more than 64 bits.
 */
int gt_cluster_load_half(struct gt_cluster_load *load,
			 const struct gt_plan_hop *hop, int in,
			 struct gt_rat *sum);

/* Add a ring; 0: that takes more than 64 bits. */
int gt_cluster_load_ring(struct gt_cluster_load *load,
			 const struct gt_plan_channel *channel);

/* Paths of all pairs and classes (plan/ir/cluster.h), and what they load. */
int gt_check_cluster_flow(const struct gt_plan *plan, uint32_t c,
			  struct gt_err *err);
int gt_cluster_load_flow(struct gt_cluster_load *load,
			 const struct gt_plan_channel *channel);

/*
 * The certificate's routes, of which there has to be one for all pairs of a
 * node's ranks; hops of the proof's row are of these.
 */
struct gt_cluster_routes {
	const struct gt_plan *plan;
	const struct gt_link_graph *vertices;
	uint32_t places;                    /* ranks, then ports */
	const struct gt_plan_route **table; /* [from * places + to], or NULL */
	const uint8_t *unused; /* by link, in gt_check_cluster_unused() only */
};
int gt_check_cluster_routes(const struct gt_plan *plan,
			    const struct gt_link_graph *vertices,
			    struct gt_arena *arena,
			    struct gt_cluster_routes *routes,
			    struct gt_err *err);

/*
 * Mark, by link, those that the certificate says no route crosses; and do none,
 * of all pairs of ranks, and of ranks and ports?
 */
int gt_check_cluster_unused(const struct gt_plan *plan,
			    const struct gt_link_graph *vertices,
			    struct gt_arena *arena, uint8_t *unused,
			    struct gt_err *err);

/* Prices of links, then uplinks, and the routes that they are about. */
struct gt_cluster_prices {
	const struct gt_plan *plan;
	struct gt_rat *prices;
	struct gt_cluster_routes routes;
	struct gt_rat *costs;
};

/*
 * Do the prices, as lengths of links, prove the bound on what only moves: that
 * the shortest ways from the ranks of one node to all others cost 1 together?
 */
int gt_check_cluster_lengths(const struct gt_cluster_prices *p,
			     struct gt_arena *arena, enum gt_bound_state *state,
			     struct gt_err *err);

/*
 * Do the prices, of links and uplinks, prove the bound: of a flow as above, and
 * of rings that no ring through a node of the kind that the cluster allows
 * costs less than 1?
 */
int gt_check_cluster_prices(const struct gt_plan *plan,
			    const struct gt_link_graph *vertices,
			    struct gt_arena *arena,
			    struct gt_plan_report *report, struct gt_err *err);

#endif
