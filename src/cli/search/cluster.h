/* gtopo search over several nodes. */
#ifndef GT_CLI_SEARCH_CLUSTER_H
#define GT_CLI_SEARCH_CLUSTER_H

#include <stdint.h>

#include "plan/ir/program.h"
#include "topo/graph/topo.h"

struct gt_buf;
struct gt_cluster;
struct gt_cmd_args;
struct gt_err;
struct gt_plan;
struct gt_budget;

struct gt_search_cluster {
	enum gt_rates rates;
	enum gt_coll coll;
	const char *gpus;              /* of each node; NULL: all */
	const struct gt_budget *watch; /* or NULL */
	struct gt_buf *explain; /* gets words about it; NULL: none wanted */
	const char *algo;       /* "auto", "ring", "hier" */
	uint32_t root, max_channels;
	/* What it stands for, whose nodes are not all alike; or NULL. */
	const struct gt_cluster *uneven;
	/* NULL, or a plan to be better than at last: GT_ENO if it is not. */
	const struct gt_plan *rival;
};

/* A plan of templates or rings, the caller's; what it came to is told. */
int gt_search_cluster(const struct gt_cmd_args *args,
		      const struct gt_search_cluster *search,
		      const struct gt_cluster *cluster, struct gt_plan **plan,
		      struct gt_err *err);

#endif
