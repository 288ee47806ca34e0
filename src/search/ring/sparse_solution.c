/*
 * Walks on the polytope of optimal solutions, on which one ring after the other
 * is fixed at the most that it can carry.
 */
#include "search/ring/sparse_solution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "search/lp/dictionary.h"
#include "search/problem/link_rows.h"
#include "search/ring/pool.h"
#include "search/ring/program.h"

/*
 * Beginnings at most, walks from each, and how often every other one is
 * reweighted first.
 */
enum { GT_SPARSE_STARTS = 16, GT_SPARSE_WALKS = 4, GT_SPARSE_STEPS = 2 };

/*
 * Numbers to be changed after which no walk begins, some milliseconds; the
 * same where there is more to do anyway; and what none goes beyond.
 */
#define GT_SPARSE_ENOUGH       UINT64_C(2000000)
#define GT_SPARSE_ENOUGH_LARGE UINT64_C(20000000)
#define GT_SPARSE_MOST         UINT64_C(40000000)
enum { GT_SPARSE_SMALL = 10 };

/* Parts of the value: what counts as nothing, and as little. */
#define GT_SPARSE_EPS    1e-9
#define GT_SPARSE_LITTLE 0.01

/* Numbers below this are no pivots. */
#define GT_SPARSE_PIVOT 1e-7

struct gt_sparse {
	const struct gt_ring_exact *exact;
	struct gt_ring_pool rings; /* that cost exactly 1; used ones first */
	uint32_t nused;
	double value, *capacity;
	struct gt_face optimum, fork, face;
	uint32_t *fixed, *best; /* rings of this walk, and the fewest so far */
	uint32_t nfixed, nbest;
	double *gains;
	double *room, *fork_room; /* row -> capacity beside rings fixed */
	uint32_t seed;
};

static void gt_sparse_release(struct gt_sparse *s)
{
	gt_ring_pool_release(&s->rings);
	gt_dictionary_release(&s->optimum);
	gt_dictionary_release(&s->fork);
	gt_dictionary_release(&s->face);
	free(s->capacity);
	free(s->fixed);
	free(s->best);
	free(s->gains);
	free(s->room);
	free(s->fork_room);
}

/*
 * Add the rings of the pool that cost exactly 1; with shares only those in use.
 */
static int gt_sparse_add(struct gt_sparse *s, const struct gt_ring_pool *pool,
			 const struct gt_rat *shares)
{
	for (uint32_t i = 0; i < pool->nrings; i++) {
		const uint32_t *loads = gt_ring_pool_loads(pool, i);
		__int128 cost = 0;

		if (shares && !shares[i].num)
			continue;
		for (uint32_t r = 0; r < pool->rows->nrows; r++)
			cost += (__int128)loads[r] * s->exact->prices[r];
		if (cost == s->exact->price_den &&
		    gt_ring_pool_add(&s->rings, gt_ring_pool_order(pool, i)) <
			    0)
			return GT_ESYS;
		s->nused += shares != NULL;
	}
	return GT_OK;
}

static int gt_sparse_init(struct gt_sparse *s, const struct gt_ring_pool *used,
			  const struct gt_ring_pool *seen)
{
	size_t m = used->rows->nrows + (size_t)1, n;

	gt_ring_pool_init(&s->rings, used->rows);
	if (gt_sparse_add(s, used, s->exact->shares))
		return GT_ESYS;
	if (s->rings.nrings != s->nused)
		return GT_ENO;
	if (gt_sparse_add(s, used, NULL) || gt_sparse_add(s, seen, NULL))
		return GT_ESYS;
	n = s->rings.nrings + (size_t)1;
	s->capacity = calloc(m, sizeof(*s->capacity));
	s->room = calloc(m, sizeof(*s->room));
	s->fork_room = calloc(m, sizeof(*s->fork_room));
	s->gains = calloc(n, sizeof(*s->gains));
	s->fixed = calloc(n, sizeof(*s->fixed));
	s->best = calloc(n, sizeof(*s->best));
	if (!s->capacity || !s->room || !s->fork_room || !s->gains ||
	    !s->fixed || !s->best)
		return GT_ESYS;
	for (uint32_t r = 0; r < used->rows->nrows; r++)
		s->capacity[r] = gt_rat_double(used->rows->rows[r].gbs) *
				 used->rows->unit;
	s->value = gt_rat_double(s->exact->value);
	s->nbest = UINT32_MAX;
	s->seed = 1;
	return GT_OK;
}

/* Set `room` to the capacity that the optimal solution leaves of each row. */
static void gt_sparse_left(struct gt_sparse *s, const struct gt_ring_pool *used)
{
	const struct gt_link_rows *rows = used->rows;

	memcpy(s->room, s->capacity, rows->nrows * sizeof(*s->room));
	for (uint32_t i = 0; i < used->nrings; i++)
		for (uint32_t r = 0; r < rows->nrows; r++)
			s->room[r] -= gt_rat_double(s->exact->shares[i]) *
				      rows->unit *
				      gt_ring_pool_loads(used, i)[r];
}

/* Is this what is left of a row, that the optimal solution fills? */
static int gt_sparse_is_full(const struct gt_sparse *s, uint32_t variable)
{
	uint32_t n = s->rings.nrings;

	return variable >= n &&
	       s->room[variable - n] <= s->value * GT_SPARSE_EPS;
}

static int gt_sparse_is_priced(const struct gt_sparse *s, uint32_t variable)
{
	uint32_t n = s->rings.nrings;

	return variable >= n && s->exact->prices[variable - n] > 0;
}

/* Bring a ring in use into the dictionary, by a row that is full. */
static int gt_sparse_enter(struct gt_sparse *s, uint32_t ring)
{
	struct gt_face *face = &s->optimum;
	uint32_t place = 0, best = face->nrows;
	double most = GT_SPARSE_PIVOT, at;

	while (face->other[place] != ring)
		place++;
	for (uint32_t i = 0; i < face->nrows; i++) {
		at = fabs(gt_dictionary_row(face, i)[place]);
		if (at > most && gt_sparse_is_full(s, face->basic[i])) {
			most = at;
			best = i;
		}
	}
	if (best == face->nrows)
		return 0;
	gt_dictionary_pivot(face, best, place);
	if (gt_sparse_is_priced(s, face->other[place]))
		gt_dictionary_fix_at_zero(face, place);
	return 1;
}

/* Rows with a price stay full: none of these is basic any more. */
static void gt_sparse_expel(struct gt_sparse *s)
{
	struct gt_face *face = &s->optimum;

	for (uint32_t i = face->nrows; i-- > 0;) {
		const double *at = gt_dictionary_row(face, i);
		uint32_t best = 0;

		if (!gt_sparse_is_priced(s, face->basic[i]))
			continue;
		for (uint32_t j = 1; j < face->nothers; j++)
			if (fabs(at[j]) > fabs(at[best]))
				best = j;
		face->value[i] = 0;
		if (!face->nothers || fabs(at[best]) < GT_SPARSE_PIVOT) {
			gt_dictionary_drop(face, i);
			continue;
		}
		gt_dictionary_pivot(face, i, best);
		gt_dictionary_fix_at_zero(face, best);
	}
}

/*
 * The dictionary of the optimal solution.  GT_ENO: too large, or floats fail.
 */
static int gt_sparse_optimum(struct gt_sparse *s,
			     const struct gt_ring_pool *used)
{
	uint32_t m = s->rings.rows->nrows, n = s->rings.nrings;
	struct gt_face *face = &s->optimum;

	if ((uint64_t)m * n * s->nused > GT_SPARSE_MOST)
		return GT_ENO;
	if (!gt_dictionary_init(face, m, n) ||
	    !gt_dictionary_init(&s->fork, m, n) ||
	    !gt_dictionary_init(&s->face, m, n))
		return GT_ESYS;
	for (uint32_t r = 0; r < m; r++) {
		face->value[r] = s->capacity[r];
		for (uint32_t i = 0; i < n; i++)
			gt_dictionary_row(face, r)[i] =
				gt_ring_pool_loads(&s->rings, i)[r];
	}
	gt_sparse_left(s, used);
	for (uint32_t i = 0; i < s->nused; i++)
		if (!gt_sparse_enter(s, i))
			return GT_ENO;
	gt_sparse_expel(s);
	for (uint32_t i = 0; i < face->nrows; i++)
		face->value[i] = fmax(face->value[i], 0);
	return GT_OK;
}

/* A factor between 1 and 2 by chance. */
static double gt_sparse_taste(struct gt_sparse *s)
{
	s->seed = s->seed * 1664525 + 1013904223;
	return 1 + (double)(s->seed >> 16) / 65536;
}

/* Is the row's variable a ring that carries something? */
static int gt_sparse_carries(const struct gt_sparse *s, uint32_t row)
{
	return s->face.basic[row] < s->rings.nrings &&
	       s->face.value[row] > s->value * GT_SPARSE_EPS;
}

/* The rate that this ring could carry beside those that are fixed. */
static double gt_sparse_room(const struct gt_sparse *s, uint32_t ring)
{
	const uint32_t *loads = gt_ring_pool_loads(&s->rings, ring);
	double room = HUGE_VAL;

	for (uint32_t r = 0; r < s->rings.rows->nrows; r++)
		if (loads[r] && s->room[r] < room * loads[r])
			room = s->room[r] / loads[r];
	return room;
}

/* Go to a vertex by chance, then to one where few rings carry something. */
static void gt_sparse_scatter(struct gt_sparse *s)
{
	const struct gt_face *face = &s->face;
	double little = s->value * GT_SPARSE_LITTLE;

	for (uint32_t i = 0; i < s->rings.nrings; i++)
		s->gains[i] = -gt_sparse_taste(s);
	gt_dictionary_maximize(&s->face, s->gains);
	for (int step = 0; step < GT_SPARSE_STEPS; step++) {
		for (uint32_t i = 0; i < s->rings.nrings; i++)
			s->gains[i] = -1;
		for (uint32_t i = 0; i < face->nrows; i++)
			if (gt_sparse_carries(s, i))
				s->gains[face->basic[i]] =
					-little / (face->value[i] + little);
		gt_dictionary_maximize(&s->face, s->gains);
	}
}

/* The row of the ring to be fixed next; nrows: none carries anything. */
static uint32_t gt_sparse_next(struct gt_sparse *s)
{
	const struct gt_face *face = &s->face;
	uint32_t best = face->nrows;
	double most = 0, room;

	for (uint32_t i = 0; i < face->nrows; i++) {
		if (!gt_sparse_carries(s, i))
			continue;
		room = gt_sparse_room(s, face->basic[i]) * gt_sparse_taste(s);
		if (room > most) {
			most = room;
			best = i;
		}
	}
	return best;
}

/* Fix the row's ring at the most that it can carry. */
static void gt_sparse_fix(struct gt_sparse *s, uint32_t row)
{
	uint32_t ring = s->face.basic[row];
	const uint32_t *loads = gt_ring_pool_loads(&s->rings, ring);
	double share = gt_dictionary_fix_at_max(&s->face, row);

	s->fixed[s->nfixed++] = ring;
	for (uint32_t r = 0; r < s->rings.rows->nrows; r++)
		s->room[r] -= share * loads[r];
}

/* Make the vertex that walks begin at, on which the first ring is fixed. */
static void gt_sparse_fork(struct gt_sparse *s, int scattered)
{
	size_t m = s->rings.rows->nrows;
	uint32_t row;

	gt_dictionary_copy(&s->face, &s->optimum);
	memcpy(s->room, s->capacity, m * sizeof(*s->room));
	if (scattered)
		gt_sparse_scatter(s);
	s->nfixed = 0;
	row = gt_sparse_next(s);
	if (row < s->face.nrows)
		gt_sparse_fix(s, row);
	gt_dictionary_copy(&s->fork, &s->face);
	memcpy(s->fork_room, s->room, m * sizeof(*s->room));
}

/*
 * Walk from there to a packing, unless it is clear that it will not be the
 * best.
 */
static void gt_sparse_walk(struct gt_sparse *s)
{
	uint32_t row;

	gt_dictionary_copy(&s->face, &s->fork);
	memcpy(s->room, s->fork_room, s->rings.rows->nrows * sizeof(*s->room));
	s->nfixed = 1;
	while ((row = gt_sparse_next(s)) < s->face.nrows) {
		if (s->nfixed + 1 >= s->nbest || s->face.work > GT_SPARSE_MOST)
			return;
		gt_sparse_fix(s, row);
	}
	if (s->nfixed < s->nbest) {
		s->nbest = s->nfixed;
		memcpy(s->best, s->fixed, s->nfixed * sizeof(*s->best));
	}
}

static int gt_sparse_run(struct gt_sparse *s, uint32_t most,
			 struct gt_ring_pool *few)
{
	uint64_t enough = s->rings.rows->n <= GT_SPARSE_SMALL
				  ? GT_SPARSE_ENOUGH
				  : GT_SPARSE_ENOUGH_LARGE;

	s->nbest = most + 1;
	for (int i = 0; i < GT_SPARSE_STARTS && s->face.work < enough; i++) {
		gt_sparse_fork(s, i % 2);
		for (int k = 0; k < GT_SPARSE_WALKS && s->face.work < enough;
		     k++)
			gt_sparse_walk(s);
	}
	for (uint32_t i = 0; s->nbest <= most && i < s->nbest; i++)
		if (gt_ring_pool_add(
			    few, gt_ring_pool_order(&s->rings, s->best[i])) < 0)
			return GT_ESYS;
	return GT_OK;
}

int gt_ring_sparse_solution(const struct gt_sparse_args *args,
			    struct gt_ring_pool *few)
{
	struct gt_sparse s = {.exact = args->exact};
	int rc = gt_sparse_init(&s, args->pool, args->seen);

	if (!rc)
		rc = gt_sparse_optimum(&s, args->pool);
	if (!rc)
		rc = gt_sparse_run(&s, args->most, few);
	gt_sparse_release(&s);
	return rc == GT_ENO ? GT_OK : rc;
}
