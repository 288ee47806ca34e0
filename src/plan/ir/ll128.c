/*
 * Whether every link of a plan is one over which packets of 128 bytes arrive
 * whole.
 */
#include "plan/ir/ll128.h"

#include <string.h>

#include "plan/ir/plan.h"

static int gt_links_are_nvlink(const struct gt_plan *plan, uint32_t n,
			       const uint32_t *links)
{
	for (uint32_t i = 0; i < n; i++) {
		const char *kind = plan->links[links[i]].kind;

		if (kind && strcmp(kind, "NVL"))
			return 0;
	}
	return 1;
}

int gt_plan_allows_ll128(const struct gt_plan *plan)
{
	for (uint32_t c = 0; c < plan->nchannels; c++) {
		const struct gt_plan_channel *channel = &plan->channels[c];

		for (uint32_t i = 0; i < channel->nhops; i++)
			if (!gt_links_are_nvlink(plan, channel->hops[i].nroute,
						 channel->hops[i].route))
				return 0;
	}
	for (uint32_t i = 0; i < plan->proof.nroutes; i++)
		if (!gt_links_are_nvlink(plan, plan->proof.routes[i].nlinks,
					 plan->proof.routes[i].links))
			return 0;
	return 1;
}
