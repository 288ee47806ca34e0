/*
 * Rings as a shape: the packing is solved and proved, then its channels are
 * made few, or as good as a limited number can be.
 */
#include "search/problem/shape.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/lp/lp.h"
#include "search/problem/fabric.h"
#include "search/problem/link_rows.h"
#include "search/ring/equal_shares.h"
#include "search/ring/channels.h"
#include "search/ring/master.h"
#include "search/ring/program.h"

static uint32_t gt_ring_used(const struct gt_ring_pool *pool,
			     const struct gt_ring_exact *exact)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < pool->nrings; i++)
		count += exact->shares[i].num > 0;
	return count;
}

/* The exact shares of a few rings.  GT_ENO when floats fail. */
static int gt_ring_reshare(struct gt_ring_search *s, struct gt_ring_pool *few,
			   struct gt_ring_exact *thin, struct gt_err *err)
{
	struct gt_lp *lp = gt_ring_lp_new(s->rows);
	int rc;

	rc = lp ? gt_ring_result_init(s, few, thin, err) : gt_err_nomem(err);
	if (!rc && gt_ring_lp_solve(lp, few))
		rc = GT_ENO;
	if (!rc)
		rc = gt_ring_exact_solve(few, lp, thin, err);
	gt_lp_free(lp);
	return rc;
}

/*
 * The exact shares of fewer rings.  GT_ENO when there are none that carry as
 * much and the number of channels is not limited either.
 */
static int gt_ring_thin(struct gt_ring_search *s,
			const struct gt_ring_exact *full,
			struct gt_ring_pool *few, struct gt_ring_exact *thin,
			struct gt_err *err)
{
	struct gt_reduce_args args = {
		.pricer = s->quick,
		.pool = &s->pool,
		.exact = full,
		.nused = gt_ring_used(&s->pool, full),
		.max = s->args->max_channels,
		.budget = s->args->budget,
	};
	int rc = gt_ring_reduce_channels(&args, few);

	if (rc)
		return gt_err_nomem(err);
	if (!few->nrings)
		return GT_ENO;
	rc = gt_ring_reshare(s, few, thin, err);
	if (!rc && !args.max && gt_rat_cmp(thin->value, full->value) < 0)
		return GT_ENO;
	return rc;
}

/*
 * Compare channels: the larger one comes first, then the order of ranks
 * decides.
 */
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

/*
 * Take the rings of the solution with the largest shares, as many as the limit
 * allows.
 */
static int gt_ring_largest(const struct gt_ring_search *s,
			   const struct gt_ring_exact *result,
			   struct gt_ring_pool *few, struct gt_err *err)
{
	const struct gt_rat *shares = result->shares;

	while (few->nrings < s->rows->max_channels) {
		uint32_t best = s->pool.nrings;

		for (uint32_t i = 0; i < s->pool.nrings; i++)
			if (shares[i].num &&
			    (best == s->pool.nrings ||
			     gt_rat_cmp(shares[i], shares[best]) > 0))
				best = i;
		if (best == s->pool.nrings)
			return few->nrings ? GT_OK : GT_ENO;
		result->shares[best] = GT_RAT(0, 1);
		if (gt_ring_pool_add(few, gt_ring_pool_order(&s->pool, best)) <
		    0)
			return gt_err_nomem(err);
	}
	return GT_OK;
}

static int gt_ring_choose(struct gt_ring_search *s,
			  const struct gt_ring_exact *full,
			  struct gt_proposal *proposal, struct gt_err *err)
{
	struct gt_arena *arena = s->args->arena;
	struct gt_ring_exact thin = {0};
	struct gt_ring_pool few;
	int rc;

	gt_ring_pool_init(&few, s->rows);
	rc = s->args->bare ? GT_ENO : gt_ring_thin(s, full, &few, &thin, err);
	if (!rc)
		rc = gt_ring_channels(arena, &few, &thin, proposal, err);
	else if (rc == GT_ENO)
		rc = gt_ring_channels(arena, &s->pool, full, proposal, err);
	gt_ring_pool_release(&few);
	return rc;
}

/* Fill the pool with the proposal's rings once more. */
static int gt_ring_again(const struct gt_proposal *proposal,
			 struct gt_ring_pool *few)
{
	gt_ring_pool_release(few);
	gt_ring_pool_init(few, few->rows);
	for (uint32_t i = 0; i < proposal->nchannels; i++)
		if (gt_ring_pool_add(few, proposal->channels[i].order) < 0)
			return GT_ESYS;
	return GT_OK;
}

/* Rings of equal shares are easier to find, and may be better. */
static int gt_ring_equal(struct gt_ring_search *s, struct gt_proposal *proposal,
			 struct gt_err *err)
{
	struct gt_shape_args args = *s->args;
	struct gt_equal_query ask = {
		&args, &gt_shape_ring,        1,
		1,     s->args->max_channels, &proposal->value};
	struct gt_rat most;
	int rc;

	if (gt_rat_cmp(proposal->value, proposal->bound) >= 0)
		return GT_OK;
	args.max_channels = 0;
	args.bare = 1;
	rc = gt_equal_shares(&ask, proposal, &most, NULL);
	/* Those prices would not be about hops that are relayed. */
	if (!rc && !s->rows->relays)
		rc = gt_equal_prove(&ask, proposal, NULL);
	return rc == GT_ESYS ? gt_err_nomem(err) : GT_OK;
}

/* Make a few rings better, and propose them if they are. */
static int gt_ring_improve(struct gt_ring_search *s, struct gt_ring_pool *few,
			   struct gt_proposal *proposal, struct gt_err *err)
{
	struct gt_ring_exact thin = {0};
	int rc;

	if (gt_rat_cmp(proposal->value, proposal->bound) >= 0)
		return GT_OK;
	if (gt_ring_exchange(s, few, s->args->max_channels))
		return gt_err_nomem(err);
	rc = gt_ring_reshare(s, few, &thin, err);
	if (!rc && gt_rat_cmp(thin.value, proposal->value) > 0)
		rc = gt_ring_channels(s->args->arena, few, &thin, proposal,
				      err);
	return rc == GT_ENO ? GT_OK : rc;
}

/* The bound with a price for channels, and the rings that are best under it. */
static int gt_ring_limit_bound(struct gt_ring_search *s,
			       struct gt_ring_pool *few,
			       struct gt_proposal *proposal, struct gt_err *err)
{
	struct gt_ring_search limited = {0};
	struct gt_ring_exact result = {0};
	struct gt_proposal made = {0};
	uint32_t max = s->args->max_channels;
	int rc = gt_ring_search_limit(&limited, s, max, err);

	if (!rc)
		rc = gt_ring_solve(&limited, &result, err);
	if (!rc)
		rc = gt_ring_prove(&limited, &result, &made, err);
	if (!rc && made.has_bound &&
	    gt_rat_cmp(made.bound, proposal->bound) < 0) {
		proposal->unlimited = proposal->bound;
		proposal->bound = made.bound;
		proposal->prices = made.prices;
		proposal->nprices = made.nprices;
		proposal->channel_price = made.channel_price;
		proposal->relays = limited.rows->relays;
		proposal->max_channels = max;
	}
	if (!rc)
		rc = gt_ring_largest(&limited, &result, few, err);
	gt_ring_search_release(&limited);
	return rc == GT_ENO ? GT_OK : rc;
}

/*
 * The limit costs something: find a bound that knows of it, and better rings.
 */
static int gt_ring_limited(struct gt_ring_search *s,
			   struct gt_proposal *proposal, struct gt_err *err)
{
	struct gt_ring_pool few;
	int rc;

	gt_ring_pool_init(&few, s->rows);
	rc = gt_ring_limit_bound(s, &few, proposal, err);
	if (!rc)
		rc = gt_ring_improve(s, &few, proposal, err);
	if (!rc)
		rc = gt_ring_equal(s, proposal, err);
	if (!rc && gt_ring_again(proposal, &few))
		rc = gt_err_nomem(err);
	if (!rc)
		rc = gt_ring_improve(s, &few, proposal, err);
	gt_ring_pool_release(&few);
	return rc;
}

/* Are there ranks between two others, on one machine, that can relay? */
static int gt_ring_can_relay(const struct gt_ring_search *s)
{
	return s->args->fabric->relays && !s->args->fabric->external;
}

/*
 * Solve without relays first.  With them shares are only taken that carry more,
 * since each costs a hop; but the prices are about them anyway.
 */
static int gt_ring_solve_relayed(struct gt_ring_search *s,
				 struct gt_ring_exact *result, int *relayed,
				 struct gt_err *err)
{
	struct gt_ring_exact more = {0};
	struct gt_err none;
	int rc;

	gt_err_init(&none);
	*relayed = 0;
	rc = gt_ring_solve(s, result, gt_ring_can_relay(s) ? &none : err);
	if (!gt_ring_can_relay(s))
		return rc;
	if (rc && rc != GT_ENO)
		return gt_err_set(err, rc, none.where, "%s", none.text);
	s->rows->relays = 1;
	*relayed = rc != GT_OK;
	rc = gt_ring_solve(s, &more, err);
	if (rc)
		return rc;
	*relayed |= gt_rat_cmp(more.value, result->value) > 0;
	if (!*relayed) {
		more.shares = result->shares;
		more.nshares = result->nshares;
		more.value = result->value;
	}
	*result = more;
	return gt_ring_result_extend(s, result, err);
}

static int gt_ring_run(struct gt_ring_search *s, struct gt_proposal *proposal,
		       struct gt_err *err)
{
	struct gt_ring_exact result = {0};
	int relayed, rc = gt_ring_solve_relayed(s, &result, &relayed, err);

	if (!rc)
		rc = gt_ring_prove(s, &result, proposal, err);
	proposal->relays = s->rows->relays;
	s->rows->relays = relayed;
	if (!rc)
		rc = gt_ring_choose(s, &result, proposal, err);
	s->rows->relays = proposal->relays;
	if (!rc && s->args->max_channels && proposal->has_bound &&
	    gt_rat_cmp(proposal->value, proposal->bound) < 0)
		rc = gt_ring_limited(s, proposal, err);
	proposal->nrows = s->rows->nrows;
	proposal->ncolumns = s->pool.nrings;
	proposal->nrounds = s->nrounds;
	return rc;
}

/* For one rank there is nothing to move and nothing to prove. */
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
	if (args->fabric->nranks == 1 && !args->fabric->external)
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
	.supports = gt_shape_spreads,
	.propose = gt_ring_propose,
	.integral = gt_ring_integral,
};
