/*
 * What emit.c, which makes a cluster's plan of trees, and its parts of
 * rings, pairs and routes share.  For these only.
 */
#ifndef GT_SEARCH_CLUSTER_EMIT_H
#define GT_SEARCH_CLUSTER_EMIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/rat.h"
#include "plan/ir/plan.h"

struct gt_cluster_solution;
struct gt_network_hop;
struct gt_hier_pieces;

struct gt_cluster_emit {
	const struct gt_cluster_solution *found;
	struct gt_arena *scratch;
	struct gt_plan *plan;
	struct gt_hier_pieces *pieces; /* by root */
	struct gt_rat value;
	int failed; /* memory ran out; the rest does not matter */
};

/* In the plan's arena; NULL sets failed. */
void *gt_cluster_emit_array(struct gt_cluster_emit *e, size_t n,
			    size_t size_bytes);

/* A hop with its route; of the network if `net`. */
struct gt_plan_hop gt_cluster_emit_hop_make(struct gt_cluster_emit *e,
					    uint32_t from, uint32_t to,
					    const struct gt_network_hop *net);

/* The channel's hop as above, added when it is not there yet: its number. */
uint32_t gt_cluster_emit_hop(struct gt_cluster_emit *e,
			     struct gt_plan_channel *channel, uint32_t from,
			     uint32_t to, const struct gt_network_hop *net);

/* The bound's sets of vertices, as the certificate. */
void gt_cluster_emit_sets(struct gt_cluster_emit *e);

/*
 * What sets leave out; the routes, between ranks if all have one
 * (emit_route.c).
 */
void gt_cluster_emit_unused(struct gt_cluster_emit *e);
void gt_cluster_emit_routes(struct gt_cluster_emit *e);

/* Channels of trees through all nodes: found->double_trees. */
void gt_cluster_emit_double_trees(struct gt_cluster_emit *e);

/* Channels and proof of rings: found->rings. */
void gt_cluster_emit_rings(struct gt_cluster_emit *e);
void gt_cluster_emit_ring_proof(struct gt_cluster_emit *e);

/* Channels and proof of a flow: found->a2a. */
void gt_cluster_emit_alltoall(struct gt_cluster_emit *e);
void gt_cluster_emit_alltoall_proof(struct gt_cluster_emit *e);

#endif
