#ifndef GT_SEARCH_CLUSTER_ALLTOALL_ASSIGN_H
#define GT_SEARCH_CLUSTER_ALLTOALL_ASSIGN_H

#include <stdint.h>

struct gt_alltoall;
struct gt_alltoall_lengths;
struct gt_alltoall_path;

/*
 * alltoall_assign.c: up to so many equal lanes of ways that are shortest under
 * the lengths, or among `known`, if they reach more than the flow has, or as
 * much with fewer.
 */
struct gt_alltoall_known_paths {
	uint32_t n;
	const struct gt_alltoall_path **paths;
};
int gt_alltoall_assign(struct gt_alltoall *a2a, struct gt_alltoall_lengths *l,
		       const struct gt_alltoall_known_paths *known);

#endif
