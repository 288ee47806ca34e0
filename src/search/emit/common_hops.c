/* Hops are sorted, so that those that are the same stand side by side. */
#include "search/emit/common_hops.h"

#include <stdlib.h>
#include <string.h>

#include "plan/ir/plan.h"
#include "search/emit/plan_builder.h"

static int hop_cmp(const void *a, const void *b)
{
	const struct gt_plan_hop *x = *(struct gt_plan_hop *const *)a;
	const struct gt_plan_hop *y = *(struct gt_plan_hop *const *)b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->nroute != y->nroute)
		return x->nroute < y->nroute ? -1 : 1;
	return memcmp(x->route, y->route, x->nroute * sizeof(*x->route));
}

void gt_common_hops(struct gt_plan_builder *b)
{
	struct gt_plan *plan = b->plan;
	struct gt_plan_hop **all;
	size_t n = 0;

	for (uint32_t c = 0; c < plan->nchannels; c++)
		n += plan->channels[c].nhops;
	all = calloc(n + 1, sizeof(*all));
	b->failed |= !all;
	n = 0;
	for (uint32_t c = 0; all && c < plan->nchannels; c++)
		for (uint32_t i = 0; i < plan->channels[c].nhops; i++)
			all[n++] = &plan->channels[c].hops[i];
	if (all)
		qsort(all, n, sizeof(*all), hop_cmp);
	plan->common = gt_plan_builder_array(b, n, sizeof(*plan->common));
	for (size_t i = 0; !b->failed && i < n; i++) {
		if (!i || hop_cmp(&all[i - 1], &all[i]))
			plan->common[plan->ncommon++] = *all[i];
		all[i]->common = plan->ncommon;
	}
	free(all);
}
