/*
 * The search for the largest equal shares: which shares can matter, what bounds
 * how often each is there, and which one to try next.
 */
#include "search/ring/equal_shares.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/problem/budget.h"
#include "search/problem/fabric.h"
#include "search/problem/link_rows.h"
#include "search/problem/shape.h"

/*
 * How many shares are tried, up to and beyond so many ranks, and how many
 * looked at; less than this part of what unequal channels reach is not asked
 * for.
 */
enum { GT_EQUAL_SMALL = 8, GT_EQUAL_TRIES = 200, GT_EQUAL_TRIES_LARGE = 30 };
enum { GT_EQUAL_SHARES = 1 << 16, GT_EQUAL_PART = 8 };

/* A share of each channel, and how many of that there can be a group. */
struct gt_equal_share {
	struct gt_rat each;
	int64_t count;
};

struct gt_equal {
	const struct gt_equal_query *ask;
	const struct gt_fabric *fabric;
	struct gt_arena *arena; /* what is kept */
	int64_t unit;           /* loads are multiples of 1 / unit */
	struct gt_rat limit;    /* what unequal channels reach at most */
	struct gt_proposal best;
	struct gt_rat open; /* what is not ruled out beside the best */
	uint32_t nshares;
	struct gt_equal_share *shares; /* the largest first */
};

/* The charges' common denominator; 0 when it is too large. */
int64_t gt_equal_unit(const struct gt_fabric *f)
{
	int64_t unit = 1;

	for (uint32_t i = 0; !f->open && i < f->nranks * f->nranks; i++) {
		struct gt_rat step;

		if (!f->routes[i].nlinks)
			continue;
		if (!gt_rat_make(f->routes[i].charge.den, unit, &step))
			return 0;
		unit *= step.num;
		if (unit > 1024)
			return 0;
	}
	return unit;
}

/* floor(a / b) for a >= 0, b > 0; -1 where 64 bits do not do. */
static int64_t gt_equal_floor(struct gt_rat a, struct gt_rat b)
{
	struct gt_rat ratio;

	return gt_rat_div(a, b, &ratio) ? ratio.num / ratio.den : -1;
}

/*
 * How many channels of this share there can be a group, where all reach at
 * most so much, and their total; -1 where 64 bits do not do.
 */
static int64_t gt_equal_count(const struct gt_equal *e, struct gt_rat each,
			      struct gt_rat most, struct gt_rat *total)
{
	struct gt_rat all;
	int64_t count;

	if (!gt_rat_mul(each, GT_RAT(e->ask->groups, 1), &all))
		return -1;
	count = gt_equal_floor(most, all);
	if (count > e->ask->max)
		count = e->ask->max;
	if (count >= 0 && count < e->ask->min)
		count = 0;
	return gt_rat_mul(all, GT_RAT(count, 1), total) ? count : -1;
}

/* The shares at which this capacity rounds to a new number; 0: not all. */
static int gt_equal_add(struct gt_equal *e, struct gt_rat gbs)
{
	struct gt_rat all, least, each, total;
	int64_t count;

	if (gbs.num <= 0)
		return 1;
	if (!gt_rat_mul(gbs, GT_RAT(e->unit, 1), &all) ||
	    !gt_rat_div(e->limit,
			GT_RAT(GT_EQUAL_PART * e->ask->groups * e->ask->max, 1),
			&least))
		return 0;
	for (int64_t j = 1; e->nshares < GT_EQUAL_SHARES; j++) {
		if (!gt_rat_div(all, GT_RAT(j, 1), &each))
			return 0;
		if (gt_rat_cmp(each, least) < 0)
			return 1;
		count = gt_equal_count(e, each, e->limit, &total);
		if (count < 0)
			return 0;
		if (count)
			e->shares[e->nshares++] =
				(struct gt_equal_share){each, count};
	}
	return 0;
}

static int gt_equal_cmp(const void *a, const void *b)
{
	const struct gt_equal_share *x = a, *y = b;

	return gt_rat_cmp(y->each, x->each);
}

/* Shares of all links that can bind, without those that are there twice. */
static int gt_equal_list_shares(struct gt_equal *e, struct gt_err *err)
{
	const struct gt_fabric *f = e->fabric;
	struct gt_link_rows *rows = NULL;
	uint32_t kept = 0;
	int all = 1, rc = GT_OK;

	e->shares = calloc(GT_EQUAL_SHARES, sizeof(*e->shares));
	if (!e->shares)
		return gt_err_nomem(err);
	if (!f->open)
		rc = gt_link_rows_new(f, e->arena, &rows, err);
	for (uint32_t i = 0; !rc && i < (rows ? rows->nrows : f->nlinks); i++)
		all &= gt_equal_add(e,
				    rows ? rows->rows[i].gbs : f->links[i].gbs);
	qsort(e->shares, e->nshares, sizeof(*e->shares), gt_equal_cmp);
	for (uint32_t i = 0; i < e->nshares; i++)
		if (!kept || gt_equal_cmp(&e->shares[i], &e->shares[kept - 1]))
			e->shares[kept++] = e->shares[i];
	e->nshares = kept;
	/* what was never looked at is below this, or nothing is known */
	gt_rat_div(e->limit, GT_RAT(all ? GT_EQUAL_PART : 1, 1), &e->open);
	return rc;
}

/* Copy the fabric with capacities in whole shares, rounded down. */
static int gt_equal_round(const struct gt_equal *e, struct gt_rat each,
			  struct gt_arena *arena, struct gt_fabric *out)
{
	const struct gt_fabric *f = e->fabric;

	*out = *f;
	out->links = gt_arena_array(arena, f->nlinks, sizeof(*f->links));
	if (!out->links)
		return 0;
	for (uint32_t i = 0; i < f->nlinks; i++) {
		int64_t unit = f->links[i].charged ? e->unit : 1, whole;
		struct gt_rat part;

		out->links[i] = f->links[i];
		if (!gt_rat_div(each, GT_RAT(unit, 1), &part))
			return 0;
		whole = gt_equal_floor(f->links[i].gbs, part);
		if (whole < 0 || !gt_rat_make(whole, unit, &out->links[i].gbs))
			return 0;
	}
	return 1;
}

/*
 * How many channels of this share there are at most: as many as unequal ones
 * reach in rounded capacities.
 */
static int64_t gt_equal_relax(const struct gt_equal *e,
			      const struct gt_equal_share *share)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_shape_args args = *e->ask->args;
	struct gt_proposal proposal = {0};
	struct gt_fabric rounded;
	int64_t count = share->count;

	if (!arena)
		return count;
	args.fabric = &rounded;
	args.arena = arena;
	args.bare = 1;
	if (gt_equal_round(e, share->each, arena, &rounded))
		e->ask->shape->propose(&args, &proposal, NULL);
	/* a bound holds whether there are channels or not */
	if (proposal.has_bound &&
	    gt_rat_cmp(proposal.bound, GT_RAT(count * e->ask->groups, 1)) < 0)
		count = proposal.bound.num / proposal.bound.den /
			e->ask->groups;
	gt_arena_free(arena);
	return count < e->ask->min ? 0 : count;
}

static void gt_equal_load(const struct gt_equal *e,
			  const struct gt_fabric_route *route, int64_t *load)
{
	const struct gt_fabric *f = e->fabric;

	for (uint32_t k = 0; k < route->nlinks; k++) {
		uint32_t link = route->links[k];
		struct gt_rat one =
			f->links[link].charged ? route->charge : GT_RAT(1, 1);

		load[link] += one.num * (e->unit / one.den);
	}
}

static void gt_equal_loads(const struct gt_equal *e,
			   const struct gt_proposal *p, int64_t *load)
{
	uint32_t n = e->fabric->nranks;

	for (uint32_t c = 0; c < p->nchannels; c++) {
		const struct gt_proposal_channel *channel = &p->channels[c];

		for (uint32_t i = 0; channel->order && i < n; i++)
			gt_equal_load(
				e,
				&e->fabric->routes[channel->order[i] * n +
						   channel->order[(i + 1) % n]],
				load);
		for (uint32_t v = 0; !channel->order && v < n; v++) {
			if (channel->down[v])
				gt_equal_load(e, channel->down[v], load);
			if (channel->up[v])
				gt_equal_load(e, channel->up[v], load);
		}
	}
}

/* The largest share that these channels can have each. */
static int gt_equal_each(const struct gt_equal *e, const struct gt_proposal *p,
			 struct gt_rat *each)
{
	const struct gt_fabric *f = e->fabric;
	int64_t *load = calloc(f->nlinks, sizeof(*load));
	struct gt_rat one;
	int ok = 0;

	if (!load)
		return 0;
	gt_equal_loads(e, p, load);
	for (uint32_t i = 0; i < f->nlinks; i++) {
		if (!load[i] || !gt_rat_make(e->unit, load[i], &one) ||
		    !gt_rat_mul(one, f->links[i].gbs, &one))
			continue;
		if (!ok || gt_rat_cmp(one, *each) < 0)
			*each = one;
		ok = 1;
	}
	free(load);
	return ok;
}

/* Are these channels better, or as good and fewer? */
static void gt_equal_keep(struct gt_equal *e, struct gt_proposal *p)
{
	struct gt_rat each, total;
	int cmp;

	if (!gt_equal_each(e, p, &each) ||
	    !gt_rat_mul(each, GT_RAT(p->nchannels, 1), &total))
		return;
	cmp = gt_rat_cmp(total, e->best.value);
	if (cmp < 0 || (!cmp && p->nchannels >= e->best.nchannels))
		return;
	for (uint32_t i = 0; i < p->nchannels; i++)
		p->channels[i].gbs = each;
	p->value = total;
	e->best = *p;
}

/* The total of all channels of the i-th share, which fitted 64 bits before. */
static struct gt_rat gt_equal_total(const struct gt_equal *e, uint32_t i)
{
	struct gt_rat total = e->limit;

	gt_rat_mul(e->shares[i].each,
		   GT_RAT(e->shares[i].count * e->ask->groups, 1), &total);
	return total;
}

/*
 * No share up to the i-th, which are larger, is there more often than `count`.
 */
static void gt_equal_less(struct gt_equal *e, uint32_t i, int64_t count)
{
	for (uint32_t k = 0; k <= i; k++)
		if (e->shares[k].count > count)
			e->shares[k].count = count;
}

static void gt_equal_leave(struct gt_equal *e, struct gt_rat total)
{
	if (gt_rat_cmp(total, e->open) > 0)
		e->open = total;
}

/* Find as many of the i-th share, or have fewer of it and of larger ones. */
static int gt_equal_try(struct gt_equal *e, uint32_t i, uint32_t top,
			struct gt_err *err)
{
	struct gt_equal_share *share = &e->shares[i];
	struct gt_shape_args args = *e->ask->args;
	int64_t count = gt_equal_relax(e, share);
	struct gt_proposal made = {0};
	struct gt_fabric rounded;
	int none = 1, rc;

	if (count < share->count) {
		gt_equal_less(e, i, count);
		return GT_OK;
	}
	args.fabric = &rounded;
	if (!gt_equal_round(e, share->each, e->arena, &rounded))
		return gt_err_nomem(err);
	rc = e->ask->shape->integral(&args, (uint32_t)count, &none, &made,
				     NULL);
	if (rc == GT_ESYS)
		return gt_err_nomem(err);
	if (!rc) {
		gt_equal_keep(e, &made);
		return GT_OK;
	}
	if (!none)
		gt_equal_leave(e, gt_equal_total(e, top));
	gt_equal_less(e, i, count - 1 < e->ask->min ? 0 : count - 1);
	return GT_OK;
}

/* The share with the largest total; of several the larger share. */
static uint32_t gt_equal_top(const struct gt_equal *e)
{
	uint32_t top = 0;

	for (uint32_t i = 1; i < e->nshares; i++)
		if (gt_rat_cmp(gt_equal_total(e, i), gt_equal_total(e, top)) >
		    0)
			top = i;
	return top;
}

/* The last share after `top` that is there as often, and better than best. */
static uint32_t gt_equal_last(const struct gt_equal *e, uint32_t top)
{
	uint32_t i = top;

	while (i + 1 < e->nshares &&
	       e->shares[i + 1].count == e->shares[top].count &&
	       gt_rat_cmp(gt_equal_total(e, i + 1), e->best.value) > 0)
		i++;
	return i;
}

/*
 * Always the most promising number of channels: with the largest share first,
 * then with shares half way down to the best so far.
 */
static int gt_equal_run(struct gt_equal *e, struct gt_err *err)
{
	uint32_t tries = e->fabric->nranks <= GT_EQUAL_SMALL
				 ? GT_EQUAL_TRIES
				 : GT_EQUAL_TRIES_LARGE;
	int64_t before = 0;
	int rc = gt_equal_list_shares(e, err);

	while (!rc && e->nshares) {
		uint32_t top = gt_equal_top(e), i = top;

		if (gt_rat_cmp(gt_equal_total(e, top), e->best.value) <= 0)
			break;
		if (!tries-- || gt_budget_is_spent(e->ask->args->budget)) {
			gt_equal_leave(e, gt_equal_total(e, top));
			break;
		}
		if (e->shares[top].count == before)
			i += (gt_equal_last(e, top) - top + 1) / 2;
		before = e->shares[top].count;
		rc = gt_equal_try(e, i, top, err);
	}
	free(e->shares);
	return rc;
}

int gt_equal_shares(const struct gt_equal_query *ask,
		    struct gt_proposal *proposal, struct gt_rat *most,
		    struct gt_err *err)
{
	const struct gt_shape_args *args = ask->args;
	struct gt_equal e = {.ask = ask,
			     .fabric = args->fabric,
			     .arena = args->arena,
			     .unit = gt_equal_unit(args->fabric),
			     .limit = proposal->bound,
			     .best = {.value = GT_RAT(0, 1)},
			     .open = GT_RAT(0, 1)};
	int rc;

	*most = proposal->bound;
	if (args->fabric->nranks < 2)
		return GT_OK;
	if (ask->above)
		e.best.value = *ask->above;
	if (!e.unit || !proposal->has_bound)
		return gt_err_set(err, GT_ENO, NULL,
				  "rates are too fine for equal channels");
	rc = gt_equal_run(&e, err);
	if (rc)
		return rc;
	if (!e.best.nchannels)
		return gt_err_set(err, GT_ENO, NULL,
				  "no equal channels were found");
	proposal->channels = e.best.channels;
	proposal->nchannels = e.best.nchannels;
	proposal->value = e.best.value;
	*most = gt_rat_cmp(e.open, e.best.value) > 0 ? e.open : e.best.value;
	return GT_OK;
}
