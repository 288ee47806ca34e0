/*
 * What GPUs of a node send each other at most, where no NVSwitches join them
 * all: NVLinks between all or some of them, or PCI.
 *
 * A group of GPUs, the members, talks over the routes between its members
 * (search/problem/request.h); where NVLinks through a third member stand in for
 * a pair's route, that is over the routes to and from this one.  What leaves
 * some of them for the others is at most a maximum flow along these routes from
 * link to link, with what a route's charge leaves of a link.  All subsets of up
 * to 8 GPUs are looked at; bit i of a set is the i-th GPU in order of dev.
 */
#ifndef GT_SEARCH_JOB_CUTS_H
#define GT_SEARCH_JOB_CUTS_H

#include <stdint.h>

struct gt_arena;
struct gt_err;
struct gt_topo;

enum { GT_CUTS_MAX_GPUS = 8, GT_CUTS_SETS = 1 << GT_CUTS_MAX_GPUS };

struct gt_job_cuts {
	uint32_t ngpus;
	/*
	 * [members * GT_CUTS_SETS + set]: GB/s from the set to the other
	 * members, over the routes that there are if all members talk, and over
	 * those that there are if any of them do.  From a set of all members:
	 * from each of them to each other.
	 */
	double *out, *any;
	/*
	 * By members: all that enters the parts of a partition, over the
	 * messages that an element of an all-reduce needs between them; of the
	 * partition for which it is least.
	 */
	double *strength;
};

/*
 * Find the cuts of a node; memory is the arena's.  *cuts becomes NULL where
 * there are more GPUs, some have no route to each other, or each reaches each
 * alike over NVSwitches.
 */
int gt_job_cuts_find(const struct gt_topo *topo, struct gt_arena *arena,
		     const struct gt_job_cuts **cuts, struct gt_err *err);

#endif
