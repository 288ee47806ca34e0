/*
 * The part of `gtopo run` behind its options: measure and check every
 * collective, type, operator and size that was asked for, on one engine.
 */
#ifndef GT_CLI_RUN_SWEEP_H
#define GT_CLI_RUN_SWEEP_H

#include <stdint.h>

#include "exec/engine.h"

struct gt_buf;
struct gt_err;
struct gt_plan;
struct gt_run_going;

struct gt_run_sweep {
	const struct gt_engine_ops *ops;
	struct gt_engine_config config; /* max_bytes is set here */
	unsigned colls, dtypes, redops; /* bit sets of the enums */
	uint64_t begin_bytes, end_bytes, factor;
	uint32_t iters, warmup;
	int percentiles; /* time operations one by one as well */
	int json;
	int colour;    /* of text */
	int quiet;     /* another process reports */
	int unchecked; /* the data are known to be wrong: --link null */
	const char *plan_digest; /* NULL: not known */
	const char *out;         /* NULL: standard output, as rows come */
	/* NULL, or filled by one run more of the last size, out of place;
	 * *traced is then what that run was. */
	struct gt_trace *trace;
	struct gt_exec_request *traced;
};

/*
 * GT_ENO without words when data was wrong: the rows say so.  What was
 * measured before a failure has been printed.
 */
int gt_run_sweep(const struct gt_run_sweep *sweep, struct gt_err *err);

/*
 * `gtopo run --soak` (soak.c): random operations, one after the other, every
 * element of every result checked, for a given time.  Collectives, types and
 * operators of the sweep, sizes up to its largest; the same row of operations
 * each time.  Says at the end, on standard output, how many there were.  GT_ENO
 * without words when data were wrong.
 *
 * With `going` it goes on with those that are left of the job, says who is gone
 * and when the next operation was right; NULL: the first failure is the end.
 */
int gt_run_soak(const struct gt_run_sweep *sweep, int64_t duration_ns,
		struct gt_run_going *going, struct gt_err *err);

#endif
