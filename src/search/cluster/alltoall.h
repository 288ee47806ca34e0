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
struct gt_quotient;
struct gt_plan_price;

/* What a way takes of a row's capacity, times gt_quotient_rows.unit. */
struct gt_alltoall_load {
	uint32_t row;
	int32_t units;
};

/* The ranks that it passes; of a class above 0 `nout` in the sender's node. */
struct gt_alltoall_path {
	uint32_t class_, nranks, nout, nloads;
	uint32_t *ranks;
	uint32_t out, in; /* ports */
	struct gt_alltoall_load *loads;
};

/* [(class * nranks + from) * nranks + to], NULL where no way is wanted. */
struct gt_alltoall_channel {
	const struct gt_alltoall_path **paths;
	int64_t weight; /* of gt_alltoall.whole */
};

struct gt_alltoall {
	const struct gt_quotient *quotient;
	struct gt_arena *arena;
	struct gt_quotient_rows rows;
	uint32_t nclasses;
	uint32_t *nodes; /* of a class */
	/* The result: channels, what each pair has, and what none exceeds. */
	uint32_t nchannels;
	struct gt_alltoall_channel *channels;
	int64_t denominator;
	struct gt_rat rate;
	int has_bound;
	struct gt_rat bound;
	uint32_t nprices;
	struct gt_plan_price *prices; /* of links, then gt_nodes_uplink() */
};

/* GT_ENO when some rank cannot be reached.  Memory is the arena's. */
int gt_alltoall_solve(const struct gt_quotient *q, struct gt_arena *arena,
		      struct gt_alltoall *a2a, struct gt_err *err);

/*
 * What the lanes reach, into flow->rate; 0 when that needs more than 64 bits.
 * full[row], unless NULL: is the row full then?
 */
int gt_alltoall_rate(struct gt_alltoall *a2a, uint8_t *full);

/*
 * alltoall_path.c: lengths of what ranks and ports are joined by, under prices
 * of rows, below GT_ALLTOALL_UNREACHABLE.
 */
#define GT_ALLTOALL_UNREACHABLE (INT64_C(1) << 54)
#define GT_ALLTOALL_PRICE_MAX   (INT64_C(1) << 36)

struct gt_alltoall_lengths {
	const struct gt_alltoall *a2a;
	/* Also to rails that are apart, where they meet higher up: no way of a
	 * plan, but one that a proof has to count. */
	int all;
	int64_t *price;    /* of a row; set before gt_alltoall_lengths_set() */
	int64_t *local;    /* [n * n] hops in a node */
	int64_t *out, *in; /* [n * nports] */
	int64_t *cross;    /* [(class * n + from) * n + to] network hops */
	uint32_t *by[2];   /* likewise: their ports */
	int64_t *weights, *far; /* of the ways from one rank */
	uint32_t *parent;
};
int gt_alltoall_lengths_init(struct gt_alltoall_lengths *l,
			     const struct gt_alltoall *a2a);
void gt_alltoall_lengths_set(struct gt_alltoall_lengths *l);

/* From port to port of a node of the class: uplinks only. */
int64_t gt_alltoall_lengths_uplinks(const struct gt_alltoall_lengths *l,
				    uint32_t class_, uint32_t out, uint32_t in);

/* The shortest ways from a rank to all of a node of the class; 0, no memory: -1 */
int gt_alltoall_lengths_paths(struct gt_alltoall_lengths *l, uint32_t class_,
			      uint32_t from,
			      const struct gt_alltoall_path **paths);

/*
 * What the shortest load with all nodes of the class, if they may cross the
 * network as often as they like; GT_EINPUT: more than fits.
 */
int gt_alltoall_lengths_loads(struct gt_alltoall_lengths *l, uint32_t class_,
			      uint32_t from, int32_t *loads);

/* Of all that one node sends, however often it is passed on; -1: too long. */
int64_t gt_alltoall_lengths_total(struct gt_alltoall_lengths *l);

/* A way by these ranks and ports, which are copied; NULL: no memory. */
const struct gt_alltoall_path *gt_alltoall_path_new(
	const struct gt_alltoall *a2a, const struct gt_alltoall_path *model);

/*
 * alltoall_assign.c: up to so many equal lanes of ways that are shortest under
 * the lengths, or among `known`, if they reach more than the flow has, or as
 * much with fewer.
 */
struct gt_alltoall_known_paths {
	uint32_t n;
	const struct gt_alltoall_path **paths;
};
int gt_alltoall_assign(struct gt_alltoall *a2a, struct gt_alltoall_lengths *l,
		       const struct gt_alltoall_known_paths *known);

#endif
