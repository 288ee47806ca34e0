/*
 * From what the search of a cluster found to a plan: a node's ranks and links
 * by name, the cluster's levels and ports, channels of one shape, and the proof
 * with its certificate.
 */
#ifndef GT_SEARCH_CLUSTER_EMIT_H
#define GT_SEARCH_CLUSTER_EMIT_H

struct gt_alltoall;
struct gt_block_templates;
struct gt_cluster_request;
struct gt_cluster_ring_fabric;
struct gt_double_trees;
struct gt_err;
struct gt_plan;
struct gt_proposal;
struct gt_quotient;
struct gt_quotient_bound;

/*
 * One of templates, double_trees, rings and a2a is set, and its channels are
 * the plan's.  A bound by cuts goes with all but a2a, which has its own.
 */
struct gt_cluster_solution {
	const struct gt_cluster_request *request;
	const struct gt_quotient *quotient;
	const struct gt_quotient_bound *bound;
	const struct gt_block_templates *templates;
	const struct gt_double_trees *double_trees;
	const struct gt_proposal *rings;
	const struct gt_cluster_ring_fabric *ring_fabric; /* of rings */
	const struct gt_alltoall *a2a;
};

/*
 * *plan is the caller's, owes nothing to what it was made from, and has passed
 * gt_plan_check().  GT_EINPUT when its rates need more than 64 bits.
 */
int gt_cluster_emit(const struct gt_cluster_solution *solution,
		    struct gt_plan **plan, struct gt_err *err);

#endif
