/*
 * A few equal channels for an all-to-all, in place of many exact ones: each
 * pair of ranks has one path in each channel.
 */
#ifndef GT_SEARCH_CLUSTER_ALLTOALL_ASSIGN_H
#define GT_SEARCH_CLUSTER_ALLTOALL_ASSIGN_H

#include <stdint.h>

struct gt_alltoall;
struct gt_alltoall_lengths;
struct gt_alltoall_path;

/* Paths that are candidates besides the shortest ones. */
struct gt_alltoall_known_paths {
	uint32_t n;
	const struct gt_alltoall_path **paths;
};

/*
 * Replace a2a's channels by up to eight equal ones if these reach more, or as
 * much with fewer channels.  Paths are shortest under the lengths, or known.
 * GT_ESYS when memory ran out.
 */
int gt_alltoall_assign(struct gt_alltoall *a2a, struct gt_alltoall_lengths *l,
		       const struct gt_alltoall_known_paths *known);

#endif
