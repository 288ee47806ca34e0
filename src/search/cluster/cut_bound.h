/*
 * What no schedule of a cluster exceeds, by its cuts: search/bound/bound.h for
 * the whole cluster, found on the quotient.
 *
 * Adding up all nodes of a class (search/cluster/quotient.h) changes no maximum
 * flow to a rank of node 0: averaging a flow over the symmetries that keep
 * node 0 gives one that is equal on a class (that is, classes are an equitable
 * partition).
 */
#ifndef GT_SEARCH_CLUSTER_CUT_BOUND_H
#define GT_SEARCH_CLUSTER_CUT_BOUND_H

#include <stdint.h>

#include "base/rat.h"
#include "plan/ir/program.h"

struct gt_arena;
struct gt_err;
struct gt_quotient;

struct gt_quotient_bound {
	int found;
	struct gt_rat value; /* size of the result over the time */
	uint32_t nvertices;
	/*
	 * By vertex of the quotient: 1 if it is in the set that data has to
	 * leave, else 0.  Of an all-reduce it is 1 + the number of the part
	 * that the vertex is in, else 0; parts are of node 0, or there is one
	 * that is all below a switch.
	 */
	uint32_t *outside;
	uint32_t nparts; /* of an all-reduce, else 0 */
	/*
	 * By link of the fabric: does it leave a set although no route crosses
	 * it, so that the bound does without it?  NULL when it needs no such.
	 */
	const uint8_t *unused;
};

/*
 * With all_routes the bound is also about what goes over the routes between all
 * ranks of a node, and between ranks and ports, and nothing else: that may be
 * less.  A plan that states it has to have all these routes.
 */
struct gt_quotient_bound_query {
	const struct gt_quotient *quotient;
	enum gt_coll coll;
	uint32_t root; /* of a broadcast or reduce */
	int all_routes;
};

/*
 * The least bound of all cuts; bound->found is 0 when there is none in 64 bits.
 * Memory is the arena's.  GT_ESYS when it ran out.
 */
int gt_quotient_bound_find(const struct gt_quotient_bound_query *query,
			   struct gt_arena *arena,
			   struct gt_quotient_bound *bound, struct gt_err *err);

#endif
