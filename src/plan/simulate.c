#include "plan/simulate.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/lower.h"
#include "plan/plan.h"
#include "plan/sim.h"

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

static int gt_simulate_channel(const struct gt_plan *plan, enum gt_coll coll,
			       uint32_t channel, struct gt_arena *arena,
			       struct gt_err *err)
{
	struct gt_program *programs =
		gt_arena_array(arena, plan->nranks, sizeof(*programs));
	struct gt_sim_args args = {.coll = coll,
				   .nranks = plan->nranks,
				   .slots = plan->fifo_slots,
				   .channel = plan->channels[channel].id,
				   .file = plan->file,
				   .programs = programs};
	int rc = GT_OK;

	args.rooted =
		gt_layout_root(&plan->channels[channel], coll, &args.root);
	if (!programs)
		return gt_err_nomem(err);
	for (uint32_t r = 0; r < plan->nranks && !rc; r++)
		rc = gt_lower(plan, coll, r, channel, arena, &programs[r], err);
	for (int inplace = 0; inplace < 2 && !rc; inplace++) {
		args.inplace = inplace;
		rc = gt_simulate_programs(&args, err);
	}
	return rc;
}

static int gt_simulate_row(const struct gt_plan *plan, enum gt_coll coll,
			   const struct gt_plan_select *row, struct gt_err *err)
{
	struct gt_arena *arena;
	int rc = GT_OK;

	for (uint32_t i = 0; i < row->nchannels && !rc; i++) {
		arena = gt_arena_new();
		if (!arena)
			return gt_err_nomem(err);
		rc = gt_simulate_channel(plan, coll, row->channels[i], arena,
					 err);
		gt_arena_free(arena);
	}
	return rc;
}

int gt_simulate(const struct gt_plan *plan, enum gt_coll coll,
		struct gt_err *err)
{
	int rc, served = 0;

	if (plan->nranks > GT_SIM_MAX_RANKS)
		return gt_err_set(err, GT_EINPUT, plan->file,
				  "%u ranks are more than the %d that can be "
				  "simulated",
				  plan->nranks, GT_SIM_MAX_RANKS);
	rc = gt_simulate_layouts(plan, coll, err);
	for (uint32_t i = 0; i < plan->nselect && !rc; i++) {
		if (!gt_plan_serves(plan, &plan->select[i], coll))
			continue;
		served = 1;
		rc = gt_simulate_row(plan, coll, &plan->select[i], err);
	}
	if (!rc && !served)
		rc = gt_err_set(err, GT_EINPUT, plan->file,
				"the plan has nothing for '%s'",
				gt_coll_name(coll));
	return rc;
}
