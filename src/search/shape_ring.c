#include "search/shape.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/fabric.h"
#include "search/ring_few.h"
#include "search/ring_lp.h"
#include "search/ring_rows.h"
#include "search/ring_search.h"

static uint32_t gt_ring_used(const struct gt_ring_pool *pool,
			     const struct gt_ring_exact *exact)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < pool->nrings; i++)
		count += exact->shares[i].num > 0;
	return count;
}

/*
 * The exact shares of fewer rings.  GT_ENO when there are none that carry as
 * much and the number of channels is not limited either.
 */
static int gt_ring_thin(struct gt_ring_search *s,
			const struct gt_ring_result *full,
			struct gt_ring_pool *few, struct gt_ring_result *thin,
			struct gt_err *err)
{
	struct gt_few_args args = {
		.pricer = s->quick,
		.pool = &s->pool,
		.exact = &full->exact,
		.nused = gt_ring_used(&s->pool, &full->exact),
		.max = s->args->max_channels,
		.watch = s->args->watch,
	};
	struct gt_ring_lp *lp;
	int rc = gt_ring_few(&args, few);

	if (rc)
		return gt_err_nomem(err);
	if (!few->nrings)
		return GT_ENO;
	lp = gt_ring_lp_new(s->rows);
	rc = lp ? gt_ring_result_init(s, few, thin, err) : gt_err_nomem(err);
	if (!rc && gt_ring_lp_solve(lp, few, NULL))
		rc = GT_ENO;
	if (!rc) {
		gt_ring_lp_basis(lp, thin->basis.rings, thin->basis.rows);
		rc = gt_ring_exact_solve(few, &thin->basis, &thin->exact, err);
	}
	gt_ring_lp_free(lp);
	if (!rc && !args.max &&
	    gt_rat_cmp(thin->exact.value, full->exact.value) < 0)
		return GT_ENO;
	return rc;
}

/* Larger first, then by order. */
static int gt_ring_channel_cmp(const void *a, const void *b, void *n)
{
	const struct gt_proposal_channel *x = a, *y = b;
	int cmp = gt_rat_cmp(y->gbs, x->gbs);

	for (uint32_t i = 0; !cmp && i < *(const uint32_t *)n; i++)
		cmp = (x->order[i] > y->order[i]) - (x->order[i] < y->order[i]);
	return cmp;
}

static int gt_ring_channels(struct gt_arena *arena,
			    const struct gt_ring_pool *pool,
			    const struct gt_ring_exact *exact,
			    struct gt_proposal *proposal, struct gt_err *err)
{
	uint32_t n = pool->rows->n, count = 0;
	struct gt_proposal_channel *channels =
		gt_arena_array(arena, pool->nrings, sizeof(*channels));

	for (uint32_t i = 0; channels && i < pool->nrings; i++) {
		if (!exact->shares[i].num)
			continue;
		channels[count].order = gt_arena_array(arena, n, sizeof(n));
		if (!channels[count].order)
			return gt_err_nomem(err);
		memcpy(channels[count].order, gt_ring_pool_order(pool, i),
		       n * sizeof(n));
		channels[count++].gbs = exact->shares[i];
	}
	if (!channels)
		return gt_err_nomem(err);
	qsort_r(channels, count, sizeof(*channels), gt_ring_channel_cmp, &n);
	proposal->channels = channels;
	proposal->nchannels = count;
	proposal->value = exact->value;
	return GT_OK;
}

static int gt_ring_choose(struct gt_ring_search *s,
			  const struct gt_ring_result *full,
			  struct gt_proposal *proposal, struct gt_err *err)
{
	struct gt_arena *arena = s->args->arena;
	struct gt_ring_result thin = {0};
	struct gt_ring_pool few;
	int rc;

	gt_ring_pool_init(&few, s->rows);
	rc = gt_ring_thin(s, full, &few, &thin, err);
	if (!rc)
		rc = gt_ring_channels(arena, &few, &thin.exact, proposal, err);
	else if (rc == GT_ENO)
		rc = gt_ring_channels(arena, &s->pool, &full->exact, proposal,
				      err);
	gt_ring_pool_release(&few);
	return rc;
}

static int gt_ring_run(struct gt_ring_search *s, struct gt_proposal *proposal,
		       struct gt_err *err)
{
	struct gt_ring_result result = {0};
	int rc = gt_ring_solve(s, &result, err);

	if (!rc)
		rc = gt_ring_prove(s, &result, proposal, err);
	if (!rc)
		rc = gt_ring_choose(s, &result, proposal, err);
	proposal->nrows = s->rows->nrows;
	proposal->ncolumns = s->pool.nrings;
	proposal->nrounds = s->nrounds;
	return rc;
}

/* One rank: nothing to move, nothing to prove. */
static int gt_ring_alone(const struct gt_shape_args *args,
			 struct gt_proposal *proposal, struct gt_err *err)
{
	struct gt_proposal_channel *channel =
		gt_arena_alloc(args->arena, sizeof(*channel));
	uint32_t *order = gt_arena_alloc(args->arena, sizeof(*order));

	if (!channel || !order)
		return gt_err_nomem(err);
	channel->order = order;
	channel->gbs = GT_RAT(0, 1);
	proposal->channels = channel;
	proposal->nchannels = 1;
	proposal->value = proposal->bound = GT_RAT(0, 1);
	proposal->has_bound = 1;
	return GT_OK;
}

static int gt_ring_propose(const struct gt_shape_args *args,
			   struct gt_proposal *proposal, struct gt_err *err)
{
	struct gt_ring_search s = {0};
	int rc;

	memset(proposal, 0, sizeof(*proposal));
	proposal->shape = GT_SHAPE_RING;
	proposal->class_ = GT_PROOF_RING;
	if (args->fabric->nranks == 1)
		return gt_ring_alone(args, proposal, err);
	rc = gt_ring_search_init(&s, args, err);
	if (!rc)
		rc = gt_ring_run(&s, proposal, err);
	gt_ring_search_release(&s);
	return rc;
}

const struct gt_shape_entry gt_shape_ring = {
	.name = "ring",
	.shape = GT_SHAPE_RING,
	.propose = gt_ring_propose,
};
