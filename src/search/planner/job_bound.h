/*
 * What no all-reduce of a job of equal nodes exceeds, over all GPUs of each: to
 * say what a machine is worth to a job without planning for it.
 */
#ifndef GT_SEARCH_PLANNER_JOB_BOUND_H
#define GT_SEARCH_PLANNER_JOB_BOUND_H

#include <stdint.h>

#include "base/rat.h"

struct gt_buf;
struct gt_cluster;
struct gt_cluster_kind;
struct gt_err;
struct gt_topo;

struct gt_job {
	const struct gt_topo *topo; /* of each node */
	uint32_t nnodes;
	const char *nets; /* ports that are joined, "0,3-5"; NULL: all */
};

/*
 * Find the exact bound, as bus bandwidth; *found is 0 where there is none: no
 * GPUs, no ports, no routes to them.  Only memory can fail.
 */
int gt_job_bound(const struct gt_job *job, int *found, struct gt_rat *gbs,
		 struct gt_err *err);

/*
 * Find it for a cluster of as many nodes, all of one of its kinds, on one
 * switch.
 */
int gt_job_bound_of_kind(const struct gt_cluster *cluster,
			 const struct gt_cluster_kind *kind, int *found,
			 struct gt_rat *gbs, struct gt_err *err);

/*
 * Append "; N nodes all like 'A' reach at most 381 GB/s, like 'B' 406.4", the
 * worst kind of a cluster's nodes and the best; nothing where none has a bound.
 */
int gt_job_bound_of_kinds(const struct gt_cluster *cluster, struct gt_buf *out,
			  struct gt_err *err);

#endif
