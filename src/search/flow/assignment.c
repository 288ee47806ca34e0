/*
 * The local search for an assignment that fits: rows that stay overfull gain
 * weight, and the best move off the worst row is taken.
 */
#include "search/flow/assignment.h"

#include <string.h>

#include "base/arena.h"
#include "search/problem/budget.h"

/* After a move a place rests for so many steps. */
enum { GT_ASSIGN_REST = 6 };

/* Bits of a row's pairs are in so many words. */
static size_t row_words(const struct gt_assignment *a)
{
	return (a->npairs + 63) / 64;
}

int gt_assignment_init(struct gt_assignment *a, uint32_t max_channels,
		       struct gt_arena *arena)
{
	size_t places = (size_t)a->npairs * max_channels;

	a->may_load = gt_arena_array(arena, a->nrows * row_words(a),
				     sizeof(*a->may_load));
	a->pick = gt_arena_array(arena, places, sizeof(*a->pick));
	a->moved = gt_arena_array(arena, places, sizeof(*a->moved));
	a->load = gt_arena_array(arena, a->nrows, sizeof(*a->load));
	a->most = gt_arena_array(arena, a->nrows, sizeof(*a->most));
	a->weight = gt_arena_array(arena, a->nrows, sizeof(*a->weight));
	return a->pick && a->moved && a->load && a->most && a->weight &&
	       a->may_load;
}

/* Find which pairs have a path that loads a row. */
static void index_rows(struct gt_assignment *a)
{
	size_t nwords = row_words(a);

	memset(a->may_load, 0, a->nrows * nwords * sizeof(*a->may_load));
	for (uint32_t p = 0; p < a->npairs; p++)
		for (uint32_t i = 0; i < a->pairs[p].npaths; i++) {
			const struct gt_assign_path *path =
				&a->paths[a->pairs[p].paths[i]];

			for (uint32_t l = 0; l < path->nloads; l++)
				a->may_load[path->loads[l].row * nwords +
					    p / 64] |= UINT64_C(1) << p % 64;
		}
}

/* What a row of that load has too much, times the row's weight. */
static int64_t excess_of(const struct gt_assignment *a, uint32_t row,
			 int64_t load)
{
	return load > a->most[row] ? (load - a->most[row]) * a->weight[row] : 0;
}

static int64_t row_excess(const struct gt_assignment *a, uint32_t row)
{
	return excess_of(a, row, a->load[row]);
}

/* Put the path's load on its rows, or (-1) take it off. */
static void put_path(struct gt_assignment *a, uint32_t path, int sign)
{
	const struct gt_assign_path *p = &a->paths[path];

	for (uint32_t i = 0; i < p->nloads; i++)
		a->load[p->loads[i].row] += sign * p->times * p->loads[i].units;
}

/*
 * How much more rows, each once on the path, are over with it than without; or
 * some number from the limit on if it is no less than that.
 */
static int64_t path_cost(struct gt_assignment *a, uint32_t path, int64_t limit)
{
	const struct gt_assign_path *p = &a->paths[path];
	int64_t sum = 0;

	a->looks += 2 * p->nloads;
	for (uint32_t i = 0; i < p->nloads && sum < limit; i++) {
		uint32_t row = p->loads[i].row;
		int64_t load = a->load[row] + p->times * p->loads[i].units;

		/* Most rows have room. */
		if (load > a->most[row])
			sum += excess_of(a, row, load) - row_excess(a, row);
	}
	return sum;
}

static int uses_row(const struct gt_assignment *a, uint32_t path, uint32_t row)
{
	const struct gt_assign_path *p = &a->paths[path];

	for (uint32_t i = 0; i < p->nloads; i++)
		if (p->loads[i].row == row)
			return 1;
	return 0;
}

/* The row that is over by most; nrows when none is overfull. */
static uint32_t worst_row(const struct gt_assignment *a)
{
	uint32_t worst = a->nrows;
	int64_t most = 0;

	for (uint32_t i = 0; i < a->nrows; i++) {
		int64_t excess = row_excess(a, i);

		if (excess > most) {
			most = excess;
			worst = i;
		}
	}
	return worst;
}

/* The best move so far. */
struct best_move {
	int64_t gain;
	uint32_t place, path;
};

/* Take the best other path for a place if it takes more off the excess. */
static void try_place(struct gt_assignment *a, uint32_t place,
		      struct best_move *best)
{
	const struct gt_assign_pair *pair = &a->pairs[place / a->k];
	uint32_t old = a->pick[place];
	int64_t was, limit = INT64_MAX;

	put_path(a, old, -1);
	was = path_cost(a, old, INT64_MAX);
	if (best->gain > INT64_MIN)
		limit = was - best->gain;
	for (uint32_t i = 0; i < pair->npaths; i++) {
		int64_t cost;

		if (pair->paths[i] == old)
			continue;
		cost = path_cost(a, pair->paths[i], limit);
		if (cost >= limit)
			continue;
		limit = cost;
		*best = (struct best_move){was - cost, place, pair->paths[i]};
	}
	put_path(a, old, 1);
}

/* Look at the moves of the places from one to another that use the row. */
static void look_at(struct gt_assignment *a, uint32_t row, uint32_t first,
		    uint32_t end, struct best_move *best)
{
	for (uint32_t place = first; place < end; place++)
		if ((!a->moved[place] ||
		     a->moved[place] + GT_ASSIGN_REST <= a->step) &&
		    uses_row(a, a->pick[place], row))
			try_place(a, place, best);
}

/* Make the best of all moves off the row, if there is one. */
static void move_off(struct gt_assignment *a, uint32_t row)
{
	const uint64_t *may_load = &a->may_load[row * row_words(a)];
	uint32_t k = a->k, n = a->npairs * k;
	/* A prime, so that no place comes first too often. */
	uint32_t start = a->step * 7919 % n;
	struct best_move best = {.gain = INT64_MIN, .place = n};

	/* The pair of the first place comes again at the end, for the rest. */
	for (uint32_t i = 0; i <= a->npairs; i++) {
		uint32_t pair = (start / k + i) % a->npairs;

		if (may_load[pair / 64] >> pair % 64 & 1)
			look_at(a, row, i ? pair * k : start,
				i < a->npairs ? (pair + 1) * k : start, &best);
	}
	if (best.gain <= 0)
		a->weight[row]++;
	if (best.place == n)
		return;
	put_path(a, a->pick[best.place], -1);
	put_path(a, best.path, 1);
	a->pick[best.place] = best.path;
	a->moved[best.place] = a->step;
}

/* Paths with less score wherever there is room for them. */
static void improve_scores(struct gt_assignment *a)
{
	for (uint32_t i = 0; i < a->npairs * a->k; i++) {
		const struct gt_assign_pair *pair = &a->pairs[i / a->k];

		for (uint32_t j = 0; j < pair->npaths; j++) {
			uint32_t old = a->pick[i], path = pair->paths[j];

			if (a->paths[path].score >= a->paths[old].score)
				continue;
			put_path(a, old, -1);
			a->pick[i] = path_cost(a, path, 1) ? old : path;
			put_path(a, a->pick[i], 1);
		}
	}
}

int gt_assignment_search(struct gt_assignment *a)
{
	uint32_t row;

	a->looks = a->step = 0;
	index_rows(a);
	for (uint32_t i = 0; i < a->nrows; i++) {
		a->load[i] = 0;
		a->weight[i] = 1;
	}
	for (uint32_t i = 0; i < a->npairs * a->k; i++) {
		a->moved[i] = 0;
		put_path(a, a->pick[i], 1);
	}
	while ((row = worst_row(a)) < a->nrows) {
		a->step++;
		if (a->looks > a->looks_max || gt_budget_is_spent(a->budget))
			return 0;
		a->looks += a->nrows + a->npairs;
		move_off(a, row);
	}
	improve_scores(a);
	return 1;
}
