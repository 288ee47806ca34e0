/*
 * Loads on links: each row of select is summed up by itself, since rows are
 * alternatives, and no link may carry more than its capacity.
 */
#include "plan/check/stages.h"

#include <stdlib.h>

#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/hop_costs.h"
#include "plan/check/switch_tree.h"
#include "plan/ir/hop_uses.h"
#include "plan/ir/plan.h"
#include "plan/lower/step.h"

static int gt_check_hop(const struct gt_plan *plan,
			const struct gt_plan_hop *hop, struct gt_plan_at at,
			struct gt_err *err)
{
	if (!hop->nroute)
		return gt_plan_wrong(plan, at, err, "the route has no links");
	if (gt_rat_cmp(hop->charge, GT_RAT(1, 1)) < 0)
		return gt_plan_wrong(plan, at, err,
				     "the charge is less than 1");
	for (uint32_t i = 0; i < hop->nroute; i++)
		if (hop->route[i] >= plan->nlinks)
			return gt_plan_wrong(plan, at, err,
					     "there is no link number '%u'",
					     hop->route[i]);
	return GT_OK;
}

static int gt_load_hop(const struct gt_plan *plan,
		       const struct gt_plan_hop *hop, struct gt_rat gbs,
		       struct gt_rat *loads)
{
	struct gt_rat load;

	for (uint32_t i = 0; i < hop->nroute; i++) {
		uint32_t link = hop->route[i];

		if (!gt_rat_mul(gbs,
				gt_plan_link_charge(plan, link, hop->charge),
				&load) ||
		    !gt_rat_add(loads[link], load, &loads[link]))
			return 0;
	}
	return 1;
}

/* Add the load of what a step sends to other ranks, or fetches from them. */
static int gt_load_step(const struct gt_plan *plan,
			const struct gt_program *program,
			const struct gt_step *step, struct gt_rat rate,
			struct gt_rat *loads)
{
	const struct gt_plan_channel *channel =
		&plan->channels[program->channel];

	for (uint32_t k = 0; k < (uint32_t)step->nsrc + step->ndst; k++) {
		const struct gt_operand *operand = gt_step_operand(step, k);
		uint32_t from = program->rank, to;
		int64_t hop;

		if (!gt_operand_is_remote(operand) ||
		    operand->buf == GT_BUF_NONE ||
		    (k < step->nsrc && operand->buf == GT_BUF_FIFO))
			continue;
		to = program->conns[operand->conn].peer;
		if (k < step->nsrc) {
			from = to;
			to = program->rank;
		}
		hop = gt_check_hop_find(channel, from, to);
		if (hop >= 0 &&
		    !gt_load_hop(plan, &channel->hops[hop], rate, loads))
			return 0;
	}
	return 1;
}

/*
 * Add the load of a channel of explicit steps: every hop counts as often as it
 * is taken in one loop, at the rate of one chunk.
 */
static int gt_load_steps(const struct gt_plan *plan, uint32_t c,
			 struct gt_rat *loads)
{
	const struct gt_plan_channel *channel = &plan->channels[c];
	struct gt_rat rate;

	if (!gt_rat_div(channel->gbs, GT_RAT((int64_t)channel->nchunks, 1),
			&rate))
		return 0;
	for (uint32_t i = 0; i < plan->nprograms; i++) {
		const struct gt_program *program = &plan->programs[i];

		for (uint32_t s = 0;
		     program->channel == c && s < program->nsteps;
		     s += gt_step_nrecords(&program->steps[s]))
			if (!gt_load_step(plan, program, &program->steps[s],
					  rate, loads))
				return 0;
	}
	return 1;
}

/*
 * Add the channel's rate to the links of each hop, as often as the hop is
 * taken.
 */
static int gt_load_hops(const struct gt_plan *plan,
			const struct gt_plan_channel *channel,
			const uint32_t *uses, struct gt_rat *loads)
{
	int64_t most = gt_plan_most_units(plan, plan->coll);
	struct gt_rat gbs;

	for (uint32_t i = 0; i < channel->nhops; i++)
		if (!gt_rat_mul(channel->gbs, GT_RAT(uses[i], most), &gbs) ||
		    !gt_load_hop(plan, &channel->hops[i], gbs, loads))
			return 0;
	return 1;
}

static int gt_load_channel(const struct gt_plan *plan,
			   const struct gt_plan_select *row, uint32_t c,
			   struct gt_rat *loads, struct gt_err *err)
{
	const struct gt_plan_channel *channel = &plan->channels[c];
	uint32_t *uses = calloc((size_t)channel->nhops + 1, sizeof(*uses));
	int fits = 0, rc = uses ? GT_OK : GT_ESYS;

	if (!rc && channel->shape == GT_SHAPE_STEPS)
		fits = gt_load_steps(plan, c, loads);
	else if (!rc && channel->shape == GT_SHAPE_SWITCH)
		fits = gt_check_switch_loads(channel, row->coll, loads);
	else if (!rc)
		rc = gt_plan_hop_uses(plan, row, channel, uses);
	if (!rc && channel->shape != GT_SHAPE_STEPS &&
	    channel->shape != GT_SHAPE_SWITCH)
		fits = gt_load_hops(plan, channel, uses, loads);
	free(uses);
	if (rc)
		return gt_err_nomem(err);
	return fits ? GT_OK
		    : gt_plan_wrong(plan, gt_plan_at("channels[%u]", c), err,
				    "the loads need more than 64 bits");
}

static int gt_check_hops(const struct gt_plan *plan, struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t c = 0; c < plan->nchannels; c++)
		for (uint32_t i = 0; i < plan->channels[c].nhops && !rc; i++)
			rc = gt_check_hop(
				plan, &plan->channels[c].hops[i],
				gt_plan_at("channels[%u].hops[%u]", c, i), err);
	return rc;
}

/* Sum up what the channels of one row load together. */
static int gt_check_row_load(const struct gt_plan *plan, uint32_t row,
			     struct gt_rat *loads, struct gt_err *err)
{
	const struct gt_plan_select *select = &plan->select[row];
	char text[2][GT_RAT_TEXT_MAX];
	int rc = GT_OK;

	for (uint32_t i = 0; i < plan->nlinks; i++)
		loads[i] = GT_RAT(0, 1);
	for (uint32_t i = 0; i < select->nchannels && !rc; i++)
		rc = gt_load_channel(plan, select, select->channels[i], loads,
				     err);
	for (uint32_t i = 0; i < plan->nlinks && !rc; i++)
		if (gt_rat_cmp(loads[i], plan->links[i].gbs) > 0)
			rc = gt_plan_wrong(
				plan, gt_plan_at("links[%u]", i), err,
				"link '%s' would carry '%s' of '%s' GB/s",
				plan->links[i].id,
				gt_rat_print(loads[i], text[0]),
				gt_rat_print(plan->links[i].gbs, text[1]));
	return rc;
}

int gt_check_loads(const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_rat *loads = calloc((size_t)plan->nlinks + 1, sizeof(*loads));
	int rc;

	if (!loads)
		return gt_err_nomem(err);
	rc = gt_check_hops(plan, err);
	for (uint32_t row = 0; row < plan->nselect && !rc; row++)
		rc = gt_check_row_load(plan, row, loads, err);
	free(loads);
	return rc;
}
