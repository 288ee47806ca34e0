/* Which rows of a plan may have a detour. */
#include "plan/ir/detour.h"

#include <string.h>

int gt_detour_is_possible(enum gt_algo algo, enum gt_protocol protocol,
			  enum gt_coll coll)
{
	enum gt_algo mesh =
		coll == GT_COLL_ALLREDUCE ? GT_ALGO_TWO_SHOT : GT_ALGO_ONE_SHOT;

	return algo == mesh &&
	       protocol == (coll == GT_COLL_REDUCE ? GT_PROTOCOL_DIRECT
						   : GT_PROTOCOL_CE);
}

static const char *gt_rank_node(const struct gt_plan *plan, uint32_t rank)
{
	return plan->ranks[rank].node ? plan->ranks[rank].node : "";
}

uint32_t gt_detour_outsider(const struct gt_plan *plan)
{
	uint32_t r = 1;

	while (r < plan->nranks &&
	       !strcmp(gt_rank_node(plan, r), gt_rank_node(plan, 0)))
		r++;
	return r;
}
