/*
 * The best all-to-all of a cluster, from one node.
 *
 * Averaging a flow over the cluster's symmetries (plan/ir/cluster.h) gives one
 * that is as large and the same for all nodes and classes, so it is enough to
 * choose the paths of one node's ranks to those of a node of each class:
 *
 *	maximise x subject to
 *	   sum over classes of nodes * load * paths <= capacity, link by link
 *	   the paths of each class from each rank   >= x
 *
 * as a linear program whose columns are paths to every rank of a node, and
 * are made when needed: shortest paths under the prices of links.  An uplink's
 * row is one node's part of it.  A path crosses the network once.  Where more
 * is to be had by paths that come back from other nodes, or go on to others,
 * the same program over all paths proves the bound.
 */
#ifndef GT_SEARCH_CLUSTER_ALLTOALL_H
#define GT_SEARCH_CLUSTER_ALLTOALL_H

#include "search/cluster/alltoall_path.h"

struct gt_arena;
struct gt_err;
struct gt_quotient;

/*
 * Channels with their rate, and the bound if one was found.  Memory is the
 * arena's.  GT_ENO when some rank cannot be reached; GT_EINPUT when a node has
 * too many GPUs, or rates need more than 64 bits.
 */
int gt_alltoall_solve(const struct gt_quotient *q, struct gt_arena *arena,
		      struct gt_alltoall *a2a, struct gt_err *err);

#endif
