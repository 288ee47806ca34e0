/*
 * The search of clusters whose nodes or switches are not alike, up to
 * GT_FLAT_OPEN_RANKS ranks: what no schedule exceeds over any path of the
 * cluster's links, by maximum flows, and trees of one rate each that share the
 * links evenly (search/uneven/balance.h).  What is left between the two is
 * told.
 */
#ifndef GT_SEARCH_UNEVEN_SEARCH_H
#define GT_SEARCH_UNEVEN_SEARCH_H

#include "search/problem/request.h"

struct gt_err;
struct gt_plan;

/* How large the search was, for people. */
struct gt_uneven_stats {
	uint32_t nlinks;  /* that paths cross */
	uint32_t ntrees;  /* that were grown and kept */
	uint32_t nrounds; /* in which all trees were grown anew */
};

/*
 * The best plan of the request, whose `flat` is open and has direct paths; its
 * collective spreads or reduces.  GT_ENO when some rank cannot be reached.
 * *plan is the caller's.
 */
int gt_uneven_search(const struct gt_search_request *request,
		     struct gt_plan **plan, struct gt_uneven_stats *stats,
		     struct gt_err *err);

#endif
