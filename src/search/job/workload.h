/*
 * What a job's ranks have to say to each other in a step, as gtopo-job(5) has
 * it: axes whose product the ranks are, and traffic, each kind of which goes on
 * within groups of ranks.
 *
 * A workload is read once and then only looked at; its arena owns all of it.
 */
#ifndef GT_SEARCH_JOB_WORKLOAD_H
#define GT_SEARCH_JOB_WORKLOAD_H

#include <stdint.h>

#include "plan/ir/program.h"

struct gt_arena;
struct gt_err;

enum {
	GT_JOB_MAX_RANKS = 16384,
	GT_JOB_MAX_AXES = 8,
	GT_JOB_MAX_TRAFFIC = 64,
};

struct gt_job_axis {
	const char *name;
	uint32_t size;
	uint32_t stride; /* how far ranks are apart that are neighbours on it */
};

struct gt_traffic {
	const char *name;
	enum gt_coll coll;
	uint64_t bytes; /* of the collective's larger buffer, as nccl-tests */
	uint64_t count; /* how often a step */
	uint32_t phase; /* what is of one phase goes on at the same time */
	/* The axes it is over, a bit each; 0: groups were listed by rank. */
	uint32_t axes;
	uint32_t ngroups, size; /* size: ranks of each group; 1: no traffic */
	uint32_t *ranks;        /* [group * size + i] */
};

struct gt_workload {
	const char *file;
	const char *name; /* or NULL */
	uint32_t nranks;
	uint32_t naxes;
	struct gt_job_axis axes[GT_JOB_MAX_AXES];
	uint32_t ntraffic;
	struct gt_traffic traffic[GT_JOB_MAX_TRAFFIC];
	uint32_t nphases;
	const char *phases[GT_JOB_MAX_TRAFFIC];
};

/*
 * Read a job file ("-": standard input).  GT_EINPUT, with the place and what
 * would be right, when it is none.
 */
int gt_workload_read(const char *path, struct gt_arena *arena,
		     struct gt_workload **workload, struct gt_err *err);

/* The bytes that a kind of traffic has in each of its groups in a step. */
double gt_traffic_bytes(const struct gt_traffic *traffic);

#endif
