/*
 * Shapes: what channels may look like, one table entry each.  A shape looks
 * at a fabric and proposes channels with exact rates, and how good they are.
 *
 * To add one, write its propose function and its entry in search/search.c.
 */
#ifndef GT_SEARCH_PROBLEM_SHAPE_H
#define GT_SEARCH_PROBLEM_SHAPE_H

#include <stdint.h>

#include "base/rat.h"
#include "plan/ir/plan.h"

struct gt_arena;
struct gt_bound;
struct gt_err;
struct gt_fabric;
struct gt_fabric_route;
struct gt_budget;
struct gt_plan_demand;

/* How a pair's block goes: over nhops routes, from ranks[0] to ranks[nhops]. */
struct gt_proposal_path {
	uint32_t nhops;
	const uint32_t *ranks;
	const struct gt_fabric_route **routes;
};

struct gt_proposal_channel {
	struct gt_rat gbs; /* more than 0 */
	/*
	 * Ring: all ranks, rank 0 first, as in search/problem/link_rows.h,
	 * with the ranks that relay; with external ports
	 * (search/problem/fabric.h) the ranks, nranks + the port it leaves by,
	 * + nports + the one it enters.
	 */
	uint32_t *order;
	/* Tree: what each rank hangs from, and over which routes. */
	uint32_t root;
	uint32_t *parent;                          /* UINT32_MAX at the root */
	const struct gt_fabric_route **down, **up; /* NULL where not used */
	/* Switch: with the fabric's links. */
	uint32_t nvertices;
	struct gt_plan_vertex *vertices;
	/* Flow: of all pairs; mesh: all go directly. */
	uint32_t npaths;
	struct gt_proposal_path *paths;
};

struct gt_proposal_price {
	uint32_t link; /* of the fabric */
	struct gt_rat price;
};

struct gt_proposal_prices {
	uint32_t n;
	struct gt_proposal_price *list;
};

/*
 * Channels, best first, and the proof of struct gt_plan_proof.  Of a flow or a
 * mesh all rates are a pair's.
 */
struct gt_proposal {
	enum gt_shape shape;
	uint32_t nchannels;
	struct gt_proposal_channel *channels;
	enum gt_proof_class class_;
	struct gt_rat value; /* sum of the channels' gbs */
	int has_bound;
	struct gt_rat bound;
	uint32_t nprices;
	struct gt_proposal_price *prices;
	int relays; /* prices are about rings whose hops may be relayed, too */
	/* bound is about at most so many channels; 0: any number, price 0 */
	uint32_t max_channels;
	struct gt_rat channel_price;
	struct gt_rat unlimited; /* what bounds any number; of max_channels */
	/*
	 * A bound on every schedule, and its cut; of class any the cut proves
	 * `bound`.
	 */
	int has_any_bound;
	struct gt_rat any_bound;
	struct gt_bound *cut; /* or NULL */
	/* Equal rings: by k - 1 the prices that prove that no k reach more
	 * (struct gt_plan_proof). */
	uint32_t nequal;
	struct gt_proposal_prices *equal;
	/* How large the programs were, for people. */
	uint32_t nrows, ncolumns, nrounds;
};

struct gt_shape_args {
	const struct gt_fabric *fabric;
	enum gt_coll coll;
	uint32_t root;
	const struct gt_plan_demand *demand; /* of an all-to-all; or NULL */
	uint32_t max_channels;               /* 0: no limit */
	int bare; /* the value counts, not how few channels there are */
	const struct gt_budget *budget; /* or NULL */
	struct gt_arena *arena;         /* owns what is proposed */
};

struct gt_shape_entry {
	const char *name;
	enum gt_shape shape;
	int (*supports)(enum gt_coll coll);
	/*
	 * GT_ENO with the reason when the shape does not exist on this fabric
	 * (a rank that no ring reaches).
	 */
	int (*propose)(const struct gt_shape_args *args,
		       struct gt_proposal *proposal, struct gt_err *err);
	/*
	 * On a fabric whose capacities are whole multiples of what charged or
	 * plain hops load: `count` channels of 1 GB/s each, of trees from
	 * each root that needs some; nothing but `channels` is filled in.
	 * GT_ENO when none were found; *none: because there are none.
	 */
	int (*integral)(const struct gt_shape_args *args, uint32_t count,
			int *none, struct gt_proposal *proposal,
			struct gt_err *err);
};

extern const struct gt_shape_entry gt_shape_ring;
extern const struct gt_shape_entry gt_shape_forest;
extern const struct gt_shape_entry gt_shape_flow;

/* Rings and forests support all collectives but those that only move bytes. */
static inline int gt_shape_spreads(enum gt_coll coll)
{
	return !gt_coll_only_moves(coll);
}

#endif
