/*
 * Few equal channels in place of the many that cutting the senders' trees
 * gives: a path for each pair on each of k channels (search/flow/assignment.h),
 * for one k after the other, at the rate of all or, where the number of
 * channels is limited, at the best rate that is found for so many.
 */
#include "search/flow/paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/flow/assignment.h"
#include "search/graph/graph.h"
#include "search/problem/shape.h"
#include "search/tree/exact.h"
#include "search/tree/forest.h"

enum {
	/* Equal channels that are tried, at most; of few pairs more. */
	GT_ASSIGN_SLOTS = 12,
	GT_ASSIGN_SLOTS_MAX = 48,
	GT_ASSIGN_PLACES = 2048,
	/* How often one number of channels may look at a row, and how much
	 * more often for each pair. */
	GT_ASSIGN_LOOKS = 2000000,
	GT_ASSIGN_LOOKS_PAIR = 40000,
	/* How often a try at a lower rate may look at a row, likewise. */
	GT_ASSIGN_LOOKS_LOWER = 200000,
	GT_ASSIGN_LOOKS_LOWER_PAIR = 10000,
	/* Lower rates are tried in so many steps, down to half. */
	GT_ASSIGN_STEPS = 32,
};

struct gt_flow_assignment {
	struct gt_flow_paths *flow;
	struct gt_assignment a;
	uint32_t slots; /* channels that there is room for */
	struct gt_assign_pair *pairs;
	struct gt_assign_path *paths;
	uint32_t paths_room;
};

/*
 * What rows may carry on k channels, each with 1 / k of a pair's `rate`.  0
 * when it is known not to be enough: at the best rate every row with a price
 * is full, so its limit has to be whole.
 */
static int set_limits(struct gt_flow_assignment *s, struct gt_rat rate)
{
	const struct gt_flow_paths *flow = s->flow;
	const struct gt_tree_hops *hops = &flow->forest->hops;
	int64_t units = (int64_t)hops->unit * s->a.k;
	struct gt_rat most;

	for (uint32_t i = 0; i < s->a.nrows; i++) {
		if (!gt_rat_div(hops->rows[i].gbs, rate, &most) ||
		    !gt_rat_mul(most, GT_RAT(units, 1), &most))
			return 0;
		s->a.most[i] = most.num / most.den;
		if (flow->optimal && most.den > 1 && flow->forest->prices[i] &&
		    !gt_rat_cmp(rate, flow->goal))
			return 0;
	}
	return 1;
}

/* The pair's path of fewest hops. */
static uint32_t shortest_path(const struct gt_flow_paths *flow, uint32_t pair)
{
	const struct gt_flow_rank_pair *of = &flow->pairs[pair];
	uint32_t best = of->paths[0];

	for (uint32_t i = 1; i < of->npaths; i++)
		if (flow->paths[of->paths[i]].nhops < flow->paths[best].nhops)
			best = of->paths[i];
	return best;
}

/* Tell the search of all pairs and paths that there are by now. */
static int list_paths(struct gt_flow_assignment *s)
{
	struct gt_arena *arena = s->flow->forest->args->arena;
	const struct gt_flow_paths *flow = s->flow;

	if (flow->npaths > s->paths_room) {
		s->paths_room = flow->npaths;
		s->paths =
			gt_arena_array(arena, flow->npaths, sizeof(*s->paths));
		if (!s->paths)
			return GT_ESYS;
	}
	for (uint32_t i = 0; i < flow->npaths; i++)
		s->paths[i] =
			(struct gt_assign_path){.nloads = flow->paths[i].nloads,
						.loads = flow->paths[i].loads,
						.times = 1,
						.score = flow->paths[i].nhops};
	for (uint32_t p = 0; p < flow->npairs; p++)
		s->pairs[p] = (struct gt_assign_pair){flow->pairs[p].npaths,
						      flow->pairs[p].paths};
	s->a.paths = s->paths;
	return GT_OK;
}

/*
 * The search begins with what the cut channels have in the middle of each k-th
 * part; one channel alone begins with the paths of fewest hops.
 */
static int begin_search(struct gt_flow_assignment *s)
{
	struct gt_flow_paths *flow = s->flow;
	uint32_t k = s->a.k;

	for (uint32_t p = 0; p < flow->npairs; p++)
		for (uint32_t c = 0; c < k; c++) {
			__int128 num =
				(__int128)flow->den * (2 * c + 1) / (2 * k);

			if (k == 1)
				s->a.pick[p] = shortest_path(flow, p);
			else if (gt_flow_paths_at(flow, p, (int64_t)num,
						  &s->a.pick[p * k + c]))
				return GT_ESYS;
		}
	return list_paths(s);
}

/* Direct paths and those through one rank that cost no more than any. */
static int add_candidates(struct gt_flow_paths *flow)
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

static int compare_paths(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Have two channels the same path for every pair? */
static int are_equal(const struct gt_assignment *a, uint32_t c, uint32_t d)
{
	for (uint32_t p = 0; p < a->npairs; p++)
		if (a->pick[p * a->k + c] != a->pick[p * a->k + d])
			return 0;
	return 1;
}

/* A pair's paths in order, so that equal channels stand together. */
static uint32_t count_channels(struct gt_assignment *a)
{
	uint32_t count = 1;

	for (uint32_t p = 0; p < a->npairs; p++)
		qsort(&a->pick[p * a->k], a->k, sizeof(*a->pick),
		      compare_paths);
	for (uint32_t c = 1; c < a->k; c++)
		count += !are_equal(a, c - 1, c);
	return count;
}

/* The assignment becomes the flow's channels, equal ones a wider one. */
static void take_channels(struct gt_flow_assignment *s, struct gt_rat rate)
{
	struct gt_flow_paths *flow = s->flow;
	const struct gt_assignment *a = &s->a;
	uint32_t n = 0;

	for (uint32_t c = 0; c < a->k; c++) {
		if (c && are_equal(a, c - 1, c)) {
			flow->nums[n - 1]++;
			continue;
		}
		for (uint32_t p = 0; p < flow->npairs; p++)
			flow->pick[(size_t)n * flow->npairs + p] =
				a->pick[p * a->k + c];
		flow->nums[n++] = 1;
	}
	flow->nchannels = n;
	flow->den = a->k;
	flow->rate = rate;
}

/* A pair's rate that the picks allow: a row's capacity over what it has. */
static int assigned_rate(const struct gt_flow_assignment *s,
			 struct gt_rat *rate)
{
	const struct gt_tree_hops *hops = &s->flow->forest->hops;
	int64_t units = (int64_t)hops->unit * s->a.k;
	struct gt_rat most;

	for (uint32_t i = 0; i < s->a.nrows; i++) {
		if (!s->a.load[i])
			continue;
		if (!gt_rat_mul(hops->rows[i].gbs, GT_RAT(units, s->a.load[i]),
				&most))
			return 0;
		if (gt_rat_cmp(most, *rate) < 0)
			*rate = most;
	}
	return 1;
}

/* k channels at the full rate, if they are fewer than there are. */
static int try_channels(struct gt_flow_assignment *s, uint32_t k,
			uint32_t limit, int *found)
{
	struct gt_rat rate = GT_RAT(INT64_MAX, 1);
	uint32_t count;

	s->a.k = k;
	if (!set_limits(s, s->flow->goal))
		return GT_OK;
	if (begin_search(s))
		return GT_ESYS;
	if (!gt_assignment_search(&s->a))
		return GT_OK;
	count = count_channels(&s->a);
	if (count > limit || (k > 1 && count >= s->flow->nchannels))
		return GT_OK;
	if (!assigned_rate(s, &rate))
		return GT_OK;
	take_channels(s, rate);
	*found = 1;
	return GT_OK;
}

/* Up to `limit` channels at the best rate that is found for them. */
static int try_lower_rates(struct gt_flow_assignment *s, uint32_t limit)
{
	struct gt_rat full = s->flow->goal, rate;

	s->a.k = limit < s->slots ? limit : s->slots;
	s->a.looks_max = GT_ASSIGN_LOOKS_LOWER +
			 (int64_t)s->flow->npairs * GT_ASSIGN_LOOKS_LOWER_PAIR;
	for (int64_t step = 0; step <= GT_ASSIGN_STEPS; step++) {
		rate = GT_RAT(2 * GT_ASSIGN_STEPS - step, 2 * GT_ASSIGN_STEPS);
		if (begin_search(s))
			return GT_ESYS;
		if (!gt_rat_mul(full, rate, &rate) || !set_limits(s, rate) ||
		    (!gt_assignment_search(&s->a) && step < GT_ASSIGN_STEPS))
			continue;
		rate = GT_RAT(INT64_MAX, 1);
		if (!assigned_rate(s, &rate))
			continue;
		count_channels(&s->a);
		take_channels(s, rate);
		return GT_OK;
	}
	return GT_OK;
}

static uint32_t count_slots(uint32_t npairs)
{
	uint32_t slots = GT_ASSIGN_PLACES / npairs;

	if (slots < GT_ASSIGN_SLOTS)
		return GT_ASSIGN_SLOTS;
	return slots > GT_ASSIGN_SLOTS_MAX ? GT_ASSIGN_SLOTS_MAX : slots;
}

int gt_flow_assign_paths(struct gt_flow_paths *flow, uint32_t limit,
			 struct gt_err *err)
{
	struct gt_arena *arena = flow->forest->args->arena;
	struct gt_flow_assignment s = {.flow = flow,
				       .slots = count_slots(flow->npairs)};
	int found = 0, rc = GT_OK;

	s.pairs = gt_arena_array(arena, flow->npairs, sizeof(*s.pairs));
	s.a.npairs = flow->npairs;
	s.a.nrows = flow->forest->hops.nrows;
	s.a.pairs = s.pairs;
	s.a.budget = flow->forest->args->budget;
	s.a.looks_max =
		GT_ASSIGN_LOOKS + (int64_t)flow->npairs * GT_ASSIGN_LOOKS_PAIR;
	if (!s.pairs || !gt_assignment_init(&s.a, s.slots, arena) ||
	    add_candidates(flow))
		return gt_err_nomem(err);
	for (uint32_t k = 1; !rc && !found && k <= s.slots; k++)
		rc = try_channels(&s, k, limit, &found);
	if (!rc && flow->nchannels > limit)
		rc = try_lower_rates(&s, limit);
	return rc ? gt_err_nomem(err) : GT_OK;
}
