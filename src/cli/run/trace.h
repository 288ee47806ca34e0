/* `gtopo run --trace`: a recorded run as a file for trace viewers. */
#ifndef GT_CLI_RUN_TRACE_H
#define GT_CLI_RUN_TRACE_H

struct gt_cmd_args;
struct gt_err;
struct gt_plan;
struct gt_exec_request;
struct gt_trace;

/*
 * Write Chrome's trace event format: a process a rank, a thread a lane and
 * worker, a slice for each wait and each move.  The slowest link stands in it
 * and is told.
 */
int gt_run_trace_write(const struct gt_cmd_args *args, const char *path,
		       const struct gt_plan *plan,
		       const struct gt_exec_request *req,
		       const struct gt_trace *trace, struct gt_err *err);

#endif
