/*
 * Where a job is to run: nodes that are all alike, and what leaves a GPU, a
 * node, and the nodes below a switch, at most.  It is about routes: GPUs that
 * all have links to NVSwitches or to each other talk over these in a node, and
 * where NVLinks join all nodes the network carries nothing.
 *
 * A place of a rank is node * ngpus + number of the GPU in order of dev.
 */
#ifndef GT_SEARCH_JOB_SITE_H
#define GT_SEARCH_JOB_SITE_H

#include <stddef.h>
#include <stdint.h>

#include "topo/graph/topo.h"

struct gt_arena;
struct gt_cluster;
struct gt_err;
struct gt_job_cuts;

enum { GT_SITE_MAX_LEVELS = 16 };

/* Nodes in a row that share switches, and what leaves all of them together. */
struct gt_site_level {
	uint32_t nodes; /* of a full domain; the last one may have fewer */
	double gbs;     /* of a full domain, each way */
};

struct gt_site {
	struct gt_topo *topo;             /* of each node */
	const struct gt_cluster *cluster; /* NULL: one machine */
	enum gt_rates rates;
	uint32_t nnodes, ngpus;
	double gpu_gbs; /* all links out of the GPU that has most */
	/*
	 * Those to NVSwitches, or to GPUs if each has links to all; 0: GPUs do
	 * not only talk over these in a node.
	 */
	double peer_gbs;
	/* What GPUs that no NVSwitches join send each other, or NULL. */
	const struct gt_job_cuts *cuts;
	/* What one GPU sends out of its node without another GPU's links. */
	double out_gbs;
	/* The smallest first: nodes, then those below each level's switches. */
	uint32_t nlevels;
	struct gt_site_level levels[GT_SITE_MAX_LEVELS];
};

/*
 * Make the site of one machine (cluster is NULL) or a cluster; both are
 * borrowed, further memory is the arena's.  GT_EINPUT when nodes are not alike,
 * or there are no GPUs.
 */
int gt_site_init(struct gt_site *site, struct gt_topo *topo,
		 const struct gt_cluster *cluster, enum gt_rates rates,
		 struct gt_arena *arena, struct gt_err *err);

/* Write the name of a node, cut to size; of one machine it is "localhost". */
void gt_site_node_name(const struct gt_site *site, uint32_t node, char *text,
		       size_t size);

#endif
