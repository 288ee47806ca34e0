/* gtopo paths of a cluster: between its nodes. */
#ifndef GT_CLI_PATHS_CLUSTER_H
#define GT_CLI_PATHS_CLUSTER_H

struct gt_buf;
struct gt_cluster;
struct gt_err;

/*
 * Appends a matrix for every two kinds of nodes, or what `from` and `to`
 * ("node", or "node/GPU0") name; both or neither are NULL.
 */
int gt_paths_cluster(const struct gt_cluster *cluster, const char *from,
		     const char *to, struct gt_buf *out, struct gt_err *err);

#endif
