/*
 * The way in: one rank's program on one lane of a channel, by the file of the
 * channel's shape.
 */
#include "plan/lower/lower.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/lower/shape.h"
#include "plan/ir/plan.h"

uint32_t gt_lower_lanes(const struct gt_plan *plan,
			const struct gt_channel_use *use)
{
	uint32_t nlanes = 1;

	for (uint32_t i = 0; use->algo == GT_ALGO_STEPS && i < plan->nprograms;
	     i++)
		if (plan->programs[i].lane >= nlanes)
			nlanes = plan->programs[i].lane + 1;
	for (uint32_t i = 0;
	     use->algo == GT_ALGO_RING && !plan->cluster && i < plan->nchannels;
	     i++)
		if (plan->channels[i].shape == GT_SHAPE_RING &&
		    gt_lower_ring_lanes(&plan->channels[i]) > nlanes)
			nlanes = gt_lower_ring_lanes(&plan->channels[i]);
	if (use->algo == GT_ALGO_STEPS || use->algo == GT_ALGO_RING)
		return nlanes;
	return use->algo == GT_ALGO_TREE && use->coll == GT_COLL_ALLREDUCE ? 2
									   : 1;
}

/*
 * A channel of explicit steps has its programs in the plan; a rank without one
 * on this lane does nothing.
 */
static void gt_lower_steps(const struct gt_lowering *l)
{
	const struct gt_lower_query *want = l->want;
	const struct gt_program *program =
		gt_plan_program(l->plan, want->channel, want->rank, want->lane);

	if (program)
		*l->program = *program;
	l->program->nchunks = l->channel->nchunks;
	l->program->nscratch = l->channel->nscratch;
}

static int gt_lower_refuse(const struct gt_lowering *l, struct gt_err *err)
{
	const struct gt_channel_use *use = &l->want->use;

	if (gt_coll_is_rooted(use->coll) && use->root >= l->plan->nranks)
		return gt_err_set(err, GT_EINPUT, NULL, "there is no rank '%u'",
				  use->root);
	if (l->channel->shape == GT_SHAPE_SWITCH)
		return gt_plan_need_forwarding(l->plan, "a rank's program",
					       err);
	if (gt_algo_fits_shape(use->algo, l->channel->shape) &&
	    gt_algo_supports(use->algo, use->coll))
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "channel %u: a %s cannot do '%s' by '%s'",
			  l->channel->id, gt_shape_name(l->channel->shape),
			  gt_coll_name(use->coll), gt_algo_name(use->algo));
}

int gt_lower(const struct gt_plan *plan, const struct gt_lower_query *want,
	     struct gt_arena *arena, struct gt_program *program,
	     struct gt_err *err)
{
	struct gt_program made = {
		.rank = want->rank,
		.channel = want->channel,
		.lane = want->lane,
		.nchunks = gt_layout_nchunks(plan, want->channel, &want->use),
	};
	struct gt_lowering l = {.plan = plan,
				.channel = &plan->channels[want->channel],
				.want = want,
				.arena = arena,
				.program = &made};
	int rc = gt_lower_refuse(&l, err);

	if (rc)
		return rc;
	if (want->use.algo == GT_ALGO_STEPS)
		gt_lower_steps(&l);
	else if (want->use.algo == GT_ALGO_RING)
		rc = gt_lower_ring(&l, err);
	else if (want->use.algo == GT_ALGO_TREE)
		rc = gt_lower_tree(&l, err);
	else if (want->use.algo == GT_ALGO_FLOW && plan->cluster)
		rc = gt_lower_cluster_flow(&l, err);
	else if (want->use.algo == GT_ALGO_FLOW)
		rc = gt_lower_flow(&l, err);
	else if (want->use.algo == GT_ALGO_HIER)
		rc = gt_lower_template(&l, err);
	else
		rc = gt_lower_mesh(&l, err);
	if (!rc)
		*program = made;
	return rc;
}
