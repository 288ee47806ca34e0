/*
 * Loads of a row's channels in a cluster are added up here: on the links of a
 * node, and the uplinks of the switches above it.
 */
#ifndef GT_PLAN_CHECK_CLUSTER_LOAD_H
#define GT_PLAN_CHECK_CLUSTER_LOAD_H

#include <stdint.h>

#include "base/rat.h"
#include "plan/check/link_graph.h"

struct gt_arena;
struct gt_err;
struct gt_plan;
struct gt_plan_channel;
struct gt_plan_hop;

struct gt_cluster_load {
	const struct gt_plan *plan;
	struct gt_link_graph vertices;
	struct gt_rat *links; /* by link, of a node of even number */
	struct gt_rat *odd; /* of one of odd number, for rings that alternate */
	/* By link: what goes back over it from leaves to the root of a tree. */
	struct gt_rat *back;
	/* Out of switches and, of trees that all nodes share, (1) into them, by
	 * gt_cluster_load_uplink(). */
	struct gt_rat *up[2];
	struct gt_rat rate; /* of one block, or of a ring, in this channel */
};

/* Memory, with all loads 0, and the vertices that links join. */
int gt_cluster_load_init(struct gt_cluster_load *load,
			 const struct gt_plan *plan, struct gt_arena *arena,
			 struct gt_err *err);

/* The index in up[] of the uplink of a level that is above a port. */
uint32_t gt_cluster_load_uplink(const struct gt_cluster_load *load,
				uint32_t level, uint32_t port);

/* Is the load of a link, called `what` in the message, within its capacity? */
int gt_cluster_load_fits(const struct gt_plan *plan, struct gt_rat load,
			 struct gt_rat gbs, const char *what,
			 struct gt_err *err);

/*
 * Add `load->rate` to the links of a hop up to its port or, with `in`, from its
 * port on.  The result is 0 when a sum takes more than 64 bits.
 */
int gt_cluster_load_half(struct gt_cluster_load *load,
			 const struct gt_plan_hop *hop, int in,
			 struct gt_rat *sum);

/*
 * Add what a ring, or a flow, puts on links and uplinks.  The result is 0 when
 * a sum takes more than 64 bits.
 */
int gt_cluster_load_ring(struct gt_cluster_load *load,
			 const struct gt_plan_channel *channel);
int gt_cluster_load_flow(struct gt_cluster_load *load,
			 const struct gt_plan_channel *channel);

#endif
