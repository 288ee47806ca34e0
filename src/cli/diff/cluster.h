/* gtopo diff of clusters: their nodes kind by kind, and what joins them. */
#ifndef GT_CLI_DIFF_CLUSTER_H
#define GT_CLI_DIFF_CLUSTER_H

#include <stdint.h>

struct gt_buf;
struct gt_err;

/* Is it a cluster?  Not for standard input, nor for what cannot be read. */
int gt_diff_is_cluster(const char *path);

struct gt_diff_clusters {
	const char *const *files; /* the first is the norm */
	uint32_t nfiles;
	unsigned ignore; /* of servers, as gt_device_tree_read() */
	uint32_t nnodes; /* as in struct gt_fleet_query; 0: those of a kind */
	int json;
	int colour; /* of text */
	int all;    /* as in struct gt_fleet_query */
};

/*
 * Append what differs; *nfindings says whether anything does.  A file that is
 * no cluster, or cannot be read, differs as long as there is another one to
 * compare with the norm; else that is GT_EINPUT.
 */
int gt_diff_clusters(const struct gt_diff_clusters *ask, struct gt_buf *out,
		     uint32_t *nfindings, struct gt_err *err);

#endif
