/* gtopo paths of a cluster: between its nodes. */
#ifndef GT_CLI_PATHS_CLUSTER_H
#define GT_CLI_PATHS_CLUSTER_H

struct gt_buf;
struct gt_cluster;
struct gt_err;

struct gt_paths_query {
	const struct gt_cluster *cluster;
	const char *from, *to; /* "node" or "node/GPU0"; both or neither NULL */
	int json;
};

/* Appends a matrix for every two kinds of nodes, or what is named. */
int gt_paths_cluster(const struct gt_paths_query *ask, struct gt_buf *out,
		     struct gt_err *err);

#endif
