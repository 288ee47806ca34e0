/*
 * The ledger: each process writes down what it puts on its streams, in memory
 * that all of a host share, and somebody compares now and then.  Nobody waits
 * for it; ranks that call different things mostly wait for each other on their
 * GPUs, until it is found here.
 *
 * One thread at a time writes, any compare.
 */
#ifndef GT_EXEC_CUDA_LEDGER_H
#define GT_EXEC_CUDA_LEDGER_H

#include "exec/cuda/registration.h"

enum {
	GT_LEDGER_LINES = 512, /* the last ones that a process has written */
	GT_LEDGER_LATE_S = 30, /* that a process is behind before it is named */
};

struct gt_ledger_line {
	uint64_t coll, count, dtype, op, root;
	uint64_t group; /* requests that begin together */
	struct gt_registered_offset input, output; /* as they are reached */
	uint64_t ngrown; /* the engine's: one memory for all */
};

/* A process's; zeros first. */
struct gt_ledger {
	uint64_t n; /* lines so far */
	struct gt_ledger_line lines[GT_LEDGER_LINES];
};

/* Write a line: what the request is, and where its buffers are reached. */
void gt_ledger_add(struct gt_engine *engine, const struct gt_exec_request *req,
		   uint64_t group, const struct gt_registered_place *place);

/* GT_EINPUT, naming both, if another process has called something else. */
int gt_ledger_compare(struct gt_engine *engine, struct gt_err *err);

/*
 * Process 0 tells once (engine_config.notice) who has not called what others
 * have, and has called nothing for so long.  That is no failure: programs may
 * leave ranks idle.
 */
void gt_ledger_warn(struct gt_engine *engine, int64_t now_ns);

#endif
