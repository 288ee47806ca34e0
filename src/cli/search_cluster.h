/* gtopo search over several nodes. */
#ifndef GT_CLI_SEARCH_CLUSTER_H
#define GT_CLI_SEARCH_CLUSTER_H

#include "plan/program.h"
#include "topo/topo.h"

struct gt_cluster;
struct gt_cmd_args;
struct gt_err;
struct gt_plan;

struct gt_search_cluster {
	enum gt_rates rates;
	enum gt_coll coll;
	const char *gpus; /* of each node; NULL: all */
};

/* A plan of templates, the caller's; what it came to is told. */
int gt_search_cluster(const struct gt_cmd_args *args,
		      const struct gt_search_cluster *search,
		      const struct gt_cluster *cluster, struct gt_plan **plan,
		      struct gt_err *err);

#endif
