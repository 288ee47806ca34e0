/*
 * A plan in the words of others: files that their programs read.  Each function
 * appends the whole file to `out`; GT_EINPUT tells what of the plan that format
 * cannot say.  The plan must have passed gt_plan_check().
 */
#ifndef GT_PLAN_INTEROP_EXPORT_H
#define GT_PLAN_INTEROP_EXPORT_H

#include <stdint.h>

struct gt_buf;
struct gt_err;
struct gt_plan;

/*
 * A graph file for NCCL_GRAPH_FILE (version 1), of a plan of rings or chains
 * within one node.  NCCL's channels all have one speed, so that each of the
 * plan's becomes as many as its bandwidth holds.
 */
int gt_export_nccl(const struct gt_plan *plan, struct gt_buf *out,
		   struct gt_err *err);

/*
 * What of a plan's bandwidth does not fit into the channels of its graph file.
 */
struct gt_export_nccl_loss {
	double part; /* 0: all fits */
	uint32_t nchannels;
	double channel_gbs;
};

/* The plan is one that gt_export_nccl() writes. */
void gt_export_nccl_loss(const struct gt_plan *plan,
			 struct gt_export_nccl_loss *loss);

/*
 * An algorithm for MSCCL: thread blocks and steps as
 * plan/interop/export_msccl.h makes them.  Shares become whole numbers of
 * chunks; where that takes more than 64, they are rounded.
 */
int gt_export_msccl(const struct gt_plan *plan, struct gt_buf *out,
		    struct gt_err *err);

/*
 * An execution plan for MSCCL++, in its JSON of version 0.9, out of place: a
 * thread block for each program, messages put into the receiver's scratch.
 */
int gt_export_mscclpp(const struct gt_plan *plan, struct gt_buf *out,
		      struct gt_err *err);

/*
 * A picture for Graphviz: ranks and, in a colour for each channel, who sends to
 * whom.
 */
int gt_export_dot(const struct gt_plan *plan, struct gt_buf *out,
		  struct gt_err *err);

#endif
