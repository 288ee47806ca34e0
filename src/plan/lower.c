#include "plan/lower.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/lower_shape.h"
#include "plan/plan.h"

uint32_t gt_lower_lanes(const struct gt_plan *plan, const struct gt_use *use)
{
	(void)plan;
	return use->algo == GT_ALGO_TREE && use->coll == GT_COLL_ALLREDUCE ? 2
									   : 1;
}

int gt_lower_room(const struct gt_lowering *l, size_t nsteps, size_t nconns,
		  struct gt_err *err)
{
	struct gt_program *program = l->program;

	program->steps =
		gt_arena_array(l->arena, nsteps, sizeof(*program->steps));
	program->conns =
		gt_arena_array(l->arena, nconns, sizeof(*program->conns));
	return program->steps && program->conns ? GT_OK : gt_err_nomem(err);
}

static int gt_lower_refuse(const struct gt_lowering *l, struct gt_err *err)
{
	const struct gt_use *use = &l->want->use;

	if (gt_coll_is_rooted(use->coll) && use->root >= l->plan->nranks)
		return gt_err_set(err, GT_EINPUT, NULL, "there is no rank '%u'",
				  use->root);
	if (gt_algo_takes(use->algo, l->channel->shape) &&
	    gt_algo_can(use->algo, use->coll))
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "channel %u: a %s cannot do '%s' by '%s'",
			  l->channel->id, gt_shape_name(l->channel->shape),
			  gt_coll_name(use->coll), gt_algo_name(use->algo));
}

int gt_lower(const struct gt_plan *plan, const struct gt_lower_want *want,
	     struct gt_arena *arena, struct gt_program *program,
	     struct gt_err *err)
{
	struct gt_program made = {
		.rank = want->rank,
		.channel = want->channel,
		.lane = want->lane,
		.nchunks = gt_layout_nchunks(plan, &want->use),
	};
	struct gt_lowering l = {.plan = plan,
				.channel = &plan->channels[want->channel],
				.want = want,
				.arena = arena,
				.program = &made};
	int rc = gt_lower_refuse(&l, err);

	if (rc)
		return rc;
	if (want->use.algo == GT_ALGO_RING)
		rc = gt_lower_ring(&l, err);
	else if (want->use.algo == GT_ALGO_TREE)
		rc = gt_lower_tree(&l, err);
	else
		rc = gt_lower_mesh(&l, err);
	if (!rc)
		*program = made;
	return rc;
}
