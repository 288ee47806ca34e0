/*
 * A cluster's best trees or flow as the what-if analysis needs them: their
 * rate, and which links of a node and which uplinks are full then.
 */
#ifndef GT_SEARCH_WHATIF_CLUSTER_FULL_H
#define GT_SEARCH_WHATIF_CLUSTER_FULL_H

#include <stdint.h>

#include "base/rat.h"
#include "search/cluster/cut_bound.h"
#include "search/cluster/quotient.h"
#include "topo/graph/topo.h"

struct gt_arena;
struct gt_cluster_request;
struct gt_err;
struct gt_whatif;

/* Full links of a node between two kinds of devices, of one bandwidth. */
struct gt_whatif_group {
	enum gt_node_kind a, b;
	struct gt_rat gbs;
	uint32_t n;
	uint32_t *links; /* one of each pair of directions */
	const char *name;
};

/* The analysis of a cluster under way. */
struct gt_whatif_cluster_state {
	const struct gt_cluster_request *request;
	const struct gt_topo *topo;
	struct gt_whatif *result; /* its arena has all that is made here */
	struct gt_quotient *quotient;
	struct gt_quotient_bound bound; /* of a flow: without a cut */
	struct gt_rat rate; /* of a rank's block, or a flow's pair */
	uint8_t *full;      /* by row: a node's links, then uplinks */
	uint32_t ngroups;
	struct gt_whatif_group *groups;
};

/* Set quotient, bound, rate and full from the request. */
int gt_whatif_cluster_solve(struct gt_whatif_cluster_state *s,
			    struct gt_err *err);

/* The rate that the best trees, or the best flow, have on another cluster. */
int gt_whatif_cluster_rate(const struct gt_whatif_cluster_state *s,
			   const struct gt_quotient *q, struct gt_arena *arena,
			   struct gt_rat *rate, struct gt_err *err);

/* Set the groups: the node's full links, sorted by kind and bandwidth. */
int gt_whatif_cluster_group(struct gt_whatif_cluster_state *s,
			    struct gt_err *err);

/* The device of a node's fabric, or NULL: what is beyond its NVSwitches. */
const struct gt_node *gt_whatif_cluster_node(
	const struct gt_whatif_cluster_state *s, uint32_t index);

/* The kind of a vertex of a node's fabric. */
enum gt_node_kind gt_whatif_cluster_kind(
	const struct gt_whatif_cluster_state *s, uint32_t index);

/* Are uplinks of this level full, of any rail and direction? */
int gt_whatif_cluster_level_is_full(const struct gt_whatif_cluster_state *s,
				    uint32_t level);

/*
 * cluster_changes.c: try what would raise a cluster's rate, more ports, second
 * links beside full ones, wider uplinks, each by solving the cluster again, and
 * fill the result's changes; groups and full rows are known.
 */
int gt_whatif_cluster_try(struct gt_whatif_cluster_state *s,
			  struct gt_err *err);

#endif
