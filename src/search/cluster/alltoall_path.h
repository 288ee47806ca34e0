/*
 * An all-to-all of a cluster as paths: what they load, and the rate that
 * channels of paths reach.
 */
#ifndef GT_SEARCH_CLUSTER_ALLTOALL_PATH_H
#define GT_SEARCH_CLUSTER_ALLTOALL_PATH_H

#include <stdint.h>

#include "base/rat.h"
#include "search/cluster/quotient_rows.h"

struct gt_arena;
struct gt_plan_price;
struct gt_quotient;
struct gt_row_load;

/*
 * A path from a rank of one node to a rank of the same node (class 0) or of one
 * that is class_ away.  It crosses the network once, from the rank number
 * nout - 1 of its list to the one behind it, by ports `out` and `in`.
 */
struct gt_alltoall_path {
	uint32_t class_, nranks, nout, nloads;
	uint32_t *ranks;
	uint32_t out, in;          /* of a class above 0 */
	struct gt_row_load *loads; /* in gt_quotient_rows.unit */
};

/*
 * A path for every pair, [(class * nranks + from) * nranks + to]; NULL for a
 * rank to itself, and where no node is so far away.
 */
struct gt_alltoall_channel {
	const struct gt_alltoall_path **paths;
	int64_t weight; /* over gt_alltoall.denominator: its share */
};

struct gt_alltoall {
	const struct gt_quotient *quotient;
	struct gt_arena *arena;
	struct gt_quotient_rows rows;
	uint32_t nclasses;
	uint32_t *nodes; /* by class: how many there are */
	/* The result: channels, what a pair has, and what none exceeds. */
	uint32_t nchannels;
	struct gt_alltoall_channel *channels;
	int64_t denominator;
	struct gt_rat rate;
	int has_bound;
	struct gt_rat bound;
	uint32_t nprices;
	struct gt_plan_price *prices; /* of links, then gt_nodes_uplink() */
};

/* What a route with this charge takes of a link's row. */
int32_t gt_alltoall_link_units(const struct gt_alltoall *a2a, uint32_t link,
			       struct gt_rat charge);

/* The row of the uplink that a port's rail has at a level, out or (in) in. */
uint32_t gt_alltoall_uplink_row(const struct gt_alltoall *a2a, uint32_t level,
				uint32_t port, int in);

/* The number of loads of a path by the ranks and ports of `model`. */
uint32_t gt_alltoall_path_nloads(const struct gt_alltoall *a2a,
				 const struct gt_alltoall_path *model);

/*
 * A path with its loads, by the ranks and ports of `model`, which are copied;
 * NULL when memory ran out.
 */
const struct gt_alltoall_path *gt_alltoall_path_new(
	const struct gt_alltoall *a2a, const struct gt_alltoall_path *model);

/*
 * What the channels reach goes to a2a->rate; 0 when that needs more than 64
 * bits. Unless it is NULL, full[row] says whether the row is full then.
 */
int gt_alltoall_rate(struct gt_alltoall *a2a, uint8_t *full);

#endif
