#include "search/tree/master.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/lp/diving.h"
#include "search/lp/lp.h"
#include "search/problem/shape.h"

/* Rounds of pricing between two steps. */
enum { GT_INTEGRAL_ROUNDS = 100 };

static int gt_forest_integral_solve(void *arg, struct gt_err *err)
{
	return gt_forest_reach(arg, GT_INTEGRAL_ROUNDS, err);
}

/* Some roots may have more than they need. */
static int gt_forest_integral_channels(struct gt_forest *f,
				       const struct gt_diving *dive,
				       uint32_t count,
				       struct gt_proposal *proposal,
				       struct gt_err *err)
{
	struct gt_arena *arena = f->args->arena;
	size_t all = (size_t)count * f->nroots;
	uint32_t *have = gt_arena_array(arena, f->nroots, sizeof(*have));
	struct gt_proposal_channel one = {0};

	proposal->channels =
		gt_arena_array(arena, all, sizeof(*proposal->channels));
	if (!proposal->channels || !have)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < f->trees.ntrees; i++) {
		int64_t left = gt_diving_count(dive, i + 1);
		uint32_t root = gt_forest_root(f, i);

		if (left && gt_forest_channel(f, i, &one))
			return gt_err_nomem(err);
		one.gbs = GT_RAT(1, 1);
		for (; left > 0 && have[root] < count; left--, have[root]++)
			proposal->channels[proposal->nchannels++] = one;
	}
	return proposal->nchannels == all ? GT_OK : GT_ENO;
}

int gt_forest_integral(const struct gt_shape_args *args, uint32_t count,
		       int *none, struct gt_proposal *proposal,
		       struct gt_err *err)
{
	struct gt_forest f = {0};
	struct gt_diving dive = {NULL, 1, gt_forest_integral_solve, &f};
	int rc = gt_forest_init(&f, args, err);

	*none = 0;
	if (!rc)
		rc = gt_forest_seed(&f, err);
	if (!rc) {
		dive.lp = f.lp;
		f.target = GT_RAT((int64_t)count * f.nroots, 1);
		gt_lp_set_bounds(f.lp, 0, 0, count);
		rc = gt_diving(&dive, err);
	}
	if (!rc)
		rc = gt_forest_integral_channels(&f, &dive, count, proposal,
						 err);
	gt_forest_release(&f);
	return rc;
}
