/*
 * What the search of a cluster found, for the plan that is written from it.
 */
#ifndef GT_SEARCH_CLUSTER_SOLUTION_H
#define GT_SEARCH_CLUSTER_SOLUTION_H

struct gt_alltoall;
struct gt_block_trees;
struct gt_cluster_request;
struct gt_cluster_ring_fabric;
struct gt_double_trees;
struct gt_proposal;
struct gt_quotient;
struct gt_quotient_bound;

/*
 * One of block_trees, double_trees, rings and a2a is set, and its channels are
 * the plan's.  A bound by cuts goes with all but a2a, which has its own.
 */
struct gt_cluster_solution {
	const struct gt_cluster_request *request;
	const struct gt_quotient *quotient;
	const struct gt_quotient_bound *bound;
	const struct gt_block_trees *block_trees;
	const struct gt_double_trees *double_trees;
	const struct gt_proposal *rings;
	const struct gt_cluster_ring_fabric *ring_fabric; /* of rings */
	const struct gt_alltoall *a2a;
};

#endif
