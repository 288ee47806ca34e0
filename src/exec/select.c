#include "exec/select.h"

#include "plan/plan.h"

static const struct gt_plan_select *gt_select_row(const struct gt_plan *plan,
						  uint64_t bytes)
{
	for (uint32_t i = 0; i < plan->nselect; i++)
		if (bytes <= plan->select[i].max_bytes)
			return &plan->select[i];
	return NULL;
}

static int gt_select_has(const struct gt_plan_select *row, uint32_t c)
{
	for (uint32_t i = 0; row && i < row->nchannels; i++)
		if (row->channels[i] == c)
			return 1;
	return !row;
}

uint32_t gt_select_channels(const struct gt_plan *plan, uint64_t bytes,
			    uint32_t *sel)
{
	const struct gt_plan_select *row = gt_select_row(plan, bytes);
	uint32_t n = 0;

	for (uint32_t c = 0; c < plan->nchannels; c++)
		if (gt_select_has(row, c))
			sel[n++] = c;
	return n;
}
