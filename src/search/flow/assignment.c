/*
 * The local search for an assignment that fits: rows that stay overfull gain
 * weight, and the best move off the worst row is taken.
 */
#include "search/flow/assignment.h"

#include "base/arena.h"
#include "search/problem/budget.h"

/* After a move a place rests for so many steps. */
enum { GT_ASSIGN_REST = 6 };

int gt_assignment_init(struct gt_assignment *a, uint32_t max_channels,
		       struct gt_arena *arena)
{
	size_t places = (size_t)a->npairs * max_channels;

	a->pick = gt_arena_array(arena, places, sizeof(*a->pick));
	a->moved = gt_arena_array(arena, places, sizeof(*a->moved));
	a->load = gt_arena_array(arena, a->nrows, sizeof(*a->load));
	a->most = gt_arena_array(arena, a->nrows, sizeof(*a->most));
	a->weight = gt_arena_array(arena, a->nrows, sizeof(*a->weight));
	return a->pick && a->moved && a->load && a->most && a->weight;
}

/* The load that the row has too much, times the row's weight. */
static int64_t row_excess(const struct gt_assignment *a, uint32_t row)
{
	int64_t load = a->load[row];

	return load > a->most[row] ? (load - a->most[row]) * a->weight[row] : 0;
}

/* Put the path's load on its rows, or (-1) take it off. */
static void put_path(struct gt_assignment *a, uint32_t path, int sign)
{
	const struct gt_assign_path *p = &a->paths[path];

	for (uint32_t i = 0; i < p->nloads; i++)
		a->load[p->loads[i].row] += sign * p->times * p->loads[i].units;
}

/* The weighted excess of all rows on the path. */
static int64_t path_excess(struct gt_assignment *a, uint32_t path)
{
	const struct gt_assign_path *p = &a->paths[path];
	int64_t sum = 0;

	a->looks += p->nloads;
	for (uint32_t i = 0; i < p->nloads; i++)
		sum += row_excess(a, p->loads[i].row);
	return sum;
}

/* How much more rows are over with the path than without it. */
static int64_t path_cost(struct gt_assignment *a, uint32_t path)
{
	int64_t without = path_excess(a, path), with;

	put_path(a, path, 1);
	with = path_excess(a, path);
	put_path(a, path, -1);
	return with - without;
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

/* The best other path for a place, and how much it takes off the excess. */
static int64_t best_gain(struct gt_assignment *a, uint32_t place,
			 uint32_t *path)
{
	const struct gt_assign_pair *pair = &a->pairs[place / a->k];
	uint32_t old = a->pick[place];
	int64_t was, best = INT64_MAX;

	put_path(a, old, -1);
	was = path_cost(a, old);
	for (uint32_t i = 0; i < pair->npaths; i++) {
		int64_t cost;

		if (pair->paths[i] == old)
			continue;
		cost = path_cost(a, pair->paths[i]);
		if (cost < best) {
			best = cost;
			*path = pair->paths[i];
		}
	}
	put_path(a, old, 1);
	return best == INT64_MAX ? INT64_MIN : was - best;
}

/* Make the best of all moves off the row, if there is one. */
static void move_off(struct gt_assignment *a, uint32_t row)
{
	uint32_t n = a->npairs * a->k, at = n, to = 0, path = 0;
	int64_t best = INT64_MIN;

	for (uint32_t i = 0; i < n; i++) {
		/* a prime, so that no place comes first too often */
		uint32_t place = (i + a->step * 7919) % n;
		int64_t gain;

		if ((a->moved[place] &&
		     a->moved[place] + GT_ASSIGN_REST > a->step) ||
		    !uses_row(a, a->pick[place], row))
			continue;
		gain = best_gain(a, place, &path);
		if (gain > best) {
			best = gain;
			at = place;
			to = path;
		}
	}
	if (best <= 0)
		a->weight[row]++;
	if (at == n)
		return;
	put_path(a, a->pick[at], -1);
	put_path(a, to, 1);
	a->pick[at] = to;
	a->moved[at] = a->step;
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
			a->pick[i] = path_cost(a, path) ? old : path;
			put_path(a, a->pick[i], 1);
		}
	}
}

int gt_assignment_search(struct gt_assignment *a)
{
	uint32_t row;

	a->looks = a->step = 0;
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
