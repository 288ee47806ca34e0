/*
 * `gtopo search --explain` of several nodes: what limits a plan of templates,
 * in words, and what would raise it, found by solving again with more of it.
 */
#ifndef GT_CLI_SEARCH_EXPLAIN_CLUSTER_H
#define GT_CLI_SEARCH_EXPLAIN_CLUSTER_H

struct gt_buf;
struct gt_err;
struct gt_cluster_request;

/* Append the text. */
int gt_search_explain_cluster(const struct gt_cluster_request *request,
			      struct gt_buf *out, struct gt_err *err);

#endif
