/*
 * The way in: each row of select that serves the collective is lowered for all
 * ranks and executed, out of place and, unless the plan rules that out, in
 * place.
 */
#include "plan/simulate/simulate.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/demand.h"
#include "plan/ir/cluster_shrink.h"
#include "plan/lower/lower.h"
#include "plan/ir/plan.h"
#include "plan/simulate/state.h"

int gt_simulate_programs(const struct gt_sim_args *args, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_sim sim;
	int rc;

	if (!arena)
		return gt_err_nomem(err);
	rc = gt_sim_check_steps(args, err);
	if (!rc)
		rc = gt_sim_init(&sim, args, arena, err);
	if (!rc)
		rc = gt_sim_run(&sim, err);
	if (!rc)
		rc = gt_sim_check_result(&sim, err);
	gt_arena_free(arena);
	return rc;
}

static int gt_simulate_channel(const struct gt_plan *plan,
			       const struct gt_channel_use *use,
			       uint32_t channel, struct gt_sim_args *args,
			       struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_program *programs;
	struct gt_lower_query want = {.use = *use, .channel = channel};
	int rc = GT_OK;

	if (!arena)
		return gt_err_nomem(err);
	args->nlanes = gt_lower_lanes(plan, use);
	args->channel = plan->channels[channel].id;
	args->one_block = gt_layout_only_block(&plan->channels[channel],
					       use->coll, &args->block);
	programs =
		gt_arena_array(arena, gt_sim_nprocs(args), sizeof(*programs));
	args->programs = programs;
	if (!programs)
		rc = gt_err_nomem(err);
	for (uint32_t p = 0; p < gt_sim_nprocs(args) && !rc; p++) {
		want.rank = p / args->nlanes;
		want.lane = p % args->nlanes;
		rc = gt_lower(plan, &want, arena, &programs[p], err);
	}
	for (args->inplace = 0; args->inplace <= !plan->out_of_place && !rc;
	     args->inplace++)
		rc = gt_simulate_programs(args, err);
	gt_arena_free(arena);
	return rc;
}

static int gt_simulate_row(const struct gt_plan *plan, enum gt_coll coll,
			   const struct gt_plan_select *row, struct gt_err *err)
{
	struct gt_channel_use use = {coll, row->algo, plan->root};
	struct gt_sim_args args = {
		.coll = coll,
		.root = plan->root,
		.nranks = plan->nranks,
		.units = gt_plan_blocks_differ(plan, coll) ? plan->demand->units
							   : NULL,
		.in_order = plan->invariant && gt_coll_reduces(coll),
		.slots = row->slots ? row->slots : plan->fifo_slots,
		.file = plan->file};
	int rc = GT_OK;

	for (uint32_t i = 0; i < row->nchannels && !rc; i++)
		rc = gt_simulate_channel(plan, &use, row->channels[i], &args,
					 err);
	return rc;
}

/*
 * Do two rows run the same programs?  They do when they differ in protocol or
 * limits alone.
 */
static int gt_simulate_same(const struct gt_plan_select *a,
			    const struct gt_plan_select *b)
{
	return a->algo == b->algo && a->slots == b->slots &&
	       a->coll == b->coll && a->nchannels == b->nchannels &&
	       !memcmp(a->channels, b->channels,
		       a->nchannels * sizeof(*a->channels));
}

static int gt_simulate_rows(const struct gt_plan *plan, enum gt_coll coll,
			    uint32_t *served, struct gt_err *err)
{
	int rc = GT_OK;

	*served = 0;
	for (uint32_t i = 0; i < plan->nselect && !rc; i++) {
		const struct gt_plan_select *row = &plan->select[i];
		uint32_t before = 0;

		if (!gt_plan_row_serves(plan, row, coll))
			continue;
		(*served)++;
		/* Switches have no programs; gt_plan_check() follows bytes. */
		if (row->algo == GT_ALGO_NVLS || row->algo == GT_ALGO_COLLNET)
			continue;
		while (before < i &&
		       !gt_simulate_same(row, &plan->select[before]))
			before++;
		if (before == i)
			rc = gt_simulate_row(plan, coll, row, err);
	}
	return rc;
}

/*
 * A large cluster's programs are those of a small one with more places, so the
 * same templates, rings and flows are tried on fewer nodes.
 */
static int gt_simulate_shrunk(const struct gt_plan *plan, enum gt_coll coll,
			      struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_plan_shrunk shrunk;
	uint32_t nodes = GT_SIM_CLUSTER_RANKS / plan->cluster->nlocal;
	int rc;

	if (!arena || gt_plan_shrink(&shrunk, plan, nodes, arena))
		rc = gt_err_nomem(err);
	else
		rc = gt_simulate(&shrunk.plan, coll, err);
	gt_arena_free(arena);
	return rc;
}

int gt_simulate(const struct gt_plan *plan, enum gt_coll coll,
		struct gt_err *err)
{
	uint32_t served;
	int rc;

	if (plan->cluster && plan->cluster->nnodes > 2 &&
	    plan->nranks > GT_SIM_CLUSTER_RANKS)
		return gt_simulate_shrunk(plan, coll, err);

	if (plan->nranks > GT_SIM_MAX_RANKS)
		return gt_err_set(err, GT_EINPUT, plan->file,
				  "%u ranks are more than the %d that can be "
				  "simulated",
				  plan->nranks, GT_SIM_MAX_RANKS);
	rc = gt_simulate_layouts(plan, coll, err);
	if (!rc)
		rc = gt_simulate_rows(plan, coll, &served, err);
	if (!rc && !served)
		rc = gt_err_set(err, GT_EINPUT, plan->file,
				"the plan has nothing for '%s'",
				gt_coll_name(coll));
	return rc;
}
