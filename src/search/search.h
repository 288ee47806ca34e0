/*
 * The search: from a machine and a request to a plan with its proof.
 *
 * Deterministic: the same request gives the same plan.  Nothing is kept
 * between calls; several threads may search at once.
 */
#ifndef GT_SEARCH_SEARCH_H
#define GT_SEARCH_SEARCH_H

#include <stdint.h>

#include "base/rat.h"

struct gt_err;
struct gt_plan;
struct gt_search_request;

/* How large the search was, for people. */
struct gt_search_stats {
	uint32_t nrows;          /* links that can limit */
	uint32_t ncolumns;       /* rings looked at by the linear program */
	uint32_t nrounds;        /* of pricing */
	struct gt_rat unlimited; /* bounds any number of channels, if limited */
	/*
	 * The most that so many equal channels reach; 0 when none were asked
	 * for.
	 */
	uint32_t max_equal;
	struct gt_rat equal_bound;
};

/*
 * The best plan of the shape called `algo` ("ring", "forest", "flow"), of the
 * mesh of all pairs ("mesh"), or of all of them by message size ("auto").
 * GT_ENO when this machine has none (GPUs without routes to each other).  *plan
 * is the caller's; it has passed gt_plan_check().  `stats` may be NULL.
 */
int gt_search(const struct gt_search_request *request, const char *algo,
	      struct gt_plan **plan, struct gt_search_stats *stats,
	      struct gt_err *err);

/*
 * The best plan of rings, and the mesh of all pairs over the same routes, of
 * one search and each with one row: to be chosen among by size with others
 * (search/emit/select_by_size.h).  *n of them are made, and the caller's; where
 * that is not both, the result is the failure of the next.
 */
int gt_search_ring_and_mesh(const struct gt_search_request *request,
			    struct gt_plan *plans[2], uint32_t *n,
			    struct gt_err *err);

#endif
