/*
 * Shapes: what channels may look like, one table entry each.  A shape looks
 * at a fabric and proposes channels with exact rates, and how good they are.
 *
 * To add one, write its propose function and its entry in search/search.c.
 */
#ifndef GT_SEARCH_SHAPE_H
#define GT_SEARCH_SHAPE_H

#include <stdint.h>

#include "base/rat.h"
#include "plan/plan.h"

struct gt_arena;
struct gt_bound;
struct gt_err;
struct gt_fabric;
struct gt_fabric_route;
struct gt_watch;

struct gt_proposal_channel {
	struct gt_rat gbs; /* more than 0 */
	uint32_t *order;   /* ring: all ranks, the lowest first */
	/* Tree: what each rank hangs from, and over which routes. */
	uint32_t root;
	uint32_t *parent;                          /* UINT32_MAX at the root */
	const struct gt_fabric_route **down, **up; /* NULL where not used */
};

struct gt_proposal_price {
	uint32_t link; /* of the fabric */
	struct gt_rat price;
};

/* Channels, best first, and the proof of struct gt_plan_proof. */
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
	/* What bounds everything, and why; class any: what proves bound. */
	int has_any_bound;
	struct gt_rat any_bound;
	struct gt_bound *cut; /* or NULL */
	/* What it took, for people. */
	uint32_t nrows, ncolumns, nrounds;
};

struct gt_shape_args {
	const struct gt_fabric *fabric;
	enum gt_coll coll;
	uint32_t root;
	uint32_t max_channels;        /* 0: no limit */
	const struct gt_watch *watch; /* or NULL */
	struct gt_arena *arena;       /* owns what is proposed */
};

struct gt_shape_entry {
	const char *name;
	enum gt_shape shape;
	/*
	 * GT_ENO with the reason when the shape does not exist on this fabric
	 * (a rank that no ring reaches).
	 */
	int (*propose)(const struct gt_shape_args *args,
		       struct gt_proposal *proposal, struct gt_err *err);
};

extern const struct gt_shape_entry gt_shape_ring;
extern const struct gt_shape_entry gt_shape_forest;

#endif
