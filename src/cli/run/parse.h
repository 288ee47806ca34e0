/* The words of `gtopo run`'s options, parsed; GT_EINPUT names the option. */
#ifndef GT_CLI_RUN_PARSE_H
#define GT_CLI_RUN_PARSE_H

#include <stdint.h>

struct gt_cmd_args;
struct gt_engine_config;
struct gt_engine_ops;
struct gt_err;
struct gt_run_sweep;

#define GT_RUN_SIZE_UNSET UINT64_MAX /* a size that was not given */

int gt_run_parse_sizes(struct gt_run_sweep *sweep, uint64_t begin, uint64_t end,
		       int64_t factor, struct gt_err *err);

/* Parse a collective's name to its number, or "all" to -1. */
int gt_run_parse_coll(const char *name, int *coll, struct gt_err *err);

/* Parse one name of a type and one of an operator, or "all" of them. */
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

/* The plan's file, which --plan names, or the operand. */
int gt_run_parse_plan(const struct gt_cmd_args *args, const char *option,
		      const char **plan, struct gt_err *err);

/*
 * Check the words of --p2p, which should not first need GPUs; NULL is fine.
 */
int gt_run_parse_p2p(const char *words, uint32_t nranks, struct gt_err *err);

/* Check that the engine is there. */
int gt_run_parse_engine(const char *device, const struct gt_engine_ops *ops,
			struct gt_err *err);

#endif
