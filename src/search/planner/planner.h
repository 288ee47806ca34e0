/*
 * The policy of the search: which of its ways a request for a plan takes.
 *
 * One machine is searched as it is.  A cluster of few GPUs may be flattened to
 * one machine; a cluster whose nodes are all alike is planned by templates,
 * rings or flows through its quotient; one whose nodes differ is planned by
 * trees that choose their routes (search/uneven), or for what these do not do,
 * if it is too large to be flattened, is homogenized first, that is, planned
 * with what all nodes have.  Options that a way cannot honour are refused by
 * one table (search/planner/request.h).
 *
 * A planner keeps what its plan was found on, so that the plan can be
 * explained; the machine or the cluster is borrowed and has to outlive it.
 */
#ifndef GT_SEARCH_PLANNER_PLANNER_H
#define GT_SEARCH_PLANNER_PLANNER_H

#include <stdint.h>

#include "base/rat.h"
#include "search/search.h"

struct gt_cluster;
struct gt_err;
struct gt_plan;
struct gt_planner;
struct gt_planner_request;
struct gt_topo;
struct gt_whatif;

struct gt_planner_result {
	const struct gt_plan *plan; /* the planner's */
	int by_quotient;    /* of nodes that are alike, not of one machine */
	int homogenized;    /* planned with what all nodes have */
	const char *unlike; /* lines that say which nodes lack what; or NULL */
	int64_t search_ns;  /* how long the search took */
	struct gt_search_stats stats; /* not if by_quotient is set */
	/* Pairs without peer access, for which others were planned without. */
	uint32_t apart;
};

/*
 * Find the best plan on one machine, which gt_planner_explain() edits and
 * leaves as it was, and whose GPUs are apart afterwards if result.apart says
 * so, or on a cluster; one of a single node is planned as that
 * machine.  *planner is the caller's.  GT_EINPUT, and which option, when the
 * request cannot be honoured, or which nodes have no GPUs; GT_ENO when there is
 * no plan.
 */
int gt_planner_machine(const struct gt_planner_request *request,
		       struct gt_topo *topo, struct gt_planner **planner,
		       struct gt_err *err);
int gt_planner_cluster(const struct gt_planner_request *request,
		       const struct gt_cluster *cluster,
		       struct gt_planner **planner, struct gt_err *err);

/* Borrowed from the planner. */
const struct gt_planner_result *gt_planner_result(
	const struct gt_planner *planner);

/*
 * Find what no schedule exceeds, in GB/s of the result, if nodes had all that
 * any of a homogenized cluster's nodes has; *found is 0 when no bound is known.
 */
int gt_planner_union_bound(const struct gt_planner *planner, int *found,
			   struct gt_rat *bound, struct gt_err *err);

/*
 * Find what limits the plan and what would raise it; *whatif is the caller's.
 */
int gt_planner_explain(const struct gt_planner *planner,
		       struct gt_whatif **whatif, struct gt_err *err);

/* NULL is allowed. */
void gt_planner_free(struct gt_planner *planner);

#endif
