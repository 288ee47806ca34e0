#include "search/flow/paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/graph/shortest_path.h"
#include "search/problem/budget.h"
#include "search/problem/shape.h"
#include "search/tree/exact.h"
#include "search/tree/forest.h"

enum {
	/* Equal channels that are tried, at most; of few pairs more. */
	GT_FEW_SLOTS = 12,
	GT_FEW_SLOTS_MOST = 48,
	GT_FEW_PLACES = 2048,
	/* Rows looked at for one number of channels: and so many for a pair. */
	GT_FEW_LOOKS = 2000000,
	GT_FEW_LOOKS_PAIR = 40000,
	/* For a lower rate. */
	GT_FEW_LOOKS_LOWER = 200000,
	/* Lower rates are tried in so many steps, down to half. */
	GT_FEW_STEPS = 32,
	/* After a move a place rests for so many. */
	GT_FEW_REST = 6,
};

/*
 * A path for each pair on each of k equal channels, such that no row has more
 * than it may.  Rows that stay overfull grow in weight (Morris, "The breakout
 * method for escaping from local minima", 1993).
 */
struct gt_few {
	struct gt_flow_paths *flow;
	uint32_t k, nrows, slots;
	uint32_t *pick;  /* [pair * k + channel] */
	uint32_t *moved; /* likewise: when last */
	int64_t *load, *most, *weight;
	int64_t looks, looks_max;
	uint32_t now;
};

static int64_t gt_few_over(const struct gt_few *few, uint32_t row, int64_t load)
{
	return load > few->most[row]
		       ? (load - few->most[row]) * few->weight[row]
		       : 0;
}

static void gt_few_put(struct gt_few *few, uint32_t path, int sign)
{
	const struct gt_flow_path *p = &few->flow->paths[path];

	for (uint32_t i = 0; i < p->nrows; i++)
		few->load[p->rows[i]] += sign * (int64_t)p->loads[i];
}

/* What all rows on the path are over by. */
static int64_t gt_few_sum(struct gt_few *few, uint32_t path)
{
	const struct gt_flow_path *p = &few->flow->paths[path];
	int64_t sum = 0;

	few->looks += p->nrows;
	for (uint32_t i = 0; i < p->nrows; i++)
		sum += gt_few_over(few, p->rows[i], few->load[p->rows[i]]);
	return sum;
}

/* What it costs more with the path than without. */
static int64_t gt_few_cost(struct gt_few *few, uint32_t path)
{
	int64_t without = gt_few_sum(few, path), with;

	gt_few_put(few, path, 1);
	with = gt_few_sum(few, path);
	gt_few_put(few, path, -1);
	return with - without;
}

static int gt_few_uses(const struct gt_few *few, uint32_t path, uint32_t row)
{
	const struct gt_flow_path *p = &few->flow->paths[path];

	for (uint32_t i = 0; i < p->nrows; i++)
		if (p->rows[i] == row)
			return 1;
	return 0;
}

/* The row that is over by most, or nrows. */
static uint32_t gt_few_worst(const struct gt_few *few)
{
	uint32_t worst = few->nrows;
	int64_t most = 0;

	for (uint32_t i = 0; i < few->nrows; i++) {
		int64_t over = gt_few_over(few, i, few->load[i]);

		if (over > most) {
			most = over;
			worst = i;
		}
	}
	return worst;
}

/* The best other path for a place, and what it brings. */
static int64_t gt_few_gain(struct gt_few *few, uint32_t place, uint32_t *path)
{
	const struct gt_flow_rank_pair *pair =
		&few->flow->pairs[place / few->k];
	uint32_t old = few->pick[place];
	int64_t was, best = INT64_MAX;

	gt_few_put(few, old, -1);
	was = gt_few_cost(few, old);
	for (uint32_t i = 0; i < pair->npaths; i++) {
		int64_t cost;

		if (pair->paths[i] == old)
			continue;
		cost = gt_few_cost(few, pair->paths[i]);
		if (cost < best) {
			best = cost;
			*path = pair->paths[i];
		}
	}
	gt_few_put(few, old, 1);
	return best == INT64_MAX ? INT64_MIN : was - best;
}

/* Take the best of all moves off the row; 0 when there is none. */
static int gt_few_move(struct gt_few *few, uint32_t row)
{
	uint32_t n = few->flow->npairs * few->k, at = n, to = 0, path = 0;
	int64_t best = INT64_MIN;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t place = (i + few->now * 7919) % n;
		int64_t gain;

		if ((few->moved[place] &&
		     few->moved[place] + GT_FEW_REST > few->now) ||
		    !gt_few_uses(few, few->pick[place], row))
			continue;
		gain = gt_few_gain(few, place, &path);
		if (gain > best) {
			best = gain;
			at = place;
			to = path;
		}
	}
	if (best <= 0)
		few->weight[row]++;
	if (at == n)
		return 0;
	gt_few_put(few, few->pick[at], -1);
	gt_few_put(few, to, 1);
	few->pick[at] = to;
	few->moved[at] = few->now;
	return 1;
}

/* Fewer hops wherever there is room. */
static void gt_few_shorten(struct gt_few *few)
{
	uint32_t n = few->flow->npairs * few->k;

	for (uint32_t i = 0; i < n; i++) {
		const struct gt_flow_rank_pair *pair =
			&few->flow->pairs[i / few->k];

		for (uint32_t j = 0; j < pair->npaths; j++) {
			uint32_t old = few->pick[i], path = pair->paths[j];

			if (few->flow->paths[path].nhops >=
			    few->flow->paths[old].nhops)
				continue;
			gt_few_put(few, old, -1);
			few->pick[i] = gt_few_cost(few, path) ? old : path;
			gt_few_put(few, few->pick[i], 1);
		}
	}
}

/* 1 when no row is overfull in the end. */
static int gt_few_search(struct gt_few *few)
{
	uint32_t row;

	few->looks = few->now = 0;
	for (uint32_t i = 0; i < few->nrows; i++) {
		few->load[i] = 0;
		few->weight[i] = 1;
	}
	for (uint32_t i = 0; i < few->flow->npairs * few->k; i++) {
		few->moved[i] = 0;
		gt_few_put(few, few->pick[i], 1);
	}
	while ((row = gt_few_worst(few)) < few->nrows) {
		few->now++;
		if (few->looks > few->looks_max ||
		    gt_budget_is_spent(few->flow->forest->args->budget))
			return 0;
		few->looks += few->nrows + few->flow->npairs;
		gt_few_move(few, row);
	}
	gt_few_shorten(few);
	return 1;
}

/*
 * What rows may carry on k channels, each with 1 / k of a pair's `rate`.  0
 * when it is known not to be enough: at the best rate every row with a price
 * is full, so its limit has to be whole.
 */
static int gt_few_limits(struct gt_few *few, struct gt_rat rate)
{
	const struct gt_tree_hops *hops = &few->flow->forest->hops;
	struct gt_rat most;

	for (uint32_t i = 0; i < few->nrows; i++) {
		if (!gt_rat_div(hops->rows[i].gbs, rate, &most) ||
		    !gt_rat_mul(most, GT_RAT((int64_t)hops->unit * few->k, 1),
				&most))
			return 0;
		few->most[i] = most.num / most.den;
		if (few->flow->optimal && most.den > 1 &&
		    few->flow->forest->prices[i] &&
		    !gt_rat_cmp(rate, few->flow->goal))
			return 0;
	}
	return 1;
}

/* The way of fewest hops that costs no more than others. */
static uint32_t gt_few_plain(const struct gt_flow_paths *flow, uint32_t pair)
{
	const struct gt_flow_rank_pair *of = &flow->pairs[pair];
	uint32_t best = of->paths[0];

	for (uint32_t i = 1; i < of->npaths; i++)
		if (flow->paths[of->paths[i]].nhops < flow->paths[best].nhops)
			best = of->paths[i];
	return best;
}

/* As the cut channels have it in the middle of each k-th; or plainly. */
static int gt_few_begin(struct gt_few *few)
{
	struct gt_flow_paths *flow = few->flow;

	for (uint32_t p = 0; p < flow->npairs; p++)
		for (uint32_t c = 0; c < few->k; c++) {
			__int128 num = (__int128)flow->den * (2 * c + 1) /
				       (2 * few->k);

			if (few->k == 1)
				few->pick[p] = gt_few_plain(flow, p);
			else if (gt_flow_paths_at(flow, p, (int64_t)num,
						  &few->pick[p * few->k + c]))
				return GT_ESYS;
		}
	return GT_OK;
}

/* Direct ways and those through one rank that cost no more than any. */
static int gt_few_candidates(struct gt_flow_paths *flow)
{
	struct gt_forest *f = flow->forest;
	uint32_t n = f->hops.n, path;

	for (uint32_t p = 0; p < flow->npairs; p++) {
		uint32_t s = flow->pairs[p].from, t = flow->pairs[p].to;
		uint32_t ranks[3] = {s, t, t}, routes[2];
		int64_t far;

		gt_shortest_paths(n, f->mixed, s, f->far, f->parent);
		far = f->far[t] + (f->far[t] >> 30);
		routes[0] = f->hops.pick[s * n + t];
		if (f->mixed[s * n + t] <= far &&
		    gt_flow_paths_add(flow, p, ranks, routes, 1, &path))
			return GT_ESYS;
		for (uint32_t r = 0; r < n; r++) {
			if (r == s || r == t ||
			    f->mixed[s * n + r] + f->mixed[r * n + t] > far)
				continue;
			ranks[1] = r;
			routes[0] = f->hops.pick[s * n + r];
			routes[1] = f->hops.pick[r * n + t];
			if (gt_flow_paths_add(flow, p, ranks, routes, 2, &path))
				return GT_ESYS;
		}
	}
	return GT_OK;
}

static int gt_few_cmp(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int gt_few_same(const struct gt_few *few, uint32_t a, uint32_t b)
{
	for (uint32_t p = 0; p < few->flow->npairs; p++)
		if (few->pick[p * few->k + a] != few->pick[p * few->k + b])
			return 0;
	return 1;
}

/* A pair's paths in order, so that equal channels stand together. */
static uint32_t gt_few_count(struct gt_few *few)
{
	uint32_t count = 1;

	for (uint32_t p = 0; p < few->flow->npairs; p++)
		qsort(&few->pick[p * few->k], few->k, sizeof(*few->pick),
		      gt_few_cmp);
	for (uint32_t c = 1; c < few->k; c++)
		count += !gt_few_same(few, c - 1, c);
	return count;
}

static void gt_few_take(struct gt_few *few, struct gt_rat rate)
{
	struct gt_flow_paths *flow = few->flow;
	uint32_t n = 0;

	for (uint32_t c = 0; c < few->k; c++) {
		if (c && gt_few_same(few, c - 1, c)) {
			flow->nums[n - 1]++;
			continue;
		}
		for (uint32_t p = 0; p < flow->npairs; p++)
			flow->pick[(size_t)n * flow->npairs + p] =
				few->pick[p * few->k + c];
		flow->nums[n++] = 1;
	}
	flow->nchannels = n;
	flow->den = few->k;
	flow->rate = rate;
}

/* A pair's rate that the picks allow: a row's capacity over what it has. */
static int gt_few_rate(const struct gt_few *few, struct gt_rat *rate)
{
	const struct gt_tree_hops *hops = &few->flow->forest->hops;
	struct gt_rat most;

	for (uint32_t i = 0; i < few->nrows; i++) {
		if (!few->load[i])
			continue;
		if (!gt_rat_mul(
			    hops->rows[i].gbs,
			    GT_RAT((int64_t)hops->unit * few->k, few->load[i]),
			    &most))
			return 0;
		if (gt_rat_cmp(most, *rate) < 0)
			*rate = most;
	}
	return 1;
}

/* k channels at the full rate, if they are fewer than there are. */
static int gt_few_try(struct gt_few *few, uint32_t k, uint32_t limit,
		      int *found)
{
	struct gt_rat rate = GT_RAT(INT64_MAX, 1);
	uint32_t count;

	few->k = k;
	if (!gt_few_limits(few, few->flow->goal))
		return GT_OK;
	if (gt_few_begin(few))
		return GT_ESYS;
	if (!gt_few_search(few))
		return GT_OK;
	count = gt_few_count(few);
	if (count > limit || (k > 1 && count >= few->flow->nchannels))
		return GT_OK;
	if (!gt_few_rate(few, &rate))
		return GT_OK;
	gt_few_take(few, rate);
	*found = 1;
	return GT_OK;
}

/* Up to `limit` channels at the best rate that is found for them. */
static int gt_few_lower(struct gt_few *few, uint32_t limit)
{
	struct gt_rat full = few->flow->goal, rate;

	few->k = limit < few->slots ? limit : few->slots;
	few->looks_max = GT_FEW_LOOKS_LOWER;
	for (int64_t step = 0; step <= GT_FEW_STEPS; step++) {
		rate = GT_RAT(2 * GT_FEW_STEPS - step, 2 * GT_FEW_STEPS);
		if (gt_few_begin(few))
			return GT_ESYS;
		if (!gt_rat_mul(full, rate, &rate) ||
		    !gt_few_limits(few, rate) ||
		    (!gt_few_search(few) && step < GT_FEW_STEPS))
			continue;
		rate = GT_RAT(INT64_MAX, 1);
		if (!gt_few_rate(few, &rate))
			continue;
		gt_few_count(few);
		gt_few_take(few, rate);
		return GT_OK;
	}
	return GT_OK;
}

int gt_flow_assign_paths(struct gt_flow_paths *flow, uint32_t limit,
			 struct gt_err *err)
{
	struct gt_arena *arena = flow->forest->args->arena;
	struct gt_few few = {.flow = flow,
			     .looks_max =
				     GT_FEW_LOOKS +
				     (int64_t)flow->npairs * GT_FEW_LOOKS_PAIR,
			     .slots = GT_FEW_PLACES / flow->npairs,
			     .nrows = flow->forest->hops.nrows};
	size_t places;
	int found = 0, rc = GT_OK;

	if (few.slots < GT_FEW_SLOTS)
		few.slots = GT_FEW_SLOTS;
	if (few.slots > GT_FEW_SLOTS_MOST)
		few.slots = GT_FEW_SLOTS_MOST;
	places = (size_t)flow->npairs * few.slots;
	few.pick = gt_arena_array(arena, places, sizeof(*few.pick));
	few.moved = gt_arena_array(arena, places, sizeof(*few.moved));
	few.load = gt_arena_array(arena, few.nrows, sizeof(*few.load));
	few.most = gt_arena_array(arena, few.nrows, sizeof(*few.most));
	few.weight = gt_arena_array(arena, few.nrows, sizeof(*few.weight));
	if (!few.pick || !few.moved || !few.load || !few.most || !few.weight ||
	    gt_few_candidates(flow))
		return gt_err_nomem(err);
	for (uint32_t k = 1; !rc && !found && k <= few.slots; k++)
		rc = gt_few_try(&few, k, limit, &found);
	if (!rc && flow->nchannels > limit)
		rc = gt_few_lower(&few, limit);
	return rc ? gt_err_nomem(err) : GT_OK;
}
