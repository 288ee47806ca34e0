/*
 * Ways of libgtopo's: communicators of one or several libraries, each opened
 * apart from the others, on the same ranks and buffers.
 */
#ifndef GT_BENCH_SELF_H
#define GT_BENCH_SELF_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "gtopo.h"

enum {
	GT_SELF_RANKS = 64,
	GT_SELF_NAME = 256,
};

/* Buffers and streams, which all ways use in turns. */
struct gt_self_rank {
	int gpu; /* -1: on the host */
	cudaStream_t stream;
	char *input, *output;
};

struct gt_self_ranks {
	int n;
	uint64_t bytes; /* of each buffer */
	struct gt_self_rank rank[GT_SELF_RANKS];
};

/* What each rank calls; count as gtopo.h has it. */
struct gt_self_operation {
	int coll; /* enum gt_coll */
	uint64_t count;
	enum gtopo_type type;
};

struct gt_self;

/*
 * LIBRARY[:FLAG[+FLAG...]], where a flag is best, rows, invariant, blocks=N or
 * plan=FILE in place of `plan`; without one it is what a program gets.  The way
 * is the caller's.  NULL when it cannot be, said on standard error.
 */
struct gt_self *gt_self_open(const char *way, const char *plan,
			     enum gtopo_device device, int is_shared);
void gt_self_close(struct gt_self *self);

const char *gt_self_name(const struct gt_self *self);

/* Buffers for all ranks, found by the first of the ways.  0: all is there. */
int gt_self_ranks_open(struct gt_self_ranks *ranks, struct gt_self *self,
		       uint64_t bytes);
void gt_self_ranks_close(struct gt_self_ranks *ranks);

/* The way's operations go on the ranks' streams from here on. */
void gt_self_use(struct gt_self *self, const struct gt_self_ranks *ranks);

/*
 * The operation so many times, as a graph or not; from the first call until
 * all ranks are done, in nanoseconds; negative, and said: GTOPO_EINPUT where
 * the way does not do it, or what failed.
 */
int64_t gt_self_run(struct gt_self *self, const struct gt_self_ranks *ranks,
		    const struct gt_self_operation *operation, uint32_t times,
		    int is_graph);

#endif
