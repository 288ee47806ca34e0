/*
 * Which GPUs of which nodes of a cluster to take: of all ways to divide so many
 * among nodes, one whose all-reduce has the highest bound
 * (search/pick/joined.h); of those that are worth the same it is the one on
 * fewest nodes, then the one that sends most to its ports, then that on fewest
 * NUMA nodes, then the first in order of nodes and GPUs.
 *
 * Nodes are alike that are of one kind, have the same GPUs free and hang below
 * the same switches; which of them are taken makes no difference, and their
 * first ones are.  Of each node the sets of GPUs are compared that no other set
 * beats (search/pick/stock.h).  Where there are more ways than
 * GT_PICK_MAX_WAYS only those are compared that take as many GPUs of each node,
 * as far as they go, for every such number; the answer then says that.
 */
#ifndef GT_SEARCH_PICK_SEVERAL_H
#define GT_SEARCH_PICK_SEVERAL_H

#include <stdint.h>

#include "base/rat.h"

struct gt_arena;
struct gt_cluster;
struct gt_err;

enum { GT_PICK_MAX_WAYS = 1 << 16 };

struct gt_pick_several_query {
	const struct gt_cluster *cluster;
	uint32_t n;
	uint64_t *free; /* by node: bits of its GPUs, in order of dev */
};

/* A node of which GPUs are taken. */
struct gt_picked_node {
	uint32_t node;
	uint64_t gpus; /* bits */
};

struct gt_pick_several {
	uint32_t n, nnodes;
	struct gt_picked_node *nodes; /* ascending */
	struct gt_rat gbs;            /* bus bandwidth; 0 of one GPU */
	struct gt_rat first_gbs;      /* of the first n that are free */
	struct gt_rat net_gbs; /* what the nodes send to their ports together */
	uint64_t nways, nbounded;
	int complete; /* all ways were compared */
};

/*
 * The free GPUs of all nodes: those of `among` (NULL: all) that are not in
 * `taken` (NULL: none), lists such as "node-0,node-1:0-3,node-2:GPU5".  The
 * arena owns query->free.  GT_EINPUT, naming the entry, when it is not there.
 */
int gt_pick_several_read(const char *among, const char *taken,
			 struct gt_arena *arena,
			 struct gt_pick_several_query *query,
			 struct gt_err *err);

/*
 * Find the best choice; memory is the arena's.  GT_ENO when there are not
 * enough GPUs, or none that reach each other; GT_EINPUT for clusters that are
 * not of levels of switches.
 */
int gt_pick_several_find(const struct gt_pick_several_query *query,
			 struct gt_arena *arena, struct gt_pick_several *pick,
			 struct gt_err *err);

#endif
