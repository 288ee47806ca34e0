/* Over what a plan's bytes go, as far as engines need to know. */
#ifndef GT_PLAN_IR_LL128_H
#define GT_PLAN_IR_LL128_H

struct gt_plan;

/*
 * Do all hops of channels and all routes of the proof that the plan has cross
 * NVLink alone?  There a warp's store of 128 bytes is known to arrive whole,
 * which packets of protocol ll128 rely on; over PCIe it may not.
 */
int gt_plan_allows_ll128(const struct gt_plan *plan);

#endif
