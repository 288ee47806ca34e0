/*
 * A cluster as the search sees it: one node's fabric, which all nodes have,
 * the routes between its ranks and its ports, and the switches above them.
 * Nothing grows with the number of nodes.
 */
#ifndef GT_SEARCH_CLUSTER_QUOTIENT_H
#define GT_SEARCH_CLUSTER_QUOTIENT_H

#include <stdint.h>

#include "base/rat.h"
#include "plan/ir/cluster.h"
#include "plan/ir/program.h"

struct gt_arena;
struct gt_err;
struct gt_fabric;
struct gt_fabric_route;
struct gt_budget;

struct gt_quotient {
	const struct gt_fabric *fabric; /* one node */
	struct gt_plan_cluster cluster;
	const uint32_t *ports;             /* nodes of the fabric */
	const struct gt_fabric_route *out; /* [rank * nports + port] */
	const struct gt_fabric_route *in;  /* likewise, from port to rank */
	const struct gt_budget *watch;     /* or NULL */
	/* What a plan calls vertices and links of the box; by hand: NULL. */
	const char **vertex_ids, **link_ids, **link_kinds;
};

/*
 * What no schedule exceeds: as search/bound/bound.h, but of the whole cluster, in
 * the size of the result over the time, and found on few nodes.  Seen from
 * node 0 the others fall into classes, by the lowest level with a switch above
 * both; class c of 0 .. nlevels.  Adding up all nodes of a class, vertex by
 * vertex, changes no maximum flow to a rank of node 0: averaging a flow over
 * the symmetries that keep node 0 gives one that is equal on a class (that is,
 * classes are an equitable partition).
 *
 * A vertex of the sum is class * nnodes + node of the fabric; behind all of
 * these come switches: (level * (nlevels + 1) + class) * nrails + rail.
 */
struct gt_quotient_bound {
	int found;
	struct gt_rat value;
	uint32_t nvertices;
	/*
	 * [vertex]: is it outside?  All-reduce: 0, or 1 + the part that it is
	 * in: parts of node 0, or one that is all below a switch.
	 */
	uint32_t *outside;
	uint32_t nparts; /* all-reduce only */
	/* Link of the box: between sets, but no route crosses it; or NULL. */
	const uint8_t *unused;
};

uint32_t gt_quotient_nvertices(const struct gt_quotient *q);
uint32_t gt_quotient_switch(const struct gt_quotient *q, uint32_t level,
			    uint32_t class_, uint32_t rail);

/*
 * Where that is less, of what goes over the routes between all ranks of a node,
 * and between ranks and ports; a plan that says so has to have them all.
 */
struct gt_quotient_bound_query {
	const struct gt_quotient *quotient;
	enum gt_coll coll;
	uint32_t root;  /* of a broadcast or reduce */
	int all_routes; /* has the plan? */
};

int gt_quotient_bound_find(const struct gt_quotient_bound_query *query,
			   struct gt_arena *arena,
			   struct gt_quotient_bound *bound, struct gt_err *err);

#endif
