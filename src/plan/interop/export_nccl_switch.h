/* Graphs for NCCL of plans whose switches multicast and add up. */
#ifndef GT_PLAN_INTEROP_EXPORT_NCCL_SWITCH_H
#define GT_PLAN_INTEROP_EXPORT_NCCL_SWITCH_H

#include <stdint.h>

struct gt_buf;
struct gt_err;
struct gt_plan;

/*
 * Append the graphs of the plan's main row, with channels of `speed` GB/s:
 * NCCL's NVLS (id 3, pattern 5), whose channels name the GPU that drives; of a
 * plan across nodes with its port before and behind, and CollNet direct (id 4,
 * pattern 6), as the first node has them.  GT_EINPUT where a way into the
 * network has no port with a number.
 */
int gt_nccl_switch_graphs(const struct gt_plan *plan, double speed,
			  struct gt_buf *out, struct gt_err *err);

#endif
