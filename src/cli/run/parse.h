/* What the words of `gtopo run`'s options mean; GT_EINPUT names the option. */
#ifndef GT_CLI_RUN_PARSE_H
#define GT_CLI_RUN_PARSE_H

#include <stdint.h>

struct gt_engine_config;
struct gt_engine_ops;
struct gt_err;
struct gt_run_sweep;

#define GT_RUN_SIZE_UNSET UINT64_MAX /* a size that was not given */

int gt_run_parse_sizes(struct gt_run_sweep *sweep, uint64_t begin, uint64_t end,
		       int64_t factor, struct gt_err *err);

/* A collective's number, or -1 for "all". */
int gt_run_parse_coll(const char *name, int *coll, struct gt_err *err);

/* One name each, or "all". */
int gt_run_parse_types(struct gt_run_sweep *sweep, const char *dtype_name,
		       const char *op_name, struct gt_err *err);

/*
 * "stall:3:100": rank 3 of config->plan stalls after 100 slices of a run.
 * NULL: no fault.
 */
int gt_run_parse_fault(const char *text, struct gt_engine_config *config,
		       struct gt_err *err);

/* "host" or "cuda" for the option's value; NULL where it was not given. */
const char *gt_run_parse_device(int device);

/* A plan must be named, and the engine be there. */
int gt_run_parse_engine(const char *plan, const char *device,
			const struct gt_engine_ops *ops, struct gt_err *err);

#endif
