/*
 * The time of a row whose switches multicast and add up, in closed form: no
 * program says what they do.
 */
#ifndef GT_PLAN_COST_SWITCH_H
#define GT_PLAN_COST_SWITCH_H

#include <stdint.h>

struct gt_cost;
struct gt_cost_params;
struct gt_err;
struct gt_plan;

/*
 * The part of its bound that NCCL's NVLS was seen to reach where each GPU's
 * NVLinks carry so much.
 */
double gt_cost_nvls_rate(double gpu_gbs);

/*
 * Price a message by row `row` of the plan: what its busiest link takes at the
 * rate that such links were seen to reach, and latencies.  `params` are those
 * of hops that are no NVLinks.
 */
int gt_cost_switch(const struct gt_plan *plan, uint32_t row, uint64_t bytes,
		   const struct gt_cost_params *params, struct gt_cost *cost,
		   struct gt_err *err);

#endif
