/*
 * The best all-to-all of a cluster, from one node (plan/ir/cluster.h): averaging
 * a flow over the cluster's symmetries gives one that is as large and the same
 * for all nodes and classes, so it is enough to choose the ways of one node's
 * ranks to those of a node of each class:
 *
 *	maximise x subject to
 *	   sum over classes of nodes * load * ways <= capacity, link by link
 *	   the ways of each class from each rank    >= x
 *
 * as a linear program over bunches of ways, one to every rank of a node, that
 * are made when needed: shortest ways under the prices of links.  An uplink's
 * row is one node's part of it.  A way crosses the network once.  Where more is
 * to be had by ways that come back from other nodes, or go on to others, the
 * same program over all ways proves the bound.
 */
#ifndef GT_SEARCH_CLUSTER_ALLTOALL_H
#define GT_SEARCH_CLUSTER_ALLTOALL_H

#include <stdint.h>

#include "base/rat.h"
#include "search/cluster/block_trees.h"

struct gt_arena;
struct gt_err;
struct gt_hier;
struct gt_plan_price;

/* What a way takes of a row's capacity, times gt_hier_rows.unit. */
struct gt_hier_part {
	uint32_t row;
	int32_t units;
};

/* The ranks that it passes; of a class above 0 `nout` in the sender's node. */
struct gt_hier_way {
	uint32_t class_, nranks, nout, nparts;
	uint32_t *ranks;
	uint32_t out, in; /* ports */
	struct gt_hier_part *parts;
};

/* [(class * nranks + from) * nranks + to], NULL where no way is wanted. */
struct gt_hier_lane {
	const struct gt_hier_way **ways;
	int64_t weight; /* of gt_hier_flow.whole */
};

struct gt_hier_flow {
	const struct gt_hier *hier;
	struct gt_arena *arena;
	struct gt_hier_rows rows;
	uint32_t nclasses;
	uint32_t *nodes; /* of a class */
	/* The result: channels, what each pair has, and what none exceeds. */
	uint32_t nlanes;
	struct gt_hier_lane *lanes;
	int64_t whole;
	struct gt_rat rate;
	int has_bound;
	struct gt_rat bound;
	uint32_t nprices;
	struct gt_plan_price *prices; /* of links, then gt_nodes_uplink() */
};

/* GT_ENO when some rank cannot be reached.  Memory is the arena's. */
int gt_hier_flow_solve(const struct gt_hier *hier, struct gt_arena *arena,
		       struct gt_hier_flow *flow, struct gt_err *err);

/*
 * What the lanes reach, into flow->rate; 0 when that needs more than 64 bits.
 * full[row], unless NULL: is the row full then?
 */
int gt_hier_flow_rate(struct gt_hier_flow *flow, uint8_t *full);

/*
 * alltoall_path.c: lengths of what ranks and ports are joined by, under prices
 * of rows, below GT_HIER_WAY_NONE.
 */
#define GT_HIER_WAY_NONE  (INT64_C(1) << 54)
#define GT_HIER_PRICE_MAX (INT64_C(1) << 36)

struct gt_hier_lengths {
	const struct gt_hier_flow *flow;
	/* Also to rails that are apart, where they meet higher up: no way of a
	 * plan, but one that a proof has to count. */
	int all;
	int64_t *price;         /* of a row; set before gt_hier_lengths_set() */
	int64_t *local;         /* [n * n] hops in a node */
	int64_t *out, *in;      /* [n * nports] */
	int64_t *cross;         /* [(class * n + from) * n + to] network hops */
	uint32_t *by[2];        /* likewise: their ports */
	int64_t *weights, *far; /* of the ways from one rank */
	uint32_t *parent;
};
int gt_hier_lengths_init(struct gt_hier_lengths *l,
			 const struct gt_hier_flow *flow);
void gt_hier_lengths_set(struct gt_hier_lengths *l);

/* From port to port of a node of the class: uplinks only. */
int64_t gt_hier_lengths_climb(const struct gt_hier_lengths *l, uint32_t class_,
			      uint32_t out, uint32_t in);

/* The shortest ways from a rank to all of a node of the class; 0, no memory: -1 */
int gt_hier_lengths_ways(struct gt_hier_lengths *l, uint32_t class_,
			 uint32_t from, const struct gt_hier_way **ways);

/*
 * What the shortest load with all nodes of the class, if they may cross the
 * network as often as they like; GT_EINPUT: more than fits.
 */
int gt_hier_lengths_loads(struct gt_hier_lengths *l, uint32_t class_,
			  uint32_t from, int32_t *loads);

/* Of all that one node sends, however often it is passed on; -1: too long. */
int64_t gt_hier_lengths_total(struct gt_hier_lengths *l);

/* A way by these ranks and ports, which are copied; NULL: no memory. */
const struct gt_hier_way *gt_hier_way_new(const struct gt_hier_flow *flow,
					  const struct gt_hier_way *like);

/*
 * alltoall_assign.c: up to so many equal lanes of ways that are shortest under
 * the lengths, or among `known`, if they reach more than the flow has, or as
 * much with fewer.
 */
struct gt_hier_known {
	uint32_t n;
	const struct gt_hier_way **ways;
};
int gt_hier_flow_few(struct gt_hier_flow *flow, struct gt_hier_lengths *l,
		     const struct gt_hier_known *known);

#endif
