/*
 * A record of when each step of a run waited and moved, rank by rank.
 *
 * A rank's thread writes only what belongs to its rank, so ranks need no lock;
 * the caller reads once the run is over.  When memory runs out, steps are
 * dropped and counted: a trace never fails a run.
 */
#ifndef GT_EXEC_TRACE_TRACE_H
#define GT_EXEC_TRACE_TRACE_H

#include <stdint.h>

struct gt_err;
struct gt_world;

enum { GT_TRACE_NONE = UINT32_MAX }; /* no rank */

struct gt_trace_step {
	int64_t since_ns; /* the lane's step before was over */
	int64_t begin_ns; /* all that it waits for was there */
	int64_t end_ns;   /* moved, and posted unless that took post_ns more */
	int64_t post_ns;
	uint64_t bytes;
	uint32_t channel, lane, worker, loop;
	uint32_t step; /* its id in the program */
	uint32_t op;   /* enum gt_op */
	uint32_t from; /* the first rank that it receives from */
	uint32_t to;   /* the first rank that it sends to */
};

/* The bytes that went over a link, as its sender knows it. */
struct gt_trace_link {
	uint64_t bytes;
	int64_t busy_ns; /* of steps that sent something */
};

struct gt_trace_rank {
	struct gt_trace_step *steps; /* a worker's in order of time */
	uint64_t nsteps, size;
	uint64_t ndropped;
	struct gt_trace_link *links; /* [to] */
	int64_t *waits_ns;           /* [from] */
};

struct gt_trace {
	uint32_t nranks;
	struct gt_trace_rank *ranks;
};

int gt_trace_new(uint32_t nranks, struct gt_trace **trace, struct gt_err *err);
void gt_trace_free(struct gt_trace *trace); /* NULL is allowed */

/*
 * Append a step that is part of no sum yet, or of sums that were added before.
 */
void gt_trace_append(struct gt_trace_rank *rank,
		     const struct gt_trace_step *step);

/*
 * Append a step and add its waiting time, or add its bytes to a link; called by
 * the rank's own thread.
 */
void gt_trace_add(struct gt_trace *trace, uint32_t rank,
		  const struct gt_trace_step *step);
void gt_trace_add_sent(struct gt_trace *trace, uint32_t rank, uint32_t to,
		       const struct gt_trace_step *step);

/*
 * Called by all processes: process 0 gets what all others have recorded, on its
 * clock.  On one host that is everybody's clock; between hosts it is as exact
 * as a round of all is short.
 */
int gt_trace_gather(struct gt_trace *trace, struct gt_world *world,
		    struct gt_err *err);

/*
 * The link with the lowest rate while it was busy, of those that carried
 * bytes; 0 when there is none.
 */
int gt_trace_slowest(const struct gt_trace *trace, uint32_t *from,
		     uint32_t *to);

/* The rate of a link while it was busy, in 1e9 bytes/s. */
double gt_trace_gbs(const struct gt_trace_link *link);

#endif
