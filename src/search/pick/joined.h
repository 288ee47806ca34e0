/*
 * What GPUs of several nodes are worth together: no all-reduce over the routes
 * within each node's set, those to the ports nearest to each GPU, and the
 * switches between nodes exceeds it.
 */
#ifndef GT_SEARCH_PICK_JOINED_H
#define GT_SEARCH_PICK_JOINED_H

#include <stdint.h>

#include "base/rat.h"

struct gt_arena;
struct gt_cluster;
struct gt_err;
struct gt_stock_set;

/* A node of the cluster and which of its GPUs are taken. */
struct gt_joined_part {
	uint32_t node;
	const struct gt_stock_set *set;
};

/* How nodes are joined: by NVLink, else by the network. */
int gt_joined_by_nvlink(const struct gt_cluster *cluster);

/*
 * The exact bound of nparts parts, as bus bandwidth: 0 where some GPU does not
 * reach the others.  GT_EINPUT when rates are no fractions of 64 bits.
 */
int gt_joined_worth(const struct gt_cluster *cluster,
		    const struct gt_joined_part *parts, uint32_t nparts,
		    struct gt_rat *gbs, struct gt_err *err);

/*
 * A bound on that bound, which is quick: what leaves nodes, what leaves GPUs,
 * and what the set of a single node is worth.  0 when it knows none.
 */
int gt_joined_at_most(const struct gt_joined_part *parts, uint32_t nparts,
		      struct gt_rat *gbs);

#endif
