/* Whether engines may use protocol ll128 for a plan. */
#ifndef GT_PLAN_IR_LL128_H
#define GT_PLAN_IR_LL128_H

struct gt_plan;

/*
 * Do all hops of the plan's channels, and all routes of its proof if it has
 * some, cross NVLink alone?  Over NVLink a warp's store of 128 bytes is known
 * to arrive whole, which packets of protocol ll128 rely on; over PCIe it may
 * not.
 */
int gt_plan_allows_ll128(const struct gt_plan *plan);

#endif
