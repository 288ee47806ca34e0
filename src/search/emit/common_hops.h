/*
 * Of a plan of many ranks the hops are listed once, and channels name them by
 * number: trees from a thousand ranks have a million hops, a few thousand of
 * which differ.
 */
#ifndef GT_SEARCH_EMIT_COMMON_HOPS_H
#define GT_SEARCH_EMIT_COMMON_HOPS_H

struct gt_plan_builder;

/* Fill in plan->common from the channels' hops, which then name theirs. */
void gt_common_hops(struct gt_plan_builder *builder);

#endif
