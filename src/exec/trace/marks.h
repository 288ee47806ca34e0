/*
 * The times that a GPU's interpreter noted of one launch become steps of a
 * trace.
 *
 * A block is a worker; its slices follow each other as in
 * kernels/interp/schedule.cuh.  It waits for the next slice while it moves this
 * one, so a step of the trace begins when its slice was ready and the one
 * before was moved: what it waited is what the block stood still.
 */
#ifndef GT_EXEC_TRACE_MARKS_H
#define GT_EXEC_TRACE_MARKS_H

#include <stdint.h>

#include "kernels/kernels.h"

struct gt_err;
struct gt_trace;

struct gt_trace_launch {
	const struct gt_program *programs;
	const struct gt_layout *layouts; /* of nlanes programs each; loops 0:
					       not used */
	/* [channel][from][to], where blocks differ; NULL: all are alike */
	const struct gt_layout_span *spans;
	const struct gt_kernel_mark *marks; /* [program][nworkers][nmarks] */
	uint32_t nprograms;
	uint32_t nlanes;
	uint32_t nworkers;
	uint32_t nmarks; /* more slices than these are dropped */
	uint32_t rank;
	uint32_t turn;
	uint32_t elem_bytes;
	int64_t ahead_ns; /* of the GPU's clock against base/clock.h */
};

/*
 * Add all steps to the rank's part of the trace; links and waits are summed up
 * over workers.
 */
int gt_trace_add_launch(const struct gt_trace_launch *launch,
			struct gt_trace *trace, struct gt_err *err);

#endif
